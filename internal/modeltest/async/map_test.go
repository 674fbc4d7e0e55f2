package async

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func at(sec int) time.Time { return time.Unix(int64(sec), 0) }

// stream is a script with elements on time and late ones.
func stream() *teststream.Stream[int64] {
	return teststream.New[int64]().
		Elements(at(1), 1, 2, 3, 4, 5, 6).Watermark(at(10)).
		Elements(at(11), 7, 8).Elements(at(3), 9, 10).Watermark(at(25)).
		Elements(at(4), 11).Elements(at(12), 12, 13).Elements(at(26), 14, 15)
}

// Under a script the panes behind AsyncMap are those without it, in either order,
// with failures at first, and whether windows were assigned before it or are after it.
func TestPanesBehindAsyncMap(t *testing.T) {
	into := func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(12*time.Second), windowing.Accumulating(),
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)}))
	}
	count := func(in pcoll.PCollection[int64]) pcoll.PCollection[pcoll.KV[int64, int64]] {
		return transforms.CountPerElement(transforms.Map(in, func(v int64) int64 { return v % 2 }))
	}
	lines := func(mapped func(pcoll.PCollection[int64]) pcoll.PCollection[int64]) (s []string) {
		for _, e := range ptest.SamePanes(t, func(p *pcoll.Pipeline) pcoll.PCollection[pcoll.KV[int64, int64]] {
			return count(mapped(stream().Source(p)))
		}) {
			s = append(s, fmt.Sprintf("%+v", e))
		}
		slices.Sort(s)
		return s
	}
	want := lines(into)
	if len(want) < 8 {
		t.Fatalf("only %d panes: %v", len(want), want)
	}
	for _, opts := range [][]pcoll.Option{
		{}, {transforms.AsyncUnordered()}, {transforms.AsyncLimit(1)}, {transforms.AsyncLimit(2), transforms.AsyncRetry(3, time.Hour, time.Hour)},
	} {
		var attempts sync.Map
		f := func(_ context.Context, v int64) (int64, error) {
			n, _ := attempts.LoadOrStore(v, new(atomic.Int64))
			if n.(*atomic.Int64).Add(1)%3 != 0 && len(opts) == 2 {
				return 0, errors.New("not now")
			}
			return v, nil
		}
		for name, mapped := range map[string]func(pcoll.PCollection[int64]) pcoll.PCollection[int64]{
			"before": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
				return transforms.AsyncMap(into(in), f, opts...)
			},
			"after": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
				return into(transforms.AsyncMap(in, f, opts...))
			},
		} {
			if got := lines(mapped); !slices.Equal(got, want) {
				t.Errorf("windows %s AsyncMap, %d options:\ngot  %s\nwant %s", name, len(opts), strings.Join(got, "\n     "), strings.Join(want, "\n     "))
			}
		}
	}
}

// So many calls as AsyncLimit allows are under way at once, and never more: each
// waits until its fellows of the same round are there.
func TestCallsAtOnce(t *testing.T) {
	const limit = 4
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("at once")
		var mu sync.Mutex
		rounds := map[int64]chan struct{}{}
		there := map[int64]int{}
		var flying, most atomic.Int64
		f := func(ctx context.Context, v int64) (int64, error) {
			most.Store(max(most.Load(), flying.Add(1)))
			mu.Lock()
			r := v / limit
			if rounds[r] == nil {
				rounds[r] = make(chan struct{})
			}
			if there[r]++; there[r] == limit {
				close(rounds[r])
			}
			all := rounds[r]
			mu.Unlock()
			<-all
			flying.Add(-1)
			return v, nil
		}
		got := note(transforms.AsyncMap(transforms.Create[int64](p, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), f, transforms.AsyncLimit(limit), pcoll.Named("Ask")))
		res, err := run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got.vals, want) {
			t.Errorf("got %v, want %v", got.vals, want)
		}
		if most.Load() != limit {
			t.Errorf("%d calls were under way at once, want %d", most.Load(), limit)
		}
		if tr, _ := res.Transform("Ask"); tr.Counters["calls"] != 12 || tr.Counters["retries"] != 0 || tr.Elements != 12 {
			t.Errorf("counted %v of %d elements", tr.Counters, tr.Elements)
		}
	})
}

// Results come in the order of the elements, or in that of the answers.
func TestOrder(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		f := func(ctx context.Context, v int64) (int64, error) {
			take(ctx, time.Duration(100-v)*time.Second)
			return v, ctx.Err()
		}
		p := pcoll.New("order")
		in := transforms.Create[int64](p, 1, 2, 3, 4, 5)
		kept, free := note(transforms.AsyncMap(in, f)), note(transforms.AsyncMap(in, f, transforms.AsyncUnordered()))
		if _, err := run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(kept.vals, want) {
			t.Errorf("in order: %v", kept.vals)
		}
		want := []int64{5, 4, 3, 2, 1}
		if workers == 0 {
			want = []int64{1, 2, 3, 4, 5} // the direct runner waits for all of a turn, which then go on in order
		}
		if !slices.Equal(free.vals, want) {
			t.Errorf("unordered: %v, want %v", free.vals, want)
		}
	})
}

// Each attempt has its time, and pauses grow.
func TestTimeoutAndRetry(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("retry")
		var mu sync.Mutex
		var begun []time.Time
		f := func(ctx context.Context, v int64) (int64, error) {
			mu.Lock()
			begun = append(begun, time.Now())
			n := len(begun)
			mu.Unlock()
			if n < 5 {
				take(ctx, time.Hour)
				return 0, ctx.Err()
			}
			return v, nil
		}
		got := note(transforms.AsyncMap(transforms.Create[int64](p, 1), f, transforms.AsyncTimeout(7*time.Second), pcoll.Named("Ask"),
			transforms.AsyncRetry(5, 10*time.Second, 25*time.Second)))
		res, err := run(t.Context(), p)
		if err != nil || len(got.vals) != 1 {
			t.Fatal(got.vals, err)
		}
		for i, most := range []time.Duration{10 * time.Second, 20 * time.Second, 25 * time.Second, 25 * time.Second} {
			if d := begun[i+1].Sub(begun[i]) - 7*time.Second; d < most/2 || d > most {
				t.Errorf("the pause after attempt %d is %v, want between %v and %v", i+1, d, most/2, most)
			}
		}
		if tr, _ := res.Transform("Ask"); tr.Counters["calls"] != 1 || tr.Counters["retries"] != 4 {
			t.Errorf("counted %v", tr.Counters)
		}
	})
}

// A failure is located and says what happened.
func TestCallsThatFail(t *testing.T) {
	cause := errors.New("cause")
	retry := transforms.AsyncRetry(3, time.Second, time.Second)
	for name, tc := range map[string]struct {
		f        func(ctx context.Context) error
		want     string
		attempts int64
		panics   bool
	}{
		"retried":   {func(context.Context) error { return cause }, "element 3: the last of 3 attempts failed: cause; TryAsyncMap", 3, false},
		"permanent": {func(context.Context) error { return fmt.Errorf("no: %w", transforms.Permanent(cause)) }, "element 3: no: cause; TryAsyncMap", 1, false},
		"timeout": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			"attempts failed: no answer within 1m0s: context deadline exceeded", 3, false},
		"panics": {func(context.Context) error { panic(cause) }, "element 3: panic: cause\n", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
				var attempts atomic.Int64
				f := func(ctx context.Context, v int64) (int64, error) {
					if v == 3 {
						attempts.Add(1)
						return 0, tc.f(ctx)
					}
					return v, nil
				}
				in := func(p *pcoll.Pipeline) pcoll.PCollection[int64] {
					timed := transforms.WithTimestamps(transforms.Create[int64](p, 1, 2, 3, 4), func(v int64) time.Time { return at(int(v)) })
					return windowing.Into(timed, windowing.Fixed(2*time.Second))
				}
				p := pcoll.New("fails")
				transforms.AsyncMap(in(p), f, retry, transforms.AsyncTimeout(time.Minute), pcoll.Named("Ask"))
				_, err := run(t.Context(), p)
				for _, want := range []string{"Ask: element time 1970-01-01T00:00:03Z, window ", tc.want} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v does not say %q", err, want)
					}
				}
				if name != "timeout" && !errors.Is(err, cause) {
					t.Errorf("the cause is not found in %v", err)
				}
				if n := attempts.Load(); n != tc.attempts {
					t.Errorf("%d attempts, want %d", n, tc.attempts)
				}
				p = pcoll.New("fails apart")
				good, failed := transforms.TryAsyncMap(in(p), f, retry, transforms.AsyncTimeout(time.Minute), pcoll.Named("Ask"))
				ok, bad := note(good), note(transforms.Map(failed, func(f transforms.FailedCall[int64]) int64 { return f.Input*100 + f.Attempts }))
				_, err = run(t.Context(), p)
				if tc.panics {
					if err == nil || !strings.Contains(err.Error(), "panic: cause") {
						t.Errorf("a panic gives %v", err)
					}
					return
				}
				if want := []int64{300 + tc.attempts}; err != nil || !slices.Equal(ok.sorted(), []int64{1, 2, 4}) || !slices.Equal(bad.vals, want) {
					t.Errorf("good %v, failed %v, want %v; %v", ok.vals, bad.vals, want, err)
				}
			})
		})
	}
}

// What is wrong is said when the pipeline is built.
func TestMistakes(t *testing.T) {
	ok := func(_ context.Context, v int64) (int64, error) { return v, nil }
	ints := func(p *pcoll.Pipeline) pcoll.PCollection[int64] { return transforms.Create[int64](p, 1) }
	for want, build := range map[string]func(p *pcoll.Pipeline){
		"the function is nil":                     func(p *pcoll.Pipeline) { transforms.AsyncMap[int64, int64](ints(p), nil) },
		"0 calls at once make none":               func(p *pcoll.Pipeline) { transforms.AsyncMap(ints(p), ok, transforms.AsyncLimit(0)) },
		"a call cannot answer within 0s":          func(p *pcoll.Pipeline) { transforms.AsyncMap(ints(p), ok, transforms.AsyncTimeout(0)) },
		"a call cannot be attempted 0 times":      func(p *pcoll.Pipeline) { transforms.AsyncMap(ints(p), ok, transforms.AsyncRetry(0, 0, 0)) },
		"the pause before another attempt cannot": func(p *pcoll.Pipeline) { transforms.AsyncMap(ints(p), ok, transforms.AsyncRetry(2, time.Second, 0)) },
		"option AsyncLimit does not apply to Map": func(p *pcoll.Pipeline) {
			transforms.Map(ints(p), func(v int64) int64 { return v }, transforms.AsyncLimit(2))
		},
		"elements are kept while their calls": func(p *pcoll.Pipeline) {
			funcs := transforms.Map(ints(p), func(int64) func() { return nil })
			transforms.AsyncMap(funcs, func(context.Context, func()) (int64, error) { return 0, nil })
		},
		"which TryAsyncMap cannot take back; let windows": func(p *pcoll.Pipeline) {
			how := []pcoll.Option{windowing.Retracting(), windowing.AllowedLateness(time.Hour)}
			counts := transforms.Count(windowing.Into(ints(p), windowing.Fixed(time.Second), how...), transforms.NoDefault())
			transforms.TryAsyncMap(counts, ok)
		},
	} {
		p := pcoll.New("mistakes")
		build(p)
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
