package modeltest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/transforms"
)

// This file holds the steps with a second input, with state, and of the library.

// none stands for a side of a joined row that is missing.
const none = "-"

// joined is a joined row as text. The reference makes rows with it, too.
func joined(l, r string) string { return brief(l + "+" + r) }

// cogrouped is a co-grouping as text, of groups in any order.
func cogrouped(groups ...[]string) string {
	var parts []string
	for _, g := range groups {
		parts = append(parts, brief("["+strings.Join(slices.Sorted(slices.Values(g)), " ")+"]"))
	}
	return brief(strings.Join(parts, "; "))
}

// rowsOf turns joined rows into text; l and r do so for a side.
func rowsOf[L, R any](in pcoll.PCollection[pcoll.KV[string, transforms.Joined[L, R]]], l func(L) string, r func(R) string) pcoll.PCollection[row] {
	return transforms.MapValues(in, func(j transforms.Joined[L, R]) string { return joined(l(j.Left), r(j.Right)) })
}

func whole(s string) string { return s }

func pointed(s *string) string {
	if s == nil {
		return none
	}
	return *s
}

type (
	rows2   = pcoll.PCollection[row]
	joinFn  = func(l, r rows2, late bool, named pcoll.Option) (out, lateLeft, lateRight rows2)
	both    = pcoll.KV[string, transforms.CoGroup2[string, string]]
	trio    = pcoll.KV[string, transforms.CoGroup3[string, string, string]]
	gathers = pcoll.Group[string]
)

func all(g gathers) []string { return slices.Collect(g.All()) }

// join co-groups or joins with other.
func (b *builder) join(name string, st Step, other rows2) rows2 {
	in := b.into(b.cur, st.Strategy)
	col := pcoll.Col(in)
	if col == nil || pcoll.Col(other) == nil {
		return in
	}
	probe := b.probe(name, col, joinLaw(st.Kind))
	probe.retracts = probe.retracts || pcoll.Col(other).Retracts
	probe.panes, probe.rows = true, true
	enter(in, probe, 0)
	enter(other, probe, 1)
	if st.Kind == CoGroup3 {
		enter(other, probe, 2)
	}
	out, late := joins(st.Kind, in, other, !st.NoLate, pcoll.Named(name))
	observe(out, probe, text)
	b.late(probe, st, late...)
	return out
}

// joins applies the join, with or without late outputs.
func joins(kind StepKind, l, r rows2, late bool, named pcoll.Option) (out rows2, lates []rows2) {
	var a, b, c rows2
	switch kind {
	case CoGroup:
		var groups pcoll.PCollection[both]
		if late {
			groups, a, b = transforms.CoGroupByKey2WithLate(l, r, named)
		} else {
			groups = transforms.CoGroupByKey2(l, r, named)
		}
		out = transforms.MapValues(groups, func(g transforms.CoGroup2[string, string]) string { return cogrouped(all(g.First), all(g.Second)) })
	case CoGroup3:
		var groups pcoll.PCollection[trio]
		if late {
			groups, a, b, c = transforms.CoGroupByKey3WithLate(l, r, r, named)
		} else {
			groups = transforms.CoGroupByKey3(l, r, r, named)
		}
		out = transforms.MapValues(groups, func(g transforms.CoGroup3[string, string, string]) string {
			return cogrouped(all(g.First), all(g.Second), all(g.Third))
		})
		return out, []rows2{a, b, c}
	default:
		out, a, b = joinFns[kind-InnerJoin](l, r, late, named)
	}
	return out, []rows2{a, b}
}

var joinFns = []joinFn{
	func(l, r rows2, late bool, named pcoll.Option) (rows2, rows2, rows2) {
		if !late {
			return rowsOf(transforms.Join(l, r, named), whole, whole), rows2{}, rows2{}
		}
		out, a, b := transforms.JoinWithLate(l, r, named)
		return rowsOf(out, whole, whole), a, b
	},
	func(l, r rows2, late bool, named pcoll.Option) (rows2, rows2, rows2) {
		if !late {
			return rowsOf(transforms.LeftJoin(l, r, named), whole, pointed), rows2{}, rows2{}
		}
		out, a, b := transforms.LeftJoinWithLate(l, r, named)
		return rowsOf(out, whole, pointed), a, b
	},
	func(l, r rows2, late bool, named pcoll.Option) (rows2, rows2, rows2) {
		if !late {
			return rowsOf(transforms.RightJoin(l, r, named), pointed, whole), rows2{}, rows2{}
		}
		out, a, b := transforms.RightJoinWithLate(l, r, named)
		return rowsOf(out, pointed, whole), a, b
	},
	func(l, r rows2, late bool, named pcoll.Option) (rows2, rows2, rows2) {
		if !late {
			return rowsOf(transforms.FullJoin(l, r, named), pointed, pointed), rows2{}, rows2{}
		}
		out, a, b := transforms.FullJoinWithLate(l, r, named)
		return rowsOf(out, pointed, pointed), a, b
	},
}

// interval joins with other by time, in the global window.
func (b *builder) interval(name string, st Step, other rows2) rows2 {
	global := &strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: of(strategy.OnDefault), Lateness: st.By}
	in, other := b.into(b.cur, global), b.into(other, global)
	if pcoll.Col(in) == nil || pcoll.Col(other) == nil {
		return in
	}
	probe := b.probe(name, pcoll.Col(in), intervalLaw(st))
	enter(in, probe, 0)
	enter(other, probe, 1)
	probe.loose = st.NoLate
	out, a, c := intervals(st, in, other, pcoll.Named(name))
	observe(out, probe, text)
	b.late(probe, st, a, c)
	return out
}

// intervals applies the join, with late outputs unless there is to be none.
func intervals(st Step, l, r rows2, named pcoll.Option) (out, lateLeft, lateRight rows2) {
	lower, upper := ms(st.Lower), ms(st.Upper)
	switch st.Kind {
	case InnerInterval:
		if st.NoLate {
			return rowsOf(transforms.IntervalJoin(l, r, lower, upper, named), whole, whole), rows2{}, rows2{}
		}
		out, a, b := transforms.IntervalJoinWithLate(l, r, lower, upper, named)
		return rowsOf(out, whole, whole), a, b
	case LeftInterval:
		if st.NoLate {
			return rowsOf(transforms.LeftIntervalJoin(l, r, lower, upper, named), whole, pointed), rows2{}, rows2{}
		}
		out, a, b := transforms.LeftIntervalJoinWithLate(l, r, lower, upper, named)
		return rowsOf(out, whole, pointed), a, b
	case RightInterval:
		if st.NoLate {
			return rowsOf(transforms.RightIntervalJoin(l, r, lower, upper, named), pointed, whole), rows2{}, rows2{}
		}
		out, a, b := transforms.RightIntervalJoinWithLate(l, r, lower, upper, named)
		return rowsOf(out, pointed, whole), a, b
	}
	if st.NoLate {
		return rowsOf(transforms.FullIntervalJoin(l, r, lower, upper, named), pointed, pointed), rows2{}, rows2{}
	}
	full, a, b := transforms.FullIntervalJoinWithLate(l, r, lower, upper, named)
	return rowsOf(full, pointed, pointed), a, b
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// keep applies a function with state.
func (b *builder) keep(name string, st Step) rows2 {
	in := b.into(b.cur, st.Strategy)
	col := pcoll.Col(in)
	if col == nil {
		return in
	}
	probe := b.probe(name, col, keepLaw(st.State))
	enter(in, probe, 0)
	opts := []pcoll.Option{pcoll.Named(name), transforms.AllowedSkew(100 * time.Hour)}
	if st.State.Sorted {
		opts = append(opts, transforms.TimeSorted())
	}
	out, late := transforms.StatefulParDoWithLate(in, newKeeper(*st.State, col.Strategy), opts...)
	observe(out, probe, func(r result) result { return r })
	b.late(probe, st, late)
	return transforms.MapValues(out, func(r result) string { return r.Text })
}

// view looks at a view of other.
func (b *builder) view(name string, st Step, other rows2) rows2 {
	in, other := b.into(b.cur, st.Strategy), b.into(other, st.Other)
	named := pcoll.Named(name)
	saw := func(e row, what string) row { return pcoll.Pair(e.Key, brief(e.Value+" sees "+what)) }
	switch st.Kind {
	case List:
		return transforms.MapSide(in, side.AsList(other), func(e row, v side.List[row]) row {
			var texts []string
			for x := range v.All() {
				texts = append(texts, x.Key+"="+x.Value)
			}
			slices.Sort(texts)
			return saw(e, fmt.Sprintf("%d (%s)", v.Len(), strings.Join(texts, " ")))
		}, named)
	case Multimap:
		return transforms.MapSide(in, side.AsMultimap(other), func(e row, v side.Multimap[string, string]) row {
			return saw(e, fmt.Sprintf("%d keys, %s", v.Len(), cogrouped(all(v.Lookup(e.Key)))))
		}, named)
	}
	total := transforms.Combine(other, allOf{})
	return transforms.MapSide(in, side.AsSingletonOr(total, result{Text: "nothing"}), func(e row, v side.Singleton[result]) row {
		return saw(e, v.Get().Text)
	}, named)
}

// library applies a transform of the library.
func (b *builder) library(name string, st Step) rows2 {
	in, named := b.into(b.cur, st.Strategy), pcoll.Named(name)
	switch st.Kind {
	case Distinct:
		few := transforms.Map(in, func(e row) row { return pcoll.Pair(e.Key, fmt.Sprint("part", part(e, 3))) })
		return transforms.Distinct(few, named)
	case Latest: // of elements with the same time any is the latest
		return transforms.LatestPerKey(transforms.ParDo(in, timing{}), named)
	case Dedup:
		return transforms.Deduplicate(in, func(e row) string { return e.Key }, ms(st.By), named)
	}
	batches := transforms.GroupIntoBatches(in, int(st.By), named)
	return transforms.MapValues(batches, func(g gathers) string { return brief("batch " + strings.Join(all(g), " ")) })
}

// timing makes values of the times of elements.
type timing struct{}

func (timing) Process(c *pcoll.Context, e row, emit pcoll.Emit[row]) error {
	emit(c, pcoll.Pair(e.Key, fmt.Sprint("t", c.EventTime().UnixMilli())))
	return nil
}

// sessionsGap is how sessions by element print and work; see gapByElem.
func sessionsGap(most int) strategy.WindowFn {
	return strategy.ElementSessions{By: gapByElem{uint32(most)}}
}
