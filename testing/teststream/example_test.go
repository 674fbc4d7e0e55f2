package teststream_test

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

// A window fires when the watermark passes its end, and again for late elements.
func Example() {
	at := func(sec int64) time.Time { return time.Unix(sec, 0) }
	p := pcoll.New("clicks")
	clicks := teststream.New[string]().
		Elements(at(5), "a", "a").
		Watermark(at(60)).
		Elements(at(50), "a").
		Source(p)
	counts := transforms.CountPerElement(windowing.Into(clicks, windowing.Fixed(time.Minute),
		windowing.Trigger(triggers.AfterWatermark{Late: triggers.AfterCount(1)}),
		windowing.AllowedLateness(time.Hour), windowing.Accumulating()))
	transforms.ForEach(counts, func(c *pcoll.Context, kv pcoll.KV[string, int64]) error {
		fmt.Println(kv.Key, kv.Value, c.Pane().Timing)
		return nil
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}

	// Output:
	// a 2 ON_TIME
	// a 3 LATE
}
