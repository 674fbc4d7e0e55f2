package direct_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
)

// sums adds a transform that sums what came in a turn and emits it when the
// watermark has passed a multiple of 10.
func sums(in pcoll.PCollection[int], name string, log *journal) pcoll.PCollection[int] {
	return apply[int, int](in, name, opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
		down, sum, due := outs[0].(exec.Input[int]), 0, exec.Time(10)
		return exec.Instance{
			In:   []any{exec.Input[int](func(_ *exec.Ctx, v int) { sum += v })},
			Turn: func(*exec.Ctx) { log.add(fmt.Sprintf("%s turn %d", name, sum)) },
			Advance: func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
				if in[0] >= due && due <= 20 {
					c.Time = due
					down(c, sum)
					due += 10
					return due - 10, true // resumable: one firing a call
				}
				return in[0], false
			},
		}, nil
	}))
}

func TestResultsReachConsumersBeforeTheWatermark(t *testing.T) {
	p := pcoll.New("order")
	log := &journal{}
	a := sums(list(p, "in", timed[int]{5, 1}, timed[int]{12, 2}), "first", log)
	b := sums(a, "second", log)
	sink(b, "out", opFunc(func(exec.Env, []any) (exec.Instance, error) {
		return exec.Instance{
			In: []any{exec.Input[int](func(c *exec.Ctx, v int) { log.add(fmt.Sprintf("out %d at %v", v, int64(c.Time))) })},
			Advance: func(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
				log.add("out watermark " + in[0].String())
				return in[0], false
			},
		}, nil
	}))
	if _, err := direct.Run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"first turn 1", "second turn 0", "out watermark 1970-01-01T00:00:00.005Z",
		// The watermark 12 releases the first sum, of both; the second transform has it
		// before it hears of 12 and releases it at once.
		"first turn 3", "second turn 3", "out 3 at 10", "out watermark 1970-01-01T00:00:00.012Z",
		"first turn 3", "second turn 6", "out 6 at 20", "out watermark +inf",
	}
	if !slices.Equal(log.lines, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(log.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}
