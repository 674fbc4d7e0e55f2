package state_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
)

type visit = pcoll.KV[string, int]

// pages are visits of ann to pages, a second apart.
func pages(p *pcoll.Pipeline, numbers ...int) pcoll.PCollection[visit] {
	in := teststream.New[visit]()
	for i, n := range numbers {
		in.Elements(time.Unix(int64(i), 0), pcoll.Pair("ann", n))
	}
	return in.Source(p)
}

// run prints what fn says of visits to pages.
func run(fn transforms.StatefulFn[string, int, string], numbers ...int) {
	p := pcoll.New("example")
	transforms.Map(transforms.StatefulParDo(pages(p, numbers...), fn), func(s string) string {
		fmt.Println(s)
		return s
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
}

type counted struct {
	N state.Value[int] `state:"n"`
}

func (f *counted) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	f.N.Set(c, f.N.Get(c)+1)
	emit(c, fmt.Sprint(e.Key, ": visit ", f.N.Get(c)))
	return nil
}

func ExampleValue() {
	run(&counted{}, 7, 3)
	// Output:
	// ann: visit 1
	// ann: visit 2
}

type kept struct {
	Pages state.Bag[int] `state:"pages"`
}

func (f *kept) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	f.Pages.Add(c, e.Value)
	if f.Pages.Len(c) == 3 {
		emit(c, fmt.Sprint(slices.Collect(f.Pages.All(c))))
		f.Pages.Clear(c)
	}
	return nil
}

func ExampleBag() {
	run(&kept{}, 7, 3, 7, 1)
	// Output: [7 3 7]
}

type perPage struct {
	Visits state.Map[int, int] `state:"visits"`
}

func (f *perPage) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	f.Visits.Put(c, e.Value, f.Visits.Get(c, e.Value)+1)
	emit(c, fmt.Sprint("page ", e.Value, ": visit ", f.Visits.Get(c, e.Value), ", pages: ", f.Visits.Len(c)))
	return nil
}

func ExampleMap() {
	run(&perPage{}, 7, 3, 7)
	// Output:
	// page 7: visit 1, pages: 1
	// page 3: visit 1, pages: 2
	// page 7: visit 2, pages: 2
}

type whenSeen struct {
	Seconds state.Multimap[int, int64] `state:"seconds"`
}

func (f *whenSeen) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	f.Seconds.Put(c, e.Value, c.EventTime().Unix())
	emit(c, fmt.Sprint("page ", e.Value, " at ", slices.Collect(f.Seconds.Get(c, e.Value))))
	return nil
}

func ExampleMultimap() {
	run(&whenSeen{}, 7, 3, 7)
	// Output:
	// page 7 at [0]
	// page 3 at [1]
	// page 7 at [0 2]
}

type firsts struct {
	Seen state.Set[int] `state:"seen"`
}

func (f *firsts) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	if f.Seen.Add(c, e.Value) {
		emit(c, fmt.Sprint("page ", e.Value))
	}
	return nil
}

func ExampleSet() {
	run(&firsts{}, 7, 3, 7)
	// Output:
	// page 7
	// page 3
}

type averaged struct {
	Mean state.Combining[int, combine.MeanAcc, float64] `state:"mean"`
}

func (f *averaged) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	f.Mean.Add(c, e.Value)
	emit(c, fmt.Sprint(f.Mean.Get(c)))
	return nil
}

func ExampleCombining() {
	run(&averaged{Mean: state.Combined(combine.Mean[int]())}, 7, 3, 2)
	// Output:
	// 7
	// 5
	// 4
}

type recent struct {
	Pages state.OrderedList[int] `state:"pages"`
}

func (f *recent) Process(c *pcoll.Context, e visit, emit pcoll.Emit[string]) error {
	now := c.EventTime()
	f.Pages.Add(c, now, e.Value)
	f.Pages.ClearRange(c, time.Time{}, now.Add(-time.Second)) // what is older than a second
	for t, page := range f.Pages.All(c) {
		emit(c, fmt.Sprintf("at %d: page %d at %d", now.Unix(), page, t.Unix()))
	}
	return nil
}

func ExampleOrderedList() {
	run(&recent{}, 7, 3, 2)
	// Output:
	// at 0: page 7 at 0
	// at 1: page 7 at 0
	// at 1: page 3 at 1
	// at 2: page 3 at 1
	// at 2: page 2 at 2
}

func ExampleTTL() {
	run(&firsts{Seen: state.Set[int]{TTL: state.AfterEventTime(2 * time.Second)}}, 7, 3, 7, 3, 3, 3, 3)
	fmt.Println("and without new visits:")
	run(&counted{N: state.Value[int]{TTL: state.AfterEventTime(time.Second)}}, 7, 7)
	// Output:
	// page 7
	// page 3
	// and without new visits:
	// ann: visit 1
	// ann: visit 2
}
