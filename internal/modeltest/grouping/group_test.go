package grouping_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

type pair = pcoll.KV[string, int]

func sec(n int) time.Time { return time.Unix(int64(n), 0) }

func secs(from, to int) pcoll.Window { return passert.Window(sec(from), sec(to)) }

func kv(k string, v int) pair { return pcoll.Pair(k, v) }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// onAll runs a pipeline on every runner.
func onAll(t *testing.T, name string, build func(t *testing.T, p *pcoll.Pipeline)) {
	t.Run(name, func(t *testing.T) {
		p := pcoll.New("grouping")
		build(t, p)
		ptest.Run(t, p)
	})
}

// stamped is a bounded collection of pairs, each at the second that its value says.
func stamped(p *pcoll.Pipeline, elems ...pair) pcoll.PCollection[pair] {
	return WithTimestamps(CreateFrom(p, elems), func(e pair) time.Time { return sec(e.Value) })
}

// listed prints the groups of a collection, sorted, so that they are easy to compare.
func listed(in pcoll.PCollection[pair]) pcoll.PCollection[string] {
	return Map(GroupByKey(in), func(g pcoll.KV[string, pcoll.Group[int]]) string {
		return fmt.Sprint(g.Key, slices.Sorted(g.Value.All()))
	})
}

func TestGroups(t *testing.T) {
	onAll(t, "of keys", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, listed(Create(p, kv("k1", 3), kv("k5", 7), kv("k1", 4), kv("k2", -3), kv("k5", 7))), "k1[3 4]", "k5[7 7]", "k2[-3]")
	})
	onAll(t, "of none", func(t *testing.T, p *pcoll.Pipeline) { passert.Empty(t, GroupByKey(CreateFrom[pair](p, nil))) })
	onAll(t, "of none, in windows", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Empty(t, GroupByKey(windowing.Into(CreateFrom[pair](p, nil), windowing.Fixed(time.Minute))))
	})
	onAll(t, "may be read in part, and again", func(t *testing.T, p *pcoll.Pipeline) {
		in := Create(p, kv("a", 1), kv("a", 2), kv("a", 3), kv("b", 4))
		passert.Equals(t, Map(GroupByKey(in), func(g pcoll.KV[string, pcoll.Group[int]]) int {
			n := 0
			for range g.Value.All() {
				n += 10
				break
			}
			for range g.Value.All() {
				n++
			}
			return n
		}), 13, 11)
	})
}

// TestGroupsOfLargeKeys of up to 100 MB. The largest are of one key, and on two
// workers, to spare memory.
func TestGroupsOfLargeKeys(t *testing.T) {
	for _, size := range []int{10_000, 100_000, 1_000_000, 10_000_000, 100_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			p := pcoll.New("grouping")
			a := strings.Repeat("k", size-1) + "a"
			elems, want := []pair{kv(a, 1), kv(a, 2)}, []string{fmt.Sprint(size, "a[1 2]")}
			if size < 100_000_000 {
				elems, want = append(elems, kv(a[1:]+"b", 3)), append(want, fmt.Sprint(size, "b[3]"))
			}
			passert.Equals(t, Map(GroupByKey(CreateFrom(p, elems)), func(g pcoll.KV[string, pcoll.Group[int]]) string {
				return fmt.Sprint(len(g.Key), g.Key[size-1:], slices.Sorted(g.Value.All()))
			}), want...)
			ptest.Run(t, p, ptest.Workers(2))
		})
	}
}

// TestResultsOfKeysThatGoDoesNotTellEqual: instants in several zones are one key
// though == tells them apart, through two groupings.
func TestResultsOfKeysThatGoDoesNotTellEqual(t *testing.T) {
	onAll(t, "instants", func(t *testing.T, p *pcoll.Pipeline) {
		zone := time.FixedZone("zone", 3600)
		in := Create(p, pcoll.Pair(sec(1), 1), pcoll.Pair(sec(1).In(zone), 2), pcoll.Pair(sec(1).UTC(), 4), pcoll.Pair(sec(2), 8))
		sums := SumPerKey(in)
		passert.Equals(t, Values(sums), 7, 8)
		passert.Equals(t, Values(SumPerKey(Flatten(sums, MapValues(sums, func(int) int { return 100 })))), 107, 108)
	})
}

// byClock fires by the clock, a second and more after a pane's first element.
var byClock = windowing.Trigger(triggers.Repeatedly{T: triggers.AfterProcessingTime(time.Second)})

// TestAccumulatingByTheClock: panes by processing time hold all there was, and
// the last one, by the watermark, too.
func TestAccumulatingByTheClock(t *testing.T) {
	p := pcoll.New("grouping")
	in := teststream.New[pair]().Elements(sec(5), kv("k", 1)).ProcessingTime(ms(500)).Elements(sec(2), kv("k", 2)).
		ProcessingTime(ms(501)).
		Elements(sec(3), kv("k", 4)).ProcessingTime(ms(1001)).
		Watermark(sec(10)).Elements(sec(4), kv("k", 8)).ProcessingTime(ms(1001)).Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second), byClock, windowing.AllowedLateness(time.Hour), windowing.Accumulating())
	passert.Panes(t, SumPerKey(windowed), passert.Early(kv("k", 3)), passert.Early(kv("k", 7)), passert.Late(kv("k", 15)))
	passert.Panes(t, listed(windowed), passert.Early("k[1 2]"), passert.Early("k[1 2 4]"), passert.Late("k[1 2 4 8]"))
	ptest.Run(t, p)
}

// TestGroupingsBehindClocksFollowAtOnce: what a first grouping fires by the clock
// does not wait as long again in those behind it, but for the clock to move on.
func TestGroupingsBehindClocksFollowAtOnce(t *testing.T) {
	p := pcoll.New("grouping")
	in := teststream.New[pair]().
		Elements(sec(1), kv("k", 1), kv("k", 2)).ProcessingTime(ms(1001)).ProcessingTime(ms(1)).ProcessingTime(ms(1)).
		Elements(sec(2), kv("k", 4)).ProcessingTime(ms(1001)).ProcessingTime(ms(1)).ProcessingTime(ms(1)).
		Elements(sec(2), kv("k", 8)).Source(p)
	first := SumPerKey(windowing.Into(in, windowing.Global(), byClock, windowing.Discarding()))
	third := SumPerKey(SumPerKey(first))
	passert.Panes(t, third, passert.Early(kv("k", 3)), passert.Early(kv("k", 4)), passert.OnTime(kv("k", 8)))
	ptest.Run(t, p)
}

// delayed emits each value a second and more of processing time after it came.
type delayed struct {
	Due timers.ProcessingTime `timer:"due"`
}

var _ TimerFn[string, pair] = (*delayed)(nil)

func (f *delayed) Process(c *pcoll.Context, e pair, _ pcoll.Emit[pair]) error {
	f.Due.SetAfter(c, time.Second, timers.Tag(fmt.Sprint(e.Value)))
	return nil
}

func (f *delayed) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[pair]) error {
	emit(c, kv(key, len(t.Tag)))
	return nil
}

// TestGroupingsBehindTimersFire: elements that timers emit, by the clock, count
// for clocks of two groupings behind them like others.
func TestGroupingsBehindTimersFire(t *testing.T) {
	p := pcoll.New("grouping")
	in := teststream.New[pair]().Elements(sec(1), kv("k", 1), kv("k", 22)).ProcessingTime(ms(1001)).ProcessingTime(ms(1001)).ProcessingTime(ms(1)).
		Elements(sec(2), kv("k", 333)).ProcessingTime(ms(1001)).ProcessingTime(ms(1001)).ProcessingTime(ms(1)).Source(p)
	timed := windowing.Into(StatefulParDo(in, &delayed{}), windowing.Fixed(time.Minute), byClock, windowing.AllowedLateness(0), windowing.Discarding())
	passert.Panes(t, SumPerKey(SumPerKey(timed)), passert.Early(kv("k", 3)), passert.Early(kv("k", 3)), passert.OnTime(kv("k", 0)))
	ptest.Run(t, p)
}

// TestResultsAreWindowedAnewByTheirStamp: a result has the time that its stamp
// gives it, and that decides into which windows it comes behind the grouping.
func TestResultsAreWindowedAnewByTheirStamp(t *testing.T) {
	for _, c := range []struct {
		name  string
		stamp pcoll.Option
		into  pcoll.Window
	}{
		{"earliest", windowing.StampedEarliest(), secs(0, 5)},
		{"latest", windowing.StampedLatest(), secs(5, 10)},
		{"end of the window", windowing.StampedEndOfWindow(), secs(5, 10)},
	} {
		onAll(t, c.name, func(t *testing.T, p *pcoll.Pipeline) {
			in := teststream.New[pair]().Bundle(teststream.At(sec(7), kv("k", 7)), teststream.At(sec(2), kv("k", 2))).Watermark(sec(30)).Source(p)
			first := SumPerKey(windowing.Into(in, windowing.Fixed(10*time.Second), c.stamp))
			groups, late := GroupByKeyWithLate(windowing.Into(first, windowing.Fixed(5*time.Second), windowing.StampedEndOfWindow()))
			passert.Windows(t, Map(groups, func(g pcoll.KV[string, pcoll.Group[int]]) string { return fmt.Sprint(g.Value) }), passert.Holds(c.into, "[9]"))
			passert.Empty(t, late)
		})
	}
}
