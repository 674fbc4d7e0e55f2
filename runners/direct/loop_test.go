package direct_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
)

// scripted is a root whose polls and watermarks a test lists: one status and watermark a poll.
type scripted struct {
	statuses []exec.Status
	marks    []exec.Time
}

func (s scripted) op() exec.Op {
	return opFunc(func(exec.Env, []any) (exec.Instance, error) {
		i := 0
		return exec.Instance{
			Poll: func(*exec.Ctx, int) exec.Status { i++; return s.statuses[i-1] },
			Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) {
				if i == 0 {
					return exec.MinTime, false
				}
				return s.marks[i-1], false
			},
		}, nil
	})
}

// marks adds a sink that notes the watermarks of its inputs as it hears them.
func marks(log *journal, name string, ins ...pcoll.PCollection[int]) {
	b := pcoll.NewBuilder(ins[0].Pipeline(), "Marks", pcoll.Named(name))
	for _, in := range ins {
		pcoll.From(b, in)
	}
	b.Add(opFunc(func(exec.Env, []any) (exec.Instance, error) {
		inst := exec.Instance{Advance: func(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
			var s []string
			for _, w := range in {
				s = append(s, short(w))
			}
			log.add(strings.Join(s, " "))
			return slices.Min(in), false
		}}
		for range ins {
			inst.In = append(inst.In, exec.Input[int](func(*exec.Ctx, int) {}))
		}
		return inst, nil
	}))
}

func short(w exec.Time) string {
	switch w {
	case exec.MinTime:
		return "-"
	case exec.MaxTime:
		return "end"
	case exec.Idle:
		return "idle"
	}
	return fmt.Sprint(int64(w))
}

const r, e = exec.Ready, exec.Ended

func TestWatermarks(t *testing.T) {
	idle := exec.Idle
	for _, tc := range []struct {
		name string
		a, b scripted
		want string // input watermarks of a consumer of both, at each turn
	}{
		{"advance", scripted{[]exec.Status{r, r, e}, []exec.Time{5, 9, 9}}, scripted{[]exec.Status{r, e}, []exec.Time{3, 4}},
			"5 -, 5 3, 9 3, 9 end, end end"},
		{"never back", scripted{[]exec.Status{r, r, e}, []exec.Time{5, 2, 2}}, scripted{[]exec.Status{e}, []exec.Time{3}},
			"5 -, 5 end, 5 end, end end"},
		// An idle input is taken to be where the other is, and stays there when it comes back.
		{"idle", scripted{[]exec.Status{r, r, r, r, e}, []exec.Time{5, idle, idle, 7, 20}}, scripted{[]exec.Status{r, r, r, r, e}, []exec.Time{3, 8, 10, 11, 12}},
			"5 -, 5 3, 5 3, 8 8, 8 8, 10 10, 10 10, 10 11, end 11, end end"},
		{"all idle", scripted{[]exec.Status{r, r, e}, []exec.Time{5, idle, idle}}, scripted{[]exec.Status{r, r, e}, []exec.Time{3, idle, idle}},
			"5 -, 5 3, 5 3, 5 3, end 3, end end"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, log := pcoll.New("marks"), &journal{}
			marks(log, "both", root[int](p, "a", true, tc.a.op()), root[int](p, "b", true, tc.b.op()))
			if _, err := direct.Run(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(log.lines, ", "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// A transform whose inputs are all idle has no say either, unless it holds something back.
func TestIdlePassesThrough(t *testing.T) {
	for _, tc := range []struct {
		name string
		hold exec.Time
		want string // of the transform's output and of a source beside it
	}{
		{"nothing held", exec.MaxTime, "5 -, 5 9, 9 9, 20 20, end 20, end end"},
		{"held", 4, "4 -, 4 9, 4 9, 4 20, end 20, end end"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, log := pcoll.New("marks"), &journal{}
			a := root[int](p, "a", true, scripted{[]exec.Status{r, r, e}, []exec.Time{5, exec.Idle, 6}}.op())
			b := root[int](p, "b", true, scripted{[]exec.Status{r, r, e}, []exec.Time{9, 20, 21}}.op())
			held := apply[int, int](a, "hold", opFunc(func(exec.Env, []any) (exec.Instance, error) {
				return exec.Instance{In: []any{exec.Input[int](func(*exec.Ctx, int) {})},
					Advance: func(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
						if in[0] == exec.MaxTime {
							return in[0], false
						}
						return min(in[0], tc.hold), false
					}}, nil
			}))
			marks(log, "both", held, b)
			if _, err := direct.Run(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(log.lines, ", "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestResultCounts(t *testing.T) {
	p := pcoll.New("counts")
	even := transforms.ParDo(transforms.Create(p, 1, 2, 3), &counting{}, pcoll.Named("Count"))
	transforms.Map(even, func(n int) int { return n }, pcoll.Named("Even"))
	res, err := direct.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := res.Transform("Count")
	ev, _ := res.Transform("Even")
	if c.Elements != 3 || ev.Elements != 1 || res.Counter("odd") != 2 || c.Distributions["value"] != (pcoll.DistributionResult{Count: 3, Sum: 6, Min: 1, Max: 3}) {
		t.Errorf("got %+v, then %+v", c, ev)
	}
	if len(res.Transforms) != 3 || c.Watermark != exec.MaxTime {
		t.Errorf("%d transforms, the watermark ends at %v; want 3 and the end of time", len(res.Transforms), c.Watermark)
	}
}

type counting struct{ odd *pcoll.Metric }

func (f *counting) Setup(c *pcoll.Context) error { f.odd = pcoll.Counter(c, "odd"); return nil }

func (f *counting) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	pcoll.Distribution(c, "value").Update(int64(n))
	if n%2 == 1 {
		f.odd.Add(1)
		return nil
	}
	emit(c, n)
	return nil
}

// waker adds an unbounded root that waits, and a function that lets it emit v.
func waker(p *pcoll.Pipeline, polls *int) (pcoll.PCollection[int], chan<- int) {
	vals := make(chan int, 8)
	return root[int](p, "Live", false, opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
		down, wake, ready := outs[0].(exec.Input[int]), env.Waker(), make(chan int, 8)
		go func() { // a client of the outside world; it ends with the run
			for {
				select {
				case v := <-vals:
					ready <- v
					wake()
				case <-env.Context().Done():
					return
				}
			}
		}()
		return exec.Instance{Poll: func(c *exec.Ctx, _ int) exec.Status {
			*polls++
			select {
			case v := <-ready:
				if v < 0 {
					return exec.Ended
				}
				down(c, v)
				return exec.Ready
			default:
				return exec.Waiting
			}
		}}, nil
	})), vals
}

func TestAWaitingSourceIsWokenAndCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, polls := pcoll.New("live"), 0
		in, vals := waker(p, &polls)
		got := make(chan int, 8)
		each(in, "See", func(_ *exec.Ctx, n int, _ exec.Input[int]) { got <- n })
		done := make(chan error)
		go func() {
			_, err := direct.Run(t.Context(), p)
			done <- err
		}()
		synctest.Wait() // parked
		if polls != 1 {
			t.Errorf("%d polls before there was anything, want 1", polls)
		}
		vals <- 7
		if n := <-got; n != 7 {
			t.Errorf("got %d, want 7", n)
		}
		synctest.Wait()
		if polls != 3 { // 7, then nothing
			t.Errorf("%d polls after one element, want 3", polls)
		}
		vals <- -1
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, polls, closed := pcoll.New("live"), 0, false
		in, _ := waker(p, &polls)
		sink(in, "Out", opFunc(func(exec.Env, []any) (exec.Instance, error) {
			fail := func(*exec.Ctx) { t.Error("a cancelled run was finished") }
			return exec.Instance{In: []any{exec.Input[int](func(*exec.Ctx, int) {})}, Finish: fail, Commit: fail,
				Close: func() error { closed = true; return nil }}, nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		start := time.Now()
		res, err := direct.Run(ctx, p)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), `direct: pipeline "live": cancelled`) {
			t.Errorf("error is %v, want the context's", err)
		}
		if res == nil || !closed || time.Since(start) != time.Hour || polls > 2 {
			t.Errorf("result %v, closed %v, after %v and %d polls", res, closed, time.Since(start), polls)
		}
	})
	p := pcoll.New("never begun")
	transforms.Map(transforms.Create(p, 1), func(n int) int { t.Error("it ran"); return n })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := direct.Run(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the context's", err)
	}
}

func TestAFailureBesideCancellationIsKept(t *testing.T) {
	p := pcoll.New("both")
	ctx, cancel := context.WithCancel(t.Context())
	each(list(p, "in", timed[int]{1, 1}), "Fail", func(c *exec.Ctx, _ int, _ exec.Input[int]) {
		cancel()
		c.Fail(errOdd)
	})
	if _, err := direct.Run(ctx, p); !errors.Is(err, context.Canceled) || !errors.Is(err, errOdd) {
		t.Errorf("error is %v, want both", err)
	}
}

// A processing-time request is served strictly after its time, also in the
// middle of a pipeline, and the run sleeps until then.
func TestWakeAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log, polls := pcoll.New("timer"), &journal{}, 0
		in, vals := waker(p, &polls)
		start, advances := exec.TimeOf(time.Now()), 0
		apply[int, int](in, "Timer", opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
			due := exec.Idle
			return exec.Instance{
				In: []any{exec.Input[int](func(_ *exec.Ctx, n int) {
					due = env.Now().Add(int64(n))
					env.WakeAt(due)
				})},
				Advance: func(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
					advances++
					if env.Now() > due {
						log.add(fmt.Sprintf("fired at %d", env.Now()-start))
						due = exec.Idle
					}
					return in[0], false
				},
			}, nil
		}))
		time.AfterFunc(10*time.Second, func() { vals <- 5000 })
		time.AfterFunc(time.Minute, func() { vals <- -1 })
		if _, err := direct.Run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if want := []string{"fired at 15001"}; !slices.Equal(log.lines, want) {
			t.Errorf("got %q, want %q", log.lines, want)
		}
		if advances > 8 {
			t.Errorf("%d turns: the run does not sleep", advances)
		}
	})
}

// After the end of its input a transform may wait for the clock before it lets go.
func TestDrainWaitsForTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pcoll.New("drain")
		start := time.Now()
		apply[int, int](list[int](p, "in"), "Linger", opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
			due := env.Now().Add(60_000)
			env.WakeAt(due)
			return exec.Instance{In: []any{exec.Input[int](func(*exec.Ctx, int) {})},
				Advance: func(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
					if env.Now() <= due {
						env.WakeAt(due)
						return 0, false
					}
					return in[0], false
				}}, nil
		}))
		if _, err := direct.Run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != time.Minute+time.Millisecond {
			t.Errorf("took %v, want a minute and a millisecond", d)
		}
	})
}
