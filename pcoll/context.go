package pcoll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

type (
	// A Time is an instant of event time in milliseconds since the Unix epoch.
	Time = exec.Time
	// A Window is a half-open interval of event time, [Start, End).
	Window = exec.Window
	// A Pane is one firing of a window.
	Pane = exec.Pane
	// Timing says where a pane stands relative to the watermark.
	Timing = exec.Timing
)

// The timings of a [Pane]. A pane is Unknown before the first grouping.
const (
	Early   = exec.Early
	OnTime  = exec.OnTime
	Late    = exec.Late
	Unknown = exec.Unknown
)

// Global is the window that holds all of time.
var Global = exec.Global

// Context describes the element being processed. It is valid only until the
// call that received it returns and belongs to one worker.
type Context struct {
	x    *exec.Ctx
	env  exec.Env
	skew int64 // how far, in ms, an output may go back behind its input
	free bool  // no element is being processed: outputs need an explicit time
	over bool  // the call that received it has returned; only set under a Keeper
	last *Context
	keep Keeper // nil in production
}

// Context returns a context.Context that is done when the run ends.
func (c *Context) Context() context.Context { return c.x.Context }

// EventTime returns the timestamp of the element.
func (c *Context) EventTime() time.Time { return c.element().Time.Time() }

// Window returns the window of the element.
func (c *Context) Window() Window { return c.element().Window }

// Pane returns the firing that produced the element.
func (c *Context) Pane() Pane { return c.element().Pane }

// element returns the worker's context for reading what the element is like.
func (c *Context) element() *exec.Ctx {
	if c.over {
		c.keep.ContextKept()
	}
	return c.x
}

// Worker returns the number of the worker, from 0, and how many there are.
func (c *Context) Worker() (i, n int) { return c.env.Worker() }

// Log returns a logger that carries the transform's name and the worker.
func (c *Context) Log() *slog.Logger { return c.env.Log() }

// Emit sends one element downstream. Called as a function it keeps time, window
// and pane of the element being processed.
type Emit[T any] func(c *Context, v T)

// At emits v with the event time t. It is an error, which fails the run, for t
// to lie before the input element's time by more than the transform's allowed
// skew: downstream it could be late. Where no element is being processed there
// is no window to keep either: use In.
func (e Emit[T]) At(c *Context, t time.Time, v T) {
	if c.free {
		e(c, v) // which fails
		return
	}
	if c.timeless(t) {
		return
	}
	old, at := c.x.Time, exec.TimeOf(t)
	if at < old.Add(-c.skew) {
		c.x.Fail(fmt.Errorf("output time %v is before the input's time %v by more than the allowed skew of %d ms;"+
			" emit at the input's time or later, or use transforms.AllowedSkew", at, old, c.skew))
		return
	}
	was := c.enter(at, c.x.Window)
	e(c, v)
	c.leave(was)
}

// In emits v with the event time t into window w. It is the way to emit from
// FinishBundle, where no element is being processed.
func (e Emit[T]) In(c *Context, w Window, t time.Time, v T) {
	if c.over {
		c.keep.ContextKept()
		return
	}
	if c.timeless(t) {
		return
	}
	was := c.enter(exec.TimeOf(t), w)
	e(c, v)
	c.leave(was)
}

// timeless fails the run if t is the zero time.Time, which nobody means: it
// stands for a missing time, and would be one in year 1.
func (c *Context) timeless(t time.Time) bool {
	if t.IsZero() {
		c.x.Fail(errors.New("an element was emitted at the zero time.Time, which is no event time; give it one, or emit at the input's time"))
	}
	return t.IsZero()
}

// place is what At and In change for the time of an emit.
type place struct {
	time   Time
	window Window
	free   bool
}

func (c *Context) enter(t Time, w Window) place {
	was := place{c.x.Time, c.x.Window, c.free}
	c.x.Time, c.x.Window, c.free = t, w, false
	return was
}

func (c *Context) leave(was place) { c.x.Time, c.x.Window, c.free = was.time, was.window, was.free }

// A Metric counts; see [Counter].
type Metric = exec.Counter

// Counter returns the transform's counter of that name, which [Result] reports.
// Look it up once, in Setup, where each element counts.
func Counter(c *Context, name string) *Metric { return c.env.Counter("user:" + name) }

// Distribution returns the transform's distribution of that name, which [Result] reports.
func Distribution(c *Context, name string) *exec.Distribution {
	return c.env.Distribution("user:" + name)
}
