package transforms_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func ExampleMapSide() {
	p := pcoll.New("example")
	prices := transforms.Create(p, pcoll.Pair("tea", 3), pcoll.Pair("cake", 5))
	orders := transforms.Create(p, "tea", "cake", "milk")
	show(transforms.MapSide(orders, side.AsMap(prices), func(order string, prices side.Map[string, int]) string {
		price, ok := prices.Lookup(order)
		if !ok {
			return "no " + order
		}
		return fmt.Sprint(order, " for ", price)
	}))
	run(p)
	// Output:
	// tea for 3
	// cake for 5
	// no milk
}

func ExampleFilterSide() {
	p := pcoll.New("example")
	numbers := transforms.Create(p, 1, 5, 9)
	mean := side.AsSingleton(transforms.Mean(numbers))
	show(transforms.FilterSide(numbers, mean, func(n int, mean side.Singleton[float64]) bool { return float64(n) > mean.Get() }))
	run(p)
	// Output: 9
}

// A view that changes slowly: the latest element of a stream.
func ExampleMapSide_latest() {
	p := pcoll.New("example")
	var script teststream.Script
	requests, flags := teststream.On[string](&script), teststream.On[string](&script)
	flags.Elements(time.Unix(0, 0), "off")
	requests.Elements(time.Unix(1, 0), "first")
	flags.Elements(time.Unix(2, 0), "on")
	requests.Elements(time.Unix(3, 0), "second")
	latest := side.AsSingleton(windowing.Into(flags.Source(p), windowing.Global(), windowing.Discarding(),
		windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(1)})))
	show(transforms.MapSide(requests.Source(p), latest, func(request string, flag side.Singleton[string]) string {
		return request + ": " + flag.Get()
	}))
	run(p)
	// Output:
	// first: off
	// second: on
}

func ExampleWaitOn() {
	p := pcoll.New("example")
	written := transforms.Map(transforms.Create(p, "a.csv", "b.csv"), func(file string) string {
		fmt.Println("wrote", file)
		return file
	})
	show(transforms.WaitOn(transforms.Create(p, "all is written"), written))
	run(p)
	// Output:
	// wrote a.csv
	// wrote b.csv
	// all is written
}
