package strategy

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
)

// times draws instants near the epoch and at both ends of time.
var times = rapid.Custom(func(t *rapid.T) exec.Time {
	n := exec.Time(rapid.IntRange(0, 2000).Draw(t, "n"))
	switch rapid.IntRange(0, 3).Draw(t, "where") {
	case 0:
		return exec.MinTime + n
	case 1:
		return exec.EndOfGlobal - n
	}
	return n - 1000
})

func contains(ws []exec.Window, w exec.Window) bool {
	for _, x := range ws {
		if x == w {
			return true
		}
	}
	return false
}

// TestFixedLaws: exactly one window, which contains the time, starts at the
// offset modulo the size and has the size, unless an end of time cuts it.
func TestFixedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 500).Draw(t, "size")
		f := FixedWindows{Size: size, Offset: rapid.Int64Range(0, size-1).Draw(t, "offset")}
		at := times.Draw(t, "at")
		ws := f.Assign(nil, at)
		if len(ws) != 1 || ws[0] != f.Window(at) {
			t.Fatalf("%v of %d: %v", f, at, ws)
		}
		w := ws[0]
		if !w.Contains(at) {
			t.Fatalf("%v: window [%d, %d) does not contain %d", f, w.Start, w.End, at)
		}
		if w.Start != exec.MinTime && (int64(w.Start)-f.Offset)%size != 0 {
			t.Fatalf("%v of %d starts at %d", f, at, w.Start)
		}
		if n := int64(w.End - w.Start); n > size || n < size && w.Start != exec.MinTime && w.End != exec.EndOfGlobal+1 {
			t.Fatalf("%v of %d has length %d", f, at, n)
		}
		if f.Window(w.Start) != w || f.Window(w.Max()) != w {
			t.Fatalf("%v: the ends of [%d, %d) are in other windows", f, w.Start, w.End)
		}
	})
}

// TestSlidingLaws: the windows of a time are those, of all that start at the
// offset modulo the period and have the size, that contain it, the latest first.
func TestSlidingLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.Int64Range(1, 60).Draw(t, "period")
		f := SlidingWindows{Size: rapid.Int64Range(1, 200).Draw(t, "size"), Period: period, Offset: rapid.Int64Range(0, period-1).Draw(t, "offset")}
		at := times.Draw(t, "at")
		got := f.Assign(nil, at)
		var want []exec.Window
		for s := int64(at); s > int64(at)-f.Size; s-- {
			if ((s-f.Offset)%period+period)%period == 0 {
				want = append(want, exec.Window{Start: max(exec.Time(s), exec.MinTime), End: min(exec.Time(s+f.Size), exec.EndOfGlobal+1)})
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v of %d: got %v, want %v", f, at, got, want)
		}
		for _, w := range got {
			if !w.Contains(at) {
				t.Fatalf("%v: window %v does not contain %d", f, w, at)
			}
		}
		if f.Size == f.Period && len(got) != 1 {
			t.Fatalf("%v of %d: %v, want one window", f, at, got)
		}
	})
}

func TestSessionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := SessionWindows{Gap: rapid.Int64Range(1, 500).Draw(t, "gap")}
		at := times.Draw(t, "at")
		want := exec.Window{Start: at, End: min(at+exec.Time(f.Gap), exec.EndOfGlobal+1)}
		if got := f.Assign(nil, at); len(got) != 1 || got[0] != want {
			t.Fatalf("%v of %d: %v, want %v", f, at, got, want)
		}
	})
}

func TestAssignAppends(t *testing.T) {
	head := []exec.Window{{Start: 1, End: 2}}
	for _, f := range []WindowFn{GlobalWindows{}, FixedWindows{Size: 10}, SlidingWindows{Size: 10, Period: 5}, SessionWindows{Gap: 10}} {
		if ws := f.Assign(head, 7); len(ws) < 2 || ws[0] != head[0] {
			t.Errorf("%v: Assign gives %v", f, ws)
		}
	}
	if ws := (SlidingWindows{Size: 5, Period: 10}).Assign(nil, 7); len(ws) != 0 {
		t.Errorf("a time between sliding windows is in %v", ws)
	}
	if ws := (SlidingWindows{Size: 10, Period: 5}).Assign(nil, exec.MinTime); !contains(ws, exec.Window{Start: exec.MinTime, End: exec.MinTime + 5}) {
		t.Errorf("the start of time is in sliding windows %v", ws)
	}
	if ws := (GlobalWindows{}).Assign(nil, 7); ws[0] != exec.Global {
		t.Errorf("the global window is %v", ws)
	}
}

func TestCompatible(t *testing.T) {
	fns := []WindowFn{GlobalWindows{}, FixedWindows{Size: 10}, FixedWindows{Size: 10, Offset: 1}, FixedWindows{Size: 20},
		SlidingWindows{Size: 10, Period: 5}, SlidingWindows{Size: 10, Period: 10}, SessionWindows{Gap: 10}, SessionWindows{Gap: 20}}
	for i, a := range fns {
		for j, b := range fns {
			if want := i == j || i > 5 && j > 5; a.Compatible(b) != want { // any two sessions are compatible
				t.Errorf("%v with %v: %t, want %t", a, b, !want, want)
			}
		}
		if a.Merging() != (i > 5) {
			t.Errorf("%v: merging is %t", a, a.Merging())
		}
	}
}

func TestFnString(t *testing.T) {
	for _, c := range []struct {
		f    WindowFn
		want string
	}{
		{GlobalWindows{}, "global"},
		{FixedWindows{Size: 60_000}, "fixed(1m0s)"},
		{FixedWindows{Size: 60_000, Offset: 1500}, "fixed(1m0s offset 1.5s)"},
		{SlidingWindows{Size: 60_000, Period: 1000}, "sliding(1m0s every 1s)"},
		{SlidingWindows{Size: 60_000, Period: 1000, Offset: 1}, "sliding(1m0s every 1s offset 1ms)"},
		{SessionWindows{Gap: 5}, "sessions(5ms)"},
	} {
		if got := c.f.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// ownWindows are a user's windows, of 7 ms.
type ownWindows struct{}

func (ownWindows) String() string { return "own" }
func (ownWindows) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	return append(dst, exec.Window{Start: t - 2, End: t + 5})
}

// TestAfterTheEnd: an element stamped after the global window is in the last windows.
func TestAfterTheEnd(t *testing.T) {
	day := CalendarWindows{Unit: Days, N: 1, Year: 1970, Month: 1, Day: 1, Zone: time.UTC}
	for _, f := range []WindowFn{GlobalWindows{}, FixedWindows{Size: 7}, SlidingWindows{Size: 9, Period: 2}, SessionWindows{Gap: 5}, day, Custom{ownWindows{}}} {
		want := f.Assign(nil, exec.EndOfGlobal)
		for _, at := range []exec.Time{exec.EndOfGlobal + 1, exec.EndOfGlobal + 1000, exec.MaxTime} {
			got := f.Assign(nil, at)
			if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 || !got[0].Contains(exec.EndOfGlobal) {
				t.Errorf("%v of %d: %v, want %v", f, at, got, want)
			}
		}
	}
}
