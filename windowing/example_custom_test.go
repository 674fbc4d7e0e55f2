package windowing_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// ExampleCalendar counts by days of New York, on one of which clocks are put
// forward: it is an hour shorter.
func ExampleCalendar() {
	p := pcoll.New("example")
	noon := time.Date(2026, time.March, 8, 12, 0, 0, 0, time.UTC).Unix()
	days := windowing.Calendar(1, windowing.Days, windowing.In("America/New_York"))
	counts := transforms.Count(windowing.Into(visits(p, noon, noon+3600), days))
	transforms.ParDo(counts, &length{})
	run(p)
	// Output: 2 in 23h0m0s
}

type length struct{}

func (*length) Process(c *pcoll.Context, n int64, _ pcoll.Emit[int64]) error {
	w := c.Window()
	fmt.Println(n, "in", w.End.Time().Sub(w.Start.Time()))
	return nil
}

// ExampleFrom makes weeks that begin on Sundays.
func ExampleFrom() {
	fmt.Println(windowing.Calendar(1, windowing.Weeks, windowing.From(2026, time.January, 4), windowing.In("Asia/Tokyo")))
	// Output: calendar(1 week from 1970-01-04 in Asia/Tokyo)
}

// call is a call in a support line.
type call struct {
	At     int64 // second
	Urgent bool
}

func ExampleSessionsBy() {
	p := pcoll.New("example")
	calls := transforms.WithTimestamps(transforms.Create(p, call{0, false}, call{20, true}, call{40, false}),
		func(c call) time.Time { return time.Unix(c.At, 0) })
	patience := windowing.SessionsBy(func(c call) time.Duration {
		if c.Urgent {
			return 10 * time.Second
		}
		return time.Minute
	})
	showCounts(transforms.Map(windowing.Into(calls, patience), func(c call) int64 { return c.At }))
	// Output: 00:00 to 01:40: 3
}

// A tide is a window function: high tide and low tide follow each other after
// 6 hours and 12 minutes.
type tide struct{ First pcoll.Time }

func (t tide) String() string { return fmt.Sprintf("tide(%v)", t.First) }

func (t tide) Assign(dst []pcoll.Window, at pcoll.Time) []pcoll.Window {
	const length = 372 * 60_000
	var w pcoll.Window
	w.Start = at - ((at-t.First)%length+length)%length // also before the first
	w.End = w.Start.Add(length)
	return append(dst, w)
}

var _ windowing.Assigner = tide{}

func ExampleCustom() {
	p := pcoll.New("example")
	counts := transforms.Count(windowing.Into(visits(p, 600, 22919, 22920), windowing.Custom(tide{First: 600_000})))
	transforms.ParDo(counts, &tides{})
	run(p)
	// Output:
	// 2 at tide of 00:10
	// 1 at tide of 06:22
}

type tides struct{}

func (*tides) Process(c *pcoll.Context, n int64, _ pcoll.Emit[int64]) error {
	fmt.Println(n, "at tide of", c.Window().Start.Time().Format("15:04"))
	return nil
}

// An auction is open until it ends: its window is its own.
type auction struct{ Opened, Ends int64 }

// open puts auctions into the time for which they are open.
type open struct{}

func (open) String() string { return "open" }

func (open) Assign(dst []pcoll.Window, _ pcoll.Time, a auction) []pcoll.Window {
	var w pcoll.Window
	w.Start, w.End = pcoll.Time(a.Opened*1000), pcoll.Time(a.Ends*1000)
	return append(dst, w)
}

var _ windowing.AssignerOf[auction] = open{}

func ExampleCustomOf() {
	p := pcoll.New("example")
	auctions := transforms.WithTimestamps(transforms.Create(p, auction{0, 90}, auction{30, 60}, auction{0, 90}),
		func(a auction) time.Time { return time.Unix(a.Opened, 0) })
	windowed := windowing.Into(auctions, windowing.CustomOf(open{}))
	showCounts(transforms.Map(windowed, func(a auction) int64 { return a.Opened }))
	// Output:
	// 00:30 to 01:00: 1
	// 00:00 to 01:30: 2
}

// A burst is a session that is cut when it gets too long.
type burst struct{ Gap, Longest int64 }

func (b burst) String() string { return fmt.Sprintf("burst(%d, %d)", b.Gap, b.Longest) }

func (b burst) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	var w pcoll.Window
	w.Start, w.End = t, t.Add(b.Gap)
	return append(dst, w)
}

func (b burst) Merge(windows []pcoll.Window) (merged []windowing.Merged) {
	for _, m := range windowing.MergeOverlapping(windows) {
		if int64(m.Into.End-m.Into.Start) <= b.Longest {
			merged = append(merged, m)
		}
	}
	return merged
}

var _ windowing.Merger = burst{}

func ExampleMergeOverlapping() {
	p := pcoll.New("example")
	showCounts(windowing.Into(visits(p, 0, 20, 100), windowing.Custom(burst{Gap: 30_000, Longest: 120_000})))
	// Output:
	// 00:00 to 00:50: 2
	// 01:40 to 02:10: 1
}
