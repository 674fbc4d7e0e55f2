package pardo_test

import (
	"fmt"
	"testing"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/passert"
	. "github.com/penstock-dev/penstock/transforms"
)

const (
	rounds = 500 // numbers of each key, over several batches
	hands  = 7   // keys of each generator
)

// dealer emits the numbers of its keys in their order, the keys in turn.
type dealer struct{}

func (dealer) Process(c *pcoll.Context, n int, emit pcoll.Emit[pair]) error {
	for i := range rounds {
		for k := range hands {
			emit(c, pcoll.Pair(fmt.Sprint(n, "/", k), i))
		}
	}
	return nil
}

// ordered passes on the pairs of a key and fails the run unless they come in order.
type ordered struct {
	Next state.Value[int] `state:"next"`
}

var _ StatefulFn[string, int, pair] = (*ordered)(nil)

func (f *ordered) Process(c *pcoll.Context, e pair, emit pcoll.Emit[pair]) error {
	if want := f.Next.Get(c); e.Value != want {
		return fmt.Errorf("number %d came where %d was due", e.Value, want)
	}
	f.Next.Set(c, e.Value+1)
	emit(c, e)
	return nil
}

// TestElementsOfAKeyKeepTheirOrder from the function that emits them to the ones
// that keep state for their key, however many workers are in between.
func TestElementsOfAKeyKeepTheirOrder(t *testing.T) {
	for name, spread := range map[string]func(pcoll.PCollection[int]) pcoll.PCollection[int]{
		"from one function":             same[int],
		"from functions on all workers": func(in pcoll.PCollection[int]) pcoll.PCollection[int] { return Reshuffle(in) },
	} {
		onAll(t, name+" to one", func(t *testing.T, p *pcoll.Pipeline) {
			dealt := ParDo(spread(Create(p, 1, 2, 3, 4, 5, 6)), dealer{})
			passert.Equals(t, Count(StatefulParDo(dealt, &ordered{})), 6*rounds*hands)
		})
		onAll(t, name+" through several", func(t *testing.T, p *pcoll.Pipeline) {
			dealt := ParDo(spread(Create(p, 1, 2, 3, 4, 5, 6)), dealer{})
			first := StatefulParDo(dealt, &ordered{})
			again := StatefulParDo(Filter(first, func(pair) bool { return true }), &ordered{})
			passert.Equals(t, Count(again), 6*rounds*hands)
		})
	}
}
