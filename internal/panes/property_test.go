package panes

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

func between(lo, hi int) *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 { return int64(rapid.IntRange(lo, hi).Draw(t, "n")) })
}

var triggerLeaves = rapid.Custom(func(t *rapid.T) *strategy.Trigger {
	switch rapid.IntRange(0, 6).Draw(t, "leaf") {
	case 0:
		return &strategy.Trigger{Kind: strategy.OnDefault}
	case 1:
		return &strategy.Trigger{Kind: strategy.OnAlways}
	case 2:
		return &strategy.Trigger{Kind: strategy.OnNever}
	case 3:
		return &strategy.Trigger{Kind: strategy.OnWatermark}
	case 4:
		return &strategy.Trigger{Kind: strategy.OnSynchronizedTime}
	case 5:
		return &strategy.Trigger{Kind: strategy.OnCount, N: between(1, 4).Draw(t, "count")}
	}
	return drawDelay(t)
})

func drawDelay(t *rapid.T) *strategy.Trigger {
	d := &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: between(0, 15).Draw(t, "delay")}
	if rapid.Bool().Draw(t, "aligned") {
		d.AlignPeriod, d.AlignOffset = between(1, 10).Draw(t, "period"), between(-3, 12).Draw(t, "offset")
	}
	return d
}

func drawTrigger(t *rapid.T, depth int) *strategy.Trigger {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return triggerLeaves.Draw(t, "leaf")
	}
	sub := func() *strategy.Trigger { return drawTrigger(t, depth-1) }
	switch kind {
	case 1:
		return &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{sub()}}
	case 2:
		return &strategy.Trigger{Kind: strategy.OnOrFinally, Subs: []*strategy.Trigger{sub(), sub()}}
	case 3:
		w := &strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, nil}}
		for i := range w.Subs {
			if rapid.Bool().Draw(t, "has") {
				w.Subs[i] = sub()
			}
		}
		return w
	}
	x := &strategy.Trigger{Kind: []strategy.TriggerKind{strategy.OnAny, strategy.OnAll, strategy.OnEach}[kind-4]}
	for range rapid.IntRange(1, 3).Draw(t, "subs") {
		x.Subs = append(x.Subs, sub())
	}
	return x
}

// drawAligned draws a trigger that the aligned form takes.
func drawAligned(t *rapid.T) *strategy.Trigger {
	w := &strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, nil}}
	switch rapid.IntRange(0, 5).Draw(t, "aligned") {
	case 0:
		return &strategy.Trigger{Kind: strategy.OnDefault}
	case 1:
		return &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{{Kind: strategy.OnWatermark}}}
	}
	for i := range w.Subs {
		var s *strategy.Trigger
		switch rapid.IntRange(0, 5).Draw(t, "sub") {
		case 0:
			continue
		case 1:
			s = &strategy.Trigger{Kind: strategy.OnNever}
		case 2:
			s = &strategy.Trigger{Kind: strategy.OnAlways}
		case 3:
			s = &strategy.Trigger{Kind: strategy.OnCount, N: between(1, 4).Draw(t, "count")}
		case 4:
			s = drawDelay(t)
		case 5:
			s = &strategy.Trigger{Kind: strategy.OnSynchronizedTime}
		}
		if rapid.Bool().Draw(t, "repeated") {
			s = &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{s}}
		}
		w.Subs[i] = s
	}
	return w
}

func drawFn(t *rapid.T, merging bool) strategy.WindowFn {
	kinds := 3
	if merging {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds).Draw(t, "fn") {
	case 0:
		return strategy.GlobalWindows{}
	case 1, 2:
		n := between(1, 20).Draw(t, "size")
		return strategy.FixedWindows{Size: n, Offset: between(0, int(n-1)).Draw(t, "offset")}
	case 3:
		p := between(1, 15).Draw(t, "period")
		return strategy.SlidingWindows{Size: between(1, 30).Draw(t, "size"), Period: p, Offset: between(0, int(p-1)).Draw(t, "offset")}
	}
	return strategy.SessionWindows{Gap: between(1, 15).Draw(t, "gap")}
}

func drawStrategy(t *rapid.T, fn strategy.WindowFn, trigger *strategy.Trigger) *strategy.Strategy {
	s := &strategy.Strategy{Fn: fn, Trigger: trigger, Mode: strategy.Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		Combiner:         strategy.TimestampCombiner(rapid.IntRange(0, 2).Draw(t, "combiner")),
		ClosingAlways:    rapid.Bool().Draw(t, "closing"),
		OnTimeIfNonEmpty: rapid.Bool().Draw(t, "onTime"),
	}
	if rapid.Bool().Draw(t, "late") {
		s.Lateness = between(1, 40).Draw(t, "lateness")
	}
	return s
}

func drawScript(t *rapid.T, keys int) []event {
	var script []event
	wm, clock, v := 0, 0, int64(0)
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0, 1:
			var in []elem
			for range rapid.IntRange(1, 6).Draw(t, "n") {
				v++
				in = append(in, elem{between(1, keys).Draw(t, "key"), exec.Time(wm + rapid.IntRange(-40, 30).Draw(t, "time")), v})
			}
			script = append(script, input(in...))
		case 2:
			wm += rapid.IntRange(0, 25).Draw(t, "wm")
			script = append(script, watermark(exec.Time(wm)))
		case 3:
			clock += rapid.IntRange(1, 12).Draw(t, "clock")
			script = append(script, processing(exec.Time(clock)))
		}
	}
	return append(script, watermark(exec.MaxTime))
}

// quiet is a testing.TB for rigs inside of a rapid check.
type quiet struct {
	testing.TB
	t *rapid.T
}

func (q quiet) Fatalf(f string, args ...any) { q.t.Fatalf(f, args...) }
func (q quiet) Errorf(f string, args ...any) { q.t.Errorf(f, args...) }

// TestAlignedEqualsGeneral holds the aligned form to the general one, pane for
// pane, with timing, index, timestamp, drops and output watermark.
func TestAlignedEqualsGeneral(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, false), drawAligned(rt))
		s.Combiner = strategy.EndOfWindow
		if !CanAlign(s) {
			rt.Fatalf("CanAlign refuses %v", s)
		}
		q := quiet{t, rt}
		opt := options{restart: rapid.Bool().Draw(rt, "restart"), full: rapid.Bool().Draw(rt, "full"), exploded: rapid.Bool().Draw(rt, "exploded")}
		compare(q, drawScript(rt, 12), newRig(q, s, alignedForm, opt), newRig(q, s, generalForm, options{exploded: opt.exploded}), "aligned", "general")
	})
}

// TestGeneralRestarts holds a form that is stored and read back at every
// chance, and stopped after every firing, to one that is not.
func TestGeneralRestarts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, true), drawTrigger(rt, 3))
		q := quiet{t, rt}
		opt := options{restart: rapid.Bool().Draw(rt, "restart"), full: true}
		compare(q, drawScript(rt, 5), newRig(q, s, generalForm, opt), newRig(q, s, generalForm, options{}), "restarted", "straight")
	})
}

// TestPartialsEqualElements combines the elements of each bundle before they
// come, where that is allowed: windows do not merge and the trigger never
// finishes. With the earliest timestamp a bundle that is late in part is
// stamped differently; see TestPartialLateInPart.
func TestPartialsEqualElements(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, false), drawTrigger(rt, 2))
		if s.Trigger.MayFinish() {
			s.Trigger = &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{s.Trigger}}
		}
		if s.Combiner == strategy.Earliest {
			s.Combiner = strategy.Latest
		}
		mk := generalForm
		if CanAlign(s) && rapid.Bool().Draw(rt, "align") {
			mk = alignedForm
		}
		q := quiet{t, rt}
		compare(q, drawScript(rt, 5), newRig(q, s, mk, options{exploded: true, partials: true}),
			newRig(q, s, mk, options{exploded: true}), "partials", "elements")
	})
}

// TestNothingIsLost checks, where the trigger cannot finish, that discarding
// panes and drops hold each element exactly once for each of its windows, that
// indices count up and that timings come in order.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, true), &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{drawTrigger(rt, 2)}})
		s.Mode = strategy.Discarding
		script := drawScript(rt, 4)
		r := newRig(quiet{t, rt}, s, generalForm, options{})
		due := map[int64]int{}
		for _, e := range script {
			for _, x := range e.in {
				due[x.v] += len(s.Fn.Assign(nil, x.time))
			}
			for _, got := range r.play(e) {
				for _, v := range got.values {
					due[v]--
				}
			}
		}
		for v, n := range due {
			if n != 0 {
				rt.Fatalf("%v\n%v\nvalue %d: %d of its windows are missing", s, script, v, n)
			}
		}
	})
}

// TestWorkersAgree shares the keys out to two forms that hear of all events:
// together they do what one does.
func TestWorkersAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, true), drawTrigger(rt, 3))
		q := quiet{t, rt}
		script := drawScript(rt, 6)
		one := newRig(q, s, generalForm, options{})
		two := [2]*rig{newRig(q, s, generalForm, options{}), newRig(q, s, generalForm, options{})}
		for i, e := range script {
			want := lines(one.play(e))
			var got []seen
			for w, r := range two {
				share := e
				share.in = nil
				for _, x := range e.in {
					if x.key > 3 == (w == 1) {
						share.in = append(share.in, x)
					}
				}
				got = append(got, r.play(share)...)
			}
			if lines(got) != want {
				rt.Fatalf("%v\nstep %d of %v\ntwo workers:\n%sone:\n%s", s, i, script[:i+1], lines(got), want)
			}
			if out := min(two[0].out, two[1].out); out != one.out {
				rt.Fatalf("%v\nstep %d of %v\noutput watermark of two workers %d, of one %d", s, i, script[:i+1], out, one.out)
			}
		}
	})
}
