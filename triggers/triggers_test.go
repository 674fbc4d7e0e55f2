package triggers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
	. "github.com/penstock-dev/penstock/triggers"
)

// A case of each trigger: how it prints and what the engine gets.
var values = []struct {
	trigger Trigger
	prints  string
	want    strategy.Trigger
}{
	{Default{}, "Default", strategy.Trigger{Kind: strategy.OnDefault}},
	{Always{}, "Always", strategy.Trigger{Kind: strategy.OnAlways}},
	{Never{}, "Never", strategy.Trigger{Kind: strategy.OnNever}},
	{AfterCount(3), "AfterCount(3)", strategy.Trigger{Kind: strategy.OnCount, N: 3}},
	{AfterProcessingTime(10 * time.Second), "AfterProcessingTime(10s)", strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: 10000}},
	{AfterProcessingTime(0).AlignedTo(time.Minute), "AfterProcessingTime(0s, align=1m0s+0s)",
		strategy.Trigger{Kind: strategy.OnProcessingTime, AlignPeriod: 60000}},
	{AfterAlignedTime{Delay: time.Second, Period: time.Hour, Offset: -time.Minute}, "AfterProcessingTime(1s, align=1h0m0s+59m0s)",
		strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: 1000, AlignPeriod: 3600_000, AlignOffset: 59 * 60_000}},
	{AfterWatermark{}, "AfterWatermark", strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, nil}}},
	{AfterWatermark{Late: AfterCount(1)}, "AfterWatermark(late=AfterCount(1))",
		strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, {Kind: strategy.OnCount, N: 1}}}},
	{AfterWatermark{Early: Always{}, Late: Never{}}, "AfterWatermark(early=Always, late=Never)",
		strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{{Kind: strategy.OnAlways}, {Kind: strategy.OnNever}}}},
	{Repeatedly{T: AfterCount(2)}, "Repeatedly(AfterCount(2))",
		strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{{Kind: strategy.OnCount, N: 2}}}},
	{AfterAny{AfterCount(2), Never{}}, "AfterAny(AfterCount(2), Never)",
		strategy.Trigger{Kind: strategy.OnAny, Subs: []*strategy.Trigger{{Kind: strategy.OnCount, N: 2}, {Kind: strategy.OnNever}}}},
	{AfterAll{AfterCount(2), Default{}}, "AfterAll(AfterCount(2), Default)",
		strategy.Trigger{Kind: strategy.OnAll, Subs: []*strategy.Trigger{{Kind: strategy.OnCount, N: 2}, {Kind: strategy.OnDefault}}}},
	{AfterEach{AfterCount(2), Always{}}, "AfterEach(AfterCount(2), Always)",
		strategy.Trigger{Kind: strategy.OnEach, Subs: []*strategy.Trigger{{Kind: strategy.OnCount, N: 2}, {Kind: strategy.OnAlways}}}},
	{OrFinally{Main: Repeatedly{T: AfterCount(1)}, Until: AfterCount(5)}, "OrFinally(Repeatedly(AfterCount(1)), AfterCount(5))",
		strategy.Trigger{Kind: strategy.OnOrFinally, Subs: []*strategy.Trigger{
			{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{{Kind: strategy.OnCount, N: 1}}}, {Kind: strategy.OnCount, N: 5}}}},
}

func TestValues(t *testing.T) {
	for _, c := range values {
		if got := c.trigger.String(); got != c.prints {
			t.Errorf("prints as %s, want %s", got, c.prints)
		}
		got, err := Compile(c.trigger)
		if err != nil || !got.Equal(&c.want) {
			t.Errorf("%s becomes %+v, %v; want %+v", c.prints, got, err, &c.want)
		}
	}
}

func TestEqual(t *testing.T) {
	for i, a := range values {
		for j, b := range values {
			if Equal(a.trigger, b.trigger) != (i == j) {
				t.Errorf("Equal(%v, %v) = %v", a.trigger, b.trigger, i != j)
			}
		}
		if Equal(a.trigger, nil) || Equal(nil, a.trigger) {
			t.Errorf("%v equals nil", a.trigger)
		}
	}
	if !Equal(nil, nil) {
		t.Error("nil differs from nil")
	}
	same := AfterAlignedTime{Period: time.Hour, Offset: 90 * time.Minute}
	if !Equal(same, AfterAlignedTime{Period: time.Hour, Offset: 30 * time.Minute}) {
		t.Error("offsets a period apart are different")
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		trigger Trigger
		want    string
	}{
		{nil, "the trigger is nil; leave it out"},
		{AfterCount(0), "AfterCount(0) never waits for an element; want a count of at least 1"},
		{Repeatedly{T: AfterCount(-1)}, "AfterCount(-1) never waits"},
		{AfterProcessingTime(-time.Second), "a delay and a period of at least 0"},
		{AfterProcessingTime(1500 * time.Microsecond), "delay 1.5ms is not a whole number of milliseconds"},
		{AfterProcessingTime(time.Second).AlignedTo(0), "the period 0s that it is aligned to must be positive"},
		{AfterAlignedTime{Period: time.Microsecond}, "period 1µs is not a whole number of milliseconds"},
		{AfterAlignedTime{Period: time.Second, Offset: time.Nanosecond}, "offset 1ns is not a whole number"},
		{Repeatedly{}, "Repeatedly holds a nil trigger"},
		{AfterAny{}, "AfterAny has no trigger inside"},
		{AfterAll{Never{}, nil}, "AfterAll holds a nil trigger"},
		{AfterEach(nil), "AfterEach has no trigger inside"},
		{OrFinally{Main: Always{}}, "OrFinally holds a nil trigger"},
		{AfterWatermark{Early: AfterAny{AfterCount(0)}}, "AfterCount(0) never waits"},
	} {
		if _, err := Compile(c.trigger); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want an error with %q", c.trigger, err, c.want)
		}
		_ = fmt.Sprint(c.trigger) // even what is wrong prints
	}
}

func ExampleAfterWatermark() {
	fmt.Println(AfterWatermark{
		Early: AfterProcessingTime(30 * time.Second),
		Late:  AfterCount(1),
	})
	// Output: AfterWatermark(early=AfterProcessingTime(30s), late=AfterCount(1))
}
