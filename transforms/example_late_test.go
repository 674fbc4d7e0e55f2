package transforms_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// clicks is a stream of which the last element comes after its window has
// expired.
func clicks(p *pcoll.Pipeline) pcoll.PCollection[pcoll.KV[string, int]] {
	stream := teststream.New[pcoll.KV[string, int]]().
		Elements(time.Unix(10, 0), pcoll.Pair("ad", 1), pcoll.Pair("ad", 2)).
		Watermark(time.Unix(70, 0)).
		Elements(time.Unix(50, 0), pcoll.Pair("ad", 4)).
		Source(p)
	return windowing.Into(stream, windowing.Fixed(time.Minute))
}

func named[T any](name string, in pcoll.PCollection[T]) {
	show(transforms.Map(in, func(v T) string { return fmt.Sprint(name, ": ", v) }))
}

func ExampleGroupByKeyWithLate() {
	p := pcoll.New("example")
	groups, late := transforms.GroupByKeyWithLate(clicks(p))
	named("in time", groups)
	named("too late", late)
	run(p)
	// Output:
	// in time: {ad [1 2]}
	// too late: {ad 4}
}

func ExampleCombinePerKeyWithLate() {
	p := pcoll.New("example")
	sums, late := transforms.CombinePerKeyWithLate(clicks(p), combine.Sum[int]())
	named("in time", sums)
	named("too late", late)
	run(p)
	// Output:
	// in time: {ad 3}
	// too late: {ad 4}
}

func ExampleCombineWithLate() {
	p := pcoll.New("example")
	sum, late := transforms.CombineWithLate(transforms.Values(clicks(p)), combine.Sum[int]())
	named("in time", sum)
	named("too late", late)
	run(p)
	// Output:
	// in time: 3
	// too late: 4
}
