package modeltest_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	. "github.com/penstock-dev/penstock/internal/modeltest"
	"github.com/penstock-dev/penstock/internal/strategy"
)

func on(kind strategy.TriggerKind, subs ...*strategy.Trigger) *strategy.Trigger {
	return &strategy.Trigger{Kind: kind, Subs: subs}
}

func windowed(fn strategy.WindowFn, trigger *strategy.Trigger) *strategy.Strategy {
	return &strategy.Strategy{Fn: fn, Trigger: trigger}
}

// bundle is one event: an element of key 0 for each time, with numbers from id on.
func bundle(id int, times ...exec.Time) Event {
	var e Event
	for i, t := range times {
		e.Elems = append(e.Elems, Elem{Time: t, ID: id + i})
	}
	return e
}

// found are specs that gave other results on several workers once, by what was wrong.
var found = map[string]*Spec{
	// An element that waited on one worker saved late ones there, and not on others.
	"late elements beside one that waits": {Streams: 1, Keys: 1, Steps: []Step{
		{Kind: Window, Strategy: windowed(strategy.GlobalWindows{}, on(strategy.OnDefault))}, {Kind: Shuffle},
		{Kind: Singleton, Strategy: windowed(strategy.SlidingWindows{Size: 19, Period: 1}, on(strategy.OnDefault)),
			Other: windowed(strategy.FixedWindows{Size: 15, Offset: 1}, on(strategy.OnNever))},
	}, Events: []Event{bundle(1, -1, 0, 0, 29, -9, -8), {Watermark: 55}, {Burst: 40, Base: 55}}},
	// A timer set by a late element held a watermark back that had not passed
	// it only because of another key, if that was on the same worker.
	"a timer of a late element": {Streams: 1, Keys: 12, Steps: []Step{
		{Kind: Window, Strategy: windowed(strategy.FixedWindows{Size: 1}, on(strategy.OnDefault))},
		{Kind: Keep, State: &State{Event: ByElem, Clock: ByElem, Delay: 2, Output: OfElem},
			Strategy: &strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: on(strategy.OnDefault), Lateness: 1}},
		{Kind: Window, Strategy: windowed(strategy.FixedWindows{Size: 1}, on(strategy.OnDefault))}, {Kind: Group},
	}, Events: []Event{bundle(1, 0, 0, 0), {Watermark: 2}, bundle(4, 2), {Clock: 3}, {Elems: []Elem{{Key: 4, Time: 0, ID: 5}}}, {Watermark: 3}}},
	// A group was said again because its values had come in another order.
	"withdrawn and put in again": {Streams: 1, Keys: 12, Steps: []Step{
		{Kind: Window, Strategy: &strategy.Strategy{Fn: strategy.FixedWindows{Size: 20, Offset: 8}, Mode: strategy.Retracting, Lateness: 29,
			Trigger: on(strategy.OnWatermark, nil, on(strategy.OnDefault)), ClosingAlways: true}},
		{Kind: Distinct}, {Kind: Group, NoLate: true},
	}, Events: []Event{{Burst: 200, Base: 146}, {Watermark: 174}, {Watermark: 300}}},
}

// TestFound runs what was found, in all forms.
func TestFound(t *testing.T) {
	for name, s := range found {
		t.Run(name, func(t *testing.T) {
			var others []Runner
			for _, workers := range []int{1, 2, 5} {
				for _, general := range []bool{false, true} {
					others = append(others, Local{Workers: workers, General: general, Queue: 1, Batch: 1}.Runner())
				}
			}
			if err := s.Check(t.Context(), Direct(), others...); err != nil {
				t.Error(err)
			}
		})
	}
}
