package exec

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/penstock-dev/penstock/coders"
)

// BatchSize is the number of elements at which a Writer sends a batch on.
const BatchSize = 1024

// An Edge is what a runner may do with a collection without knowing its
// element type T. It is made where T is known.
type Edge interface {
	// Elem returns T.
	Elem() reflect.Type
	// Fanout joins consumers, each an Input[T], into one Input[T].
	Fanout(ins []any) any
	// Writer returns an Input[T] that packs elements into batches for parts
	// consumers. route is a func(T) uint64 whose result's key group decides the
	// consumer, or nil: then whole batches go to the consumers in turn; or
	// ToAll{}: then every element goes to every consumer.
	Writer(route any, parts int, out Outlet) Writer
	// Feeder returns a function that drives batches into in, an Input[T].
	Feeder(in any) Feeder
	// Encode appends the elements of b from number from on.
	Encode(dst []byte, b Batch, from int) ([]byte, error)
	// Decode reads a batch that Encode wrote; it consumes all of src.
	Decode(src []byte) (Batch, error)
	// Check reports why elements cannot be encoded, or nil.
	Check() error
	// Checked wraps in, an Input[T], with the checks of the direct runner: that
	// elements survive their coder, that consumers do not change them, and
	// that producers do not change them after emitting; the last is judged by
	// verify, called at the end of each turn. fail is told what is wrong.
	Checked(in any, fail func(*Ctx, error)) (checked any, verify func(*Ctx))
	// Tap wraps in with an observer that sees each element boxed. For tools and tests.
	Tap(in any, see func(c *Ctx, v any)) any
}

// ToAll is the route of a broadcast.
type ToAll struct{}

// A Batch is a run of elements with their times, windows, panes and kinds. Its
// dynamic type belongs to the Edge that made it.
type Batch interface{ Len() int }

// An Outlet is where a Writer sends batches.
type Outlet interface {
	// Send hands b over to a consumer; it reports whether there is no room for more.
	Send(part int, b Batch) (full bool)
	// Free returns a batch that the consumer is done with, or nil.
	Free(part int) Batch
}

// A Writer is the sending end of an exchange.
type Writer struct {
	In    any // Input[T]
	Flush func(c *Ctx)
}

// A Feeder drives elements of b, from number from on and at most max of them,
// into an Input, and stops early when c.Full is set or c.Err is. It returns the
// number of the first element that was not fed.
type Feeder func(c *Ctx, b Batch, from, max int) (next int)

// NewEdge returns the edge of a collection of T.
func NewEdge[T any]() Edge {
	c, err := coders.For[T]()
	return &edge[T]{coder: c, err: err}
}

// NewEdgeOf returns the edge of a collection of T with a coder that is not the
// one derived from T.
func NewEdgeOf[T any](c coders.Coder[T]) Edge { return &edge[T]{coder: c} }

// edge keeps the reason why T has no coder: only some edges need one.
type edge[T any] struct {
	coder coders.Coder[T]
	err   error
}

func (*edge[T]) Elem() reflect.Type { return reflect.TypeFor[T]() }

func (*edge[T]) Fanout(downs []any) any {
	switch len(downs) {
	case 0:
		return Input[T](func(*Ctx, T) {})
	case 1:
		return downs[0].(Input[T])
	}
	ins := make([]Input[T], len(downs))
	for i, d := range downs {
		ins[i] = d.(Input[T])
	}
	return Input[T](func(c *Ctx, v T) {
		t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
		for _, in := range ins {
			in(c, v)
			c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
		}
	})
}

// batch is the Batch of edge[T]. A column that is empty has the one value
// beside it for all elements.
type batch[T any] struct {
	vals    []T
	times   []Time
	windows []Window
	panes   []Pane
	kinds   []Kind
	window  Window
	pane    Pane
	kind    Kind
}

func (b *batch[T]) Len() int { return len(b.vals) }

func (b *batch[T]) reset() {
	b.vals, b.times = b.vals[:0], b.times[:0]
	b.windows, b.panes, b.kinds = b.windows[:0], b.panes[:0], b.kinds[:0]
}

func (b *batch[T]) add(c *Ctx, v T) {
	if len(b.vals) == 0 {
		b.window, b.pane, b.kind = c.Window, c.Pane, c.Kind
	}
	if len(b.windows) > 0 || c.Window != b.window {
		b.windows = column(b.windows, len(b.vals), b.window, c.Window)
	}
	if len(b.panes) > 0 || c.Pane != b.pane {
		b.panes = column(b.panes, len(b.vals), b.pane, c.Pane)
	}
	if len(b.kinds) > 0 || c.Kind != b.kind {
		b.kinds = column(b.kinds, len(b.vals), b.kind, c.Kind)
	}
	b.vals = append(b.vals, v)
	b.times = append(b.times, c.Time)
}

// column appends v to a column of n elements, which it fills first if all n had one value.
func column[X any](col []X, n int, one, v X) []X {
	for len(col) < n {
		col = append(col, one)
	}
	return append(col, v)
}

// at sets the context to that of element i.
func (b *batch[T]) at(c *Ctx, i int) {
	c.Time, c.Window, c.Pane, c.Kind = b.times[i], b.window, b.pane, b.kind
	if len(b.windows) > 0 {
		c.Window = b.windows[i]
	}
	if len(b.panes) > 0 {
		c.Pane = b.panes[i]
	}
	if len(b.kinds) > 0 {
		c.Kind = b.kinds[i]
	}
}

func (*edge[T]) Writer(route any, parts int, out Outlet) Writer {
	w := &writer[T]{out: out, bufs: make([]*batch[T], parts)}
	for i := range w.bufs {
		w.bufs[i] = &batch[T]{}
	}
	if route == nil || parts == 1 {
		return Writer{In: Input[T](w.spread), Flush: w.flush}
	}
	if _, ok := route.(ToAll); ok {
		return Writer{In: Input[T](w.broadcast), Flush: w.flush}
	}
	r := route.(func(T) uint64)
	return Writer{Flush: w.flush, In: Input[T](func(c *Ctx, v T) {
		p := OwnerOf(GroupOf(r(v)), parts)
		b := w.bufs[p]
		b.add(c, v)
		if len(b.vals) >= BatchSize {
			w.send(c, p)
		}
	})}
}

type writer[T any] struct {
	out  Outlet
	bufs []*batch[T]
	turn int // consumer of the next whole batch, where there is no route
}

func (w *writer[T]) spread(c *Ctx, v T) {
	b := w.bufs[w.turn]
	b.add(c, v)
	if len(b.vals) >= BatchSize {
		w.send(c, w.turn)
		w.turn = (w.turn + 1) % len(w.bufs)
	}
}

func (w *writer[T]) broadcast(c *Ctx, v T) {
	for p, b := range w.bufs {
		b.add(c, v)
		if len(b.vals) >= BatchSize {
			w.send(c, p)
		}
	}
}

func (w *writer[T]) send(c *Ctx, p int) {
	if w.out.Send(p, w.bufs[p]) {
		c.Full = true
	}
	if b, ok := w.out.Free(p).(*batch[T]); ok {
		b.reset()
		w.bufs[p] = b
		return
	}
	w.bufs[p] = &batch[T]{}
}

func (w *writer[T]) flush(c *Ctx) {
	sent := false
	for p, b := range w.bufs {
		if len(b.vals) > 0 {
			w.send(c, p)
			sent = true
		}
	}
	if sent { // few elements are spread, too
		w.turn = (w.turn + 1) % len(w.bufs)
	}
}

func (*edge[T]) Feeder(in any) Feeder {
	next := in.(Input[T])
	return func(c *Ctx, x Batch, from, max int) int {
		b := x.(*batch[T])
		end := from + min(max, len(b.vals)-from)
		t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
		c.Window, c.Pane, c.Kind = b.window, b.pane, b.kind
		i := from
		if len(b.windows)+len(b.panes)+len(b.kinds) == 0 {
			for ; i < end && !c.Full && c.Err == nil; i++ {
				c.Time = b.times[i]
				next(c, b.vals[i])
			}
		} else {
			for ; i < end && !c.Full && c.Err == nil; i++ {
				b.at(c, i)
				next(c, b.vals[i])
			}
		}
		c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
		return i
	}
}

func (e *edge[T]) Check() error { return e.err }

func (e *edge[T]) Tap(in any, see func(*Ctx, any)) any {
	next := in.(Input[T])
	return Input[T](func(c *Ctx, v T) {
		see(c, v)
		next(c, v)
	})
}

func (e *edge[T]) Checked(in any, fail func(*Ctx, error)) (any, func(*Ctx)) {
	next := in.(Input[T])
	coder := e.coder
	if e.err != nil { // it never has to be encoded, or construction would have failed
		return in, func(*Ctx) {}
	}
	type sent struct {
		v   T
		enc []byte
	}
	var turn []sent
	checked := Input[T](func(c *Ctx, v T) {
		enc, err := coder.Append(nil, v)
		if err != nil {
			fail(c, fmt.Errorf("element %+v cannot be encoded: %w", v, err))
			return
		}
		back, _, err := coder.Decode(enc)
		if err == nil {
			var again []byte
			if again, err = coder.Append(nil, back); err == nil && !bytes.Equal(again, enc) {
				err = fmt.Errorf("it decodes as %+v", back)
			}
		}
		if err != nil {
			fail(c, fmt.Errorf("element %+v of type %v does not survive its coder: %w", v, e.Elem(), err))
			return
		}
		next(c, v)
		if now, err := coder.Append(nil, v); err != nil || !bytes.Equal(now, enc) {
			fail(c, fmt.Errorf("a consumer changed its input of type %v, which others may share; it is now %+v: copy before changing", e.Elem(), v))
			return
		}
		turn = append(turn, sent{v, enc})
	})
	return checked, func(c *Ctx) {
		for _, s := range turn {
			if now, err := coder.Append(nil, s.v); err != nil || !bytes.Equal(now, s.enc) {
				fail(c, fmt.Errorf("an element of type %v was changed after it was emitted; it is now %+v: emit a copy", e.Elem(), s.v))
				break
			}
		}
		clear(turn)
		turn = turn[:0]
	}
}
