package modeltest

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// This file draws steps with a second input, with state, and of the library.

// others returns the kinds that may stand between groupings only where elements
// are no withdrawals, or come in one order.
func (d *drawer) others() (kinds []StepKind) {
	kinds = append(kinds, Distinct, Latest)
	if d.retracts {
		return kinds
	}
	kinds = append(kinds, List, Multimap, Singleton)
	if d.ordered {
		kinds = append(kinds, Dedup, Batches)
	}
	return kinds
}

// join draws a co-grouping or a join.
func (d *drawer) join() Step {
	st := Step{Kind: CoGroup + StepKind(d.n(0, int(FullJoin-CoGroup), "join")), NoLate: d.retracts}
	if d.pinned() {
		return st // a branch is windowed like what it leaves
	}
	st.Strategy = d.strategy()
	s := st.Strategy
	if x, ok := s.Fn.(strategy.SlidingWindows); ok { // a pair is in each window
		x.Period = max(x.Period, (x.Size+2)/3)
		s.Fn = x
	}
	if st.Kind >= InnerJoin && s.Mode == strategy.Discarding {
		if s.Mode = strategy.Accumulating; d.yes("one pane") {
			s.Mode, s.Trigger = strategy.Discarding, of(strategy.OnNever)
		}
	}
	if !st.NoLate && d.n(0, 3, "regroup") == 3 {
		st.Late = d.lateStrategy()
	}
	return st
}

// interval draws an interval join.
func (d *drawer) interval() Step {
	st := Step{Kind: InnerInterval + StepKind(d.n(0, int(FullInterval-InnerInterval), "interval")), Strategy: d.strategy(), NoLate: d.retracts}
	st.Lower = int64(d.n(-15, 10, "lower"))
	st.Upper = st.Lower + int64(d.n(0, 15, "width"))
	if !d.s.Bounded && d.yes("patient") {
		st.By = int64(d.n(1, 30, "lateness"))
	}
	return st
}

// keep draws a function with state.
func (d *drawer) keep() Step {
	st := Step{Kind: Keep, State: &State{Sorted: d.n(0, 3, "sorted") == 3, Each: d.yes("each"), Event: When(d.n(0, int(whens)-1, "event")),
		Delay: int64(d.n(0, 15, "delay")), Output: Output(d.n(0, int(outputs)-1, "output")), Again: d.n(0, 3, "again"),
		Drain: Drain(d.n(0, int(drains)-1, "drain")), Expiry: d.yes("expiry")}}
	if d.merging || d.yes("into") {
		st.Strategy = d.fixed()
	}
	how := st.State
	how.Ordered = d.ordered && d.yes("ordered")
	if d.s.Bounded {
		how.Again = 0 // which may be late
		if how.Output == NoHold {
			how.Output = OfElem
		}
		if how.Event == FromNow {
			how.Event = AtEnd
		}
		if d.stepped { // what comes before a timer fires is not promised where the watermark comes in steps
			how.Event = Never
		}
	} else { // for whose end the clock does not wait
		if d.yes("clocks") {
			how.Clock = When(d.n(0, int(whens)-1, "clock"))
		}
		how.Cross = d.n(0, 3, "cross") == 3
		how.Clocked = d.yes("clocked")
	}
	if how.Sorted && !d.ordered { // of equal times any comes first, and timers come between them
		how.Event, how.Cross = Never, false
	}
	if d.n(0, 3, "mortal") == 3 && (!d.s.Bounded || !how.Clocked) {
		how.TTL = int64(d.n(1, 30, "ttl"))
	}
	if d.n(0, 3, "regroup") == 3 {
		st.Late = d.lateStrategy()
	}
	return st
}

// views draws the windows of a step with a side input and of that.
func (d *drawer) views(st *Step) {
	st.Strategy, st.Other = d.fixed(), d.fixed()
	if _, global := st.Strategy.Fn.(strategy.GlobalWindows); global {
		st.Other.Fn = strategy.GlobalWindows{}
	}
	if st.Other.Mode == strategy.Retracting {
		st.Other.Mode = strategy.Accumulating
	}
	if st.Kind == Singleton { // one pane has one element
		st.Other.Trigger, st.Other.ClosingAlways = of(strategy.OnNever), false
	}
}

// stairs are windows of one's own: of two lengths in turn, and each element is
// also in one that begins with it.
type stairs struct{ Step exec.Time }

// String prints the step.
func (s stairs) String() string { return fmt.Sprintf("stairs(%d ms)", s.Step) }

// Assign appends both windows of an element.
func (s stairs) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	start := t - (t%(3*s.Step)+3*s.Step)%(3*s.Step)
	w := pcoll.Window{Start: start, End: start + s.Step}
	if t >= w.End {
		w = pcoll.Window{Start: w.End, End: start + 3*s.Step}
	}
	if t%2 == 0 {
		dst = append(dst, pcoll.Window{Start: t, End: t + s.Step + 40})
	}
	return append(dst, w)
}
