package transforms_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

type byName = pcoll.PCollection[pcoll.KV[string, string]]

// contacts are mail addresses and telephone numbers.
func contacts(p *pcoll.Pipeline) (mails, numbers byName) {
	return transforms.Create(p, pcoll.Pair("amy", "amy@a.org"), pcoll.Pair("carl", "carl@c.org")),
		transforms.Create(p, pcoll.Pair("amy", "111"), pcoll.Pair("amy", "333"), pcoll.Pair("james", "222"))
}

func ExampleCoGroupByKey2() {
	p := pcoll.New("example")
	mails, numbers := contacts(p)
	show(transforms.CoGroupByKey2(mails, numbers))
	run(p)
	// Unordered output:
	// {amy {[amy@a.org] [111 333]}}
	// {carl {[carl@c.org] []}}
	// {james {[] [222]}}
}

func ExampleCoGroupByKey3() {
	p := pcoll.New("example")
	mails, numbers := contacts(p)
	show(transforms.CoGroupByKey3(mails, numbers, transforms.Create(p, pcoll.Pair("carl", "new"))))
	run(p)
	// Unordered output:
	// {amy {[amy@a.org] [111 333] []}}
	// {carl {[carl@c.org] [] [new]}}
	// {james {[] [222] []}}
}

func ExampleCoGroupByKey4() {
	p := pcoll.New("example")
	mails, numbers := contacts(p)
	show(transforms.CoGroupByKey4(mails, numbers, transforms.Create(p, pcoll.Pair("carl", "new")), transforms.Create(p, pcoll.Pair("amy", "x"))))
	run(p)
	// Unordered output:
	// {amy {[amy@a.org] [111 333] [] [x]}}
	// {carl {[carl@c.org] [] [new] []}}
	// {james {[] [222] [] []}}
}

// printRows prints rows with what pointers point to.
func printRows[L, R any](in pcoll.PCollection[pcoll.KV[string, transforms.Joined[L, R]]]) {
	show(transforms.Map(in, func(e pcoll.KV[string, transforms.Joined[L, R]]) string {
		return fmt.Sprint(e.Key, ": ", pointee(e.Value.Left), ", ", pointee(e.Value.Right))
	}))
}

func pointee(v any) any {
	if p, ok := v.(*string); ok {
		if p == nil {
			return "none"
		}
		return *p
	}
	return v
}

func ExampleJoin() {
	p := pcoll.New("example")
	printRows(transforms.Join(contacts(p)))
	run(p)
	// Unordered output:
	// amy: amy@a.org, 111
	// amy: amy@a.org, 333
}

func ExampleLeftJoin() {
	p := pcoll.New("example")
	printRows(transforms.LeftJoin(contacts(p)))
	run(p)
	// Unordered output:
	// amy: amy@a.org, 111
	// amy: amy@a.org, 333
	// carl: carl@c.org, none
}

func ExampleRightJoin() {
	p := pcoll.New("example")
	printRows(transforms.RightJoin(contacts(p)))
	run(p)
	// Unordered output:
	// amy: amy@a.org, 111
	// amy: amy@a.org, 333
	// james: none, 222
}

func ExampleFullJoin() {
	p := pcoll.New("example")
	printRows(transforms.FullJoin(contacts(p)))
	run(p)
	// Unordered output:
	// amy: amy@a.org, 111
	// amy: amy@a.org, 333
	// carl: carl@c.org, none
	// james: none, 222
}

// orders and payments are two streams, of which the last payment is too late.
func ordersAndPayments(p *pcoll.Pipeline) (orders, payments byName) {
	var script teststream.Script
	o, m := teststream.On[pcoll.KV[string, string]](&script), teststream.On[pcoll.KV[string, string]](&script)
	o.Elements(time.Unix(0, 0), pcoll.Pair("ann", "tea"), pcoll.Pair("bob", "pot"))
	m.Elements(time.Unix(20, 0), pcoll.Pair("ann", "5"))
	m.Elements(time.Unix(50, 0), pcoll.Pair("cat", "7"))
	o.Watermark(time.Unix(200, 0))
	m.Watermark(time.Unix(200, 0))
	m.Elements(time.Unix(30, 0), pcoll.Pair("bob", "9"))
	return o.Source(p), m.Source(p)
}

func perMinute(orders, payments byName) (byName, byName) {
	return windowing.Into(orders, windowing.Fixed(time.Minute)), windowing.Into(payments, windowing.Fixed(time.Minute))
}

func ExampleIntervalJoin() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	printRows(transforms.IntervalJoin(orders, payments, 0, time.Minute))
	run(p)
	// Output: ann: tea, 5
}

func ExampleLeftIntervalJoin() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	printRows(transforms.LeftIntervalJoin(orders, payments, 0, time.Minute))
	run(p)
	// Unordered output:
	// ann: tea, 5
	// bob: pot, none
}

func ExampleRightIntervalJoin() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	printRows(transforms.RightIntervalJoin(orders, payments, 0, time.Minute))
	run(p)
	// Unordered output:
	// ann: tea, 5
	// cat: none, 7
}

func ExampleFullIntervalJoin() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	printRows(transforms.FullIntervalJoin(orders, payments, 0, time.Minute))
	run(p)
	// Unordered output:
	// ann: tea, 5
	// bob: pot, none
	// cat: none, 7
}

func ExampleCoGroupByKey2WithLate() {
	p := pcoll.New("example")
	orders, payments := perMinute(ordersAndPayments(p))
	groups, late1, late2 := transforms.CoGroupByKey2WithLate(orders, payments)
	show(groups)
	named("late order", late1)
	named("late payment", late2)
	run(p)
	// Unordered output:
	// {ann {[tea] [5]}}
	// {bob {[pot] []}}
	// {cat {[] [7]}}
	// late payment: {bob 9}
}

func ExampleCoGroupByKey3WithLate() {
	p := pcoll.New("example")
	orders, payments := perMinute(ordersAndPayments(p))
	groups, late1, late2, _ := transforms.CoGroupByKey3WithLate(orders, payments, payments)
	show(groups)
	named("late order", late1)
	named("late payment", late2)
	run(p)
	// Unordered output:
	// {ann {[tea] [5] [5]}}
	// {bob {[pot] [] []}}
	// {cat {[] [7] [7]}}
	// late payment: {bob 9}
}

func ExampleCoGroupByKey4WithLate() {
	p := pcoll.New("example")
	orders, payments := perMinute(ordersAndPayments(p))
	groups, late1, late2, _, _ := transforms.CoGroupByKey4WithLate(orders, payments, payments, orders)
	show(groups)
	named("late order", late1)
	named("late payment", late2)
	run(p)
	// Unordered output:
	// {ann {[tea] [5] [5] [tea]}}
	// {bob {[pot] [] [] [pot]}}
	// {cat {[] [7] [7] []}}
	// late payment: {bob 9}
}

func ExampleJoinWithLate() {
	p := pcoll.New("example")
	rows, lateOrders, latePayments := transforms.JoinWithLate(perMinute(ordersAndPayments(p)))
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// late payment: {bob 9}
}

func ExampleLeftJoinWithLate() {
	p := pcoll.New("example")
	rows, lateOrders, latePayments := transforms.LeftJoinWithLate(perMinute(ordersAndPayments(p)))
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// bob: pot, none
	// late payment: {bob 9}
}

func ExampleRightJoinWithLate() {
	p := pcoll.New("example")
	rows, lateOrders, latePayments := transforms.RightJoinWithLate(perMinute(ordersAndPayments(p)))
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// cat: none, 7
	// late payment: {bob 9}
}

func ExampleFullJoinWithLate() {
	p := pcoll.New("example")
	rows, lateOrders, latePayments := transforms.FullJoinWithLate(perMinute(ordersAndPayments(p)))
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// bob: pot, none
	// cat: none, 7
	// late payment: {bob 9}
}

func ExampleIntervalJoinWithLate() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	rows, lateOrders, latePayments := transforms.IntervalJoinWithLate(orders, payments, 0, time.Minute)
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// late payment: {bob 9}
}

func ExampleLeftIntervalJoinWithLate() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	rows, lateOrders, latePayments := transforms.LeftIntervalJoinWithLate(orders, payments, 0, time.Minute)
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// bob: pot, none
	// late payment: {bob 9}
}

func ExampleRightIntervalJoinWithLate() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	rows, lateOrders, latePayments := transforms.RightIntervalJoinWithLate(orders, payments, 0, time.Minute)
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// cat: none, 7
	// late payment: {bob 9}
}

func ExampleFullIntervalJoinWithLate() {
	p := pcoll.New("example")
	orders, payments := ordersAndPayments(p)
	rows, lateOrders, latePayments := transforms.FullIntervalJoinWithLate(orders, payments, 0, time.Minute)
	printRows(rows)
	named("late order", lateOrders)
	named("late payment", latePayments)
	run(p)
	// Unordered output:
	// ann: tea, 5
	// bob: pot, none
	// cat: none, 7
	// late payment: {bob 9}
}
