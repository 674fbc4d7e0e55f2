package vectors

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
)

// Judge compares the outcomes of all steps of a case, one for each, with what
// the case expects. It reports the first difference. Where the case says which
// error it must lead to, it reports that this error did not come.
func Judge(c *Case, steps []Outcome) error {
	err := judge(c, steps)
	switch {
	case c.Error == "":
		return err
	case err == nil:
		return fmt.Errorf("it passed, but must fail with %q", c.Error)
	case !strings.Contains(err.Error(), c.Error):
		return fmt.Errorf("it must fail with %q, but failed with: %w", c.Error, err)
	}
	return nil
}

func judge(c *Case, steps []Outcome) error {
	if len(steps) != len(c.Steps) {
		return fmt.Errorf("%d outcomes for %d steps", len(steps), len(c.Steps))
	}
	var seen history
	var got []Emitted // since the last expectation
	var want []Pane   // of neighbouring expectations, which are one
	expecting := false
	for i, s := range c.Steps {
		o := steps[i]
		if err := seen.add(o.Panes); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		switch s.Kind {
		case Expect:
			want, expecting = append(want, s.Panes...), true
		case DroppedLate:
			if o.DroppedLate != s.Count {
				return fmt.Errorf("step %d: %d elements dropped as late, want %d", i, o.DroppedLate, s.Count)
			}
		case DroppedClosed:
			if o.DroppedClosed != s.Count {
				return fmt.Errorf("step %d: %d elements dropped since the trigger had finished, want %d", i, o.DroppedClosed, s.Count)
			}
		case Input, Watermark, Clock:
			if expecting {
				if err := match(c, want, got); err != nil {
					return fmt.Errorf("before step %d: %w", i, err)
				}
				want, got, expecting = nil, nil, false
			}
		}
		got = append(got, o.Panes...)
	}
	if err := match(c, want, got); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// history checks that panes of one window come in index order. A window that
// merged away and came again starts again.
type history map[exec.Window]int64

func (h *history) add(panes []Emitted) error {
	if *h == nil {
		*h = history{}
	}
	for _, p := range panes {
		if i := p.Pane.Index; i != 0 && i != (*h)[p.Window] {
			//lint:ignore ST1005 this is the text that Beam's transcripts expect
			return fmt.Errorf("Unexpected output: pane %v comes where index %d is next", p, (*h)[p.Window])
		}
		(*h)[p.Window] = p.Pane.Index + 1
	}
	return nil
}

// maxTries bounds the search for a way to match panes.
const maxTries = 1 << 20

// match finds for each pane that is wanted another one that was got, those of
// one window in the same order.
func match(c *Case, want []Pane, got []Emitted) error {
	m := matcher{c: c, want: want, got: got, by: make([]int, len(got)), tries: maxTries}
	for i := range m.by {
		m.by[i] = -1
	}
	if !m.from(0) {
		if m.tries <= 0 {
			//lint:ignore ST1005 this is the text that Beam's transcripts expect
			return errors.New("Unmatched output: too many ways to match the expected panes")
		}
		//lint:ignore ST1005 this is the text that Beam's transcripts expect
		return fmt.Errorf("Unmatched output: want %v, got %v", want[m.deepest], describe(got))
	}
	for i, by := range m.by {
		if by < 0 {
			//lint:ignore ST1005 this is the text that Beam's transcripts expect
			return fmt.Errorf("Unexpected output: %v", got[i])
		}
	}
	return nil
}

func describe(got []Emitted) string {
	if len(got) == 0 {
		return "no pane"
	}
	var s []string
	for _, g := range got {
		s = append(s, g.String())
	}
	return strings.Join(s, ", ")
}

type matcher struct {
	c       *Case
	want    []Pane
	got     []Emitted
	by      []int // which wanted pane a pane is taken for
	deepest int
	tries   int
}

func (m *matcher) from(i int) bool {
	if i == len(m.want) {
		return true
	}
	m.deepest = max(m.deepest, i)
	for j := range m.got {
		if m.tries--; m.tries <= 0 {
			return false
		}
		if m.by[j] < 0 && m.inOrder(j) && m.want[i].matches(m.c, m.got[j]) {
			m.by[j] = i
			if m.from(i + 1) {
				return true
			}
			m.by[j] = -1
		}
	}
	return false
}

// inOrder reports that no later pane of the same window is taken already.
func (m *matcher) inOrder(j int) bool {
	for k := j + 1; k < len(m.got); k++ {
		if m.by[k] >= 0 && m.got[k].Window == m.got[j].Window {
			return false
		}
	}
	return true
}

func (p *Pane) matches(c *Case, e Emitted) bool {
	if p.Values != nil {
		want, got := slices.Sorted(slices.Values(*p.Values)), slices.Sorted(slices.Values(e.Values))
		if !slices.Equal(want, got) {
			return false
		}
	}
	whole := func(t exec.Time) exec.Time { return t - (t%exec.Time(c.Unit)+exec.Time(c.Unit))%exec.Time(c.Unit) }
	return (p.Window == nil || *p.Window == e.Window) &&
		(p.Time == nil || whole(*p.Time) == whole(e.Time)) &&
		(p.Timing == nil || *p.Timing == e.Pane.Timing) &&
		!slices.Contains(p.NotTiming, e.Pane.Timing) &&
		(p.First == nil || *p.First == e.Pane.First) &&
		(p.Last == nil || *p.Last == e.Pane.Last) &&
		(p.Index == nil || *p.Index == e.Pane.Index) &&
		(p.NonSpeculative == nil || *p.NonSpeculative == e.Pane.NonSpeculative)
}
