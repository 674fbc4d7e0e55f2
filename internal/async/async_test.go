package async

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
)

// worker is worker i of n of an operator, whose calls double.
type worker struct {
	env  *host.Op
	inst exec.Instance
	c    *exec.Ctx
	work []func()
	got  []int64
}

func newWorker(t *testing.T, i, n int) *worker {
	t.Helper()
	w := &worker{c: exec.NewCtx(t.Context())}
	w.env = host.NewOp(host.Place{Index: i, Count: n, Context: t.Context(), Clock: &host.Manual{}, Wake: func() {},
		Spawn: func(f func()) { w.work = append(w.work, f) }, Log: slog.New(slog.DiscardHandler)})
	op := &Op[int64, int64, int64, struct{}]{Settings: Settings{Limit: 2, Attempts: 1}, Edge: exec.NewEdge[int64](),
		Result: func(_, r int64) int64 { return r },
		Open: func(_ exec.Env, start func(*Call[int64])) (Resolver[int64, int64], error) {
			return Resolver[int64, int64]{Resolve: func(v int64) (int64, *Call[int64]) {
				c := &Call[int64]{Do: func(context.Context) (int64, error) { return 2 * v, nil }}
				start(c)
				return 0, c
			}}, nil
		}}
	var err error
	w.inst, err = op.New(w.env, []any{exec.Input[int64](func(_ *exec.Ctx, v int64) { w.got = append(w.got, v) })})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *worker) put(vs ...int64) {
	for _, v := range vs {
		w.inst.In[0].(exec.Input[int64])(w.c, v)
	}
}

// turn does the work and takes a turn at an input watermark.
func (w *worker) turn(in exec.Time, work bool) (out exec.Time) {
	for work && w.env.Running() > 0 {
		all := w.work
		w.work = nil
		for _, f := range all {
			f()
		}
		w.env.Collect()
	}
	w.c.Full = false
	w.inst.Turn(w.c)
	for more := true; more; {
		out, more = w.inst.Advance(w.c, []exec.Time{in})
	}
	return out
}

func (w *worker) snapshot(t *testing.T) (b []byte) {
	t.Helper()
	for g := range exec.KeyGroups {
		var err error
		if b, err = w.env.Stores()["waiting"].Snapshot(b, g); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// What waited on two workers goes on on one that takes their place, by the
// watermarks it came after; no more calls begin at once than may.
func TestRestoreOfTwoWorkers(t *testing.T) {
	a, b := newWorker(t, 0, 2), newWorker(t, 1, 2)
	a.turn(10, false)
	a.put(1, 2)
	a.turn(20, false)
	a.put(3)
	b.turn(15, false)
	b.put(4, 5)
	one := newWorker(t, 0, 1)
	if err := one.env.Stores()["waiting"].Restore(append(a.snapshot(t), b.snapshot(t)...)); err != nil {
		t.Fatal(err)
	}
	one.inst.Restored(one.c)
	if len(one.work) != 2 {
		t.Errorf("%d calls began, want 2", len(one.work))
	}
	if out := one.turn(15, false); out != 10 || len(one.got) != 0 {
		t.Errorf("the watermark is %d while the first elements wait, want 10; %v went on", out, one.got)
	}
	for range 3 {
		one.turn(15, true)
	}
	if want := []int64{2, 4, 6, 8, 10}; !slices.Equal(one.got, want) {
		t.Errorf("got %v, want %v", one.got, want)
	}
	if out := one.turn(30, true); out != 30 {
		t.Errorf("the watermark is %d after all has gone on, want 30", out)
	}
}

// Stored bytes that are cut off or wrong are an error, never a panic.
func TestRestoreOfDamagedState(t *testing.T) {
	w := newWorker(t, 0, 1)
	w.put(1, 2, 3)
	w.turn(10, false)
	w.put(4)
	whole := w.snapshot(t)
	for n := range whole {
		x := newWorker(t, 0, 1)
		err := x.env.Stores()["waiting"].Restore(whole[:n])
		if err != nil && !strings.HasPrefix(err.Error(), "async: stored elements that wait") {
			t.Errorf("cut after %d of %d bytes: %v", n, len(whole), err)
		}
		if err == nil && newWorker(t, 0, 1).env.Stores()["waiting"].Restore(append(slices.Clone(whole[:n]), 0x80)) == nil {
			t.Errorf("cut after %d of %d bytes, with rubbish: no error", n, len(whole))
		}
	}
}

// Many elements come and go in one queue, which stays small.
func TestQueueIsTidied(t *testing.T) {
	w := newWorker(t, 0, 1)
	for v := range int64(10_000) {
		w.put(2 * v)
		if v%2 == 1 {
			w.work[0]()
			w.work = w.work[1:]
			w.env.Collect()
			w.turn(exec.Time(v), false)
		}
	}
	h := w.env.Stores()["waiting"].(*held[int64, int64])
	if n := len(w.got); n < 4900 || h.n != 10_000-n || len(h.items) > 2*h.n+128 {
		t.Errorf("%d went on, %d wait, in a queue of %d", n, h.n, len(h.items))
	}
	if !w.inst.Full() {
		t.Error("it wants more, although more calls wait than run")
	}
}

func TestPauses(t *testing.T) {
	s := Settings{First: 100, Max: 1000}
	same := 0
	for call := range uint64(100) {
		for n, most := range []int64{0, 100, 200, 400, 800, 1000, 1000} {
			if n == 0 {
				continue
			}
			d := s.pause(call, n)
			if d < most/2 || d > most || d != s.pause(call, n) {
				t.Fatalf("call %d pauses for %d after attempt %d, want the same from %d to %d each time", call, d, n, most/2, most)
			}
			if d == s.pause(call+1, n) {
				same++
			}
		}
	}
	if same > 30 {
		t.Errorf("%d of 600 pauses are those of the next call", same)
	}
	long := Settings{First: 1 << 61, Max: 1<<63 - 1}
	if d := long.pause(1, 60); d < 1<<61 {
		t.Errorf("the longest pause is %d", d)
	}
	if d := (&Settings{}).pause(7, 3); d != 0 {
		t.Errorf("without pauses: %d", d)
	}
}
