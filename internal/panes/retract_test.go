package panes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// back is a bundle that takes elements back that ones put in.
func back(times ...exec.Time) event {
	e := ones(times...)
	for i := range e.in {
		e.in[i].v *= -1
	}
	return e
}

// TestRetractingPanes holds scripts against the rules of the package documentation.
func TestRetractingPanes(t *testing.T) {
	fixed, sessions := strategy.FixedWindows{Size: 10}, strategy.SessionWindows{Gap: 10}
	everything := trigger(strategy.OnWatermark, count(1), count(1))
	for _, c := range []struct {
		name   string
		s      strategy.Strategy
		script []event
		want   []string // of each event
	}{
		{"a pane takes back the one before", strategy.Strategy{Fn: fixed, Trigger: everything, Lateness: 100, OnTimeIfNonEmpty: true},
			[]event{ones(1), ones(2), watermark(10), ones(3)}, []string{
				"insert [0,10) [1] EARLY 0/-1",
				"update-before [0,10) [1] EARLY 0/-1; update-after [0,10) [1 2] EARLY 1/-1",
				"",
				"update-before [0,10) [1 2] EARLY 1/-1; update-after [0,10) [1 2 3] LATE 2/0"}},
		{"the on-time pane is stated though nothing changed", strategy.Strategy{Fn: fixed, Trigger: everything},
			[]event{ones(1), watermark(10)}, []string{
				"insert [0,10) [1] EARLY 0/-1",
				"update-before [0,10) [1] EARLY 0/-1; update-after [0,10) [1] ON_TIME 1/0"}},
		{"other panes that change nothing are not", strategy.Strategy{Fn: fixed, Trigger: everything, Lateness: 100},
			[]event{ones(1), input(elem{1, 2, 2}, elem{1, 2, -2}), watermark(10), input(elem{1, 3, 3}, elem{1, 3, -3}), ones(4)}, []string{
				"insert [0,10) [1] EARLY 0/-1", "",
				"update-before [0,10) [1] EARLY 0/-1; update-after [0,10) [1] ON_TIME 1/0", "",
				"update-before [0,10) [1] ON_TIME 1/0; update-after [0,10) [1 4] LATE 2/1"}},
		{"a window that nothing is left in ends with a delete", strategy.Strategy{Fn: fixed, Trigger: everything},
			[]event{ones(1, 2), back(1), back(2), watermark(10)}, []string{
				"insert [0,10) [1 2] EARLY 0/-1",
				"update-before [0,10) [1 2] EARLY 0/-1; update-after [0,10) [2] EARLY 1/-1",
				"delete [0,10) [2] EARLY 1/-1", ""}},
		{"and begins again with an insert", strategy.Strategy{Fn: fixed, Trigger: everything},
			[]event{ones(1), back(1), ones(5), watermark(10)}, []string{
				"insert [0,10) [1] EARLY 0/-1", "delete [0,10) [1] EARLY 0/-1", "insert [0,10) [5] EARLY 1/-1",
				"update-before [0,10) [5] EARLY 1/-1; update-after [0,10) [5] ON_TIME 2/0"}},
		{"what was never stated is not taken back", strategy.Strategy{Fn: fixed, Trigger: trigger(strategy.OnDefault)},
			[]event{ones(1, 2), back(1, 2), watermark(10)}, []string{"", "", ""}},
		{"withdrawals of expired windows are dropped", strategy.Strategy{Fn: fixed, Trigger: everything, Lateness: 5},
			[]event{ones(1), watermark(15), back(1)}, []string{
				"insert [0,10) [1] EARLY 0/-1",
				"update-before [0,10) [1] EARLY 0/-1; update-after [0,10) [1] ON_TIME 1/0",
				"drop late 1"}},
		{"and those of windows that have closed", strategy.Strategy{Fn: fixed, Trigger: count(2)},
			[]event{ones(1, 2), back(1)}, []string{"insert [0,10) [1 2] EARLY 0/-1", "drop closed 1"}},
		{"a window that merges away ends with a delete", strategy.Strategy{Fn: sessions, Trigger: everything},
			[]event{ones(1), ones(20), ones(11), watermark(40)}, []string{
				"insert [1,11) [1] EARLY 0/-1",
				"insert [20,30) [20] EARLY 0/-1",
				"delete [20,30) [20] EARLY 0/-1; insert [11,30) [11 20] EARLY 0/-1",
				"update-before [1,11) [1] EARLY 0/-1; update-after [1,11) [1] ON_TIME 1/0; " +
					"update-before [11,30) [11 20] EARLY 0/-1; update-after [11,30) [11 20] ON_TIME 1/0"}},
		{"several merge into one", strategy.Strategy{Fn: sessions, Trigger: everything},
			[]event{ones(1), ones(15), ones(9), watermark(40)}, []string{
				"insert [1,11) [1] EARLY 0/-1", "insert [15,25) [15] EARLY 0/-1",
				"delete [1,11) [1] EARLY 0/-1; delete [15,25) [15] EARLY 0/-1; insert [1,25) [1 9 15] EARLY 0/-1",
				"update-before [1,25) [1 9 15] EARLY 0/-1; update-after [1,25) [1 9 15] ON_TIME 1/0"}},
		{"the merge result goes on if it was there", strategy.Strategy{Fn: sessions, Trigger: everything, OnTimeIfNonEmpty: true},
			[]event{ones(1, 10), ones(5), watermark(40)}, []string{
				"insert [1,20) [1 10] EARLY 0/-1",
				"update-before [1,20) [1 10] EARLY 0/-1; update-after [1,20) [1 5 10] EARLY 1/-1", ""}},
		{"what a closed window swallows still stands", strategy.Strategy{Fn: sessions,
			Trigger: trigger(strategy.OnOrFinally, trigger(strategy.OnRepeatedly, count(1)), count(2))},
			[]event{ones(1), ones(2), ones(1), ones(2)}, []string{
				"insert [1,11) [1] EARLY 0/-1", "delete [1,11) [1] EARLY 0/-1; insert [1,12) [1 2] EARLY 0/-1",
				"insert [1,11) [1] EARLY 0/-1", "drop closed 2"}},
		{"a withdrawal has the time of what it takes back", strategy.Strategy{Fn: fixed, Trigger: everything, Combiner: strategy.Latest},
			[]event{ones(1), ones(4)}, []string{
				"insert [0,10) [1] EARLY 0/-1 at 1",
				"update-before [0,10) [1] EARLY 0/-1 at 1; update-after [0,10) [1 4] EARLY 1/-1 at 4"}},
		{"the closing pane is stated if it is asked for", strategy.Strategy{Fn: fixed, Trigger: everything, Lateness: 5, ClosingAlways: true},
			[]event{ones(1), watermark(10), watermark(20)}, []string{
				"insert [0,10) [1] EARLY 0/-1",
				"update-before [0,10) [1] EARLY 0/-1; update-after [0,10) [1] ON_TIME 1/0",
				"update-before [0,10) [1] ON_TIME 1/0; update-after [0,10) [1] LATE 2/1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.Mode = strategy.Retracting
			for _, opt := range []options{{}, {restart: true, full: true}} {
				r := newRig(t, &c.s, generalForm, opt)
				for i, e := range c.script {
					if got := changes(r.hear(e), c.s.Combiner != strategy.EndOfWindow); got != c.want[i] {
						t.Errorf("%+v: event %d, %v:\ngot  %s\nwant %s", opt, i, e, got, c.want[i])
					}
				}
			}
		})
	}
}

// changes prints what a form did on one line.
func changes(got []seen, times bool) string {
	var s []string
	for _, x := range got {
		if x.drop != "" {
			s = append(s, fmt.Sprintf("drop %s %d", x.drop, x.values[0]))
			continue
		}
		at := ""
		if times {
			at = fmt.Sprintf(" at %d", x.time)
		}
		s = append(s, fmt.Sprintf("%v [%d,%d) %v %v %d/%d%s", x.kind, x.w.Start, x.w.End, x.values, x.pane.Timing, x.pane.Index, x.pane.NonSpeculative, at))
	}
	return strings.Join(s, "; ")
}

// TestUnknownWithdrawals checks that taking back what is not there fails, and says where.
func TestUnknownWithdrawals(t *testing.T) {
	for name, script := range map[string][]event{
		"no such window":  {back(1)},
		"no such element": {ones(1), back(2)},
		"taken back once": {ones(1, 2), back(1), back(1)},
		"nothing left":    {ones(1), back(1), back(1)},
	} {
		s := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: trigger(strategy.OnAlways), Mode: strategy.Retracting}
		r := newRig(t, s, generalForm, options{})
		for _, e := range script[:len(script)-1] {
			r.play(e)
		}
		r.input(script[len(script)-1].in)
		for _, want := range []string{"of key 1", "deterministic", "withdrawal"} {
			if r.ctx.Err == nil || !strings.Contains(r.ctx.Err.Error(), want) {
				t.Errorf("%s: error does not contain %q: %v", name, want, r.ctx.Err)
			}
		}
		r.ctx.Err = nil
	}
}

// TestRetractingNeedsWords checks that a retracting form without Encode and Say is refused.
func TestRetractingNeedsWords(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "Encode and Say") {
			t.Errorf("NewGeneral panics with %v", r)
		}
	}()
	s := &strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: trigger(strategy.OnDefault), Mode: strategy.Retracting}
	r := newRig(t, s, generalForm, options{})
	NewGeneral(r.env, "other", testConfig{Strategy: s, Emit: r.emit})
}

// drawWithdrawals takes some of the elements of a script back, each once and
// not before it came.
func drawWithdrawals(t *rapid.T, script []event) (out []event, withdrawn map[int64]bool) {
	withdrawn = map[int64]bool{}
	var there []elem
	for _, e := range script {
		if e.kind == 'i' {
			e.in = slices.Clone(e.in)
			there = append(there, e.in...)
		}
		for e.kind == 'i' && len(there) > 0 && rapid.IntRange(0, 2).Draw(t, "takes back") > 0 {
			i := rapid.IntRange(0, len(there)-1).Draw(t, "which")
			x := there[i]
			there = slices.Delete(there, i, i+1)
			withdrawn[x.v] = true
			x.v = -x.v
			e.in = append(e.in, x)
		}
		out = append(out, e)
	}
	return out, withdrawn
}

// rowOf is what one key says in one window.
type rowOf struct {
	key int64
	w   exec.Window
}

// A ledger books what a retracting form says and fails at a withdrawal of
// something else than what was said last.
type ledger struct {
	t     *rapid.T
	said  map[rowOf]seen
	drops map[rowOf]map[int64]int
}

func (l *ledger) book(got []seen) {
	for _, s := range got {
		row := rowOf{s.key, s.w}
		last, has := l.said[row]
		switch {
		case s.drop != "":
			if l.drops[row] == nil {
				l.drops[row] = map[int64]int{}
			}
			l.drops[row][s.values[0]]++
			continue
		case s.kind.Withdrawal():
			last.kind = s.kind
			if !has || last.String() != s.String() {
				l.t.Fatalf("withdrawal\n%v\nof what was said last\n%v", s, last)
			}
			delete(l.said, row)
			continue
		case has:
			l.t.Fatalf("%v\nis said while this stands:\n%v", s, last)
		case len(s.values) == 0:
			l.t.Fatalf("nothing is said: %v", s)
		}
		l.said[row] = s
	}
}

func (l *ledger) String() string {
	var lines []string
	for row, s := range l.said {
		lines = append(lines, fmt.Sprintf("key %d [%d,%d) %v", row.key, row.w.Start, row.w.End, s.values))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestRetractionsAddUp checks that whatever is said is what was said last, taken back exactly,
// and that in the end each key and window says what it would say if all that
// was not dropped had come at once.
func TestRetractionsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, true), drawTrigger(rt, 2))
		s.Mode = strategy.Retracting
		script, withdrawn := drawScript(rt, 4), map[int64]bool{}
		if s.Merging() {
			// A session that has expired, or closed, is gone: what comes later does not
			// merge with it, as it would if all came at once.
			s.Trigger = &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{s.Trigger}}
			s.Lateness = 100_000
		} else {
			script, withdrawn = drawWithdrawals(rt, script)
		}
		r := newRig(quiet{t, rt}, s, generalForm, options{})
		l := &ledger{rt, map[rowOf]seen{}, map[rowOf]map[int64]int{}}
		for _, e := range script {
			l.book(r.play(e))
		}
		if got, want := l.String(), atOnce(rt, s, script, withdrawn, l.drops); got != want {
			rt.Fatalf("%v\n%v\nsaid in the end:\n%s\nall at once:\n%s", s, script, got, want)
		}
	})
}

// atOnce says what each key and window holds of a script, less what was dropped.
func atOnce(t *rapid.T, s *strategy.Strategy, script []event, withdrawn map[int64]bool, drops map[rowOf]map[int64]int) string {
	env := newRig(quiet{nil, t}, &strategy.Strategy{Fn: s.Fn, Trigger: trigger(strategy.OnDefault), Mode: strategy.Retracting}, generalForm,
		options{exploded: true})
	for _, e := range script {
		for _, x := range e.in {
			if x.v < 0 {
				continue
			}
			for _, w := range s.Fn.Assign(nil, x.time) {
				// What is dropped when it comes is dropped when it is taken back, too.
				d := drops[rowOf{x.key, w}][x.v]
				if withdrawn[x.v] && d != 1 || !withdrawn[x.v] && d != 0 {
					continue
				}
				env.ctx.Time, env.ctx.Window = x.time, w
				env.f.Element(env.ctx, x.key, x.v)
			}
		}
	}
	env.f.Turn(env.ctx)
	l := &ledger{t, map[rowOf]seen{}, nil}
	l.book(env.play(watermark(exec.MaxTime)))
	return l.String()
}

// TestRetractingRestarts holds a retracting form that is stored and read back at
// every chance to one that is not.
func TestRetractingRestarts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, true), drawTrigger(rt, 3))
		s.Mode = strategy.Retracting
		script := drawScript(rt, 5)
		if !s.Merging() {
			script, _ = drawWithdrawals(rt, script)
		}
		q := quiet{t, rt}
		opt := options{restart: rapid.Bool().Draw(rt, "restart"), full: true}
		compare(q, script, newRig(q, s, generalForm, opt), newRig(q, s, generalForm, options{}), "restarted", "straight")
	})
}

// TestOnePaneIsNeverTakenBack holds strategy.OnePane to what forms do.
func TestOnePaneIsNeverTakenBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStrategy(rt, drawFn(rt, true), triggerLeaves.Draw(rt, "trigger"))
		s.Mode = strategy.Retracting
		if !s.OnePane() {
			return
		}
		script := drawScript(rt, 4)
		if !s.Merging() {
			script, _ = drawWithdrawals(rt, script)
		}
		r := newRig(quiet{t, rt}, s, generalForm, options{})
		for _, e := range script {
			for _, x := range r.play(e) {
				if x.kind != exec.Insert {
					rt.Fatalf("%v\n%v\none pane, and then %v", s, script, x)
				}
			}
		}
	})
}

// FuzzDecodeStated feeds stored state of retracting windows that is damaged to its coder.
func FuzzDecodeStated(f *testing.F) {
	pane := exec.Pane{Index: 3, NonSpeculative: -1, Timing: exec.Late, Last: true}
	for _, x := range []*stated{{net: 2}, {net: 1, has: true, statement: statement{[]byte("said"), 17, pane}}, {has: true}} {
		b := appendStated(nil, x)
		f.Add(b)
		r := reader{src: b}
		y := r.stated()
		if r.err != nil || len(r.src) > 0 || y.net != x.net || y.has != x.has || string(y.said) != string(x.said) || y.at != x.at || y.pane != x.pane {
			f.Fatalf("%+v comes back as %+v: %v", x, y, r.err)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		r := reader{src: src}
		x := r.stated()
		if r.err != nil {
			return
		}
		again := reader{src: appendStated(nil, x)}
		if y := again.stated(); again.err != nil || y.net != x.net || y.has != x.has || cmp.Compare(string(y.said), string(x.said)) != 0 {
			t.Fatalf("%x does not survive: %+v, %+v, %v", src, x, y, again.err)
		}
	})
}

// BenchmarkRetracting fires a window at every element.
func BenchmarkRetracting(b *testing.B) {
	s := &strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: trigger(strategy.OnAlways), Mode: strategy.Retracting}
	r := newRig(b, s, generalForm, options{})
	r.ctx = exec.NewCtx(context.Background())
	b.ReportAllocs()
	for i := range b.N {
		r.f.Element(r.ctx, int64(i%1000), 1)
		r.ctx.Kind = exec.Delete
		r.f.Element(r.ctx, int64(i%1000), 1)
		r.ctx.Kind = exec.Insert
		r.f.Element(r.ctx, int64(i%1000), int64(i))
		r.ctx.Kind = exec.Insert
		r.f.Turn(r.ctx)
		r.got = r.got[:0]
		if i >= 1000 {
			r.ctx.Kind = exec.Delete
			r.f.Element(r.ctx, int64(i%1000), int64(i-1000))
			r.ctx.Kind = exec.Insert
		}
	}
}
