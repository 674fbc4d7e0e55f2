package host

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/penstock-dev/penstock/internal/exec"
)

// Guard calls f and turns a panic of user code into c's failure, with the stack.
func Guard(c *exec.Ctx, f func()) {
	defer func() {
		if r := recover(); r != nil {
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
}

// Locate puts the name of the transform in front of a failure; name maps operator numbers.
func Locate(err error, name func(op int32) string) error {
	if e, ok := errors.AsType[*exec.ElementError](err); ok {
		return fmt.Errorf("%s: %w", name(e.Op), err)
	}
	return err
}
