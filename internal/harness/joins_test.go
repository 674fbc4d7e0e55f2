package harness_test

import (
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func init() { topics = append(topics, joins) }

// joins joins the even numbers with the odd ones.
func joins() map[string]func(p *pcoll.Pipeline) {
	sides := func(in pcoll.PCollection[int64]) (left, right pcoll.PCollection[pcoll.KV[string, int64]]) {
		even, odd := transforms.Partition(in, func(i int64) bool { return i%2 == 0 })
		third := func(i int64) string { return string('a' + rune((i/2)%3)) }
		return transforms.KeyBy(even, third), transforms.KeyBy(odd, third)
	}
	late := func(p *pcoll.Pipeline) pcoll.PCollection[int64] {
		return windowing.Into(ints(p), windowing.Global(), windowing.AllowedLateness(700*time.Millisecond))
	}
	return map[string]func(p *pcoll.Pipeline){
		"co-group": func(p *pcoll.Pipeline) {
			l, r := sides(windowing.Into(ints(p), windowing.Sessions(1500*time.Millisecond), windowing.AllowedLateness(time.Second), windowing.Accumulating(),
				windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)})))
			transforms.CoGroupByKey3WithLate(l, r, l)
		},
		"full join": func(p *pcoll.Pipeline) {
			l, r := sides(windowing.Into(ints(p), windowing.Fixed(3*time.Second)))
			rows, _, _ := transforms.FullJoinWithLate(l, r)
			transforms.Map(rows, values)
		},
		"inner interval join": func(p *pcoll.Pipeline) {
			l, r := sides(ints(p))
			transforms.IntervalJoinWithLate(l, r, -2*time.Second, time.Second)
		},
		"full interval join": func(p *pcoll.Pipeline) {
			l, r := sides(ints(p))
			rows, _, _ := transforms.FullIntervalJoinWithLate(l, r, -time.Second, 2*time.Second)
			transforms.CountPerKey(windowing.Into(rows, windowing.Fixed(time.Second)))
			transforms.Map(rows, values)
		},
		"left interval join, late": func(p *pcoll.Pipeline) {
			l, r := sides(late(p))
			rows, _, _ := transforms.LeftIntervalJoinWithLate(l, r, -time.Second, 500*time.Millisecond)
			transforms.MapValues(rows, func(j transforms.Joined[int64, *int64]) [2]int64 { return [2]int64{j.Left, value(j.Right)} })
		},
		"right interval join in the past": func(p *pcoll.Pipeline) {
			l, r := sides(late(p))
			transforms.Count(windowing.Into(transforms.RightIntervalJoin(l, r, -3*time.Second, -time.Second), windowing.Fixed(time.Second), windowing.Accumulating()))
		},
	}
}

// values returns what pointers point to, so that rows of several runs can be compared.
func values(e pcoll.KV[string, transforms.Joined[*int64, *int64]]) [2]int64 {
	return [2]int64{value(e.Value.Left), value(e.Value.Right)}
}

func value(p *int64) int64 {
	if p == nil {
		return -1000
	}
	return *p
}
