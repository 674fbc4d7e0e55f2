package windowing_test

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// visits are the numbers of visitors at some seconds of the first minutes of 1970.
func visits(p *pcoll.Pipeline, seconds ...int64) pcoll.PCollection[int64] {
	return transforms.WithTimestamps(transforms.CreateFrom(p, seconds), func(s int64) time.Time { return time.Unix(s, 0) })
}

// showCounts prints how many elements each window has.
func showCounts(in pcoll.PCollection[int64]) {
	transforms.ParDo(transforms.Count(in), describe{})
	run(in.Pipeline())
}

func run(p *pcoll.Pipeline) {
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
}

type describe struct{}

func (describe) Process(c *pcoll.Context, n int64, _ pcoll.Emit[int64]) error {
	w := c.Window()
	fmt.Printf("%s to %s: %d\n", w.Start.Time().Format("04:05"), w.End.Time().Format("04:05"), n)
	return nil
}

func ExampleFixed() {
	p := pcoll.New("example")
	showCounts(windowing.Into(visits(p, 5, 59, 60), windowing.Fixed(time.Minute)))
	// Output:
	// 00:00 to 01:00: 2
	// 01:00 to 02:00: 1
}

func ExampleOffset() {
	p := pcoll.New("example")
	showCounts(windowing.Into(visits(p, 35, 89, 90), windowing.Fixed(time.Minute, windowing.Offset(30*time.Second))))
	// Output:
	// 00:30 to 01:30: 2
	// 01:30 to 02:30: 1
}

func ExampleSliding() {
	p := pcoll.New("example")
	showCounts(windowing.Into(visits(p, 70, 100), windowing.Sliding(time.Minute, 30*time.Second)))
	// Output:
	// 00:30 to 01:30: 1
	// 01:00 to 02:00: 2
	// 01:30 to 02:30: 1
}

func ExampleAllowGaps() {
	p := pcoll.New("example")
	firstSeconds := windowing.Sliding(10*time.Second, time.Minute, windowing.AllowGaps())
	showCounts(windowing.Into(visits(p, 3, 30, 61), firstSeconds))
	// Output:
	// 00:00 to 00:10: 1
	// 01:00 to 01:10: 1
}

func ExampleSessions() {
	p := pcoll.New("example")
	showCounts(windowing.Into(visits(p, 0, 20, 90), windowing.Sessions(30*time.Second)))
	// Output:
	// 00:00 to 00:50: 2
	// 01:30 to 02:00: 1
}

func ExampleGlobal() {
	p := pcoll.New("example")
	perMinute := windowing.Into(visits(p, 5, 61), windowing.Fixed(time.Minute))
	transforms.Map(transforms.Count(windowing.Into(perMinute, windowing.Global())), func(n int64) int64 {
		fmt.Println(n)
		return n
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output: 2
}

// ExampleInto counts with early, on-time and late results. Each pane repeats
// what the ones before it held.
func ExampleInto() {
	p := pcoll.New("example")
	stream := teststream.New[int64]().
		Elements(time.Unix(5, 0), 1).
		ProcessingTime(11*time.Second).
		Elements(time.Unix(7, 0), 2).
		Watermark(time.Unix(60, 0)).
		Elements(time.Unix(8, 0), 3).
		Source(p)
	windowed := windowing.Into(stream, windowing.Fixed(time.Minute),
		windowing.Trigger(triggers.AfterWatermark{
			Early: triggers.AfterProcessingTime(10 * time.Second),
			Late:  triggers.AfterCount(1),
		}),
		windowing.AllowedLateness(time.Hour),
		windowing.Accumulating())
	transforms.ParDo(transforms.Count(windowed), &timing{})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// EARLY 1
	// ON_TIME 2
	// LATE 3
}

type timing struct{}

func (*timing) Process(c *pcoll.Context, n int64, _ pcoll.Emit[int64]) error {
	fmt.Println(c.Pane().Timing, n)
	return nil
}

// ExampleSame changes when panes fire and leaves the windows as they are.
func ExampleSame() {
	p := pcoll.New("example")
	perMinute := windowing.Into(visits(p, 5, 6, 7), windowing.Fixed(time.Minute))
	patient := windowing.Into(perMinute, windowing.Same(), windowing.AllowedLateness(time.Hour), windowing.Discarding())
	showCounts(patient)
	// Output: 00:00 to 01:00: 3
}
