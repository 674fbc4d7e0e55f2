package sketch

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Quantiles estimates quantiles of numbers by DDSketch (Masson, Rim and Lee,
// VLDB 2019): for each of at, from 0 to 1, the value that so large a part of the
// numbers is not greater than. The median is at 0.5; at 0 and 1 are the exact
// extremes.
//
// accuracy bounds the relative error of each value: with 0.01, a result of 200
// stands for a number from 198 to 202 that has that very rank. A t-digest, which bounds
// the error of ranks, would depend on the order of elements and on where they were combined.
//
// Numbers are taken as float64. NaN is left out; the infinite count as the
// greatest and least that are not. Quantiles of no numbers are NaN. An accumulator
// takes some bytes for each value that differs from others by more than the
// accuracy: a few kilobytes for numbers within a factor of a thousand.
func Quantiles[N combine.Number](accuracy float64, at ...float64) combine.Combiner[N, QuantilesAcc, []float64] {
	q := quantiles[N]{at: slices.Clone(at)}
	switch {
	case !(accuracy > 0 && accuracy < 1):
		q.err = fmt.Errorf("sketch.Quantiles with an accuracy of %v; want a relative error between 0 and 1, such as 0.01", accuracy)
	case len(at) == 0:
		q.err = errors.New("sketch.Quantiles of no quantile; name some, such as 0.5 for the median")
	}
	for _, p := range at {
		if !(p >= 0 && p <= 1) && q.err == nil {
			q.err = fmt.Errorf("sketch.Quantiles at %v; want 0 to 1", p)
		}
	}
	if q.err == nil {
		q.index, q.err = mapping.NewDefaultMapping(accuracy)
	}
	return q
}

// QuantilesAcc is the accumulator of [Quantiles].
type QuantilesAcc struct {
	sketch   *ddsketch.DDSketch // nil: no number
	min, max float64
}

type quantiles[N combine.Number] struct {
	index mapping.IndexMapping
	at    []float64
	err   error
}

func (q quantiles[N]) Check() error { return q.err }

func (quantiles[N]) Create() (none QuantilesAcc) { return none }

func (q quantiles[N]) Add(a QuantilesAcc, v N) QuantilesAcc {
	f := float64(v)
	if math.IsNaN(f) {
		return a
	}
	a = q.opened(a)
	a.min, a.max = min(a.min, f), max(a.max, f)
	limit := q.index.MaxIndexableValue()
	if err := a.sketch.Add(min(max(f, -limit), limit)); err != nil {
		panic(fmt.Sprintf("sketch: number %v, which lies in the range of the sketch, is refused: %v", f, err))
	}
	return a
}

// opened returns a with a sketch.
func (q quantiles[N]) opened(a QuantilesAcc) QuantilesAcc {
	if a.sketch == nil {
		a = QuantilesAcc{ddsketch.NewDDSketchFromStoreProvider(q.index, store.DefaultProvider), math.Inf(1), math.Inf(-1)}
	}
	return a
}

func (q quantiles[N]) Merge(a, b QuantilesAcc) QuantilesAcc {
	if b.sketch == nil {
		return a
	}
	a = q.opened(a)
	a.min, a.max = min(a.min, b.min), max(a.max, b.max)
	if err := a.sketch.MergeWith(b.sketch); err != nil {
		panic(fmt.Sprintf("sketch: accumulators of one combiner cannot be merged: %v", err))
	}
	return a
}

func (q quantiles[N]) Extract(a QuantilesAcc) []float64 {
	out := make([]float64, len(q.at))
	for i, p := range q.at {
		switch {
		case a.sketch == nil:
			out[i] = math.NaN()
		case p == 0:
			out[i] = a.min
		case p == 1:
			out[i] = a.max
		default:
			v, err := a.sketch.GetValueAtQuantile(p)
			if err != nil {
				panic(fmt.Sprintf("sketch: quantile %v of numbers that there are: %v", p, err))
			}
			out[i] = min(max(v, a.min), a.max)
		}
	}
	return out
}

func (quantiles[N]) Clone(a QuantilesAcc) QuantilesAcc {
	if a.sketch != nil {
		a.sketch = a.sketch.Copy()
	}
	return a
}

// AccCoder returns the coder of accumulators of this accuracy.
func (q quantiles[N]) AccCoder() (coders.Coder[QuantilesAcc], error) {
	return quantilesCoder{q.index, q.index.Index(q.index.MinIndexableValue()), q.index.Index(q.index.MaxIndexableValue())}, nil
}
