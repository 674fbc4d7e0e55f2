// Package passert checks the contents of collections, to the exact pane.
//
//	totals, late := Totals(orders)
//	passert.Equals(t, totals, pcoll.Pair("ann", 7), pcoll.Pair("bob", 101))
//	passert.Empty(t, late)
//	ptest.Run(t, p)
//
// An assertion is a sink of the pipeline. It is checked each time a run of the
// pipeline comes to its end, on any runner; one that was never checked fails the test.
//
// # Equality
//
// Contents are compared as multisets, in any order. Two elements are equal when
// they mean the same: pointers by what they point to, times by their
// instant, a pcoll.Group as a multiset of its values, NaN to itself, -0 to 0, a
// nil slice or map to an empty one. A struct with unexported fields and a String
// method is what String says.
//
// # Panes
//
// A collection that was grouped holds panes: the same window may fire early, on
// time, and late. [Equals] and [In] see the elements of all of them; [InEarly],
// [InOnTime], [InNonLate], [InLate] and [InFinal] those of some; [Panes] checks
// all elements together with the timing of their panes. Which panes there are is
// certain only under a script (package testing/teststream).
//
// # Withdrawals
//
// A collection whose results are taken back (windowing.Retracting) holds what was
// inserted less what was withdrawn; that is what all but [Panes] and [That]
// compare. A withdrawal that comes without what it takes back fails them.
// [Panes] sees every change, and its kind where an expectation names one.
package passert

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/gather"
)

// Element is an element with its event time, window, pane and kind of change.
type Element[T any] = gather.Element[T]

// Window returns the window [start, end).
func Window(start, end time.Time) pcoll.Window {
	w := pcoll.Window{}
	w.Start, w.End = timeOf(start), timeOf(end)
	return w
}

// Equals checks that col holds exactly the elements of want, in any order, over all windows and panes.
func Equals[T any](t testing.TB, col pcoll.PCollection[T], want ...T) {
	t.Helper()
	add(t, col, "passert.Equals", standing(func(got []Element[T]) string { return compare(got, want) }))
}

// Empty checks that col holds no element.
func Empty[T any](t testing.TB, col pcoll.PCollection[T]) {
	t.Helper()
	add(t, col, "passert.Empty", standing(func(got []Element[T]) string { return compare(got, nil) }))
}

// In checks that window w of col holds exactly the elements of want, over all panes.
func In[T any](t testing.TB, col pcoll.PCollection[T], w pcoll.Window, want ...T) {
	t.Helper()
	inPanes(t, col, "passert.In", w, want, func(pcoll.Pane) bool { return true })
}

// InEarly checks what the early panes of window w hold together.
func InEarly[T any](t testing.TB, col pcoll.PCollection[T], w pcoll.Window, want ...T) {
	t.Helper()
	inPanes(t, col, "passert.InEarly", w, want, func(p pcoll.Pane) bool { return p.Timing == pcoll.Early })
}

// InOnTime checks what the on-time pane of window w holds.
func InOnTime[T any](t testing.TB, col pcoll.PCollection[T], w pcoll.Window, want ...T) {
	t.Helper()
	inPanes(t, col, "passert.InOnTime", w, want, func(p pcoll.Pane) bool { return p.Timing == pcoll.OnTime })
}

// InNonLate checks what all panes of window w but the late ones hold together.
func InNonLate[T any](t testing.TB, col pcoll.PCollection[T], w pcoll.Window, want ...T) {
	t.Helper()
	inPanes(t, col, "passert.InNonLate", w, want, func(p pcoll.Pane) bool { return p.Timing != pcoll.Late })
}

// InLate checks what the late panes of window w hold together.
func InLate[T any](t testing.TB, col pcoll.PCollection[T], w pcoll.Window, want ...T) {
	t.Helper()
	inPanes(t, col, "passert.InLate", w, want, func(p pcoll.Pane) bool { return p.Timing == pcoll.Late })
}

// InFinal checks what the last pane of window w holds. Unless the window closes with
// a pane always, many windows end without one that is marked as the last.
func InFinal[T any](t testing.TB, col pcoll.PCollection[T], w pcoll.Window, want ...T) {
	t.Helper()
	inPanes(t, col, "passert.InFinal", w, want, func(p pcoll.Pane) bool { return p.Last })
}

func inPanes[T any](t testing.TB, col pcoll.PCollection[T], kind string, w pcoll.Window, want []T, keep func(pcoll.Pane) bool) {
	t.Helper()
	add(t, col, kind, standing(func(got []Element[T]) string {
		var in []Element[T]
		for _, e := range got {
			if e.Window == w && keep(e.Pane) {
				in = append(in, e)
			}
		}
		if problem := compare(in, want); problem != "" {
			return fmt.Sprintf("window %v: %s%s", w, problem, elsewhere(got, in))
		}
		return ""
	}))
}

// Contents is what one window holds; see [Holds].
type Contents[T any] struct {
	window pcoll.Window
	vals   []T
}

// Holds says that window w holds exactly vals, over all panes.
func Holds[T any](w pcoll.Window, vals ...T) Contents[T] { return Contents[T]{w, vals} }

// Windows checks what each window of col holds. Windows that are not named must be empty.
func Windows[T any](t testing.TB, col pcoll.PCollection[T], want ...Contents[T]) {
	t.Helper()
	add(t, col, "passert.Windows", standing(func(got []Element[T]) string {
		var w, g []string
		for _, c := range want {
			for _, v := range c.vals {
				w = append(w, line(c.window, v))
			}
		}
		for _, e := range got {
			g = append(g, line(e.Window, e.Value))
		}
		return diff(w, g, got)
	}))
}

// That checks col with a function, which is given all elements in the order in
// which they came (of different keys, that is any order) and returns what is wrong
// with them, or nil. It is called once in each run.
func That[T any](t testing.TB, col pcoll.PCollection[T], check func(got []Element[T]) error) {
	t.Helper()
	add(t, col, "passert.That", func(got []Element[T]) string {
		if err := check(got); err != nil {
			return err.Error() + listing(got)
		}
		return ""
	})
}
