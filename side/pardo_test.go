package side_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// enrich reads several views, of which two are the same, and has two outputs.
type enrich struct {
	Rates  side.Map[string, int]
	Again  side.Map[string, int]
	Names  side.List[string]
	Limit  side.Singleton[int]
	Beyond transforms.Output[string]
}

var _ transforms.DoFn[string, string] = (*enrich)(nil)

func (f *enrich) Process(c *pcoll.Context, k string, emit pcoll.Emit[string]) error {
	v, ok := f.Rates.Lookup(k)
	if w, _ := f.Again.Lookup(k); w != v {
		return errors.New("the same view has two values")
	}
	s := fmt.Sprint(k, v, ok, f.Names.Len())
	if v > f.Limit.Get() {
		f.Beyond.Emit(c, s)
		return nil
	}
	emit(c, s)
	return nil
}

// TestFields gives a DoFn several side inputs of different types beside a further output.
func TestFields(t *testing.T) {
	p := pcoll.New("test")
	rates := side.AsMap(transforms.Create(p, pcoll.Pair("a", 1), pcoll.Pair("b", 200)))
	fn := &enrich{Rates: rates, Again: rates, Names: side.AsList(transforms.Create(p, "x", "y")), Limit: side.AsSingletonOr(transforms.Create[int](p), 100)}
	got := transforms.ParDo(transforms.Create(p, "a", "b", "c"), fn, pcoll.Named("Enrich"))
	passert.Equals(t, got, "a1 true 2", "c0 false 2")
	passert.Equals(t, fn.Beyond.Collection(), "b200 true 2")
	if n := strings.Count(p.String(), "(broadcast)"); n != 3 {
		t.Errorf("%d inputs are broadcast, want 3: a view that is used twice is one input\n%v", n, p)
	}
	for name, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("Enrich"); r.Elements != 3 {
			t.Errorf("%s: %d elements entered, want 3: side inputs do not count", name, r.Elements)
		}
	}
}

// TestElementsOfManyWindows looks at windows and views of one DoFn together.
func TestElementsOfManyWindows(t *testing.T) {
	p := pcoll.New("test")
	fn := &perWindow{Sums: side.AsIterable(stamped(p, sliding(10, 5), pcoll.Pair(2, 5), pcoll.Pair(8, 7)))}
	got := transforms.ParDo(stamped(p, sliding(10, 5), pcoll.Pair(6, 1), pcoll.Pair(7, 2)), fn)
	passert.Windows(t, got, passert.Holds(window(0, 10), "1[5 7]", "2[5 7]"), passert.Holds(window(5, 15), "1[7]", "2[7]"))
	ptest.Run(t, p)
}

type perWindow struct{ Sums side.Iterable[int] }

func (f *perWindow) Process(c *pcoll.Context, i int, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprint(i, sorted(slices.Collect(f.Sums.All()))))
	return nil
}

// counting says how many elements each bundle had.
type counting struct {
	Rate  side.Singleton[int]
	Where string // method that reads the view
	n     int
}

func (f *counting) Setup(*pcoll.Context) error {
	if f.Where == "Setup" {
		f.n = f.Rate.Get()
	}
	return nil
}

func (f *counting) StartBundle(*pcoll.Context) error {
	if f.n = 0; f.Where == "StartBundle" {
		f.n = f.Rate.Get()
	}
	return nil
}

func (f *counting) Process(c *pcoll.Context, i int, emit pcoll.Emit[string]) error {
	f.n += f.Rate.Get()
	return nil
}

func (f *counting) FinishBundle(c *pcoll.Context, emit pcoll.Emit[string]) error {
	if f.Where == "FinishBundle" {
		f.n = f.Rate.Get()
	}
	emit.In(c, window(0, 10), at(1), fmt.Sprint("bundle of ", f.n))
	return nil
}

// TestBundles ends a bundle of elements that waited before the watermark moves on.
func TestBundles(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(1), 1, 2).Elements(at(2), 3).Watermark(at(100))
	rates.Elements(at(2), 1).Watermark(at(200))
	fn := &counting{Rate: side.AsSingleton(windowing.Into(rates.Source(p), fixed(10)))}
	got := transforms.ParDo(windowing.Into(main.Source(p), fixed(10)), fn)
	passert.Windows(t, transforms.Map(transforms.CountPerElement(got), func(e pcoll.KV[string, int64]) string { return e.Key }),
		passert.Holds(window(0, 10), "bundle of 3"))
	for name, res := range ptest.Run(t, p, ptest.Workers(1)) {
		if n := res.Dropped(); n != 0 {
			t.Errorf("%s: %d results of FinishBundle were late", name, n)
		}
	}
}

// TestViewsBetweenElements cannot be read: nothing says which window is meant.
func TestViewsBetweenElements(t *testing.T) {
	for _, where := range []string{"Setup", "StartBundle", "FinishBundle"} {
		p := pcoll.New("test")
		transforms.ParDo(transforms.Create(p, 1), &counting{Rate: side.AsSingleton(transforms.Create(p, 1)), Where: where})
		ptest.Fails(t, p, "ParDo", "a side input was read where no element is being processed")
	}
}

// TestFailuresOfWaitingElements are those of the element, not of what let it through.
func TestFailuresOfWaitingElements(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(3), 1)
	rates.Watermark(at(20))
	view := side.AsSingletonOr(windowing.Into(rates.Source(p), fixed(10)), 0)
	transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), view, func(i int, s side.Singleton[int]) int { return i / s.Get() }, pcoll.Named("Divide"))
	ptest.Fails(t, p, "Divide: element time 1970-01-01T00:00:03Z, window [1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z)", "divide by zero")
}

// TestViewsOfSideTransforms reads a view of what another view made.
func TestViewsOfSideTransforms(t *testing.T) {
	p := pcoll.New("test")
	first := transforms.MapSide(transforms.Create(p, 1), side.AsSingleton(transforms.Create(p, 10)), plus)
	passert.Equals(t, transforms.MapSide(transforms.Create(p, 100), side.AsSingleton(first), plus), 111)
	// Main and side input are the same collection.
	same := transforms.Create(p, 1, 2, 3)
	passert.Equals(t, transforms.MapSide(same, side.AsIterable(same), contents), "1[1 2 3]3", "2[1 2 3]3", "3[1 2 3]3")
	// One view serves several transforms.
	view := side.AsSingleton(transforms.Create(p, 7))
	passert.Equals(t, transforms.MapSide(transforms.MapSide(transforms.Create(p, 1), view, plus), view, plus), 15)
	ptest.Run(t, p)
}
