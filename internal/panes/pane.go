package panes

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// nextPane returns the next pane of a window, after panes emitted ones of which
// late were not early, and whether to emit it. ended says that the input
// watermark is past the window, passed that the key's output watermark is.
// Suppressed panes do not count.
func nextPane(s *strategy.Strategy, panes, late uint32, ended, passed, finished, empty bool) (p exec.Pane, emit bool) {
	p = exec.Pane{Index: int64(panes), NonSpeculative: int64(late), First: panes == 0, Last: finished}
	switch {
	case passed || late > 0:
		p.Timing = exec.Late
	case !ended:
		p.Timing, p.NonSpeculative = exec.Early, -1
	default:
		p.Timing = exec.OnTime
	}
	emit = !empty || p.Timing == exec.OnTime && !s.OnTimeIfNonEmpty || finished && s.ClosingAlways
	return p, emit
}

// output calls f as for an element of window w and puts the context back.
func output(c *exec.Ctx, t exec.Time, w exec.Window, p exec.Pane, f func()) {
	c0 := *c
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, exec.Insert
	f()
	c.Time, c.Window, c.Pane, c.Kind, c.Op = c0.Time, c0.Window, c0.Pane, c0.Kind, c0.Op
}

// check panics on a strategy that construction must have refused.
func check(s *strategy.Strategy) {
	if err := s.Trigger.Check(); err != nil {
		panic("panes: strategy that was not checked at construction: " + err.Error())
	}
}

// drops counts what is dropped.
type drops struct{ late, closed, nowhere *exec.Counter }

func newDrops(env exec.Env) drops {
	return drops{env.Counter(exec.DroppedLate), env.Counter(exec.DroppedClosed), env.Counter(exec.NoWindow)}
}

func (d drops) count(n int64, closed bool) {
	if closed {
		d.closed.Add(n)
	} else {
		d.late.Add(n)
	}
}
