package modeltest

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// told says what a probe of a transform is told, and what its law makes of it.
type told struct {
	law     func(*probe) error
	s       strategy.Strategy
	bounded bool
	in, out []entry
	late    []entry // of side 0
	want    string  // part of what is wrong; empty if nothing is
}

func (c told) check(t *testing.T) {
	t.Helper()
	r := &record{}
	p := r.probe("it")
	p.law, p.strategy, p.bounded, p.late = c.law, &c.s, c.bounded, []*probe{r.probe("left"), r.probe("right")}
	for _, e := range c.in {
		r.in(p, e)
	}
	for _, e := range c.out {
		r.saw(p, e)
	}
	for _, e := range c.late {
		r.saw(p.late[0], e)
	}
	err := r.laws(&pcoll.Result{Transforms: []pcoll.TransformResult{{Name: "it", DroppedLate: int64(len(c.late))}}})
	if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
		t.Errorf("got %v, want %q", err, c.want)
	}
}

func elem(side int, text string, at exec.Time) entry {
	return entry{side: side, key: "k", text: text, at: at, window: exec.Window{Start: 0, End: 10}}
}

// paned is a row in pane i.
func paned(text string, i int64, kind exec.Kind) entry {
	return entry{key: "k", text: text, window: exec.Window{Start: 0, End: 10}, pane: exec.Pane{Index: i}, kind: kind}
}

// TestJoinLaw gives the reference rows that are right, and rows that are not.
func TestJoinLaw(t *testing.T) {
	fixed := strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}, Mode: strategy.Accumulating}
	retracting := fixed
	retracting.Mode = strategy.Retracting
	sessions := fixed
	sessions.Fn = strategy.SessionWindows{Gap: 4}
	l, r, gone := elem(0, "l", 1), elem(1, "r", 2), elem(1, "r", 2)
	gone.kind = exec.Delete
	early, late, whole := elem(0, "l", 1), elem(1, "r", 4), paned("l+r", 0, exec.Insert)
	early.window, late.window, whole.window = exec.Window{Start: 1, End: 5}, exec.Window{Start: 4, End: 8}, exec.Window{Start: 1, End: 8}
	for name, c := range map[string]told{
		"pair":             {law: joinLaw(InnerJoin), s: fixed, in: []entry{l, r}, out: []entry{paned("l+r", 0, exec.Insert)}},
		"none":             {law: joinLaw(InnerJoin), s: fixed, in: []entry{l, r}, want: "- k in"},
		"one too many":     {law: joinLaw(InnerJoin), s: fixed, in: []entry{l}, out: []entry{paned("l+-", 0, exec.Insert)}, want: "+ k in"},
		"alone at first":   {law: joinLaw(LeftJoin), s: fixed, in: []entry{l, r}, out: []entry{paned("l+-", 0, exec.Insert), paned("l+r", 1, exec.Insert)}},
		"alone at last":    {law: joinLaw(LeftJoin), s: fixed, in: []entry{l, r}, out: []entry{paned("l+-", 0, exec.Insert)}, want: "l+r"},
		"right alone":      {law: joinLaw(RightJoin), s: fixed, in: []entry{r}, out: []entry{paned("-+r", 0, exec.Insert)}},
		"neither":          {law: joinLaw(FullJoin), s: fixed, in: []entry{r}, want: "-+r"},
		"groups":           {law: joinLaw(CoGroup), s: fixed, in: []entry{l, r}, out: []entry{paned("[l]; [r]", 0, exec.Insert)}},
		"an empty group":   {law: joinLaw(CoGroup), s: fixed, in: []entry{l, r}, out: []entry{paned("[l]; []", 0, exec.Insert)}, want: "[l]; [r]"},
		"of dropped, none": {law: joinLaw(InnerJoin), s: fixed, in: []entry{l, r}, late: []entry{l}},
		"withdrawn": {law: joinLaw(InnerJoin), s: retracting, in: []entry{l, r, gone},
			out: []entry{paned("l+r", 0, exec.Insert), paned("l+r", 0, exec.Delete)}},
		"not withdrawn": {law: joinLaw(InnerJoin), s: retracting, in: []entry{l, r, gone}, out: []entry{paned("l+r", 0, exec.Insert)}, want: "+ k in"},
		"withdrawn too early": {law: joinLaw(InnerJoin), s: retracting, in: []entry{l, r, gone},
			out: []entry{paned("l+r", 0, exec.Delete), paned("l+r", 0, exec.Insert)}, want: "a withdrawal took nothing back"},
		"a session":      {law: joinLaw(InnerJoin), s: sessions, bounded: true, in: []entry{early, late}, out: []entry{whole}},
		"sessions apart": {law: joinLaw(InnerJoin), s: sessions, bounded: true, in: []entry{early, late}, want: "l+r"},
	} {
		t.Run(name, c.check)
	}
}

// TestIntervalLaw does so for times.
func TestIntervalLaw(t *testing.T) {
	global := strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}
	st := Step{Kind: LeftInterval, Lower: 0, Upper: 5}
	l, in, out := elem(0, "l", 10), elem(1, "in", 15), elem(1, "out", 16)
	pair, alone := elem(0, "l+in", 15), elem(0, "l+-", 10)
	for name, c := range map[string]told{
		"in reach":      {in: []entry{l, in, out}, out: []entry{pair}},
		"nothing":       {in: []entry{l, in}, want: "- k: l+in at 15"},
		"out of reach":  {in: []entry{l, out}, out: []entry{alone}},
		"both":          {in: []entry{l, in}, out: []entry{pair, alone}, want: "+ k: l+- at 10"},
		"of what stays": {in: []entry{l, l, in}, late: []entry{l}, out: []entry{pair}},
		"of dropped":    {in: []entry{l, in}, late: []entry{l}, out: []entry{pair}, want: "+ k: l+in at 15"},
	} {
		if c.law == nil {
			c.law = intervalLaw(st)
		}
		c.s = global
		t.Run(name, c.check)
	}
}

// TestKeepLaw counts what a function with state gives.
func TestKeepLaw(t *testing.T) {
	fixed := strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}
	two := entry{key: "k", n: 2}
	all := &State{Event: AtEnd, Drain: All, Expiry: true}
	for name, c := range map[string]told{
		"all":            {law: keepLaw(all), in: []entry{two, two, two}, late: []entry{two}, out: []entry{two}},
		"one lost":       {law: keepLaw(all), in: []entry{two, two, two}, out: []entry{two}, want: "3 elements entered, 2 were emitted"},
		"some stay":      {law: keepLaw(&State{Event: AtEnd, Expiry: true}), in: []entry{two}, out: []entry{two, two}},
		"some are ended": {law: keepLaw(&State{Event: AtEnd, Drain: All, TTL: 3, Expiry: true}), in: []entry{two, two, two}},
	} {
		c.s = fixed
		t.Run(name, c.check)
	}
}
