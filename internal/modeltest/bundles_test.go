package modeltest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	. "github.com/penstock-dev/penstock/internal/modeltest"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// TestBundleInvariance cuts the same elements into bundles in six ways. With the
// default trigger, and those that the watermark alone drives, the panes are the
// same. Late elements are not among them: each bundle of those is a pane of its own.
func TestBundleInvariance(t *testing.T) {
	Search(t, 2*time.Second, func(rt *rapid.T) {
		spec := drawPunctual(rt)
		want := spec
		for i, cut := range cuts {
			spec.Events = cut(want.Events, rapid.Uint64().Draw(rt, "seed"))
			for _, r := range []Runner{Direct(), Local{Workers: 2, General: i%2 == 0}.Runner()} {
				if err := want.SameContents(t.Context(), &spec, r); err != nil {
					rt.Fatalf("cut %d: %v", i, err)
				}
			}
		}
	})
}

// drawPunctual draws one grouping and elements that are not late when they come.
func drawPunctual(t *rapid.T) Spec {
	n := func(lo, hi int, label string) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	s := &strategy.Strategy{Mode: strategy.Mode(n(0, 1, "mode")), Combiner: strategy.TimestampCombiner(n(0, 2, "combiner")), Lateness: int64(n(0, 20, "lateness")),
		ClosingAlways: n(0, 1, "closing") == 1, OnTimeIfNonEmpty: n(0, 1, "onTime") == 1}
	s.Fn = []strategy.WindowFn{strategy.FixedWindows{Size: 10, Offset: 3}, strategy.SlidingWindows{Size: 12, Period: 5}, strategy.SessionWindows{Gap: 6},
		strategy.GlobalWindows{}}[n(0, 3, "fn")]
	watermark := &strategy.Trigger{Kind: strategy.OnWatermark}
	s.Trigger = []*strategy.Trigger{{Kind: strategy.OnDefault}, watermark, {Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{watermark}},
		{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, {Kind: strategy.OnCount, N: 2}}},
		{Kind: strategy.OnNever}}[n(0, 4, "trigger")]
	spec := Spec{Streams: 1, Keys: 4, Steps: []Step{{Kind: Window, Strategy: s}, {Kind: Group + StepKind(n(0, 3, "grouping"))}}}
	elem := rapid.Custom(func(t *rapid.T) Elem {
		return Elem{Key: rapid.IntRange(0, 3).Draw(t, "key"), Time: exec.Time(rapid.IntRange(0, 30).Draw(t, "time"))}
	})
	wm, id := exec.Time(-40), 0
	for range n(1, 6, "rounds") {
		wm += exec.Time(n(1, 25, "watermark"))
		elems := rapid.SliceOfN(elem, 1, 12).Draw(t, "elements")
		for i := range elems {
			id++
			elems[i].Time, elems[i].ID = elems[i].Time+wm, id
		}
		spec.Events = append(spec.Events, Event{Watermark: wm}, Event{Elems: elems})
	}
	return spec
}

// cuts are the ways to cut bundles. Watermarks stay where they are.
var cuts = []func([]Event, uint64) []Event{
	func(es []Event, _ uint64) []Event { return es },
	func(es []Event, _ uint64) []Event { return eachInto(es, 1, nil) },
	func(es []Event, _ uint64) []Event { return eachInto(es, 2, nil) },
	func(es []Event, _ uint64) []Event { return eachInto(es, 3, backwards) },
	func(es []Event, seed uint64) []Event { return eachInto(es, 1+int(seed%4), shuffle(seed)) },
	func(es []Event, seed uint64) []Event { return eachInto(es, 1, shuffle(seed)) },
}

// eachInto cuts bundles into such of at most n elements, in another order if one is given.
func eachInto(es []Event, n int, order func([]Elem)) (out []Event) {
	for _, e := range es {
		elems := append([]Elem{}, e.Elems...)
		if order != nil {
			order(elems)
		}
		if len(elems) == 0 {
			out = append(out, e)
		}
		for len(elems) > 0 {
			k := min(n, len(elems))
			out = append(out, Event{Elems: elems[:k]})
			elems = elems[k:]
		}
	}
	return out
}

func backwards(elems []Elem) {
	for i, j := 0, len(elems)-1; i < j; i, j = i+1, j-1 {
		elems[i], elems[j] = elems[j], elems[i]
	}
}

func shuffle(seed uint64) func([]Elem) {
	return func(elems []Elem) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(elems), func(i, j int) { elems[i], elems[j] = elems[j], elems[i] })
	}
}

// TestCutsKeepElements checks the cuts themselves.
func TestCutsKeepElements(t *testing.T) {
	es := []Event{{Watermark: 5}, {Elems: []Elem{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}}}, {Watermark: 9}}
	for i, cut := range cuts {
		sum, bundles := 0, 0
		got := cut(es, 7)
		for _, e := range got {
			for _, x := range e.Elems {
				sum += x.ID
			}
			bundles += min(1, len(e.Elems))
		}
		if want := []int{1, 4, 2, 2, 1, 4}[i]; sum != 10 || bundles != want || got[0].Watermark != 5 || got[len(got)-1].Watermark != 9 {
			t.Errorf("cut %d: %s, want %d bundles", i, fmt.Sprint(got), want)
		}
	}
}
