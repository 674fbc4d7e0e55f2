package timers

import (
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// An EventTime timer fires when the watermark is past the time it is set to.
type EventTime struct{ h handle }

// Set sets the timer to fire at t, rounded down to a millisecond. To set it past
// the expiry of the window, its end and allowed lateness, is an error; a time that the
// watermark has passed already is not: the timer fires at the end of the bundle.
func (e *EventTime) Set(c *pcoll.Context, t time.Time, opts ...Option) { e.h.set(c, t, opts) }

// SetAfter sets the timer to fire when the watermark has advanced by more than d, but no
// later than at the expiry of the window.
func (e *EventTime) SetAfter(c *pcoll.Context, d time.Duration, opts ...Option) {
	e.h.setAfter(c, d, opts)
}

// Clear removes the setting without a tag.
func (e *EventTime) Clear(c *pcoll.Context) { e.h.clear(c, "") }

// ClearTag removes the setting with a tag.
func (e *EventTime) ClearTag(c *pcoll.Context, tag string) { e.h.clear(c, tag) }

// Now returns the watermark of the input: before the first, the start of time.
func (e *EventTime) Now(c *pcoll.Context) time.Time { return e.h.now(c) }

// Fired reports whether f is a firing of this timer.
func (e *EventTime) Fired(f Firing) bool { return e.h.fired(f) }

func (e *EventTime) handle() (*handle, bool) { return &e.h, true }

// A ProcessingTime timer fires when the clock is past the time it is set to.
type ProcessingTime struct{ h handle }

// Set sets the timer to fire at t of the clock that [ProcessingTime.Now] reads, rounded down to a
// millisecond. A time that is past already fires at the end of the bundle.
func (p *ProcessingTime) Set(c *pcoll.Context, t time.Time, opts ...Option) { p.h.set(c, t, opts) }

// SetAfter sets the timer to fire when more than d has passed.
func (p *ProcessingTime) SetAfter(c *pcoll.Context, d time.Duration, opts ...Option) {
	p.h.setAfter(c, d, opts)
}

// Clear removes the setting without a tag.
func (p *ProcessingTime) Clear(c *pcoll.Context) { p.h.clear(c, "") }

// ClearTag removes the setting with a tag.
func (p *ProcessingTime) ClearTag(c *pcoll.Context, tag string) { p.h.clear(c, tag) }

// Now returns the time of the clock, which tests control.
func (p *ProcessingTime) Now(c *pcoll.Context) time.Time { return p.h.now(c) }

// Fired reports whether f is a firing of this timer.
func (p *ProcessingTime) Fired(f Firing) bool { return p.h.fired(f) }

func (p *ProcessingTime) handle() (*handle, bool) { return &p.h, false }

// A Firing is what OnTimer is told of the timer that fires.
type Firing struct {
	At    time.Time // that it was set to
	Tag   string    // of the setting; empty without one
	name  string
	owner Owner
	field int
}

// Name returns the timer's name, as its field's tag gives it.
func (f Firing) Name() string { return f.name }

// An Option says more of a setting.
type Option struct {
	kind optionKind
	tag  string
	at   exec.Time
	bad  bool // a time that is none
	d    time.Duration
}

type optionKind uint8

const (
	tagged optionKind = iota
	outputAt
	noHold
	aligned
)

// Tag makes the setting one of its own beside those with other tags: a
// timer can so be set to any number of times at once.
func Tag(tag string) Option { return Option{kind: tagged, tag: tag} }

// OutputAt gives the setting the output time t, rounded down to a millisecond: not before the
// event time of the element or timer being processed, less transforms.AllowedSkew, and
// not after the expiry of the window.
func OutputAt(t time.Time) Option {
	return Option{kind: outputAt, at: exec.TimeOf(t), bad: t.IsZero()}
}

// NoHold gives the setting no output time: see the package documentation.
func NoHold() Option { return Option{kind: noHold} }

// Align makes SetAfter round the time up to a multiple of period since the Unix epoch.
func Align(period time.Duration) Option { return Option{kind: aligned, d: period} }
