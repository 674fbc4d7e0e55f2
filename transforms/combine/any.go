package combine

import "fmt"

// Any keeps n elements, or all if there are no more: those that come first to
// where they are combined. It is the cheapest way to see some; transforms.Sample
// gives each the same chance.
func Any[T any](n int) Combiner[T, []T, []T] { return some[T]{n} }

type some[T any] struct{ n int }

func (s some[T]) Check() error {
	if s.n < 1 {
		return fmt.Errorf("combine.Any(%d) keeps nothing; want at least 1", s.n)
	}
	return nil
}

func (some[T]) Create() []T { return nil }

func (s some[T]) Add(acc []T, v T) []T {
	if len(acc) < s.n {
		acc = append(acc, v)
	}
	return acc
}

func (s some[T]) Merge(acc, other []T) []T {
	return append(acc, other[:min(len(other), s.n-len(acc))]...)
}

// Extract and Clone return a list that is not changed by what is added later;
// an empty one is not nil, as it comes back from its coder.
func (some[T]) Extract(acc []T) []T { return append(make([]T, 0, len(acc)), acc...) }
func (s some[T]) Clone(acc []T) []T { return s.Extract(acc) }
