package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Latest returns the element of each window with the greatest event time, and
// nothing for no element. Of several with the same time any may be kept.
//
// It is the time that elements have here: of results of a grouping, that of
// their pane.
func Latest[T any](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "Latest", opts...)
	stamped := reify(b.Part("Stamp"), in, false, func(c *exec.Ctx, v T) pcoll.KV[noKey, Timestamped[T]] {
		return pcoll.KV[noKey, Timestamped[T]]{Value: Timestamped[T]{v, c.Time}}
	})
	all, _ := group(b, stamped, latest[T]{}, false)
	return applyTo[pcoll.KV[noKey, combine.Extreme[T]], T](b.Part("Values"), all, false,
		presentOp[noKey, T, T]{func(_ noKey, v T) T { return v }})
}

// LatestPerKey returns the value of each key with the greatest event time; see [Latest].
func LatestPerKey[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, V]] {
	b := pcoll.NewBuilder(in.Pipeline(), "LatestPerKey", opts...)
	all, _ := group(b, reify(b.Part("Stamp"), in, false, stampValue[K, V]), latest[V]{}, false)
	return applyTo[pcoll.KV[K, combine.Extreme[V]], pcoll.KV[K, V]](b.Part("Values"), all, false, presentOp[K, V, pcoll.KV[K, V]]{pcoll.Pair[K, V]})
}

// latest is the combiner that keeps the element with the greatest time.
type latest[T any] struct{}

func (latest[T]) Create() (none combine.Extreme[Timestamped[T]]) { return none }

func (latest[T]) Add(a combine.Extreme[Timestamped[T]], v Timestamped[T]) combine.Extreme[Timestamped[T]] {
	if a.Ok && v.Time < a.Value.Time {
		return a
	}
	return combine.Extreme[Timestamped[T]]{Value: v, Ok: true}
}

func (l latest[T]) Merge(a, b combine.Extreme[Timestamped[T]]) combine.Extreme[Timestamped[T]] {
	if b.Ok {
		return l.Add(a, b.Value)
	}
	return a
}

func (latest[T]) Extract(a combine.Extreme[Timestamped[T]]) combine.Extreme[T] {
	return combine.Extreme[T]{Value: a.Value.Value, Ok: a.Ok}
}

// presentOp passes on results that there are: an empty pane has none.
type presentOp[K comparable, V, Out any] struct{ with func(K, V) Out }

func (o presentOp[K, V, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, n := outs[0].(exec.Input[Out]), env.Counter(exec.Emitted(0))
	return one(exec.Input[pcoll.KV[K, combine.Extreme[V]]](func(c *exec.Ctx, e pcoll.KV[K, combine.Extreme[V]]) {
		if e.Value.Ok {
			n.N++
			down(c, o.with(e.Key, e.Value.Value))
		}
	}))
}
