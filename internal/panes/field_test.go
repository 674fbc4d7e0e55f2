package panes

import (
	"context"
	"slices"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes/panestest"
	"github.com/penstock-dev/penstock/internal/strategy"
)

var defaultTrigger = &strategy.Trigger{Kind: strategy.OnDefault}

// forms are those that take s.
func forms(s *strategy.Strategy) map[string]func(exec.Env, testConfig) testForm {
	m := map[string]func(exec.Env, testConfig) testForm{"general": generalForm}
	if CanAlign(s) {
		m["aligned"] = alignedForm
	}
	return m
}

// pane is what the field cases say of a pane.
type pane struct {
	w      exec.Window
	timing exec.Timing
	last   bool
	values []int64
}

func (p pane) is(s seen) bool {
	return s.drop == "" && s.w == p.w && s.pane.Timing == p.timing && s.pane.Last == p.last && slices.Equal(s.values, p.values)
}

func (r *rig) expect(e event, want ...pane) {
	r.t.Helper()
	got := r.play(e)
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && want[i].is(got[i])
	}
	if !ok {
		r.t.Fatalf("%v: got\n%swant %v", e, lines(got), want)
	}
}

func (r *rig) dropped() (late, closed int64) {
	return r.env.Counter(exec.DroppedLate).N, r.env.Counter(exec.DroppedClosed).N
}

// TestF04ClosedWindowsStayClosed restores between the firing of windows and
// the next watermark; an element of a fired window is then still late.
func TestF04ClosedWindowsStayClosed(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.SlidingWindows{Size: 10, Period: 5}, Trigger: defaultTrigger}
	for name, mk := range forms(s) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s, mk, options{restart: true})
			r.expect(ones(1, 7))
			r.expect(watermark(12), pane{exec.Window{Start: -5, End: 5}, exec.OnTime, true, []int64{1}},
				pane{exec.Window{Start: 0, End: 10}, exec.OnTime, true, []int64{1, 7}})
			got := r.play(ones(3))
			if len(got) != 2 || got[0].drop != "late" || got[1].drop != "late" {
				t.Errorf("time 3 after the restart: %v", got)
			}
			r.expect(watermark(16), pane{exec.Window{Start: 5, End: 15}, exec.OnTime, true, []int64{7}})
		})
	}
}

// TestF06PendingLatePane emits what still waits for a late trigger when the window expires.
func TestF06PendingLatePane(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Lateness: 30, Mode: strategy.Accumulating,
		Trigger: &strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, {Kind: strategy.OnCount, N: 3}}}}
	w := exec.Window{Start: 0, End: 10}
	for name, mk := range forms(s) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s, mk, options{})
			r.expect(ones(1, 2))
			r.expect(watermark(10), pane{w, exec.OnTime, false, []int64{1, 2}})
			r.expect(watermark(20))
			r.expect(ones(3, 4))
			r.expect(watermark(40), pane{w, exec.Late, true, []int64{1, 2, 3, 4}})
		})
	}
}

// TestF24ChainedWindows feeds the panes of one form to another, which hears of
// the watermark only after the results that it released.
func TestF24ChainedWindows(t *testing.T) {
	first := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 5}, Trigger: defaultTrigger}
	second := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}
	for _, mk := range []func(exec.Env, Config[int64, int64, int64]) form[int64, int64, int64]{newGeneral, newAligned} {
		c := exec.NewCtx(context.Background())
		env2 := panestest.NewEnv()
		var sums []int64
		f2 := mk(env2, Config[int64, int64, int64]{Strategy: second, Assign: true, Fold: sum{}, Key: panestest.Int64Keys(),
			Emit: func(c *exec.Ctx, _ int64, acc int64) {
				if want := (exec.Window{Start: 0, End: 10}); c.Window != want || c.Pane.Timing != exec.OnTime {
					t.Errorf("pane %v of %v, want on time of %v", c.Pane, c.Window, want)
				}
				sums = append(sums, acc)
			}})
		f1 := mk(panestest.NewEnv(), Config[int64, int64, int64]{Strategy: first, Assign: true, Fold: sum{}, Key: panestest.Int64Keys(),
			Emit: func(c *exec.Ctx, key, acc int64) { f2.Element(c, key, acc) }})
		for _, e := range [][2]int64{{1, 1}, {6, 2}} {
			c.Time = exec.Time(e[0])
			f1.Element(c, 1, e[1])
		}
		f1.Turn(c)
		f2.Turn(c)
		out, _ := f1.Advance(c, 20)
		f2.Turn(c)
		if out, _ = f2.Advance(c, out); out != 20 {
			t.Errorf("the watermark comes out as %d, want 20", out)
		}
		if !slices.Equal(sums, []int64{3}) || env2.Counter(exec.DroppedLate).N != 0 {
			t.Errorf("second step: sums %v, %d dropped, want [3] and 0", sums, env2.Counter(exec.DroppedLate).N)
		}
	}
}

// TestF31LateSession takes Beam Java's outcome where an element would have
// extended a session that is final: lateness is judged by the element's own
// window, and each element is in exactly one pane or drop counter.
func TestF31LateSession(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 8}, Trigger: defaultTrigger}
	r := newRig(t, s, generalForm, options{})
	r.expect(ones(0))
	r.expect(watermark(9), pane{exec.Window{Start: 0, End: 8}, exec.OnTime, true, []int64{0}})
	r.expect(ones(5)) // its own window [5,13) has not expired
	r.expect(watermark(14), pane{exec.Window{Start: 5, End: 13}, exec.OnTime, true, []int64{5}})
	if got := r.play(ones(4)); len(got) != 1 || got[0].drop != "late" { // [4,12) has
		t.Errorf("time 4 at watermark 14: %v", got)
	}
	if late, closed := r.dropped(); late != 1 || closed != 0 {
		t.Errorf("dropped %d and %d, want 1 and 0", late, closed)
	}
}

// TestF44SessionOrder has the elements of one session come in every order.
func TestF44SessionOrder(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 10}, Trigger: defaultTrigger}
	times := []exec.Time{0, 9, 12, 18, 25}
	orders := 0
	permute(times, func(order []exec.Time) {
		orders++
		for _, together := range []bool{false, true} {
			r := newRig(t, s, generalForm, options{restart: orders%10 == 0})
			if together {
				r.expect(ones(order...))
			} else {
				for _, at := range order {
					r.expect(ones(at))
				}
			}
			r.expect(watermark(35), pane{exec.Window{Start: 0, End: 35}, exec.OnTime, true, []int64{0, 9, 12, 18, 25}})
			g := r.f.(*General[int64, int64, []int64])
			if g.keys.Len()+len(g.events)+len(g.clocks)+len(g.holds) != 0 {
				t.Fatalf("order %v leaves %d keys, %d deadlines, %d timers, %d holds", order, g.keys.Len(), len(g.events), len(g.clocks), len(g.holds))
			}
		}
	})
	if orders != 120 {
		t.Errorf("%d orders, want 120", orders)
	}
}

func permute(ts []exec.Time, f func([]exec.Time)) {
	var step func(int)
	step = func(i int) {
		if i == len(ts) {
			f(slices.Clone(ts))
			return
		}
		for j := i; j < len(ts); j++ {
			ts[i], ts[j] = ts[j], ts[i]
			step(i + 1)
			ts[i], ts[j] = ts[j], ts[i]
		}
	}
	step(0)
}

// TestF46BeforeTheEpoch has windows with an offset hold times before 1970.
func TestF46BeforeTheEpoch(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10_000, Offset: 5_000}, Trigger: defaultTrigger}
	for name, mk := range forms(s) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s, mk, options{})
			r.expect(ones(-8_000, -18_000, 2_000))
			r.expect(watermark(exec.MaxTime),
				pane{exec.Window{Start: -25_000, End: -15_000}, exec.OnTime, true, []int64{-18_000}},
				pane{exec.Window{Start: -15_000, End: -5_000}, exec.OnTime, true, []int64{-8_000}},
				pane{exec.Window{Start: -5_000, End: 5_000}, exec.OnTime, true, []int64{2_000}})
		})
	}
}

// TestF47LateAccounting hands over every late element with its time and counts it.
func TestF47LateAccounting(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}
	for name, mk := range forms(s) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s, mk, options{})
			r.expect(ones(5))
			r.expect(watermark(20), pane{exec.Window{Start: 0, End: 10}, exec.OnTime, true, []int64{5}})
			got := r.play(ones(6, 15, 25))
			if len(got) != 2 || got[0].drop != "late" || got[0].time != 6 || got[0].key != 1 || got[1].drop != "late" || got[1].time != 15 {
				t.Errorf("late elements: %v", got)
			}
			if late, closed := r.dropped(); late != 2 || closed != 0 {
				t.Errorf("dropped %d and %d, want 2 and 0", late, closed)
			}
			r.expect(watermark(30), pane{exec.Window{Start: 20, End: 30}, exec.OnTime, true, []int64{25}})
		})
	}
}
