package local_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func TestOptionsAreChecked(t *testing.T) {
	p := pcoll.New("options")
	transforms.Create(p, 1)
	for want, opt := range map[string]local.Option{
		"0 workers; want 1 to 128":   local.Workers(0),
		"129 workers; want 1 to 128": local.Workers(129),
		"batches of 0 elements":      local.BatchSize(0),
		"queues of -1 batches":       local.QueueBatches(-1),
		"the logger is nil":          local.Logger(nil),
	} {
		if _, err := local.Run(t.Context(), p, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := local.Explain(p, opt); err == nil {
			t.Errorf("Explain takes what Run refuses: %q", want)
		}
	}
	if _, err := local.Run(t.Context(), p, nil, local.Workers(128), local.Logger(slog.New(slog.DiscardHandler))); err != nil {
		t.Error(err)
	}
}

func TestMistakesAreReportedBeforeTheStart(t *testing.T) {
	p := pcoll.New("mistaken")
	windowing.Into(transforms.Create(p, 1), windowing.Fixed(0))
	for _, f := range []func() error{
		func() error { _, err := local.Run(t.Context(), p); return err },
		func() error { _, err := local.Start(t.Context(), p); return err },
		func() error { _, err := local.Explain(p); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "job_test.go") {
			t.Errorf("error %v, want the mistake with its place", err)
		}
	}
}

// sums is a pipeline whose results are known.
func sums(got *rows, n int64) *pcoll.Pipeline {
	p := pcoll.New("sums")
	byKey := transforms.KeyBy(transforms.GenerateSequence(p, 0, n), func(i int64) int64 { return i % 7 })
	collect(transforms.CombinePerKey(byKey, combine.Sum[int64]()), got)
	return p
}

// TestRunTwice runs one pipeline again, then many times at once.
func TestRunTwice(t *testing.T) {
	var once, all rows
	p := sums(&once, 10_000)
	run(t, p, local.Workers(3))
	want := once.sorted()
	if len(want) != 7 {
		t.Fatalf("%d results, want 7", len(want))
	}
	run(t, p, local.Workers(2))
	const runs = 8
	p = sums(&all, 10_000)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			if _, err := local.Run(t.Context(), p, quiet, local.Workers(1+i%4)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var repeated []string
	for range runs {
		repeated = append(repeated, want...)
	}
	all.want(t, repeated...)
	once.want(t, append(want, want...)...)
}

// TestJobIsSafeForManyGoroutines calls everything that a Job has at once.
func TestJobIsSafeForManyGoroutines(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var got rows
			o := &numbersOp{n: 50_000, endless: cancel}
			p := pcoll.New("watched")
			byKey := transforms.KeyBy(windowing.Into(numbers(p, o), windowing.Fixed(time.Second)), func(i int64) int64 { return i % 100 })
			collect(transforms.CombinePerKey(byKey, combine.Sum[int64]()), &got)
			j, err := local.Start(t.Context(), p, quiet, local.Workers(3))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					last := int64(0)
					for range 500 {
						r, _ := j.Result().Transform("Numbers")
						if r.Elements < last {
							t.Errorf("elements go back from %d to %d", last, r.Elements)
						}
						last = r.Elements
						if loads := j.Load(); len(loads) == 0 || len(loads[0].Transforms) == 0 {
							t.Errorf("load %+v", loads)
						}
					}
				})
				wg.Go(func() {
					res, err := j.Wait()
					if want := map[bool]error{true: context.Canceled}[cancel]; !errors.Is(err, want) || res == nil {
						t.Errorf("result %v, error %v, want %v", res, err, want)
					}
				})
			}
			if cancel {
				wg.Go(j.Cancel)
				wg.Go(j.Cancel)
			}
			wg.Wait()
			j.Cancel() // after the end it does nothing
			if _, err := j.Wait(); (err != nil) != cancel {
				t.Error(err)
			}
			if r, _ := j.Result().Transform("Numbers"); !cancel && r.Elements != 3*50_000 {
				t.Errorf("%d elements, want 150000", r.Elements)
			}
		})
	}
}

// TestBackpressure: behind a sink that stands still no more than the queues
// hold is read, and all of it arrives once the sink goes on.
func TestBackpressure(t *testing.T) {
	const batch, queue = 100, 3
	bubble(t, []int{1, 2, 5}, func(t *testing.T, workers int) {
		g := newGate()
		p := pcoll.New("slow")
		o := &numbersOp{n: 40_000}
		in := numbers(p, o)
		var written atomic.Int64
		shuffled := transforms.Reshuffle(in)
		transforms.ForEach(shuffled, func(*pcoll.Context, int64) error {
			if written.Add(1) == 1 {
				<-g.open
			}
			if n := written.Load(); n <= int64(workers) {
				<-g.open // one element on each worker
			}
			return nil
		})
		j, err := local.Start(t.Context(), p, quiet, local.Workers(workers), local.BatchSize(batch), local.QueueBatches(queue))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // all tasks are blocked
		stuck := o.emitted.Load()
		// On the way: a batch that fills and a full queue between each two workers,
		// and what is being fed; batches of an exchange have exec.BatchSize elements.
		if limit := int64(workers * workers * (queue + 2) * exec.BatchSize); workers > 1 && (stuck > limit || stuck < exec.BatchSize) {
			t.Errorf("%d elements read while the sink stands still, want at most %d", stuck, limit)
		} else if workers == 1 && stuck != 1 {
			t.Errorf("%d elements read while the sink stands still in the same stage, want 1", stuck)
		}
		var blocked time.Duration
		for _, l := range j.Load() {
			blocked += l.Blocked
		}
		if blocked != 0 { // the clock of the bubble stands still
			t.Errorf("blocked for %v", blocked)
		}
		close(g.open)
		if _, err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := written.Load(); n != int64(workers)*o.n {
			t.Errorf("%d elements written, want %d", n, int64(workers)*o.n)
		}
	})
}

// TestFanOutOverrunsByOneElementOnly: what one element fans out may exceed the
// queues, but the next element waits until there is room again.
func TestFanOutOverrunsByOneElementOnly(t *testing.T) {
	const fan = 50_000
	bubble(t, []int{2, 4}, func(t *testing.T, workers int) {
		g := newGate()
		p := pcoll.New("fan out")
		var started, written atomic.Int64
		o := &numbersOp{n: 3}
		many := transforms.FlatMap(numbers(p, o), func(i int64) iter.Seq[int64] {
			return func(yield func(int64) bool) {
				started.Add(1)
				for k := range int64(fan) {
					if !yield(i*fan + k) {
						return
					}
				}
			}
		})
		transforms.ForEach(transforms.Reshuffle(many), func(*pcoll.Context, int64) error {
			<-g.open
			written.Add(1)
			return nil
		})
		j, err := local.Start(t.Context(), p, quiet, local.Workers(workers), local.QueueBatches(2))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := started.Load(); n != int64(workers) {
			t.Errorf("%d elements fanned out while the sink stands still, want one on each of %d workers", n, workers)
		}
		close(g.open)
		if _, err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := written.Load(); n != int64(workers)*3*fan {
			t.Errorf("%d elements written, want %d", n, workers*3*fan)
		}
	})
}

// TestManyWorkersOnSmallQueues sends everything through three exchanges with
// queues of one batch.
func TestManyWorkersOnSmallQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got rows
		p := pcoll.New("many")
		const n = 30_000
		in := transforms.Reshuffle(transforms.GenerateSequence(p, 0, n))
		byKey := transforms.KeyBy(transforms.Reshuffle(in), func(i int64) int64 { return i % 1000 })
		groups := transforms.GroupByKey(byKey)
		sizes := transforms.Map(groups, func(e pcoll.KV[int64, pcoll.Group[int64]]) int64 { return int64(e.Value.Len()) })
		collect(transforms.Sum(transforms.Flatten(sizes, in)), &got)
		run(t, p, local.Workers(16), local.QueueBatches(1), local.BatchSize(7), local.Lifting(false))
		got.want(t, onTime(fmt.Sprint(n+n*(n-1)/2), pcoll.Global))
	})
}

// TestProcessingTimeFiresWithoutInput: a trigger on the clock fires while its
// source waits, and not earlier than it should.
func TestProcessingTimeFiresWithoutInput(t *testing.T) {
	bubble(t, []int{1, 2, 5}, func(t *testing.T, workers int) {
		var mu sync.Mutex
		var fired []time.Duration
		start := time.Now()
		p := pcoll.New("clock")
		in := numbers(p, &numbersOp{n: 5, endless: false})
		w := windowing.Into(waits(in, 10*time.Second), windowing.Global(), windowing.Discarding(),
			windowing.Trigger(triggers.Repeatedly{T: triggers.AfterProcessingTime(2 * time.Second)}))
		transforms.ForEach(transforms.Count(w, transforms.NoDefault()), func(*pcoll.Context, int64) error {
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, time.Since(start))
			return nil
		})
		run(t, p, local.Workers(workers))
		if len(fired) == 0 || fired[0] < 2*time.Second || fired[0] > 2100*time.Millisecond {
			t.Errorf("fired after %v, want once about 2 s after the elements", fired)
		}
		if d := time.Since(start); d != 10*time.Second+time.Millisecond {
			t.Errorf("the run took %v, want 10.001s", d)
		}
	})
}

// TestProcessingTimePanesCrossAnExchange: what only the clock released was left
// in the batches of its worker until something else came.
func TestProcessingTimePanesCrossAnExchange(t *testing.T) {
	bubble(t, []int{2, 5}, func(t *testing.T, workers int) {
		var mu sync.Mutex
		var first time.Duration
		start := time.Now()
		p := pcoll.New("released")
		w := windowing.Into(waits(numbers(p, &numbersOp{n: 5}), 10*time.Second), windowing.Global(), windowing.Discarding(),
			windowing.Trigger(triggers.Repeatedly{T: triggers.AfterProcessingTime(2 * time.Second)}))
		counts := transforms.Reshuffle(transforms.Count(w, transforms.NoDefault()))
		transforms.ForEach(counts, func(*pcoll.Context, int64) error {
			mu.Lock()
			defer mu.Unlock()
			if first == 0 {
				first = time.Since(start)
			}
			return nil
		})
		run(t, p, local.Workers(workers))
		if first < 2*time.Second || first > 2100*time.Millisecond {
			t.Errorf("the first pane arrived after %v, want about 2 s", first)
		}
	})
}

// waits adds a root beside in that ends only after d, so that the pipeline goes on.
func waits(in pcoll.PCollection[int64], d time.Duration) pcoll.PCollection[int64] {
	b := pcoll.NewBuilder(in.Pipeline(), "Wait")
	b.Node().Structure = graph.Source
	out := pcoll.To[int64](b, pcoll.Unwindowed(true))
	b.Add(waitOp{d})
	return transforms.Flatten(in, out)
}

// waitOp is a root that asks to be woken after some time, and ends then.
type waitOp struct{ d time.Duration }

func (o waitOp) New(env exec.Env, _ []any) (exec.Instance, error) {
	until := env.Now().Add(o.d.Milliseconds())
	return exec.Instance{
		Poll: func(*exec.Ctx, int) exec.Status {
			if env.Now() > until {
				return exec.Ended
			}
			env.WakeAt(until)
			return exec.Waiting
		},
		Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return exec.MinTime, false },
	}, nil
}

// TestExplain shows what runs.
func TestExplain(t *testing.T) {
	var got rows
	s, err := local.Explain(sums(&got, 10), local.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stage 0 on 2 workers", "CombinePerKey (combine)", "CombinePerKey (merge) from stage 0 keyed", "ForEach"} {
		if !strings.Contains(s, want) {
			t.Errorf("plan does not hold %q:\n%s", want, s)
		}
	}
	if s, _ := local.Explain(sums(&got, 10), local.Workers(2), local.Lifting(false)); strings.Contains(s, "(combine)") {
		t.Errorf("plan lifts although it must not:\n%s", s)
	}
}
