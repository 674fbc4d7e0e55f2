package direct_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// fails runs p and checks that the error contains each of texts.
func fails(t *testing.T, p *pcoll.Pipeline, texts ...string) error {
	t.Helper()
	_, err := direct.Run(t.Context(), p)
	if err == nil {
		t.Fatalf("the run succeeded, want an error with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not contain %q: %v", text, err)
		}
	}
	return err
}

// seconds gives each number its own time, in windows of a minute.
func seconds(p *pcoll.Pipeline, nums ...int) pcoll.PCollection[int] {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	return windowing.Into(transforms.WithTimestamps(transforms.Create(p, nums...), at), windowing.Fixed(time.Minute))
}

var errOdd = errors.New("odd")

type refuseOdd struct{}

func (refuseOdd) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	if n%2 == 1 {
		return errOdd
	}
	emit(c, n)
	return nil
}

func explode(n int) int {
	if n == 61 {
		panic(errOdd)
	}
	return n
}

func TestAFailureNamesTransformTimeAndWindow(t *testing.T) {
	p := pcoll.New("failing")
	transforms.ParDo(seconds(p, 2, 4, 61, 6), refuseOdd{}, pcoll.Named("Refuse"))
	err := fails(t, p, `direct: pipeline "failing": Refuse: `, "element time 1970-01-01T00:01:01Z",
		"window [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z)", "odd")
	if !errors.Is(err, errOdd) {
		t.Errorf("%v does not wrap the cause", err)
	}
}

func TestAPanicAlsoGivesTheStack(t *testing.T) {
	p := pcoll.New("failing")
	transforms.Map(transforms.ParDo(seconds(p, 2, 61), pass{}), explode, pcoll.Named("Explode"))
	err := fails(t, p, "Explode: ", "element time 1970-01-01T00:01:01Z", "window [1970-01-01T00:01:00Z", "panic: odd", "direct_test.explode", "failure_test.go")
	if !errors.Is(err, errOdd) {
		t.Errorf("%v does not wrap the cause", err)
	}
}

type pass struct{}

func (pass) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error { emit(c, n); return nil }

func TestAFailureEndsTheRun(t *testing.T) {
	p := pcoll.New("failing")
	var seen []int
	in := transforms.ParDo(seconds(p, 2, 3, 4, 5), refuseOdd{})
	each(in, "See", func(_ *exec.Ctx, n int, _ exec.Input[int]) { seen = append(seen, n) })
	err := fails(t, p, "element time 1970-01-01T00:00:03Z")
	if strings.Contains(err.Error(), "00:00:05Z") || !slices.Contains(seen, 2) {
		t.Errorf("seen %v before %v", seen, err)
	}
}

// stage adds a transform that notes each step of its life in log, and fails or panics at one of them.
func stage(in pcoll.PCollection[int], name, failAt string, log *journal) pcoll.PCollection[int] {
	step := func(c *exec.Ctx, what string) {
		log.add(name + " " + what)
		if what == failAt {
			c.Fail(errors.New("no " + what))
		}
	}
	return apply[int, int](in, name, opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
		log.add(name + " new")
		switch failAt {
		case "new":
			return exec.Instance{}, errors.New("no new")
		case "panic in new":
			panic("no new")
		}
		down := outs[0].(exec.Input[int])
		return exec.Instance{
			In:       []any{exec.Input[int](func(c *exec.Ctx, n int) { c.Op = env.Op(); step(c, "in"); down(c, n) })},
			Turn:     func(c *exec.Ctx) { step(c, "turn") },
			Restored: func(c *exec.Ctx) { step(c, "restored") },
			Advance:  func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) { step(c, "advance"); return in[0], false },
			Finish:   func(c *exec.Ctx) { step(c, "finish") },
			Commit:   func(c *exec.Ctx) { step(c, "commit") },
			Close: func() error {
				log.add(name + " close")
				switch failAt {
				case "close":
					return errors.New("no close")
				case "panic in close":
					panic("no close")
				}
				return nil
			},
		}, nil
	}))
}

func TestLifecycle(t *testing.T) {
	wantAll := "b new, a new, a restored, b restored, a in, b in, a turn, a advance, b turn, b advance, " +
		"a turn, a advance, b turn, b advance, a finish, b finish, a commit, b commit, a close, b close"
	for _, tc := range []struct{ name, failA, failB, want, err string }{
		{"good", "", "", wantAll, ""},
		{"new of the first", "new", "", "b new, a new, b close", "a: cannot start: no new"},
		{"new of the last", "", "new", "b new", "b: cannot start: no new"},
		{"panic in new", "panic in new", "", "b new, a new, b close", "panic: no new"},
		{"restored", "restored", "", "b new, a new, a restored, a close, b close", "a: element time -inf, window global: no restored"},
		{"in", "", "in", "b new, a new, a restored, b restored, a in, b in, a close, b close", "b: element time 1970-01-01T00:00:00.005Z, window global: no in"},
		{"turn", "turn", "", "b new, a new, a restored, b restored, a in, b in, a turn, a close, b close", "no turn"},
		{"advance", "advance", "", "b new, a new, a restored, b restored, a in, b in, a turn, a advance, a close, b close", "no advance"},
		{"finish", "", "finish", wantAll[:strings.Index(wantAll, ", a commit")] + ", a close, b close", "b: element time -inf, window global: no finish"},
		{"commit", "commit", "", strings.Replace(wantAll, ", b commit", "", 1), "no commit"},
		{"close", "close", "", wantAll, "a: closing: no close"},
		{"panic in close", "panic in close", "", wantAll, "panic: no close"},
		{"two at once", "in", "close", "b new, a new, a restored, b restored, a in, b in, a close, b close", "no in\nb: closing: no close"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, log := pcoll.New("life"), &journal{}
			stage(stage(list(p, "in", timed[int]{5, 1}), "a", tc.failA, log), "b", tc.failB, log)
			res, err := direct.Run(t.Context(), p)
			if got := strings.Join(log.lines, ", "); got != tc.want {
				t.Errorf("got\n\t%s\nwant\n\t%s", got, tc.want)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error is %v, want %q", err, tc.err)
			}
			if res == nil {
				t.Error("there is no result")
			}
		})
	}
}

func TestConstructionErrorsComeFirst(t *testing.T) {
	p := pcoll.New("bad")
	list[int](p, "in")
	list[int](p, "in")
	res, err := direct.Run(context.Background(), p)
	if res != nil || !errors.As(err, new(*pcoll.BuildError)) {
		t.Errorf("got %v, %v; want a BuildError", res, err)
	}
}

func TestAWatermarkHeldForEverIsReported(t *testing.T) {
	p := pcoll.New("held")
	apply[int, int](list[int](p, "in"), "Hold", opFunc(func(exec.Env, []any) (exec.Instance, error) {
		return exec.Instance{In: []any{exec.Input[int](func(*exec.Ctx, int) {})},
			Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return 7, false }}, nil
	}))
	fails(t, p, "Hold holds its output watermark at 1970-01-01T00:00:00.007Z", "bug of the transform")
}

type changing struct{}

func (changing) Process(c *pcoll.Context, v []int, emit pcoll.Emit[[]int]) error {
	v[0]++
	emit(c, v)
	return nil
}

// reuse emits the same slice again and again.
type reuse struct{ buf []int }

func (r *reuse) Process(c *pcoll.Context, n int, emit pcoll.Emit[[]int]) error {
	r.buf = append(r.buf[:0], n)
	emit(c, r.buf)
	return nil
}

// halved forgets in its encoding what it is.
type halved struct{ n byte }

func (h halved) MarshalBinary() ([]byte, error) { return []byte{h.n}, nil }

func (h *halved) UnmarshalBinary(b []byte) error { h.n = b[0] / 2; return nil }

// secret cannot be encoded when it is odd.
type secret struct{ n byte }

func (s secret) MarshalBinary() ([]byte, error) {
	if s.n%2 == 1 {
		return nil, errOdd
	}
	return []byte{s.n}, nil
}

func (s *secret) UnmarshalBinary(b []byte) error { s.n = b[0]; return nil }

// keeping uses the context of an earlier call.
type keeping struct {
	Use   func(c *pcoll.Context, emit pcoll.Emit[int])
	first *pcoll.Context
}

func (k *keeping) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	if k.first == nil {
		k.first = c
	}
	k.Use(k.first, emit)
	return nil
}

func TestChecks(t *testing.T) {
	kept := func(use func(*pcoll.Context, pcoll.Emit[int])) func(*pcoll.Pipeline) {
		return func(p *pcoll.Pipeline) {
			transforms.Keys(transforms.KeyBy(transforms.ParDo(transforms.Create(p, 1, 2), &keeping{Use: use}, pcoll.Named("Keep")), func(n int) int { return n }))
		}
	}
	for _, tc := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		want  []string
	}{
		{"consumer changes its input", func(p *pcoll.Pipeline) {
			transforms.ParDo(transforms.Create(p, []int{1}), changing{}, pcoll.Named("Change"))
		}, []string{"output read by Change: ", "a consumer changed its input of type []int", "copy before"}},
		{"producer changes what it emitted", func(p *pcoll.Pipeline) {
			transforms.Map(transforms.ParDo(transforms.Create(p, 1, 2), &reuse{}, pcoll.Named("Reuse")), func(v []int) int { return v[0] }, pcoll.Named("First"))
		}, []string{"Reuse: ", "output read by First: ", "was changed after it was emitted", "emit a copy"}},
		{"lossy coder", func(p *pcoll.Pipeline) {
			ns := transforms.Map(transforms.Create(p, 4), func(n int) halved { return halved{byte(n)} }, pcoll.Named("Halve"))
			transforms.Filter(ns, func(halved) bool { return true })
		}, []string{"Halve: ", "does not survive its coder"}},
		{"failing coder", func(p *pcoll.Pipeline) {
			ns := transforms.Map(transforms.Create(p, 4, 5), func(n int) secret { return secret{byte(n)} }, pcoll.Named("Hide"))
			transforms.Filter(ns, func(secret) bool { return true })
		}, []string{"Hide: ", "cannot be encoded", "odd"}},
		{"context kept: time", kept(func(c *pcoll.Context, emit pcoll.Emit[int]) { c.EventTime() }), []string{"Keep: ", "after the call that received it"}},
		{"context kept: window", kept(func(c *pcoll.Context, emit pcoll.Emit[int]) { c.Window() }), []string{"Keep: ", "after the call"}},
		{"context kept: pane", kept(func(c *pcoll.Context, emit pcoll.Emit[int]) { c.Pane() }), []string{"Keep: ", "after the call"}},
		{"context kept: emit", kept(func(c *pcoll.Context, emit pcoll.Emit[int]) { emit(c, 1) }), []string{"Keep: ", "after the call"}},
		{"context kept: emit at", kept(func(c *pcoll.Context, emit pcoll.Emit[int]) { emit.At(c, time.Unix(0, 0), 1) }), []string{"Keep: ", "after the call"}},
		{"context kept: emit in", kept(func(c *pcoll.Context, emit pcoll.Emit[int]) { emit.In(c, pcoll.Global, time.Unix(0, 0), 1) }),
			[]string{"Keep: ", "after the call"}},
		{"unstable route", func(p *pcoll.Pipeline) {
			n := uint64(0)
			route(transforms.Create(p, 1, 2), func(int) uint64 { n++; return n })
		}, []string{"Route: ", "the key of 1 is not the same each time it is encoded"}},
		{"route by address", func(p *pcoll.Pipeline) {
			groups := map[*int]uint64{}
			v := 5
			route(transforms.Create(p, &v), func(p *int) uint64 {
				if _, ok := groups[p]; !ok {
					groups[p] = uint64(len(groups)) << 57
				}
				return groups[p]
			})
		}, []string{"Route: ", "is not the same each time"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := pcoll.New("unfit")
			tc.build(p)
			fails(t, p, tc.want...)
			p = pcoll.New("unchecked")
			tc.build(p)
			if _, err := direct.Run(t.Context(), p, direct.Unchecked()); err != nil {
				t.Errorf("the check is not off: %v", err)
			}
		})
	}
}

// route adds a sink whose input is routed by key.
func route[T any](in pcoll.PCollection[T], by func(T) uint64) {
	n := sink(in, "Route", opFunc(func(exec.Env, []any) (exec.Instance, error) {
		return exec.Instance{In: []any{exec.Input[T](func(*exec.Ctx, T) {})}}, nil
	}))
	n.Inputs[0].Exchange, n.Inputs[0].Route = graph.Keyed, by
}

// What the checks look at is as it would be without them.
func TestChecksDoNotShow(t *testing.T) {
	var runs [2][]timed[int]
	for i, opt := range []direct.Option{nil, direct.Unchecked()} {
		p := pcoll.New("same")
		in := list(p, "in", timed[int]{5, 1}, timed[int]{7, 2})
		n := sink(in, "Out", opFunc(func(exec.Env, []any) (exec.Instance, error) {
			return exec.Instance{In: []any{exec.Input[int](func(c *exec.Ctx, n int) {
				if c.Window != exec.Global || c.Pane != exec.NoFiring {
					t.Errorf("element %d is in %v, pane %v", n, c.Window, c.Pane)
				}
				runs[i] = append(runs[i], timed[int]{c.Time, n})
			})}}, nil
		}))
		n.Inputs[0].Exchange, n.Inputs[0].Route = graph.Keyed, func(n int) uint64 { return uint64(n) << 57 }
		if _, err := direct.Run(t.Context(), p, opt); err != nil {
			t.Fatal(err)
		}
	}
	if want := []timed[int]{{5, 1}, {7, 2}}; !slices.Equal(runs[0], want) || !slices.Equal(runs[1], want) {
		t.Errorf("checked %v, unchecked %v, want %v", runs[0], runs[1], want)
	}
}
