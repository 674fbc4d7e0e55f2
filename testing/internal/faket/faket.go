// Package faket is a testing.TB that records what happens to it, so that tests
// can see a test fail.
package faket

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// T is a testing.TB that keeps failures and cleanups. It is started with [Run].
type T struct {
	testing.TB // of the real test; what is not overridden is its
	mu         sync.Mutex
	failures   []string
	cleanups   []func()
	ctx        context.Context
}

// Run calls f with a T as a test would, then the cleanups, and returns the T.
func Run(t testing.TB, f func(*T)) *T {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ft := &T{TB: t, ctx: ctx}
	done := make(chan struct{})
	go func() { // its own goroutine: Fatalf ends it
		defer close(done)
		f(ft)
	}()
	<-done
	cancel()
	for i := len(ft.cleanups) - 1; i >= 0; i-- {
		ft.cleanups[i]()
	}
	return ft
}

// Failures returns what was reported, one message after the other.
func (t *T) Failures() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.failures, "\n")
}

// Count returns how many failures were reported.
func (t *T) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.failures)
}

// Errorf records a failure.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// Fatalf records a failure and ends the test.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// Failed reports whether there was a failure.
func (t *T) Failed() bool { return t.Count() > 0 }

// Skipped returns false.
func (*T) Skipped() bool { return false }

// Cleanup records f.
func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Context ends with the test.
func (t *T) Context() context.Context { return t.ctx }
