package sideinput

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// Config says what a gate stands in front of.
type Config[T any] struct {
	Sources []*Source
	Main    *strategy.Strategy // of the main input
	Edge    exec.Edge          // of the main input
	Route   func(T) uint64     // of a keyed main input, or nil
	// Begin is called before Next, unless it is nil, and may not read side inputs
	// yet; where it returns false the element goes no further.
	Begin func(*exec.Ctx) bool
	Next  exec.Input[T] // takes the elements that are let through
	// Opens says that Next calls Open and Close itself, where side inputs are to be read.
	Opens bool
	// Refuse, unless it is nil, drops an element that comes too late at the main
	// watermark wm, as it is in front of the gate, and reports that it did. Without it
	// the gate counts and drops elements whose windows have expired.
	Refuse func(c *exec.Ctx, v T, wm exec.Time) bool
}

// A Gate lets main elements through once all side inputs are ready for their
// windows. It is a part of an operator, whose inputs are the main one, then
// those of the sources. The operator calls Turn and Advance before its own, and
// Sweep after it: to the rest of the operator the main input is what the gate lets through.
type Gate[T any] struct {
	op     int32
	begin  func(*exec.Ctx) bool
	refuse func(*exec.Ctx, T, exec.Time) bool
	next   exec.Input[T]
	opens  bool
	main   *strategy.Strategy
	sides  []*sideInput
	access Access
	drops  bool // elements of expired windows find no content any more

	wait waiting[T]
	time *clock

	elements, late *exec.Counter

	// The verdict on the window looked at last; contents are focused on it.
	known   bool
	window  exec.Window
	verdict verdict
	changed bool // something may have become ready
}

// sideInput is a source on this worker.
type sideInput struct {
	src     *Source
	maps    mapping
	content contentLike // nil of a signal
}

type verdict uint8

const (
	pass verdict = iota
	hold
	drop
)

// NewGate returns a gate that keeps its state in env under names that start with name.
func NewGate[T any](env exec.Env, name string, cfg Config[T]) *Gate[T] {
	g := &Gate[T]{op: env.Op(), begin: cfg.Begin, refuse: cfg.Refuse, next: cfg.Next, opens: cfg.Opens, main: cfg.Main,
		time: newClock(len(cfg.Sources)), changed: true, elements: env.Counter(exec.Elements), late: env.Counter(exec.DroppedLate),
		wait: waiting[T]{edge: cfg.Edge, route: cfg.Route, home: homeOf(env.Worker()), queues: map[exec.Window]*queue[T]{}}}
	for i, s := range cfg.Sources {
		in := &sideInput{src: s, maps: mapping{fn: strategy.ForWorker(s.strategy.Fn)}}
		if s.open != nil {
			in.content = s.open(env, fmt.Sprintf("%s.side%d", name, i), &g.access)
			g.drops = g.drops || !isGlobal(s.strategy.Fn)
		}
		g.sides = append(g.sides, in)
	}
	env.Keep(name+".time", g.time)
	env.Keep(name+".waiting", &g.wait)
	return g
}

// Inputs returns the operator's inputs: main is In[0].
func (g *Gate[T]) Inputs() []any {
	ins := []any{exec.Input[T](g.Element)}
	for _, s := range g.sides {
		if s.content == nil {
			ins = append(ins, exec.Input[struct{}](func(*exec.Ctx, struct{}) {}))
			continue
		}
		ins = append(ins, s.content.input())
	}
	return ins
}

// Content returns the *Content[T] of a source.
func (g *Gate[T]) Content(src *Source) any {
	for _, s := range g.sides {
		if s.src == src {
			return s.content
		}
	}
	return nil
}

// Element lets v through, keeps it, or drops it.
func (g *Gate[T]) Element(c *exec.Ctx, v T) {
	c.Op = g.op // windows may be a user's
	if g.refuse != nil && g.refuse(c, v, g.time.in) {
		return
	}
	switch g.look(c.Window) {
	case hold:
		g.wait.add(c, v, g.time.in)
	case pass:
		g.let(c, v)
	default:
		g.elements.N++
		g.late.N++
	}
}

// let lets v through: contents, focused on its window, are readable meanwhile.
func (g *Gate[T]) let(c *exec.Ctx, v T) {
	if g.begin != nil && !g.begin(c) {
		return
	}
	if !g.opens {
		g.access.c = c
	}
	g.next(c, v)
	g.access.c = nil
}

// Open makes contents readable as elements of window w see them, until Close. An
// element of the window has been let through, and it has not expired before the last Sweep.
func (g *Gate[T]) Open(c *exec.Ctx, w exec.Window) {
	if !g.known || g.window != w {
		g.known = false
		g.focus(w)
	}
	g.access.c = c
}

// Close ends what Open began.
func (g *Gate[T]) Close() { g.access.c = nil }

// look decides on elements of window w that come now.
func (g *Gate[T]) look(w exec.Window) verdict {
	if g.known && g.window == w {
		return g.verdict
	}
	g.known, g.window, g.verdict = true, w, pass
	ready := g.focus(w)
	switch {
	case g.refuse == nil && g.drops && g.main.Expiry(w) < g.time.in:
		g.verdict = drop
	case !ready:
		g.verdict = hold
	}
	return g.verdict
}

// focus makes contents show what elements of window w see, and reports whether
// all are ready for that.
func (g *Gate[T]) focus(w exec.Window) (ready bool) {
	ready = true
	for i, s := range g.sides {
		sw, ok := s.maps.of(w)
		switch {
		case !ok: // nothing to wait for, and nothing to see
			if s.content != nil {
				s.content.blur()
			}
			continue
		case s.content == nil:
			ready = ready && g.time.sides[i] > s.src.strategy.Expiry(sw)
			continue
		}
		s.content.focus(sw)
		ready = ready && (s.content.has(sw) || g.time.sides[i] > settled(s.src.strategy, sw))
	}
	return ready
}

// expired reports whether the main watermark is past window w and the lateness
// that the main input allows. Of a side window it says that all main windows which map
// to it have expired: none of them ends later, and what waits holds the watermark.
func (g *Gate[T]) expired(w exec.Window) bool { return g.main.Expiry(w) < g.time.out }

// Turn makes the panes of the turn count. Elements of the turn have not seen them.
func (g *Gate[T]) Turn(*exec.Ctx) {
	for _, s := range g.sides {
		if s.content != nil && s.content.apply(g.expired) {
			g.changed, g.known = true, false
		}
	}
}

// Advance lets through what is ready at the watermarks of the operator's inputs
// and returns the main watermark as the gate lets it through: that of the main input,
// or the least event time of what still waits. Until all that is ready went
// through, more is true and the watermark says nothing new.
func (g *Gate[T]) Advance(c *exec.Ctx, in []exec.Time) (main exec.Time, more bool) {
	if in[0] > g.time.in {
		g.time.in, g.known = in[0], false
	}
	if g.time.advance(in[1:]) || g.changed {
		g.changed = true
		for i := 0; i < len(g.wait.list); {
			w := g.wait.list[i]
			g.known = false
			if !g.focus(w) {
				i++
				continue
			}
			if !g.wait.release(c, w, g.let) {
				return g.time.out, true
			}
		}
		g.changed, g.known = false, false
	}
	if out := min(g.time.in, g.wait.least()); out > g.time.out {
		g.time.out, g.known = out, false
	}
	return g.time.out, false
}

// Waits reports whether elements wait for a side input.
func (g *Gate[T]) Waits() bool { return len(g.wait.list) > 0 }

// Sweep forgets side windows that no main element can need any more.
func (g *Gate[T]) Sweep() {
	for _, s := range g.sides {
		if s.content == nil {
			continue
		}
		for ws := s.content.windows(); len(ws) > 0 && g.expired(ws[0]); ws = s.content.windows() {
			s.content.drop(ws[0])
			g.known = false
		}
	}
}

// clock is where the inputs stand in time.
type clock struct {
	in    exec.Time // the main watermark: what comes too late for it does on any worker
	out   exec.Time // the main watermark as it was let through, held by what waits on this worker
	sides []exec.Time
	read  bool
}

func newClock(sides int) *clock {
	t := &clock{in: exec.MinTime, out: exec.MinTime, sides: make([]exec.Time, sides)}
	for i := range t.sides {
		t.sides[i] = exec.MinTime
	}
	return t
}

// advance takes over the watermarks of side inputs and reports whether one moved.
func (t *clock) advance(sides []exec.Time) (moved bool) {
	for i, w := range sides {
		moved = moved || w > t.sides[i]
		t.sides[i] = max(t.sides[i], w)
	}
	return moved
}

// Snapshot writes the same for each group: whoever owns it later needs it.
func (t *clock) Snapshot(dst []byte, _ int) ([]byte, error) {
	dst = binary.AppendVarint(binary.AppendVarint(dst, int64(t.in)), int64(t.out))
	for _, w := range t.sides {
		dst = binary.AppendVarint(dst, int64(w))
	}
	return dst, nil
}

// Restore takes over the least of what former owners of the groups wrote.
func (t *clock) Restore(src []byte) error {
	for len(src) > 0 {
		for i := -2; i < len(t.sides); i++ {
			v, n := binary.Varint(src)
			if n <= 0 {
				return errors.New("sideinput: stored watermarks are cut off")
			}
			src = src[n:]
			at := &t.in
			switch {
			case i >= 0:
				at = &t.sides[i]
			case i == -1:
				at = &t.out
			}
			if !t.read || exec.Time(v) < *at {
				*at = exec.Time(v)
			}
		}
		t.read = true
	}
	return nil
}
