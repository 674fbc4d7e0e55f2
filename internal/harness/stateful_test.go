package harness_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func init() { topics = append(topics, stateful) }

// everything has state and timers of every kind, and says what it finds.
type everything struct {
	Value state.Value[string]                  `state:"value"`
	Bag   state.Bag[int64]                     `state:"bag"`
	Map   state.Map[string, int64]             `state:"map"`
	Multi state.Multimap[int64, int64]         `state:"multi"`
	Set   state.Set[int64]                     `state:"set"`
	Sum   state.Combining[int64, int64, int64] `state:"sum"`
	List  state.OrderedList[int64]             `state:"list"`
	Soon  timers.EventTime                     `timer:"soon"`
	End   timers.EventTime                     `timer:"end"`
	Wait  timers.ProcessingTime                `timer:"wait"`
	Odd   transforms.Output[pcoll.KV[string, int64]]

	bundle int
}

func newEverything(ttl, clockTTL state.TTL) *everything {
	fn := &everything{Sum: state.Combined(combine.Sum[int64]())}
	fn.Value.TTL, fn.Bag.TTL, fn.Map.TTL, fn.Multi.TTL = ttl, clockTTL, ttl, clockTTL
	fn.Set.TTL, fn.Sum.TTL, fn.List.TTL = clockTTL, ttl, ttl
	return fn
}

// StartBundle makes firings that are bundles of their own be seen to be that.
func (f *everything) StartBundle(*pcoll.Context) error { f.bundle = 0; return nil }

func (f *everything) Process(c *pcoll.Context, e pcoll.KV[string, int64], emit pcoll.Emit[string]) error {
	v, t := e.Value, c.EventTime()
	f.Value.Set(c, f.Value.Get(c)+fmt.Sprint(v, ","))
	f.Bag.Add(c, v)
	f.Map.Put(c, fmt.Sprint(v%3), v)
	f.Multi.Put(c, v%2, v)
	f.Set.Add(c, v%5)
	f.Sum.Add(c, v)
	f.List.Add(c, t, v)
	f.Soon.SetAfter(c, 300*time.Millisecond, timers.Tag(fmt.Sprint(v%2)))
	f.Soon.SetAfter(c, time.Second, timers.Align(time.Second), timers.NoHold())
	f.End.Set(c, min(c.Window().Max(), c.Window().Start+1500).Time(), timers.OutputAt(t))
	f.Wait.SetAfter(c, 600*time.Millisecond)
	f.Wait.SetAfter(c, time.Duration(v)*time.Millisecond, timers.Tag("x"), timers.NoHold())
	if v%4 == 0 {
		f.Soon.ClearTag(c, "0")
		f.List.ClearRange(c, time.Time{}, t)
		f.Map.Delete(c, "1")
	}
	if v%2 == 1 {
		f.Odd.Emit(c, e)
	}
	emit(c, "element "+f.all(c))
	return nil
}

func (f *everything) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[string]) error {
	s := fmt.Sprint(key, " ", t.Name(), t.Tag, " ", t.At.UnixMilli(), " ", f.all(c))
	at := c.EventTime()
	if at.Year() > 9999 { // without an output time
		emit.In(c, c.Window(), t.At, s)
		return nil
	}
	emit(c, s)
	if f.Sum.Get(c)%2 == 0 && f.Soon.Fired(t) && t.At.Before(c.Window().Max().Time().Add(-time.Second)) {
		f.End.Set(c, t.At.Add(400*time.Millisecond))
		f.Value.Clear(c)
	}
	return nil
}

// all is everything that is there.
func (f *everything) all(c *pcoll.Context) string {
	var m, multi, l []string
	for k, v := range f.Map.All(c) {
		m = append(m, fmt.Sprint(k, "=", v))
	}
	for k, v := range f.Multi.All(c) {
		multi = append(multi, fmt.Sprint(k, "=", v))
	}
	for t, v := range f.List.All(c) {
		l = append(l, fmt.Sprint(t.UnixMilli(), "=", v))
	}
	return fmt.Sprint(f.Value.Get(c), slices.Collect(f.Bag.All(c)), m, multi, slices.Collect(f.Set.All(c)), f.Sum.Get(c), l, f.List.Len(c))
}

// expired is everything that speaks at the end, too.
type expired struct{ everything }

func (f *expired) OnWindowExpiration(c *pcoll.Context, key string, emit pcoll.Emit[string]) error {
	emit(c, key+" ends with "+f.all(c))
	return nil
}

// stateful are functions with state and timers.
func stateful() map[string]func(p *pcoll.Pipeline) {
	ttl, clock := state.AfterEventTime(1200*time.Millisecond), state.AfterProcessingTime(time.Second)
	in := func(p *pcoll.Pipeline, strategy string) pcoll.PCollection[pcoll.KV[string, int64]] {
		return keyed(strategies[strategy](ints(p)))
	}
	return map[string]func(p *pcoll.Pipeline){
		"stateful": func(p *pcoll.Pipeline) {
			out, _ := transforms.StatefulParDoWithLate(in(p, "fixed"), newEverything(state.TTL{}, state.TTL{}))
			transforms.Count(windowing.Into(out, windowing.Fixed(3*time.Second), windowing.AllowedLateness(time.Hour), windowing.Accumulating(),
				windowing.Trigger(triggers.AfterWatermark{Late: triggers.AfterCount(1)})))
		},
		"stateful, expiring": func(p *pcoll.Pipeline) {
			transforms.StatefulParDo(in(p, "fixed late early accumulating"), &expired{*newEverything(state.TTL{}, state.TTL{})})
		},
		"stateful, mortal": func(p *pcoll.Pipeline) {
			transforms.StatefulParDo(in(p, "sliding earliest"), newEverything(ttl, clock))
		},
		"stateful, mortal, global": func(p *pcoll.Pipeline) { transforms.StatefulParDo(keyed(ints(p)), newEverything(clock, ttl)) },
		"stateful, sorted": func(p *pcoll.Pipeline) {
			transforms.StatefulParDoWithLate(in(p, "fixed late early accumulating"), &expired{*newEverything(ttl, clock)}, transforms.TimeSorted())
		},
	}
}
