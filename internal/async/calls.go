package async

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A Call brings a result, by one attempt or several.
type Call[R any] struct {
	// Do makes one attempt, beside the worker.
	Do func(ctx context.Context) (R, error)
	// Then is called by the worker when the call has ended, unless it is nil.
	Then func(c *Call[R])

	Val      R
	Err      error // of the last attempt
	Attempts int

	ended bool
	crash error // Do panicked
}

// OK reports whether the call, which has ended, brought a result.
func (c *Call[R]) OK() bool { return c.crash == nil && c.Err == nil }

// permanent marks an error that is not worth another attempt.
type permanent struct{ err error }

func (p permanent) Error() string { return p.err.Error() }
func (p permanent) Unwrap() error { return p.err }

// Permanent returns err, marked.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// calls are those of a worker.
type calls[R any] struct {
	*Settings
	env      exec.Env
	running  int
	queue    []*Call[R] // not begun yet
	head     int        // those before have been
	number   uint64     // of the next call
	n, again *exec.Counter
	ended    bool // one has, since it was last looked at
	failed   bool // the same for one that failed
}

func newCalls[R any](env exec.Env, s *Settings) *calls[R] {
	worker, _ := env.Worker()
	return &calls[R]{Settings: s, env: env, number: uint64(worker) << 48, n: env.Counter("user:calls"), again: env.Counter("user:retries")}
}

// start begins c, or lets it wait for others to end.
func (s *calls[R]) start(c *Call[R]) {
	if s.running >= s.Limit {
		s.queue = append(s.queue, c)
		return
	}
	s.running++
	s.n.N++
	number := s.number
	s.number++
	s.env.Go(func(ctx context.Context) { s.attempts(ctx, c, number) }, func(err error) {
		c.ended, c.crash, s.ended = true, err, true
		s.failed = s.failed || !c.OK()
		s.again.N += int64(max(c.Attempts-1, 0))
		if c.Then != nil {
			c.Then(c)
		}
		s.running--
		s.next()
	})
}

// next begins the call that waits longest.
func (s *calls[R]) next() {
	if s.head == len(s.queue) {
		return
	}
	c := s.queue[s.head]
	s.queue[s.head] = nil
	s.head++
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	s.start(c)
}

// waiting returns how many calls have not begun.
func (s *calls[R]) waiting() int { return len(s.queue) - s.head }

// attempts makes the call. It runs beside the worker, and touches c alone.
func (s *calls[R]) attempts(ctx context.Context, c *Call[R], number uint64) {
	for {
		c.Attempts++
		if c.Val, c.Err = s.attempt(ctx, c); c.Err == nil {
			return
		}
		if _, final := errors.AsType[permanent](c.Err); final || c.Attempts >= s.Attempts || ctx.Err() != nil {
			return
		}
		if s.env.Pause(ctx, s.pause(number, c.Attempts)) != nil {
			return
		}
	}
}

func (s *calls[R]) attempt(ctx context.Context, c *Call[R]) (R, error) {
	if s.Timeout == 0 {
		return c.Do(ctx)
	}
	within, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	v, err := c.Do(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", s.Timeout, err)
	}
	return v, err
}
