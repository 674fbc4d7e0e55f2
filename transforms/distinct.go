package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Distinct keeps one of each set of equal elements of a window. T is a key
// here: it must have a canonical encoding.
//
// An element comes out in the first pane that its window fires for it, and not
// again in later ones, so that a trigger which fires early gives each element
// once all the same. A session that grows by merging is a new window. To keep
// one within a time, and not a window, and without waiting for panes, use
// [Deduplicate].
func Distinct[T comparable](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "Distinct", opts...)
	return distinct(b, in)
}

func distinct[T comparable](b *pcoll.Builder, in pcoll.PCollection[T]) pcoll.PCollection[T] {
	keys := applyTo[T, pcoll.KV[T, struct{}]](b.Part("Keys"), in, false,
		mapOp[T, pcoll.KV[T, struct{}]]{func(v T) pcoll.KV[T, struct{}] { return pcoll.KV[T, struct{}]{Key: v} }})
	all, _ := group(b, keys, presence{}, false)
	return firstPanes(b, all, keyOf[T, struct{}])
}

// DistinctBy keeps one of the elements of a window that have the same key, as
// [Distinct] does; any of them may be kept. T may be of any type with an encoding.
func DistinctBy[K comparable, T any](in pcoll.PCollection[T], key func(T) K, opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "DistinctBy", opts...)
	keyed := applyTo[T, pcoll.KV[K, T]](b.Part("KeyBy"), in, key == nil, keyByOp[K, T]{key})
	all, _ := group(b, keyed, first[T]{}, false)
	return firstPanes(b, all, valueOf[K, T])
}

// firstPanes passes on what came in the first pane of its window and key, as f makes
// it. A collection with withdrawals passes whole: which of its elements
// are of account follows from all of them.
func firstPanes[A, B any](b *pcoll.Builder, in pcoll.PCollection[A], f func(A) B) pcoll.PCollection[B] {
	o := firstPaneOp[A, B]{f: f}
	if c := pcoll.Col(in); c != nil {
		o.all = c.Retracts
	}
	return applyTo[A, B](b.Part("First"), in, false, o)
}

type firstPaneOp[A, B any] struct {
	f   func(A) B
	all bool
}

func (o firstPaneOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, n := outs[0].(exec.Input[B]), env.Counter(exec.Emitted(0))
	return one(exec.Input[A](func(c *exec.Ctx, v A) {
		if c.Pane.First || o.all {
			n.N++
			down(c, o.f(v))
		}
	}))
}

// presence is the combiner that knows of a key only that it is there.
type presence struct{}

func (presence) Create() (none struct{})             { return none }
func (presence) Add(a struct{}, _ struct{}) struct{} { return a }
func (presence) Merge(a, _ struct{}) struct{}        { return a }
func (presence) Extract(a struct{}) struct{}         { return a }

// first is the combiner that keeps the first element that it sees.
type first[T any] struct{}

func (first[T]) Create() (none combine.Extreme[T]) { return none }

func (first[T]) Add(a combine.Extreme[T], v T) combine.Extreme[T] {
	if a.Ok {
		return a
	}
	return combine.Extreme[T]{Value: v, Ok: true}
}

func (first[T]) Merge(a, b combine.Extreme[T]) combine.Extreme[T] {
	if a.Ok {
		return a
	}
	return b
}

func (first[T]) Extract(a combine.Extreme[T]) T { return a.Value }
