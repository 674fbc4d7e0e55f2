package harness_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func init() { topics = append(topics, windowFns) }

// windowFns groups by functions beyond those of strategies.
func windowFns() map[string]func(p *pcoll.Pipeline) {
	late := []pcoll.Option{windowing.AllowedLateness(time.Second), windowing.Accumulating(),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)})}
	group := func(in pcoll.PCollection[int64]) { transforms.GroupByKeyWithLate(keyed(in)) }
	return map[string]func(p *pcoll.Pipeline){
		"group by day": func(p *pcoll.Pipeline) {
			group(windowing.Into(ints(p), windowing.Calendar(1, windowing.Days, windowing.In("Europe/Berlin"))))
		},
		"group by a user's windows": func(p *pcoll.Pipeline) { group(windowing.Into(ints(p), windowing.Custom(halves{}), late...)) },
		"group by a user's merging": func(p *pcoll.Pipeline) { group(windowing.Into(ints(p), windowing.Custom(bursts{3000}), late...)) },
		"group by gaps of elements": func(p *pcoll.Pipeline) {
			group(windowing.Into(ints(p), windowing.SessionsBy(func(i int64) time.Duration { return time.Duration(i%3+1) * time.Second }), late...))
		},
	}
}

// halves are windows of a second and of half of one; between seconds there is none.
type halves struct{}

func (halves) String() string { return "halves" }
func (halves) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	var w pcoll.Window
	w.Start = t - (t%1000+1000)%1000
	if w.End = w.Start + 500; w.Contains(t) {
		dst = append(dst, w)
	}
	w.End = w.Start + 1000
	if t%1000 == 999 {
		return dst
	}
	return append(dst, w)
}

// bursts are sessions that last no longer than Longest ms.
type bursts struct{ Longest int64 }

func (b bursts) String() string { return fmt.Sprintf("bursts(%d)", b.Longest) }
func (bursts) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	var w pcoll.Window
	w.Start, w.End = t, t+1500
	return append(dst, w)
}

func (b bursts) Merge(windows []pcoll.Window) (merged []windowing.Merged) {
	for _, m := range windowing.MergeOverlapping(windows) {
		if int64(m.Into.End-m.Into.Start) <= b.Longest {
			merged = append(merged, m)
		}
	}
	return merged
}
