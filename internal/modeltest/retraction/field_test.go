package retraction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func at(sec int64) time.Time { return time.Unix(sec, 0) }

type (
	amount = pcoll.KV[string, int64]
	bucket = pcoll.KV[int64, int64]
)

// early fires a minute at every element, and takes back what it said.
func early[T any](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	return windowing.Into(in, windowing.Fixed(time.Minute), append(opts, windowing.Retracting(), windowing.AllowedLateness(time.Hour),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)}))...)
}

// buckets counts users by their sum, in tens.
func buckets(sums pcoll.PCollection[amount]) pcoll.PCollection[bucket] {
	return transforms.CountPerElement(transforms.Map(sums, func(s amount) int64 { return s.Value / 10 }))
}

// TestF08RekeyedResultsAreCountedOnce: a user whose sum grows leaves the bucket of
// the sum before.
func TestF08RekeyedResultsAreCountedOnce(t *testing.T) {
	p := pcoll.New("f08")
	in := teststream.New[amount]().
		Elements(at(1), pcoll.Pair("A", int64(5))).
		Elements(at(2), pcoll.Pair("A", int64(10))).
		Watermark(at(60)).
		Elements(at(3), pcoll.Pair("A", int64(100))).
		Source(p)
	sums := transforms.SumPerKey(early(in))
	passert.Panes(t, sums,
		passert.Early(pcoll.Pair("A", int64(5))).Kind(pcoll.Insert).Index(0),
		passert.Early(pcoll.Pair("A", int64(5))).Kind(pcoll.UpdateBefore).Index(0),
		passert.Early(pcoll.Pair("A", int64(15))).Kind(pcoll.UpdateAfter).Index(1),
		passert.Early(pcoll.Pair("A", int64(15))).Kind(pcoll.UpdateBefore).Index(1),
		passert.OnTime(pcoll.Pair("A", int64(15))).Kind(pcoll.UpdateAfter).Index(2),
		passert.OnTime(pcoll.Pair("A", int64(15))).Kind(pcoll.UpdateBefore).Index(2),
		passert.Late(pcoll.Pair("A", int64(115))).Kind(pcoll.UpdateAfter).Index(3))
	counts := buckets(sums)
	one := func(b int64) bucket { return pcoll.Pair(b, int64(1)) }
	passert.Panes(t, counts,
		passert.Early(one(0)).Kind(pcoll.Insert),
		passert.Early(one(0)).Kind(pcoll.Delete),
		passert.Early(one(1)).Kind(pcoll.Insert),
		passert.Early(one(1)).Kind(pcoll.UpdateBefore), // the on-time pane, which changes nothing
		passert.OnTime(one(1)).Kind(pcoll.UpdateAfter),
		passert.OnTime(one(1)).Kind(pcoll.Delete),
		passert.Late(one(11)).Kind(pcoll.Insert))
	passert.Equals(t, counts, one(11))
	passert.That(t, counts, func(got []passert.Element[bucket]) error {
		for i := range got {
			if _, err := passert.Standing(got[:i+1]); err != nil || got[i].Value.Value < 0 {
				return fmt.Errorf("up to element %d: %v", i, err)
			}
		}
		return nil
	})
	ptest.Run(t, p)
}

// TestKindsPassEveryTransform follows a correction through transforms that work element by element.
func TestKindsPassEveryTransform(t *testing.T) {
	p := pcoll.New("kinds")
	in := teststream.New[amount]().Elements(at(1), pcoll.Pair("A", int64(2))).Elements(at(2), pcoll.Pair("A", int64(4))).Source(p)
	sums := transforms.SumPerKey(early(in, windowing.OnTimeIfNonEmpty()))
	good, failed := transforms.TryMap(sums, func(a amount) (int64, error) {
		if a.Value > 5 {
			return 0, fmt.Errorf("%d is too much", a.Value)
		}
		return a.Value, nil
	})
	passert.Panes(t, good, passert.Early(int64(2)).Kind(pcoll.Insert), passert.Early(int64(2)).Kind(pcoll.UpdateBefore))
	passert.Panes(t, failed, passert.Early(transforms.Failed[amount]{Input: pcoll.Pair("A", int64(6)), Error: "6 is too much"}).Kind(pcoll.UpdateAfter))
	parts := transforms.PartitionBy(transforms.Reshuffle(transforms.Values(sums)), 2, func(v int64) int { return int(v / 6) })
	passert.Panes(t, parts[0], passert.Early(int64(2)).Kind(pcoll.Insert), passert.Early(int64(2)).Kind(pcoll.UpdateBefore))
	passert.Panes(t, parts[1], passert.Early(int64(6)).Kind(pcoll.UpdateAfter))
	passert.Empty(t, parts[0])
	later := transforms.WithTimestamps(sums, func(a amount) time.Time { return at(60 + a.Value) })
	passert.Panes(t, later, passert.Early(pcoll.Pair("A", int64(2))).At(at(62)).Kind(pcoll.Insert),
		passert.Early(pcoll.Pair("A", int64(2))).At(at(62)).Kind(pcoll.UpdateBefore), passert.Early(pcoll.Pair("A", int64(6))).At(at(66)).Kind(pcoll.UpdateAfter))
	kinds := transforms.ParDo(transforms.Keys(sums), kindOf{})
	passert.Panes(t, kinds, passert.Early("insert of pane 0").Kind(pcoll.Insert),
		passert.Early("update-before of pane 0").Kind(pcoll.UpdateBefore), passert.Early("update-after of pane 1").Kind(pcoll.UpdateAfter))
	ptest.Run(t, p)
}

// kindOf says of what kind an element is.
type kindOf struct{}

func (kindOf) Process(c *pcoll.Context, _ string, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprintf("%v of pane %d", c.Kind(), c.Pane().Index))
	return nil
}

// TestSessionsTakeBackWhatTheySwallow: sessions that merge withdraw their panes,
// from the windows where they were.
func TestSessionsTakeBackWhatTheySwallow(t *testing.T) {
	p := pcoll.New("sessions")
	in := teststream.New[amount]().
		Elements(at(0), pcoll.Pair("A", int64(1))).
		Elements(at(15), pcoll.Pair("A", int64(2))).
		Elements(at(8), pcoll.Pair("A", int64(4))).
		Source(p)
	sums := transforms.SumPerKey(windowing.Into(in, windowing.Sessions(10*time.Second), windowing.Retracting(), windowing.AllowedLateness(0),
		windowing.OnTimeIfNonEmpty(), windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)})))
	a := func(v int64) amount { return pcoll.Pair("A", v) }
	w := func(from, to int64) pcoll.Window { return passert.Window(at(from), at(to)) }
	passert.Panes(t, sums,
		passert.Early(a(1)).In(w(0, 10)).Kind(pcoll.Insert), passert.Early(a(2)).In(w(15, 25)).Kind(pcoll.Insert),
		passert.Early(a(1)).In(w(0, 10)).Kind(pcoll.Delete), passert.Early(a(2)).In(w(15, 25)).Kind(pcoll.Delete),
		passert.Early(a(7)).In(w(0, 25)).Kind(pcoll.Insert))
	// How many sessions there are of how much, in windows as they were: those that merged away are gone.
	passert.Windows(t, buckets(sums), passert.Holds(w(0, 25), pcoll.Pair(int64(0), int64(1))))
	passert.Windows(t, transforms.GroupByKey(transforms.Swap(sums)), passert.Holds(w(0, 25), pcoll.Pair(int64(7), pcoll.GroupOf("A"))))
	ptest.Run(t, p)
}

// TestOneResultThatStands: windows that give one pane take nothing back, and
// can be written where nothing can be.
func TestOneResultThatStands(t *testing.T) {
	p := pcoll.New("final")
	in := teststream.New[amount]().Elements(at(1), pcoll.Pair("A", int64(5))).Elements(at(2), pcoll.Pair("A", int64(10))).Watermark(at(60)).Source(p)
	moved := transforms.Map(transforms.SumPerKey(early(in)), func(s amount) pcoll.KV[int64, float64] { return pcoll.Pair(s.Value/10, float64(s.Value)) })
	final := transforms.SumPerKey(windowing.Into(moved, windowing.Same(), windowing.Trigger(triggers.Never{})))
	if pcoll.Col(final).Retracts {
		t.Errorf("%v retracts", pcoll.Col(final))
	}
	passert.Panes(t, final, passert.OnTime(pcoll.Pair(int64(1), 15.0)).Kind(pcoll.Insert).Final())
	ptest.Run(t, p)
}

// TestFloatsAreCombinedAgain: what rounding took away does not come back by subtraction.
func TestFloatsAreCombinedAgain(t *testing.T) {
	p := pcoll.New("floats")
	in := teststream.New[amount]().
		Elements(at(1), pcoll.Pair("big", int64(66)), pcoll.Pair("small", int64(0))).
		Elements(at(2), pcoll.Pair("big", int64(-66))).
		Source(p)
	// A float of 2^66 swallows the 1 beside it.
	powers := transforms.Map(transforms.SumPerKey(early(in)), func(s amount) pcoll.KV[string, float64] {
		return pcoll.Pair("all", float64(uint64(1)<<min(s.Value, 33))*float64(uint64(1)<<max(0, s.Value-33)))
	})
	passert.Equals(t, transforms.SumPerKey(powers), pcoll.Pair("all", 2.0))
	ptest.Run(t, p)
}

// TestLateElementsOfTheFirstGrouping are to be had, as of any grouping.
func TestLateElementsOfTheFirstGrouping(t *testing.T) {
	p := pcoll.New("late")
	in := teststream.New[amount]().Elements(at(1), pcoll.Pair("A", int64(5))).Watermark(at(10_000)).Elements(at(2), pcoll.Pair("A", int64(10))).Source(p)
	groups, late := transforms.GroupByKeyWithLate(early(in))
	passert.Equals(t, groups, pcoll.Pair("A", pcoll.GroupOf(int64(5))))
	passert.Equals(t, late, pcoll.Pair("A", int64(10)))
	ptest.Run(t, p)
}

// TestUnsteadyFunctionsFail: a function that gives a withdrawal something else is found out.
func TestUnsteadyFunctionsFail(t *testing.T) {
	p := pcoll.New("unsteady")
	in := teststream.New[amount]().Elements(at(1), pcoll.Pair("A", int64(5))).Elements(at(2), pcoll.Pair("A", int64(10))).Source(p)
	kinds := transforms.ParDo(transforms.Keys(transforms.SumPerKey(early(in))), kindOf{})
	transforms.GroupByKey(transforms.KeyBy(kinds, func(string) string { return "all" }), pcoll.Named("Regroup"))
	ptest.Fails(t, p, "Regroup", "a withdrawal of update-before of pane 0 finds no such element of key all", "deterministic", "1970-01-01T00:01:00Z")
}
