package transforms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func inOrder(g pcoll.Group[string]) string {
	vs := slices.Sorted(g.All())
	if !slices.Equal(vs, slices.Sorted(g.All())) {
		return "a group that can be read only once"
	}
	return strings.Join(vs, ",")
}

// TestCoGroupByKey covers keys that are in some of the collections only.
func TestCoGroupByKey(t *testing.T) {
	pairs := func(p *pcoll.Pipeline, keyed ...string) texts {
		return KeyBy(CreateFrom(p, keyed), func(s string) string { return s[:1] })
	}
	p := pcoll.New("test")
	a, b, c, d := pairs(p, "a1", "b1", "a2"), pairs(p, "a3", "c1"), pairs(p), pairs(p, "d1", "a4", "c1", "c1")
	passert.Equals(t, Map(CoGroupByKey2(a, b), func(e pcoll.KV[string, CoGroup2[string, string]]) string {
		return fmt.Sprintf("%s: %s; %s", e.Key, inOrder(e.Value.First), inOrder(e.Value.Second))
	}), "a: a1,a2; a3", "b: b1; ", "c: ; c1")
	passert.Equals(t, Map(CoGroupByKey3(a, b, c), func(e pcoll.KV[string, CoGroup3[string, string, string]]) string {
		return fmt.Sprintf("%s: %s; %s; %s", e.Key, inOrder(e.Value.First), inOrder(e.Value.Second), inOrder(e.Value.Third))
	}), "a: a1,a2; a3; ", "b: b1; ; ", "c: ; c1; ")
	passert.Equals(t, Map(CoGroupByKey4(a, b, c, d), func(e pcoll.KV[string, CoGroup4[string, string, string, string]]) string {
		v := e.Value
		return fmt.Sprintf("%s: %s; %s; %s; %s", e.Key, inOrder(v.First), inOrder(v.Second), inOrder(v.Third), inOrder(v.Fourth))
	}), "a: a1,a2; a3; ; a4", "b: b1; ; ; ", "c: ; c1; ; c1,c1", "d: ; ; ; d1")
	// A collection with itself, of pointers of which some are nil.
	some := MapValues(a, func(s string) *string {
		if s == "a2" {
			return nil
		}
		return &s
	})
	passert.Equals(t, MapValues(CoGroupByKey2(some, some), func(g CoGroup2[*string, *string]) int { return 10*g.First.Len() + g.Second.Len() }),
		pcoll.Pair("a", 22), pcoll.Pair("b", 11))
	ptest.Run(t, p)
}

// TestCoGroupPerWindow covers windows, late elements of each side, and panes.
func TestCoGroupPerWindow(t *testing.T) {
	s := newStreams().l(1, "k", "l1").r(2, "k", "r2").l(11, "k", "l11").wm(10, 5).r(9, "k", "r9").wm(20, 12).
		l(3, "k", "l3").r(4, "k", "r4").r(15, "k", "r15").wm(20, 20)
	p := pcoll.New("test")
	into := func(in texts) texts { return windowing.Into(in, windowing.Fixed(10*time.Second)) }
	groups, late1, late2 := CoGroupByKey2WithLate(into(s.left.Source(p)), into(s.right.Source(p)), pcoll.Named("Both"))
	window := func(from, to int) pcoll.Window { return passert.Window(second(from), second(to)) }
	passert.Panes(t, MapValues(groups, func(g CoGroup2[string, string]) string { return inOrder(g.First) + "; " + inOrder(g.Second) }),
		passert.OnTime(pcoll.Pair("k", "l1; r2,r9")).In(window(0, 10)), passert.OnTime(pcoll.Pair("k", "l11; r15")).In(window(10, 20)))
	passert.Panes(t, late1, passert.Ungrouped(pcoll.Pair("k", "l3")).In(pcoll.Global).At(second(3)))
	passert.Panes(t, late2, passert.Ungrouped(pcoll.Pair("k", "r4")).In(pcoll.Global).At(second(4)))
	for runner, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("Both"); r.DroppedLate != 2 {
			t.Errorf("%s counts %d dropped elements, want 2", runner, r.DroppedLate)
		}
	}
}

// TestCoGroupLate covers the late outputs of three and four.
func TestCoGroupLate(t *testing.T) {
	s := newStreams().wm(20, 20).l(1, "k", "l1").r(2, "k", "r2").l(21, "k", "l21")
	p := pcoll.New("test")
	into := func(in texts) texts { return windowing.Into(in, windowing.Fixed(10*time.Second)) }
	l, r := into(s.left.Source(p)), into(s.right.Source(p))
	three, a, b, c := CoGroupByKey3WithLate(l, r, r)
	passert.Equals(t, Keys(three), "k")
	four, d, e, f, g := CoGroupByKey4WithLate(l, r, r, l)
	passert.Equals(t, Keys(four), "k")
	for _, late := range []texts{a, d, g} {
		passert.Equals(t, Values(late), "l1")
	}
	for _, late := range []texts{b, c, e, f} {
		passert.Equals(t, Values(late), "r2")
	}
	ptest.Run(t, p)
}

// joins are the four joins, with rows as text.
var joins = map[string]func(l, r texts) joined{
	"inner": func(l, r texts) joined {
		j, ll, lr := JoinWithLate(l, r, pcoll.Named("Join"))
		return joined{Map(j, row(plain, plain)), Values(ll), Values(lr)}
	},
	"left": func(l, r texts) joined {
		j, ll, lr := LeftJoinWithLate(l, r, pcoll.Named("Join"))
		return joined{Map(j, row(plain, pointed2)), Values(ll), Values(lr)}
	},
	"right": func(l, r texts) joined {
		j, ll, lr := RightJoinWithLate(l, r, pcoll.Named("Join"))
		return joined{Map(j, row(pointed2, plain)), Values(ll), Values(lr)}
	},
	"full": func(l, r texts) joined {
		j, ll, lr := FullJoinWithLate(l, r, pcoll.Named("Join"))
		return joined{Map(j, row(pointed2, pointed2)), Values(ll), Values(lr)}
	},
}

func TestJoins(t *testing.T) {
	for kind, want := range map[string][]string{
		"inner": {"k:l1+r2", "k:l1+r3", "k:l4+r2", "k:l4+r3"},
		"left":  {"k:l1+r2", "k:l1+r3", "k:l4+r2", "k:l4+r3", "a:l5+", "k:l12+"},
		"right": {"k:l1+r2", "k:l1+r3", "k:l4+r2", "k:l4+r3", "b:+r6", "b:+r21"},
		"full":  {"k:l1+r2", "k:l1+r3", "k:l4+r2", "k:l4+r3", "a:l5+", "k:l12+", "b:+r6", "b:+r21"},
	} {
		t.Run(kind, func(t *testing.T) {
			s := newStreams().l(1, "k", "l1").r(2, "k", "r2").r(3, "k", "r3").l(4, "k", "l4").l(5, "a", "l5").r(6, "b", "r6").
				l(12, "k", "l12").r(21, "b", "r21").wm(15, 15).l(7, "k", "l7").r(8, "k", "r8").r(9, "k", "r9")
			p := pcoll.New("test")
			into := func(in texts) texts { return windowing.Into(in, windowing.Fixed(10*time.Second)) }
			out := joins[kind](into(s.left.Source(p)), into(s.right.Source(p)))
			passert.Equals(t, out.rows, want...)
			passert.Equals(t, out.lateLeft, "l7")
			passert.Equals(t, out.lateRight, "r8", "r9")
			for runner, res := range ptest.Run(t, p) {
				if r, _ := res.Transform("Join"); r.DroppedLate != 3 {
					t.Errorf("%s counts %d dropped elements, want 3", runner, r.DroppedLate)
				}
			}
		})
	}
}

// TestJoinPanes: each pane of accumulating windows is the whole join so far.
func TestJoinPanes(t *testing.T) {
	s := newStreams().l(1, "k", "l1").r(2, "k", "r2").wm(10, 10).r(3, "k", "r3")
	p := pcoll.New("test")
	into := func(in texts) texts {
		return windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(time.Minute), windowing.Accumulating(),
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)}))
	}
	out := LeftJoin(into(s.left.Source(p)), into(s.right.Source(p)))
	passert.That(t, Map(out, row(plain, pointed2)), func(got []passert.Element[string]) error {
		panes := map[string][]string{}
		for _, e := range got {
			pane := fmt.Sprintf("%d%v", e.Pane.Index, e.Pane.Timing)
			panes[pane] = append(panes[pane], e.Value)
		}
		slices.Sort(panes["3LATE"])
		want := map[string][]string{"0EARLY": {"k:l1+"}, "1EARLY": {"k:l1+r2"}, "2ON_TIME": {"k:l1+r2"}, "3LATE": {"k:l1+r2", "k:l1+r3"}}
		if fmt.Sprint(panes) != fmt.Sprint(want) {
			return fmt.Errorf("got %v, want %v", panes, want)
		}
		return nil
	})
	ptest.Run(t, p)
}

// TestJoinTakesBack: a retracting outer join takes a row alone back when it finds its match.
func TestJoinTakesBack(t *testing.T) {
	s := newStreams().l(1, "k", "l1").wm(10, 10).r(3, "k", "r3")
	p := pcoll.New("test")
	into := func(in texts) texts {
		return windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(time.Minute), windowing.Retracting())
	}
	out := FullJoin(into(s.left.Source(p)), into(s.right.Source(p)))
	passert.That(t, Map(out, row(pointed2, pointed2)), func(got []passert.Element[string]) error {
		var all []string
		for _, e := range got {
			all = append(all, fmt.Sprint(e.Kind, " ", e.Value))
		}
		if want := []string{"insert k:l1+", "update-before k:l1+", "update-after k:l1+r3"}; !slices.Equal(all, want) {
			return fmt.Errorf("got %q, want %q", all, want)
		}
		return nil
	})
	ptest.Run(t, p)
}

func TestJoinMistakes(t *testing.T) {
	pairs := func(p *pcoll.Pipeline) texts { return Create(p, pcoll.Pair("k", "v")) }
	minutes := func(in texts, opts ...pcoll.Option) texts {
		return windowing.Into(in, windowing.Fixed(time.Minute), opts...)
	}
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		want  string
	}{
		{"windows differ", func(p *pcoll.Pipeline) { CoGroupByKey2(pairs(p), minutes(pairs(p))) },
			"CoGroupByKey/Flatten: input 1 cannot be joined with input 0: windows fixed(1m0s) and global differ; apply windowing.Into"},
		{"windows of a join differ", func(p *pcoll.Pipeline) { Join(minutes(pairs(p)), windowing.Into(pairs(p), windowing.Fixed(time.Hour))) },
			"Join/Flatten: input 1 cannot be joined with input 0: windows fixed(1h0m0s) and fixed(1m0s) differ"},
		{"endless", func(p *pcoll.Pipeline) { LeftJoin(pairs(p), unbounded[pcoll.KV[string, string]](p)) },
			"LeftJoin: unbounded input in the global window, which no watermark ever ends"},
		{"pieces", func(p *pcoll.Pipeline) {
			late := func(in texts) texts { return minutes(in, windowing.AllowedLateness(time.Hour), windowing.Discarding()) }
			FullJoin(late(pairs(p)), late(pairs(p)))
		}, "FullJoin: a window can have several panes, of which each holds only what is new"},
		{"key", func(p *pcoll.Pipeline) {
			in := KeyBy(Create(p, 1), func(int) float64 { return 0 })
			Join(in, in)
		}, "Join: coders: cannot use as a key float64"},
		{"value", func(p *pcoll.Pipeline) {
			CoGroupByKey2(pairs(p), KeyBy(Create(p, account{}), func(account) string { return "" }))
		},
			"CoGroupByKey: coders: cannot encode account.balance"},
		{"bounds", func(p *pcoll.Pipeline) { IntervalJoin(pairs(p), pairs(p), time.Second, 0) },
			"IntervalJoin: no time is from 1s to 0s after another; want a lower bound that is not above the upper one"},
		{"fine bounds", func(p *pcoll.Pipeline) { LeftIntervalJoin(pairs(p), pairs(p), 0, time.Microsecond) },
			"LeftIntervalJoin: bounds 0s and 1µs cannot be: time is kept in whole milliseconds"},
		{"interval in windows", func(p *pcoll.Pipeline) { RightIntervalJoin(pairs(p), minutes(pairs(p)), 0, 0) },
			"RightIntervalJoin: input 1 is in windows, fixed(1m0s), which an interval join does not look at; put it into the global window"},
		{"interval of withdrawals, late", func(p *pcoll.Pipeline) {
			said := MapValues(GroupByKey(minutes(pairs(p), windowing.AllowedLateness(time.Hour), windowing.Retracting())),
				func(g pcoll.Group[string]) string { return fmt.Sprint(g.Len()) })
			IntervalJoinWithLate(windowing.Into(said, windowing.Global()), windowing.Into(pairs(p), windowing.Global(), windowing.Retracting()), 0, 0)
		}, "IntervalJoin: elements of the input may be withdrawals, and one that comes too late would be alone"},
		{"interval of withdrawals, times that move", func(p *pcoll.Pipeline) {
			said := MapValues(GroupByKey(windowing.Into(pairs(p), windowing.Global(), windowing.Trigger(triggers.Always{}), windowing.StampedLatest(),
				windowing.Retracting())), func(g pcoll.Group[string]) string { return fmt.Sprint(g.Len()) })
			IntervalJoin(said, said, 0, 0)
		}, "IntervalJoin: results in input 0 are stamped LATEST and change their time from pane to pane"},
		{"interval, stamps differ", func(p *pcoll.Pipeline) {
			FullIntervalJoin(windowing.Into(pairs(p), windowing.Global(), windowing.StampedLatest()), pairs(p), 0, 0)
		}, "FullIntervalJoin: the right input cannot be joined with the left one: results are stamped END_OF_WINDOW and LATEST"},
		{"interval, key", func(p *pcoll.Pipeline) {
			in := KeyBy(Create(p, 1), func(int) float64 { return 0 })
			IntervalJoin(in, in, 0, 0)
		}, "IntervalJoin: coders: cannot use as a key float64"},
		{"interval, value", func(p *pcoll.Pipeline) {
			IntervalJoin(pairs(p), KeyBy(Create(p, account{}), func(account) string { return "" }), 0, 0)
		}, "IntervalJoin: coders: cannot encode account.balance"},
	} {
		p := pcoll.New("test")
		c.build(p)
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "join_test.go:") != 1 {
			t.Errorf("%s: got %v, want one error, with %q", c.name, err, c.want)
		}
	}
}
