package transforms_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// show prints the elements of a collection.
func show[T any](in pcoll.PCollection[T]) {
	transforms.Map(in, func(v T) T {
		fmt.Println(v)
		return v
	})
}

// run runs a pipeline and prints what is wrong with it.
func run(p *pcoll.Pipeline) {
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
}

func Example() {
	p := pcoll.New("wordcount")
	lines := transforms.Create(p, "to be or", "not to be")
	words := transforms.FlatMap(lines, strings.FieldsSeq)
	show(transforms.CountPerElement(words))
	run(p)
	// Unordered output:
	// {to 2}
	// {be 2}
	// {or 1}
	// {not 1}
}

func ExampleCreate() {
	p := pcoll.New("example")
	show(transforms.Create(p, "a", "b"))
	run(p)
	// Output:
	// a
	// b
}

func ExampleCreateFrom() {
	p := pcoll.New("example")
	primes := []int{2, 3, 5}
	show(transforms.CreateFrom(p, primes, pcoll.Named("Primes")))
	run(p)
	// Output:
	// 2
	// 3
	// 5
}

func ExampleImpulse() {
	p := pcoll.New("example")
	start := transforms.Impulse(p)
	show(transforms.FlatMap(start, func(struct{}) iter.Seq[int] { return slices.Values([]int{1, 2}) }))
	run(p)
	// Output:
	// 1
	// 2
}

func ExampleGenerateSequence() {
	p := pcoll.New("example")
	minutes := transforms.GenerateSequence(p, 0, 180, transforms.SequenceTime(func(n int64) time.Time {
		return time.Date(2024, 1, 1, 0, int(n), 0, 0, time.UTC)
	}))
	perHour := windowing.Into(minutes, windowing.Fixed(time.Hour))
	show(transforms.Count(perHour))
	run(p)
	// Output:
	// 60
	// 60
	// 60
}

func ExampleMap() {
	p := pcoll.New("example")
	show(transforms.Map(transforms.Create(p, "a", "b"), strings.ToUpper))
	run(p)
	// Output:
	// A
	// B
}

func ExampleFilter() {
	p := pcoll.New("example")
	show(transforms.Filter(transforms.Create(p, 1, 2, 3), func(n int) bool { return n > 1 }))
	run(p)
	// Output:
	// 2
	// 3
}

func ExampleFlatMap() {
	p := pcoll.New("example")
	show(transforms.FlatMap(transforms.Create(p, "a b", "", "c"), strings.FieldsSeq))
	run(p)
	// Output:
	// a
	// b
	// c
}

func ExampleTryMap() {
	p := pcoll.New("example")
	numbers, failed := transforms.TryMap(transforms.Create(p, "1", "one"), strconv.Atoi)
	show(numbers)
	show(transforms.Map(failed, func(f transforms.Failed[string]) string { return f.Error }))
	run(p)
	// Output:
	// 1
	// strconv.Atoi: parsing "one": invalid syntax
}

func ExampleKeyBy() {
	p := pcoll.New("example")
	show(transforms.KeyBy(transforms.Create(p, "go", "gopher"), func(s string) int { return len(s) }))
	run(p)
	// Output:
	// {2 go}
	// {6 gopher}
}

func ExampleMapValues() {
	p := pcoll.New("example")
	show(transforms.MapValues(transforms.Create(p, pcoll.Pair("a", 1)), strconv.Itoa))
	run(p)
	// Output: {a 1}
}

func ExampleKeys() {
	p := pcoll.New("example")
	show(transforms.Keys(transforms.Create(p, pcoll.Pair("a", 1), pcoll.Pair("a", 2))))
	run(p)
	// Output:
	// a
	// a
}

func ExampleValues() {
	p := pcoll.New("example")
	show(transforms.Values(transforms.Create(p, pcoll.Pair("a", 1), pcoll.Pair("a", 2))))
	run(p)
	// Output:
	// 1
	// 2
}

func ExampleSwap() {
	p := pcoll.New("example")
	show(transforms.Swap(transforms.Create(p, pcoll.Pair("a", 1))))
	run(p)
	// Output: {1 a}
}

func ExamplePartition() {
	p := pcoll.New("example")
	small, big := transforms.Partition(transforms.Create(p, 1, 20, 3), func(n int) bool { return n < 10 })
	show(transforms.Map(small, func(n int) string { return fmt.Sprint("small ", n) }))
	show(transforms.Map(big, func(n int) string { return fmt.Sprint("big ", n) }))
	run(p)
	// Output:
	// small 1
	// big 20
	// small 3
}

func ExamplePartitionBy() {
	p := pcoll.New("example")
	byDigits := transforms.PartitionBy(transforms.Create(p, 1, 20, 3), 3, func(n int) int { return len(strconv.Itoa(n)) - 1 })
	show(transforms.Map(byDigits[0], func(n int) string { return fmt.Sprint("one digit: ", n) }))
	show(transforms.Map(byDigits[1], func(n int) string { return fmt.Sprint("two digits: ", n) }))
	run(p)
	// Output:
	// one digit: 1
	// two digits: 20
	// one digit: 3
}

func ExampleFlatten() {
	p := pcoll.New("example")
	show(transforms.Flatten(transforms.Create(p, 1, 2), transforms.Create(p, 3)))
	run(p)
	// Unordered output:
	// 1
	// 2
	// 3
}

func ExampleFlattenAll() {
	p := pcoll.New("example")
	var days []pcoll.PCollection[string]
	for _, d := range []string{"mon", "tue"} {
		days = append(days, transforms.Create(p, d))
	}
	show(transforms.FlattenAll(p, days, pcoll.Named("Week")))
	run(p)
	// Unordered output:
	// mon
	// tue
}

func ExampleReshuffle() {
	p := pcoll.New("example")
	few := transforms.Create(p, 3)
	many := transforms.FlatMap(few, func(n int) iter.Seq[int] { return slices.Values(make([]int, n)) })
	show(transforms.Reshuffle(many))
	run(p)
	// Output:
	// 0
	// 0
	// 0
}

func ExampleWithTimestamps() {
	p := pcoll.New("example")
	type visit struct {
		User string
		Unix int64
	}
	visits := transforms.Create(p, visit{"ann", 10}, visit{"bob", 50}, visit{"ann", 70})
	timed := transforms.WithTimestamps(visits, func(v visit) time.Time { return time.Unix(v.Unix, 0) })
	show(transforms.Count(windowing.Into(timed, windowing.Fixed(time.Minute))))
	run(p)
	// Output:
	// 2
	// 1
}

func ExampleGroupByKey() {
	p := pcoll.New("example")
	words := transforms.Create(p, "ant", "ape", "bee")
	byLetter := transforms.KeyBy(words, func(s string) string { return s[:1] })
	show(transforms.GroupByKey(byLetter))
	run(p)
	// Unordered output:
	// {a [ant ape]}
	// {b [bee]}
}

func ExampleCombinePerKey() {
	p := pcoll.New("example")
	type order struct {
		User  string
		Cents int64
	}
	orders := transforms.Create(p, order{"ann", 250}, order{"bob", 100}, order{"ann", 50})
	byUser := transforms.KeyBy(orders, func(o order) string { return o.User })
	cents := func(o order) int64 { return o.Cents }
	show(transforms.CombinePerKey(byUser, combine.On(cents, combine.Both(combine.Sum[int64](), combine.Max[int64]()))))
	run(p)
	// Unordered output:
	// {ann {300 250}}
	// {bob {100 100}}
}

func ExampleCombine() {
	p := pcoll.New("example")
	show(transforms.Combine(transforms.Create(p, 1, 2, 6), combine.Mean[int]()))
	run(p)
	// Output: 3
}

func ExampleNoDefault() {
	p := pcoll.New("example")
	none := transforms.Filter(transforms.Create(p, 1), func(int) bool { return false })
	show(transforms.Combine(none, combine.Sum[int]()))
	show(transforms.Combine(none, combine.Count[int](), transforms.NoDefault()))
	run(p)
	// Output: 0
}

func ExampleCount() {
	p := pcoll.New("example")
	show(transforms.Count(transforms.Create(p, "a", "b", "a")))
	run(p)
	// Output: 3
}

func ExampleCountPerKey() {
	p := pcoll.New("example")
	show(transforms.CountPerKey(transforms.Create(p, pcoll.Pair("a", 10), pcoll.Pair("a", 20))))
	run(p)
	// Output: {a 2}
}

func ExampleCountPerElement() {
	p := pcoll.New("example")
	show(transforms.CountPerElement(transforms.Create(p, "a", "b", "a")))
	run(p)
	// Unordered output:
	// {a 2}
	// {b 1}
}

func ExampleSum() {
	p := pcoll.New("example")
	show(transforms.Sum(transforms.Create(p, 1, 2, 3)))
	run(p)
	// Output: 6
}

func ExampleSumPerKey() {
	p := pcoll.New("example")
	show(transforms.SumPerKey(transforms.Create(p, pcoll.Pair("a", 1), pcoll.Pair("a", 2))))
	run(p)
	// Output: {a 3}
}

func ExampleMean() {
	p := pcoll.New("example")
	show(transforms.Mean(transforms.Create(p, 1, 2)))
	run(p)
	// Output: 1.5
}

func ExampleMeanPerKey() {
	p := pcoll.New("example")
	show(transforms.MeanPerKey(transforms.Create(p, pcoll.Pair("a", 1), pcoll.Pair("a", 2))))
	run(p)
	// Output: {a 1.5}
}

func ExampleMin() {
	p := pcoll.New("example")
	show(transforms.Min(transforms.Create(p, "b", "a")))
	run(p)
	// Output: a
}

func ExampleMinPerKey() {
	p := pcoll.New("example")
	show(transforms.MinPerKey(transforms.Create(p, pcoll.Pair("a", 2), pcoll.Pair("a", 1))))
	run(p)
	// Output: {a 1}
}

func ExampleMax() {
	p := pcoll.New("example")
	show(transforms.Max(transforms.Create(p, "b", "a")))
	run(p)
	// Output: b
}

func ExampleMaxPerKey() {
	p := pcoll.New("example")
	show(transforms.MaxPerKey(transforms.Create(p, pcoll.Pair("a", 2), pcoll.Pair("a", 1))))
	run(p)
	// Output: {a 2}
}

func ExampleTop() {
	p := pcoll.New("example")
	shortest := func(a, b string) int { return cmp.Compare(len(b), len(a)) }
	show(transforms.Top(transforms.Create(p, "ccc", "a", "dddd", "bb"), 2, shortest))
	run(p)
	// Output: [a bb]
}

func ExampleTopPerKey() {
	p := pcoll.New("example")
	scores := transforms.Create(p, pcoll.Pair("ann", 3), pcoll.Pair("ann", 9), pcoll.Pair("ann", 5))
	show(transforms.TopPerKey(scores, 2, cmp.Compare[int]))
	run(p)
	// Output: {ann [9 5]}
}
