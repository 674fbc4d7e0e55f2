package transforms

import (
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// GroupByKey gathers the values of each key and window. The values are held in
// memory: where a combiner can give the answer, [CombinePerKey] is far cheaper.
//
// Keys are equal when their encodings are; K must have a canonical one (see
// coders.ForKey), and V any encoding.
func GroupByKey[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]] {
	b := pcoll.NewBuilder(in.Pipeline(), "GroupByKey", opts...)
	out, _ := group(b, in, gather[V]{}, false)
	return out
}

// GroupByKeyWithLate is [GroupByKey] that also returns what it drops: an element
// for each window that had expired, or whose trigger had finished, when it came.
// They keep their time and are in the global window.
func GroupByKeyWithLate[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) (
	groups pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]], late pcoll.PCollection[pcoll.KV[K, V]]) {
	b := pcoll.NewBuilder(in.Pipeline(), "GroupByKey", opts...)
	return group(b, in, gather[V]{}, true)
}

// CombinePerKey combines the values of each key and window with c, as they
// come: what is kept is an accumulator for each.
//
// Keys are equal when their encodings are; K must have a canonical one (see
// coders.ForKey), V and the accumulator any encoding.
func CombinePerKey[K comparable, In, Acc, Out any](in pcoll.PCollection[pcoll.KV[K, In]], c combine.Combiner[In, Acc, Out],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Out]] {
	return combinePerKey("CombinePerKey", in, c, opts)
}

func combinePerKey[K comparable, In, Acc, Out any](kind string, in pcoll.PCollection[pcoll.KV[K, In]], c combine.Combiner[In, Acc, Out],
	opts []pcoll.Option) pcoll.PCollection[pcoll.KV[K, Out]] {
	b := pcoll.NewBuilder(in.Pipeline(), kind, opts...)
	out, _ := group(b, in, c, false)
	return out
}

// CombinePerKeyWithLate is [CombinePerKey] that also returns what it drops: an
// element for each window that had expired, or whose trigger had finished, when
// it came. They keep their time and are in the global window.
func CombinePerKeyWithLate[K comparable, In, Acc, Out any](in pcoll.PCollection[pcoll.KV[K, In]], c combine.Combiner[In, Acc, Out],
	opts ...pcoll.Option) (combined pcoll.PCollection[pcoll.KV[K, Out]], late pcoll.PCollection[pcoll.KV[K, In]]) {
	b := pcoll.NewBuilder(in.Pipeline(), "CombinePerKey", opts...)
	return group(b, in, c, true)
}

// group adds the node of a grouping, with the name of b.
func group[K comparable, V, Acc, Out any](b *pcoll.Builder, in pcoll.PCollection[pcoll.KV[K, V]], c combine.Combiner[V, Acc, Out], late bool) (
	pcoll.PCollection[pcoll.KV[K, Out]], pcoll.PCollection[pcoll.KV[K, V]]) {
	like := pcoll.From(b, in)
	_, gathers := any(c).(gather[V])
	g := grouping[K, V, Acc, Out]{strategy: like.Strategy, assign: like.Pending, comb: c, late: late, structure: graph.CombinePerKey}
	if gathers {
		g.structure = graph.GroupByKey
	}
	if !b.Bad() {
		checkWindowing(b, like, late)
	}
	if like.Strategy.Mode == strategy.Retracting {
		return groupRetracting(b, like, g)
	}
	g.describe(b)
	out, dropped := g.outputs(b, like, false)
	_, gathersMany := any(c).(interface{ gathersMany() })
	g.add(b, &aggregate[K, V, Acc, Out]{g, !gathers && !gathersMany}) // gathering makes nothing smaller
	return out, dropped
}

// grouping is what every operator of a grouping knows.
type grouping[K comparable, V, Acc, Out any] struct {
	strategy  *strategy.Strategy
	assign    bool // windows are still to be assigned
	key       *coders.Key[K]
	acc       coders.Coder[Acc]
	comb      combine.Combiner[V, Acc, Out]
	copy      func(Acc) Acc // nil: assignment copies an accumulator
	late      bool          // the second output takes what is dropped
	structure graph.Structure
}

// describe finds coders and copier of the grouping, or says why there are none.
func (g *grouping[K, V, Acc, Out]) describe(b *pcoll.Builder) {
	if b.Bad() {
		return
	}
	err := combine.CheckOf(g.comb)
	if err == nil {
		g.key, err = coders.ForKey[K]()
	}
	if err == nil { // values travel to the worker that owns the key
		_, err = coders.For[V]()
	}
	if err == nil {
		g.acc, err = combine.CoderOf(g.comb)
	}
	if err == nil {
		g.copy, err = combine.CopierOf(g.comb)
	}
	if err != nil {
		b.Errorf("%w", err)
	}
}

// outputs adds the outputs of the grouping.
func (g *grouping[K, V, Acc, Out]) outputs(b *pcoll.Builder, like *graph.Collection, retracts bool) (
	out pcoll.PCollection[pcoll.KV[K, Out]], dropped pcoll.PCollection[pcoll.KV[K, V]]) {
	out = pcoll.To[pcoll.KV[K, Out]](b, &graph.Collection{Strategy: g.strategy.Continued(), Bounded: like.Bounded, Retracts: retracts})
	if g.late {
		dropped = pcoll.To[pcoll.KV[K, V]](b, pcoll.Unwindowed(like.Bounded))
	}
	return out, dropped
}

// add ends the transform with op.
func (g *grouping[K, V, Acc, Out]) add(b *pcoll.Builder, op exec.Op) {
	if b.Bad() {
		return
	}
	n, hash := b.Node(), g.key.Hash
	n.Structure, n.Strategy, n.KeyCoder, n.AccCoder = g.structure, g.strategy, g.key, g.acc
	n.Inputs[0].Exchange = graph.Keyed
	n.Inputs[0].Route = func(e pcoll.KV[K, V]) uint64 { return hash(e.Key) }
	b.Add(op)
}

// checkWindowing reports groupings that would never give a result, drop data
// that nobody said may be dropped, or count withdrawals as elements.
func checkWindowing(b *pcoll.Builder, like *graph.Collection, late bool) {
	s := like.Strategy
	atEnd := s.Trigger.Kind == strategy.OnDefault || s.Trigger.Kind == strategy.OnNever || (s.Trigger.Kind == strategy.OnWatermark && s.Trigger.Early() == nil)
	switch {
	case !like.Bounded && s.Fn == strategy.WindowFn(strategy.GlobalWindows{}) && atEnd:
		b.Errorf("unbounded input in the global window, which no watermark ever ends, would never give a result; "+
			"apply windowing.Into with windows such as windowing.Fixed(time.Minute), or with a trigger that fires early; trigger is %v", s.Trigger)
	case s.Unsafe() && !s.UnsafeAllowed:
		b.Errorf("trigger %v may finish, and its window drops what comes after that; "+
			"wrap it in triggers.Repeatedly, give AfterWatermark a Late trigger, or accept the loss with windowing.AllowUnsafeTrigger()", s.Trigger)
	}
	checkWithdrawals(b, like, late)
}

// gather is the combiner of GroupByKey. Groups share memory with the
// accumulator they came from: elements are only ever appended behind them.
type gather[V any] struct{}

func (gather[V]) Create() []V                    { return nil }
func (gather[V]) Add(acc []V, v V) []V           { return append(acc, v) }
func (gather[V]) Merge(acc, other []V) []V       { return append(acc, other...) }
func (gather[V]) Extract(acc []V) pcoll.Group[V] { return pcoll.GroupOf(acc...) }

// Clone gives a slice that the next Add has to move.
func (gather[V]) Clone(acc []V) []V { return slices.Clip(acc) }
