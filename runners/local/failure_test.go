package local_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
)

// failing builds source → a → exchange → b, where the named one fails at a place.
func failing(name, at string, do func() error) (p *pcoll.Pipeline, all []*probe) {
	p = pcoll.New("failing")
	pick := func(n string) *probe {
		pr := &probe{}
		if n == name {
			pr.at, pr.do = at, do
		}
		all = append(all, pr)
		return pr
	}
	in := numbers(p, &numbersOp{probe: pick("Numbers"), n: 3000})
	a := probed(in, "A", pick("A"), graph.Forward)
	probed(transforms.Reshuffle(a), "B", pick("B"), graph.Forward)
	return p, all
}

// places are where a runner calls an operator.
var places = map[string][]string{
	"Numbers": {"Splits", "New", "Assign", "Poll", "Turn", "Advance", "Flush", "Finish", "Commit", "Close"},
	"A":       {"New", "In", "Turn", "Advance", "Flush", "Finish", "Commit", "Close"},
	"B":       {"New", "In", "Turn", "Advance", "Flush", "Finish", "Commit", "Close"},
}

// TestFailureAnywhere: a failure, a panic and an exit at any place ends the run
// with an error that names the transform; everything that was opened is closed,
// and nothing is published unless publishing is what failed.
func TestFailureAnywhere(t *testing.T) {
	kinds := map[string]func() error{
		"fails":  func() error { return errBoom },
		"panics": func() error { panic(errBoom) },
		"exits":  func() error { runtime.Goexit(); return nil },
	}
	for name, at := range places {
		for _, at := range at {
			for kind, do := range kinds {
				if kind == "exits" && (at == "New" || at == "Commit" || at == "Close") {
					continue // these run on the caller's goroutine, which is then gone
				}
				for _, workers := range []int{1, 3} {
					t.Run(fmt.Sprint(name, " ", kind, " in ", at, " ", workers), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { failAt(t, name, at, kind, do, workers) })
					})
				}
			}
		}
	}
}

func failAt(t *testing.T, name, at, kind string, do func() error, workers int) {
	p, all := failing(name, at, do)
	_, err := local.Run(t.Context(), p, quiet, local.Workers(workers), local.QueueBatches(1), local.BatchSize(100))
	want := []string{`local: pipeline "failing": ` + name + ": ", "boom"}
	if kind == "exits" {
		want[1] = "ended the goroutine"
	}
	for _, want := range want {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not hold %q: %v", want, err)
		}
	}
	if kind != "exits" && !errors.Is(err, errBoom) {
		t.Errorf("the cause cannot be found in %v", err)
	}
	for i, pr := range all {
		if o, c := pr.opened.Load(), pr.closed.Load(); o != c {
			t.Errorf("operator %d: %d instances opened, %d closed", i, o, c)
		}
		if n := pr.committed.Load(); n > 0 && at != "Commit" && at != "Close" {
			t.Errorf("operator %d: %d instances committed", i, n)
		}
	}
}

// TestCloseFailureBesideAnother: neither a failure of the run nor one of
// closing hides the other, and each is named.
func TestCloseFailureBesideAnother(t *testing.T) {
	bubble(t, []int{1, 2}, func(t *testing.T, workers int) {
		p := pcoll.New("two")
		in := numbers(p, &numbersOp{n: 100})
		a := probed(in, "A", &probe{at: "Turn", do: func() error { return errBoom }}, graph.Forward)
		probed(a, "B", &probe{at: "Close", do: func() error { panic("stuck") }}, graph.Forward)
		_, err := local.Run(t.Context(), p, quiet, local.Workers(workers))
		for _, want := range []string{"A: ", "boom", "B: ", "stuck"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error does not hold %q: %v", want, err)
			}
		}
	})
}

// TestPanicInCloseIsNotSwallowed: it was, after a run without another failure.
func TestPanicInCloseIsNotSwallowed(t *testing.T) {
	bubble(t, []int{1, 2}, func(t *testing.T, workers int) {
		p := pcoll.New("close")
		probed(numbers(p, &numbersOp{n: 10}), "A", &probe{at: "Close", do: func() error { panic("stuck") }}, graph.Forward)
		if _, err := local.Run(t.Context(), p, quiet, local.Workers(workers)); err == nil || !strings.Contains(err.Error(), "A: ") {
			t.Errorf("error %v, want the panic, located", err)
		}
	})
}

// TestFailedFinishCommitsNothing: all sinks publish or none.
func TestFailedFinishCommitsNothing(t *testing.T) {
	bubble(t, []int{1, 4}, func(t *testing.T, workers int) {
		p := pcoll.New("sinks")
		in := numbers(p, &numbersOp{n: 100})
		good := &probe{}
		probed(in, "Good", good, graph.Forward)
		probed(transforms.Reshuffle(in), "Bad", &probe{at: "Finish", do: func() error { return errBoom }}, graph.Forward)
		if _, err := local.Run(t.Context(), p, quiet, local.Workers(workers)); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		if n := good.committed.Load(); n != 0 {
			t.Errorf("%d instances committed although another sink failed to prepare", n)
		}
	})
}

// TestCancelAtAnyMoment cancels after any number of elements, from the
// function itself, and from outside while everybody waits.
func TestCancelAtAnyMoment(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for _, after := range []int64{0, 1, 99, 1024, 5000} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				p := pcoll.New("cancelled")
				o := &numbersOp{n: 1 << 50}
				in := numbers(p, o)
				out := &probe{}
				m := transforms.Map(in, func(i int64) int64 {
					if o.emitted.Load() > after {
						cancel(errBoom)
					}
					return i
				})
				probed(transforms.Reshuffle(m), "Out", out, graph.Forward)
				_, err := local.Run(ctx, p, quiet, local.Workers(workers), local.QueueBatches(1))
				if !errors.Is(err, errBoom) {
					t.Errorf("error %v, want the cause of the cancellation", err)
				}
				if out.opened.Load() != out.closed.Load() || out.finished.Load()+out.committed.Load() > 0 {
					t.Errorf("after a cancellation: %d opened, %d closed, %d finished, %d committed",
						out.opened.Load(), out.closed.Load(), out.finished.Load(), out.committed.Load())
				}
			})
		}
	}
}

// TestCancelledBeforeStart: nothing is left behind then either.
func TestCancelledBeforeStart(t *testing.T) {
	bubble(t, []int{1, 3}, func(t *testing.T, workers int) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p := pcoll.New("never")
		pr := &probe{}
		probed(numbers(p, &numbersOp{n: 10}), "A", pr, graph.Forward)
		if _, err := local.Run(ctx, p, quiet, local.Workers(workers)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		if pr.opened.Load() != pr.closed.Load() || pr.committed.Load() != 0 {
			t.Errorf("%d opened, %d closed, %d committed", pr.opened.Load(), pr.closed.Load(), pr.committed.Load())
		}
	})
}
