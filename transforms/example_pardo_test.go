package transforms_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// parse turns lines into numbers and gives what is none on a second output.
type parse struct {
	Base int
	Bad  transforms.Output[string]
}

var _ transforms.DoFn[string, int64] = (*parse)(nil)

func (p *parse) Process(c *pcoll.Context, line string, emit pcoll.Emit[int64]) error {
	n, err := strconv.ParseInt(line, p.Base, 64)
	if err != nil {
		p.Bad.Emit(c, line)
		return nil
	}
	emit(c, n)
	return nil
}

func ExampleParDo() {
	p := pcoll.New("example")
	fn := &parse{Base: 16}
	numbers := transforms.ParDo(transforms.Create(p, "ff", "x"), fn)
	show(numbers)
	show(transforms.Map(fn.Bad.Collection(), func(s string) string { return "bad: " + s }))
	run(p)
	// Output:
	// 255
	// bad: x
}

func ExampleOutput() {
	p := pcoll.New("example")
	fn := &parse{Base: 10}
	transforms.ParDo(transforms.Create(p, "1", "one"), fn)
	show(fn.Bad.Collection())
	run(p)
	// Output: one
}

// average gives the mean of each bundle and window: a way to write fewer
// elements than come in, without a grouping.
type average struct {
	sums map[pcoll.Window][2]int
}

var _ transforms.DoFn[int, int] = (*average)(nil)

func (a *average) StartBundle(*pcoll.Context) error {
	a.sums = map[pcoll.Window][2]int{}
	return nil
}

func (a *average) Process(c *pcoll.Context, n int, _ pcoll.Emit[int]) error {
	s := a.sums[c.Window()]
	a.sums[c.Window()] = [2]int{s[0] + n, s[1] + 1}
	return nil
}

func (a *average) FinishBundle(c *pcoll.Context, emit pcoll.Emit[int]) error {
	for w, s := range a.sums {
		emit.In(c, w, w.Max().Time(), s[0]/s[1])
	}
	return nil
}

func ExampleBundleFinisher() {
	p := pcoll.New("example")
	show(transforms.ParDo(transforms.Create(p, 1, 2, 6), &average{}))
	run(p)
	// Output: 3
}

// connect opens something before the first element and closes it after the last.
type connect struct {
	Address string
	open    bool
}

var _ transforms.DoFn[string, string] = (*connect)(nil)

func (d *connect) Setup(*pcoll.Context) error {
	d.open = true
	return nil
}

func (d *connect) Process(c *pcoll.Context, s string, emit pcoll.Emit[string]) error {
	if !d.open {
		return fmt.Errorf("no connection to %s", d.Address)
	}
	emit(c, s+" via "+d.Address)
	return nil
}

func (d *connect) Teardown() error {
	d.open = false
	return nil
}

func ExampleSetupper() {
	p := pcoll.New("example")
	show(transforms.ParDo(transforms.Create(p, "hello"), &connect{Address: "db:5432"}))
	run(p)
	// Output: hello via db:5432
}

// dated gives an element the time that is written in it, which lies before
// that at which it was received.
type dated struct{}

func (dated) Process(c *pcoll.Context, unix int64, emit pcoll.Emit[int64]) error {
	emit.At(c, time.Unix(unix, 0), unix)
	return nil
}

func ExampleAllowedSkew() {
	p := pcoll.New("example")
	received := transforms.WithTimestamps(transforms.Create[int64](p, 40, 61), func(int64) time.Time { return time.Unix(65, 0) })
	timed := transforms.ParDo(received, dated{}, transforms.AllowedSkew(time.Minute))
	show(transforms.Count(windowing.Into(timed, windowing.Fixed(time.Minute))))
	run(p)
	// Output:
	// 1
	// 1
}
