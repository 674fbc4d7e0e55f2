package combine

import (
	"cmp"
	"fmt"
	"slices"
)

// Number is any type with the usual arithmetic.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Sum adds numbers; the sum of none is 0. Integers wrap around on overflow, as
// Go's do: sum a wider type if they may. Floats are added in no particular
// order, so the last bits may differ between runs, and NaN if any is.
func Sum[N Number]() Combiner[N, N, N] { return sum[N]{} }

type sum[N Number] struct{}

func (sum[N]) Create() (zero N)   { return zero }
func (sum[N]) Add(a, v N) N       { return a + v }
func (sum[N]) Merge(a, b N) N     { return a + b }
func (sum[N]) Extract(a N) N      { return a }
func (sum[N]) Retract(a N, v N) N { return a - v }

// retracter is none for floats: 1e20 + 1 - 1e20 is 0.
func (s sum[N]) retracter() func(N, N) N {
	if isFloat[N]() {
		return nil
	}
	return s.Retract
}

func isFloat[N Number]() bool { return N(1)/N(2) != 0 }

// Count counts elements.
func Count[T any]() Combiner[T, int64, int64] { return count[T]{} }

type count[T any] struct{}

func (count[T]) Create() int64              { return 0 }
func (count[T]) Add(a int64, _ T) int64     { return a + 1 }
func (count[T]) Merge(a, b int64) int64     { return a + b }
func (count[T]) Extract(a int64) int64      { return a }
func (count[T]) Retract(a int64, _ T) int64 { return a - 1 }

// MeanAcc is the accumulator of [Mean].
type MeanAcc struct {
	N   int64
	Sum float64
}

// Mean averages numbers. It adds them as float64: integers beyond 2^53 lose
// their last bits, also when some are taken back. The mean of none is NaN, and so
// is one with a NaN in it.
func Mean[N Number]() Combiner[N, MeanAcc, float64] { return mean[N]{} }

type mean[N Number] struct{}

func (mean[N]) Create() (zero MeanAcc)         { return zero }
func (mean[N]) Add(a MeanAcc, v N) MeanAcc     { return MeanAcc{a.N + 1, a.Sum + float64(v)} }
func (mean[N]) Merge(a, b MeanAcc) MeanAcc     { return MeanAcc{a.N + b.N, a.Sum + b.Sum} }
func (mean[N]) Extract(a MeanAcc) float64      { return a.Sum / float64(a.N) }
func (mean[N]) Retract(a MeanAcc, v N) MeanAcc { return MeanAcc{a.N - 1, a.Sum - float64(v)} }
func (m mean[N]) retracter() func(MeanAcc, N) MeanAcc {
	if isFloat[N]() {
		return nil
	}
	return m.Retract
}

// An Extreme is the accumulator of [Min] and [Max]: a value, if there was one.
type Extreme[T any] struct {
	Value T
	Ok    bool
}

// Max keeps the greatest element. The maximum of none, as in an empty pane, is
// the zero T. NaN is less than any other number.
func Max[T cmp.Ordered]() Combiner[T, Extreme[T], T] { return maximum[T]{} }

// Min keeps the least element. The minimum of none, as in an empty pane, is the
// zero T. NaN is less than any other number.
func Min[T cmp.Ordered]() Combiner[T, Extreme[T], T] { return minimum[T]{} }

type maximum[T cmp.Ordered] struct{}

func (maximum[T]) Create() (none Extreme[T]) { return none }
func (maximum[T]) Add(a Extreme[T], v T) Extreme[T] {
	if !a.Ok || cmp.Less(a.Value, v) {
		return Extreme[T]{v, true}
	}
	return a
}
func (m maximum[T]) Merge(a, b Extreme[T]) Extreme[T] {
	if b.Ok {
		return m.Add(a, b.Value)
	}
	return a
}
func (maximum[T]) Extract(a Extreme[T]) T { return a.Value }

type minimum[T cmp.Ordered] struct{}

func (minimum[T]) Create() (none Extreme[T]) { return none }
func (minimum[T]) Add(a Extreme[T], v T) Extreme[T] {
	if !a.Ok || cmp.Less(v, a.Value) {
		return Extreme[T]{v, true}
	}
	return a
}
func (m minimum[T]) Merge(a, b Extreme[T]) Extreme[T] {
	if b.Ok {
		return m.Add(a, b.Value)
	}
	return a
}
func (minimum[T]) Extract(a Extreme[T]) T { return a.Value }

// Top keeps the n greatest elements by compare, which is like cmp.Compare, and
// returns them greatest first. Of elements that compare as equal any may be
// kept: compare by a further field where that matters. The least are
// Top(n, func(a, b T) int { return cmp.Compare(b, a) }).
func Top[T any](n int, compare func(a, b T) int) Combiner[T, []T, []T] { return top[T]{n, compare} }

// top keeps a heap whose first element is the least of those kept.
type top[T any] struct {
	n       int
	compare func(a, b T) int
}

func (t top[T]) Check() error {
	switch {
	case t.n < 1:
		return fmt.Errorf("combine.Top(%d) keeps nothing; want at least 1", t.n)
	case t.compare == nil:
		return fmt.Errorf("combine.Top has no function to compare by; use cmp.Compare for numbers and strings")
	}
	return nil
}

func (top[T]) Create() []T { return nil }

func (t top[T]) Add(h []T, v T) []T {
	if len(h) < t.n {
		h = append(h, v)
		for i := len(h) - 1; i > 0; {
			parent := (i - 1) / 2
			if t.compare(h[parent], h[i]) <= 0 {
				break
			}
			h[parent], h[i] = h[i], h[parent]
			i = parent
		}
		return h
	}
	if t.compare(v, h[0]) > 0 {
		h[0] = v
		t.down(h)
	}
	return h
}

// down moves the first element to where it belongs.
func (t top[T]) down(h []T) {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if t.compare(h[child], h[least]) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func (t top[T]) Merge(h, other []T) []T {
	for _, v := range other {
		h = t.Add(h, v)
	}
	return h
}

func (t top[T]) Extract(h []T) []T {
	out := append([]T{}, h...) // an empty list, not nil: that is how it comes back from its coder
	slices.SortFunc(out, func(a, b T) int { return t.compare(b, a) })
	return out
}

func (top[T]) Clone(h []T) []T { return slices.Clone(h) }
