package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// Timestamped is a value with the event time of its element.
type Timestamped[T any] struct {
	Value T
	Time  pcoll.Time
}

// Windowed is a value with all that surrounds its element.
type Windowed[T any] struct {
	Value  T
	Time   pcoll.Time
	Window pcoll.Window
	Pane   pcoll.Pane
}

// Reify makes event time, window and pane of each element a part of it, once
// for each of its windows, so that they survive re-windowing, are written to
// sinks, or are compared. A withdrawal has those of the element it takes back.
func Reify[T any](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[Windowed[T]] {
	return reify(pcoll.NewBuilder(in.Pipeline(), "Reify", opts...), in, true, func(c *exec.Ctx, v T) Windowed[T] {
		return Windowed[T]{v, c.Time, c.Window, c.Pane}
	})
}

// ReifyTimestamps makes the event time of each element a part of it.
func ReifyTimestamps[T any](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[Timestamped[T]] {
	return reify(pcoll.NewBuilder(in.Pipeline(), "ReifyTimestamps", opts...), in, false, func(c *exec.Ctx, v T) Timestamped[T] {
		return Timestamped[T]{v, c.Time}
	})
}

// ReifyValues is [Reify] of the values of pairs, which stay keyed.
func ReifyValues[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Windowed[V]]] {
	return reify(pcoll.NewBuilder(in.Pipeline(), "ReifyValues", opts...), in, true, func(c *exec.Ctx, e pcoll.KV[K, V]) pcoll.KV[K, Windowed[V]] {
		return pcoll.KV[K, Windowed[V]]{Key: e.Key, Value: Windowed[V]{e.Value, c.Time, c.Window, c.Pane}}
	})
}

// ReifyTimestampsOfValues is [ReifyTimestamps] of the values of pairs, which stay keyed.
func ReifyTimestampsOfValues[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Timestamped[V]]] {
	return reify(pcoll.NewBuilder(in.Pipeline(), "ReifyTimestampsOfValues", opts...), in, false, stampValue[K, V])
}

func stampValue[K comparable, V any](c *exec.Ctx, e pcoll.KV[K, V]) pcoll.KV[K, Timestamped[V]] {
	return pcoll.KV[K, Timestamped[V]]{Key: e.Key, Value: Timestamped[V]{e.Value, c.Time}}
}

func reify[A, B any](b *pcoll.Builder, in pcoll.PCollection[A], windows bool, f func(*exec.Ctx, A) B) pcoll.PCollection[B] {
	var like *graph.Collection
	if windows {
		like = pcoll.FromWindowed(b, in)
	} else {
		like = pcoll.From(b, in)
	}
	out := pcoll.To[B](b, like)
	b.Add(reifyOp[A, B]{f})
	return out
}

type reifyOp[A, B any] struct{ f func(*exec.Ctx, A) B }

func (o reifyOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	f, down := o.f, outs[0].(exec.Input[B])
	return one(exec.Input[A](func(c *exec.Ctx, v A) { down(c, f(c, v)) }))
}
