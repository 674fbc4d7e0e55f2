package exec

import "context"

// Ctx is the context of the element that a worker is processing: one mutable
// struct for each worker. Whoever changes a per-element field restores it
// before returning; an operator that fans out restores it between consumers.
type Ctx struct {
	Time   Time
	Window Window
	Pane   Pane
	Kind   Kind

	// Full is set by a Writer whose queue has no room. Feed, Poll and Advance
	// look at it between elements or firings and stop early; an Input never
	// refuses.
	Full bool

	// Op is the operator whose user code runs: written on every entry to user
	// code, read when that code panics or fails.
	Op int32

	// Err is the first failure; it is sticky and ends the run.
	Err error

	// Context is done when the run is cancelled.
	Context context.Context
}

// NewCtx returns a context at the start of time in the global window.
func NewCtx(ctx context.Context) *Ctx {
	return &Ctx{Time: MinTime, Window: Global, Pane: NoFiring, Context: ctx, Op: -1}
}

// Fail records the first failure of the run. It is attributed to the current
// operator, element time and window.
func (c *Ctx) Fail(err error) {
	if c.Err == nil && err != nil {
		c.Err = &ElementError{Op: c.Op, Time: c.Time, Window: c.Window, Err: err}
	}
}

// An ElementError is a failure together with the element it happened on. A
// runner replaces the operator's number by its name when it reports it.
type ElementError struct {
	Op     int32
	Time   Time
	Window Window
	Stack  []byte // of a panic
	Err    error
}

// Error describes the failure without the operator's name.
func (e *ElementError) Error() string {
	s := "element time " + e.Time.String() + ", window " + e.Window.String() + ": " + e.Err.Error()
	if len(e.Stack) > 0 {
		s += "\n" + string(e.Stack)
	}
	return s
}

// Unwrap returns the cause.
func (e *ElementError) Unwrap() error { return e.Err }
