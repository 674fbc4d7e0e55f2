package async

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
)

// on runs f with each runner in a bubble of testing/synctest, whose clock stands
// in for the wall clock, and which fails a test that leaves a goroutine behind
// or in which all wait for each other.
func on(t *testing.T, f func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int)) {
	t.Helper()
	for _, n := range []int{0, 1, 2, 5} {
		name := fmt.Sprint("local ", n)
		run := func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
			return local.Run(ctx, p, local.Workers(n), local.Logger(slog.New(slog.DiscardHandler)))
		}
		if n == 0 {
			name, run = "direct", func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
				return direct.Run(ctx, p, direct.Logger(slog.New(slog.DiscardHandler)))
			}
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, run, n) }) })
	}
}

// besideOp is an operator written by hand: it has work done for each element,
// passes elements on when theirs has returned, and wants no more than limit at a time.
type besideOp struct {
	limit int
	work  func(ctx context.Context, v int64)
	begun func(v int64) // called by the worker
	most  atomic.Int64  // elements that an instance held at once
}

func (o *besideOp) New(env exec.Env, outs []any) (exec.Instance, error) {
	type element struct {
		v  int64
		at exec.Time
	}
	var held map[element]bool
	var ended []element
	down, held := outs[0].(exec.Input[int64]), map[element]bool{}
	var failed error
	return exec.Instance{
		In: []any{exec.Input[int64](func(c *exec.Ctx, v int64) {
			e := element{v, c.Time}
			held[e] = true
			o.most.Store(max(o.most.Load(), int64(len(held))))
			if o.begun != nil {
				o.begun(v)
			}
			env.Go(func(ctx context.Context) { o.work(ctx, v) }, func(err error) {
				ended = append(ended, e)
				if err != nil {
					failed = fmt.Errorf("element %d: %w", v, err)
				}
			})
			c.Full = c.Full || len(held) >= o.limit
		})},
		Full: func() bool { return len(held) >= o.limit },
		Advance: func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
			c.Fail(failed)
			for len(ended) > 0 && !c.Full && c.Err == nil {
				e := ended[0]
				delete(held, e)
				ended = ended[1:]
				c.Time = e.at
				down(c, e.v)
				c.Time = exec.MinTime
			}
			out := in[0]
			for e := range held {
				out = min(out, e.at)
			}
			return out, len(ended) > 0
		},
	}, nil
}

// apply adds an operator of one input and output.
func apply(in pcoll.PCollection[int64], name string, op exec.Op) pcoll.PCollection[int64] {
	b := pcoll.NewBuilder(in.Pipeline(), "Apply", pcoll.Named(name))
	out := pcoll.To[int64](b, pcoll.From(b, in))
	b.Add(op)
	return out
}

// opFunc is an exec.Op made of its New.
type opFunc func(env exec.Env, outs []any) (exec.Instance, error)

func (f opFunc) New(env exec.Env, outs []any) (exec.Instance, error) { return f(env, outs) }

// noted is what reached the end of a pipeline, in order.
type noted struct {
	mu   sync.Mutex
	vals []int64
}

func (n *noted) sorted() []int64 { return slices.Sorted(slices.Values(n.vals)) }

func note(in pcoll.PCollection[int64]) *noted {
	n := &noted{}
	transforms.ForEach(in, func(_ *pcoll.Context, v int64) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.vals = append(n.vals, v)
		return nil
	})
	return n
}

// take waits in work.
func take(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Work that returns in the opposite order, long after the source has ended: the
// run waits for it, and passes elements on as they come.
func TestWorkOutlastsTheSource(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("outlasts")
		op := &besideOp{limit: 100, work: func(ctx context.Context, v int64) { take(ctx, time.Duration(100-v)*time.Second) }}
		got := note(apply(transforms.Create[int64](p, 1, 2, 3, 4, 5), "Beside", op))
		if _, err := run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if want := []int64{5, 4, 3, 2, 1}; !slices.Equal(got.vals, want) {
			t.Errorf("got %v, want %v", got.vals, want)
		}
	})
}

// Work that fails ends the run with the transform's name; other work that is
// under way is told, and waited for.
func TestWorkThatFailsEndsTheRun(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func()
		want string
	}{
		"panics": {func() { panic("boom") }, "panic: boom"},
		"exits":  {runtime.Goexit, "ended the goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
				p := pcoll.New("fails")
				var told atomic.Int64
				note(apply(transforms.Create[int64](p, 1, 2, 3), "Beside", &besideOp{limit: 100, work: func(ctx context.Context, v int64) {
					if v == 2 {
						take(ctx, time.Second)
						tc.do()
					}
					if take(ctx, time.Minute); v == 3 {
						take(context.Background(), time.Hour) // it does not listen
					}
					told.Add(1)
				}}))
				_, err := run(t.Context(), p)
				for _, want := range []string{"Beside: ", "element 2", tc.want} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v does not say %q", err, want)
					}
				}
				if told.Load() != 2 {
					t.Errorf("%d others ended before the run did, want 2", told.Load())
				}
			})
		})
	}
}

func TestCancelledWhileWorkRuns(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("cancelled")
		var ended atomic.Int64
		note(apply(transforms.Create[int64](p, 1, 2, 3), "Beside", &besideOp{limit: 2, work: func(ctx context.Context, v int64) {
			<-ctx.Done()
			ended.Add(1)
		}}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := run(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if ended.Load() == 0 {
			t.Error("no work was under way")
		}
	})
}

// An operator that has enough is fed no more, by a source, an exchange, or an
// operator before it in the same stage that has much to fire; and goes on.
func TestSatedOperator(t *testing.T) {
	const n, limit = 500, 4
	for name, before := range map[string]func(in pcoll.PCollection[int64]) pcoll.PCollection[int64]{
		"source":   func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] { return in },
		"exchange": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] { return transforms.Reshuffle(in) },
		"firing": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
			return apply(apply(in, "Last", opFunc(atLast)), "Last too", opFunc(atLast))
		},
		"operators between": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
			return transforms.Map(apply(in, "Last", opFunc(atLast)), func(v int64) int64 { return v })
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
				p := pcoll.New("sated")
				work := func(ctx context.Context, v int64) { take(ctx, time.Duration(1+v*7%5)*time.Second) }
				first := &besideOp{limit: limit, work: work}
				second := &besideOp{limit: limit - 1, work: work}
				in := before(transforms.GenerateSequence(p, 0, n))
				got := note(apply(apply(in, "First", first), "Second", second))
				if _, err := run(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				for i, v := range got.sorted() {
					if v != int64(i) {
						t.Fatalf("element %d is missing or there twice", min(v, int64(i)))
					}
				}
				if len(got.vals) != n {
					t.Errorf("%d elements came, want %d", len(got.vals), n)
				}
				if workers == 0 && (name == "firing" || name == "operators between") {
					return // the direct runner takes what fires at once whole
				}
				if m := first.most.Load(); m > limit {
					t.Errorf("an operator that wants %d held %d", limit, m)
				}
				if m := second.most.Load(); m > limit-1 && workers > 0 {
					t.Errorf("the operator behind it, that wants %d, held %d", limit-1, m)
				}
			})
		})
	}
}

// atLast keeps all elements until its input has ended, then fires them while
// there is room.
func atLast(_ exec.Env, outs []any) (exec.Instance, error) {
	down, kept, done := outs[0].(exec.Input[int64]), []int64(nil), false
	return exec.Instance{
		In: []any{exec.Input[int64](func(c *exec.Ctx, v int64) {
			if done {
				c.Fail(errors.New("an element comes after the end"))
			}
			kept = append(kept, v)
		})},
		Advance: func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
			if in[0] < exec.MaxTime {
				return in[0], false
			}
			for len(kept) > 0 && !c.Full && c.Err == nil {
				v := kept[0]
				kept = kept[1:]
				down(c, v)
			}
			if len(kept) > 0 {
				return exec.MinTime, true
			}
			done = true
			return in[0], false
		},
	}, nil
}

// A worker that has nothing else to do hears of work that returned: the source
// waits until a result of it has come out.
func TestWorkWakesItsWorker(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("wakes")
		var mu sync.Mutex
		var wakers []func()
		var came atomic.Int64
		b := pcoll.NewBuilder(p, "Root")
		b.Node().Structure = graph.Source
		out := pcoll.To[int64](b, pcoll.Unwindowed(true))
		b.Add(opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
			down, next := outs[0].(exec.Input[int64]), int64(0)
			mu.Lock()
			wakers = append(wakers, env.Waker())
			all := int64(len(wakers))
			mu.Unlock()
			return exec.Instance{Poll: func(c *exec.Ctx, _ int) exec.Status {
				mu.Lock()
				all = max(all, int64(len(wakers)))
				mu.Unlock()
				switch {
				case came.Load() >= 20*all:
					return exec.Ended
				case next <= came.Load()/all && next < 20:
					next++
					down(c, next)
				}
				return exec.Waiting
			}, Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return exec.MinTime, false }}, nil
		}))
		got := apply(out, "Beside", &besideOp{limit: 1, work: func(ctx context.Context, v int64) { take(ctx, time.Second) }})
		transforms.ForEach(got, func(*pcoll.Context, int64) error {
			came.Add(1)
			mu.Lock()
			defer mu.Unlock()
			for _, wake := range wakers {
				wake()
			}
			return nil
		})
		if _, err := run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if n := came.Load(); n != 20*int64(max(workers, 1)) {
			t.Errorf("%d results came", n)
		}
	})
}

// Under a script all work of an event is done before the next one, and what
// comes of it is part of the event, also where operators with work stand behind each other.
func TestNothingIsInFlightBetweenEvents(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("script")
		at := func(s int) time.Time { return time.Unix(int64(s), 0) }
		s := teststream.New[int64]()
		for e := range int64(5) {
			for i := range int64(10) {
				s.Elements(at(int(e)), e*100+i, e*100+i+50)
			}
			s.Watermark(at(int(e)))
		}
		var event, flying atomic.Int64
		check := func(v int64) {
			if was := event.Swap(v / 10); was/10 != v/100 && flying.Load() > 0 {
				t.Errorf("element %d comes while %d calls of an event before are under way", v, flying.Load())
			}
			flying.Add(1)
		}
		work := func(ctx context.Context, v int64) {
			take(ctx, time.Duration(v%7)*time.Second)
			flying.Add(-1)
		}
		first := apply(s.Source(p), "First", &besideOp{limit: 2, work: work, begun: check})
		second := apply(transforms.Reshuffle(first), "Second", &besideOp{limit: 2, work: work, begun: func(int64) { flying.Add(1) }})
		got := note(second)
		if _, err := run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if len(got.vals) != 100 || !slices.IsSortedFunc(got.vals, func(a, b int64) int { return int(a/100 - b/100) }) {
			t.Errorf("%d elements, by event: %v", len(got.vals), got.vals)
		}
	})
}
