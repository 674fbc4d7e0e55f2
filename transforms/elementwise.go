package transforms

import (
	"fmt"
	"iter"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// Map applies f to each element.
func Map[A, B any](in pcoll.PCollection[A], f func(A) B, opts ...pcoll.Option) pcoll.PCollection[B] {
	return apply[A, B](in, "Map", f == nil, opts, mapOp[A, B]{f})
}

// Filter keeps the elements for which keep is true.
func Filter[T any](in pcoll.PCollection[T], keep func(T) bool, opts ...pcoll.Option) pcoll.PCollection[T] {
	return apply[T, T](in, "Filter", keep == nil, opts, filterOp[T]{keep})
}

// FlatMap applies f to each element and emits what it yields, which may be
// nothing, or never end: iteration stops when the run does. A nil sequence is empty.
func FlatMap[A, B any](in pcoll.PCollection[A], f func(A) iter.Seq[B], opts ...pcoll.Option) pcoll.PCollection[B] {
	return apply[A, B](in, "FlatMap", f == nil, opts, flatMapOp[A, B]{f})
}

// KeyBy pairs each element with the key that key returns for it.
func KeyBy[K comparable, V any](in pcoll.PCollection[V], key func(V) K, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, V]] {
	return apply[V, pcoll.KV[K, V]](in, "KeyBy", key == nil, opts, keyByOp[K, V]{key})
}

// MapValues applies f to the value of each pair.
func MapValues[K comparable, A, B any](in pcoll.PCollection[pcoll.KV[K, A]], f func(A) B, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, B]] {
	return apply[pcoll.KV[K, A], pcoll.KV[K, B]](in, "MapValues", f == nil, opts, mapValuesOp[K, A, B]{f})
}

// Keys returns the key of each pair; a key comes as often as it has pairs.
func Keys[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[K] {
	return apply[pcoll.KV[K, V], K](in, "Keys", false, opts, mapOp[pcoll.KV[K, V], K]{keyOf[K, V]})
}

// Values returns the value of each pair.
func Values[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[V] {
	return apply[pcoll.KV[K, V], V](in, "Values", false, opts, mapOp[pcoll.KV[K, V], V]{valueOf[K, V]})
}

// Swap makes the value of each pair its key and the key its value.
func Swap[K, V comparable](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[V, K]] {
	return apply[pcoll.KV[K, V], pcoll.KV[V, K]](in, "Swap", false, opts, mapOp[pcoll.KV[K, V], pcoll.KV[V, K]]{swapped[K, V]})
}

func keyOf[K comparable, V any](e pcoll.KV[K, V]) K   { return e.Key }
func valueOf[K comparable, V any](e pcoll.KV[K, V]) V { return e.Value }
func swapped[K, V comparable](e pcoll.KV[K, V]) pcoll.KV[V, K] {
	return pcoll.KV[V, K]{Key: e.Value, Value: e.Key}
}

// Failed is an element on which a function failed, and why.
type Failed[A any] struct {
	Input A
	Error string
}

// TryMap applies f to each element and returns the results, and the elements
// for which f returned an error. The failed ones keep time and window, so that
// they can be counted, stored or tried again. A panic still fails the run.
func TryMap[A, B any](in pcoll.PCollection[A], f func(A) (B, error), opts ...pcoll.Option) (pcoll.PCollection[B], pcoll.PCollection[Failed[A]]) {
	b := pcoll.NewBuilder(in.Pipeline(), "TryMap", opts...)
	like := pcoll.From(b, in)
	checkFunc(b, f == nil)
	good, failed := pcoll.To[B](b, like), pcoll.To[Failed[A]](b, like)
	b.Add(tryMapOp[A, B]{f})
	return good, failed
}

// apply adds a node of one input and one output that is like it.
func apply[A, B any](in pcoll.PCollection[A], kind string, noFunc bool, opts []pcoll.Option, op exec.Op) pcoll.PCollection[B] {
	return applyTo[A, B](pcoll.NewBuilder(in.Pipeline(), kind, opts...), in, noFunc, op)
}

func applyTo[A, B any](b *pcoll.Builder, in pcoll.PCollection[A], noFunc bool, op exec.Op) pcoll.PCollection[B] {
	like := pcoll.From(b, in)
	checkFunc(b, noFunc)
	out := pcoll.To[B](b, like)
	b.Add(op)
	return out
}

func checkFunc(b *pcoll.Builder, missing bool) {
	if missing {
		b.Errorf("the function is nil; give the one that is to be applied")
	}
}

// one is the instance of an operator that keeps nothing.
func one[T any](in exec.Input[T]) (exec.Instance, error) {
	return exec.Instance{In: []any{in}}, nil
}

type mapOp[A, B any] struct{ f func(A) B }

func (o mapOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	f, down, op := o.f, outs[0].(exec.Input[B]), env.Op()
	return one(exec.Input[A](func(c *exec.Ctx, a A) {
		c.Op = op
		down(c, f(a))
	}))
}

type filterOp[T any] struct{ keep func(T) bool }

func (o filterOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	keep, down, op, n := o.keep, outs[0].(exec.Input[T]), env.Op(), env.Counter(exec.Emitted(0))
	return one(exec.Input[T](func(c *exec.Ctx, v T) {
		c.Op = op
		if keep(v) {
			n.N++
			down(c, v)
		}
	}))
}

type keyByOp[K comparable, V any] struct{ key func(V) K }

func (o keyByOp[K, V]) New(env exec.Env, outs []any) (exec.Instance, error) {
	key, down, op := o.key, outs[0].(exec.Input[pcoll.KV[K, V]]), env.Op()
	return one(exec.Input[V](func(c *exec.Ctx, v V) {
		c.Op = op
		down(c, pcoll.KV[K, V]{Key: key(v), Value: v})
	}))
}

type mapValuesOp[K comparable, A, B any] struct{ f func(A) B }

func (o mapValuesOp[K, A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	f, down, op := o.f, outs[0].(exec.Input[pcoll.KV[K, B]]), env.Op()
	return one(exec.Input[pcoll.KV[K, A]](func(c *exec.Ctx, e pcoll.KV[K, A]) {
		c.Op = op
		down(c, pcoll.KV[K, B]{Key: e.Key, Value: f(e.Value)})
	}))
}

type flatMapOp[A, B any] struct{ f func(A) iter.Seq[B] }

func (o flatMapOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	f, down, op, n := o.f, outs[0].(exec.Input[B]), env.Op(), env.Counter(exec.Emitted(0))
	var at *exec.Ctx // of the element being processed; one yield serves all, so that none allocates
	yield := func(b B) bool {
		c := at
		n.N++
		down(c, b)
		c.Op = op // the sequence goes on
		return c.Err == nil
	}
	return one(exec.Input[A](func(c *exec.Ctx, a A) {
		c.Op, at = op, c
		if seq := f(a); seq != nil {
			seq(yield)
		}
	}))
}

type tryMapOp[A, B any] struct{ f func(A) (B, error) }

func (o tryMapOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	f, good, failed := o.f, outs[0].(exec.Input[B]), outs[1].(exec.Input[Failed[A]])
	op, passed, failures := env.Op(), env.Counter(exec.Emitted(0)), env.Counter(exec.Emitted(1))
	return one(exec.Input[A](func(c *exec.Ctx, a A) {
		c.Op = op
		b, err := f(a)
		if err != nil {
			failures.N++
			failed(c, Failed[A]{a, err.Error()})
			return
		}
		passed.N++
		good(c, b)
	}))
}

// Partition divides a collection into the elements for which match is true, and the rest.
func Partition[T any](in pcoll.PCollection[T], match func(T) bool, opts ...pcoll.Option) (matching, rest pcoll.PCollection[T]) {
	b := pcoll.NewBuilder(in.Pipeline(), "Partition", opts...)
	like := pcoll.From(b, in)
	checkFunc(b, match == nil)
	matching, rest = pcoll.To[T](b, like), pcoll.To[T](b, like)
	b.Add(partitionOp[T]{2, func(v T) int {
		if match(v) {
			return 0
		}
		return 1
	}})
	return matching, rest
}

// PartitionBy divides a collection into n; number returns which of them, from 0,
// an element goes to. A number outside fails the run.
func PartitionBy[T any](in pcoll.PCollection[T], n int, number func(T) int, opts ...pcoll.Option) []pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "PartitionBy", opts...)
	like := pcoll.From(b, in)
	checkFunc(b, number == nil)
	if n < 1 {
		b.Errorf("%d partitions hold nothing; want at least 1", n)
	}
	parts := make([]pcoll.PCollection[T], max(n, 0))
	for i := range parts {
		parts[i] = pcoll.To[T](b, like)
	}
	b.Add(partitionOp[T]{n, number})
	return parts
}

type partitionOp[T any] struct {
	n      int
	number func(T) int
}

func (o partitionOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	number, op := o.number, env.Op()
	downs, counts := make([]exec.Input[T], o.n), make([]*exec.Counter, o.n)
	for i := range downs {
		downs[i], counts[i] = outs[i].(exec.Input[T]), env.Counter(exec.Emitted(i))
	}
	return one(exec.Input[T](func(c *exec.Ctx, v T) {
		c.Op = op
		i := number(v)
		if uint(i) >= uint(len(downs)) {
			c.Fail(fmt.Errorf("element %+v was given partition %d; want 0 to %d", v, i, len(downs)-1))
			return
		}
		counts[i].N++
		downs[i](c, v)
	}))
}
