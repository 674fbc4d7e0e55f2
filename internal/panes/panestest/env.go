// Package panestest is what tests and tools need to drive a form of package
// panes on its own: an Env with a clock that is set by hand and stores that can
// be carried over to another one, and a folder that keeps all elements.
package panestest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
)

// Env is an exec.Env of one operator on one worker.
type Env struct {
	// Clock is the processing time.
	Clock exec.Time
	// Wake is the earliest request of WakeAt that is still ahead of the clock
	// it was made at; exec.Idle if there was none.
	Wake exec.Time

	names    []string
	stores   map[string]exec.Store
	counters map[string]*exec.Counter
}

// NewEnv returns an Env whose clock is at 0.
func NewEnv() *Env {
	return &Env{Wake: exec.Idle, stores: map[string]exec.Store{}, counters: map[string]*exec.Counter{}}
}

// Op returns 0.
func (e *Env) Op() int32 { return 0 }

// Worker returns the only worker.
func (e *Env) Worker() (i, n int) { return 0, 1 }

// Context returns a context that is never done.
func (e *Env) Context() context.Context { return context.Background() }

// Now returns Clock.
func (e *Env) Now() exec.Time { return e.Clock }

// WakeAt notes t in Wake.
func (e *Env) WakeAt(t exec.Time) { e.Wake = min(e.Wake, t) }

// Waker returns a function that does nothing.
func (e *Env) Waker() func() { return func() {} }

// Go does the work at once.
func (e *Env) Go(work func(ctx context.Context), done func(err error)) {
	work(e.Context())
	done(nil)
}

// Pause does not wait.
func (e *Env) Pause(ctx context.Context, _ int64) error { return ctx.Err() }

// Keep registers a store; a name that is taken panics.
func (e *Env) Keep(name string, s exec.Store) {
	if e.stores[name] != nil {
		panic("panestest: store " + name + " is registered twice")
	}
	e.names = append(e.names, name)
	e.stores[name] = s
}

// Aligned returns false; callers choose the form themselves.
func (e *Env) Aligned() bool { return false }

// Counter returns the counter of that name.
func (e *Env) Counter(name string) *exec.Counter {
	if e.counters[name] == nil {
		e.counters[name] = &exec.Counter{}
	}
	return e.counters[name]
}

// Distribution returns one that nobody reads.
func (e *Env) Distribution(string) *exec.Distribution { return &exec.Distribution{} }

// Log returns a logger that discards.
func (e *Env) Log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// CopyTo restores the kept stores of e, all key groups of them, into those of
// to, which has the same ones, and its clock and counters.
func (e *Env) CopyTo(to *Env) error {
	if !slices.Equal(e.names, to.names) {
		return fmt.Errorf("panestest: stores %v cannot be restored into %v", e.names, to.names)
	}
	for _, name := range e.names {
		for g := range exec.KeyGroups {
			enc, err := e.stores[name].Snapshot([]byte("head"), g)
			if err != nil {
				return fmt.Errorf("panestest: store %s, key group %d: %w", name, g, err)
			}
			enc, ok := bytes.CutPrefix(enc, []byte("head"))
			if !ok {
				return fmt.Errorf("panestest: store %s, key group %d: Snapshot did not append", name, g)
			}
			if err := to.stores[name].Restore(enc); err != nil {
				return fmt.Errorf("panestest: store %s, key group %d: %w", name, g, err)
			}
		}
	}
	to.Clock = e.Clock
	for name, c := range e.counters {
		to.Counter(name).N = c.N
	}
	return nil
}
