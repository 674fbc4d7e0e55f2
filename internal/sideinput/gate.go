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
	Next    exec.Input[T]      // takes the elements that are let through
}

// A Gate lets main elements through once all side inputs are ready for their
// windows. It is a part of an operator, whose inputs are the main one, then
// those of the sources; the operator calls Turn and Advance before its own.
type Gate[T any] struct {
	op     int32
	next   exec.Input[T]
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
	g := &Gate[T]{op: env.Op(), next: cfg.Next, main: cfg.Main, time: newClock(len(cfg.Sources)), changed: true,
		elements: env.Counter(exec.Elements), late: env.Counter(exec.DroppedLate),
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
	switch g.look(c.Window) {
	case pass:
		g.let(c, v)
	case hold:
		g.wait.add(c, v)
	case drop:
		g.elements.N++
		g.late.N++
	}
}

// let lets v through: contents are readable meanwhile.
func (g *Gate[T]) let(c *exec.Ctx, v T) {
	g.access.c = c
	g.next(c, v)
	g.access.c = nil
}

// look decides on elements of window w that come now.
func (g *Gate[T]) look(w exec.Window) verdict {
	if g.known && g.window == w {
		return g.verdict
	}
	g.known, g.window, g.verdict = true, w, pass
	switch {
	case g.drops && g.main.Expiry(w) < g.time.main:
		g.verdict = drop
	case !g.focus(w):
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

// Turn makes the panes of the turn count. Elements of the turn have not seen them.
func (g *Gate[T]) Turn(*exec.Ctx) {
	for i, s := range g.sides {
		if s.content != nil && s.content.apply(func(w exec.Window) bool { return g.past(i, w) }) {
			g.changed, g.known = true, false
		}
	}
}

// Advance lets through what is ready at the watermarks of the operator's inputs
// and returns how far the main input has come for the operator: to the least
// event time of what still waits. Until all that is ready went through, more is
// true and the watermark says nothing new.
func (g *Gate[T]) Advance(c *exec.Ctx, in []exec.Time) (main exec.Time, more bool) {
	if g.time.advance(in) {
		g.changed, g.known = true, false
	}
	if g.changed {
		for i := 0; i < len(g.wait.list); {
			w := g.wait.list[i]
			g.known = false
			if !g.focus(w) {
				i++
				continue
			}
			if !g.wait.release(c, w, g.let) {
				return exec.MinTime, true
			}
		}
		g.changed, g.known = false, false
		g.sweep()
	}
	return min(g.time.main, g.wait.least()), false
}

// sweep forgets side windows that no main element can need any more.
func (g *Gate[T]) sweep() {
	for i, s := range g.sides {
		if s.content == nil {
			continue
		}
		for k := 0; k < len(s.content.windows()); {
			w := s.content.windows()[k]
			if !g.over(w) {
				break // as are all that end later
			}
			if g.past(i, w) {
				s.content.drop(w)
			} else {
				k++
			}
		}
	}
}

// over reports whether all main windows that map to side window w have expired.
func (g *Gate[T]) over(w exec.Window) bool { return g.main.Expiry(w) < g.time.main }

// past reports whether no main element can need window w of side input i.
func (g *Gate[T]) past(i int, w exec.Window) bool {
	if !g.over(w) {
		return false
	}
	for _, mw := range g.wait.list {
		if sw, ok := g.sides[i].maps.of(mw); ok && sw == w {
			return false
		}
	}
	return true
}

// clock is where the inputs stand in time.
type clock struct {
	main  exec.Time
	sides []exec.Time
	read  bool
}

func newClock(sides int) *clock {
	t := &clock{main: exec.MinTime, sides: make([]exec.Time, sides)}
	for i := range t.sides {
		t.sides[i] = exec.MinTime
	}
	return t
}

// advance takes over the watermarks and reports whether one moved.
func (t *clock) advance(in []exec.Time) (moved bool) {
	moved = in[0] > t.main
	t.main = max(t.main, in[0])
	for i, w := range in[1:] {
		moved = moved || w > t.sides[i]
		t.sides[i] = max(t.sides[i], w)
	}
	return moved
}

// Snapshot writes the same for each group: whoever owns it later needs it.
func (t *clock) Snapshot(dst []byte, _ int) ([]byte, error) {
	dst = binary.AppendVarint(dst, int64(t.main))
	for _, w := range t.sides {
		dst = binary.AppendVarint(dst, int64(w))
	}
	return dst, nil
}

// Restore takes over the least of what former owners of the groups wrote.
func (t *clock) Restore(src []byte) error {
	for len(src) > 0 {
		for i := -1; i < len(t.sides); i++ {
			v, n := binary.Varint(src)
			if n <= 0 {
				return errors.New("sideinput: stored watermarks are cut off")
			}
			src = src[n:]
			at := &t.main
			if i >= 0 {
				at = &t.sides[i]
			}
			if !t.read || exec.Time(v) < *at {
				*at = exec.Time(v)
			}
		}
		t.read = true
	}
	return nil
}
