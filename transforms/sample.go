package transforms

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Sample chooses n elements of each window, each with the same chance, or all
// if there are no more. The choice follows from [SampleSeed] and from how
// elements came to workers: on one worker the same input gives the same sample.
// Where elements may be withdrawals (windowing.Retracting) it follows from the
// seed and the elements alone, so that each withdrawal finds its element.
func Sample[T any](in pcoll.PCollection[T], n int, opts ...pcoll.Option) pcoll.PCollection[[]T] {
	b := pcoll.NewBuilder(in.Pipeline(), "Sample", opts...)
	lots := draw(b, in, func(v T, lot uint64) pcoll.KV[noKey, drawn[T]] {
		return pcoll.KV[noKey, drawn[T]]{Value: drawn[T]{lot, v}}
	})
	out, _ := combineAll(b, lots, sampled[T](b, n, retracts(in)), true, false)
	return out
}

// SamplePerKey chooses n values of each key, each with the same chance; see [Sample].
func SamplePerKey[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], n int, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, []V]] {
	b := pcoll.NewBuilder(in.Pipeline(), "SamplePerKey", opts...)
	lots := draw(b, in, func(e pcoll.KV[K, V], lot uint64) pcoll.KV[K, drawn[V]] {
		return pcoll.KV[K, drawn[V]]{Key: e.Key, Value: drawn[V]{lot, e.Value}}
	})
	out, _ := group(b, lots, sampled[V](b, n, retracts(in)), false)
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

func compareLots[T any](x, y drawn[T]) int { return cmp.Compare(x.Lot, y.Lot) }

// retracts says whether elements of a collection may be withdrawals.
func retracts[T any](in pcoll.PCollection[T]) bool {
	c := pcoll.Col(in)
	return c != nil && c.Retracts
}

// sampled is the combiner of what drew lots; again says that equal elements drew the same.
func sampled[T any](b *pcoll.Builder, n int, again bool) combine.Combiner[drawn[T], []drawn[T], []T] {
	if n < 1 {
		b.Errorf("a sample of %d holds nothing; want at least 1", n)
		n = 1
	}
	if again {
		return redrawn[T]{n}
	}
	least := combine.Top(n, func(x, y drawn[T]) int { return compareLots(y, x) })
	return combine.Then(least, valuesDrawn[T])
}

func valuesDrawn[T any](ds []drawn[T]) []T {
	vs := make([]T, len(ds))
	for i, d := range ds {
		vs[i] = d.Value
	}
	return vs
}

// redrawn is the combiner that samples where elements are taken back. It holds
// all that are left, of which equal ones drew the same lot, and lets those draw again.
type redrawn[T any] struct{ n int }

func (redrawn[T]) Create() []drawn[T]                        { return nil }
func (redrawn[T]) Add(all []drawn[T], d drawn[T]) []drawn[T] { return append(all, d) }
func (redrawn[T]) Merge(all, other []drawn[T]) []drawn[T]    { return append(all, other...) }
func (redrawn[T]) Clone(all []drawn[T]) []drawn[T]           { return slices.Clone(all) }

func (r redrawn[T]) Extract(all []drawn[T]) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, compareLots[T])
	var lot, times uint64
	for i := range all {
		if all[i].Lot != lot {
			lot, times = all[i].Lot, 0
		}
		times++
		all[i].Lot = mix(lot + golden*times)
	}
	slices.SortFunc(all, compareLots[T])
	return valuesDrawn(all[:min(r.n, len(all))])
}

// draw lets each element draw a lot, as a part of b.
func draw[A, B any](b *pcoll.Builder, in pcoll.PCollection[A], with func(v A, lot uint64) B) pcoll.PCollection[B] {
	o := drawOp[A, B]{seed: takeSeed(b), with: with}
	if retracts(in) {
		hash, err := coders.ForKey[string]()
		if err == nil {
			o.hash = hash.Hash
			o.coder, err = coders.For[A]()
		}
		if err != nil {
			b.Errorf("%w", err)
		}
	}
	return applyTo[A, B](b.Part("Draw"), in, false, o)
}

// drawOp lets each element draw a lot: a number from a generator of the worker,
// so that the lots of equal elements on several workers differ too. With hash
// it is made of the element and its time, which a withdrawal shares with what it takes back.
type drawOp[A, B any] struct {
	seed  uint64
	with  func(v A, lot uint64) B
	coder coders.Coder[A]
	hash  func(string) uint64
}

func (o drawOp[A, B]) New(env exec.Env, outs []any) (exec.Instance, error) {
	with, down, op := o.with, outs[0].(exec.Input[B]), env.Op()
	if o.hash != nil {
		var buf []byte
		return one(exec.Input[A](func(c *exec.Ctx, v A) {
			c.Op = op
			var err error
			if buf, err = o.coder.Append(buf[:0], v); err != nil {
				c.Fail(fmt.Errorf("element %+v cannot be encoded: %w", v, err))
				return
			}
			// The hash keeps nothing of the string, which lives until the next element.
			down(c, with(v, mix(o.seed+mix(uint64(c.Time))+o.hash(unsafe.String(unsafe.SliceData(buf), len(buf))))))
		}))
	}
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
