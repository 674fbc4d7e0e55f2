package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
)

func newOp(t *testing.T, p host.Place) *host.Op {
	p.Name, p.Context, p.Log = "Trial", t.Context(), slog.New(slog.DiscardHandler)
	if p.Clock == nil {
		p.Clock = &host.Manual{}
	}
	return host.NewOp(p)
}

func TestWakeAt(t *testing.T) {
	o := newOp(t, host.Place{})
	if o.NextWake() != exec.Idle || o.TakeWake(exec.MaxTime) {
		t.Errorf("a new operator wants to be woken at %v", o.NextWake())
	}
	o.WakeAt(100)
	o.WakeAt(200) // an earlier request stays in force
	if o.NextWake() != 100 {
		t.Errorf("next wake at %v, want 100", int64(o.NextWake()))
	}
	if o.TakeWake(100) {
		t.Error("woken at 100, which is not past 100")
	}
	if !o.TakeWake(101) || o.TakeWake(102) {
		t.Error("want one wake at 101")
	}
}

// TestWakerTellsWhichOperator: two roots of one worker are told apart.
func TestWakerTellsWhichOperator(t *testing.T) {
	s := host.NewSignal()
	a, b := newOp(t, host.Place{Wake: s.Wake}), newOp(t, host.Place{Wake: s.Wake})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(a.Waker())
	}
	wg.Wait()
	s.Wait(t.Context(), 0, exec.Idle)
	if !a.TakeWoken() || a.TakeWoken() || b.TakeWoken() {
		t.Error("want the first operator woken, once, and not the second")
	}
}

func TestKeepTwiceIsABug(t *testing.T) {
	o := newOp(t, host.Place{})
	o.Keep("state", store{})
	defer func() {
		if r := recover(); !strings.Contains(fmt.Sprint(r), `Trial keeps two stores named "state"`) {
			t.Errorf("second Keep of a name: %v", r)
		}
	}()
	o.Keep("state", store{})
}

type store struct{}

func (store) Snapshot(dst []byte, _ int) ([]byte, error) { return dst, nil }
func (store) Restore([]byte) error                       { return nil }

// TestMetrics: readers see what was published, whole, while the worker goes on.
func TestMetrics(t *testing.T) {
	o := newOp(t, host.Place{})
	c, d := o.Counter("n"), o.Distribution("size")
	if o.Counter("n") != c || o.Distribution("size") != d {
		t.Error("the same name gives another counter")
	}
	counts, dists := map[string]int64{}, map[string]exec.Distribution{}
	if w := o.Metrics().AddTo(counts, dists); w != exec.MinTime || len(counts) > 0 {
		t.Errorf("before the first publish: watermark %v, %v", w, counts)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(2000) {
			c.Add(1)
			d.Update(i)
			o.Metrics().Publish(exec.Time(i))
		}
	})
	for last := int64(0); last < 2000; {
		counts, dists := map[string]int64{}, map[string]exec.Distribution{}
		w := o.Metrics().AddTo(counts, dists)
		n := counts["n"]
		if n < last || n > 0 && (w != exec.Time(n-1) || dists["size"].Count != n || dists["size"].Max != n-1) {
			t.Fatalf("count %d after %d, watermark %v, %+v: not one moment", n, last, w, dists["size"])
		}
		last = n
		runtime.Gosched()
	}
	wg.Wait()
	// Workers are summed.
	other := newOp(t, host.Place{})
	other.Counter("n").Add(5)
	other.Distribution("size").Update(-7)
	other.Metrics().Publish(1)
	other.Metrics().AddTo(counts, dists)
	o.Metrics().AddTo(counts, dists)
	if s := dists["size"]; counts["n"] != 2005 || s != (exec.Distribution{Count: 2001, Sum: 1999*1000 - 7, Min: -7, Max: 1999}) {
		t.Errorf("summed %d, %+v", counts["n"], s)
	}
}

func TestGuard(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(){"error": func() { panic(boom) }, "value": func() { panic("boom") }} {
		c := exec.NewCtx(t.Context())
		c.Op, c.Time = 3, 777
		host.Guard(c, f)
		e, ok := errors.AsType[*exec.ElementError](c.Err)
		if !ok || e.Op != 3 || e.Time != 777 || !strings.Contains(string(e.Stack), "env_test.go") || !strings.Contains(c.Err.Error(), "panic: boom") {
			t.Errorf("%s: %v", name, c.Err)
		}
		if name == "error" && !errors.Is(c.Err, boom) {
			t.Errorf("the error that was panicked with is lost: %v", c.Err)
		}
		first := c.Err
		host.Guard(c, func() { panic("again") })
		if c.Err != first {
			t.Errorf("a later panic replaces the first failure: %v", c.Err)
		}
	}
	c := exec.NewCtx(t.Context())
	if host.Guard(c, func() {}); c.Err != nil {
		t.Errorf("a function that returns fails: %v", c.Err)
	}
}

// TestGuardNotesExit: user code that ends its goroutine, as t.Fatal does, is a failure.
func TestGuardNotesExit(t *testing.T) {
	c := exec.NewCtx(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { host.Guard(c, runtime.Goexit) })
	wg.Wait()
	if !errors.Is(c.Err, host.ErrExit) {
		t.Errorf("error %v, want ErrExit", c.Err)
	}
}

func TestLocate(t *testing.T) {
	boom := errors.New("boom")
	name := func(op int32) string { return fmt.Sprint("T", op) }
	at := func(op int32) error { return &exec.ElementError{Op: op, Time: 5, Window: exec.Global, Err: boom} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{at(2), "T2: element time 1970-01-01T00:00:00.005Z, window global: boom"},
		{boom, "boom"},
		{errors.Join(at(2), at(3)), "T2: element time 1970-01-01T00:00:00.005Z, window global: boom\n" +
			"T3: element time 1970-01-01T00:00:00.005Z, window global: boom"},
		{errors.Join(boom, at(3)), "boom\nT3: element time 1970-01-01T00:00:00.005Z, window global: boom"},
	} {
		if got := host.Locate(c.err, name); got.Error() != c.want || !errors.Is(got, boom) {
			t.Errorf("got  %v\nwant %v", got, c.want)
		}
	}
	if host.Locate(nil, name) != nil {
		t.Error("no error is located")
	}
}

func TestClocks(t *testing.T) {
	var m host.Manual
	m.Advance(5)
	m.Advance(7)
	if m.Now() != 12 {
		t.Errorf("manual clock at %d, want 12", int64(m.Now()))
	}
	synctest.Test(t, func(t *testing.T) {
		before := host.Wall{}.Now()
		host.NewSignal().Wait(t.Context(), 0, 0) // a millisecond of the bubble's clock
		if d := (host.Wall{}).Now() - before; d != 1 {
			t.Errorf("the wall clock went on by %d ms, want 1", int64(d))
		}
	})
}
