package stateful_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// joined says the values of a key so far, in the order in which they came.
func joined() *stock {
	return stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Bag.Add(c, e.Value)
		emit(c, fmt.Sprint(list(f.Bag.All(c))))
	})
}

func TestSortedBoundedInput(t *testing.T) {
	p := pcoll.New("sorted")
	var pairs []pair
	for i := range 60 {
		pairs = append(pairs, kv(fmt.Sprint("k", i%3), (i*37)%60))
	}
	in := WithTimestamps(Create(p, pairs...), func(e pair) time.Time { return sec(e.Value) })
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		if e.Value < f.Value.Get(c) || !c.EventTime().Equal(sec(e.Value)) {
			emit(c, fmt.Sprint(e, " at ", c.EventTime(), " after ", f.Value.Get(c)))
		}
		f.Value.Set(c, e.Value)
		f.Odd.Emit(c, e.Value)
	})
	out := StatefulParDo(in, fn, TimeSorted())
	passert.Empty(t, out)
	var all []int
	for i := range 60 {
		all = append(all, i)
	}
	passert.Equals(t, fn.Odd.Collection(), all...)
	ptest.Run(t, p)
}

func TestSortedScript(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().
		Bundle(teststream.At(sec(5), kv("k", 5)), teststream.At(sec(1), kv("k", 1)), teststream.At(sec(3), kv("k", 3)), teststream.At(sec(3), kv("k", 4))).
		Watermark(sec(3)). // not past it
		Elements(sec(3), k(2)...).
		Watermark(sec(4)).
		Elements(sec(4), k(6)...).
		Source(p)
	inOrder(t, StatefulParDo(in, joined(), TimeSorted()), "[1]", "[1 3]", "[1 3 4]", "[1 3 4 2]", "[1 3 4 2 6]", "[1 3 4 2 6 5]")
	ptest.Run(t, p)
}

func TestSortedDropsLateElements(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().Elements(sec(5), k(5)...).Watermark(sec(6)).
		Bundle(teststream.At(sec(6).Add(-time.Millisecond), kv("k", 4)), teststream.At(sec(6), kv("k", 6))).Source(p)
	out, late := StatefulParDoWithLate(in, joined(), TimeSorted(), pcoll.Named("Sorted"))
	inOrder(t, out, "[5]", "[5 6]")
	passert.Panes(t, late, passert.Ungrouped(kv("k", 4)).At(sec(6).Add(-time.Millisecond)).In(pcoll.Global))
	for name, res := range ptest.Run(t, p) {
		if tr, _ := res.Transform("Sorted"); tr.DroppedLate != 1 {
			t.Errorf("%s: %d dropped, want 1", name, tr.DroppedLate)
		}
	}
}

func TestSortedWaitsForAllowedLateness(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().Elements(sec(5), k(5)...).Watermark(sec(7)).
		Elements(sec(4), k(4)...). // late, and not too late
		Watermark(sec(9)).
		Elements(sec(5), k(6)...). // too late
		Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(3*time.Second), windowing.Discarding())
	out, late := StatefulParDoWithLate(windowed, joined(), TimeSorted())
	inOrder(t, out, "[4]", "[4 5]")
	passert.Equals(t, late, kv("k", 6))
	ptest.Run(t, p)
}

func TestSortedTwice(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().
		Bundle(teststream.At(sec(5), kv("k", 5)), teststream.At(sec(1), kv("k", 1))).Watermark(sec(2)).
		Bundle(teststream.At(sec(1), kv("k", 2)), teststream.At(sec(3), kv("k", 3))).
		Source(p)
	first := StatefulParDo(in, joined(), TimeSorted(), pcoll.Named("First"))
	again := KeyBy(Map(first, func(s string) int { return len(s) }), func(int) string { return "k" })
	second := StatefulParDo(again, joined(), TimeSorted(), pcoll.Named("Second"))
	inOrder(t, first, "[1]", "[1 3]", "[1 3 5]")
	inOrder(t, second, "[3]", "[3 5]", "[3 5 7]")
	for name, res := range ptest.Run(t, p) {
		a, _ := res.Transform("First")
		b, _ := res.Transform("Second")
		if a.DroppedLate != 1 || b.DroppedLate != 0 {
			t.Errorf("%s: dropped %d and %d, want 1 and 0", name, a.DroppedLate, b.DroppedLate)
		}
	}
}

func TestSortedElementsAndTimersComeInOneOrder(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().Bundle(teststream.At(sec(6), kv("k", 6)), teststream.At(sec(2), kv("k", 2)), teststream.At(sec(4), kv("k", 4))).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		emit(c, fmt.Sprint("element ", e.Value))
		if e.Value == 2 {
			f.A.Set(c, sec(4)) // after the element of that time
			f.B.Set(c, sec(3))
		}
	}, Fire: func(f *alarm, c *pcoll.Context, _ string, tm timers.Firing, emit emitter) {
		emit(c, fmt.Sprint("timer ", tm.At.Unix()))
	}}
	inOrder(t, StatefulParDo(in, fn, TimeSorted()), "element 2", "timer 3", "element 4", "timer 4", "element 6")
	ptest.Run(t, p)
}

// TestSortedTimersWaitForAllowedLateness: what is late, and not too late, still comes before the timers behind it.
func TestSortedTimersWaitForAllowedLateness(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().
		Bundle(teststream.At(sec(8), kv("k", 8)), teststream.At(sec(3), kv("k", 3)), teststream.At(sec(3), kv("k", 4))).
		Watermark(sec(5)).
		Elements(sec(4), k(5)...).
		Watermark(sec(6)).
		Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(2*time.Second), windowing.Discarding())
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		emit(c, fmt.Sprint("element ", e.Value))
		f.A.Set(c, c.EventTime().Add(time.Second))
	}, Fire: func(f *alarm, c *pcoll.Context, _ string, tm timers.Firing, emit emitter) {
		emit(c, fmt.Sprint("timer ", tm.At.Unix()))
	}}
	inOrder(t, StatefulParDo(windowed, fn, TimeSorted()), "element 3", "element 4", "element 5", "timer 5", "element 8", "timer 9")
	ptest.Run(t, p)
}

func TestWaitingElementsHoldTheWatermark(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().Elements(sec(5), k(5)...).Watermark(sec(12)).Watermark(sec(30)).Source(p)
	windowed := windowing.Into(in, windowing.Global(), windowing.AllowedLateness(10*time.Second), windowing.Discarding())
	passert.Panes(t, grouped(StatefulParDo(windowed, joined(), TimeSorted())), passert.OnTime(once("[5]")).In(secs(0, 10)))
	ptest.Run(t, p)
}

func TestSortedElementsKeepTheirPane(t *testing.T) {
	p := pcoll.New("sorted")
	in := teststream.New[pair]().Elements(sec(5), k(5)...).Watermark(sec(12)).Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second))
	passert.Panes(t, StatefulParDo(SumPerKey(windowed), joined(), TimeSorted()), passert.OnTime("[5]").In(secs(0, 10)).At(at(9999)).Index(0))
	ptest.Run(t, p)
}
