package passert

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/show"
)

// Fired is an element that is expected in a pane. What is not said of the pane is not checked.
type Fired[T any] struct {
	v      T
	timing pcoll.Timing
	window *pcoll.Window
	time   *pcoll.Time
	index  *int64
	kind   *pcoll.Kind
	last   bool
}

// Early expects v in a pane that fired before the watermark passed the end of its window.
func Early[T any](v T) Fired[T] { return Fired[T]{v: v, timing: pcoll.Early} }

// OnTime expects v in the pane that fired when the watermark passed the end of its window.
func OnTime[T any](v T) Fired[T] { return Fired[T]{v: v, timing: pcoll.OnTime} }

// Late expects v in a pane that fired after the one on time, or after the watermark.
func Late[T any](v T) Fired[T] { return Fired[T]{v: v, timing: pcoll.Late} }

// Ungrouped expects v outside any pane: no grouping has produced it.
func Ungrouped[T any](v T) Fired[T] { return Fired[T]{v: v, timing: pcoll.Unknown} }

// In also expects window w.
func (f Fired[T]) In(w pcoll.Window) Fired[T] { f.window = &w; return f }

// At also expects the event time t.
func (f Fired[T]) At(t time.Time) Fired[T] {
	at := timeOf(t)
	f.time = &at
	return f
}

// Index also expects pane number i of its key and window, from 0.
func (f Fired[T]) Index(i int64) Fired[T] { f.index = &i; return f }

// Kind also expects the kind of change; see windowing.Retracting. A withdrawal has
// the pane of what it takes back.
func (f Fired[T]) Kind(k pcoll.Kind) Fired[T] { f.kind = &k; return f }

// Final also expects the pane to be the last one of its key and window.
func (f Fired[T]) Final() Fired[T] { f.last = true; return f }

// Panes checks that col holds exactly the elements of want, in panes as they say.
//
// Order counts where it has a meaning: panes of one window and key come in
// the order of their index, and want must name them in that order. The key is
// that of a pcoll.KV; elements of another type are taken to have one key if no
// window has two elements with the same index, and no order otherwise.
// Different keys and windows may come in any order.
func Panes[T any](t testing.TB, col pcoll.PCollection[T], want ...Fired[T]) {
	t.Helper()
	add(t, col, "passert.Panes", func(got []Element[T]) string { return comparePanes(got, want) })
}

func comparePanes[T any](got []Element[T], want []Fired[T]) string {
	values := make([]string, len(want))
	for i, f := range want {
		values[i] = show.Value(f.v)
	}
	fits := make([][]bool, len(want))
	have := make([]string, len(got))
	for j, e := range got {
		have[j] = show.Value(e.Value)
	}
	for i, f := range want {
		fits[i] = make([]bool, len(got))
		for j, e := range got {
			fits[i][j] = values[i] == have[j] && f.fits(e.Time, e.Window, e.Pane, e.Kind)
		}
	}
	match, whole := matching(fits, len(got))
	if !whole || len(got) != len(want) {
		return paneDiff(got, want, match)
	}
	return compareOrder(got, want, fits)
}

func (f Fired[T]) fits(t pcoll.Time, w pcoll.Window, p pcoll.Pane, k pcoll.Kind) bool {
	return f.timing == p.Timing && (f.window == nil || *f.window == w) && (f.time == nil || *f.time == t) &&
		(f.index == nil || *f.index == p.Index) && (f.kind == nil || *f.kind == k) && (!f.last || p.Last)
}

// matching gives as many expectations as possible an element of their own, by
// augmenting paths. It returns for each element its expectation, or -1, and
// whether every expectation has one.
func matching(fits [][]bool, elements int) (owner []int, whole bool) {
	owner = make([]int, elements)
	for j := range owner {
		owner[j] = -1
	}
	var give func(i int, seen []bool) bool
	give = func(i int, seen []bool) bool {
		for j, ok := range fits[i] {
			if !ok || seen[j] {
				continue
			}
			seen[j] = true
			if owner[j] < 0 || give(owner[j], seen) {
				owner[j] = i
				return true
			}
		}
		return false
	}
	whole = true
	for i := range fits {
		whole = give(i, make([]bool, elements)) && whole
	}
	return owner, whole
}

// paneDiff describes the difference. An element without an expectation shows
// the attributes that some expectation names.
func paneDiff[T any](got []Element[T], want []Fired[T], match []int) string {
	var named Fired[T]
	for _, f := range want {
		if f.window != nil {
			named.window = f.window
		}
		if f.time != nil {
			named.time = f.time
		}
		if f.index != nil {
			named.index = f.index
		}
		if f.kind != nil {
			named.kind = f.kind
		}
		named.last = named.last || f.last
	}
	var w, g []string
	for _, f := range want {
		w = append(w, f.String())
	}
	for j, e := range got {
		if match[j] >= 0 {
			g = append(g, w[match[j]])
			continue
		}
		f := Fired[T]{v: e.Value, timing: e.Pane.Timing, last: named.last && e.Pane.Last}
		if named.window != nil {
			f.window = &e.Window
		}
		if named.time != nil {
			f.time = &e.Time
		}
		if named.index != nil {
			f.index = &e.Pane.Index
		}
		if named.kind != nil || e.Kind != pcoll.Insert {
			f.kind = &e.Kind
		}
		g = append(g, f.String())
	}
	return diff(w, g, got)
}

// String prints what is expected.
func (f Fired[T]) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s", f.timing, show.Value(f.v))
	if f.time != nil {
		fmt.Fprintf(&b, " at %v", *f.time)
	}
	if f.window != nil {
		fmt.Fprintf(&b, " in %v", *f.window)
	}
	if f.index != nil {
		fmt.Fprintf(&b, ", pane %d", *f.index)
	}
	if f.kind != nil {
		fmt.Fprintf(&b, ", %v", *f.kind)
	}
	if f.last {
		b.WriteString(" last")
	}
	return b.String()
}
