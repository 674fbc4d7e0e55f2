package transforms

import (
	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// CombinePerKeyWithFanout is [CombinePerKey] for keys with more elements than
// one worker can take: it combines the elements of a key in as many parts as parts
// says, at least 1, on workers of their own, and then the parts. Give 1 for keys that are not hot.
//
// Combiners that combine before the exchange anyway gain nothing: those in
// windows that do not merge, with triggers that do not finish.
//
// Parts discard what they have fired, whatever the mode of the windows, which
// is that of the combination of parts: nothing is counted twice. Triggers are
// evaluated in both: a delay in processing time passes twice, and a count is reached
// in a part first, and then, by elements, for the key. Retracting mode is refused.
func CombinePerKeyWithFanout[K comparable, In, Acc, Out any](in pcoll.PCollection[pcoll.KV[K, In]], c combine.Combiner[In, Acc, Out],
	parts func(K) int, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Out]] {
	return groupHot(pcoll.NewBuilder(in.Pipeline(), "CombinePerKeyWithFanout", opts...), in, c, parts)
}

// CombineWithFanout is [Combine] in n parts, on workers of their own, and then
// of the parts; see [CombinePerKeyWithFanout]. Of no elements there is no result.
func CombineWithFanout[In, Acc, Out any](in pcoll.PCollection[In], c combine.Combiner[In, Acc, Out], n int, opts ...pcoll.Option) pcoll.PCollection[Out] {
	b := pcoll.NewBuilder(in.Pipeline(), "CombineWithFanout", opts...)
	if n < 1 {
		b.Errorf("elements cannot be combined in %d parts; want at least 1", n)
	}
	keyed := applyTo[In, pcoll.KV[noKey, In]](b.Part("KeyBy"), in, false, keyByOp[noKey, In]{func(In) (k noKey) { return k }})
	all := groupHot(b, keyed, c, func(noKey) int { return n })
	return applyTo[pcoll.KV[noKey, Out], Out](b.Part("Values"), all, false, mapOp[pcoll.KV[noKey, Out], Out]{valueOf[noKey, Out]})
}

func groupHot[K comparable, V, Acc, Out any](b *pcoll.Builder, in pcoll.PCollection[pcoll.KV[K, V]], c combine.Combiner[V, Acc, Out],
	parts func(K) int) pcoll.PCollection[pcoll.KV[K, Out]] {
	if err := combine.CheckOf(c); err != nil {
		b.Errorf("%w", err)
	}
	checkFunc(b, parts == nil)
	return combineOfParts(b, combineParts(b, in, c, parts), in, c)
}

// combineParts combines the parts of each key, in discarding mode.
func combineParts[K comparable, V, Acc, Out any](b *pcoll.Builder, in pcoll.PCollection[pcoll.KV[K, V]], c combine.Combiner[V, Acc, Out],
	parts func(K) int) pcoll.PCollection[partial[K, Acc]] {
	dealt := applyTo[pcoll.KV[K, V], pcoll.KV[sharded[K], V]](b.Part("Deal"), in, false, dealOp[K, V]{parts})
	if col := pcoll.Col(dealt); col != nil {
		if col.Strategy.Mode == strategy.Retracting {
			b.Errorf("parts cannot be combined in retracting mode; combine without fanout")
		}
		s := *col.Strategy
		s.Mode = strategy.Discarding
		col.Strategy = &s
	}
	counted := combine.Both(unfinished[V, Acc, Out]{c}, combine.Count[V]())
	all, _ := group(b.Part("Parts"), dealt, counted, false)
	type A = pcoll.KV[sharded[K], combine.Two[Acc, int64]]
	return applyTo[A, partial[K, Acc]](b.Part("Join"), all, false, joinPartsOp[K, Acc]{})
}

// joinPartsOp makes partial results of what was combined in parts. The empty
// pane of a part stands for no element and is left out.
type joinPartsOp[K comparable, Acc any] struct{}

func (joinPartsOp[K, Acc]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, n := outs[0].(exec.Input[partial[K, Acc]]), env.Counter(exec.Emitted(0))
	return one(exec.Input[pcoll.KV[sharded[K], combine.Two[Acc, int64]]](func(c *exec.Ctx, e pcoll.KV[sharded[K], combine.Two[Acc, int64]]) {
		if e.Value.Second > 0 {
			n.N++
			down(c, partial[K, Acc]{e.Key.Key, e.Value.First, e.Value.Second})
		}
	}))
}

// combineOfParts combines parts, with the strategy of in: also windows that were merged for parts may merge further.
func combineOfParts[K comparable, V, Acc, Out any](b *pcoll.Builder, parts pcoll.PCollection[partial[K, Acc]], in pcoll.PCollection[pcoll.KV[K, V]],
	c combine.Combiner[V, Acc, Out]) pcoll.PCollection[pcoll.KV[K, Out]] {
	like := pcoll.From(b, parts)
	g := grouping[K, V, Acc, Out]{strategy: like.Strategy, comb: c, structure: graph.Opaque}
	if col := pcoll.Col(in); col != nil {
		g.strategy = col.Strategy
	}
	g.describe(b)
	out, _ := g.outputs(b, like, false)
	if b.Bad() {
		return out
	}
	// The accumulator travels by the combiner's own coder.
	pcoll.Col(parts).Edge = exec.NewEdgeOf(coders.Coder[partial[K, Acc]](partialCoder[K, Acc]{g.key.Coder, g.acc}))
	n, hash := b.Node(), g.key.Hash
	n.Strategy, n.KeyCoder, n.AccCoder = g.strategy, g.key, g.acc
	n.Inputs[0].Exchange = graph.Keyed
	n.Inputs[0].Route = func(p partial[K, Acc]) uint64 { return hash(p.Key) }
	b.Add(&partsOp[K, V, Acc, Out]{&aggregate[K, V, Acc, Out]{grouping: g}})
	return out
}

// partsOp is a grouping whose elements are partial results.
type partsOp[K comparable, V, Acc, Out any] struct{ whole *aggregate[K, V, Acc, Out] }

func (o *partsOp[K, V, Acc, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	n := env.Counter(exec.Elements)
	inst, in := o.whole.instance(env, outs, n)
	inst.In = []any{exec.Input[partial[K, Acc]](func(c *exec.Ctx, p partial[K, Acc]) {
		n.N++
		if o.whole.copy != nil { // it is folded into, and an element must not change
			p.Acc = o.whole.copy(p.Acc)
		}
		in(c, p)
	})}
	return inst, nil
}

// unfinished is a combiner whose result is its accumulator. Where panes discard
// what they fired, the accumulator is nobody else's then.
type unfinished[V, Acc, Out any] struct{ combine.Combiner[V, Acc, Out] }

func (u unfinished[V, Acc, Out]) Extract(a Acc) Acc { return a }

// AccCoder returns the coder of the combiner's accumulators.
func (u unfinished[V, Acc, Out]) AccCoder() (coders.Coder[Acc], error) {
	return combine.CoderOf(u.Combiner)
}
