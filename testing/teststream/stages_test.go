package teststream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// TestFirstElementIsLate: a window that begins behind the watermark has a late
// pane while it lives, and none when it has expired.
func TestFirstElementIsLate(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().Watermark(at(300)).Elements(at(1), "gone").Elements(at(241), "late").Elements(at(301), "next").Source(p)
	counts, dropped := transforms.CombineWithLate(windowing.Into(in, windowing.Fixed(time.Minute), windowing.AllowedLateness(time.Minute),
		windowing.Discarding()), combine.Count[string]())
	passert.Panes(t, counts, passert.Late(int64(1)).In(minute(4)).Index(0), passert.OnTime(int64(1)).In(minute(5)).Index(0))
	passert.Equals(t, dropped, "gone")
	ptest.Run(t, p)
}

// TestElementsAlmostAtTheEndOfTime belong to windows that end with it, and come
// out of groupings when the script does.
func TestElementsAlmostAtTheEndOfTime(t *testing.T) {
	p := pcoll.New("script")
	end := exec.EndOfGlobal
	in := teststream.New[string]().Elements(end.Time(), "foo", "bar").Source(p)
	pairs := windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(2)})
	global := transforms.CountPerElement(windowing.Into(in, windowing.Global(), pairs, windowing.Discarding()))
	passert.Panes(t, global, passert.OnTime(pcoll.Pair("foo", int64(1))).In(pcoll.Global).At(end.Time()),
		passert.OnTime(pcoll.Pair("bar", int64(1))).In(pcoll.Global).At(end.Time()))
	fixed := transforms.Count(windowing.Into(in, windowing.Fixed(time.Hour)))
	passert.That(t, fixed, func(got []passert.Element[int64]) error {
		if len(got) != 1 || got[0].Value != 2 || !got[0].Window.Contains(end) || got[0].Time != end {
			return fmt.Errorf("got %v", got)
		}
		return nil
	})
	ptest.Run(t, p)
}

// TestEarlyPanesByTheClock are in the window of their elements, and early.
func TestEarlyPanesByTheClock(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().Elements(at(1), "a", "b", "c").ProcessingTime(6*time.Minute).
		Elements(at(2), "alpha").ProcessingTime(6*time.Minute).
		Elements(at(3), "on time").Watermark(at(60)).
		Elements(at(4), "late").Source(p)
	counts := counted(in, triggers.AfterWatermark{Early: triggers.AfterProcessingTime(5 * time.Minute), Late: triggers.AfterCount(1)})
	passert.InEarly(t, counts, minute(0), 3, 1)
	passert.InOnTime(t, counts, minute(0), 1)
	passert.InNonLate(t, counts, minute(0), 3, 1, 1)
	passert.InLate(t, counts, minute(0), 1)
	ptest.Run(t, p)
}

// relay keeps the sum of a key's values and emits it a second after each, by
// event time, so that a value needs the watermark to move on.
type relay struct {
	Sum state.Value[int] `state:"sum"`
	Due timers.EventTime `timer:"due"`
}

var _ transforms.TimerFn[string, pcoll.KV[string, int]] = (*relay)(nil)

func (f *relay) Process(c *pcoll.Context, e pcoll.KV[string, int], _ pcoll.Emit[pcoll.KV[string, int]]) error {
	f.Sum.Set(c, f.Sum.Get(c)+e.Value)
	f.Due.Set(c, c.EventTime().Add(time.Second), timers.OutputAt(c.EventTime()))
	return nil
}

func (f *relay) OnTimer(c *pcoll.Context, key string, _ timers.Firing, emit pcoll.Emit[pcoll.KV[string, int]]) error {
	emit(c, pcoll.Pair(key, f.Sum.Get(c)))
	return nil
}

// TestAnEventPassesAllStages before the next one comes: what three stages with
// state, timers and groupings make of an event is there when the next one is.
func TestAnEventPassesAllStages(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[pcoll.KV[string, int]]().
		Elements(at(1), pcoll.Pair("k", 1)).Watermark(at(3)).
		Elements(at(4), pcoll.Pair("k", 10)).Watermark(at(10)).
		Elements(at(11), pcoll.Pair("k", 100)).Source(p)
	each := windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(1)})
	first := transforms.StatefulParDo(in, &relay{})
	sums := transforms.SumPerKey(windowing.Into(first, windowing.Global(), each, windowing.Accumulating()))
	last := transforms.StatefulParDo(windowing.Into(sums, windowing.Same(), windowing.Discarding()), &tally{})
	// The first stage tells 1, 11, 111; the second adds up what it was told; the
	// third counts what the second fired: a firing for each event, not one for all.
	passert.Equals(t, last, "1: 1", "2: 12", "3: 123", "4: 123")
	ptest.Run(t, p)
}

// tally numbers what comes.
type tally struct {
	N state.Value[int] `state:"n"`
}

func (f *tally) Process(c *pcoll.Context, e pcoll.KV[string, int], emit pcoll.Emit[string]) error {
	f.N.Set(c, f.N.Get(c)+1)
	emit(c, fmt.Sprint(f.N.Get(c), ": ", e.Value))
	return nil
}
