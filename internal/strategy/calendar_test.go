package strategy

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
)

func zone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}

// zones change their clocks at odd moments: at midnight forward (Sao Paulo,
// Beirut), at one back to midnight (Havana), a minute past midnight back into
// the day before (St. John's), by half an hour (Lord Howe), by a whole day (Apia).
var zones = []string{"UTC", "America/New_York", "America/Sao_Paulo", "Asia/Beirut", "America/Havana", "America/St_Johns",
	"Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Europe/Berlin"}

func at(s string) exec.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return exec.TimeOf(t)
}

func calendar(u CalendarUnit, n int, zoneName string, first ...int) CalendarWindows {
	y, m, d := FirstDay(u)
	if len(first) == 3 {
		y, m, d = first[0], first[1], first[2]
	}
	return CalendarWindows{u, n, y, m, d, zone(zoneName)}
}

func TestCalendar(t *testing.T) {
	for _, c := range []struct {
		fn         CalendarWindows
		at         string
		start, end string
	}{
		{calendar(Days, 1, "UTC"), "2026-03-08T05:00:00Z", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"},
		{calendar(Days, 1, "UTC"), "1969-12-31T23:59:59Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"},
		{calendar(Days, 1, "America/New_York"), "2026-03-08T05:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},  // 23 hours
		{calendar(Days, 1, "America/New_York"), "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},  // 25 hours
		{calendar(Days, 1, "America/Sao_Paulo"), "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}, // begins at one
		{calendar(Days, 1, "America/Havana"), "2025-11-02T04:30:00Z", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"},    // midnight comes twice
		{calendar(Days, 1, "America/Havana"), "2025-11-02T05:30:00Z", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"},
		// 2010-11-07 begins at 02:30Z; a minute later it is the 6th again, until 03:30Z.
		{calendar(Days, 1, "America/St_Johns"), "2010-11-07T03:00:00Z", "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},
		{calendar(Days, 1, "Pacific/Apia"), "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{calendar(Days, 1, "Pacific/Apia"), "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"}, // the 31st: there was no 30th
		{calendar(Days, 10, "UTC", 2026, 1, 5), "2026-01-04T12:00:00Z", "2025-12-26T00:00:00Z", "2026-01-05T00:00:00Z"},
		{calendar(Weeks, 1, "UTC"), "2026-10-04T23:59:59Z", "2026-09-28T00:00:00Z", "2026-10-05T00:00:00Z"}, // Monday to Sunday
		{calendar(Weeks, 2, "Europe/Berlin", 2026, 1, 4), "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-04-11T22:00:00Z"},
		{calendar(Months, 1, "Europe/Berlin"), "2026-02-10T00:00:00Z", "2026-01-31T23:00:00Z", "2026-02-28T23:00:00Z"},
		{calendar(Months, 3, "UTC"), "1969-12-31T00:00:00Z", "1969-10-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{calendar(Months, 1, "UTC", 2026, 1, 15), "2026-03-14T23:59:59Z", "2026-02-15T00:00:00Z", "2026-03-15T00:00:00Z"},
		{calendar(Months, 1, "UTC", 2026, 1, 31), "2026-02-28T12:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"}, // the last day
		{calendar(Months, 1, "UTC", 2026, 1, 31), "2026-03-30T12:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"},
		{calendar(Years, 1, "UTC"), "2026-10-04T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{calendar(Years, 1, "UTC", 2024, 2, 29), "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2027-02-28T00:00:00Z"},
		{calendar(Years, 10, "America/New_York", 2020, 4, 6), "1999-01-01T00:00:00Z", "1990-04-06T04:00:00Z", "2000-04-06T04:00:00Z"},
	} {
		want := exec.Window{Start: at(c.start), End: at(c.end)}
		if got := c.fn.Window(at(c.at)); got != want {
			t.Errorf("%v of %s: got %v, want %v", c.fn, c.at, got, want)
		}
	}
}

func TestCalendarString(t *testing.T) {
	for want, fn := range map[string]CalendarWindows{
		"calendar(1 day)":                                     calendar(Days, 1, "UTC"),
		"calendar(2 weeks in Europe/Berlin)":                  calendar(Weeks, 2, "Europe/Berlin"),
		"calendar(1 month from 2026-01-15)":                   calendar(Months, 1, "UTC", 2026, 1, 15),
		"calendar(3 years from 2020-04-06 in Asia/Kathmandu)": calendar(Years, 3, "Asia/Kathmandu", 2020, 4, 6),
	} {
		if got := fn.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// calendarTimes draws instants of some centuries, and the ends of time.
var calendarTimes = rapid.Custom(func(t *rapid.T) exec.Time {
	switch rapid.IntRange(0, 9).Draw(t, "where") {
	case 0:
		return exec.MinTime + exec.Time(rapid.Int64Range(0, 1e12).Draw(t, "after the start"))
	case 1:
		return exec.EndOfGlobal - exec.Time(rapid.Int64Range(0, 1e12).Draw(t, "before the end"))
	case 2: // around the changes that zones are here for
		around := at(rapid.SampledFrom([]string{"2018-11-04T03:00:00Z", "2025-11-02T05:00:00Z", "2010-11-07T02:31:00Z", "2011-12-30T10:00:00Z",
			"2026-03-28T22:00:00Z", "2026-03-08T07:00:00Z"}).Draw(t, "change"))
		return around + exec.Time(rapid.Int64Range(-2*86400_000, 2*86400_000).Draw(t, "off"))
	}
	return exec.Time(rapid.Int64Range(-5e12, 5e12).Draw(t, "at"))
})

// TestCalendarFarAway covers a year in which package time gives no end of an offset.
func TestCalendarFarAway(t *testing.T) {
	fn := calendar(Days, 1, "Europe/Berlin")
	day := func(year int) exec.Time { return exec.Time(time.Date(year, 1, 1, 12, 0, 0, 0, time.UTC).Unix() * 1000) }
	for _, year := range []int{-290_000, 290_000, 292_276, 292_277, 292_278, 294_000} {
		if w := fn.Window(day(year)); !w.Contains(day(year)) || w.End-w.Start != secondsOfDay*1000 {
			t.Errorf("the window of 1 January %d is %v", year, w)
		}
	}
}

// TestCalendarLaws: a window contains its time; its ends are in it and in the
// next; it starts where the clock of the zone shows its first day for the first
// time; windows follow each other without a gap; a worker that remembers the
// last window finds the same ones.
func TestCalendarLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn := calendar(CalendarUnit(rapid.IntRange(0, 3).Draw(t, "unit")), rapid.IntRange(1, 40).Draw(t, "n"),
			rapid.SampledFrom(zones).Draw(t, "zone"))
		if rapid.Bool().Draw(t, "from") {
			fn.Year, fn.Month, fn.Day = rapid.IntRange(1, 3000).Draw(t, "year"), rapid.IntRange(1, 12).Draw(t, "month"), rapid.IntRange(1, 28).Draw(t, "day")
		}
		remembering := ForWorker(fn)
		for range 3 {
			x := calendarTimes.Draw(t, "time")
			w := fn.Window(x)
			if got := remembering.Assign(nil, x); len(got) != 1 || got[0] != w {
				t.Fatalf("%v of %v: a worker finds %v, want %v", fn, x, got, w)
			}
			if !w.Contains(x) || fn.Window(w.Start) != w || fn.Window(w.Max()) != w {
				t.Fatalf("%v of %v is %v: its start is in %v, its end in %v", fn, x, w, fn.Window(w.Start), fn.Window(w.Max()))
			}
			if w.Start == exec.MinTime || w.End > exec.EndOfGlobal {
				continue
			}
			if next := fn.Window(w.End); next.Start != w.End {
				t.Fatalf("%v: %v is followed by %v", fn, w, next)
			}
			checkStart(t, fn, w.Start)
		}
	})
}

// checkStart checks that the day of which start is the first instant begins a window.
func checkStart(t *rapid.T, fn CalendarWindows, start exec.Time) {
	y, m, d := start.Time().In(fn.Zone).Date()
	by, bm, bd := (start - 1).Time().In(fn.Zone).Date()
	first, before := dayNumber(y, int(m), d), dayNumber(by, int(bm), bd)
	if before >= first {
		t.Fatalf("%v starts a window at %v, in the middle of %04d-%02d-%02d", fn, start, y, m, d)
	}
	for ; before < first; before++ { // where a day was left out, its window began and ended at once
		day := time.Unix((before+1)*secondsOfDay, 0).UTC()
		if begins(fn, day) {
			return
		}
	}
	t.Fatalf("%v starts a window on %04d-%02d-%02d", fn, y, m, d)
}

func begins(fn CalendarWindows, day time.Time) bool {
	y, m, d := day.Date()
	switch fn.Unit {
	case Days:
		return (dayNumber(y, int(m), d)-dayNumber(fn.Year, fn.Month, fn.Day))%int64(fn.N) == 0
	case Weeks:
		return (dayNumber(y, int(m), d)-dayNumber(fn.Year, fn.Month, fn.Day))%int64(7*fn.N) == 0
	case Months:
		return d == fn.Day && (12*(y-fn.Year)+int(m)-fn.Month)%fn.N == 0
	}
	return d == fn.Day && int(m) == fn.Month && (y-fn.Year)%fn.N == 0
}

func BenchmarkCalendar(b *testing.B) {
	fn := calendar(Days, 1, "America/New_York")
	for _, f := range []WindowFn{fn, ForWorker(fn)} {
		b.Run(fmt.Sprintf("%T", f), func(b *testing.B) {
			var buf []exec.Window
			x := at("2026-03-08T05:00:00Z")
			for i := range b.N {
				buf = f.Assign(buf[:0], x+exec.Time(i%1000))
			}
		})
	}
}
