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
	caught  bool // nothing unread, since the time beside
	since   exec.Time
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

// Observe notes the event time of an element that was read.
func (s *Split) Observe(p *Policy, t exec.Time) {
	s.caught, s.idle = false, false
	if t > s.limit {
		s.Futures++
		return
	}
	if w := t.Add(-p.Disorder); w > s.wm && !p.AtEnd {
		s.wm = w
	}
}

// Set raises the watermark to one that the reader knows by itself.
func (s *Split) Set(w exec.Time) { s.wm = max(s.wm, min(w, exec.MaxTime)) }

// CaughtUp notes, at processing time now, whether the reader confirmed that
// nothing is unread. Only time throughout which that was so counts as idle.
func (s *Split) CaughtUp(p *Policy, yes bool, now exec.Time) {
	if !yes {
		s.caught, s.idle = false, false
		return
	}
	if !s.caught {
		s.caught, s.since = true, now
	}
	if p.IdleAfter >= 0 && now >= s.since.Add(p.IdleAfter) {
		s.idle = true
	}
}

// IdleAt returns when the split will be idle if nothing is read until then, or Idle.
func (s *Split) IdleAt(p *Policy) exec.Time {
	if !s.caught || s.idle || p.IdleAfter < 0 || s.ended {
		return exec.Idle
	}
	return s.since.Add(p.IdleAfter)
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
