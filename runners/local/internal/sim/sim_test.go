package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/runners/local/internal/sim"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// got collects what reaches the end of a pipeline, printed.
type got struct {
	mu   sync.Mutex
	rows []string
}

func (g *got) add(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rows = append(g.rows, fmt.Sprintf(format, args...))
}

func (g *got) sorted() []string { return slices.Sorted(slices.Values(g.rows)) }

// collect ends a pipeline in g.
func collect[T any](in pcoll.PCollection[T], g *got, name string) {
	transforms.ForEach(in, func(c *pcoll.Context, v T) error {
		g.add("%s %v %v %v", name, v, c.Window(), c.Pane())
		return nil
	})
}

// diamond is a pipeline in which data takes ways of different length: two
// groupings behind each other, a reshuffle, and a Flatten of all of it.
func diamond(g *got, n int64) *pcoll.Pipeline {
	p := pcoll.New("diamond")
	seq := transforms.GenerateSequence(p, 0, n, transforms.SequenceTime(func(i int64) time.Time { return time.UnixMilli(i * 37 % 20_000) }))
	win := windowing.Into(seq, windowing.Fixed(5*time.Second))
	byKey := transforms.KeyBy(win, func(i int64) string { return fmt.Sprint("k", i%23) })
	sums := transforms.CombinePerKey(byKey, combine.Sum[int64]())
	groups := transforms.GroupByKey(transforms.KeyBy(transforms.Values(sums), func(s int64) int64 { return s % 3 }))
	sizes := transforms.Map(groups, func(e pcoll.KV[int64, pcoll.Group[int64]]) int64 { return int64(e.Value.Len()) })
	all := transforms.Flatten(transforms.Reshuffle(win), sizes, win)
	collect(transforms.Count(all, transforms.NoDefault()), g, "count")
	collect(sums, g, "sum")
	return p
}

// TestSeedsAgree runs the diamond in many schedules and compares it with the direct runner.
func TestSeedsAgree(t *testing.T) {
	const n = 500
	var want got
	if _, err := direct.Run(t.Context(), diamond(&want, n)); err != nil {
		t.Fatal(err)
	}
	if len(want.rows) < 50 {
		t.Fatalf("the pipeline gives only %d results", len(want.rows))
	}
	for seed := range uint64(60) {
		c := sim.Config{Seed: seed, Workers: 1 + int(seed%5), BatchRows: []int{1, 3, 64, 0}[seed%4], QueueBatches: []int{1, 2, 0}[seed%3],
			NoLift: seed%2 == 0, General: seed%7 < 3}
		var have got
		if _, err := sim.Run(t.Context(), diamond(&have, n), c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if !slices.Equal(have.sorted(), want.sorted()) {
			t.Fatalf("%+v:\ngot  %s\nwant %s", c, strings.Join(have.sorted(), "\n     "), strings.Join(want.sorted(), "\n     "))
		}
	}
}

// TestGoroutinesAgree runs the diamond with real goroutines.
func TestGoroutinesAgree(t *testing.T) {
	const n = 20_000
	var want got
	if _, err := direct.Run(t.Context(), diamond(&want, n), direct.Unchecked()); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 5, 16} {
		for _, queue := range []int{1, 8} {
			var have got
			res, err := local.Run(t.Context(), diamond(&have, n), local.Workers(workers), local.QueueBatches(queue), local.BatchSize(100))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(have.sorted(), want.sorted()) {
				t.Fatalf("%d workers: %d results, want %d", workers, len(have.rows), len(want.rows))
			}
			if r, _ := res.Transform("GenerateSequence"); r.Elements != n {
				t.Errorf("%d workers: GenerateSequence emitted %d elements, want %d", workers, r.Elements, n)
			}
			if r, _ := res.Transform("GroupByKey"); workers > 1 && len(r.ByWorker) != workers {
				t.Errorf("%d workers: elements by worker are %v", workers, r.ByWorker)
			}
		}
	}
}

// TestEarlyPanesOnVirtualClock checks that processing time passes in a simulation.
func TestEarlyPanesOnVirtualClock(t *testing.T) {
	var have got
	p := pcoll.New("early")
	seq := transforms.GenerateSequence(p, 0, 100)
	win := windowing.Into(seq, windowing.Global(), windowing.Discarding(),
		windowing.Trigger(triggers.Repeatedly{T: triggers.AfterProcessingTime(time.Second)}))
	collect(transforms.Count(win, transforms.NoDefault()), &have, "count")
	if _, err := sim.Run(t.Context(), p, sim.Config{Seed: 7, Workers: 3}); err != nil {
		t.Fatal(err)
	}
	if len(have.rows) == 0 {
		t.Fatal("no pane")
	}
}

// TestFailureNamesItsPlace checks that a failing and a panicking function end the run, located.
func TestFailureNamesItsPlace(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(int64) int64{
		"panics with a value": func(i int64) int64 {
			if i == 777 {
				panic("boom")
			}
			return i
		},
		"panics with an error": func(i int64) int64 {
			if i == 777 {
				panic(boom)
			}
			return i
		},
	} {
		for _, workers := range []int{1, 2, 5} {
			p := pcoll.New("failing")
			seq := transforms.GenerateSequence(p, 0, 2000, transforms.SequenceTime(time.UnixMilli))
			byKey := transforms.KeyBy(transforms.Reshuffle(seq), func(i int64) int64 { return i % 10 })
			m := transforms.MapValues(byKey, f, pcoll.Named("Explosive"))
			transforms.CombinePerKey(m, combine.Sum[int64]())
			_, err := local.Run(t.Context(), p, local.Workers(workers))
			for _, want := range []string{"failing", "Explosive", "1970-01-01T00:00:00.777Z", "global", "boom", "sim_test.go"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %d workers: error does not hold %q: %v", name, workers, want, err)
				}
			}
		}
	}
}

// TestCancel checks that a cancelled run ends and says so.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := pcoll.New("endless")
	seq := transforms.GenerateSequence(p, 0, 1<<60)
	transforms.ForEach(seq, func(_ *pcoll.Context, i int64) error {
		if i == 100_000 {
			cancel()
		}
		return nil
	})
	if _, err := local.Run(ctx, p, local.Workers(2)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}
