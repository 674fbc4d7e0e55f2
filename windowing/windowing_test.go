package windowing_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/triggers"
	. "github.com/penstock-dev/penstock/windowing"
)

// source is a collection of no operator: these tests look at construction only.
func source(p *pcoll.Pipeline, bounded bool) pcoll.PCollection[int] {
	b := pcoll.NewBuilder(p, "Source")
	out := pcoll.To[int](b, pcoll.Unwindowed(bounded))
	b.Add(nil)
	return out
}

var late1 = triggers.AfterWatermark{Late: triggers.AfterCount(1)}

func TestFn(t *testing.T) {
	for _, c := range []struct {
		fn   Fn
		want string
	}{
		{Fixed(time.Minute), "fixed(1m0s)"},
		{Fixed(time.Minute, Offset(10*time.Second)), "fixed(1m0s offset 10s)"},
		{Fixed(time.Minute, Offset(-10*time.Second)), "fixed(1m0s offset 50s)"},
		{Fixed(time.Minute, Offset(3*time.Minute)), "fixed(1m0s)"},
		{Sliding(time.Hour, time.Minute), "sliding(1h0m0s every 1m0s)"},
		{Sliding(time.Hour, time.Minute, Offset(61*time.Second)), "sliding(1h0m0s every 1m0s offset 1s)"},
		{Sliding(time.Minute, time.Hour, AllowGaps()), "sliding(1m0s every 1h0m0s)"},
		{Sessions(time.Second), "sessions(1s)"},
		{Global(), "global"},
		{Same(), "same"},
		{Fn{}, "none"},
		{Fixed(-1), "invalid"},
	} {
		if got := c.fn.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if Fixed(time.Minute) != Fixed(time.Minute, Offset(time.Minute)) || Fixed(time.Minute) == Fixed(time.Hour) {
		t.Error("window functions do not compare by what they do")
	}
}

func TestInto(t *testing.T) {
	unsafe := func(c *graph.Collection) bool { return c.Strategy.UnsafeAllowed }
	for _, c := range []struct {
		name  string
		build func(in pcoll.PCollection[int]) pcoll.PCollection[int]
		want  string // of the collection
		is    func(*graph.Collection) bool
	}{
		{"fixed", func(in pcoll.PCollection[int]) pcoll.PCollection[int] { return Into(in, Fixed(time.Minute)) },
			"c1:int in fixed(1m0s) (pending) unbounded", nil},
		{"global needs no assignment", func(in pcoll.PCollection[int]) pcoll.PCollection[int] { return Into(in, Global()) },
			"c1:int unbounded", nil},
		{"everything", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(in, Sessions(time.Second), Trigger(late1), AllowedLateness(time.Hour), Accumulating(), StampedEarliest(),
				ClosingAlways(), OnTimeIfNonEmpty(), pcoll.Named("W"))
		}, "c1:int in sessions(1s) firing AfterWatermark(late=AfterCount(1)), accumulating, lateness 1h0m0s, stamped EARLIEST, " +
			"closing pane always, on-time pane if non-empty (pending) unbounded", nil},
		{"defaults by name", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			in = Into(in, Fixed(time.Minute), ClosingAlways(), OnTimeIfNonEmpty(), StampedLatest())
			return Into(in, Same(), ClosingIfNonEmpty(), OnTimeAlways(), StampedEndOfWindow())
		}, "c2:int in fixed(1m0s) (pending) unbounded", nil},
		{"lateness for ever", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(in, Fixed(time.Minute), AllowedLateness(math.MaxInt64), Accumulating())
		}, "c1:int in fixed(1m0s), accumulating, lateness forever (pending) unbounded", nil},
		{"a pending strategy is replaced", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(Into(in, Fixed(time.Minute)), Sliding(time.Hour, time.Minute))
		}, "c2:int in sliding(1h0m0s every 1m0s) (pending) unbounded", nil},
		{"what is not named is inherited, lateness only grows", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			in = Into(in, Fixed(time.Minute), Trigger(late1), AllowedLateness(time.Hour), Accumulating(), AllowUnsafeTrigger())
			return Into(in, Fixed(time.Hour), AllowedLateness(time.Minute))
		}, "c2:int in fixed(1h0m0s) firing AfterWatermark(late=AfterCount(1)), accumulating, lateness 1h0m0s (pending) unbounded", unsafe},
		{"Same keeps windows and their state", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(Into(in, Fixed(time.Minute)), Same(), AllowedLateness(time.Minute), Discarding())
		}, "c2:int in fixed(1m0s), lateness 1m0s (pending) unbounded", nil},
		{"another trigger is unsafe again", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			in = Into(in, Global(), Trigger(triggers.AfterCount(1)), Discarding(), AllowUnsafeTrigger())
			return Into(in, Same(), Trigger(triggers.AfterCount(2)))
		}, "c2:int in global firing AfterCount(2) unbounded", func(c *graph.Collection) bool { return !unsafe(c) }},
		{"one pane needs no mode", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(in, Fixed(time.Minute), Trigger(triggers.AfterWatermark{}), AllowedLateness(0))
		}, "c1:int in fixed(1m0s) firing AfterWatermark (pending) unbounded", nil},
		{"global needs no lateness", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(in, Global(), Trigger(triggers.Always{}), Discarding())
		}, "c1:int in global firing Always unbounded", nil},
		{"default trigger by name", func(in pcoll.PCollection[int]) pcoll.PCollection[int] {
			return Into(in, Fixed(time.Minute), Trigger(triggers.Default{}))
		}, "c1:int in fixed(1m0s) (pending) unbounded", nil},
	} {
		p := pcoll.New("test")
		out := c.build(source(p, false))
		if err := p.Err(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := pcoll.Col(out)
		if got.String() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, got, c.want)
		}
		if c.is != nil && !c.is(got) {
			t.Errorf("%s: strategy is %+v", c.name, got.Strategy)
		}
	}
}

// TestIntoAfterGrouping covers windows that an earlier grouping has merged.
func TestIntoAfterGrouping(t *testing.T) {
	p := pcoll.New("test")
	in := source(p, true)
	grouped := *strategy.Default()
	grouped.Fn = strategy.SessionWindows{Gap: 1000}
	col := pcoll.Col(in)
	col.Strategy = grouped.Continued()

	if got := pcoll.Col(Into(in, Same())); !got.Strategy.Merged || got.Pending {
		t.Errorf("Same changed the windows: %v, merged %v", got, got.Strategy.Merged)
	}
	if got := pcoll.Col(Into(in, Sessions(time.Second))); got.Strategy.Merged || !got.Pending {
		t.Errorf("sessions do not merge again: %v, merged %v", got, got.Strategy.Merged)
	}
	if got := pcoll.Col(Into(in, Global())); got.Strategy.Merged || !got.Pending {
		t.Errorf("the global window is not assigned: %v", got)
	}
}

func TestMistakes(t *testing.T) {
	minute := Fixed(time.Minute)
	for _, c := range []struct {
		fn   Fn
		opts []pcoll.Option
		want string
	}{
		{Fn{}, nil, "the window function is the zero Fn"},
		{Fixed(0), nil, "fixed windows of size 0s hold nothing; want a positive size"},
		{Fixed(-time.Second), nil, "fixed windows of size -1s hold nothing"},
		{Fixed(1500 * time.Microsecond), nil, "fixed windows of size 1.5ms cannot be: time is kept in whole milliseconds"},
		{Fixed(time.Second, Offset(time.Microsecond)), nil, "fixed windows with offset 1µs cannot be"},
		{Fixed(time.Second, AllowGaps()), nil, "fixed windows have no gaps"},
		{Fixed(time.Second, FnOption{}), nil, "fixed windows were given a zero FnOption"},
		{Sliding(0, time.Second), nil, "sliding windows of size 0s hold nothing"},
		{Sliding(time.Second, 0), nil, "sliding windows of period 0s hold nothing"},
		{Sliding(time.Second, 100*time.Microsecond), nil, "sliding windows of period 100µs cannot be"},
		{Sliding(time.Second, time.Minute), nil, "sliding windows of size 1s every 1m0s lose the elements in between"},
		{Sessions(0), nil, "session windows of gap 0s hold nothing"},
		{Sessions(time.Nanosecond), nil, "session windows of gap 1ns cannot be"},
		{minute, []pcoll.Option{Trigger(nil)}, "the trigger is nil"},
		{minute, []pcoll.Option{Trigger(triggers.AfterCount(0)), AllowedLateness(0), Discarding()}, "AfterCount(0) never waits"},
		{minute, []pcoll.Option{AllowedLateness(-time.Second)}, "allowed lateness -1s is negative"},
		{minute, []pcoll.Option{AllowedLateness(time.Microsecond)}, "allowed lateness 1µs cannot be"},
		{minute, []pcoll.Option{Trigger(late1), Discarding()},
			"trigger AfterWatermark(late=AfterCount(1)) needs an explicit lateness; add AllowedLateness(d)"},
		{minute, []pcoll.Option{Trigger(late1), AllowedLateness(0)},
			"with trigger AfterWatermark(late=AfterCount(1)) a window can have more than one pane; add Accumulating()"},
		{minute, []pcoll.Option{AllowedLateness(math.MaxInt64)}, "with an allowed lateness of forever a window"},
		{minute, []pcoll.Option{AllowedLateness(time.Hour)}, "with an allowed lateness of 1h0m0s a window can have more than one pane"},
		{Global(), []pcoll.Option{Trigger(triggers.Always{})}, "with trigger Always a window can have more than one pane"},
		{minute, []pcoll.Option{Accumulating(), Discarding()}, "Discarding is given after Accumulating; say one of them, once"},
		{minute, []pcoll.Option{StampedEarliest(), StampedLatest()}, "StampedLatest is given after StampedEarliest"},
	} {
		p := pcoll.New("test")
		out := Into(source(p, false), c.fn, c.opts...)
		Into(out, minute) // reports nothing more
		err := p.Err()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
			continue
		}
		if n := strings.Count(err.Error(), "windowing_test.go:"); n != 1 {
			t.Errorf("%d mistakes with this file's name, want 1: %v", n, err)
		}
	}
}

// TestOptionElsewhere covers an option of this package given to a transform that does not know it.
func TestOptionElsewhere(t *testing.T) {
	p := pcoll.New("test")
	b := pcoll.NewBuilder(p, "Map", Accumulating())
	b.Add(nil)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "option Accumulating does not apply to Map; remove it") {
		t.Errorf("got %v", err)
	}
}
