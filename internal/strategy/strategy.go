// Package strategy is the windowing strategy of a collection: how elements are
// assigned to windows, when panes fire and what they hold. It is plain data,
// printable and comparable, made by packages windowing and triggers and obeyed
// by internal/panes.
package strategy

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

// Mode says what a pane after the first holds.
type Mode uint8

// The accumulation modes.
const (
	Discarding   Mode = iota // what is new since the last pane
	Accumulating             // everything so far
	Retracting               // everything so far, preceded by a withdrawal of the last pane
)

// String returns the mode's name.
func (m Mode) String() string { return [...]string{"discarding", "accumulating", "retracting"}[m] }

// TimestampCombiner says which timestamp a pane carries; see semantics of
// watermark holds in internal/panes.
type TimestampCombiner uint8

// The timestamp combiners.
const (
	EndOfWindow TimestampCombiner = iota
	Earliest
	Latest
)

// String returns Beam's name of the combiner.
func (c TimestampCombiner) String() string {
	return [...]string{"END_OF_WINDOW", "EARLIEST", "LATEST"}[c]
}

// A Strategy says how grouped elements are windowed and when panes fire.
type Strategy struct {
	Fn WindowFn
	// Merged says that the windows were merged by an earlier grouping: group by
	// exact window and merge no more.
	Merged bool

	Trigger  *Trigger
	Lateness int64 // allowed lateness in ms, at least 0
	Mode     Mode
	Combiner TimestampCombiner

	// ClosingAlways makes the last pane fire even when it is empty.
	ClosingAlways bool
	// OnTimeIfNonEmpty suppresses an empty on-time pane, which otherwise fires.
	OnTimeIfNonEmpty bool

	// What the user said explicitly, for the checks at construction.
	TriggerSet, LatenessSet, ModeSet bool
	// UnsafeAllowed accepts a trigger that may finish and so drop data.
	UnsafeAllowed bool
}

// Default is the strategy of a collection that no Into has touched: the global
// window, one pane at its end, no lateness, discarding.
func Default() *Strategy { return &Strategy{Fn: GlobalWindows{}, Trigger: &Trigger{Kind: OnDefault}} }

// Merging reports whether windows of one key may still merge.
func (s *Strategy) Merging() bool { return s.Fn.Merging() && !s.Merged }

// OnePane reports whether no window can have two panes: it fires once, when it
// ends or expires, and nothing can come after that.
func (s *Strategy) OnePane() bool {
	switch s.Trigger.Kind {
	case OnDefault:
		return s.Lateness == 0 || s.Fn == WindowFn(GlobalWindows{})
	case OnNever:
		return true
	case OnWatermark:
		return s.Trigger.Early() == nil && s.Trigger.Late() == nil
	}
	return false
}

// Expiry returns the last watermark at which w accepts elements: its maximum
// timestamp plus the allowed lateness, at most the end of the global window.
// An element is droppable iff Expiry is strictly before the input watermark.
func (s *Strategy) Expiry(w exec.Window) exec.Time {
	if m := w.Max(); exec.EndOfGlobal-exec.Time(s.Lateness) < m {
		return exec.EndOfGlobal
	} else {
		return m + exec.Time(s.Lateness)
	}
}

// Continued returns the strategy of the output of a grouping: same windows,
// already merged, the continuation of the trigger.
func (s *Strategy) Continued() *Strategy {
	c := *s
	c.Merged = s.Fn.Merging()
	c.Trigger = s.Trigger.Continuation()
	// The continuation is the grouping's, not the user's: it needs no second opt-in.
	c.UnsafeAllowed = true
	return &c
}

// Equal reports whether both say the same about windows and panes.
func (s *Strategy) Equal(o *Strategy) bool {
	return s.Fn.Compatible(o.Fn) && s.Fn.String() == o.Fn.String() && s.Merged == o.Merged && s.Trigger.Equal(o.Trigger) &&
		s.Lateness == o.Lateness && s.Mode == o.Mode && s.Combiner == o.Combiner &&
		s.ClosingAlways == o.ClosingAlways && s.OnTimeIfNonEmpty == o.OnTimeIfNonEmpty
}

// String prints the strategy on one line, leaving out defaults.
func (s *Strategy) String() string {
	var b strings.Builder
	b.WriteString(s.Fn.String())
	if s.Merged {
		b.WriteString(" merged")
	}
	if s.Trigger.Kind != OnDefault {
		fmt.Fprintf(&b, " firing %v", s.Trigger)
	}
	if s.Mode != Discarding {
		fmt.Fprintf(&b, ", %v", s.Mode)
	}
	if s.Lateness > 0 {
		fmt.Fprintf(&b, ", lateness %v", Millis(s.Lateness))
	}
	if s.Combiner != EndOfWindow {
		fmt.Fprintf(&b, ", stamped %v", s.Combiner)
	}
	if s.ClosingAlways {
		b.WriteString(", closing pane always")
	}
	if s.OnTimeIfNonEmpty {
		b.WriteString(", on-time pane if non-empty")
	}
	return b.String()
}

// Forever is a lateness, in ms, that no element's can be more than. It is far from the ends of int64.
const Forever = int64(exec.MaxTime - exec.MinTime)

// Millis prints a number of ms as a duration.
func Millis(ms int64) string {
	if ms > int64(1<<63-1)/1e6 {
		return "forever"
	}
	return (time.Duration(ms) * time.Millisecond).String()
}
