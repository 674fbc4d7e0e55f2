package host

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/penstock-dev/penstock/internal/exec"
)

// ErrExit is the failure of user code that ended its goroutine.
var ErrExit = errors.New("the function ended the goroutine that called it (runtime.Goexit; a test's FailNow, Fatal or Skip does that): return an error instead")

// Guard calls f and turns a panic of user code into c's failure, with the stack.
// That f ends the goroutine cannot be prevented, only noted.
func Guard(c *exec.Ctx, f func()) {
	returned := false
	defer func() {
		r := recover()
		if r == nil && !returned {
			r = ErrExit
		}
		if r != nil && c.Err == nil {
			c.Err = &exec.ElementError{Op: c.Op, Time: c.Time, Window: c.Window, Err: panicked(r), Stack: debug.Stack()}
		}
	}()
	f()
	returned = true
}

func panicked(r any) error {
	if err, ok := r.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", r)
}

// Recover calls f and returns a panic of it as an error, with the stack.
func Recover(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w\n%s", panicked(r), debug.Stack())
		}
	}()
	f()
	return nil
}

// A Crew is the goroutines that run work beside workers.
type Crew struct{ all sync.WaitGroup }

// Go runs f in a goroutine of its own.
func (w *Crew) Go(f func()) { w.all.Go(f) }

// Wait waits until all that Go was given has returned.
func (w *Crew) Wait() { w.all.Wait() }

// Locate puts the name of the transform in front of a failure, or of each of
// several that were joined; name maps operator numbers.
func Locate(err error, name func(op int32) string) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var located []error
		for _, e := range all.Unwrap() {
			located = append(located, Locate(e, name))
		}
		return errors.Join(located...)
	}
	if e, ok := errors.AsType[*exec.ElementError](err); ok {
		return fmt.Errorf("%s: %w", name(e.Op), err)
	}
	return err
}
