package side_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// at is an event time, s seconds after the epoch.
func at(s int) time.Time { return time.Unix(int64(s), 0) }

func window(from, to int) pcoll.Window { return passert.Window(at(from), at(to)) }

func fixed(s int) windowing.Fn { return windowing.Fixed(time.Duration(s) * time.Second) }

// stamped is a bounded collection of values at their times, in windows of fn.
func stamped[T any](p *pcoll.Pipeline, fn windowing.Fn, elems ...pcoll.KV[int, T]) pcoll.PCollection[T] {
	timed := transforms.WithTimestamps(transforms.CreateFrom(p, elems), func(e pcoll.KV[int, T]) time.Time { return at(e.Key) })
	return windowing.Into(transforms.Values(timed), fn)
}

// eachElement is the trigger of a view that changes slowly.
var eachElement = windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(1)})

func plus(i int, s side.Singleton[int]) int { return i + s.Get() }

func sorted(s []int) string {
	slices.Sort(s)
	return fmt.Sprint(s)
}

// contents describes what an iterable holds, to each element.
func contents(i int, s side.Iterable[int]) string {
	return fmt.Sprintf("%d%s%d", i, sorted(slices.Collect(s.All())), s.Len())
}

// TestContents restates which contents the views of Beam show in the global window.
func TestContents(t *testing.T) {
	type kv = pcoll.KV[string, int]
	pairs := []kv{pcoll.Pair("a", 1), pcoll.Pair("b", 2), pcoll.Pair("a", 3)}
	for name, build := range map[string]func(t *testing.T, p *pcoll.Pipeline){
		"singleton": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1, 2), side.AsSingleton(transforms.Create(p, 40)), plus), 41, 42)
		},
		"singleton with default": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1, 2), side.AsSingletonOr(transforms.Create(p, 40), 0), plus), 41, 42)
		},
		"empty singleton with default": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1, 2), side.AsSingletonOr(transforms.Create[int](p), -1), plus), 0, 1)
		},
		"empty singleton with a nil default": func(t *testing.T, p *pcoll.Pipeline) {
			none := transforms.Create[*int](p)
			isNil := func(i int, s side.Singleton[*int]) bool { return s.Get() == nil }
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1), side.AsSingletonOr(none, nil), isNil), true)
		},
		"list": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1, 2), side.AsList(transforms.Create(p, 11, 12, 13)),
				func(i int, s side.List[int]) string { return fmt.Sprint(i, sorted(slices.Collect(s.All()))) }), "1[11 12 13]", "2[11 12 13]")
		},
		"list at random": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1, 2), side.AsList(transforms.Create(p, 11, 12, 13)),
				func(i int, s side.List[int]) string { return sorted([]int{s.At(2), s.At(0), s.At(s.Len() - 2)}) }), "[11 12 13]", "[11 12 13]")
		},
		"empty list": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1), side.AsList(transforms.Create[int](p)),
				func(i int, s side.List[int]) int { return i + s.Len() }), 1)
		},
		"iterable": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1, 2), side.AsIterable(transforms.Create(p, 11, 12)), contents), "1[11 12]2", "2[11 12]2")
		},
		"empty iterable": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1), side.AsIterable(transforms.Create[int](p)), contents), "1[]0")
		},
		"iterable of groups": func(t *testing.T, p *pcoll.Pipeline) {
			groups := transforms.GroupByKey(transforms.CreateFrom(p, pairs))
			passert.Equals(t, transforms.MapSide(transforms.Create(p, "a", "b"), side.AsMap(groups),
				func(k string, s side.Map[string, pcoll.Group[int]]) string {
					g, _ := s.Lookup(k)
					return k + sorted(slices.Collect(g.All()))
				}), "a[1 3]", "b[2]")
		},
		"map": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, "a", "b", "c"), side.AsMap(transforms.CreateFrom(p, pairs[:2])),
				func(k string, s side.Map[string, int]) string {
					v, ok := s.Lookup(k)
					return fmt.Sprint(k, v, ok, s.Len())
				}), "a1 true 2", "b2 true 2", "c0 false 2")
		},
		"entries of a map": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1), side.AsMap(transforms.CreateFrom(p, pairs[:2])),
				func(i int, s side.Map[string, int]) int {
					for k, v := range s.All() {
						i += v * len(k)
					}
					return i
				}), 4)
		},
		"combined map": func(t *testing.T, p *pcoll.Pipeline) {
			sums := transforms.CombinePerKey(transforms.CreateFrom(p, pairs), combine.Sum[int]())
			passert.Equals(t, transforms.MapSide(transforms.Create(p, "a", "b"), side.AsMap(sums), value), 4, 2)
		},
		"empty map": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, "a"), side.AsMap(transforms.CreateFrom[kv](p, nil)), value), 0)
		},
		"multimap": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, "a", "b", "c"), side.AsMultimap(transforms.CreateFrom(p, pairs)), values),
				"a[1 3]2", "b[2]2", "c[]2")
		},
		"entries of a multimap": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 1), side.AsMultimap(transforms.CreateFrom(p, pairs)),
				func(_ int, s side.Multimap[string, int]) string {
					all := map[string]string{}
					for k, g := range s.All() {
						all[k] = sorted(slices.Collect(g.All()))
					}
					return fmt.Sprint(all)
				}), "map[a:[1 3] b:[2]]")
		},
		"empty multimap": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.MapSide(transforms.Create(p, "a"), side.AsMultimap(transforms.CreateFrom[kv](p, nil)), values), "a[]0")
		},
		"keys that are the same instant": func(t *testing.T, p *pcoll.Pipeline) {
			zone := time.FixedZone("zone", 3600)
			days := transforms.Create(p, pcoll.Pair(at(0), "epoch"))
			passert.Equals(t, transforms.MapSide(transforms.Create(p, 0), side.AsMap(days), func(s int, m side.Map[time.Time, string]) string {
				v, _ := m.Lookup(at(s).In(zone))
				return v
			}), "epoch")
		},
		"filter": func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.FilterSide(transforms.Create(p, 1, 2, 3), side.AsSingleton(transforms.Create(p, 2)),
				func(i int, s side.Singleton[int]) bool { return i >= s.Get() }), 2, 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("test")
			build(t, p)
			ptest.Run(t, p)
		})
	}
}

func value(k string, s side.Map[string, int]) int {
	v, _ := s.Lookup(k)
	return v
}

func values(k string, s side.Multimap[string, int]) string {
	g := s.Lookup(k)
	return fmt.Sprint(k, sorted(slices.Collect(g.All())), s.Len())
}

// TestWaiting follows an element that waits for a pane, and one for nothing.
func TestWaiting(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, rates := teststream.On[int](&script), teststream.On[int](&script)
	main.Elements(at(1), 1).Watermark(at(5))
	rates.Elements(at(2), 10)
	main.Elements(at(11), 2)
	rates.Watermark(at(15))
	rates.Watermark(at(25))
	main.Elements(at(21), 3)
	view := side.AsSingletonOr(windowing.Into(rates.Source(p), fixed(10)), 0)
	got := transforms.MapSide(windowing.Into(main.Source(p), fixed(10)), view, plus)
	passert.Windows(t, got, passert.Holds(window(0, 10), 11), passert.Holds(window(10, 20), 2), passert.Holds(window(20, 30), 3))
	passert.Panes(t, transforms.Count(got),
		passert.OnTime[int64](1).In(window(0, 10)), passert.OnTime[int64](1).In(window(10, 20)), passert.OnTime[int64](1).In(window(20, 30)))
	ptest.Run(t, p)
}
