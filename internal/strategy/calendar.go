package strategy

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

// CalendarUnit is what a calendar window is made of.
type CalendarUnit uint8

// The units of calendar windows.
const (
	Days CalendarUnit = iota
	Weeks
	Months
	Years
)

// String returns the unit's name for one of it.
func (u CalendarUnit) String() string { return [...]string{"day", "week", "month", "year"}[u] }

// CalendarWindows are runs of N days, weeks, months or years of the calendar of
// a time zone, one of which begins on the given day. A window begins at the
// first instant of its first day: where the clock is changed at midnight, that
// is the first of two midnights, or the end of the gap.
type CalendarWindows struct {
	Unit             CalendarUnit
	N                int
	Year, Month, Day int // in a month that is too short, the last day
	Zone             *time.Location
}

// String prints number, unit, first day if it is not a usual one, and zone.
func (f CalendarWindows) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "calendar(%d %v", f.N, f.Unit)
	if f.N > 1 {
		b.WriteByte('s')
	}
	if y, m, d := FirstDay(f.Unit); f.Year != y || f.Month != m || f.Day != d {
		fmt.Fprintf(&b, " from %04d-%02d-%02d", f.Year, f.Month, f.Day)
	}
	if f.Zone != time.UTC {
		fmt.Fprintf(&b, " in %v", f.Zone)
	}
	return b.String() + ")"
}

// FirstDay returns the day on which a window begins unless another is asked
// for: that of the Unix epoch, for weeks the Monday before it, as in Beam.
func FirstDay(u CalendarUnit) (year, month, day int) {
	if u == Weeks {
		return 1969, 12, 29
	}
	return 1970, 1, 1
}

// Assign appends the window that contains t.
func (f CalendarWindows) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	return append(dst, f.Window(t))
}

// Window returns the one window of t.
func (f CalendarWindows) Window(t exec.Time) exec.Window {
	sec := floorDiv(int64(Within(t)), 1000)
	k := f.number(time.Unix(sec, 0).In(f.Zone).Date())
	// Where a clock goes back over midnight, the date is not the last word.
	start, end := f.start(k), f.start(k+1)
	for ; start > sec; start, end = f.start(k), start {
		k--
	}
	for ; end <= sec; start, end = end, f.start(k+1) {
		k++
	}
	return exec.Window{Start: max(instant(start), exec.MinTime), End: min(instant(end), exec.EndOfGlobal+1)}
}

func instant(sec int64) exec.Time {
	return exec.Time(min(max(sec, int64(exec.MinTime)/1000-1), int64(exec.MaxTime)/1000+1) * 1000)
}

// Merging is false.
func (CalendarWindows) Merging() bool { return false }

// Compatible reports whether o is the same function.
func (f CalendarWindows) Compatible(o WindowFn) bool { return o == WindowFn(f) }

// ForWorker returns the function with a memory of its last window: finding one
// in a calendar costs more than most functions that see the element.
func (f CalendarWindows) ForWorker() WindowFn { return &remembered{CalendarWindows: f} }

type remembered struct {
	CalendarWindows
	last exec.Window
}

// Assign appends the window that contains t.
func (r *remembered) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	if !r.last.Contains(t) {
		r.last = r.Window(t)
	}
	return append(dst, r.last)
}

// number returns the number of the window that has the day, counted from the one
// that begins on the first day.
func (f CalendarWindows) number(year int, month time.Month, day int) int64 {
	if n := f.days(); n > 0 {
		return floorDiv(dayNumber(year, int(month), day)-dayNumber(f.Year, f.Month, f.Day), n)
	}
	months := monthNumber(year, int(month)) - monthNumber(f.Year, f.Month)
	if day < min(f.Day, daysIn(year, int(month))) {
		months--
	}
	return floorDiv(months, f.months())
}

// start returns the instant at which window number k begins, in Unix seconds.
func (f CalendarWindows) start(k int64) int64 {
	if n := f.days(); n > 0 {
		return f.midnight(dayNumber(f.Year, f.Month, f.Day) + k*n)
	}
	m := monthNumber(f.Year, f.Month) + k*f.months()
	year, month := int(floorDiv(m, 12)), int(m-12*floorDiv(m, 12))+1
	return f.midnight(dayNumber(year, month, min(f.Day, daysIn(year, month))))
}

// days returns the length of a window in days, or 0 where that differs.
func (f CalendarWindows) days() int64 {
	switch f.Unit {
	case Days:
		return int64(f.N)
	case Weeks:
		return 7 * int64(f.N)
	}
	return 0
}

func (f CalendarWindows) months() int64 {
	if f.Unit == Years {
		return 12 * int64(f.N)
	}
	return int64(f.N)
}

// maxOffset is more seconds than any zone is from UTC.
const maxOffset = 26 * 60 * 60

// midnight returns the first instant at which the zone's clock shows midnight
// of a day or later. time.Date does not say which instant it gives where a clock
// shows midnight twice or never.
func (f CalendarWindows) midnight(day int64) int64 {
	want := day * secondsOfDay
	for at := want - maxOffset; ; {
		t := time.Unix(at, 0).In(f.Zone)
		_, offset := t.Zone()
		_, end := t.ZoneBounds() // of this offset
		shown := max(want-int64(offset), at)
		if end.IsZero() || shown < end.Unix() || end.Unix() <= at { // the last: package time loses its way in the year 292277
			return shown
		}
		at = end.Unix()
	}
}

const secondsOfDay = 24 * 60 * 60

// dayNumber counts days from the Unix epoch.
func dayNumber(year, month, day int) int64 {
	return floorDiv(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix(), secondsOfDay)
}

func monthNumber(year, month int) int64 { return 12*int64(year) + int64(month) - 1 }

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
