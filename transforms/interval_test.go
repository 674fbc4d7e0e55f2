package transforms_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

func second(n int) time.Time { return time.Unix(int64(n), 0) }

// twoStreams are the inputs of a join under one script.
type twoStreams struct {
	script      teststream.Script
	left, right *teststream.Stream[pcoll.KV[string, string]]
}

func newStreams() *twoStreams {
	s := &twoStreams{}
	s.left, s.right = teststream.On[pcoll.KV[string, string]](&s.script), teststream.On[pcoll.KV[string, string]](&s.script)
	return s
}

func (s *twoStreams) l(at int, key, v string) *twoStreams {
	s.left.Elements(second(at), pcoll.Pair(key, v))
	return s
}

func (s *twoStreams) r(at int, key, v string) *twoStreams {
	s.right.Elements(second(at), pcoll.Pair(key, v))
	return s
}

func (s *twoStreams) wm(left, right int) *twoStreams {
	s.left.Watermark(second(left))
	s.right.Watermark(second(right))
	return s
}

// row is a joined row as text: k:l+r, with nothing for a side that is missing.
func row[L, R any](text func(L) string, text2 func(R) string) func(pcoll.KV[string, Joined[L, R]]) string {
	return func(e pcoll.KV[string, Joined[L, R]]) string {
		return e.Key + ":" + text(e.Value.Left) + "+" + text2(e.Value.Right)
	}
}

func plain(s string) string { return s }
func pointed2(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// joined are the rows of a join, and what it dropped.
type joined struct{ rows, lateLeft, lateRight pcoll.PCollection[string] }

type texts = pcoll.PCollection[pcoll.KV[string, string]]

// intervals are the four interval joins, with rows as text.
var intervals = map[string]func(l, r texts, lower, upper time.Duration) joined{
	"inner": func(l, r texts, lower, upper time.Duration) joined {
		j, ll, lr := IntervalJoinWithLate(l, r, lower, upper, pcoll.Named("Interval"))
		return joined{Map(j, row(plain, plain)), Values(ll), Values(lr)}
	},
	"left": func(l, r texts, lower, upper time.Duration) joined {
		j, ll, lr := LeftIntervalJoinWithLate(l, r, lower, upper, pcoll.Named("Interval"))
		return joined{Map(j, row(plain, pointed2)), Values(ll), Values(lr)}
	},
	"right": func(l, r texts, lower, upper time.Duration) joined {
		j, ll, lr := RightIntervalJoinWithLate(l, r, lower, upper, pcoll.Named("Interval"))
		return joined{Map(j, row(pointed2, plain)), Values(ll), Values(lr)}
	},
	"full": func(l, r texts, lower, upper time.Duration) joined {
		j, ll, lr := FullIntervalJoinWithLate(l, r, lower, upper, pcoll.Named("Interval"))
		return joined{Map(j, row(pointed2, pointed2)), Values(ll), Values(lr)}
	},
}

func rowAt(at int, text string) passert.Fired[string] {
	return passert.Ungrouped(text).In(pcoll.Global).At(second(at))
}

func TestIntervalJoin(t *testing.T) {
	for _, c := range []struct {
		name                string
		kind                string
		lower, upper        int // seconds
		script              *twoStreams
		want                []passert.Fired[string]
		lateLeft, lateRight []string
	}{
		{name: "both bounds are included", kind: "inner", lower: -2, upper: 3,
			script: newStreams().l(10, "k", "l").r(7, "k", "r7").r(8, "k", "r8").r(13, "k", "r13").r(14, "k", "r14"),
			want:   []passert.Fired[string]{rowAt(10, "k:l+r8"), rowAt(13, "k:l+r13")}},
		{name: "right comes first", kind: "inner", lower: -2, upper: 3,
			script: newStreams().r(7, "k", "r7").r(8, "k", "r8").r(13, "k", "r13").r(14, "k", "r14").l(10, "k", "l"),
			want:   []passert.Fired[string]{rowAt(10, "k:l+r8"), rowAt(13, "k:l+r13")}},
		{name: "keys apart, equal elements each", kind: "inner", lower: 0, upper: 0,
			script: newStreams().l(1, "a", "l").l(1, "a", "l").l(1, "b", "l").r(1, "a", "r"),
			want:   []passert.Fired[string]{rowAt(1, "a:l+r"), rowAt(1, "a:l+r")}},
		{name: "out of order", kind: "inner", lower: 0, upper: 10,
			script: newStreams().l(9, "k", "l9").l(1, "k", "l1").l(5, "k", "l5").l(5, "k", "l5'").r(5, "k", "r5").r(0, "k", "r0").r(15, "k", "r15"),
			want: []passert.Fired[string]{rowAt(5, "k:l1+r5"), rowAt(5, "k:l5+r5"), rowAt(5, "k:l5'+r5"),
				rowAt(15, "k:l5+r15"), rowAt(15, "k:l5'+r15"), rowAt(15, "k:l9+r15")}},
		{name: "an element at the watermark is in time, one before is not", kind: "inner", lower: -5, upper: 5,
			script: newStreams().l(5, "k", "l5").wm(10, 10).r(10, "k", "r10").r(9, "k", "r9").l(9, "k", "l9"),
			want:   []passert.Fired[string]{rowAt(10, "k:l5+r10")}, lateLeft: []string{"l9"}, lateRight: []string{"r9"}},
		{name: "the lower watermark counts", kind: "inner", lower: -5, upper: 5,
			script: newStreams().l(5, "k", "l5").wm(100, 7).l(8, "k", "l8").r(10, "k", "r10"),
			want:   []passert.Fired[string]{rowAt(10, "k:l5+r10"), rowAt(10, "k:l8+r10")}},
		{name: "an interval in the past", kind: "full", lower: -10, upper: -5,
			script: newStreams().r(2, "k", "r2").l(10, "k", "l10").wm(10, 10).l(10, "k", "l10'").l(30, "k", "l30").wm(20, 20).r(21, "k", "r21"),
			want:   []passert.Fired[string]{rowAt(10, "k:l10+r2"), rowAt(10, "k:l10'+r2"), rowAt(30, "k:l30+r21")}},
		{name: "nothing can match any more", kind: "left", lower: -10, upper: -5,
			script: newStreams().wm(10, 10).l(10, "k", "l10").l(14, "k", "l14"),
			want:   []passert.Fired[string]{rowAt(10, "k:l10+"), rowAt(14, "k:l14+")}},
		{name: "right rows alone", kind: "right", lower: 0, upper: 10,
			script: newStreams().r(5, "k", "r5").r(50, "k", "r50").l(0, "k", "l0").l(20, "k", "l20").wm(60, 60),
			want:   []passert.Fired[string]{rowAt(5, "k:l0+r5"), rowAt(50, "k:+r50")}},
		{name: "both sides alone", kind: "full", lower: 0, upper: 0,
			script: newStreams().l(1, "k", "l1").r(2, "k", "r2").l(3, "k", "l3").r(3, "k", "r3"),
			want:   []passert.Fired[string]{rowAt(1, "k:l1+"), rowAt(2, "k:+r2"), rowAt(3, "k:l3+r3")}},
		{name: "inner drops what is alone", kind: "inner", lower: 0, upper: 0, script: newStreams().l(1, "k", "l1").r(2, "k", "r2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("test")
			out := intervals[c.kind](c.script.left.Source(p), c.script.right.Source(p), time.Duration(c.lower)*time.Second, time.Duration(c.upper)*time.Second)
			passert.Panes(t, out.rows, c.want...)
			passert.Equals(t, out.lateLeft, c.lateLeft...)
			passert.Equals(t, out.lateRight, c.lateRight...)
			for runner, res := range ptest.Run(t, p) {
				if r, _ := res.Transform("Interval"); r.DroppedLate != int64(len(c.lateLeft)+len(c.lateRight)) {
					t.Errorf("%s counts %d dropped elements, want %d", runner, r.DroppedLate, len(c.lateLeft)+len(c.lateRight))
				}
			}
		})
	}
}

// TestF09OuterRowOnce: a left row that matched has no row alone, and one that
// did not has one, not before it can match no more.
func TestF09OuterRowOnce(t *testing.T) {
	s := newStreams().l(0, "k1", "l").l(0, "k2", "l").wm(5, 5).r(8, "k1", "r").wm(30, 30)
	p := pcoll.New("test")
	rows := intervals["left"](s.left.Source(p), s.right.Source(p), -10*time.Second, 10*time.Second).rows
	passert.Panes(t, rows, rowAt(8, "k1:l+r"), rowAt(0, "k2:l+"))
	ptest.Run(t, p)

	d := drive(t, "left", -10*time.Second, 10*time.Second)
	d.left(0, "k1", "l")
	d.left(0, "k2", "l")
	d.advance(5000, 5000)
	d.right(8000, "k1", "r")
	d.advance(10_000, 10_000)
	d.expect("k1:l+r at 8s") // one that is stamped 10 s could still come
	if d.out != 0 {
		t.Errorf("the output watermark is %v, want that of the element that waits", d.out)
	}
	d.advance(10_001, 10_001)
	d.expect("k2:l+ at 0s")
	if d.out != 10_001 {
		t.Errorf("the output watermark is %v, want 10001", d.out)
	}
	d.advance(exec.MaxTime, exec.MaxTime)
	d.expect()
}

// TestF32SilentSide: what waits for a side that says nothing goes as time passes.
func TestF32SilentSide(t *testing.T) {
	p := pcoll.New("test")
	left, right := &speech{step: 1}, &speech{idle: true}
	right.after = left
	for i := range 1000 {
		left.add(exec.Time(i), pcoll.Pair(fmt.Sprint("key", i), "l"))
	}
	right.add(5, pcoll.Pair("key5", "r"))
	rows, _, late := IntervalJoinWithLate(left.source(p, "left"), right.source(p, "right"), -10*time.Millisecond, 10*time.Millisecond, pcoll.Named("Interval"))
	passert.Empty(t, Keys(rows))
	passert.Equals(t, late, pcoll.Pair("key5", "r"))
	for _, res := range ptest.Run(t, p, ptest.Workers()) { // these sources know of each other, which only one goroutine allows
		r, _ := res.Transform("Interval")
		if most := r.Distributions["bufferedRows"].Max; most > 12 || most < 10 {
			t.Errorf("up to %d rows were kept, want 10 to 12", most)
		}
		if r.DroppedLate != 1 {
			t.Errorf("%d rows are counted as late, want 1", r.DroppedLate)
		}
	}
}

// TestIntervalState covers how much is kept, of a side whose watermark is behind too.
func TestIntervalState(t *testing.T) {
	d := drive(t, "inner", 0, 10*time.Second)
	for i := range 100 {
		at := exec.Time(i * 1000)
		d.left(at, "k", "l")
		d.right(at, "k", "r")
		d.advance(at, at-2000)
	}
	if got := d.buffered(); got > 2*13 {
		t.Errorf("%d rows are kept at a time, want what 12 seconds hold", got)
	}
	d.advance(exec.MaxTime, exec.MaxTime)
	if got := d.lastBuffered(); got != 0 {
		t.Errorf("%d rows are kept at the end", got)
	}
}

// TestIntervalLateness: with an allowed lateness elements behind the watermark
// still match all they could have matched, and their rows are no later than they.
func TestIntervalLateness(t *testing.T) {
	s := newStreams().r(0, "k", "r0").l(8, "k", "l8").wm(20, 20).
		l(15, "k", "l15").r(14, "k", "r14").l(14, "k", "l14").r(18, "k", "r18").wm(60, 60)
	p := pcoll.New("test")
	global := func(in texts) texts {
		return windowing.Into(in, windowing.Global(), windowing.AllowedLateness(5*time.Second))
	}
	out := intervals["full"](global(s.left.Source(p)), global(s.right.Source(p)), 0, 10*time.Second)
	passert.Panes(t, out.rows, rowAt(0, "k:+r0"), rowAt(18, "k:l8+r18"), rowAt(18, "k:l15+r18"))
	passert.Equals(t, out.lateLeft, "l14")
	passert.Equals(t, out.lateRight, "r14")
	instants := windowing.Into(out.rows, windowing.Fixed(time.Second), windowing.AllowedLateness(5*time.Second), windowing.Accumulating())
	counts, dropped := CombinePerKeyWithLate(KeyBy(instants, plain), combine.Count[string]())
	passert.Equals(t, Keys(counts), "k:+r0", "k:l8+r18", "k:l15+r18")
	passert.Empty(t, dropped)
	ptest.Run(t, p)
}

// A driver calls an interval join as a runner does.
type driver struct {
	t    *testing.T
	c    *exec.Ctx
	env  *host.Op
	inst exec.Instance
	got  []string
	out  exec.Time
}

func drive(t *testing.T, kind string, lower, upper time.Duration) *driver {
	p, s := pcoll.New("test"), newStreams()
	intervals[kind](s.left.Source(p), s.right.Source(p), lower, upper)
	d := &driver{t: t, c: exec.NewCtx(t.Context())}
	for _, n := range pcoll.Graph(p).Nodes {
		if n.Name != "Interval" {
			continue
		}
		d.env = host.NewOp(host.Place{Name: n.Name, Count: 1, Context: t.Context(), Clock: &host.Manual{}, Wake: func() {},
			Log: slog.New(slog.DiscardHandler)})
		outs := make([]any, len(n.Outputs))
		for i, o := range n.Outputs {
			outs[i] = o.Edge.Tap(o.Edge.Fanout(nil), func(c *exec.Ctx, v any) {
				d.got = append(d.got, fmt.Sprintf("%s at %v", textOf(v), time.Duration(c.Time)*time.Millisecond))
			})
		}
		var err error
		if d.inst, err = n.Op.New(d.env, outs); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatal("the pipeline has no interval join")
	return nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case pcoll.KV[string, Joined[string, string]]:
		return row(plain, plain)(v)
	case pcoll.KV[string, Joined[string, *string]]:
		return row(plain, pointed2)(v)
	}
	return fmt.Sprint(v)
}

func (d *driver) in(i int, at exec.Time, key, v string) {
	d.c.Time = at
	d.inst.In[i].(exec.Input[pcoll.KV[string, string]])(d.c, pcoll.Pair(key, v))
}

func (d *driver) left(at exec.Time, key, v string)  { d.in(0, at, key, v) }
func (d *driver) right(at exec.Time, key, v string) { d.in(1, at, key, v) }

func (d *driver) advance(left, right exec.Time) {
	var more bool
	if d.out, more = d.inst.Advance(d.c, []exec.Time{left, right}); more || d.c.Err != nil {
		d.t.Errorf("Advance has more to do, or fails: %v", d.c.Err)
	}
}

// expect checks what was emitted since the last call.
func (d *driver) expect(want ...string) {
	d.t.Helper()
	if !slices.Equal(d.got, want) {
		d.t.Errorf("got %q, want %q", d.got, want)
	}
	d.got = nil
}

// buffered returns the most rows that were kept.
func (d *driver) buffered() int64 { return d.env.Distribution("bufferedRows").Max }

// lastBuffered returns the least.
func (d *driver) lastBuffered() int64 { return d.env.Distribution("bufferedRows").Min }

// A speech is a source that says one element after the other, each followed by its
// time as watermark; or is idle until another speech has ended.
type speech struct {
	elems []timed
	step  exec.Time
	idle  bool
	after *speech
	said  int
}

type timed struct {
	at exec.Time
	v  pcoll.KV[string, string]
}

func (f *speech) add(at exec.Time, v pcoll.KV[string, string]) {
	f.elems = append(f.elems, timed{at, v})
}

func (f *speech) source(p *pcoll.Pipeline, name string) texts {
	b := pcoll.NewBuilder(p, name)
	out := pcoll.To[pcoll.KV[string, string]](b, pcoll.Unwindowed(false))
	b.Add(f)
	return out
}

func (f *speech) New(env exec.Env, outs []any) (exec.Instance, error) {
	f.said = 0
	down, n, wm := outs[0].(exec.Input[pcoll.KV[string, string]]), env.Counter(exec.Elements), exec.MinTime
	return exec.Instance{
		Poll: func(c *exec.Ctx, _ int) exec.Status {
			if f.said == len(f.elems) {
				return exec.Ended
			}
			if f.after != nil && f.after.said < len(f.after.elems) {
				return exec.Ready
			}
			e := f.elems[f.said]
			f.said++
			n.N++
			c.Time, wm = e.at, e.at
			down(c, e.v)
			return exec.Ready
		},
		Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) {
			if f.idle {
				return exec.Idle, false
			}
			return wm, false
		},
	}, nil
}
