package transforms

import (
	"slices"

	"github.com/penstock-dev/penstock/coders"
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
	s := like.Strategy
	a := &aggregate[K, V, Acc, Out]{strategy: s, assign: like.Pending, comb: c, late: late}
	_, gathers := any(c).(gather[V])
	a.lift = !gathers // gathering makes nothing smaller
	if !b.Bad() {
		checkWindowing(b, like)
		describe(b, a)
	}

	out := pcoll.To[pcoll.KV[K, Out]](b, &graph.Collection{Strategy: s.Continued(), Bounded: like.Bounded})
	var dropped pcoll.PCollection[pcoll.KV[K, V]]
	if late {
		dropped = pcoll.To[pcoll.KV[K, V]](b, pcoll.Unwindowed(like.Bounded))
	}
	if b.Bad() {
		return out, dropped
	}
	n, hash := b.Node(), a.key.Hash
	n.Structure, n.Strategy, n.KeyCoder, n.AccCoder = graph.CombinePerKey, s, a.key, a.acc
	if gathers {
		n.Structure = graph.GroupByKey
	}
	n.Inputs[0].Exchange = graph.Keyed
	n.Inputs[0].Route = func(e pcoll.KV[K, V]) uint64 { return hash(e.Key) }
	b.Add(a)
	return out, dropped
}

// describe finds coders and copier of the aggregation, or says why there are none.
func describe[K comparable, V, Acc, Out any](b *pcoll.Builder, a *aggregate[K, V, Acc, Out]) {
	err := combine.CheckOf(a.comb)
	if err == nil {
		a.key, err = coders.ForKey[K]()
	}
	if err == nil { // values travel to the worker that owns the key
		_, err = coders.For[V]()
	}
	if err == nil {
		a.acc, err = combine.CoderOf(a.comb)
	}
	if err == nil {
		a.copy, err = combine.CopierOf(a.comb)
	}
	if err != nil {
		b.Errorf("%w", err)
	}
}

// checkWindowing reports groupings that would never give a result, or drop data
// that nobody said may be dropped.
func checkWindowing(b *pcoll.Builder, like *graph.Collection) {
	s := like.Strategy
	atEnd := s.Trigger.Kind == strategy.OnDefault || (s.Trigger.Kind == strategy.OnWatermark && s.Trigger.Early() == nil)
	switch {
	case !like.Bounded && s.Fn == strategy.WindowFn(strategy.GlobalWindows{}) && atEnd:
		b.Errorf("unbounded input in the global window, which no watermark ever ends, would never give a result; "+
			"apply windowing.Into with windows such as windowing.Fixed(time.Minute), or with a trigger that fires early; trigger is %v", s.Trigger)
	case s.Unsafe() && !s.UnsafeAllowed:
		b.Errorf("trigger %v may finish, and its window drops what comes after that; "+
			"wrap it in triggers.Repeatedly, give AfterWatermark a Late trigger, or accept the loss with windowing.AllowUnsafeTrigger()", s.Trigger)
	}
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
