package panes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes/panestest"
	"github.com/penstock-dev/penstock/internal/strategy"
)

type (
	testForm   = form[int64, int64, []int64]
	testConfig = Config[int64, int64, []int64]
)

func generalForm(env exec.Env, cfg testConfig) testForm { return NewGeneral(env, "agg", cfg) }
func alignedForm(env exec.Env, cfg testConfig) testForm { return NewAligned(env, "agg", cfg) }

// An event is a bundle of elements, a watermark or a clock reading.
type event struct {
	kind byte // 'i', 'w' or 'c'
	in   []elem
	t    exec.Time
}

type elem struct {
	key  int64
	time exec.Time
	v    int64
}

func (e event) String() string {
	if e.kind == 'i' {
		return fmt.Sprintf("input %v", e.in)
	}
	return fmt.Sprintf("%c %d", e.kind, e.t)
}

func input(in ...elem) event       { return event{kind: 'i', in: in} }
func watermark(t exec.Time) event  { return event{kind: 'w', t: t} }
func processing(t exec.Time) event { return event{kind: 'c', t: t} }

// ones is a bundle of elements of one key whose values are their times.
func ones(times ...exec.Time) event {
	var in []elem
	for _, t := range times {
		in = append(in, elem{1, t, int64(t)})
	}
	return input(in...)
}

// seen is what a form did.
type seen struct {
	key    int64
	w      exec.Window
	time   exec.Time
	pane   exec.Pane
	values []int64
	drop   string // why an element was dropped; values holds it
	kind   exec.Kind
}

func (s seen) String() string {
	if s.drop != "" {
		return fmt.Sprintf("key %d [%d,%d) drop %s %v at %d", s.key, s.w.Start, s.w.End, s.drop, s.values, s.time)
	}
	line := fmt.Sprintf("key %d [%d,%d) %v at %d %v first=%t last=%t %d/%d", s.key, s.w.Start, s.w.End, s.values, s.time,
		s.pane.Timing, s.pane.First, s.pane.Last, s.pane.Index, s.pane.NonSpeculative)
	if s.kind != exec.Insert {
		line += " " + s.kind.String()
	}
	return line
}

// options say how a rig drives its form.
type options struct {
	restart  bool // snapshot and restore into a new instance at every chance
	full     bool // the output takes one firing at a time
	exploded bool // elements come with their windows
	partials bool // and combined by key and window
}

// A rig drives one form through events.
type rig struct {
	t   testing.TB
	s   *strategy.Strategy
	mk  func(exec.Env, testConfig) testForm
	opt options

	env *panestest.Env
	f   testForm
	ctx *exec.Ctx
	wm  exec.Time
	out exec.Time
	got []seen
}

func newRig(t testing.TB, s *strategy.Strategy, mk func(exec.Env, testConfig) testForm, opt options) *rig {
	r := &rig{t: t, s: s, mk: mk, opt: opt, ctx: exec.NewCtx(context.Background()), wm: exec.MinTime, out: exec.MinTime}
	r.env, r.f = r.instance()
	return r
}

func (r *rig) instance() (*panestest.Env, testForm) {
	env := panestest.NewEnv()
	return env, r.mk(env, testConfig{
		Strategy: r.s, Assign: !r.opt.exploded, Fold: panestest.Collect[int64]{}, Key: panestest.Int64Keys(),
		Acc: panestest.Lists[int64]{Elem: panestest.Int64s{}}, Copy: slices.Clone[[]int64],
		Emit: r.emit, Encode: encodeList, Say: r.say, Retract: takeOut,
		Drop: func(c *exec.Ctx, key, v int64, closed bool) {
			r.got = append(r.got, seen{key: key, w: c.Window, time: c.Time, values: []int64{v}, drop: why(closed)})
		},
		DropPartial: func(c *exec.Ctx, key int64, p Partial[[]int64], closed bool) {
			r.got = append(r.got, seen{key: key, w: c.Window, time: c.Time, values: slices.Clone(p.Acc), drop: why(closed)})
		},
	})
}

func why(closed bool) string {
	if closed {
		return "closed"
	}
	return "late"
}

func (r *rig) emit(c *exec.Ctx, key int64, acc []int64) {
	r.got = append(r.got, seen{key, c.Window, c.Time, c.Pane, slices.Sorted(slices.Values(acc)), "", c.Kind})
	for i := range acc { // which is ours to spoil
		acc[i] = -1
	}
	c.Full = r.opt.full
	if c.Kind != exec.Insert {
		r.t.Errorf("pane of kind %v", c.Kind)
	}
}

// say is emit for retracting panes.
func (r *rig) say(c *exec.Ctx, key int64, said []byte) {
	values, _, err := listCoder.Decode(said)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	r.got = append(r.got, seen{key, c.Window, c.Time, c.Pane, values, "", c.Kind})
	c.Full = r.opt.full
}

var listCoder = panestest.Lists[int64]{Elem: panestest.Int64s{}}

// encodeList states the elements in order, so that what means the same is the same.
func encodeList(acc []int64) ([]byte, error) {
	return listCoder.Append(nil, slices.Sorted(slices.Values(acc)))
}

// takeOut removes one v.
func takeOut(acc []int64, v int64) ([]int64, bool) {
	i := slices.Index(acc, v)
	if i < 0 {
		return acc, false
	}
	return slices.Delete(acc, i, i+1), true
}

// play lets the form see e and returns what it did, in the order of keys and
// windows; what concerns one of them stays in order.
func (r *rig) play(e event) []seen {
	got := r.hear(e)
	slices.SortStableFunc(got, func(a, b seen) int { return cmp.Or(cmp.Compare(a.key, b.key), a.w.Compare(b.w)) })
	return got
}

// hear is play in the order in which things came.
func (r *rig) hear(e event) []seen {
	r.got = nil
	switch e.kind {
	case 'i':
		r.input(e.in)
		r.f.Turn(r.ctx)
		r.ctx.Full = false
	case 'w':
		r.wm = max(r.wm, e.t)
	case 'c':
		r.env.Clock = max(r.env.Clock, e.t)
	}
	for r.advance() {
	}
	r.restart()
	if r.ctx.Err != nil {
		r.t.Fatalf("%v", r.ctx.Err)
	}
	return r.got
}

func (r *rig) advance() (more bool) {
	before, c0 := len(r.got), *r.ctx
	out, more := r.f.Advance(r.ctx, r.wm)
	fired := 0
	for _, s := range r.got[before:] {
		if s.kind != exec.UpdateBefore { // which belongs to what follows it
			fired++
		}
	}
	if r.opt.full && fired > 1 || more && fired == 0 {
		r.t.Fatalf("Advance fired %d times in one call, more=%t", fired, more)
	}
	if out < r.out {
		r.t.Fatalf("output watermark goes back from %d to %d", r.out, out)
	}
	if more && out != r.out {
		r.t.Fatalf("output watermark moves from %d to %d while there is more to fire", r.out, out)
	}
	r.ctx.Full = false
	if c := *r.ctx; c.Time != c0.Time || c.Window != c0.Window || c.Pane != c0.Pane || c.Kind != c0.Kind {
		r.t.Fatalf("Advance leaves the context changed")
	}
	r.out = out
	if more {
		r.restart()
	}
	return more
}

// restart goes on with a new instance.
func (r *rig) restart() {
	if !r.opt.restart {
		return
	}
	env, f := r.instance()
	if err := r.env.CopyTo(env); err != nil {
		r.t.Fatalf("%v", err)
	}
	f.Restored(r.ctx)
	r.env, r.f = env, f
}

func (r *rig) input(in []elem) {
	type at struct {
		key int64
		w   exec.Window
	}
	parts := map[at]*Partial[[]int64]{}
	var order []at
	for _, e := range in {
		r.ctx.Time, r.ctx.Kind = e.time, exec.Insert
		if r.s.Mode == strategy.Retracting && e.v < 0 { // takes -v back
			r.ctx.Kind, e.v = exec.Delete, -e.v
		}
		if !r.opt.exploded {
			r.f.Element(r.ctx, e.key, e.v)
			continue
		}
		for _, w := range r.s.Fn.Assign(nil, e.time) {
			r.ctx.Window = w
			if !r.opt.partials || r.s.Expiry(w) < r.wm {
				r.f.Element(r.ctx, e.key, e.v)
				continue
			}
			p := parts[at{e.key, w}]
			if p == nil {
				p = &Partial[[]int64]{Min: e.time, Max: e.time}
				parts[at{e.key, w}], order = p, append(order, at{e.key, w})
			}
			p.Acc, p.N = append(p.Acc, e.v), p.N+1
			p.Min, p.Max = min(p.Min, e.time), max(p.Max, e.time)
		}
	}
	r.ctx.Kind = exec.Insert
	for _, a := range order {
		r.ctx.Window = a.w
		r.f.Partial(r.ctx, a.key, *parts[a])
	}
}

func lines(got []seen) string {
	var b strings.Builder
	for _, s := range got {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// compare plays a script on two rigs and fails at the first difference.
func compare(t testing.TB, script []event, a, b *rig, names ...string) {
	for i, e := range script {
		got, want := lines(a.play(e)), lines(b.play(e))
		if got != want {
			t.Fatalf("%v\nstep %d of %v\n%s:\n%s%s:\n%s", a.s, i, script[:i+1], names[0], got, names[1], want)
		}
		if a.out != b.out {
			t.Fatalf("%v\nstep %d of %v\noutput watermark: %s %d, %s %d", a.s, i, script[:i+1], names[0], a.out, names[1], b.out)
		}
	}
	for _, name := range []string{exec.DroppedLate, exec.DroppedClosed, exec.NoWindow} {
		if x, y := a.env.Counter(name).N, b.env.Counter(name).N; x != y {
			t.Fatalf("%v\n%v\ncounter %s: %s %d, %s %d", a.s, script, name, names[0], x, names[1], y)
		}
	}
}
