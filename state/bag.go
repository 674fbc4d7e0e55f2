package state

import (
	"encoding/binary"
	"iter"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Bag is a collection that is cheap to append to. Elements come in the order in
// which they were added.
type Bag[T any] struct {
	// TTL ends each element some time after it was added.
	TTL TTL

	coder coders.Coder[T]
	b     *bags[T]
}

// Add appends v.
func (g *Bag[T]) Add(c *pcoll.Context, v T) {
	if p := g.b.cell(c); p != nil {
		// What an iteration reads lies before the end: appending does not disturb it.
		p.list = append(p.list, stamped[T]{v, g.TTL.now(g.b.scope)})
	}
}

// All iterates over the elements.
func (g *Bag[T]) All(c *pcoll.Context) iter.Seq[T] {
	p := g.b.cell(c)
	if p == nil {
		return func(func(T) bool) {}
	}
	list, call, now := p.list, g.b.scope.Call, g.TTL.now(g.b.scope)
	return func(yield func(T) bool) {
		for i := range list {
			if !g.b.iterating(c, call) || g.TTL.alive(list[i].stamp, now) && !yield(list[i].v) {
				return
			}
		}
	}
}

// Len returns the number of elements.
func (g *Bag[T]) Len(c *pcoll.Context) (n int) {
	p := g.b.cell(c)
	if p == nil {
		return 0
	}
	if g.TTL.none() {
		return len(p.list)
	}
	now := g.TTL.now(g.b.scope)
	for i := range p.list {
		if g.TTL.alive(p.list[i].stamp, now) {
			n++
		}
	}
	return n
}

// Clear empties the bag.
func (g *Bag[T]) Clear(c *pcoll.Context) {
	if p := g.b.cell(c); p != nil {
		p.list = nil
	}
}

func (g *Bag[T]) declare() (err error) {
	if err = g.TTL.check(); err == nil {
		g.coder, err = coders.For[T]()
	}
	return err
}

func (g *Bag[T]) bind(s *Scope) Column {
	g.b = &bags[T]{bound: bound[entries[stamped[T]]]{scope: s, ttl: g.TTL}, coder: g.coder}
	return g.b
}

// stamped is an element and when it was written.
type stamped[T any] struct {
	v     T
	stamp exec.Time
}

// bags is the column of a Bag. Its entries change only by being replaced or appended to.
type bags[T any] struct {
	bound[entries[stamped[T]]]
	coder coders.Coder[T]
}

func (b *bags[T]) cell(c *pcoll.Context) *entries[stamped[T]] {
	if b == nil {
		return (*bound[entries[stamped[T]]])(nil).enter(c)
	}
	return b.enter(c)
}

func (b *bags[T]) Has(slot int32) bool {
	p := b.cells.find(slot)
	return p != nil && len(p.list) > 0
}

func (b *bags[T]) Append(dst []byte, slot int32) (_ []byte, err error) {
	p := b.cells.at(slot)
	dst = binary.AppendUvarint(dst, uint64(len(p.list)))
	for i := range p.list {
		dst = binary.AppendVarint(dst, int64(p.list[i].stamp))
		if dst, err = b.coder.Append(dst, p.list[i].v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (b *bags[T]) Decode(src []byte, slot int32) ([]byte, error) {
	n, src, ok := takeCount(src)
	if !ok {
		return nil, cut("bag")
	}
	p := b.cells.at(slot)
	for range n {
		var e stamped[T]
		var err error
		if e.stamp, src, ok = takeStamp(src); !ok {
			return nil, cut("bag")
		}
		if e.v, src, err = b.coder.Decode(src); err != nil {
			return nil, err
		}
		p.list = append(p.list, e)
	}
	return src, nil
}

func (b *bags[T]) Sweep(slot int32, now exec.Time) exec.Time {
	return b.ends(sweep(b.cells.at(slot), b.ttl, now, func(e *stamped[T]) exec.Time { return e.stamp }))
}
