package transforms_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

func ExampleDistinct() {
	p := pcoll.New("example")
	show(transforms.Distinct(transforms.Create(p, "a", "b", "a")))
	run(p)
	// Unordered output:
	// a
	// b
}

func ExampleDistinctBy() {
	p := pcoll.New("example")
	words := transforms.Create(p, "pear", "PEAR", "plum")
	show(transforms.Map(transforms.DistinctBy(words, strings.ToLower), strings.ToLower))
	run(p)
	// Unordered output:
	// pear
	// plum
}

// temperatures of two rooms, with their times.
func temperatures(p *pcoll.Pipeline) pcoll.PCollection[pcoll.KV[string, int]] {
	return teststream.New[pcoll.KV[string, int]]().Bundle(
		teststream.At(time.Unix(20, 0), pcoll.Pair("kitchen", 21)),
		teststream.At(time.Unix(40, 0), pcoll.Pair("hall", 17)),
		teststream.At(time.Unix(10, 0), pcoll.Pair("kitchen", 19))).
		Watermark(time.Unix(60, 0)).
		Elements(time.Unix(30, 0), pcoll.Pair("kitchen", 20)).
		Source(p)
}

func ExampleLatest() {
	p := pcoll.New("example")
	show(transforms.Latest(windowing.Into(temperatures(p), windowing.Fixed(time.Minute))))
	run(p)
	// Output: {hall 17}
}

func ExampleLatestPerKey() {
	p := pcoll.New("example")
	show(transforms.LatestPerKey(windowing.Into(temperatures(p), windowing.Fixed(time.Minute))))
	run(p)
	// Unordered output:
	// {kitchen 21}
	// {hall 17}
}

func ExampleSample() {
	p := pcoll.New("example")
	show(transforms.Map(transforms.Sample(transforms.GenerateSequence(p, 0, 1000), 10), func(s []int64) int { return len(s) }))
	run(p)
	// Output: 10
}

func ExampleSamplePerKey() {
	p := pcoll.New("example")
	byParity := transforms.KeyBy(transforms.GenerateSequence(p, 0, 1000), func(n int64) bool { return n%2 == 0 })
	show(transforms.MapValues(transforms.SamplePerKey(byParity, 5, transforms.SampleSeed(7)), func(s []int64) int { return len(s) }))
	run(p)
	// Unordered output:
	// {true 5}
	// {false 5}
}

func ExampleSampleAny() {
	p := pcoll.New("example")
	show(transforms.Count(transforms.SampleAny(transforms.GenerateSequence(p, 0, 1000), 3)))
	run(p)
	// Output: 3
}

func ExampleUnion() {
	p := pcoll.New("example")
	show(transforms.Union(transforms.Create(p, 1, 1, 2), transforms.Create(p, 2, 3)))
	run(p)
	// Unordered output:
	// 1
	// 2
	// 3
}

func ExampleUnionAll() {
	p := pcoll.New("example")
	show(transforms.UnionAll(transforms.Create(p, 1, 1), transforms.Create(p, 1)))
	run(p)
	// Output:
	// 1
	// 1
	// 1
}

func ExampleIntersect() {
	p := pcoll.New("example")
	show(transforms.Intersect(transforms.Create(p, 1, 2, 2), transforms.Create(p, 2, 2, 3)))
	run(p)
	// Output: 2
}

func ExampleIntersectAll() {
	p := pcoll.New("example")
	show(transforms.IntersectAll(transforms.Create(p, 1, 2, 2), transforms.Create(p, 2, 2, 2)))
	run(p)
	// Output:
	// 2
	// 2
}

func ExampleExcept() {
	p := pcoll.New("example")
	show(transforms.Except(transforms.Create(p, 1, 1, 2), transforms.Create(p, 2)))
	run(p)
	// Output: 1
}

func ExampleExceptAll() {
	p := pcoll.New("example")
	show(transforms.ExceptAll(transforms.Create(p, 1, 1, 1), transforms.Create(p, 1)))
	run(p)
	// Output:
	// 1
	// 1
}

func ExampleReify() {
	p := pcoll.New("example")
	rooms := windowing.Into(temperatures(p), windowing.Fixed(30*time.Second))
	show(transforms.Map(transforms.Reify(rooms), func(w transforms.Windowed[pcoll.KV[string, int]]) string {
		return fmt.Sprint(w.Value, " at ", w.Time, " in ", w.Window)
	}))
	run(p)
	// Output:
	// {kitchen 21} at 1970-01-01T00:00:20Z in [1970-01-01T00:00:00Z, 1970-01-01T00:00:30Z)
	// {hall 17} at 1970-01-01T00:00:40Z in [1970-01-01T00:00:30Z, 1970-01-01T00:01:00Z)
	// {kitchen 19} at 1970-01-01T00:00:10Z in [1970-01-01T00:00:00Z, 1970-01-01T00:00:30Z)
	// {kitchen 20} at 1970-01-01T00:00:30Z in [1970-01-01T00:00:30Z, 1970-01-01T00:01:00Z)
}

func ExampleReifyTimestamps() {
	p := pcoll.New("example")
	show(transforms.ReifyTimestamps(teststream.New[string]().Elements(time.Unix(5, 0), "a").Source(p)))
	run(p)
	// Output: {a 1970-01-01T00:00:05Z}
}

func ExampleReifyValues() {
	p := pcoll.New("example")
	rooms := transforms.ReifyValues(windowing.Into(temperatures(p), windowing.Fixed(time.Minute)))
	show(transforms.MapValues(rooms, func(w transforms.Windowed[int]) string { return fmt.Sprint(w.Value, " before ", w.Window.End) }))
	run(p)
	// Unordered output:
	// {kitchen 21 before 1970-01-01T00:01:00Z}
	// {hall 17 before 1970-01-01T00:01:00Z}
	// {kitchen 19 before 1970-01-01T00:01:00Z}
	// {kitchen 20 before 1970-01-01T00:01:00Z}
}

func ExampleReifyTimestampsOfValues() {
	p := pcoll.New("example")
	show(transforms.ReifyTimestampsOfValues(teststream.New[pcoll.KV[string, int]]().Elements(time.Unix(5, 0), pcoll.Pair("a", 1)).Source(p)))
	run(p)
	// Output: {a {1 1970-01-01T00:00:05Z}}
}

// payments is a stream in which a payment was delivered twice, and one too late.
func payments(p *pcoll.Pipeline) pcoll.PCollection[string] {
	return teststream.New[string]().
		Elements(time.Unix(10, 0), "p1", "p2").
		Elements(time.Unix(10, 0), "p1").
		Watermark(time.Unix(60, 0)).
		Elements(time.Unix(20, 0), "p3").
		Source(p)
}

func ExampleDeduplicate() {
	p := pcoll.New("example")
	show(transforms.Deduplicate(payments(p), func(id string) string { return id }, time.Hour))
	run(p)
	// Output:
	// p1
	// p2
	// p3
}

func ExampleDeduplicateWithLate() {
	p := pcoll.New("example")
	byMinute := windowing.Into(payments(p), windowing.Fixed(time.Minute))
	once, late := transforms.DeduplicateWithLate(byMinute, func(id string) string { return id }, time.Hour)
	named("once", once)
	named("too late", late)
	run(p)
	// Output:
	// once: p1
	// once: p2
	// too late: p3
}

func ExampleGroupIntoBatches() {
	p := pcoll.New("example")
	byParity := transforms.KeyBy(transforms.GenerateSequence(p, 0, 10), func(n int64) bool { return n%2 == 0 })
	show(transforms.GroupIntoBatches(byParity, 3))
	run(p)
	// Unordered output:
	// {true [0 2 4]}
	// {false [1 3 5]}
	// {true [6 8]}
	// {false [7 9]}
}

func ExampleGroupIntoBatchesWithLate() {
	p := pcoll.New("example")
	batches, late := transforms.GroupIntoBatchesWithLate(clicks(p), 10, transforms.BatchWait(time.Second))
	named("in time", batches)
	named("too late", late)
	run(p)
	// Output:
	// in time: {ad [1 2]}
	// too late: {ad 4}
}

func ExampleGroupIntoShardedBatches() {
	p := pcoll.New("example")
	hot := transforms.KeyBy(transforms.GenerateSequence(p, 0, 8), func(int64) string { return "hot" })
	sizes := transforms.MapValues(transforms.GroupIntoShardedBatches(hot, 3, 2), pcoll.Group[int64].Len)
	show(transforms.Map(transforms.GroupByKey(sizes), func(e pcoll.KV[string, pcoll.Group[int]]) []int { return slices.Sorted(e.Value.All()) }))
	run(p)
	// Output: [1 1 3 3]
}

func ExampleCombinePerKeyWithFanout() {
	p := pcoll.New("example")
	clicks := transforms.KeyBy(transforms.GenerateSequence(p, 0, 1000), func(n int64) string {
		if n%100 == 0 {
			return "rare"
		}
		return "hot"
	})
	show(transforms.CombinePerKeyWithFanout(clicks, combine.Count[int64](), func(key string) int {
		if key == "hot" {
			return 8
		}
		return 1
	}))
	run(p)
	// Unordered output:
	// {hot 990}
	// {rare 10}
}

func ExampleCombineWithFanout() {
	p := pcoll.New("example")
	show(transforms.CombineWithFanout(transforms.GenerateSequence(p, 0, 1000), combine.Max[int64](), 16))
	run(p)
	// Output: 999
}

func ExamplePeriodicImpulse() {
	p := pcoll.New("example")
	noon := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	hours := transforms.PeriodicImpulse(p, time.Hour, transforms.ImpulseFrom(noon), transforms.ImpulseUntil(noon.Add(3*time.Hour)))
	show(transforms.Map(hours, func(t time.Time) string { return t.Format(time.TimeOnly) }))
	run(p)
	// Output:
	// 12:00:00
	// 13:00:00
	// 14:00:00
}
