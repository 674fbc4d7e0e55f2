package transforms_test

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// absent tells when nothing has been seen of a machine for a minute.
type absent struct {
	Seen  state.Combining[int, int64, int64] `state:"seen"`
	Quiet timers.EventTime                   `timer:"quiet"`
}

var (
	_ transforms.StatefulFn[string, int, string] = (*absent)(nil)
	_ transforms.TimerFn[string, string]         = (*absent)(nil)
)

func (a *absent) Process(c *pcoll.Context, e pcoll.KV[string, int], emit pcoll.Emit[string]) error {
	a.Seen.Add(c, e.Value)
	a.Quiet.Set(c, c.EventTime().Add(time.Minute)) // in place of the last setting
	return nil
}

func (a *absent) OnTimer(c *pcoll.Context, machine string, t timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, fmt.Sprintf("%s: nothing at %s, after %d signs", machine, t.At.UTC().Format("15:04"), a.Seen.Get(c)))
	a.Seen.Clear(c)
	return nil
}

func ExampleStatefulParDo() {
	p := pcoll.New("example")
	minute := func(m int) time.Time { return time.Unix(int64(60*m), 0) }
	signs := teststream.New[pcoll.KV[string, int]]().
		Elements(minute(0), pcoll.Pair("press", 1)).Elements(minute(1), pcoll.Pair("press", 1)).
		Watermark(minute(5)).Elements(minute(6), pcoll.Pair("press", 1)).
		Source(p)
	show(transforms.StatefulParDo(signs, &absent{Seen: state.Combined(combine.Count[int]())}))
	run(p)
	// Output:
	// press: nothing at 00:02, after 2 signs
	// press: nothing at 00:07, after 1 signs
}

// differences gives what each number is more than the one before.
type differences struct {
	Last state.Value[int] `state:"last"`
}

func (d *differences) Process(c *pcoll.Context, e pcoll.KV[string, int], emit pcoll.Emit[int]) error {
	emit(c, e.Value-d.Last.Get(c))
	d.Last.Set(c, e.Value)
	return nil
}

func ExampleStatefulParDoWithLate() {
	p := pcoll.New("example")
	diffs, late := transforms.StatefulParDoWithLate(clicks(p), &differences{})
	named("in time", diffs)
	named("too late", late)
	run(p)
	// Output:
	// in time: 1
	// in time: 1
	// too late: {ad 4}
}

func ExampleTimeSorted() {
	p := pcoll.New("example")
	meter := transforms.WithTimestamps(transforms.Create(p, pcoll.Pair("m", 30), pcoll.Pair("m", 10), pcoll.Pair("m", 25)),
		func(e pcoll.KV[string, int]) time.Time { return time.Unix(int64(e.Value), 0) })
	show(transforms.StatefulParDo(meter, &differences{}, transforms.TimeSorted()))
	run(p)
	// Output:
	// 10
	// 15
	// 5
}
