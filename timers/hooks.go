package timers

// This file is how transforms.StatefulParDo finds timer fields and is told of
// settings. Its signatures name internal types, so that other modules cannot
// use it by accident.

import (
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Field is a pointer to a timer field.
type Field interface {
	handle() (h *handle, event bool)
}

// IsEvent reports whether a field is a timer of event time.
func IsEvent(f Field) bool {
	_, event := f.handle()
	return event
}

// Bind ties field number i of a worker's copy to what keeps its settings.
func Bind(f Field, o Owner, i int) {
	h, event := f.handle()
	*h = handle{o, i, event}
}

// An Owner keeps the settings of the timers of one function on one worker.
type Owner interface {
	// SetTimer makes or replaces a setting of the key and window being processed. What is
	// wrong with it fails the run.
	SetTimer(x *exec.Ctx, s Setting)
	// ClearTimer removes a setting.
	ClearTimer(x *exec.Ctx, field int, tag string)
	// TimerNow returns the input watermark, or processing time.
	TimerNow(event bool) exec.Time
}

// A Setting is a timer that is set.
type Setting struct {
	Field     int
	Tag       string
	At        exec.Time
	Relative  bool // At was computed from now, and is limited to the expiry of the window
	Output    exec.Time
	HasOutput bool
	NoHold    bool
}

// NewFiring returns the firing of a timer.
func NewFiring(o Owner, field int, name, tag string, at exec.Time) Firing {
	return Firing{At: at.Time(), Tag: tag, name: name, owner: o, field: field}
}

type handle struct {
	owner Owner
	field int
	event bool
}

func (h *handle) fired(f Firing) bool {
	return h.owner != nil && h.owner == f.owner && h.field == f.field
}

var errUnbound = errors.New("a timer field was used that is not one of the worker's own function; " +
	"use it through the receiver of Process and OnTimer, and do not copy timer fields")

// enter returns the worker's context, or nil after failing the run.
func (h *handle) enter(c *pcoll.Context) *exec.Ctx {
	x, _ := c.Exec()
	if h.owner == nil {
		x.Fail(errUnbound)
		return nil
	}
	return x
}

func (h *handle) set(c *pcoll.Context, t time.Time, opts []Option) {
	x := h.enter(c)
	if x == nil {
		return
	}
	s, align, err := h.setting(opts)
	switch {
	case err == nil && t.IsZero():
		err = errors.New("a timer was set to the zero time.Time; give it a time, or use Clear")
	case err == nil && align != 0:
		err = errors.New("a timer that is set to a time is not aligned; use Align with SetAfter")
	}
	if err != nil {
		x.Fail(err)
		return
	}
	s.At = exec.TimeOf(t)
	h.owner.SetTimer(x, s)
}

func (h *handle) setAfter(c *pcoll.Context, d time.Duration, opts []Option) {
	x := h.enter(c)
	if x == nil {
		return
	}
	s, align, err := h.setting(opts)
	if err == nil && d < 0 {
		err = fmt.Errorf("a timer was set to fire after %v; want a time that is not negative", d)
	}
	if err != nil {
		x.Fail(err)
		return
	}
	s.Relative = true
	s.At = alignUp(h.owner.TimerNow(h.event).Add(d.Milliseconds()), align)
	h.owner.SetTimer(x, s)
}

// alignUp returns the first multiple of ms at or after t; of 0, t.
func alignUp(t exec.Time, ms int64) exec.Time {
	if ms == 0 {
		return t
	}
	over := int64(t) % ms
	if over < 0 {
		over += ms
	}
	if over == 0 {
		return t
	}
	return t.Add(ms - over)
}

// setting reads options; align is in ms.
func (h *handle) setting(opts []Option) (s Setting, align int64, err error) {
	s.Field = h.field
	for _, o := range opts {
		switch o.kind {
		case tagged:
			s.Tag = o.tag
		case outputAt:
			s.Output, s.HasOutput, s.NoHold = o.at, true, false
			if o.bad {
				err = errors.New("a timer was given the zero time.Time as its output time; give it a time, or use NoHold")
			}
		case noHold:
			s.NoHold, s.HasOutput = true, false
		case aligned:
			if align = o.d.Milliseconds(); align < 1 || o.d%time.Millisecond != 0 {
				err = fmt.Errorf("a timer cannot be aligned to %v; want a whole number of milliseconds, at least one", o.d)
			}
		}
	}
	return s, align, err
}

func (h *handle) clear(c *pcoll.Context, tag string) {
	if x := h.enter(c); x != nil {
		h.owner.ClearTimer(x, h.field, tag)
	}
}

func (h *handle) now(c *pcoll.Context) time.Time {
	if h.enter(c) == nil {
		return time.Time{}
	}
	return h.owner.TimerNow(h.event).Time()
}
