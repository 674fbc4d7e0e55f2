package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// This file holds the operations on two collections as sets and as bags, with
// the names of SQL.

// Union returns the elements that are in a or in b, each once in a window. T is
// a key here: it must have a canonical encoding. The collections must be
// windowed alike, as for [Flatten].
//
// Where a window has several panes, each holds what follows from the elements so
// far, or, discarding, from those since the pane before: an element comes again
// in later panes. With windowing.Retracting that takes back the pane before.
func Union[T comparable](a, b pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return compareSets("Union", a, b, opts, func(inA, inB int64) int64 { return min(inA+inB, 1) })
}

// UnionAll returns the elements of a and those of b: it is [Flatten] of both.
func UnionAll[T any](a, b pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return flatten(pcoll.NewBuilder(a.Pipeline(), "UnionAll", opts...), []pcoll.PCollection[T]{a, b})
}

// Intersect returns the elements that are both in a and in b, each once in a
// window; see [Union]. Windows with several panes must not be discarding, as
// for [Join]: elements of different panes would not meet.
func Intersect[T comparable](a, b pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return compareSets("Intersect", a, b, opts, func(inA, inB int64) int64 { return min(inA, inB, 1) })
}

// IntersectAll returns the elements that are both in a and in b, each as often
// as in the one that has fewer of it; see [Intersect].
func IntersectAll[T comparable](a, b pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return compareSets("IntersectAll", a, b, opts, func(inA, inB int64) int64 { return min(inA, inB) })
}

// Except returns the elements of a that are not in b, each once in a window; see
// [Intersect]. To take away several collections, [Flatten] them.
func Except[T comparable](a, b pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return compareSets("Except", a, b, opts, func(inA, inB int64) int64 {
		if inB > 0 {
			return 0
		}
		return min(inA, 1)
	})
}

// ExceptAll takes away from a, for each element of b, one that is equal to it, if
// there is one left; see [Intersect].
func ExceptAll[T comparable](a, b pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return compareSets("ExceptAll", a, b, opts, func(inA, inB int64) int64 { return inA - inB })
}

// compareSets emits each element as often as times says, given how often it is in a and in b.
func compareSets[T comparable](kind string, a, b pcoll.PCollection[T], opts []pcoll.Option, times func(inA, inB int64) int64) pcoll.PCollection[T] {
	bd := pcoll.NewBuilder(a.Pipeline(), kind, opts...)
	mark := func(part string, in pcoll.PCollection[T], second bool) pcoll.PCollection[pcoll.KV[T, bool]] {
		return applyTo[T, pcoll.KV[T, bool]](bd.Part(part), in, false,
			mapOp[T, pcoll.KV[T, bool]]{func(v T) pcoll.KV[T, bool] { return pcoll.KV[T, bool]{Key: v, Value: second} }})
	}
	all := []pcoll.PCollection[pcoll.KV[T, bool]]{mark("First", a, false), mark("Second", b, true)}
	if kind != "Union" { // where no element has to meet another
		checkJoin(bd, a, b)
	}
	counted, _ := group(bd, flatten(bd.Part("Flatten"), all), sides{}, false)
	return applyTo[pcoll.KV[T, sideCounts], T](bd.Part("Select"), counted, false, copiesOp[T]{times})
}

// sideCounts says how often an element is in each of two collections.
type sideCounts struct{ First, Second int64 }

// sides is the combiner that counts by collection; its elements say whether they are of the second.
type sides struct{}

func (sides) Create() (none sideCounts)                { return none }
func (sides) Add(a sideCounts, second bool) sideCounts { return a.add(second, 1) }
func (sides) Merge(a, b sideCounts) sideCounts {
	return sideCounts{a.First + b.First, a.Second + b.Second}
}
func (sides) Extract(a sideCounts) sideCounts { return a }

// Retract takes an element out again.
func (sides) Retract(a sideCounts, second bool) sideCounts { return a.add(second, -1) }

func (a sideCounts) add(second bool, n int64) sideCounts {
	if second {
		a.Second += n
	} else {
		a.First += n
	}
	return a
}

// copiesOp emits a key as often as times says.
type copiesOp[T comparable] struct{ times func(inA, inB int64) int64 }

func (o copiesOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	times, down, n := o.times, outs[0].(exec.Input[T]), env.Counter(exec.Emitted(0))
	return one(exec.Input[pcoll.KV[T, sideCounts]](func(c *exec.Ctx, e pcoll.KV[T, sideCounts]) {
		for k := times(e.Value.First, e.Value.Second); k > 0 && c.Err == nil; k-- {
			n.N++
			down(c, e.Key)
		}
	}))
}
