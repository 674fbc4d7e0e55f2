package panes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes/panestest"
	"github.com/penstock-dev/penstock/internal/strategy"
)

func count(n int64) *strategy.Trigger { return &strategy.Trigger{Kind: strategy.OnCount, N: n} }

func delay(ms int64) *strategy.Trigger {
	return &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: ms}
}

func trigger(kind strategy.TriggerKind, subs ...*strategy.Trigger) *strategy.Trigger {
	return &strategy.Trigger{Kind: kind, Subs: subs}
}

func TestCanAlign(t *testing.T) {
	fixed := strategy.FixedWindows{Size: 10}
	plain := trigger(strategy.OnWatermark)
	for _, c := range []struct {
		s    strategy.Strategy
		want bool
	}{
		{strategy.Strategy{Fn: fixed, Trigger: defaultTrigger}, true},
		{strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: defaultTrigger, Lateness: 5, ClosingAlways: true, OnTimeIfNonEmpty: true}, true},
		{strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnRepeatedly, plain)}, true},
		{strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnWatermark, trigger(strategy.OnRepeatedly, delay(3)), count(4))}, true},
		{strategy.Strategy{Fn: strategy.SessionWindows{Gap: 5}, Merged: true, Trigger: plain}, true},
		{strategy.Strategy{Fn: strategy.SessionWindows{Gap: 5}, Trigger: plain}, false},
		{strategy.Strategy{Fn: fixed, Trigger: plain, Combiner: strategy.Earliest}, false},
		{strategy.Strategy{Fn: fixed, Trigger: plain, Mode: strategy.Retracting}, false},
		{strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnNever)}, false},
		{strategy.Strategy{Fn: fixed, Trigger: count(1)}, false},
		{strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnRepeatedly, trigger(strategy.OnWatermark, nil, count(1)))}, false},
		{strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnWatermark, trigger(strategy.OnAny, count(1)))}, false},
		{strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnWatermark, count(1<<40))}, false},
	} {
		if got := CanAlign(&c.s); got != c.want {
			t.Errorf("%v: %t, want %t", &c.s, got, c.want)
		}
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		delay, period, offset int64
		now, want             exec.Time
	}{
		{5, 0, 0, 7, 12},
		{0, 10, 0, 7, 10},
		{0, 10, 0, 10, 10}, // an aligned instant stays
		{3, 10, 0, 7, 10},
		{4, 10, 3, 7, 13},
		{0, 10, 3, -8, -7},
		{0, 10, 25, 1, 5},
		{1 << 62, 10, 0, 7, exec.MaxTime},
	} {
		tr := &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: c.delay, AlignPeriod: c.period, AlignOffset: c.offset}
		if got := target(tr, c.now); got != c.want {
			t.Errorf("%v at %d: %d, want %d", tr, c.now, got, c.want)
		}
	}
}

// TestWakeAt asks for an Advance after the target, at which it is not yet due.
func TestWakeAt(t *testing.T) {
	for _, tr := range []*strategy.Trigger{trigger(strategy.OnWatermark, delay(10)), trigger(strategy.OnRepeatedly, delay(10))} {
		s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 100}, Trigger: tr}
		for name, mk := range forms(s) {
			r := newRig(t, s, mk, options{})
			r.expect(processing(7))
			r.expect(ones(1))
			if r.env.Wake != 17 {
				t.Errorf("%s %v: wake at %d, want 17", name, tr, r.env.Wake)
			}
			r.expect(processing(17))
			r.expect(processing(18), pane{exec.Window{Start: 0, End: 100}, exec.Early, false, []int64{1}})
		}
	}
}

// TestTurnSeesDueTargets fires at the end of a bundle what its processing time has passed.
func TestTurnSeesDueTargets(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 100}, Trigger: trigger(strategy.OnWatermark, delay(10))}
	for name, mk := range forms(s) {
		r := newRig(t, s, mk, options{})
		r.expect(ones(1))
		r.env.Clock = 11
		r.ctx.Time = 2
		r.f.Element(r.ctx, 1, 2)
		r.got = nil
		r.f.Turn(r.ctx)
		if want := (pane{exec.Window{Start: 0, End: 100}, exec.Early, false, []int64{1, 2}}); len(r.got) != 1 || !want.is(r.got[0]) {
			t.Errorf("%s: %v", name, r.got)
		}
	}
}

// TestIdle has an idle input neither move the watermark nor free held output.
func TestIdle(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}
	for name, mk := range forms(s) {
		r := newRig(t, s, mk, options{})
		if out, _ := r.f.Advance(r.ctx, exec.Idle); out != exec.Idle {
			t.Errorf("%s: empty and idle, the output watermark is %d", name, out)
		}
		r.expect(watermark(3))
		r.expect(ones(5))
		if out, _ := r.f.Advance(r.ctx, exec.Idle); out != 3 {
			t.Errorf("%s: idle with an open window, the output watermark is %d, want 3", name, out)
		}
		r.expect(watermark(11), pane{exec.Window{Start: 0, End: 10}, exec.OnTime, true, []int64{5}})
	}
}

// TestPartialLateInPart stamps a partial that has elements before the key's
// output watermark with that watermark, the earliest time it can still have.
func TestPartialLateInPart(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 100}, Trigger: defaultTrigger, Combiner: strategy.Earliest}
	for _, c := range []struct{ first, last, want exec.Time }{{30, 40, 30}, {10, 40, 20}, {10, 15, 99}} {
		r := newRig(t, s, generalForm, options{exploded: true})
		r.expect(watermark(20))
		r.ctx.Window = exec.Window{Start: 0, End: 100}
		r.f.Partial(r.ctx, 1, Partial[[]int64]{Acc: []int64{1, 2}, N: 2, Min: c.first, Max: c.last})
		r.f.Turn(r.ctx)
		if got := r.play(watermark(100)); len(got) != 1 || got[0].time != c.want {
			t.Errorf("elements from %d to %d at watermark 20: %v, want time %d", c.first, c.last, got, c.want)
		}
	}
}

// TestPartialDrops hands over partials that come too late, and counts their elements.
func TestPartialDrops(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: trigger(strategy.OnWatermark), Lateness: 5}
	for name, mk := range forms(s) {
		r := newRig(t, s, mk, options{exploded: true})
		r.expect(ones(1))
		r.expect(watermark(10), pane{exec.Window{Start: 0, End: 10}, exec.OnTime, true, []int64{1}})
		for _, want := range []string{"closed", "late"} {
			r.got = nil
			r.ctx.Time, r.ctx.Window = 7, exec.Window{Start: 0, End: 10}
			r.f.Partial(r.ctx, 1, Partial[[]int64]{Acc: []int64{7, 8}, N: 2, Min: 7, Max: 8})
			r.f.Turn(r.ctx)
			if len(r.got) != 1 || r.got[0].drop != want || r.got[0].time != 7 || !slices.Equal(r.got[0].values, []int64{7, 8}) {
				t.Errorf("%s: got %v, want it dropped as %s", name, r.got, want)
			}
			r.expect(watermark(15))
		}
		if late, closed := r.dropped(); late != 2 || closed != 2 {
			t.Errorf("%s: dropped %d and %d, want 2 and 2", name, late, closed)
		}
	}
}

// TestFailureStops has no further pane come after one that failed.
func TestFailureStops(t *testing.T) {
	for name, mk := range forms(&strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}) {
		s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}
		n := 0
		c := exec.NewCtx(context.Background())
		f := mk(panestest.NewEnv(), testConfig{Strategy: s, Assign: true, Fold: panestest.Collect[int64]{}, Key: panestest.Int64Keys(),
			Emit: func(c *exec.Ctx, _ int64, _ []int64) {
				n++
				c.Fail(errors.New("sink is full of woe"))
			}})
		c.Time = 1
		for key := range int64(5) {
			f.Element(c, key, 1)
		}
		f.Turn(c)
		if _, more := f.Advance(c, 20); n != 1 || more || c.Err == nil {
			t.Errorf("%s: %d panes, more=%t, error %v", name, n, more, c.Err)
		}
	}
}

// TestOneTurnManyWindows keeps panes apart by window when elements alternate between them.
func TestOneTurnManyWindows(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}
	for name, mk := range forms(s) {
		for _, opt := range []options{{}, {exploded: true}, {exploded: true, partials: true}} {
			r := newRig(t, s, mk, opt)
			var in []elem
			for i := range int64(400) {
				in = append(in, elem{i % 3, exec.Time(i*7919%400 - 200), 1})
			}
			r.play(input(in...))
			got := r.play(watermark(exec.MaxTime))
			n := 0
			for _, s := range got {
				n += len(s.values)
			}
			if len(got) != 3*40 || n != 400 {
				t.Errorf("%s %v: %d panes with %d elements, want 120 with 400", name, opt, len(got), n)
			}
		}
	}
}

// TestManyKeys goes past the size at which a table is split by key group.
func TestManyKeys(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger, Lateness: 5}
	for name, mk := range forms(s) {
		r := newRig(t, s, mk, options{})
		const keys = 40_000
		for i := range int64(3 * keys) {
			r.ctx.Time = exec.Time(i % 10)
			r.f.Element(r.ctx, i%keys, i)
		}
		r.f.Turn(r.ctx)
		r.opt = options{restart: true}
		got := r.play(watermark(12))
		if len(got) != keys {
			t.Fatalf("%s: %d panes, want %d", name, len(got), keys)
		}
		for i, s := range got {
			if s.key != int64(i) || len(s.values) != 3 || s.pane.Timing != exec.OnTime {
				t.Fatalf("%s: pane %d is %v", name, i, s)
			}
		}
		if got := r.play(watermark(exec.MaxTime)); len(got) != 0 {
			t.Errorf("%s: %d more panes", name, len(got))
		}
	}
}

// TestAlignedAllocatesNothing holds the path of an element to no allocation.
func TestAlignedAllocatesNothing(t *testing.T) {
	for _, tr := range []*strategy.Trigger{defaultTrigger, trigger(strategy.OnWatermark, count(1<<20), count(1)), trigger(strategy.OnWatermark, delay(5))} {
		s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 1000}, Trigger: tr}
		f := NewAligned(panestest.NewEnv(), "agg", Config[int64, int64, int64]{Strategy: s, Assign: true, Fold: sum{}, Key: panestest.Int64Keys()})
		c := exec.NewCtx(context.Background())
		bundle := func() {
			for i := range int64(1000) {
				c.Time = exec.Time(i)
				f.Element(c, i%100, 1)
			}
			f.Turn(c)
			f.Advance(c, 0)
		}
		bundle()
		if n := testing.AllocsPerRun(10, bundle); n != 0 {
			t.Errorf("%v: %v allocations in a bundle of 1000 elements", tr, n)
		}
	}
}

// TestNewPanics refuses strategies that construction must not let through.
func TestNewPanics(t *testing.T) {
	fixed := strategy.FixedWindows{Size: 1}
	for _, s := range []*strategy.Strategy{
		{Fn: fixed, Trigger: count(0)},
		{Fn: fixed, Trigger: defaultTrigger, Mode: strategy.Retracting},
		{Fn: strategy.SessionWindows{Gap: 1}, Trigger: defaultTrigger},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: the aligned form was made", s)
				}
			}()
			alignedForm(panestest.NewEnv(), testConfig{Strategy: s, Key: panestest.Int64Keys()})
		}()
	}
}

func TestSnapshotNeedsCoder(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: defaultTrigger}
	for name, mk := range forms(s) {
		env := panestest.NewEnv()
		f := mk(env, testConfig{Strategy: s, Assign: true, Fold: panestest.Collect[int64]{}, Key: panestest.Int64Keys()})
		c := exec.NewCtx(context.Background())
		f.Element(c, 1, 1)
		f.Turn(c)
		if err := env.CopyTo(env); err == nil {
			t.Errorf("%s: a snapshot without a coder of the accumulator succeeds", name)
		}
	}
}

// FuzzDecode feeds stored state that is damaged to both coders.
func FuzzDecode(f *testing.F) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Lateness: 10, Mode: strategy.Accumulating,
		Trigger: trigger(strategy.OnWatermark, delay(3), delay(5))}
	lists := panestest.Lists[int64]{Elem: panestest.Int64s{}}
	cfg := testConfig{Strategy: s, Assign: true, Fold: panestest.Collect[int64]{}, Key: panestest.Int64Keys(), Acc: lists}
	g := keyCoder[[]int64]{newMachine(s.Trigger, false), lists, false}
	for _, x := range []winFlags{isOpen, isOpen | isTimed | isFilled | isHeld | isKept | hasAcc, 0} {
		ks := keyState[[]int64]{out: 5, seen: 7, wins: []win[[]int64]{{w: exec.Window{Start: 1, End: 10}, hold: 3,
			trig: make([]int64, g.m.size), panes: 3, late: 1, flags: x, acc: []int64{1, 2}}}}
		b, err := g.Append(nil, ks)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		back, rest, err := g.Decode(b)
		if err != nil || len(rest) > 0 || fmt.Sprint(back.wins[0].w) != fmt.Sprint(ks.wins[0].w) {
			f.Fatalf("%v comes back as %v: %v", ks, back, err)
		}
	}
	f.Add([]byte{storedAcc, 9, 2, 1, 4})
	f.Fuzz(func(t *testing.T, src []byte) {
		if ks, rest, err := g.Decode(src); err == nil {
			used := src[:len(src)-len(rest)]
			b, err := g.Append(nil, ks)
			if err != nil {
				t.Fatalf("%x decodes but does not encode: %v", used, err)
			}
			if again, _, err := g.Decode(b); err != nil || len(again.wins) != len(ks.wins) {
				t.Fatalf("%x does not survive: %v", used, err)
			}
		}
		a := NewAligned(panestest.NewEnv(), "agg", cfg)
		_, _, _ = entryCoder[int64, int64, []int64]{a}.Decode(src) // an error or a value, no panic
		var p progress
		_ = p.Restore(src)
	})
}
