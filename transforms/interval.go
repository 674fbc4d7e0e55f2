package transforms

import (
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// IntervalJoin pairs each left element with the right ones of the same key
// whose event time is from left+lower to left+upper, both included. Lower and
// upper are whole milliseconds and may be negative:
//
//	paid := transforms.IntervalJoin(orders, payments, 0, time.Hour) // within an hour after the order
//
// It relates times, not windows: both collections must be in the global window
// (the rows can be put into windows after it). A row has the
// later of the two event times and comes as soon as both elements are there. An
// element that is withdrawn (windowing.Retracting) takes its rows with it.
//
// # What is kept
//
// An element is kept until the watermark is past the last time at which it can
// match: the lower one of the two watermarks, in which an idle side has no say.
// An element behind that watermark by more than the allowed lateness of the
// collections (Into with Global and AllowedLateness; none by default) is late:
// it is dropped and counted, like one that a window has expired for. The
// distribution "bufferedRows" of the result says how many elements each worker kept.
func IntervalJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[L, R]]] {
	out, _, _ := interval("IntervalJoin", left, right, lower, upper, innerInterval[L, R](), false, opts)
	return out
}

// IntervalJoinWithLate is [IntervalJoin] that also returns what it drops of
// either side because it came too late. It keeps its time.
func IntervalJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[L, R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return interval("IntervalJoin", left, right, lower, upper, innerInterval[L, R](), true, opts)
}

// LeftIntervalJoin is [IntervalJoin] with a row for each left element that
// matched no right one. The row comes once, when no match can come any more, and
// has the element's event time: until then the element holds back the
// watermark of what follows, so that its row is not late there.
func LeftIntervalJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[L, *R]]] {
	out, _, _ := interval("LeftIntervalJoin", left, right, lower, upper, leftInterval[L, R](), false, opts)
	return out
}

// LeftIntervalJoinWithLate is [LeftIntervalJoin] that also returns what it
// drops, as [IntervalJoinWithLate] does. What is dropped has no row.
func LeftIntervalJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[L, *R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return interval("LeftIntervalJoin", left, right, lower, upper, leftInterval[L, R](), true, opts)
}

// RightIntervalJoin is [LeftIntervalJoin] with the rows of right elements that matched no left one.
func RightIntervalJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[*L, R]]] {
	out, _, _ := interval("RightIntervalJoin", left, right, lower, upper, rightInterval[L, R](), false, opts)
	return out
}

// RightIntervalJoinWithLate is [RightIntervalJoin] that also returns what it
// drops, as [IntervalJoinWithLate] does. What is dropped has no row.
func RightIntervalJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[*L, R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return interval("RightIntervalJoin", left, right, lower, upper, rightInterval[L, R](), true, opts)
}

// FullIntervalJoin is [LeftIntervalJoin] with the rows of elements of either side that matched none of the other.
func FullIntervalJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[*L, *R]]] {
	out, _, _ := interval("FullIntervalJoin", left, right, lower, upper, fullInterval[L, R](), false, opts)
	return out
}

// FullIntervalJoinWithLate is [FullIntervalJoin] that also returns what it
// drops, as [IntervalJoinWithLate] does. What is dropped has no row.
func FullIntervalJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[*L, *R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return interval("FullIntervalJoin", left, right, lower, upper, fullInterval[L, R](), true, opts)
}

// rowsOf makes the rows of an interval join. The functions for elements that
// matched nothing are nil where they have no row.
type rowsOf[L, R, Row any] struct {
	both  func(L, R) Row
	left  func(L) Row
	right func(R) Row
}

func innerInterval[L, R any]() rowsOf[L, R, Joined[L, R]] {
	return rowsOf[L, R, Joined[L, R]]{both: func(l L, r R) Joined[L, R] { return Joined[L, R]{l, r} }}
}

func leftInterval[L, R any]() rowsOf[L, R, Joined[L, *R]] {
	return rowsOf[L, R, Joined[L, *R]]{
		both: func(l L, r R) Joined[L, *R] { return Joined[L, *R]{l, &r} },
		left: func(l L) Joined[L, *R] { return Joined[L, *R]{Left: l} },
	}
}

func rightInterval[L, R any]() rowsOf[L, R, Joined[*L, R]] {
	return rowsOf[L, R, Joined[*L, R]]{
		both:  func(l L, r R) Joined[*L, R] { return Joined[*L, R]{&l, r} },
		right: func(r R) Joined[*L, R] { return Joined[*L, R]{Right: r} },
	}
}

func fullInterval[L, R any]() rowsOf[L, R, Joined[*L, *R]] {
	return rowsOf[L, R, Joined[*L, *R]]{
		both:  func(l L, r R) Joined[*L, *R] { return Joined[*L, *R]{&l, &r} },
		left:  func(l L) Joined[*L, *R] { return Joined[*L, *R]{Left: &l} },
		right: func(r R) Joined[*L, *R] { return Joined[*L, *R]{Right: &r} },
	}
}

// interval adds the node of an interval join.
func interval[K comparable, L, R, Row any](kind string, left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	lower, upper time.Duration, rows rowsOf[L, R, Row], late bool, opts []pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Row]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	b := pcoll.NewBuilder(left.Pipeline(), kind, opts...)
	ins := [2]*graph.Collection{pcoll.FromWindowed(b, left), pcoll.FromWindowed(b, right)}
	s := checkInterval(b, ins, lower, upper)
	op := &intervalOp[K, L, R, Row]{lower: lower.Milliseconds(), upper: upper.Milliseconds(), lateness: s.Lateness, rows: rows, late: late}
	if !b.Bad() {
		op.describe(b)
	}
	op.retracts = ins[0].Retracts || ins[1].Retracts
	if late && op.retracts {
		b.Errorf(lateWithdrawals)
	}
	bounded := ins[0].Bounded && ins[1].Bounded
	joined = pcoll.To[pcoll.KV[K, Row]](b, &graph.Collection{Strategy: s, Bounded: bounded, Retracts: op.retracts})
	if late {
		lateLeft = pcoll.To[pcoll.KV[K, L]](b, pcoll.Unwindowed(ins[0].Bounded))
		lateRight = pcoll.To[pcoll.KV[K, R]](b, pcoll.Unwindowed(ins[1].Bounded))
	}
	if b.Bad() {
		return joined, lateLeft, lateRight
	}
	n, hash := b.Node(), op.key.Hash
	n.Strategy, n.KeyCoder, n.AccCoder = s, op.key, op.sides
	for i := range n.Inputs {
		n.Inputs[i].Exchange = graph.Keyed
	}
	n.Inputs[0].Route = func(e pcoll.KV[K, L]) uint64 { return hash(e.Key) }
	n.Inputs[1].Route = func(e pcoll.KV[K, R]) uint64 { return hash(e.Key) }
	b.Add(op)
	return joined, lateLeft, lateRight
}

// checkInterval returns the strategy of the rows.
func checkInterval(b *pcoll.Builder, ins [2]*graph.Collection, lower, upper time.Duration) *strategy.Strategy {
	s := *ins[0].Strategy
	switch {
	case b.Bad():
		return &s
	case lower > upper:
		b.Errorf("no time is from %v to %v after another; want a lower bound that is not above the upper one", lower, upper)
	case lower%time.Millisecond != 0 || upper%time.Millisecond != 0:
		b.Errorf("bounds %v and %v cannot be: time is kept in whole milliseconds", lower, upper)
	}
	for i, in := range ins {
		if in.Strategy.Fn != strategy.WindowFn(strategy.GlobalWindows{}) {
			b.Errorf("input %d is in windows, %v, which an interval join does not look at; put it into the global window with "+
				"windowing.Into(in, windowing.Global()), and the rows into windows after the join", i, in.Strategy.Fn)
			return &s
		}
	}
	for i, in := range ins {
		if in.Retracts && in.Strategy.Combiner != strategy.EndOfWindow {
			b.Errorf("results in input %d are stamped %v and change their time from pane to pane, so that one could be too late to be withdrawn; "+
				"use StampedEndOfWindow in front of the grouping before", i, in.Strategy.Combiner)
			return &s
		}
	}
	if err := join(&s, ins[1].Strategy); err != nil && !b.Bad() {
		b.Errorf("the right input cannot be joined with the left one: %w; apply windowing.Into to make them the same", err)
	}
	return &s
}

// describe finds the coders of the operator, or says why there are none.
func (o *intervalOp[K, L, R, Row]) describe(b *pcoll.Builder) {
	var err error
	if o.key, err = coders.ForKey[K](); err == nil {
		o.left, err = coders.For[L]()
	}
	if err == nil {
		o.right, err = coders.For[R]()
	}
	if err == nil {
		o.sides, err = coders.For[twoSides[L, R]]()
	}
	if err != nil {
		b.Errorf("%w", err)
	}
}
