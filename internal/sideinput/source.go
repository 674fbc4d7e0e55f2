package sideinput

import (
	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Source is a collection made ready to be a side input, of any number of transforms.
type Source struct {
	kind     string
	strategy *strategy.Strategy                          // of the collection that was gathered
	closes   bool                                        // a signal: ready when the window has expired
	in       func(*pcoll.Builder)                        // adds the panes to a transform's inputs
	open     func(exec.Env, string, *Access) contentLike // nil of a signal
}

// Kind says how the source is read: "AsMap".
func (s *Source) Kind() string { return s.kind }

// NewSource adds the grouping that gathers in, under the name of b, and reports
// what no side input can be.
func NewSource[T any](b *pcoll.Builder, in pcoll.PCollection[T]) *Source {
	like := pcoll.From(b, in)
	coder, err := coders.For[pcoll.Group[T]]()
	if err != nil {
		b.Errorf("%w", err)
	}
	if !b.Bad() {
		check(b, like)
	}
	// A pane without news would make a discarded view empty when the window ends.
	s := *like.Strategy
	s.OnTimeIfNonEmpty, s.ClosingAlways = true, false
	panes := pcoll.To[pcoll.Group[T]](b, &graph.Collection{Strategy: s.Continued(), Bounded: like.Bounded})
	g, err := newGather[T](&s, like.Pending)
	if err != nil && !b.Bad() {
		b.Errorf("%w", err)
	}
	if !b.Bad() {
		n := b.Node()
		n.Structure, n.Strategy, n.KeyCoder, n.AccCoder = graph.GroupByKey, &s, g.key, g.acc
		hash := g.key.Hash(noKey{})
		n.Inputs[0].Exchange, n.Inputs[0].Route = graph.Keyed, func(T) uint64 { return hash }
	}
	b.Add(g)
	return &Source{kind: b.Node().Kind, strategy: &s,
		in: func(b *pcoll.Builder) { broadcast(b, panes, &s) },
		open: func(env exec.Env, name string, at *Access) contentLike {
			c := &Content[T]{at: at, coder: coder, cells: map[exec.Window]*Cell[T]{}}
			env.Keep(name, c)
			return c
		},
	}
}

// NewSignal returns a source without content, that only says when windows of in
// have expired. It adds a node to the parts of b.
func NewSignal[S any](b *pcoll.Builder, in pcoll.PCollection[S]) *Source {
	p := b.Part("Signal")
	like := pcoll.From(p, in)
	if !p.Bad() {
		checkWindows(p, like)
		if !like.Bounded && isGlobal(like.Strategy.Fn) {
			p.Errorf("an unbounded signal in the global window never closes it; apply windowing.Into with windows such as windowing.Fixed(time.Minute)")
		}
	}
	s := *like.Strategy
	none := pcoll.To[struct{}](p, &graph.Collection{Strategy: &s, Bounded: like.Bounded})
	p.Add(signalOp[S]{})
	return &Source{kind: "Signal", strategy: &s, closes: true, in: func(b *pcoll.Builder) { broadcast(b, none, &s) }}
}

// signalOp lets no element pass, only the watermark.
type signalOp[S any] struct{}

func (signalOp[S]) New(env exec.Env, _ []any) (exec.Instance, error) {
	env.Counter(exec.Emitted(0)) // stays 0
	return exec.Instance{In: []any{exec.Input[S](func(*exec.Ctx, S) {})}}, nil
}

// broadcast adds the panes of a source to the side inputs of b.
func broadcast[T any](b *pcoll.Builder, panes pcoll.PCollection[T], s *strategy.Strategy) {
	before := len(b.Node().Inputs)
	pcoll.From(b, panes)
	if len(b.Node().Inputs) > before {
		in := &b.Node().Inputs[before]
		in.Exchange, in.Side = graph.Broadcast, s
	}
}

// Declare adds sources to the inputs of b behind its main input, whose
// collection is main, and reports which cannot be.
func Declare(b *pcoll.Builder, main *graph.Collection, sources []*Source) {
	for _, s := range sources {
		s.in(b)
		if b.Bad() {
			continue // of what comes from a mistake nothing is known
		}
		if !s.closes && main.Retracts {
			b.Errorf("the input has withdrawals, which a side input that changes in between would not match; " +
				"read the side input before the retracting aggregation, or join by key")
		}
		if isGlobal(main.Strategy.Fn) && !isGlobal(s.strategy.Fn) {
			b.Errorf("the input is in the global window, to which no window of the side input corresponds, which is in %v; "+
				"apply windowing.Into to one of them", s.strategy.Fn)
		}
	}
}

// check reports collections whose view would never be ready, or never be right.
func check(b *pcoll.Builder, like *graph.Collection) {
	checkWindows(b, like)
	s := like.Strategy
	atEnd := s.Trigger.Kind == strategy.OnDefault || s.Trigger.Kind == strategy.OnNever ||
		s.Trigger.Kind == strategy.OnWatermark && s.Trigger.Early() == nil
	switch {
	case like.Retracts || s.Mode == strategy.Retracting:
		b.Errorf("a collection with withdrawals cannot be a side input: each pane replaces the last one already; use windowing.Accumulating")
	case !like.Bounded && isGlobal(s.Fn) && atEnd:
		b.Errorf("an unbounded side input in the global window, which no watermark ever ends, would never be ready; apply windowing.Into "+
			"with windows such as windowing.Fixed(time.Minute), or with a trigger that fires early; trigger is %v", s.Trigger)
	case s.Unsafe() && !s.UnsafeAllowed:
		b.Errorf("trigger %v may finish, and the side input would miss what comes after that; "+
			"wrap it in triggers.Repeatedly, give AfterWatermark a Late trigger, or accept that with windowing.AllowUnsafeTrigger()", s.Trigger)
	}
}

func checkWindows(b *pcoll.Builder, like *graph.Collection) {
	if fn := like.Strategy.Fn; fn.Merging() {
		b.Errorf("windows that merge, here %v, cannot be those of a side input: no main window corresponds to one; "+
			"apply windowing.Into with fixed, sliding or global windows", fn)
	}
}
