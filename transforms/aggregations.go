package transforms

import (
	"cmp"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// This file holds the aggregations that have a name of their own. What each
// does with overflow, NaN and nothing at all is said at its combiner.

// Count counts the elements of each window.
func Count[T any](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[int64] {
	b := pcoll.NewBuilder(in.Pipeline(), "Count", opts...)
	marks := applyTo[T, pcoll.KV[noKey, struct{}]](b.Part("Mark"), in, false, // what is counted need not travel
		mapOp[T, pcoll.KV[noKey, struct{}]]{func(T) (mark pcoll.KV[noKey, struct{}]) { return mark }})
	out, _ := combineAll(b, marks, combine.Count[struct{}](), true, false)
	return out
}

// CountPerKey counts the values of each key.
func CountPerKey[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, int64]] {
	b := pcoll.NewBuilder(in.Pipeline(), "CountPerKey", opts...)
	keys := applyTo[pcoll.KV[K, V], pcoll.KV[K, struct{}]](b.Part("Keys"), in, false,
		mapOp[pcoll.KV[K, V], pcoll.KV[K, struct{}]]{func(e pcoll.KV[K, V]) pcoll.KV[K, struct{}] { return pcoll.KV[K, struct{}]{Key: e.Key} }})
	out, _ := group(b, keys, combine.Count[struct{}](), false)
	return out
}

// CountPerElement counts how often each element occurs. T is a key here: it
// must have a canonical encoding.
func CountPerElement[T comparable](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[T, int64]] {
	b := pcoll.NewBuilder(in.Pipeline(), "CountPerElement", opts...)
	keys := applyTo[T, pcoll.KV[T, struct{}]](b.Part("Keys"), in, false,
		mapOp[T, pcoll.KV[T, struct{}]]{func(v T) pcoll.KV[T, struct{}] { return pcoll.KV[T, struct{}]{Key: v} }})
	out, _ := group(b, keys, combine.Count[struct{}](), false)
	return out
}

// Sum adds the numbers of each window.
func Sum[N combine.Number](in pcoll.PCollection[N], opts ...pcoll.Option) pcoll.PCollection[N] {
	return combineNamed("Sum", in, combine.Sum[N](), true, opts)
}

// SumPerKey adds the numbers of each key.
func SumPerKey[K comparable, N combine.Number](in pcoll.PCollection[pcoll.KV[K, N]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, N]] {
	return combinePerKey("SumPerKey", in, combine.Sum[N](), opts)
}

// Mean averages the numbers of each window.
func Mean[N combine.Number](in pcoll.PCollection[N], opts ...pcoll.Option) pcoll.PCollection[float64] {
	return combineNamed("Mean", in, combine.Mean[N](), true, opts)
}

// MeanPerKey averages the numbers of each key.
func MeanPerKey[K comparable, N combine.Number](in pcoll.PCollection[pcoll.KV[K, N]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, float64]] {
	return combinePerKey("MeanPerKey", in, combine.Mean[N](), opts)
}

// Min returns the least element of each window, and nothing for no element.
func Min[T cmp.Ordered](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return combineNamed("Min", in, combine.Min[T](), false, opts)
}

// MinPerKey returns the least value of each key.
func MinPerKey[K comparable, T cmp.Ordered](in pcoll.PCollection[pcoll.KV[K, T]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, T]] {
	return combinePerKey("MinPerKey", in, combine.Min[T](), opts)
}

// Max returns the greatest element of each window, and nothing for no element.
func Max[T cmp.Ordered](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return combineNamed("Max", in, combine.Max[T](), false, opts)
}

// MaxPerKey returns the greatest value of each key.
func MaxPerKey[K comparable, T cmp.Ordered](in pcoll.PCollection[pcoll.KV[K, T]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, T]] {
	return combinePerKey("MaxPerKey", in, combine.Max[T](), opts)
}

// Top returns the n greatest elements of each window by compare, greatest first.
func Top[T any](in pcoll.PCollection[T], n int, compare func(a, b T) int, opts ...pcoll.Option) pcoll.PCollection[[]T] {
	return combineNamed("Top", in, combine.Top(n, compare), true, opts)
}

// TopPerKey returns the n greatest values of each key by compare, greatest first.
func TopPerKey[K comparable, T any](in pcoll.PCollection[pcoll.KV[K, T]], n int, compare func(a, b T) int,
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, []T]] {
	return combinePerKey("TopPerKey", in, combine.Top(n, compare), opts)
}
