package host

import (
	"errors"
	"fmt"
	"runtime/debug"

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
		if r != nil {
			err, ok := r.(error)
			if !ok {
				err = fmt.Errorf("%v", r)
			}
			if c.Err == nil {
				c.Err = &exec.ElementError{Op: c.Op, Time: c.Time, Window: c.Window,
					Err: fmt.Errorf("panic: %w", err), Stack: debug.Stack()}
			}
		}
	}()
	f()
	returned = true
}

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
