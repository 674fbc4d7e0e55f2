package strategy

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A WindowFn assigns windows by timestamp. A function that needs the element
// itself assigns where it is applied and is seen here only through Merging.
type WindowFn interface {
	fmt.Stringer
	// Assign appends the windows of an element stamped t to dst.
	Assign(dst []exec.Window, t exec.Time) []exec.Window
	// Merging reports whether overlapping windows of one key become one.
	Merging() bool
	// Compatible reports whether collections windowed by either can be joined.
	Compatible(WindowFn) bool
}

// ForWorker returns the function as one worker uses it, which may remember what
// it found last.
func ForWorker(f WindowFn) WindowFn {
	if r, ok := f.(interface{ ForWorker() WindowFn }); ok {
		return r.ForWorker()
	}
	return f
}

// MergerOf returns what merges the windows of a merging function, or nil where
// those that overlap become one.
func MergerOf(f WindowFn) Merger {
	if c, ok := f.(Custom); ok {
		return c.Merger()
	}
	return nil
}

// GlobalWindows puts everything into the global window.
type GlobalWindows struct{}

// String names the function.
func (GlobalWindows) String() string { return "global" }

// Assign appends the global window.
func (GlobalWindows) Assign(dst []exec.Window, _ exec.Time) []exec.Window {
	return append(dst, exec.Global)
}

// Merging is false.
func (GlobalWindows) Merging() bool { return false }

// Compatible reports whether o is global too.
func (GlobalWindows) Compatible(o WindowFn) bool { return o == WindowFn(GlobalWindows{}) }

// FixedWindows are windows of Size ms, back to back, one starting at Offset
// after the epoch; 0 <= Offset < Size.
type FixedWindows struct{ Size, Offset int64 }

// String prints size and offset.
func (f FixedWindows) String() string {
	if f.Offset != 0 {
		return fmt.Sprintf("fixed(%s offset %s)", Millis(f.Size), Millis(f.Offset))
	}
	return fmt.Sprintf("fixed(%s)", Millis(f.Size))
}

// Window returns the one window of t.
func (f FixedWindows) Window(t exec.Time) exec.Window {
	start := lastStart(Within(t), f.Size, f.Offset)
	return cut(start, f.Size)
}

// Assign appends the window that contains t.
func (f FixedWindows) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	return append(dst, f.Window(t))
}

// Merging is false.
func (FixedWindows) Merging() bool { return false }

// Compatible reports whether o is the same function.
func (f FixedWindows) Compatible(o WindowFn) bool { return o == WindowFn(f) }

// SlidingWindows are windows of Size ms, one starting every Period ms, shifted
// by Offset. With Period > Size some instants are in no window.
type SlidingWindows struct{ Size, Period, Offset int64 }

// String prints size, period and offset.
func (f SlidingWindows) String() string {
	if f.Offset != 0 {
		return fmt.Sprintf("sliding(%s every %s offset %s)", Millis(f.Size), Millis(f.Period), Millis(f.Offset))
	}
	return fmt.Sprintf("sliding(%s every %s)", Millis(f.Size), Millis(f.Period))
}

// Assign appends the windows that contain t, the latest first.
func (f SlidingWindows) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	t = Within(t)
	// Plain arithmetic: a window that starts before all time is cut, not skipped.
	for s := lastStart(t, f.Period, f.Offset); s > t-exec.Time(f.Size); s -= exec.Time(f.Period) {
		dst = append(dst, cut(s, f.Size))
	}
	return dst
}

// Merging is false.
func (SlidingWindows) Merging() bool { return false }

// Compatible reports whether o is the same function.
func (f SlidingWindows) Compatible(o WindowFn) bool { return o == WindowFn(f) }

// SessionWindows put each element into [t, t+Gap); overlapping windows of one key merge.
type SessionWindows struct{ Gap int64 }

// String prints the gap.
func (f SessionWindows) String() string { return fmt.Sprintf("sessions(%s)", Millis(f.Gap)) }

// Assign appends the window that the element alone would have.
func (f SessionWindows) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	return append(dst, cut(Within(t), f.Gap))
}

// Merging is true.
func (SessionWindows) Merging() bool { return true }

// Compatible reports whether o is sessions, of any gap.
func (SessionWindows) Compatible(o WindowFn) bool { return isSessions(o) }

// Within returns t, or the last instant that a window can hold: what is stamped
// after the global window, as a result of it that was moved, is in the last window that there is.
func Within(t exec.Time) exec.Time { return min(t, exec.EndOfGlobal) }

// lastStart returns the latest start of a window at or before t, where one
// starts every step ms, shifted by offset.
func lastStart(t exec.Time, step, offset int64) exec.Time {
	m := (int64(t) - offset) % step
	if m < 0 {
		m += step // floor, not truncation: times before the epoch
	}
	return t - exec.Time(m)
}

// cut returns the window of the given size, ending at the latest with the global one
// and starting at the earliest with it.
func cut(start exec.Time, size int64) exec.Window {
	end := start + exec.Time(size)
	return exec.Window{Start: max(start, exec.MinTime), End: min(end, exec.EndOfGlobal+1)}
}
