package sideinput

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

func win(start, end exec.Time) exec.Window { return exec.Window{Start: start, End: end} }

func TestGuaranteed(t *testing.T) {
	end, never := exec.Time(9), exec.MaxTime
	tr := func(k strategy.TriggerKind, subs ...*strategy.Trigger) *strategy.Trigger {
		return &strategy.Trigger{Kind: k, N: 1, Subs: subs}
	}
	count, atEnd := tr(strategy.OnCount), tr(strategy.OnWatermark)
	for _, c := range []struct {
		trigger *strategy.Trigger
		want    exec.Time
	}{
		{tr(strategy.OnDefault), end}, {tr(strategy.OnAlways), end}, {atEnd, end}, {count, never},
		{tr(strategy.OnNever), never}, {tr(strategy.OnProcessingTime), never}, {tr(strategy.OnSynchronizedTime), never},
		{tr(strategy.OnWatermark, count, count), end}, {tr(strategy.OnWatermark, nil, count), end},
		{tr(strategy.OnRepeatedly, atEnd), end}, {tr(strategy.OnRepeatedly, count), never},
		{tr(strategy.OnAny, count, atEnd), end}, {tr(strategy.OnAny, count, count), never},
		{tr(strategy.OnAll, count, atEnd), never}, {tr(strategy.OnAll, atEnd, atEnd), end},
		{tr(strategy.OnEach, atEnd, count), end}, {tr(strategy.OnEach, count, atEnd), never},
		{tr(strategy.OnOrFinally, count, atEnd), end}, {tr(strategy.OnOrFinally, atEnd, count), end},
	} {
		if got := guaranteed(c.trigger, end); got != c.want {
			t.Errorf("%v: got %v, want %v", c.trigger, got, c.want)
		}
	}
	s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: count, Lateness: 5}
	if got := settled(s, win(0, 10)); got != 14 {
		t.Errorf("without a guarantee the expiry counts, 14, got %d", got)
	}
}

func TestHomes(t *testing.T) {
	for n := 1; n <= exec.KeyGroups; n++ {
		for i := range n {
			if g := homeOf(i, n); exec.OwnerOf(g, n) != i || g > 0 && exec.OwnerOf(g-1, n) == i {
				t.Fatalf("worker %d of %d: group %d is not the first that it owns", i, n, g)
			}
		}
	}
	if g := homeOf(200, 300); g >= exec.KeyGroups {
		t.Errorf("of more workers than groups one gets group %d", g)
	}
}

// worker is a gate on one worker, with a side input of fixed windows of 10 ms.
type worker struct {
	t    *testing.T
	env  *host.Op
	gate *Gate[string]
	c    *exec.Ctx
	got  []string
}

func newWorker(t *testing.T, i, n int, route func(string) uint64) *worker {
	t.Helper()
	w := &worker{t: t, c: exec.NewCtx(context.Background())}
	w.env = host.NewOp(host.Place{Name: "Op", Index: i, Count: n, Context: context.Background(), Clock: &host.Manual{}, Wake: func() {},
		Log: slog.New(slog.DiscardHandler)})
	p := pcoll.New("test")
	b := pcoll.NewBuilder(p, "AsIterable")
	like := pcoll.Unwindowed(true)
	like.Strategy = &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}
	main := *like.Strategy
	root := pcoll.NewBuilder(p, "Root")
	in := pcoll.To[int](root, like)
	root.Add(nil)
	src := NewSource(b, in)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	var content *Content[int]
	main.Lateness = 20
	w.gate = NewGate(w.env, "sides", Config[string]{Sources: []*Source{src}, Main: &main, Edge: exec.NewEdge[string](), Route: route,
		Next: func(c *exec.Ctx, v string) {
			cell, _ := content.Read()
			w.got = append(w.got, fmt.Sprint(v, cell.Values, c.Time, c.Window, c.Pane.Index, c.Kind))
		}})
	content = w.gate.Content(src).(*Content[int])
	return w
}

func (w *worker) element(v string, at exec.Time) {
	w.c.Time, w.c.Window, w.c.Pane.Index, w.c.Kind = at, win(at/10*10, at/10*10+10), 3, exec.UpdateAfter
	w.gate.Inputs()[0].(exec.Input[string])(w.c, v)
}

func (w *worker) pane(index int64, window exec.Window, vals ...int) {
	w.c.Window, w.c.Pane.Index = window, index
	w.gate.Inputs()[1].(exec.Input[pcoll.Group[int]])(w.c, pcoll.GroupOf(vals...))
}

func (w *worker) advance(main, side exec.Time) (out exec.Time) {
	w.t.Helper()
	w.gate.Turn(w.c)
	out, more := w.gate.Advance(w.c, []exec.Time{main, side})
	if more {
		w.t.Errorf("more is to come through without a full output")
	}
	w.gate.Sweep()
	return out
}

func (w *worker) gives(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.got, want) {
		w.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(w.got, "\n\t"), strings.Join(want, "\n\t"))
	}
	w.got = nil
}

func seen(v, vals string, at int) string {
	return fmt.Sprint(v, vals, " ", exec.Time(at), win(exec.Time(at/10*10), exec.Time(at/10*10+10)), 3, exec.UpdateAfter)
}

func TestGate(t *testing.T) {
	w := newWorker(t, 0, 1, nil)
	w.element("a", 1)
	w.element("b", 12)
	if out := w.advance(25, 5); out != 1 {
		t.Errorf("what waits holds the watermark at 1, got %v", out)
	}
	w.pane(0, win(0, 10), 7)
	w.element("c", 2) // the pane counts from the end of the turn on
	w.gives()
	if out := w.advance(25, 5); out != 12 {
		t.Errorf("what waits holds the watermark at 12, got %v", out)
	}
	w.gives(seen("a", "[7]", 1), seen("c", "[7]", 2))
	w.pane(2, win(0, 10), 9)
	w.pane(1, win(0, 10), 8) // an earlier pane does not come back
	w.advance(29, 5)
	w.element("d", 3)
	w.gives(seen("d", "[9]", 3))
	if out := w.advance(50, 20); out != 50 { // past the end of [10, 20)
		t.Errorf("nothing holds the watermark at 50, got %v", out)
	}
	w.gives(seen("b", "[]", 12))
	w.element("e", 4) // expired at 29
	w.gives()
	if n := w.env.Counter(exec.DroppedLate).N; n != 1 {
		t.Errorf("%d elements are dropped, want 1", n)
	}
	w.pane(3, win(0, 10), 10) // of a window that nobody needs
	w.advance(50, 20)
	if n := len(w.gate.sides[0].content.windows()); n != 0 {
		t.Errorf("%d windows are kept, want none", n)
	}
}

// TestTimeBehindWindow holds the watermark of an element whose time was changed after its window.
func TestTimeBehindWindow(t *testing.T) {
	w := newWorker(t, 0, 1, nil)
	w.c.Time, w.c.Window = 500, win(0, 10)
	w.gate.Element(w.c, "a")
	if out := w.advance(1000, 5); out != 9 {
		t.Errorf("the watermark is %v, want the end of the window, 9", out)
	}
}

// TestFull lets one element through at a time.
func TestFull(t *testing.T) {
	w := newWorker(t, 0, 1, nil)
	next := w.gate.next
	w.gate.next = func(c *exec.Ctx, v string) { next(c, v); c.Full = true }
	for i := range 3 {
		w.element(fmt.Sprint(i), exec.Time(i))
	}
	w.element("other", 15)
	for i := range 5 {
		w.c.Full = false
		out, more := w.gate.Advance(w.c, []exec.Time{50, 40})
		if len(w.got) != min(i+1, 4) || more != (i < 3) || !more && out != 50 {
			t.Fatalf("call %d: %d went through, more is %v, the watermark %v", i, len(w.got), more, out)
		}
	}
}

// TestRestoredElsewhere moves from two workers to three: contents go to all, what
// waits to one, by key group where there are keys.
func TestRestoredElsewhere(t *testing.T) {
	key, err := coders.ForKey[string]()
	if err != nil {
		t.Fatal(err)
	}
	for name, route := range map[string]func(string) uint64{"keyed": key.Hash, "not keyed": nil} {
		t.Run(name, func(t *testing.T) {
			old := []*worker{newWorker(t, 0, 2, route), newWorker(t, 1, 2, route)}
			var want []string
			for i := range 3000 {
				v := fmt.Sprint("v", i)
				at := i % 2
				if route != nil {
					at = exec.OwnerOf(exec.GroupOf(route(v)), 2)
				}
				old[at].element(v, exec.Time(10+i%10))
				want = append(want, seen(v, "[7 8]", 10+i%10))
			}
			for i, w := range old {
				w.pane(0, win(30, 40), 5)
				if i == 1 { // is ahead
					w.pane(1, win(30, 40), 6)
				}
				w.advance(exec.Time(40+i), 5)
			}
			var got []string
			for i := range 3 {
				w := newWorker(t, i, 3, route)
				for _, o := range old {
					for g := range exec.KeyGroups {
						restoreGroup(t, o, w, g, exec.OwnerOf(g, 3) == i)
					}
				}
				w.gate.Advance(w.c, []exec.Time{40, 5})
				w.element("x", 31)
				w.gives(seen("x", "[6]", 31))
				w.pane(0, win(10, 20), 7, 8)
				if out := w.advance(40, 5); out != 40 {
					t.Errorf("worker %d: the watermark is %v, want 40", i, out)
				}
				got = append(got, w.got...)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d elements came through, want %d, each once", len(got), len(want))
			}
		})
	}
}

// restoreGroup restores a group as a runner has to: what is replicated everywhere.
func restoreGroup(t *testing.T, from, to *worker, group int, owned bool) {
	t.Helper()
	for name, s := range from.env.Stores() {
		if _, all := s.(exec.Replicated); !all && !owned {
			continue
		}
		b, err := s.Snapshot(nil, group)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			continue
		}
		if err := to.env.Stores()[name].Restore(b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamage restores what is cut off anywhere.
func TestDamage(t *testing.T) {
	w := newWorker(t, 0, 1, nil)
	w.element("abc", 1)
	w.pane(1, win(30, 40), 1, 2, 3)
	w.advance(5, 5)
	for name, s := range w.env.Stores() {
		b, err := s.Snapshot(nil, 0)
		if err != nil || len(b) == 0 {
			t.Fatalf("%s: %v, %v", name, b, err)
		}
		for n := 1; n < len(b); n++ {
			if err := newWorker(t, 0, 1, nil).env.Stores()[name].Restore(b[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are restored without an error", name, n, len(b))
			}
		}
	}
}
