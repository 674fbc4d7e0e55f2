package harness_test

import (
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
)

func init() { topics = append(topics, library) }

// library are examples of the transforms that keep some elements, or some at a time.
func library() map[string]func(p *pcoll.Pipeline) {
	m := map[string]func(p *pcoll.Pipeline){
		"distinct": func(p *pcoll.Pipeline) {
			in := strategies["fixed late early accumulating"](ints(p))
			transforms.Distinct(transforms.Map(in, func(i int64) int64 { return i % 5 }))
			transforms.DistinctBy(in, func(i int64) int64 { return i % 3 })
		},
		"latest, sampled and reified": func(p *pcoll.Pipeline) {
			in := strategies["fixed early by clock"](ints(p))
			transforms.Latest(in)
			transforms.LatestPerKey(keyed(in))
			transforms.Reify(in)
			transforms.Sample(in, 2, transforms.SampleSeed(3))
		},
		"sets": func(p *pcoll.Pipeline) {
			in := strategies["fixed"](ints(p))
			low, high := transforms.Partition(in, func(i int64) bool { return i < 60 })
			tens := func(i int64) int64 { return i % 20 }
			transforms.ExceptAll(transforms.Map(low, tens), transforms.Map(high, tens))
		},
		"deduplicated": func(p *pcoll.Pipeline) {
			in := strategies["fixed late early accumulating"](ints(p))
			byThree := func(i int64) int64 { return i % 3 }
			transforms.DeduplicateWithLate(in, byThree, 1500*time.Millisecond)
			transforms.DeduplicateWithLate(in, byThree, time.Second, transforms.ByProcessingTime())
		},
		"in batches": func(p *pcoll.Pipeline) {
			in := keyed(strategies["fixed late early accumulating"](ints(p)))
			batches, _ := transforms.GroupIntoBatchesWithLate(in, 2, transforms.BatchWait(500*time.Millisecond))
			transforms.CountPerKey(batches)
			transforms.GroupIntoShardedBatches(in, 0, 2, transforms.BatchBytes(4))
		},
	}
	for name, into := range strategies {
		if name == "global repeated" {
			continue // it fires by count: in parts, by how elements are dealt
		}
		m["with fanout, "+name] = func(p *pcoll.Pipeline) {
			transforms.CombinePerKeyWithFanout(keyed(into(ints(p))), combine.Sum[int64](), func(string) int { return 2 })
		}
	}
	return m
}
