package panes

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// TestQueuesStayApart has a pane before and one after the end of a window wait
// for processing time under the same id.
func TestQueuesStayApart(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Lateness: 50, Trigger: trigger(strategy.OnWatermark, delay(10), delay(100))}
	w := exec.Window{Start: 0, End: 10}
	for name, mk := range forms(s) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s, mk, options{})
			r.expect(ones(1))
			r.expect(watermark(10), pane{w, exec.OnTime, false, []int64{1}})
			r.expect(ones(2))
			r.expect(processing(11))
			r.expect(processing(101), pane{w, exec.Late, false, []int64{2}})
		})
	}
}

// TestClockDoesNotMoveTheKey releases a hold because of processing time: the
// key's output watermark stays until it has input, even input that is dropped,
// or the watermark moves. An element is stamped with its time where it is not
// behind that watermark, else with the end of the window.
func TestClockDoesNotMoveTheKey(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 100}, Combiner: strategy.Earliest, Trigger: trigger(strategy.OnRepeatedly, delay(10))}
	for _, c := range []struct {
		name  string
		event event
		want  exec.Time
	}{
		{"nothing", processing(12), 10},
		{"dropped input", ones(-50), 99},
		{"input of another key", input(elem{2, 50, 1}), 10},
		{"watermark", watermark(21), 99},
	} {
		r := newRig(t, s, generalForm, options{restart: true})
		r.expect(ones(5))
		r.expect(watermark(20))
		if got := r.play(processing(11)); len(got) != 1 || got[0].time != 5 {
			t.Fatalf("early pane: %v", got)
		}
		if r.out != 20 {
			t.Errorf("the operator's watermark is %d after the hold is gone, want 20", r.out)
		}
		r.play(c.event)
		r.play(ones(10))
		if got := r.play(processing(30)); len(got) == 0 || got[0].time != c.want {
			t.Errorf("%s: %v, want time %d", c.name, got, c.want)
		}
	}
}

// TestMarkersKeepOrder widens a session past the marker of one that is closed.
func TestMarkersKeepOrder(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 10}, Trigger: count(2), Mode: strategy.Discarding}
	r := newRig(t, s, generalForm, options{})
	r.expect(ones(3, 4), pane{exec.Window{Start: 3, End: 14}, exec.Early, true, []int64{3, 4}})
	r.expect(ones(4)) // its window [4,14) is another one than that which closed
	r.expect(ones(50))
	r.expect(ones(2), pane{exec.Window{Start: 2, End: 14}, exec.Early, true, []int64{2, 4}})
	r.expect(ones(50), pane{exec.Window{Start: 50, End: 60}, exec.Early, true, []int64{50, 50}})
	for _, e := range []event{ones(50), ones(2, 4)} { // exactly the windows that closed
		if got := r.play(e); len(got) != len(e.in) || got[0].drop != "closed" {
			t.Errorf("%v: %v", e, got)
		}
	}
}

// TestMergeTakesTheEarlierTarget merges two sessions that wait for processing time.
func TestMergeTakesTheEarlierTarget(t *testing.T) {
	for _, order := range [][2]exec.Time{{1, 15}, {15, 1}} {
		s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 10}, Trigger: trigger(strategy.OnRepeatedly, delay(10))}
		r := newRig(t, s, generalForm, options{})
		r.expect(ones(order[0]))
		r.expect(processing(4))
		r.expect(ones(order[1]))
		r.expect(processing(8))
		r.expect(ones(8))
		r.expect(processing(10))
		r.expect(processing(11), pane{exec.Window{Start: 1, End: 25}, exec.Early, false, []int64{1, 8, 15}})
	}
}

// TestLateMergeDoesNotHold merges sessions that have ended: what waits in them
// holds the watermark at their expiry, not at their end.
func TestLateMergeDoesNotHold(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 10}, Lateness: 100, Trigger: trigger(strategy.OnWatermark, nil, count(5))}
	r := newRig(t, s, generalForm, options{restart: true})
	r.expect(watermark(50))
	r.expect(ones(1), pane{exec.Window{Start: 1, End: 11}, exec.Late, false, []int64{1}})
	r.expect(ones(5))
	r.expect(watermark(60))
	if r.out != 60 {
		t.Errorf("the output watermark is %d, want 60", r.out)
	}
	r.expect(watermark(115), pane{exec.Window{Start: 1, End: 15}, exec.Late, true, []int64{5}})
}

// TestHoldOfCountTrigger holds the watermark at the end of the window for
// elements that only a count or the expiry releases.
func TestHoldOfCountTrigger(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Lateness: 20, Trigger: trigger(strategy.OnRepeatedly, count(3))}
	r := newRig(t, s, generalForm, options{restart: true})
	r.expect(ones(1))
	r.expect(watermark(25))
	if r.out != 9 {
		t.Errorf("the output watermark is %d, want 9", r.out)
	}
	r.expect(watermark(30), pane{exec.Window{Start: 0, End: 10}, exec.OnTime, true, []int64{1}})
	if r.out != 30 {
		t.Errorf("the output watermark is %d, want 30", r.out)
	}
}

// TestTriggerMachine checks rules of single nodes that hardly show in panes.
func TestTriggerMachine(t *testing.T) {
	m := newMachine(trigger(strategy.OnAny, count(3), count(5)), false)
	s := sight{st: make([]int64, m.size)}
	m.onElement(&s, 0, 3)
	if !m.ready(&s, 0) {
		t.Fatal("AfterAny is not ready though a sub is")
	}
	m.fire(&s, 0)
	if !m.finished(s.st, 0) || s.st[m.nodes[1].val]|s.st[m.nodes[2].val] != 0 {
		t.Errorf("AfterAny has fired: %v, want it finished and all counts gone", s.st)
	}

	m = newMachine(trigger(strategy.OnOrFinally, trigger(strategy.OnRepeatedly, count(2)), count(5)), false)
	s = sight{st: make([]int64, m.size)}
	for i, want := range []bool{false, true, false, true, true} {
		m.onElement(&s, 0, 1)
		if m.ready(&s, 0) != want {
			t.Fatalf("OrFinally after %d elements: ready is %t", i+1, !want)
		}
		if want {
			m.fire(&s, 0)
		}
	}
	if !m.finished(s.st, 0) {
		t.Error("OrFinally has not finished with until")
	}

	// Finished bits inside an early trigger survive its firings.
	m = newMachine(trigger(strategy.OnWatermark, trigger(strategy.OnAny, count(3), count(9))), false)
	s = sight{st: make([]int64, m.size), max: 100}
	m.onElement(&s, 0, 3)
	m.fire(&s, 0)
	m.onElement(&s, 0, 1)
	if !m.ready(&s, 0) {
		t.Error("an early AfterAny whose sub has finished must fire with each bundle")
	}
}

// TestTriggerMachineAtItsEdges has more nodes than a word has bits, and merges
// windows of which none has state.
func TestTriggerMachineAtItsEdges(t *testing.T) {
	wide := trigger(strategy.OnAll)
	for range 100 {
		wide.Subs = append(wide.Subs, count(1))
	}
	m := newMachine(trigger(strategy.OnRepeatedly, wide), false)
	s := sight{st: make([]int64, m.size)}
	for range 3 {
		if m.ready(&s, 0) {
			t.Fatal("AfterAll of 100 is ready without elements")
		}
		m.onElement(&s, 0, 1)
		if !m.ready(&s, 0) {
			t.Fatal("AfterAll of 100 is not ready")
		}
		m.fire(&s, 0)
	}

	// A merge of windows of which none has state counts as finished in all.
	m = newMachine(trigger(strategy.OnWatermark), true)
	s = sight{st: make([]int64, m.size), max: 10, wm: 20}
	if m.merge(&s, 0, nil); !m.finished(s.st, 0) {
		t.Error("AfterWatermark of new windows that have ended is not finished")
	}
	s.wm = 5
	if m.merge(&s, 0, nil); m.finished(s.st, 0) {
		t.Error("AfterWatermark of new windows that have not ended is finished")
	}
}

// TestFreedHoldStaysFree places late input behind a hold that processing time
// freed while another key held the operator back: it does not hold it again.
func TestFreedHoldStaysFree(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.GlobalWindows{}, Combiner: strategy.Earliest, Trigger: trigger(strategy.OnRepeatedly, delay(7))}
	r := newRig(t, s, generalForm, options{restart: true})
	for _, x := range []struct {
		event event
		panes int
		out   exec.Time
	}{
		{input(elem{1, 0, 1}), 0, exec.MinTime},
		{processing(3), 0, exec.MinTime},
		{input(elem{2, 0, 2}), 0, exec.MinTime},
		{watermark(1), 0, 0},
		{processing(8), 1, 0},                      // key 1 is free, key 2 holds on
		{input(elem{1, 0, 3}), 0, 0},               // stamped 0 still, but nothing is promised to it
		{processing(11), 1, 1},                     // key 2 is free
		{processing(16), 1, 1},                     // the late pane of key 1
		{watermark(exec.MaxTime), 2, exec.MaxTime}, // empty panes on time
	} {
		if got := r.play(x.event); len(got) != x.panes || r.out != x.out {
			t.Errorf("%v: %d panes and output watermark %d, want %d and %d", x.event, len(got), r.out, x.panes, x.out)
		}
	}
}

// TestMergeIntoClosedWindow has a session grow to exactly one that is closed:
// what comes for it is dropped as closed. As in Beam Java, what was in the
// session goes with it: triggers that may finish lose data.
func TestMergeIntoClosedWindow(t *testing.T) {
	s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 10}, Trigger: count(2), Mode: strategy.Discarding}
	r := newRig(t, s, generalForm, options{restart: true})
	r.expect(ones(1, 5), pane{exec.Window{Start: 1, End: 15}, exec.Early, true, []int64{1, 5}})
	r.expect(ones(5))
	for range 2 {
		if got := r.play(ones(1)); len(got) != 1 || got[0].drop != "closed" || got[0].w != (exec.Window{Start: 1, End: 15}) {
			t.Errorf("got %v, want it dropped from [1,15)", got)
		}
		r.expect(ones(5)) // a session of its own again
	}
	r.expect(watermark(exec.MaxTime), pane{exec.Window{Start: 5, End: 15}, exec.OnTime, true, []int64{5}})
}

// TestStampBehindTheWindow gives sessions elements that a transform has moved
// behind the end of their window. How they are cut into bundles does not matter:
// a pane is stamped with the least time, or with the end of the merged window.
func TestStampBehindTheWindow(t *testing.T) {
	for combiner, want := range map[strategy.TimestampCombiner]exec.Time{strategy.Earliest: 7, strategy.Latest: 9, strategy.EndOfWindow: 9} {
		s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 6}, Combiner: combiner, Trigger: trigger(strategy.OnDefault)}
		for _, bundles := range []int{1, 2} {
			r := newRig(t, s, generalForm, options{exploded: true})
			for i, e := range []struct {
				time exec.Time
				w    exec.Window
			}{{7, exec.Window{Start: 0, End: 6}}, {12, exec.Window{Start: 4, End: 10}}} {
				r.ctx.Time, r.ctx.Window = e.time, e.w
				r.f.Element(r.ctx, 1, int64(i))
				if bundles == 2 || i == 1 {
					r.f.Turn(r.ctx)
					r.advance()
				}
			}
			*r.ctx = *exec.NewCtx(r.ctx.Context)
			r.play(watermark(9))
			if r.out != want {
				t.Errorf("%v in %d bundles: the watermark is held at %d, want %d", combiner, bundles, r.out, want)
			}
			if got := r.play(watermark(10)); len(got) != 1 || got[0].time != want || len(got[0].values) != 2 {
				t.Errorf("%v in %d bundles: %v, want both at %d", combiner, bundles, got, want)
			}
		}
	}
}
