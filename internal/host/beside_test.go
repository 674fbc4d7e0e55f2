package host

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// beside returns an operator whose work runs by a crew, and the signal that its worker waits on.
func beside(ctx context.Context, clock Clock) (*Op, *Crew, *Signal) {
	crew, sig := &Crew{}, NewSignal()
	return NewOp(Place{Context: ctx, Clock: clock, Wake: sig.Wake, Spawn: crew.Go, Log: slog.New(slog.DiscardHandler)}), crew, sig
}

// Work is collected in the order in which it returns, by the worker, which is
// woken; what is begun by a collected end counts at once.
func TestWorkBesideTheWorker(t *testing.T) {
	o, crew, sig := beside(t.Context(), Wall{})
	if o.Returned() || o.Running() != 0 {
		t.Fatal("there is work before there is any")
	}
	var got []string
	gates := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{})}
	begin := func(name string, then func()) {
		o.Go(func(context.Context) { <-gates[name] }, func(err error) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, name)
			if then != nil {
				then()
			}
		})
	}
	collect := func() {
		for !o.Returned() {
			sig.Wait(t.Context(), 0, Wall{}.Now().Add(60_000))
		}
		o.Collect()
	}
	begin("a", nil)
	begin("b", func() { begin("c", nil) })
	close(gates["b"])
	collect()
	if o.Running() != 2 || o.Returned() {
		t.Errorf("%d are running, want a, and c which the end of b began", o.Running())
	}
	close(gates["a"])
	collect()
	o.Collect() // nothing has returned: nothing happens
	close(gates["c"])
	collect()
	crew.Wait()
	if s := strings.Join(got, " "); s != "b a c" || o.Running() != 0 || o.Returned() {
		t.Errorf("collected %q, %d are running", s, o.Running())
	}
}

// What ends badly ends: its end is collected with the reason.
func TestWorkThatFails(t *testing.T) {
	cause := errors.New("cause")
	for _, tc := range []struct {
		name string
		work func(context.Context)
		want string
		is   error
	}{
		{"panics", func(context.Context) { panic("boom") }, "panic: boom\n", nil},
		{"panics with an error", func(context.Context) { panic(cause) }, "panic: cause\n", cause},
		{"panics with nil", func(context.Context) { panic(nil) }, "panic called with nil", nil},
		{"ends its goroutine", func(context.Context) { runtime.Goexit() }, "runtime.Goexit", ErrExit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, crew, _ := beside(t.Context(), Wall{})
			var got error
			o.Go(tc.work, func(err error) { got = err })
			crew.Wait()
			o.Collect()
			if got == nil || !strings.Contains(got.Error(), tc.want) || tc.is != nil && !errors.Is(got, tc.is) {
				t.Errorf("got %v, want %q", got, tc.want)
			}
			if tc.is != ErrExit && !strings.Contains(got.Error(), "beside_test.go") {
				t.Errorf("the stack of the panic is missing: %v", got)
			}
			if o.Running() != 0 {
				t.Error("it still counts as running")
			}
		})
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _, _ := beside(t.Context(), Wall{})
		from := time.Now()
		if err := o.Pause(t.Context(), 1500); err != nil || time.Since(from) != 1500*time.Millisecond {
			t.Errorf("paused for %v, %v", time.Since(from), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		from = time.Now()
		if err := o.Pause(ctx, 60_000); !errors.Is(err, context.Canceled) || time.Since(from) != time.Second {
			t.Errorf("cancelled after %v, %v", time.Since(from), err)
		}
		still, _, _ := beside(t.Context(), &Manual{})
		from = time.Now()
		if err := still.Pause(t.Context(), 60_000); err != nil || time.Since(from) != 0 {
			t.Errorf("a clock that does not move was waited for: %v, %v", time.Since(from), err)
		}
		if err := still.Pause(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}
