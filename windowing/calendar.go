package windowing

import (
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Unit is what calendar windows are made of; see [Calendar].
type Unit = strategy.CalendarUnit

// The units of [Calendar].
const (
	Days   = strategy.Days
	Weeks  = strategy.Weeks
	Months = strategy.Months
	Years  = strategy.Years
)

// A CalendarOption varies calendar windows.
type CalendarOption struct {
	zone             string
	year, month, day int
	first            bool
}

// In sets the time zone by its name in the IANA database, as in
// "America/New_York". Without it days are those of UTC. "Local" is refused: it
// means another zone on another machine.
func In(zone string) CalendarOption { return CalendarOption{zone: zone} }

// From sets a day on which a window begins; the others follow from it, before
// and after. Weeks from a Sunday begin on Sundays, months from the 15th on the
// 15th; a month that is too short for the day begins a window on its last day.
// Without it a window begins on 1 January 1970, and weeks begin on Mondays.
func From(year int, month time.Month, day int) CalendarOption {
	return CalendarOption{year: year, month: int(month), day: day, first: true}
}

// Calendar returns windows of n days, weeks, months or years of the calendar:
//
//	windowing.Calendar(1, windowing.Days, windowing.In("Europe/Berlin"))
//
// A window begins when its first day does on the clocks of the zone, also where
// they are changed: a day can last 23 or 25 hours. Zones come from the time zone
// database of the machine, or of the program if it imports time/tzdata.
func Calendar(n int, unit Unit, opts ...CalendarOption) Fn {
	fn := strategy.CalendarWindows{Unit: unit, N: n, Zone: time.UTC}
	if unit > Years {
		return Fn{bad: fmt.Sprintf("calendar windows of unit %d cannot be; want Days, Weeks, Months or Years", unit)}
	}
	if n < 1 || n > maxUnits {
		return Fn{bad: fmt.Sprintf("calendar windows of %d %vs cannot be; want a number from 1 to %d", n, unit, maxUnits)}
	}
	fn.Year, fn.Month, fn.Day = strategy.FirstDay(unit)
	for _, o := range opts {
		switch {
		case o.first:
			day := time.Date(o.year, time.Month(o.month), o.day, 0, 0, 0, 0, time.UTC)
			if y, m, d := day.Date(); y != o.year || int(m) != o.month || d != o.day || y < 1 || y > 9999 {
				return Fn{bad: fmt.Sprintf("calendar windows from %d-%02d-%02d cannot be: there is no such day in the years 1 to 9999", o.year, o.month, o.day)}
			}
			fn.Year, fn.Month, fn.Day = o.year, o.month, o.day
		default:
			zone, err := zoneOf(o.zone)
			if err != nil {
				return Fn{bad: err.Error()}
			}
			fn.Zone = zone
		}
	}
	if unit == Days || unit == Weeks {
		fn.Year, fn.Month, fn.Day = firstOf(fn)
	}
	return Fn{fn: fn}
}

// maxUnits is more than anybody wants, and so few that no date overflows.
const maxUnits = 10_000

// firstOf returns the first day at or after the usual one, so that functions
// that make the same windows are equal.
func firstOf(fn strategy.CalendarWindows) (year, month, day int) {
	length := fn.N
	if fn.Unit == Weeks {
		length *= 7
	}
	y, m, d := strategy.FirstDay(fn.Unit)
	usual := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	asked := time.Date(fn.Year, time.Month(fn.Month), fn.Day, 0, 0, 0, 0, time.UTC)
	off := int((asked.Unix() - usual.Unix()) / (24 * 60 * 60) % int64(length))
	first := usual.AddDate(0, 0, (off+length)%length)
	return first.Year(), int(first.Month()), first.Day()
}

// zones holds one location for each name, so that windows in one zone are equal.
var zones sync.Map

func zoneOf(name string) (*time.Location, error) {
	switch name {
	case "", "Local":
		return nil, fmt.Errorf("calendar windows in zone %q could be in another on another machine; "+
			"name one of the IANA database, such as Europe/Berlin, or UTC", name)
	case "UTC":
		return time.UTC, nil
	}
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("calendar windows in zone %q: %w; give a name of the IANA database, and import _ \"time/tzdata\" for machines that lack it", name, err)
	}
	kept, _ := zones.LoadOrStore(name, loc)
	return kept.(*time.Location), nil
}
