package local_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// A bounded source in a stage of its own ends in the first turn of a script. Its
// tasks went away, and the script waited for their markers for ever.
func TestBoundedSourceApartFromScript(t *testing.T) {
	bubble(t, []int{1, 2, 5}, func(t *testing.T, workers int) {
		var got rows
		p := pcoll.New("beside")
		in := teststream.New[string]().Elements(at(5), "a", "a").Watermark(at(60)).Elements(at(70), "a").Source(p)
		minute := func(c pcoll.PCollection[string]) pcoll.PCollection[pcoll.KV[string, int64]] {
			return transforms.CountPerElement(windowing.Into(c, windowing.Fixed(time.Minute)))
		}
		stamped := transforms.WithTimestamps(transforms.Create(p, "x", "y", "x"), func(string) time.Time { return at(7) })
		collect(transforms.Flatten(minute(stamped), minute(in)), &got)
		run(t, p, local.Workers(workers))
		w := func(from, to int64) pcoll.Window {
			return pcoll.Window{Start: pcoll.Time(from * 1000), End: pcoll.Time(to * 1000)}
		}
		got.want(t, onTime("{x 2}", w(0, 60)), onTime("{y 1}", w(0, 60)), onTime("{a 2}", w(0, 60)), onTime("{a 1}", w(60, 120)))
	})
}

// Where all data is gathered on worker 0, the others and what only they feed
// have no part in a script, and the script must not wait for them.
func TestScriptDoesNotWaitForWorkersLeftOut(t *testing.T) {
	bubble(t, []int{1, 2, 5}, func(t *testing.T, workers int) {
		var got, scripted rows
		p := pcoll.New("left out")
		in := teststream.New[string]().Elements(at(5), "a").Watermark(at(60)).Elements(at(70), "b").Source(p)
		transforms.ForEach(in, func(_ *pcoll.Context, v string) error { scripted.add("%s", v); return nil })
		once := transforms.Count(transforms.Create(p, "x", "y"))
		twice := transforms.Count(once)
		collect(transforms.Flatten(once, twice), &got)
		run(t, p, local.Workers(workers))
		got.want(t, onTime("2", pcoll.Global), onTime("1", pcoll.Global))
		scripted.want(t, "a", "b")
	})
}

func onTime(v string, w pcoll.Window) string { return v + " " + w.String() + " ON_TIME" }
