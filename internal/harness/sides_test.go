package harness_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func init() { topics = append(topics, sideInputs) }

// beside is two sources. The one that is made first is played first: elements of
// the main input wait for the side input, or see what it has.
func beside(p *pcoll.Pipeline, mainFirst bool) (main, other pcoll.PCollection[int64]) {
	var steps []harness.Step[int64]
	for i := range int64(10) {
		s := harness.Step[int64]{Elems: []harness.Elem[int64]{{At: exec.Time(i * 1000), V: i}, {At: exec.Time(i*1000 - 1500), V: 100 + i}}}
		if i%4 == 3 {
			s.Watermark, s.Clock = exec.Time(i*1000-700), 700
		}
		steps = append(steps, s)
	}
	steps = append(steps, harness.Step[int64]{Elems: []harness.Elem[int64]{{At: 0, V: 999}, {At: 6900, V: 777}}})
	if mainFirst {
		return ints(p), harness.Source(p, steps...)
	}
	other = harness.Source(p, steps...)
	return ints(p), other
}

// withSides reads views of all kinds, and says what it sees.
type withSides struct {
	All   side.Iterable[int64]
	List  side.List[int64]
	First side.Singleton[int64]
	ByKey side.Map[string, int64]
	Multi side.Multimap[string, int64]
	Odd   transforms.Output[int64]
	n     int
}

func (f *withSides) StartBundle(*pcoll.Context) error { f.n = 0; return nil }

func (f *withSides) Process(c *pcoll.Context, v int64, emit pcoll.Emit[string]) error {
	f.n++
	if f.All.Len() > 0 && v%2 == 1 {
		f.Odd.Emit(c, v)
	}
	byKey := maps.Collect(f.ByKey.All())
	one, ok := f.ByKey.Lookup("k1")
	emit(c, fmt.Sprint(v, c.Window(), slices.Sorted(f.All.All()), f.List.Len(), f.First.Get(), byKey, one, ok, f.Multi.Len(), f.Multi.Lookup("k2").Len()))
	return nil
}

func (f *withSides) FinishBundle(c *pcoll.Context, emit pcoll.Emit[string]) error {
	emit.In(c, pcoll.Global, time.UnixMilli(0), "bundle")
	return nil
}

// statefulSides reads views from elements, timers and at the end of windows.
type statefulSides struct {
	Seen  state.Value[int64] `state:"seen"`
	End   timers.EventTime   `timer:"end"`
	Soon  timers.EventTime   `timer:"soon"`
	Rates side.Iterable[int64]
}

func (f *statefulSides) say(c *pcoll.Context, what string) string {
	return fmt.Sprint(what, f.Seen.Get(c), c.Window(), slices.Sorted(f.Rates.All()))
}

func (f *statefulSides) Process(c *pcoll.Context, e pcoll.KV[string, int64], emit pcoll.Emit[string]) error {
	f.Seen.Set(c, f.Seen.Get(c)+e.Value)
	f.End.Set(c, c.Window().Max().Time())
	f.Soon.SetAfter(c, 500*time.Millisecond)
	emit(c, f.say(c, "element "+e.Key))
	return nil
}

func (f *statefulSides) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[string]) error {
	emit(c, f.say(c, t.Name()+" "+key))
	return nil
}

func (f *statefulSides) OnWindowExpiration(c *pcoll.Context, key string, emit pcoll.Emit[string]) error {
	emit(c, f.say(c, "expired "+key))
	return nil
}

func sideInputs() map[string]func(p *pcoll.Pipeline) {
	m := map[string]func(p *pcoll.Pipeline){}
	for name, into := range strategies {
		if name == "sessions" || name == "global repeated" {
			continue // no main window corresponds to them
		}
		m["sides "+name] = func(p *pcoll.Pipeline) {
			main, other := beside(p, true)
			view := side.AsIterable(into(other))
			got := transforms.MapSide(into(main), view, func(v int64, s side.Iterable[int64]) string { return fmt.Sprint(v, slices.Sorted(s.All())) })
			transforms.CountPerElement(got)
			transforms.StatefulParDo(keyed(into(main)), &statefulSides{Rates: view})
			transforms.StatefulParDo(keyed(into(main)), &statefulSides{Rates: view}, transforms.TimeSorted())
			transforms.WaitOn(into(main), into(other))
		}
	}
	m["sides of a DoFn"] = func(p *pcoll.Pipeline) {
		main, other := beside(p, false)
		windowed := windowing.Into(other, windowing.Fixed(3*time.Second), windowing.AllowedLateness(2*time.Second), windowing.Discarding(),
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.Always{}}))
		sums := transforms.SumPerKey(transforms.KeyBy(windowing.Into(other, windowing.Fixed(2*time.Second)), func(i int64) string { return fmt.Sprint("k", i%3) }))
		global := windowing.Into(other, windowing.Global(), windowing.Discarding(), windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(3)}))
		list := side.AsList(global)
		transforms.ParDo(windowing.Into(main, windowing.Sliding(4*time.Second, 2*time.Second)), &withSides{All: side.AsIterable(windowed), List: list,
			First: side.AsSingletonOr(transforms.Count(windowing.Into(other, windowing.Fixed(time.Second))), -1), ByKey: side.AsMap(sums), Multi: side.AsMultimap(sums)})
		transforms.FilterSide(main, list, func(v int64, s side.List[int64]) bool { return v > int64(s.Len()) })
	}
	return m
}
