// Package combine holds combiners: aggregations that can be computed in parts.
//
//	transforms.CombinePerKey(amounts, combine.Sum[int64]())
//	transforms.CombinePerKey(orders, combine.On(Order.Cents, combine.Sum[int64]()))
//	transforms.Combine(latencies, combine.Both(combine.Mean[int64](), combine.Max[int64]()))
//
// A combiner is a value that any number of workers use at once. Engines apply
// it in parts, in any order: partial accumulators before an exchange, slices of
// sliding windows, merged sessions. The result must not depend on how elements
// were divided or ordered; where it does, as for sums of floats, only as far as
// the caller can bear.
//
// # Combiners of your own
//
// A type with the four methods of [Combiner] is a combiner. Its accumulator is
// state: it is stored, so it must have a coder, which is derived from its type
// (its fields must be exported) unless the combiner implements [AccCoder]. An
// accumulator without slices, maps and pointers is fastest: it lives in flat
// tables, is copied by assignment and costs the garbage collector nothing.
package combine

import (
	"github.com/penstock-dev/penstock/coders"
)

// A Combiner folds elements of type In into an accumulator, merges accumulators
// and extracts a result.
//
// Add and Merge may change their first argument and return it, or another; the
// first argument is not used any more. They must not change the second one, nor
// keep memory of it that they would change later. Extract changes nothing,
// and what it returns must stay as it is when the accumulator goes on being added to.
//
// Create makes the accumulator of no element, which is neutral in Merge. An
// Extract of it is what empty panes hold.
type Combiner[In, Acc, Out any] interface {
	Create() Acc
	Add(acc Acc, v In) Acc
	Merge(acc, other Acc) Acc
	Extract(acc Acc) Out
}

// An AccCoder is a combiner that says how its accumulators are encoded. It is
// asked once, while the pipeline is built, where an error is reported.
type AccCoder[Acc any] interface {
	AccCoder() (coders.Coder[Acc], error)
}

// A Cloner is a combiner that copies its accumulators, where the engine needs
// two that change apart from each other (sliding windows, sessions). Without it accumulators
// that hold no slices, maps or pointers are assigned, others are encoded and decoded.
type Cloner[Acc any] interface {
	Clone(acc Acc) Acc
}

// A Retracter is a combiner that can take an element back: Retract undoes an
// Add of an equal element, exactly, in whatever order elements came. It is used
// where elements may be withdrawals (windowing.Retracting), and never called with
// an accumulator of no element. Other combiners are given what is left of the
// elements, which then have to be kept: say what can be taken back.
type Retracter[In, Acc any] interface {
	Retract(acc Acc, v In) Acc
}

// A Checker is a combiner that can be wrong: its error is reported while the pipeline is built.
type Checker interface {
	Check() error
}
