package stateful_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// billed adds up amounts of a key, and prices them when asked by a timer and at the end.
type billed struct {
	Sum    state.Value[int] `state:"sum"`
	Bill   timers.EventTime `timer:"bill"`
	Prices side.Iterable[int]
}

func (f *billed) say(c *pcoll.Context, what, key string) string {
	return fmt.Sprint(what, " ", key, f.Sum.Get(c), slices.Sorted(f.Prices.All()))
}

func (f *billed) Process(c *pcoll.Context, e pair, emit pcoll.Emit[string]) error {
	f.Sum.Set(c, f.Sum.Get(c)+e.Value)
	f.Bill.Set(c, c.Window().Max().Time())
	emit(c, f.say(c, "element", e.Key))
	return nil
}

func (f *billed) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, f.say(c, "timer", key))
	return nil
}

func (f *billed) OnWindowExpiration(c *pcoll.Context, key string, emit pcoll.Emit[string]) error {
	emit(c, f.say(c, "end", key))
	return nil
}

// TestStatefulSides reads side inputs beside state: pairs wait for them, and
// timers and the end of the window see them too, in their newest form.
func TestStatefulSides(t *testing.T) {
	for name, opts := range map[string][]pcoll.Option{"state and timers": nil, "sorted": {TimeSorted()}} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("test")
			var script teststream.Script
			main, prices := teststream.On[pair](&script), teststream.On[int](&script)
			main.Elements(sec(5), kv("a", 1), kv("b", 10)).Elements(sec(3), kv("a", 2)).Watermark(sec(100))
			prices.Elements(sec(1), 7).Watermark(sec(10)) // lets all through: the window is over at once
			main.Elements(sec(4), kv("a", 4))             // has expired
			prices.Watermark(sec(200))
			fn := &billed{Prices: side.AsIterable(windowing.Into(prices.Source(p), windowing.Fixed(10*time.Second)))}
			got, late := StatefulParDoWithLate(windowing.Into(main.Source(p), windowing.Fixed(10*time.Second)), fn, opts...)
			first, second := "element a1 [7]", "element a3 [7]"
			if opts != nil {
				first, second = "element a2 [7]", "element a3 [7]"
			}
			passert.Windows(t, got, passert.Holds(secs(0, 10), first, second, "element b10 [7]", "timer a3 [7]", "timer b10 [7]", "end a3 [7]", "end b10 [7]"))
			passert.Equals(t, late, kv("a", 4))
			ptest.Run(t, p)
		})
	}
}

// TestStatefulSidesThatChange shows a later pane to a timer.
func TestStatefulSidesThatChange(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	main, prices := teststream.On[pair](&script), teststream.On[int](&script)
	main.Elements(sec(5), kv("a", 1))
	prices.Elements(sec(1), 7).Watermark(sec(10))
	prices.Elements(sec(2), 8) // late
	main.Watermark(sec(10)).Watermark(sec(70))
	late := windowing.Into(prices.Source(p), windowing.Fixed(10*time.Second), windowing.AllowedLateness(time.Minute), windowing.Accumulating())
	in := windowing.Into(main.Source(p), windowing.Fixed(10*time.Second), windowing.AllowedLateness(time.Minute), windowing.Discarding())
	got := StatefulParDo(in, &billed{Prices: side.AsIterable(late)}, pcoll.Named("Bill"))
	passert.Equals(t, got, "element a1 [7]", "timer a1 [7 8]", "end a1 [7 8]")
	for name, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("Bill"); r.Elements != 1 {
			t.Errorf("%s: %d elements entered, want 1", name, r.Elements)
		}
	}
}
