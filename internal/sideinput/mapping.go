package sideinput

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// mapping finds side windows for main windows.
type mapping struct {
	fn  strategy.WindowFn
	buf []exec.Window
}

// of returns the side window of a main one; ok is false where there is none.
func (m *mapping) of(main exec.Window) (w exec.Window, ok bool) {
	m.buf = m.fn.Assign(m.buf[:0], main.Max())
	for i, x := range m.buf {
		if i == 0 || x.Compare(w) < 0 {
			w = x
		}
	}
	return w, len(m.buf) > 0
}

// isGlobal reports whether all elements are in the global window.
func isGlobal(fn strategy.WindowFn) bool { return fn == strategy.WindowFn(strategy.GlobalWindows{}) }

// settled returns the watermark past which a window without a pane is empty.
func settled(s *strategy.Strategy, w exec.Window) exec.Time {
	return min(guaranteed(s.Trigger, w.Max()), s.Expiry(w))
}

// guaranteed returns the watermark past which the trigger has fired if there
// were elements in time in a window with that end (Beam's
// getWatermarkThatGuaranteesFiring), or MaxTime if no watermark says so.
func guaranteed(t *strategy.Trigger, end exec.Time) exec.Time {
	switch t.Kind {
	case strategy.OnDefault, strategy.OnWatermark, strategy.OnAlways:
		return end
	case strategy.OnRepeatedly, strategy.OnEach:
		return guaranteed(t.Subs[0], end)
	case strategy.OnAny, strategy.OnOrFinally:
		first := exec.MaxTime
		for _, s := range t.Subs {
			first = min(first, guaranteed(s, end))
		}
		return first
	case strategy.OnAll:
		last := exec.MinTime
		for _, s := range t.Subs {
			last = max(last, guaranteed(s, end))
		}
		return last
	}
	return exec.MaxTime
}

// homeOf returns the first key group of worker i of n: what belongs to the
// worker and to no key is kept with it.
func homeOf(i, n int) int { return min((i*exec.KeyGroups+n-1)/n, exec.KeyGroups-1) }
