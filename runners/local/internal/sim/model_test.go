package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/modeltest"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/sim"
)

// simulated returns the simulator as a runner of models.
func simulated(c sim.Config) modeltest.Runner {
	return modeltest.Runner{Name: fmt.Sprintf("sim%+v", c), Run: func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
		return sim.Run(ctx, p, c)
	}}
}

// TestModelSimulated holds the engine, in schedules that a seed decides, to the
// direct runner. See package modeltest.
func TestModelSimulated(t *testing.T) {
	modeltest.Search(t, 5*time.Second, func(rt *rapid.T) {
		spec := modeltest.Draw(rt)
		var others []modeltest.Runner
		for _, workers := range []int{1, 2, 3, 5} {
			others = append(others, simulated(sim.Config{Workers: workers,
				Seed:         rapid.Uint64().Draw(rt, "seed"),
				BatchRows:    rapid.SampledFrom([]int{0, 1, 3, 64}).Draw(rt, "batch"),
				QueueBatches: rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "queue"),
				NoLift:       rapid.Bool().Draw(rt, "nolift"),
				General:      rapid.Bool().Draw(rt, "general")}))
		}
		if err := spec.Check(t.Context(), modeltest.Direct(), others...); err != nil {
			rt.Fatal(err)
		}
	})
}
