package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/modeltest/retraction"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local/internal/sim"
)

// TestRetractionsInAnySchedule holds the law of retraction in schedules drawn by
// a seed, with and without a script, against the direct runner's answer to all at once.
func TestRetractionsInAnySchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := retraction.Draw(t)
		c := sim.Config{Seed: rapid.Uint64().Draw(t, "seed"), Workers: rapid.IntRange(1, 5).Draw(t, "workers"),
			BatchRows: rapid.SampledFrom([]int{1, 2, 3, 0}).Draw(t, "rows"), QueueBatches: rapid.IntRange(1, 2).Draw(t, "queue")}
		scripted := rapid.Bool().Draw(t, "scripted")
		build := func(once bool) (*pcoll.Pipeline, retraction.Outcome) {
			p := pcoll.New("retraction")
			var rows pcoll.PCollection[retraction.Row]
			switch {
			case !scripted:
				rows = retraction.Sequence(p, 60)
			case once:
				rows = retraction.Source(p, retraction.AtOnce(plan.Script))
			default:
				rows = retraction.Source(p, plan.Script)
			}
			col, err := plan.Build(rows)
			if err != nil {
				t.Fatal(err)
			}
			return p, retraction.Collect(col)
		}
		batch, all := build(true)
		if _, err := direct.Run(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		p, out := build(false)
		if _, err := sim.Run(context.Background(), p, c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got, err := out.Standing()
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if want, _ := all.Standing(); !slices.Equal(got, want) {
			t.Fatalf("%+v:\ninserts less withdrawals\n\t%s\nall at once\n\t%s", c, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	})
}
