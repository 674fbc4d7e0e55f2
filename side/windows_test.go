package side_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

func sliding(size, period int, opts ...windowing.FnOption) windowing.Fn {
	return windowing.Sliding(time.Duration(size)*time.Second, time.Duration(period)*time.Second, opts...)
}

// TestMapping says which side window an element of each main window sees. The
// side input has the elements 0 to 39, one a second; elements see how many there
// are in the window, and the least.
func TestMapping(t *testing.T) {
	for _, c := range []struct {
		name       string
		main, side windowing.Fn
		want       map[string]string // of the main window's start and end in s
	}{
		{"fixed to global", fixed(10), windowing.Global(), map[string]string{"0-10": "40 from 0", "10-20": "40 from 0", "20-30": "40 from 0"}},
		{"fixed to the same", fixed(10), fixed(10), map[string]string{"0-10": "10 from 0", "10-20": "10 from 10", "20-30": "10 from 20"}},
		{"fixed to larger", fixed(10), fixed(20), map[string]string{"0-10": "20 from 0", "10-20": "20 from 0", "20-30": "20 from 20"}},
		{"fixed to smaller", fixed(10), fixed(2), map[string]string{"0-10": "2 from 8", "10-20": "2 from 18", "20-30": "2 from 28"}},
		{"fixed to shifted", fixed(10), windowing.Fixed(10*time.Second, windowing.Offset(3*time.Second)),
			map[string]string{"0-10": "10 from 3", "10-20": "10 from 13", "20-30": "10 from 23"}},
		{"fixed to the earliest sliding", fixed(10), sliding(20, 5), map[string]string{"0-10": "10 from 0", "10-20": "20 from 0", "20-30": "20 from 10"}},
		{"fixed to sliding with gaps", fixed(10), sliding(8, 10, windowing.AllowGaps()), map[string]string{"0-10": "none", "10-20": "none", "20-30": "none"}},
		{"sliding to fixed", sliding(10, 5), fixed(10), map[string]string{
			"-5-5": "10 from 0", "0-10": "10 from 0", "5-15": "10 from 10", "10-20": "10 from 10", "15-25": "10 from 20", "20-30": "10 from 20"}},
		{"sessions to fixed", windowing.Sessions(7 * time.Second), fixed(10),
			map[string]string{"1-8": "10 from 0", "11-18": "10 from 10", "21-28": "10 from 20"}},
		{"global to global", windowing.Global(), windowing.Global(), map[string]string{"global": "40 from 0"}},
		{"months to days", windowing.Calendar(1, windowing.Months), windowing.Calendar(1, windowing.Days), map[string]string{"0-2678400": "none"}},
		{"days to months", windowing.Calendar(1, windowing.Days), windowing.Calendar(1, windowing.Months), map[string]string{"0-86400": "40 from 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("test")
			var all []pcoll.KV[int, int]
			for i := range 40 {
				all = append(all, pcoll.Pair(i, i))
			}
			view := side.AsIterable(stamped(p, c.side, all...))
			main := stamped(p, c.main, pcoll.Pair(1, 1), pcoll.Pair(11, 2), pcoll.Pair(21, 3))
			got := transforms.MapSide(main, view, func(_ int, s side.Iterable[int]) string {
				if s.Len() == 0 {
					return "none"
				}
				return fmt.Sprintf("%d from %d", s.Len(), slices.Min(slices.Collect(s.All())))
			})
			passert.That(t, got, func(elems []passert.Element[string]) error {
				have := map[string]string{}
				for _, e := range elems {
					w := "global"
					if e.Window != pcoll.Global {
						w = fmt.Sprintf("%d-%d", e.Window.Start/1000, e.Window.End/1000)
					}
					have[w] = e.Value
				}
				if fmt.Sprint(have) != fmt.Sprint(c.want) {
					return fmt.Errorf("windows see %v, want %v", have, c.want)
				}
				return nil
			})
			ptest.Run(t, p)
		})
	}
}

// TestWindowedViews reads each kind of view window by window.
func TestWindowedViews(t *testing.T) {
	p := pcoll.New("test")
	main := stamped(p, fixed(10), pcoll.Pair(1, "a"), pcoll.Pair(4, "b"), pcoll.Pair(11, "a"), pcoll.Pair(25, "b"))
	numbers := stamped(p, fixed(10), pcoll.Pair(2, 5), pcoll.Pair(3, 7), pcoll.Pair(12, 9))
	pairs := transforms.KeyBy(numbers, func(n int) string { return map[int]string{5: "a", 7: "b", 9: "a"}[n] })
	w0, w1, w2 := window(0, 10), window(10, 20), window(20, 30)

	sum := transforms.Combine(numbers, combine.Sum[int]())
	passert.Windows(t, transforms.MapSide(main, side.AsSingletonOr(sum, 100), func(k string, s side.Singleton[int]) string { return fmt.Sprint(k, s.Get()) }),
		passert.Holds(w0, "a12", "b12"), passert.Holds(w1, "a9"), passert.Holds(w2, "b100"))
	passert.Windows(t, transforms.MapSide(main, side.AsList(numbers), func(k string, s side.List[int]) string { return k + sorted(slices.Collect(s.All())) }),
		passert.Holds(w0, "a[5 7]", "b[5 7]"), passert.Holds(w1, "a[9]"), passert.Holds(w2, "b[]"))
	passert.Windows(t, transforms.MapSide(main, side.AsIterable(numbers), func(k string, s side.Iterable[int]) int { return s.Len() }),
		passert.Holds(w0, 2, 2), passert.Holds(w1, 1), passert.Holds(w2, 0))
	passert.Windows(t, transforms.MapSide(main, side.AsMap(pairs), value), passert.Holds(w0, 5, 7), passert.Holds(w1, 9), passert.Holds(w2, 0))
	passert.Windows(t, transforms.MapSide(main, side.AsMultimap(pairs), values),
		passert.Holds(w0, "a[5]2", "b[7]2"), passert.Holds(w1, "a[9]1"), passert.Holds(w2, "b[]0"))
	passert.Windows(t, transforms.MapSide(main, side.AsMultimap(pairs), func(_ string, s side.Multimap[string, int]) (n int) {
		for _, g := range s.All() {
			n += g.Len()
		}
		return n
	}), passert.Holds(w0, 2, 2), passert.Holds(w1, 1), passert.Holds(w2, 0))
	ptest.Run(t, p)
}

// TestElementsInSeveralWindows sees each window's own content.
func TestElementsInSeveralWindows(t *testing.T) {
	p := pcoll.New("test")
	main := stamped(p, sliding(10, 5), pcoll.Pair(7, "x"))
	got := transforms.MapSide(main, side.AsIterable(stamped(p, sliding(10, 5), pcoll.Pair(1, 1), pcoll.Pair(12, 2))),
		func(_ string, s side.Iterable[int]) string { return sorted(slices.Collect(s.All())) })
	// Of the windows that hold 9.999, the earliest is [0, 10); of those that hold 14.999, [5, 15).
	passert.Windows(t, got, passert.Holds(window(0, 10), "[1]"), passert.Holds(window(5, 15), "[2]"))
	ptest.Run(t, p)
}

// TestWindowNotPresent waits for the side's watermark where no element comes.
func TestWindowNotPresent(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(1), 1).Elements(at(11), 2)
	rates.Elements(at(11), 50).Watermark(at(30))
	main.Elements(at(2), 3)
	view := side.AsSingletonOr(windowing.Into(rates.Source(p), fixed(10)), -1)
	got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), view, plus)
	passert.Windows(t, got, passert.Holds(window(0, 10), 0, 2), passert.Holds(window(10, 20), 52))
	ptest.Run(t, p)
}

// TestForgottenWindows drops what comes after its window, with the allowed
// lateness of the main input, has passed, and counts it. Before that, late
// elements see the content as it was.
func TestForgottenWindows(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	rates.Elements(at(1), 10).Watermark(at(100))
	main.Elements(at(2), 1).Watermark(at(14)).Elements(at(3), 2)
	main.Watermark(at(15)).Elements(at(4), 3) // the window expires at 14.999
	main.Elements(at(16), 4)
	windowed := windowing.Into(main.Source(p), fixed(10), windowing.AllowedLateness(5*time.Second), windowing.Discarding())
	got := transforms.MapSide(windowed, side.AsSingletonOr(windowing.Into(rates.Source(p), fixed(10)), 0), plus, pcoll.Named("Join"))
	passert.Windows(t, got, passert.Holds(window(0, 10), 11, 12), passert.Holds(window(10, 20), 4))
	for name, res := range ptest.Run(t, p) {
		join, _ := res.Transform("Join")
		if join.DroppedLate != 1 || join.Elements != 4 {
			t.Errorf("%s: %d dropped of %d, want 1 of 4", name, join.DroppedLate, join.Elements)
		}
	}
}

// TestGlobalViewsAreKept lets elements see a global view however late they are.
func TestGlobalViewsAreKept(t *testing.T) {
	p := pcoll.New("test")
	main := teststream.New[int]().Watermark(at(100)).Elements(at(2), 1)
	windowed := windowing.Into(main.Source(p), fixed(10))
	passert.Equals(t, transforms.MapSide(windowed, side.AsSingleton(transforms.Create(p, 10)), plus), 11)
	ptest.Run(t, p)
}

// TestWaitingHoldsWatermark groups behind a view: elements that wait are not
// late for the grouping, though the main input's watermark is past their window.
func TestWaitingHoldsWatermark(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(1), 1).Watermark(at(100))
	rates.Elements(at(2), 10).Watermark(at(200))
	got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), side.AsSingleton(windowing.Into(rates.Source(p), fixed(10))), plus)
	passert.Panes(t, transforms.Sum(got), passert.OnTime(11).In(window(0, 10)).At(time.UnixMilli(9999)))
	for name, res := range ptest.Run(t, p) {
		if n := res.Dropped(); n != 0 {
			t.Errorf("%s: %d elements were dropped", name, n)
		}
	}
}

// TestTimesAndPanesStay checks that what waits is what comes out.
func TestTimesAndPanesStay(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(1), 1, 2).Watermark(at(10))
	rates.Watermark(at(20))
	sums := transforms.Sum(windowing.Into(main.Source(p), fixed(10)))
	got := transforms.MapSide(sums, side.AsSingletonOr(windowing.Into(rates.Source(p), fixed(10)), 10), plus)
	passert.That(t, got, func(elems []passert.Element[int]) error {
		want := "13 at 1970-01-01T00:00:09.999Z in [1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z), pane 0 ON_TIME first last"
		if len(elems) != 1 || passert.Describe(elems[0]) != want || elems[0].Kind != exec.Insert {
			return fmt.Errorf("want one element, %s", want)
		}
		return nil
	})
	ptest.Run(t, p)
}
