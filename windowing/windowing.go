package windowing

import (
	"fmt"
	"math"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/triggers"
)

// Into puts the elements of in into the windows of fn, and sets how panes fire
// by its options: those of this package, and pcoll.Named. Times and panes of
// elements stay as they are. fn looks at the time of elements (a [Fn]) or at
// the elements too (a [FnOf] of their type).
func Into[T any, F Fn | FnOf[T]](in pcoll.PCollection[T], fn F, opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "Window", opts...)
	like := pcoll.From(b, in)
	op := exec.Op(intoOp[T]{})
	plain, _ := any(fn).(Fn)
	of, byElement := any(fn).(FnOf[T])
	if byElement {
		plain, op = Fn{fn: of.fn, bad: of.bad}, intoOfOp[T]{of.by}
	}
	s, pending := change(b, like, plain)
	out := pcoll.To[T](b, &graph.Collection{Strategy: s, Pending: pending && !byElement, Bounded: like.Bounded, Retracts: like.Retracts})
	b.Node().Structure = graph.WindowInto
	b.Node().Strategy = s
	b.Add(op)
	return out
}

// intoOp passes elements on: their windows are assigned where they are looked at.
type intoOp[T any] struct{}

func (intoOp[T]) New(_ exec.Env, outs []any) (exec.Instance, error) {
	return exec.Instance{In: []any{outs[0].(exec.Input[T])}}, nil
}

// change returns the strategy that fn and b's options make of that of like, and
// whether windows are to be assigned.
func change(b *pcoll.Builder, like *graph.Collection, fn Fn) (*strategy.Strategy, bool) {
	s, pending := *like.Strategy, like.Pending
	if err := fn.check(); err != nil {
		b.Errorf("%w", err)
	} else if !fn.same {
		global := strategy.WindowFn(strategy.GlobalWindows{})
		pending = pending || s.Fn != global || fn.fn != global
		checkRewindow(b, like, fn)
		s.Fn, s.Merged = fn.fn, false
	}
	said := map[string]string{}
	for _, o := range pcoll.Taken[option](b) {
		if other, twice := said[o.what]; twice {
			b.Errorf("%s is given after %s; say one of them, once", o.name, other)
		}
		said[o.what] = o.name
		if err := o.apply(&s); err != nil {
			b.Errorf("%w", err)
		}
	}
	if said["trigger"] != "" && said["safety"] == "" && !s.Trigger.Equal(like.Strategy.Trigger) {
		s.UnsafeAllowed = false // what was accepted was another trigger
	}
	if !b.Bad() {
		complete(b, &s)
	}
	return &s, pending
}

// checkRewindow reports windows that elements with withdrawals cannot be put into.
func checkRewindow(b *pcoll.Builder, like *graph.Collection, fn Fn) {
	switch {
	case !like.Retracts:
	case fn.fn.Merging():
		b.Errorf("%v would merge windows of elements that may be withdrawn, and a withdrawal would have to part them again; "+
			"put elements into sessions before the first retracting grouping, or use windows that do not merge", fn.fn)
	case like.Strategy.Combiner != strategy.EndOfWindow:
		b.Errorf("results stamped %v change their time from pane to pane, so that in %v one could be too late to be withdrawn; "+
			"use StampedEndOfWindow in front of the grouping before, or keep the windows with Same()", like.Strategy.Combiner, fn.fn)
	}
}

// complete reports what the user has to say and did not (Beam's Window.applicableTo).
func complete(b *pcoll.Builder, s *strategy.Strategy) {
	custom := s.TriggerSet && s.Trigger.Kind != strategy.OnDefault
	global := s.Fn == strategy.WindowFn(strategy.GlobalWindows{})
	if custom && !global && !s.LatenessSet {
		b.Errorf("trigger %v needs an explicit lateness; add AllowedLateness(d), where 0 drops what comes after the end of a window", s.Trigger)
	}
	if s.ModeSet || s.OnePane() {
		return
	}
	why := fmt.Sprintf("trigger %v", s.Trigger)
	if !custom {
		why = fmt.Sprintf("an allowed lateness of %v", strategy.Millis(s.Lateness))
	}
	b.Errorf("with %s a window can have more than one pane; "+
		"add Accumulating(), for panes that hold everything so far, Discarding(), for panes that hold what is new, "+
		"or Retracting(), for panes that also take back the one before", why)
}

// An option is a change of a strategy. Two of one sort contradict each other.
type option struct {
	name, what string
	apply      func(*strategy.Strategy) error
}

func set(name, what string, apply func(*strategy.Strategy)) pcoll.Option {
	return try(name, what, func(s *strategy.Strategy) error { apply(s); return nil })
}

func try(name, what string, apply func(*strategy.Strategy) error) pcoll.Option {
	return pcoll.Extra(name, option{name, what, apply})
}

// Trigger sets when panes fire. Without it a window fires when the watermark
// passes its end, and again for late elements while lateness is allowed. Except
// in the global window it takes an explicit [AllowedLateness].
func Trigger(t triggers.Trigger) pcoll.Option {
	return try("Trigger", "trigger", func(s *strategy.Strategy) error {
		n, err := triggers.Compile(t)
		if err != nil {
			return err
		}
		s.Trigger, s.TriggerSet = n, true
		return nil
	})
}

// AllowUnsafeTrigger accepts a trigger that may finish, after which its window
// drops what still comes.
func AllowUnsafeTrigger() pcoll.Option {
	return set("AllowUnsafeTrigger", "safety", func(s *strategy.Strategy) { s.UnsafeAllowed = true })
}

// AllowedLateness keeps a window open until the watermark is past its end by d,
// in whole milliseconds and not negative; math.MaxInt64 means for ever. It is how long
// corrections are accepted after the first answer, at the cost of keeping the window's state.
func AllowedLateness(d time.Duration) pcoll.Option {
	return try("AllowedLateness", "lateness", func(s *strategy.Strategy) error {
		switch {
		case d == math.MaxInt64:
			s.Lateness, s.LatenessSet = strategy.Forever, true
			return nil
		case d < 0:
			return fmt.Errorf("allowed lateness %v is negative; want 0 or more", d)
		case d%time.Millisecond != 0:
			return fmt.Errorf("allowed lateness %v cannot be: time is kept in whole milliseconds", d)
		}
		s.Lateness, s.LatenessSet = max(s.Lateness, d.Milliseconds()), true
		return nil
	})
}

// Accumulating makes each pane hold everything that came so far in its window.
func Accumulating() pcoll.Option { return mode("Accumulating", strategy.Accumulating) }

// Retracting makes each pane hold everything that came so far in its window, and
// take back what the window said before, so that what follows never counts it twice:
// the first pane of a key and window is an insert; each later one is an
// update-before, which is the earlier pane once more, and an update-after, the new
// one; a window that merges into another, or whose elements were all taken back
// themselves, ends with a delete. Added up, inserts less withdrawals are the answer of a batch run.
//
// Transforms that follow take withdrawals as they come: those that work element
// by element apply their function to them and pass them on; the function must be
// deterministic, or the result cannot be found again that is to be taken back.
// Groupings must be Retracting too, and take the element out. Sinks see the
// kind of change (pcoll.Context.Kind); one that can only append is refused.
//
// It costs, for each key and window, the encoded result of the last pane, until the window expires.
func Retracting() pcoll.Option { return mode("Retracting", strategy.Retracting) }

// Discarding makes each pane hold only what is new since the last.
func Discarding() pcoll.Option { return mode("Discarding", strategy.Discarding) }

func mode(name string, m strategy.Mode) pcoll.Option {
	return set(name, "mode", func(s *strategy.Strategy) { s.Mode, s.ModeSet = m, true })
}

// StampedEndOfWindow gives results the last millisecond of their window as
// event time. It is the default.
func StampedEndOfWindow() pcoll.Option { return stamped("StampedEndOfWindow", strategy.EndOfWindow) }

// StampedEarliest gives a pane the least event time of its new elements, late
// ones aside. It holds back the watermark of what follows until the pane fires.
func StampedEarliest() pcoll.Option { return stamped("StampedEarliest", strategy.Earliest) }

// StampedLatest gives a pane the greatest event time of its new elements, late ones aside.
func StampedLatest() pcoll.Option { return stamped("StampedLatest", strategy.Latest) }

func stamped(name string, c strategy.TimestampCombiner) pcoll.Option {
	return set(name, "stamp", func(s *strategy.Strategy) { s.Combiner = c })
}

// ClosingAlways fires a last pane when a window expires even if nothing is new,
// so that every window that had elements says when it is done.
func ClosingAlways() pcoll.Option {
	return set("ClosingAlways", "closing", func(s *strategy.Strategy) { s.ClosingAlways = true })
}

// ClosingIfNonEmpty fires a last pane only for what no pane has held yet. It is the default.
func ClosingIfNonEmpty() pcoll.Option {
	return set("ClosingIfNonEmpty", "closing", func(s *strategy.Strategy) { s.ClosingAlways = false })
}

// OnTimeAlways fires an on-time pane even if nothing is new since the last early one. It is the default.
func OnTimeAlways() pcoll.Option {
	return set("OnTimeAlways", "on time", func(s *strategy.Strategy) { s.OnTimeIfNonEmpty = false })
}

// OnTimeIfNonEmpty fires an on-time pane only if something is new.
func OnTimeIfNonEmpty() pcoll.Option {
	return set("OnTimeIfNonEmpty", "on time", func(s *strategy.Strategy) { s.OnTimeIfNonEmpty = true })
}
