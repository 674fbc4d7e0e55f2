package passert

import (
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/show"
)

// compareOrder checks that expectations name the panes of each key and window
// in the order of their index. fits says which elements (second index) meet
// which expectations (first).
func compareOrder[T any](got []Element[T], want []Fired[T], fits [][]bool) string {
	places := make([]place, len(got))
	for j, e := range got {
		places[j] = placeOf(e)
	}
	var zero T
	if _, keyed := show.Key(zero); !keyed && !distinct(places) {
		return "" // of several keys: no order among them
	}
	for _, s := range sequences(got, want) {
		switch s.search(places, fits) {
		case found:
			continue
		case gaveUp:
			return "there are too many panes of " + s.name + " to compare their order; use passert.That"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "panes of %s came in another order\nwant", s.name)
		for _, i := range s.want {
			fmt.Fprintf(&b, "\n\t%v", want[i])
		}
		return b.String() + listing(got)
	}
	return ""
}

// A place is where an element stands in the order of panes: a withdrawal behind
// what it takes back, whose pane it has, and before the next.
type place struct {
	window pcoll.Window
	index  int64
}

func placeOf[T any](e Element[T]) place {
	p := place{e.Window, 2 * e.Pane.Index}
	if e.Kind.Withdrawal() {
		p.index++
	}
	return p
}

// distinct reports whether no window has two elements of one pane index.
func distinct(places []place) bool {
	seen := map[place]bool{}
	for _, p := range places {
		if seen[p] {
			return false
		}
		seen[p] = true
	}
	return true
}

// A sequence is the elements of one key and what is expected of it, by number.
type sequence struct {
	name string
	got  []int
	want []int
}

func sequences[T any](got []Element[T], want []Fired[T]) (order []*sequence) {
	byKey := map[string]*sequence{}
	of := func(v T) *sequence {
		key, keyed := show.Key(v)
		s := byKey[key]
		if s == nil {
			s = &sequence{name: "the collection"}
			if keyed {
				s.name = "key " + key
			}
			byKey[key] = s
			order = append(order, s)
		}
		return s
	}
	for i, f := range want {
		s := of(f.v)
		s.want = append(s.want, i)
	}
	for j, e := range got {
		s := of(e.Value)
		s.got = append(s.got, j)
	}
	return order
}

// An outcome is what a search came to.
type outcome int

const (
	notFound outcome = iota
	found
	gaveUp
)

// maxTries bounds the search, which only many panes that look alike make long.
const maxTries = 1 << 18

// search looks for a way to give each expectation, in order, an element that
// meets it and that has no earlier pane of its window left.
func (s *sequence) search(places []place, fits [][]bool) outcome {
	used, dead, tries := make([]byte, len(s.got)), map[string]bool{}, 0
	var from func(k int) outcome
	from = func(k int) outcome {
		if k == len(s.want) {
			return found
		}
		if dead[string(used)] {
			return notFound
		}
		if tries++; tries > maxTries {
			return gaveUp
		}
		for a, j := range s.got {
			if used[a] != 0 || !fits[s.want[k]][j] || !s.next(places, used, j) {
				continue
			}
			used[a] = 1
			if o := from(k + 1); o != notFound {
				return o
			}
			used[a] = 0
		}
		dead[string(used)] = true
		return notFound
	}
	return from(0)
}

// next reports whether no pane of j's window with a lower index is unused.
func (s *sequence) next(places []place, used []byte, j int) bool {
	for a, i := range s.got {
		if used[a] == 0 && places[i].window == places[j].window && places[i].index < places[j].index {
			return false
		}
	}
	return true
}
