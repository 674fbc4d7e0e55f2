package timers_test

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	"github.com/penstock-dev/penstock/transforms"
)

type order = pcoll.KV[string, int]

func at(s int) time.Time { return time.Unix(int64(s), 0) }

// run prints what fn says of orders.
func run(orders *teststream.Stream[order], fn transforms.StatefulFn[string, int, string]) {
	p := pcoll.New("example")
	transforms.Map(transforms.StatefulParDo(orders.Source(p), fn), func(s string) string {
		fmt.Println(s)
		return s
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
}

// reminders come some seconds after an order.
type reminders struct {
	Due timers.EventTime `timer:"due"`
}

func (f *reminders) Process(c *pcoll.Context, e order, _ pcoll.Emit[string]) error {
	f.Due.Set(c, c.EventTime().Add(10*time.Second))
	return nil
}

func (f *reminders) OnTimer(c *pcoll.Context, user string, t timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprint(user, " at ", t.At.Unix()))
	return nil
}

func ExampleEventTime() {
	run(teststream.New[order]().
		Elements(at(1), pcoll.Pair("ann", 1), pcoll.Pair("bob", 1)).
		Elements(at(5), pcoll.Pair("ann", 1)). // sets ann's timer anew
		Watermark(at(20)), &reminders{})
	// Output:
	// bob at 11
	// ann at 15
}

// batched gathers orders for a second of the clock.
type batched struct {
	Sum  state.Value[int]      `state:"sum"`
	Wait timers.ProcessingTime `timer:"wait"`
}

func (f *batched) Process(c *pcoll.Context, e order, _ pcoll.Emit[string]) error {
	if _, waiting := f.Sum.Lookup(c); !waiting {
		f.Wait.SetAfter(c, time.Second)
	}
	f.Sum.Set(c, f.Sum.Get(c)+e.Value)
	return nil
}

func (f *batched) OnTimer(c *pcoll.Context, user string, _ timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprint(user, ": ", f.Sum.Get(c)))
	f.Sum.Clear(c)
	return nil
}

func ExampleProcessingTime() {
	run(teststream.New[order]().
		Elements(at(1), pcoll.Pair("ann", 1)).Elements(at(1), pcoll.Pair("ann", 2)).
		ProcessingTime(2*time.Second).Elements(at(1), pcoll.Pair("ann", 4)).
		ProcessingTime(2*time.Second), &batched{})
	// Output:
	// ann: 3
	// ann: 4
}

// tracked reminds of each order by itself.
type tracked struct {
	Due timers.EventTime `timer:"due"`
}

func (f *tracked) Process(c *pcoll.Context, e order, _ pcoll.Emit[string]) error {
	tag := fmt.Sprint("order ", e.Value)
	f.Due.Set(c, c.EventTime().Add(10*time.Second), timers.Tag(tag), timers.OutputAt(c.EventTime()))
	return nil
}

func (f *tracked) OnTimer(c *pcoll.Context, user string, t timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprintf("%s: %s of %d is due at %d", user, t.Tag, c.EventTime().Unix(), t.At.Unix()))
	return nil
}

func ExampleTag() {
	run(teststream.New[order]().Elements(at(1), pcoll.Pair("ann", 17)).Elements(at(5), pcoll.Pair("ann", 18)), &tracked{})
	// Output:
	// ann: order 17 of 1 is due at 11
	// ann: order 18 of 5 is due at 15
}

// hourly counts orders by the hour that ends.
type hourly struct {
	N   state.Value[int]      `state:"n"`
	End timers.ProcessingTime `timer:"end"`
}

func (f *hourly) Process(c *pcoll.Context, e order, _ pcoll.Emit[string]) error {
	f.N.Set(c, f.N.Get(c)+1)
	f.End.SetAfter(c, 0, timers.Align(time.Hour))
	return nil
}

func (f *hourly) OnTimer(c *pcoll.Context, user string, t timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprint(user, " until ", t.At.UTC().Format("15:04"), ": ", f.N.Get(c)))
	f.N.Clear(c)
	return nil
}

func ExampleAlign() {
	run(teststream.New[order]().
		ProcessingTime(30*time.Minute).Elements(at(1), pcoll.Pair("ann", 1), pcoll.Pair("ann", 1)).
		ProcessingTime(time.Hour).Elements(at(1), pcoll.Pair("ann", 1)).
		ProcessingTime(time.Hour), &hourly{})
	// Output:
	// ann until 01:00: 2
	// ann until 02:00: 1
}
