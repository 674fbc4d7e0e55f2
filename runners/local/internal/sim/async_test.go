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

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local/internal/sim"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/transforms/lookup"
	"github.com/penstock-dev/penstock/windowing"
)

// opFunc is an exec.Op made of its New.
type opFunc func(env exec.Env, outs []any) (exec.Instance, error)

func (f opFunc) New(env exec.Env, outs []any) (exec.Instance, error) { return f(env, outs) }

// event is what a root does in a poll: it emits an element at its time, or says a watermark.
type event struct {
	elem  bool
	at    exec.Time
	value int64
}

// events is a root that does one event a poll, on worker 0.
func events(p *pcoll.Pipeline, name string, evs []event) pcoll.PCollection[int64] {
	b := pcoll.NewBuilder(p, "Events", pcoll.Named(name))
	b.Node().Structure = graph.Source
	out := pcoll.To[int64](b, pcoll.Unwindowed(true))
	b.Add(opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
		down, next, wm := outs[0].(exec.Input[int64]), 0, exec.MinTime
		worker, _ := env.Worker()
		return exec.Instance{
			Poll: func(c *exec.Ctx, _ int) exec.Status {
				if next == len(evs) || worker > 0 {
					return exec.Ended
				}
				e := evs[next]
				next++
				if !e.elem {
					wm = e.at
					return exec.Ready
				}
				c.Time = e.at
				down(c, e.value)
				c.Time = exec.MinTime
				return exec.Ready
			},
			Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return wm, false },
		}, nil
	}))
	return out
}

// seen notes the watermark that each element finds, in order.
func seen(in pcoll.PCollection[int64], g *got) {
	b := pcoll.NewBuilder(in.Pipeline(), "Seen")
	pcoll.From(b, in)
	b.Add(opFunc(func(exec.Env, []any) (exec.Instance, error) {
		wm := exec.MinTime
		return exec.Instance{
			In: []any{exec.Input[int64](func(c *exec.Ctx, v int64) { g.add("%d at %d after %d", v, c.Time, wm) })},
			Advance: func(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
				wm = in[0]
				return wm, false
			},
		}, nil
	}))
}

// late are events in which some elements are late.
func late() (evs []event) {
	for i := range int64(60) {
		evs = append(evs, event{true, exec.Time(i*10 - i%4*25), i})
		if i%3 == 2 {
			evs = append(evs, event{at: exec.Time(i * 10)})
		}
	}
	return evs
}

func echo(_ context.Context, v int64) (int64, error) { return v, nil }

// TestAsyncKeepsWatermarks: behind AsyncMap every element finds the watermark that
// it found in front of it, on time or late, whenever its call returns; and the order is
// kept, or with AsyncUnordered is another at times.
func TestAsyncKeepsWatermarks(t *testing.T) {
	run := func(seed uint64, mapped bool, opts ...pcoll.Option) []string {
		var g got
		p := pcoll.New("watermarks")
		in := events(p, "events", late())
		if mapped {
			in = transforms.AsyncMap(in, echo, opts...)
		}
		seen(in, &g)
		if _, err := sim.Run(t.Context(), p, sim.Config{Seed: seed, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		return g.rows
	}
	want := run(0, false)
	if !strings.Contains(strings.Join(want, "\n"), "57 at 545 after 560") {
		t.Fatalf("no element is late: %s", want)
	}
	sorted := slices.Sorted(slices.Values(want))
	other := 0
	for seed := range uint64(100) {
		limit := transforms.AsyncLimit(1 + int(seed%9))
		if have := run(seed, true, limit); !slices.Equal(have, want) {
			t.Fatalf("seed %d, in order:\ngot  %s\nwant %s", seed, strings.Join(have, "\n     "), strings.Join(want, "\n     "))
		}
		have := run(seed, true, limit, transforms.AsyncUnordered())
		if !slices.Equal(have, want) {
			other++
		}
		if slices.Sort(have); !slices.Equal(have, sorted) {
			t.Fatalf("seed %d, unordered:\ngot  %s\nwant %s", seed, strings.Join(have, "\n     "), strings.Join(sorted, "\n     "))
		}
	}
	if other == 0 {
		t.Error("unordered results came in order in all schedules")
	}
}

// TestEnrichKeepsWatermarks: the same where the cache serves some elements at once,
// while others before them wait.
func TestEnrichKeepsWatermarks(t *testing.T) {
	run := func(seed uint64, through func(pcoll.PCollection[int64]) pcoll.PCollection[int64]) []string {
		var g got
		p := pcoll.New("watermarks")
		seen(through(events(p, "events", late())), &g)
		if _, err := sim.Run(t.Context(), p, sim.Config{Seed: seed, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		return g.rows
	}
	want := run(0, func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] { return in })
	sorted := slices.Sorted(slices.Values(want))
	key := func(v int64) int64 { return v * v % 11 } // some often, some once
	fetch := func(_ context.Context, k int64) (int64, bool, error) { return k, true, nil }
	merge := func(v, _ int64, _ bool) int64 { return v }
	for seed := range uint64(100) {
		limit := transforms.AsyncLimit(1 + int(seed%4))
		have := run(seed, func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
			return lookup.Enrich(in, key, fetch, merge, limit)
		})
		if !slices.Equal(have, want) {
			t.Fatalf("seed %d, in order:\ngot  %s\nwant %s", seed, strings.Join(have, "\n     "), strings.Join(want, "\n     "))
		}
		have = run(seed, func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
			return lookup.Enrich(in, key, fetch, merge, limit, transforms.AsyncUnordered())
		})
		if slices.Sort(have); !slices.Equal(have, sorted) {
			t.Fatalf("seed %d, unordered:\ngot  %s\nwant %s", seed, strings.Join(have, "\n     "), strings.Join(sorted, "\n     "))
		}
	}
}

// TestAsyncHoldsWhileIdle: a source that has nothing to say for now is not waited
// for, but its elements whose calls are under way are.
func TestAsyncHoldsWhileIdle(t *testing.T) {
	for seed := range uint64(50) {
		var g got
		p := pcoll.New("idle")
		var quiet []event
		for range 20 {
			quiet = append(quiet, event{at: exec.Idle})
		}
		a := events(p, "a", append([]event{{at: 49}, {true, 50, 1}}, quiet...))
		b := events(p, "b", []event{{at: 49}, {at: 60}, {at: 70}, {at: 80}, {at: 90}})
		seen(transforms.Flatten(transforms.AsyncMap(a, echo), b), &g)
		if _, err := sim.Run(t.Context(), p, sim.Config{Seed: seed, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if want := "1 at 50 after 49"; len(g.rows) != 1 || g.rows[0] != want {
			t.Fatalf("seed %d: got %s, want %s", seed, g.rows, want)
		}
	}
}

// TestAsyncSeedsAgree compares results in many schedules, with calls that fail at
// first, on several workers and behind exchanges, with the direct runner.
func TestAsyncSeedsAgree(t *testing.T) {
	build := func(g *got, opts ...pcoll.Option) *pcoll.Pipeline {
		p := pcoll.New("async")
		var mu sync.Mutex
		failed := map[string]bool{}
		flaky := func(name string) func(context.Context, int64) (int64, error) {
			return func(_ context.Context, v int64) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				if k := fmt.Sprint(name, v); v%3 == 0 && !failed[k] {
					failed[k] = true
					return 0, errors.New("not now")
				}
				return v, nil
			}
		}
		opts = append(opts, transforms.AsyncRetry(2, time.Millisecond, time.Millisecond))
		seq := transforms.GenerateSequence(p, 0, 300, transforms.SequenceTime(func(i int64) time.Time { return time.UnixMilli(i * 37 % 5000) }))
		in := transforms.AsyncMap(windowing.Into(seq, windowing.Fixed(time.Second)), flaky("first"), opts...)
		sums := transforms.CombinePerKey(transforms.KeyBy(in, func(v int64) int64 { return v % 7 }), combine.Sum[int64]())
		collect(transforms.AsyncMap(transforms.Values(sums), flaky("sums"), opts...), g, "sum")
		collect(transforms.Count(transforms.AsyncMap(transforms.Reshuffle(in), echo, opts...), transforms.NoDefault()), g, "count")
		return p
	}
	var want got
	if _, err := direct.Run(t.Context(), build(&want)); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(60) {
		c := sim.Config{Seed: seed, Workers: 1 + int(seed%5), BatchRows: []int{1, 3, 64, 0}[seed%4], QueueBatches: []int{1, 2, 0}[seed%3]}
		opts := []pcoll.Option{transforms.AsyncLimit(1 + int(seed%4))}
		if seed%2 == 1 {
			opts = append(opts, transforms.AsyncUnordered())
		}
		var have got
		if _, err := sim.Run(t.Context(), build(&have, opts...), c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if !slices.Equal(have.sorted(), want.sorted()) {
			t.Fatalf("%+v:\ngot  %s\nwant %s", c, strings.Join(have.sorted(), "\n     "), strings.Join(want.sorted(), "\n     "))
		}
	}
}
