package exec

import (
	"cmp"
	"strconv"
	"time"
)

// Time is an instant in milliseconds since the Unix epoch. Event times and
// watermarks are Times, and so are readings of the processing clock.
type Time int64

// The limits of time are Beam's: the range of microseconds in an int64, in
// milliseconds.
const (
	MinTime Time = -9223372036854775
	MaxTime Time = 9223372036854775
	// EndOfGlobal is the maximum timestamp of the global window, one day before
	// MaxTime, so that a watermark at the end of time is past it.
	EndOfGlobal Time = MaxTime - 24*60*60*1000
	// Idle is the watermark of an input that has no say for now: a minimum over
	// watermarks ignores it.
	Idle Time = 1<<63 - 1
)

// TimeOf returns t rounded down to a millisecond and limited to [MinTime, MaxTime].
func TimeOf(t time.Time) Time {
	switch sec := t.Unix(); {
	case sec < int64(MinTime)/1000-1: // MinTime lies within the second before
		return MinTime
	case sec > int64(MaxTime)/1000:
		return MaxTime
	default:
		return Clamp(Time(sec*1000 + int64(t.Nanosecond())/1e6))
	}
}

// Clamp limits t to [MinTime, MaxTime].
func Clamp(t Time) Time { return min(max(t, MinTime), MaxTime) }

// Add returns t+ms, limited to [MinTime, MaxTime].
func (t Time) Add(ms int64) Time {
	s := t + Time(ms)
	if (s > t) != (ms > 0) && ms != 0 { // the sum wrapped around
		if ms > 0 {
			return MaxTime
		}
		return MinTime
	}
	return Clamp(s)
}

// Time returns t as a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String prints t in RFC 3339, or the name of a limit.
func (t Time) String() string {
	switch {
	case t == Idle:
		return "idle"
	case t <= MinTime:
		return "-inf"
	case t >= MaxTime:
		return "+inf"
	case t == EndOfGlobal:
		return "end-of-global-window"
	case t < -62135596800000 || t > 253402300799999: // years 1 to 9999
		return strconv.FormatInt(int64(t), 10) + "ms"
	}
	return t.Time().Format("2006-01-02T15:04:05.999Z07:00")
}

// A Window is a half-open interval of event time, [Start, End).
type Window struct{ Start, End Time }

// Global is the one window that holds all of time.
var Global = Window{MinTime, EndOfGlobal + 1}

// Max returns the last timestamp inside the window, its end less 1 ms.
func (w Window) Max() Time { return w.End - 1 }

// Contains reports whether t lies in the window.
func (w Window) Contains(t Time) bool { return w.Start <= t && t < w.End }

// Overlaps reports whether the windows share an instant. Windows that touch do not.
func (w Window) Overlaps(v Window) bool { return w.Start < v.End && v.Start < w.End }

// Span returns the smallest window that holds both.
func (w Window) Span(v Window) Window { return Window{min(w.Start, v.Start), max(w.End, v.End)} }

// Compare orders windows by end, then by start.
func (w Window) Compare(v Window) int {
	return cmp.Or(cmp.Compare(w.End, v.End), cmp.Compare(w.Start, v.Start))
}

// String prints the window as [start, end), or global.
func (w Window) String() string {
	if w == Global {
		return "global"
	}
	return "[" + w.Start.String() + ", " + w.End.String() + ")"
}

// Timing says where a pane stands relative to the watermark.
type Timing uint8

// The timings of a pane. The values are those of Beam's wire format.
const (
	Early Timing = iota
	OnTime
	Late
	Unknown
)

// String returns the name Beam gives the timing.
func (t Timing) String() string { return [...]string{"EARLY", "ON_TIME", "LATE", "UNKNOWN"}[t&3] }

// A Pane is one firing of a window.
type Pane struct {
	Index          int64  // counts the emitted panes of the key and window from 0
	NonSpeculative int64  // the same without early ones; -1 for an early pane
	Timing         Timing // UNKNOWN before any grouping
	First, Last    bool
}

// NoFiring is the pane of elements that no grouping has produced.
var NoFiring = Pane{Timing: Unknown, First: true, Last: true}

// Kind says what an element does to the collection.
type Kind uint8

// The kinds of change. UpdateBefore and Delete are withdrawals.
const (
	Insert Kind = iota
	UpdateBefore
	UpdateAfter
	Delete
)

// Withdrawal reports whether an element of this kind takes an earlier one back.
func (k Kind) Withdrawal() bool { return k == UpdateBefore || k == Delete }

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"insert", "update-before", "update-after", "delete"}[k&3]
}
