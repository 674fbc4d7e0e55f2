package modeltest_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	. "github.com/penstock-dev/penstock/internal/modeltest"
)

// TestModel holds the local runner, in many configurations, to the direct runner.
func TestModel(t *testing.T) {
	Search(t, 10*time.Second, func(rt *rapid.T) {
		spec := Draw(rt)
		var others []Runner
		for _, workers := range []int{1, 2, 5} {
			others = append(others, Local{Workers: workers,
				Queue:   rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "queue"),
				Batch:   rapid.SampledFrom([]int{0, 1, 3, 64}).Draw(rt, "batch"),
				NoLift:  rapid.Bool().Draw(rt, "nolift"),
				General: rapid.Bool().Draw(rt, "general")}.Runner())
		}
		if err := spec.Check(t.Context(), Direct(), others...); err != nil {
			rt.Fatal(err)
		}
	})
}
