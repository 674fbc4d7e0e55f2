package windowing_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// How many users have spent how many tens, while they are still spending: a user
// who gets into another ten leaves the one before.
func ExampleRetracting() {
	p := pcoll.New("example")
	spent := teststream.New[pcoll.KV[string, int]]().
		Elements(time.Unix(1, 0), pcoll.Pair("ann", 5)).
		Elements(time.Unix(2, 0), pcoll.Pair("ann", 10)).
		Source(p)
	sums := transforms.SumPerKey(windowing.Into(spent, windowing.Fixed(time.Minute), windowing.AllowedLateness(0), windowing.Retracting(),
		windowing.OnTimeIfNonEmpty(), windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1)})))
	users := transforms.CountPerElement(transforms.Map(sums, func(s pcoll.KV[string, int]) int { return s.Value / 10 }))
	transforms.ForEach(users, func(c *pcoll.Context, n pcoll.KV[int, int64]) error {
		fmt.Printf("%v: %d with %d tens\n", c.Kind(), n.Value, n.Key)
		return nil
	})
	run(p)
	// Output:
	// insert: 1 with 0 tens
	// delete: 1 with 0 tens
	// insert: 1 with 1 tens
}
