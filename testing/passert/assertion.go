package passert

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/gather"
	"github.com/penstock-dev/penstock/testing/internal/show"
)

func timeOf(t time.Time) pcoll.Time { return exec.TimeOf(t) }

// add makes an assertion a sink of col. check returns what is wrong, or "".
func add[T any](t testing.TB, col pcoll.PCollection[T], kind string, check func([]Element[T]) string) {
	t.Helper()
	b := pcoll.NewBuilder(col.Pipeline(), kind)
	at := fmt.Sprintf("%s:%d: %s", filepath.Base(b.Node().File), b.Node().Line, b.Name())
	var checked atomic.Bool
	gather.Add(b, col, func(ctx context.Context, got []Element[T]) {
		checked.Store(true)
		if problem := check(got); problem != "" {
			on := ""
			if name := gather.NameOf(ctx); name != "" {
				on = " on " + name
			}
			t.Errorf("%s%s: %s", at, on, problem)
		}
	})
	t.Cleanup(func() {
		if !checked.Load() && !t.Skipped() && col.Pipeline().Err() == nil { // mistakes are reported already
			t.Errorf("%s was never checked: no run of pipeline %q came to its end; call ptest.Run after the assertion", at, col.Pipeline().Name())
		}
	})
}

// compare compares the values of got with want as multisets.
func compare[T any](got []Element[T], want []T) string {
	var w, g []string
	for _, v := range want {
		w = append(w, show.Value(v))
	}
	for _, e := range got {
		g = append(g, show.Value(e.Value))
	}
	return diff(w, g, got)
}

// line is an element of a window as Windows compares it.
func line[T any](w pcoll.Window, v T) string { return w.String() + " " + show.Value(v) }

// diff compares lines as multisets and describes the difference; got is what came.
func diff[T any](want, have []string, got []Element[T]) string {
	d := cmp.Diff(counts(want), counts(have))
	if d == "" {
		return ""
	}
	return "contents differ (-want +got, with how many of each):\n" + strings.TrimRight(d, "\n") + listing(got)
}

// counts returns how often each line occurs.
func counts(lines []string) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		n[l]++
	}
	return n
}

// maxListed is how many elements a failure lists.
const maxListed = 50

// listing lists what came, in the order of arrival.
func listing[T any](got []Element[T]) string {
	if len(got) == 0 {
		return "\nthe collection is empty"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d elements came:", len(got))
	for i, e := range got {
		if i == maxListed {
			fmt.Fprintf(&b, "\n\t… and %d more", len(got)-i)
			break
		}
		fmt.Fprintf(&b, "\n\t%s", Describe(e))
	}
	return b.String()
}

// elsewhere lists the elements of got that are not in the window and panes that were looked at.
func elsewhere[T any](got, in []Element[T]) string {
	if len(got) == len(in) {
		return ""
	}
	return "\nin all windows and panes, " + strings.TrimPrefix(listing(got), "\n")
}

// Describe prints an element with its event time, window, pane and kind, in one
// canonical way: elements that are equal in all of these print the same.
func Describe[T any](e Element[T]) string {
	s := fmt.Sprintf("%s at %v in %v", show.Value(e.Value), e.Time, e.Window)
	if e.Pane != exec.NoFiring {
		s += fmt.Sprintf(", pane %d %v", e.Pane.Index, e.Pane.Timing)
		if e.Pane.First {
			s += " first"
		}
		if e.Pane.Last {
			s += " last"
		}
	}
	if e.Kind != exec.Insert {
		s += fmt.Sprintf(", %v", e.Kind)
	}
	return s
}
