package modeltest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// This file says what must come out of a transform, given what went in, without
// a pipeline: it is what runs are held to beside each other.

// net returns elements less withdrawals.
func net(es []entry) (n int) {
	for _, e := range es {
		n += e.sign()
	}
	return n
}

// size returns how many elements the panes of a grouping hold: all of them, or, where
// they accumulate, those that came last.
func (p *probe) size() (n int) {
	if p.strategy.Mode != strategy.Accumulating {
		for _, e := range p.seen {
			n += e.sign() * e.n
		}
		return n
	}
	last := map[place]entry{}
	for _, e := range p.seen {
		at := place{e.key, e.window}
		if l, ok := last[at]; !ok || e.pane.Index >= l.pane.Index {
			last[at] = e
		}
	}
	for _, e := range last {
		n += e.n
	}
	return n
}

// groupingLaw checks that nothing was lost and nothing made up: what entered a grouping
// is in its panes or was dropped. Of accumulating panes the last one counts;
// where their windows merge, panes of what was merged away come on top, and
// nothing is said. Where windows merge and the trigger may finish, one that has
// finished finishes what merges into it (Beam's AfterCount), pending elements included.
func groupingLaw(p *probe) error {
	s, entered := p.strategy, net(p.entered)
	out := p.size()
	switch {
	case s.Merging() && s.Mode == strategy.Accumulating:
		return nil
	case s.Merging() && s.Unsafe() && (s.Mode == strategy.Retracting || out+p.dropped < entered):
		return nil
	case p.retracts && p.dropped > 0: // an element, its withdrawal, or both
		return nil
	case out+p.dropped != entered:
		return fmt.Errorf("%d elements entered windows, %d are in panes and %d were dropped", entered, out, p.dropped)
	}
	return nil
}

// keepLaw checks that what a function with state took, it gave.
func keepLaw(s *State) func(*probe) error {
	return func(p *probe) error {
		n := 0
		for _, e := range p.seen {
			n += e.n
		}
		if s.keeps() && n+p.dropped != len(p.entered) {
			return fmt.Errorf("%d elements entered, %d were emitted and %d were dropped", len(p.entered), n, p.dropped)
		}
		return nil
	}
}

// groups are the texts of a key and window, by side.
type groups [3][]string

// joinLaw checks that what a join says in the end is the join of all its input,
// less what was withdrawn, key by key and window by window. Where something was dropped
// nothing is said, because what was dropped does not tell its window.
func joinLaw(kind StepKind) func(*probe) error {
	return func(p *probe) error {
		merging := p.strategy.Merging()
		parts := p.strategy.Mode == strategy.Discarding && !p.strategy.OnePane() // no pane has all
		if p.dropped > 0 || parts || merging && !(p.bounded && sessions(p.strategy.Fn)) {
			return nil
		}
		in := map[place]*groups{}
		entered := standing(p.entered)
		if merging {
			entered = merged(entered)
		}
		for _, e := range entered {
			at := place{e.key, e.window}
			if in[at] == nil {
				in[at] = &groups{}
			}
			in[at][e.side] = append(in[at][e.side], e.text)
		}
		var want, got []string
		for at, g := range in {
			for _, text := range joinOf(kind, g) {
				want = append(want, fmt.Sprintf("%s in %v: %s", at.key, at.window, text))
			}
		}
		for _, e := range p.final() {
			if kind == CoGroup && e.text == cogrouped(nil, nil) || kind == CoGroup3 && e.text == cogrouped(nil, nil, nil) {
				continue
			}
			got = append(got, fmt.Sprintf("%s in %v: %s", e.key, e.window, e.text))
		}
		return differ("rows than the join of what entered has", want, got)
	}
}

// standing returns what was not withdrawn.
func standing(es []entry) (left []entry) {
	count := map[entry]int{}
	for _, e := range es {
		same := e
		same.kind, same.pane = exec.Insert, exec.Pane{}
		count[same] += e.sign()
	}
	for e, n := range count {
		for range n {
			left = append(left, e)
		}
	}
	return left
}

// final returns the rows that hold in the end: what was not withdrawn, or the last pane of each key and window.
func (p *probe) final() []entry {
	switch p.strategy.Mode {
	case strategy.Retracting:
		return standing(p.seen)
	case strategy.Discarding:
		return p.seen
	}
	last := map[place]int64{}
	for _, e := range p.seen {
		at := place{e.key, e.window}
		last[at] = max(last[at], e.pane.Index)
	}
	var rows []entry
	for _, e := range p.seen {
		if e.pane.Index == last[place{e.key, e.window}] {
			rows = append(rows, e)
		}
	}
	return rows
}

// sessions reports whether windows merge when they overlap.
func sessions(fn strategy.WindowFn) bool {
	switch fn.(type) {
	case strategy.SessionWindows, strategy.ElementSessions:
		return true
	}
	return false
}

// merged gives elements the sessions that they end in if none of them is late.
func merged(es []entry) []entry {
	slices.SortFunc(es, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.window.Start, b.window.Start))
	})
	from := 0
	for i := range es {
		if i > 0 && es[i].key == es[from].key && es[i].window.Start < es[from].window.End {
			es[from].window.End = max(es[from].window.End, es[i].window.End)
		} else {
			from = i
		}
		for k := from; k <= i; k++ {
			es[k].window = es[from].window
		}
	}
	return es
}

// joinOf returns the rows of a key and window.
func joinOf(kind StepKind, g *groups) (rows []string) {
	left, right := g[0], g[1]
	switch kind {
	case CoGroup:
		return []string{cogrouped(left, right)}
	case CoGroup3:
		return []string{cogrouped(left, right, g[2])}
	}
	for _, l := range left {
		for _, r := range right {
			rows = append(rows, joined(l, r))
		}
	}
	if len(right) == 0 && (kind == LeftJoin || kind == FullJoin) {
		for _, l := range left {
			rows = append(rows, joined(l, none))
		}
	}
	if len(left) == 0 && (kind == RightJoin || kind == FullJoin) {
		for _, r := range right {
			rows = append(rows, joined(none, r))
		}
	}
	return rows
}

// intervalLaw checks that an interval join gives each pair of what was not
// dropped whose times are right, and a row for what found no match. Nothing else decides.
func intervalLaw(st Step) func(*probe) error {
	return func(p *probe) error {
		if p.late == nil && p.dropped > 0 {
			return nil // nobody knows which
		}
		var sides [2]map[string][]entry
		for i := range sides {
			sides[i] = accepted(p, i)
		}
		var want, got []string
		row := func(key string, at exec.Time, text string) {
			want = append(want, fmt.Sprintf("%s: %s at %d", key, text, at))
		}
		for key, ls := range sides[0] {
			for _, l := range ls {
				found := false
				for _, r := range sides[1][key] {
					if d := int64(r.at - l.at); d >= st.Lower && d <= st.Upper {
						found = true
						row(key, max(l.at, r.at), joined(l.text, r.text))
					}
				}
				if !found && (st.Kind == LeftInterval || st.Kind == FullInterval) {
					row(key, l.at, joined(l.text, none))
				}
			}
		}
		for key, rs := range sides[1] {
			for _, r := range rs {
				found := slices.ContainsFunc(sides[0][key], func(l entry) bool {
					d := int64(r.at - l.at)
					return d >= st.Lower && d <= st.Upper
				})
				if !found && (st.Kind == RightInterval || st.Kind == FullInterval) {
					row(key, r.at, joined(none, r.text))
				}
			}
		}
		for _, e := range standing(p.seen) {
			got = append(got, fmt.Sprintf("%s: %s at %d", e.key, e.text, e.at))
		}
		return differ("rows than the interval join of what was accepted has", want, got)
	}
}

// accepted returns what entered by a side and was neither dropped nor withdrawn, by key.
func accepted(p *probe, side int) map[string][]entry {
	type elem struct {
		key, text string
		at        exec.Time
	}
	dropped := map[elem]int{}
	if p.late != nil {
		for _, e := range p.late[side].seen {
			dropped[elem{e.key, e.text, e.at}]++
		}
	}
	byKey := map[string][]entry{}
	for _, e := range standing(p.entered) {
		if e.side != side {
			continue
		}
		if x := (elem{e.key, e.text, e.at}); dropped[x] > 0 {
			dropped[x]--
			continue
		}
		byKey[e.key] = append(byKey[e.key], e)
	}
	return byKey
}
