package transforms

import (
	"iter"

	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// Joined is a row of a join. Where a side may be missing its type is a pointer,
// and nil says that it is: the rows of a left join are a Joined[L, *R].
type Joined[L, R any] struct {
	Left  L
	Right R
}

// Join pairs each left with each right element of the same key and window. The
// collections must be windowed alike, as for [Flatten].
//
// A pane holds the pairs of what the pane's groups hold: windows with several
// panes must be accumulating, where each is the whole answer so far, or
// retracting, where it also takes back the one before.
func Join[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[L, R]]] {
	out, _, _ := join2("Join", left, right, innerRows[L, R], false, opts)
	return out
}

// JoinWithLate is [Join] that also returns what it drops of either side: an
// element for each window that had expired, or whose trigger had finished, when
// it came. They keep their time and are in the global window.
func JoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]], opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[L, R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return join2("Join", left, right, innerRows[L, R], true, opts)
}

// LeftJoin is [Join] with a row for each left element that has no right one.
func LeftJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[L, *R]]] {
	out, _, _ := join2("LeftJoin", left, right, leftRows[L, R], false, opts)
	return out
}

// LeftJoinWithLate is [LeftJoin] that also returns what it drops, as [JoinWithLate] does.
func LeftJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]], opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[L, *R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return join2("LeftJoin", left, right, leftRows[L, R], true, opts)
}

// RightJoin is [Join] with a row for each right element that has no left one.
func RightJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[*L, R]]] {
	out, _, _ := join2("RightJoin", left, right, rightRows[L, R], false, opts)
	return out
}

// RightJoinWithLate is [RightJoin] that also returns what it drops, as [JoinWithLate] does.
func RightJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]], opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[*L, R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return join2("RightJoin", left, right, rightRows[L, R], true, opts)
}

// FullJoin is [Join] with a row for each element of either side that has none of the other.
func FullJoin[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, Joined[*L, *R]]] {
	out, _, _ := join2("FullJoin", left, right, fullRows[L, R], false, opts)
	return out
}

// FullJoinWithLate is [FullJoin] that also returns what it drops, as [JoinWithLate] does.
func FullJoinWithLate[K comparable, L, R any](left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]], opts ...pcoll.Option) (
	joined pcoll.PCollection[pcoll.KV[K, Joined[*L, *R]]], lateLeft pcoll.PCollection[pcoll.KV[K, L]], lateRight pcoll.PCollection[pcoll.KV[K, R]]) {
	return join2("FullJoin", left, right, fullRows[L, R], true, opts)
}

// A rowsFn yields the rows that groups of two sides make.
type rowsFn[L, R, Row any] func(left pcoll.Group[L], right pcoll.Group[R], yield func(Row) bool)

// join2 is a join: a co-grouping under the transform's name, and its rows as a part.
func join2[K comparable, L, R, Row any](kind string, left pcoll.PCollection[pcoll.KV[K, L]], right pcoll.PCollection[pcoll.KV[K, R]],
	rows rowsFn[L, R, Row], late bool, opts []pcoll.Option) (
	pcoll.PCollection[pcoll.KV[K, Row]], pcoll.PCollection[pcoll.KV[K, L]], pcoll.PCollection[pcoll.KV[K, R]]) {
	type both = pcoll.KV[K, CoGroup2[L, R]]
	type either = oneOf[L, R, none, none]
	b := pcoll.NewBuilder(left.Pipeline(), kind, opts...)
	sides := ones(b, left, right, nothing[K], nothing[K])
	checkJoin(b, left, right)
	groups, dropped := coGroup(b, sides, coGroup2[L, R], late)
	out := applyTo[both, pcoll.KV[K, Row]](b.Part("Rows"), groups, false, flatMapOp[both, pcoll.KV[K, Row]]{
		func(e both) iter.Seq[pcoll.KV[K, Row]] {
			return func(yield func(pcoll.KV[K, Row]) bool) {
				rows(e.Value.First, e.Value.Second, func(r Row) bool { return yield(pcoll.KV[K, Row]{Key: e.Key, Value: r}) })
			}
		}})
	var lateLeft pcoll.PCollection[pcoll.KV[K, L]]
	var lateRight pcoll.PCollection[pcoll.KV[K, R]]
	if late {
		lateLeft, lateRight = pick(b, dropped, either.first), pick(b, dropped, either.second)
	}
	return out, lateLeft, lateRight
}

// checkJoin reports panes that would hold parts of a join.
func checkJoin[L, R any](b *pcoll.Builder, left pcoll.PCollection[L], right pcoll.PCollection[R]) {
	if pcoll.Col(left) == nil || pcoll.Col(right) == nil || b.Bad() {
		return
	}
	for _, s := range []*strategy.Strategy{pcoll.Col(left).Strategy, pcoll.Col(right).Strategy} {
		if s.Mode == strategy.Discarding && !s.OnePane() {
			b.Errorf("a window can have several panes, of which each holds only what is new, so that elements of different panes would not meet (%v); "+
				"use windowing.Accumulating(), whose panes are the whole join so far, or windowing.Retracting()", s)
			return
		}
	}
}

func innerRows[L, R any](left pcoll.Group[L], right pcoll.Group[R], yield func(Joined[L, R]) bool) {
	for l := range left.All() {
		for r := range right.All() {
			if !yield(Joined[L, R]{l, r}) {
				return
			}
		}
	}
}

func leftRows[L, R any](left pcoll.Group[L], right pcoll.Group[R], yield func(Joined[L, *R]) bool) {
	if right.Len() > 0 {
		innerRows(left, right, func(p Joined[L, R]) bool { return yield(Joined[L, *R]{p.Left, &p.Right}) })
		return
	}
	for l := range left.All() {
		if !yield(Joined[L, *R]{Left: l}) {
			return
		}
	}
}

func rightRows[L, R any](left pcoll.Group[L], right pcoll.Group[R], yield func(Joined[*L, R]) bool) {
	if left.Len() > 0 {
		innerRows(left, right, func(p Joined[L, R]) bool { return yield(Joined[*L, R]{&p.Left, p.Right}) })
		return
	}
	for r := range right.All() {
		if !yield(Joined[*L, R]{Right: r}) {
			return
		}
	}
}

func fullRows[L, R any](left pcoll.Group[L], right pcoll.Group[R], yield func(Joined[*L, *R]) bool) {
	if left.Len() > 0 {
		leftRows(left, right, func(p Joined[L, *R]) bool { return yield(Joined[*L, *R]{&p.Left, p.Right}) })
		return
	}
	for r := range right.All() {
		if !yield(Joined[*L, *R]{Right: &r}) {
			return
		}
	}
}
