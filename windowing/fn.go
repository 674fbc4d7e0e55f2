package windowing

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Fn assigns elements to windows by their event time. It is a value: it
// prints, and two that do the same are equal under == (two made by [Custom] if
// what they were made of is). The zero Fn is a mistake.
type Fn struct {
	fn   strategy.WindowFn
	same bool
	bad  string // what is wrong with it
}

// String prints the function, as in fixed(1m0s).
func (f Fn) String() string {
	switch {
	case f.bad != "":
		return "invalid"
	case f.same:
		return "same"
	case f.fn == nil:
		return "none"
	}
	return f.fn.String()
}

// check reports what is wrong with the function, or nil.
func (f Fn) check() error {
	switch {
	case f.bad != "":
		return fmt.Errorf("%s", f.bad)
	case f.fn == nil && !f.same:
		return fmt.Errorf("the window function is the zero Fn; make one with Fixed, Sliding, Sessions, Calendar, Custom or Global, or keep the windows with Same")
	}
	return nil
}

// A FnOption varies a window function.
type FnOption struct {
	name   string
	offset time.Duration
	gaps   bool
}

// Offset shifts the starts of windows, which otherwise are multiples of size or
// period after the Unix epoch. Days in UTC+2 are Fixed(24*time.Hour, Offset(-2*time.Hour)).
// Only the remainder modulo size, or period, matters.
func Offset(d time.Duration) FnOption { return FnOption{name: "Offset", offset: d} }

// AllowGaps accepts sliding windows with a period longer than their size.
// Elements between two windows are in none and go no further.
func AllowGaps() FnOption { return FnOption{name: "AllowGaps", gaps: true} }

// Fixed returns windows of one size, back to back: [k·size, (k+1)·size). Size
// and offset are whole milliseconds, size at least one.
func Fixed(size time.Duration, opts ...FnOption) Fn {
	const what = "fixed windows"
	if bad := wrong(what, "size", size); bad != "" {
		return Fn{bad: bad}
	}
	offset, gaps, bad := options(what, size, opts)
	if bad == "" && gaps {
		bad = "fixed windows have no gaps; remove AllowGaps, or use Sliding"
	}
	return made(strategy.FixedWindows{Size: size.Milliseconds(), Offset: offset}, bad)
}

// Sliding returns windows of one size, of which one starts every period; an
// element is in size/period of them. Size, period and offset are whole
// milliseconds; a period longer than size needs [AllowGaps].
func Sliding(size, period time.Duration, opts ...FnOption) Fn {
	const what = "sliding windows"
	for _, x := range []struct {
		what string
		d    time.Duration
	}{{"size", size}, {"period", period}} {
		if bad := wrong(what, x.what, x.d); bad != "" {
			return Fn{bad: bad}
		}
	}
	offset, gaps, bad := options(what, period, opts)
	if bad == "" && period > size && !gaps {
		bad = fmt.Sprintf("sliding windows of size %v every %v lose the elements in between; want a period of at most the size, or AllowGaps", size, period)
	}
	return made(strategy.SlidingWindows{Size: size.Milliseconds(), Period: period.Milliseconds(), Offset: offset}, bad)
}

// Sessions returns windows that last until nothing came for gap, for each key:
// an element stamped t opens [t, t+gap), and windows of a key that overlap
// become one. Elements exactly gap apart are in two sessions. Gap is a whole
// number of milliseconds, at least one.
//
// A session that has expired is no more, and an element that comes then is judged by
// its own window: in time, it may open a session that overlaps what the expired one
// was; else it is dropped and counted. Either way it counts once (Beam's rule).
func Sessions(gap time.Duration) Fn {
	return made(strategy.SessionWindows{Gap: gap.Milliseconds()}, wrong("session windows", "gap", gap))
}

// Global returns the one window that holds all of time. It ends a day before
// the end of time, when bounded input ends.
func Global() Fn { return Fn{fn: strategy.GlobalWindows{}} }

// Same keeps the windows that elements have: only what the options of [Into]
// name changes.
func Same() Fn { return Fn{same: true} }

func made(fn strategy.WindowFn, bad string) Fn {
	if bad != "" {
		return Fn{bad: bad}
	}
	return Fn{fn: fn}
}

// wrong reports what is wrong with a length of time, or "".
func wrong(what, part string, d time.Duration) string {
	switch {
	case d <= 0:
		return fmt.Sprintf("%s of %s %v hold nothing; want a positive %s", what, part, d, part)
	case d%time.Millisecond != 0:
		return fmt.Sprintf("%s of %s %v cannot be: time is kept in whole milliseconds", what, part, d)
	}
	return ""
}

// options returns the offset in ms, in [0, period).
func options(what string, period time.Duration, opts []FnOption) (offset int64, gaps bool, bad string) {
	for _, o := range opts {
		switch {
		case o.name == "":
			return 0, false, what + " were given a zero FnOption; use Offset or AllowGaps"
		case o.offset%time.Millisecond != 0:
			return 0, false, fmt.Sprintf("%s with offset %v cannot be: time is kept in whole milliseconds", what, o.offset)
		}
		gaps = gaps || o.gaps
		if o.name == "Offset" {
			offset = o.offset.Milliseconds()
		}
	}
	ms := period.Milliseconds()
	return (offset%ms + ms) % ms, gaps, ""
}
