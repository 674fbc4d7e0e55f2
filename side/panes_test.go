package side_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// TestLatest is the pattern of a view that changes slowly: each element of the
// stream replaces what was, at the end of its bundle.
func TestLatest(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(1), 1)
	rates.Elements(at(0), 10)
	main.Elements(at(2), 2)
	rates.Elements(at(5), 20)
	main.Elements(at(3), 3)
	rates.Watermark(at(1000)) // says nothing new
	main.Elements(at(4), 4)
	latest := windowing.Into(rates.Source(p), windowing.Global(), windowing.Discarding(), eachElement)
	got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), side.AsSingleton(latest), plus)
	passert.Equals(t, got, 11, 12, 23, 24)
	ptest.Run(t, p)
}

// TestEndOfStreamKeepsLatest goes on reading after the last element of the
// view's stream: the end has no pane of its own that would empty the view.
func TestEndOfStreamKeepsLatest(t *testing.T) {
	p := pcoll.New("test")
	latest := windowing.Into(transforms.Create(p, 10), windowing.Global(), windowing.Discarding(), eachElement)
	main := teststream.New[int]().Elements(at(1), 1).Watermark(at(20)).Elements(at(21), 2)
	got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), side.AsSingleton(latest), plus)
	passert.Equals(t, got, 11, 12)
	ptest.Run(t, p)
}

// TestModes shows what each pane of a window leaves in the view: early, on time, late.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode pcoll.Option
		want []string
	}{
		{windowing.Accumulating(), []string{"1[10]1", "2[10 20]2", "3[10 20]2", "4[10 20 30]3"}},
		{windowing.Discarding(), []string{"1[10]1", "2[20]1", "3[20]1", "4[30]1"}},
	} {
		p := pcoll.New("test")
		var script teststream.Script
		main, rates := teststream.On[int](&script), teststream.On[int](&script)
		rates.Elements(at(1), 10) // early
		main.Elements(at(1), 1)
		rates.Elements(at(2), 20) // early
		main.Elements(at(2), 2)
		rates.Watermark(at(15)) // on time, with nothing new
		main.Elements(at(3), 3)
		rates.Elements(at(3), 30) // late
		main.Elements(at(4), 4)
		windowed := windowing.Into(rates.Source(p), fixed(10), windowing.AllowedLateness(time.Minute), c.mode,
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)}))
		got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), side.AsIterable(windowed), contents)
		passert.Equals(t, got, c.want...)
		ptest.Run(t, p)
	}
}

// TestReadiness says when an element of [0, 10) stops waiting, by the side's
// trigger: at the element that fires, at the end of the window, or at its expiry.
func TestReadiness(t *testing.T) {
	for name, c := range map[string]struct {
		trigger triggers.Trigger
		elems   int       // that come for the window, before the watermark moves
		ready   time.Time // watermark of the side before which the element waits
		want    int       // elements that it sees
	}{
		"default":                   {triggers.Default{}, 2, at(10), 2},
		"default, empty":            {triggers.Default{}, 0, at(10), 0},
		"at the end, empty":         {triggers.AfterWatermark{Late: triggers.AfterCount(1)}, 0, at(10), 0},
		"counted, not yet":          {triggers.Repeatedly{T: triggers.AfterCount(3)}, 2, at(40), 2},
		"counted, empty":            {triggers.Repeatedly{T: triggers.AfterCount(3)}, 0, at(40), 0},
		"never":                     {triggers.Never{}, 2, at(40), 2},
		"by the clock, empty":       {triggers.Repeatedly{T: triggers.AfterProcessingTime(time.Second)}, 0, at(40), 0},
		"any, empty":                {triggers.Repeatedly{T: triggers.AfterAny{triggers.AfterCount(3), triggers.AfterWatermark{}}}, 0, at(10), 0},
		"all, empty":                {triggers.Repeatedly{T: triggers.AfterAll{triggers.AfterCount(3), triggers.AfterWatermark{}}}, 0, at(40), 0},
		"each, by its first, empty": {triggers.Repeatedly{T: triggers.AfterEach{triggers.AfterWatermark{}, triggers.AfterCount(3)}}, 0, at(10), 0},
		"or finally, empty":         {triggers.Repeatedly{T: triggers.OrFinally{Main: triggers.AfterCount(3), Until: triggers.AfterWatermark{}}}, 0, at(10), 0},
		"always, empty":             {triggers.Always{}, 0, at(10), 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("test")
			var script teststream.Script
			main, rates, look := teststream.On[int](&script), teststream.On[int](&script), teststream.On[string](&script)
			main.Elements(at(1), 1)
			for i := range c.elems {
				rates.Elements(at(i), i)
			}
			rates.Watermark(c.ready.Add(-time.Millisecond))
			look.Elements(at(0), "before")
			rates.Watermark(c.ready)
			look.Elements(at(0), "after")
			windowed := windowing.Into(rates.Source(p), fixed(10), windowing.AllowedLateness(30*time.Second), windowing.Discarding(), windowing.Trigger(c.trigger))
			got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), side.AsIterable(windowed), func(_ int, s side.Iterable[int]) int { return s.Len() })
			passert.Equals(t, got, c.want)
			// What came through up to two moments, beside a marker that makes the view ready.
			all := []pcoll.Option{windowing.Accumulating(), eachElement}
			through := transforms.Flatten(windowing.Into(transforms.Create(p, -1), windowing.Global(), all...), windowing.Into(got, windowing.Global(), all...))
			seen := transforms.MapSide(look.Source(p), side.AsIterable(through),
				func(when string, s side.Iterable[int]) string { return when + sorted(slices.Collect(s.All())) })
			passert.Equals(t, seen, "before[-1]", fmt.Sprint("after", []int{-1, c.want}))
			ptest.Run(t, p)
		})
	}
}

// TestCombinedSingleton refines a total, and shows the last one by discarding
// the panes of the view, where the aggregation accumulates.
func TestCombinedSingleton(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, amounts := teststream.On[int](&script), teststream.On[int](&script)
	amounts.Elements(at(1), 1, 2)
	main.Elements(at(1), 100)
	amounts.Elements(at(2), 3)
	main.Elements(at(2), 200)
	totals := transforms.Combine(windowing.Into(amounts.Source(p), windowing.Global(), windowing.Accumulating(), eachElement), combine.Sum[int]())
	last := windowing.Into(totals, windowing.Same(), windowing.Discarding())
	passert.Equals(t, transforms.MapSide(main.Source(p), side.AsSingleton(last), plus), 103, 206)
	ptest.Run(t, p)
}

// TestOneTurn has main and side elements come from one event: those that are
// ready see what was before, those that wait what is then.
func TestOneTurn(t *testing.T) {
	p := pcoll.New("test")
	stream := teststream.New[int]().Elements(at(1), 1).Elements(at(2), 2).Elements(at(3), 3).Source(p)
	latest := side.AsIterable(windowing.Into(stream, windowing.Global(), windowing.Discarding(), eachElement))
	got := transforms.MapSide(transforms.Reshuffle(stream), latest, func(i int, s side.Iterable[int]) string { return fmt.Sprint(i, slices.Collect(s.All())) })
	passert.Equals(t, got, "1 [1]", "2 [1]", "3 [2]")
	ptest.Run(t, p)
}

// TestManyElements feeds main and side input from one source, over several batches.
func TestManyElements(t *testing.T) {
	p := pcoll.New("test")
	const n = 10_000
	numbers := transforms.GenerateSequence(p, 0, n)
	squares := transforms.KeyBy(transforms.Map(numbers, func(i int64) int64 { return i * i }), func(i int64) int64 { return i })
	got := transforms.FilterSide(numbers, side.AsMap(squares), func(i int64, s side.Map[int64, int64]) bool {
		_, square := s.Lookup(i)
		return square
	})
	passert.Equals(t, transforms.Count(got), 100)
	ptest.Run(t, p)
}
