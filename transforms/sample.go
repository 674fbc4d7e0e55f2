package transforms

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Sample chooses n elements of each window, each with the same chance, or all
// if there are no more. The choice follows from [SampleSeed] and from how
// elements came to workers: on one worker the same input gives the same sample.
func Sample[T any](in pcoll.PCollection[T], n int, opts ...pcoll.Option) pcoll.PCollection[[]T] {
	b := pcoll.NewBuilder(in.Pipeline(), "Sample", opts...)
	lots := applyTo[T, pcoll.KV[noKey, drawn[T]]](b.Part("Draw"), in, false, drawOp[T, pcoll.KV[noKey, drawn[T]]]{takeSeed(b),
		func(v T, lot uint64) pcoll.KV[noKey, drawn[T]] {
			return pcoll.KV[noKey, drawn[T]]{Value: drawn[T]{lot, v}}
		}})
	out, _ := combineAll(b, lots, sampled[T](b, n), true, false)
	return out
}

// SamplePerKey chooses n values of each key, each with the same chance; see [Sample].
func SamplePerKey[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], n int, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, []V]] {
	b := pcoll.NewBuilder(in.Pipeline(), "SamplePerKey", opts...)
	lots := applyTo[pcoll.KV[K, V], pcoll.KV[K, drawn[V]]](b.Part("Draw"), in, false, drawOp[pcoll.KV[K, V], pcoll.KV[K, drawn[V]]]{takeSeed(b),
		func(e pcoll.KV[K, V], lot uint64) pcoll.KV[K, drawn[V]] {
			return pcoll.KV[K, drawn[V]]{Key: e.Key, Value: drawn[V]{lot, e.Value}}
		}})
	out, _ := group(b, lots, sampled[V](b, n), false)
	return out
}

// SampleAny returns n elements of each window, whichever come first, or all if
// there are no more. It is the cheapest way to see some.
func SampleAny[T any](in pcoll.PCollection[T], n int, opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "SampleAny", opts...)
	some, _ := combineEach(b, in, combine.Any[T](n), false, false)
	return applyTo[[]T, T](b.Part("Elements"), some, false, flatMapOp[[]T, T]{slices.Values[[]T]})
}

// SampleSeed gives a [Sample] another seed than 0: another one, another choice.
func SampleSeed(seed uint64) pcoll.Option { return pcoll.Extra("SampleSeed", sampleSeed(seed)) }

type sampleSeed uint64

func takeSeed(b *pcoll.Builder) (seed uint64) {
	for _, s := range pcoll.Taken[sampleSeed](b) {
		seed = uint64(s)
	}
	return seed
}

// drawn is an element with the lot it drew. A sample is the elements with the least lots.
type drawn[T any] struct {
	Lot   uint64
	Value T
}

// sampled is the combiner of what drew lots.
func sampled[T any](b *pcoll.Builder, n int) combine.Combiner[drawn[T], []drawn[T], []T] {
	if n < 1 {
		b.Errorf("a sample of %d holds nothing; want at least 1", n)
		n = 1
	}
	least := combine.Top(n, func(x, y drawn[T]) int { return cmp.Compare(y.Lot, x.Lot) })
	return combine.Then(least, func(ds []drawn[T]) []T {
		vs := make([]T, len(ds))
		for i, d := range ds {
			vs[i] = d.Value
		}
		return vs
	})
}

// drawOp lets each element draw a lot: a number from a generator of the worker,
// so that the lots of equal elements on several workers differ too.
type drawOp[A, B any] struct {
	seed uint64
	with func(v A, lot uint64) B
}

func (o drawOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	with, down := o.with, outs[0].(exec.Input[B])
	worker, _ := env.Worker()
	stream := mix(o.seed + mix(uint64(worker)))
	drawn := new(tally)
	env.Keep("drawn", drawn)
	return one(exec.Input[A](func(c *exec.Ctx, v A) {
		drawn.n++
		down(c, with(v, mix(stream+golden*drawn.n)))
	}))
}

// golden is 2^64 divided by the golden ratio, the step of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A tally is a store of a number that only grows and belongs to no key.
type tally struct{ n uint64 }

// Snapshot writes the number with every group: whoever owns one needs it.
func (t *tally) Snapshot(dst []byte, _ int) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, t.n), nil
}

// Restore goes on behind the greatest of the numbers.
func (t *tally) Restore(src []byte) error {
	for ; len(src) >= 8; src = src[8:] {
		t.n = max(t.n, binary.BigEndian.Uint64(src))
	}
	if len(src) > 0 {
		return fmt.Errorf("transforms: a stored number has %d bytes too many", len(src))
	}
	return nil
}
