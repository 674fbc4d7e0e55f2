package pardo_test

import (
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	. "github.com/penstock-dev/penstock/transforms"
)

// Composite transforms are functions here: these stand for those of Beam's tests.

func same[T any](in pcoll.PCollection[T]) pcoll.PCollection[T] { return in }

// both takes two collections for one and gives them back.
type both struct{ First, Second pcoll.PCollection[int] }

func (b both) sum() pcoll.PCollection[int] { return Sum(Flatten(b.First, b.Second)) }

func swapped(b both) both { return both{b.Second, b.First} }

// plusOne is a transform of several parts under one name.
func plusOne(in pcoll.PCollection[int]) pcoll.PCollection[int] {
	return pcoll.Scoped(in.Pipeline(), "PlusOne", func() pcoll.PCollection[int] {
		return Map(Filter(in, func(int) bool { return true }), func(n int) int { return n + 1 })
	})
}

// TestPipelinesAreMadeOfFunctions: identity, several collections in and out, a
// transform within another, one that is applied several times.
func TestPipelinesAreMadeOfFunctions(t *testing.T) {
	onAll(t, "identity", func(t *testing.T, p *pcoll.Pipeline) { passert.Equals(t, same(Create(p, 1, 2)), 1, 2) })
	onAll(t, "several in one", func(t *testing.T, p *pcoll.Pipeline) {
		b := both{Create(p, 1, 2), Create(p, 10)}
		passert.Equals(t, b.sum(), 13)
		passert.Equals(t, swapped(b).First, 10)
		passert.Equals(t, swapped(b).Second, 1, 2)
	})
	onAll(t, "one within another, twice", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, plusOne(plusOne(Create(p, 1, 2))), 3, 4)
		if len(p.String()) == 0 || p.Err() != nil {
			t.Errorf("%v", p.Err())
		}
	})
	onAll(t, "many consumers of one", func(t *testing.T, p *pcoll.Pipeline) {
		in := Create(p, 1, 2)
		for i := range 5 {
			passert.Equals(t, Map(in, func(n int) int { return n * i }), i, 2*i)
		}
	})
	onAll(t, "keys and swapped pairs", func(t *testing.T, p *pcoll.Pipeline) {
		pairs := Create(p, pcoll.Pair("a", 1), pcoll.Pair("b", 1), pcoll.Pair("a", 3))
		passert.Equals(t, Keys(pairs), "a", "b", "a")
		passert.Equals(t, Swap(pairs), pcoll.Pair(1, "a"), pcoll.Pair(1, "b"), pcoll.Pair(3, "a"))
		none := CreateFrom[pair](p, nil)
		passert.Empty(t, Keys(none))
		passert.Empty(t, Swap(none))
	})
}

// TestTransformWithoutOutput: it runs, and the collections around it do not mind.
func TestTransformWithoutOutput(t *testing.T) {
	p := pcoll.New("pardo")
	in := Create(p, 1, 2, 3)
	var sum atomic.Int64
	end := func(in pcoll.PCollection[int]) {
		ForEach(in, func(_ *pcoll.Context, n int) error {
			sum.Add(int64(n))
			return nil
		})
	}
	end(in)
	passert.Equals(t, in, 1, 2, 3)
	if n := len(ptest.Run(t, p)); sum.Load() != int64(6*n) {
		t.Errorf("%d runs came to %d in all, want 6 each", n, sum.Load())
	}
}
