// Package progress computes watermarks: of a source from its splits, and of an
// operator from its inputs. It is pure: times go in, times come out.
package progress

import "github.com/penstock-dev/penstock/internal/exec"

// Min returns the least of the watermarks, ignoring idle ones; it is Idle when
// all are.
func Min(ws []exec.Time) exec.Time {
	low := exec.Idle
	for _, w := range ws {
		low = min(low, w)
	}
	return low
}

// A Policy says how a split's watermark follows from the times of its elements.
type Policy struct {
	// Disorder is how far, in ms, an element may lie behind the newest one of its split.
	Disorder int64
	// IdleAfter is how long, in ms of processing time, a split must be known to
	// have nothing unread before it stops holding the watermark; negative: never.
	IdleAfter int64
	// MaxFuture is how far, in ms, ahead of processing time an element may be
	// stamped and still move the watermark; negative: any.
	MaxFuture int64
	// AtEnd keeps the watermark at the start of time until the split ends.
	AtEnd bool
}

// A Split tracks one split of a source. It holds the source's watermark at the
// start of time until it has something to say.
type Split struct {
	wm      exec.Time
	caught  bool      // nothing was unread
	since   exec.Time // from then
	asked   exec.Time // until then
	idle    bool
	ended   bool
	limit   exec.Time // newest time that may move the watermark
	Futures int64     // elements beyond the limit
}

// NewSplit returns the tracker of a split that was just assigned.
func NewSplit() *Split { return &Split{wm: exec.MinTime} }

// Begin starts a batch of observations at processing time now.
func (s *Split) Begin(p *Policy, now exec.Time) {
	s.limit = exec.MaxTime
	if p.MaxFuture >= 0 {
		s.limit = now.Add(p.MaxFuture)
	}
}

// Unread notes that there was something unread: the split is not idle.
func (s *Split) Unread() { s.caught, s.idle = false, false }

// Observe notes the event time of an element that was read.
func (s *Split) Observe(p *Policy, t exec.Time) {
	s.Unread()
	if t > s.limit {
		s.Futures++
		return
	}
	if w := t.Add(-p.Disorder); w > s.wm && !p.AtEnd {
		s.wm = w
	}
}

// Set raises the watermark to one that the reader knows by itself. It takes the
// place of Observe, where elements only count as Unread.
func (s *Split) Set(p *Policy, w exec.Time) {
	if !p.AtEnd {
		s.wm = max(s.wm, min(w, exec.MaxTime))
	}
}

// CaughtUp notes what the reader said when it was asked at processing time now:
// whether nothing is unread. Only time throughout which that was so counts as
// idle, and between two answers that are too far apart nobody knows: a reader
// that could not be asked because a consumer was slow may have been unable to
// look, too. The count begins anew then.
func (s *Split) CaughtUp(p *Policy, yes bool, now exec.Time) {
	if !yes {
		s.Unread()
		return
	}
	if !s.caught || !s.idle && now > s.asked.Add(max(p.IdleAfter/2, minGap)) {
		s.caught, s.since = true, now
	}
	s.asked = now
	if p.IdleAfter >= 0 && now >= s.since.Add(p.IdleAfter) {
		s.idle = true
	}
}

// minGap is how far apart, in ms, answers may be however short the idle timeout is.
const minGap = 100

// AskAt returns when the reader has to be asked again, if nothing wakes it before, so
// that the split becomes idle in time; Idle if it cannot.
func (s *Split) AskAt(p *Policy) exec.Time {
	if !s.caught || s.idle || p.IdleAfter < 0 || s.ended {
		return exec.Idle
	}
	return min(s.since.Add(p.IdleAfter), s.asked.Add(max(p.IdleAfter/4, minGap/2)))
}

// End notes that no element will come any more.
func (s *Split) End() { s.ended = true }

// Watermark returns the split's watermark: Idle while it is idle, the end of
// time after its end.
func (s *Split) Watermark() exec.Time {
	switch {
	case s.ended:
		return exec.MaxTime
	case s.idle:
		return exec.Idle
	}
	return s.wm
}

// Low returns the split's watermark whether it is idle or not, for display.
func (s *Split) Low() exec.Time { return s.wm }

// IsIdle reports whether the split is left out of the minimum.
func (s *Split) IsIdle() bool { return s.idle && !s.ended }

// A Source combines the splits of one worker. Its watermark never goes back.
type Source struct{ wm exec.Time }

// NewSource returns a source at the start of time.
func NewSource() *Source { return &Source{wm: exec.MinTime} }

// Last returns what Watermark last raised the source's watermark to.
func (s *Source) Last() exec.Time { return s.wm }

// Watermark returns the source's watermark: the least of its splits' that are
// not idle, Idle if all are, the end of time if all have ended and no further
// split can come. Before it says Idle it says where the furthest split came to,
// and again is true: it is as if that one had become idle after the others.
func (s *Source) Watermark(splits []*Split, complete bool) (wm exec.Time, again bool) {
	low, far, ended := exec.Idle, exec.MinTime, true
	for _, sp := range splits {
		ended = ended && sp.ended
		if !sp.ended {
			low, far = min(low, sp.Watermark()), max(far, sp.wm)
		}
	}
	switch {
	case ended && complete:
		s.wm = exec.MaxTime
	case low != exec.Idle:
		s.wm = max(s.wm, low)
	case far > s.wm:
		s.wm = far
		return s.wm, true
	default:
		return exec.Idle, false // all that could still deliver are idle, or none is assigned yet
	}
	return s.wm, false
}
