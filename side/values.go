package side

import (
	"iter"
	"slices"

	"github.com/penstock-dev/penstock/pcoll"
)

// A Singleton is a view of a collection with one element in each window; see [AsSingleton].
type Singleton[T any] struct {
	view[T]
	def *T
}

// AsSingleton views a collection that has one element in each window: a total,
// a configuration, the latest of something.
func AsSingleton[T any](in pcoll.PCollection[T], opts ...pcoll.Option) Singleton[T] {
	return Singleton[T]{view: viewOf("AsSingleton", in, opts)}
}

// AsSingletonOr is [AsSingleton] for a collection that may have no element in a
// window; def stands in then. Like what is read, it must not be changed.
func AsSingletonOr[T any](in pcoll.PCollection[T], def T, opts ...pcoll.Option) Singleton[T] {
	return Singleton[T]{view: viewOf("AsSingletonOr", in, opts), def: &def}
}

// Get returns the element. Two or more elements fail the run, and so does none
// unless there is a default.
func (s Singleton[T]) Get() (v T) {
	vals, c := s.values()
	switch {
	case len(vals) == 1:
		return vals[0]
	case len(vals) > 1:
		s.fail(c, "the window has %d elements, and a singleton has one; combine them before, "+
			"discard fired panes to see the latest, or use AsIterable", len(vals))
	case s.def != nil:
		return *s.def
	default:
		s.fail(c, "the window is empty, and a singleton has one element; give a default with AsSingletonOr, or use AsIterable")
	}
	return v
}

// An Iterable is a view of all elements of a window; see [AsIterable].
type Iterable[T any] struct{ view[T] }

// AsIterable views a collection as a sequence, in no defined order.
func AsIterable[T any](in pcoll.PCollection[T], opts ...pcoll.Option) Iterable[T] {
	return Iterable[T]{viewOf("AsIterable", in, opts)}
}

// All iterates over the elements. It may be called any number of times; the
// order is the same each time until a later pane replaces them.
func (s Iterable[T]) All() iter.Seq[T] {
	vals, _ := s.values()
	return slices.Values(vals)
}

// Len returns the number of elements.
func (s Iterable[T]) Len() int {
	vals, _ := s.values()
	return len(vals)
}

// A List is a view of all elements of a window by number; see [AsList].
type List[T any] struct{ Iterable[T] }

// AsList views a collection as a list. Which element has which number is not defined.
func AsList[T any](in pcoll.PCollection[T], opts ...pcoll.Option) List[T] {
	return List[T]{Iterable[T]{viewOf("AsList", in, opts)}}
}

// At returns element i, from 0. A number outside fails the run.
func (s List[T]) At(i int) (v T) {
	vals, c := s.values()
	if uint(i) >= uint(len(vals)) {
		s.fail(c, "element %d of a list of %d was read; want 0 to %d", i, len(vals), len(vals)-1)
		return v
	}
	return vals[i]
}
