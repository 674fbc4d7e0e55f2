package stateful_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// grouped counts the outputs of a function in windows of ten seconds, which tells
// how its watermark went: what is late is in a pane of its own.
func grouped(out pcoll.PCollection[string]) pcoll.PCollection[pcoll.KV[string, int64]] {
	return CountPerElement(windowing.Into(out, windowing.Fixed(10*time.Second), windowing.AllowedLateness(time.Hour), windowing.Discarding(),
		windowing.Trigger(triggers.AfterWatermark{Late: triggers.AfterCount(1)})))
}

func once(v string) pcoll.KV[string, int64] { return pcoll.Pair(v, int64(1)) }

// The timer fires at 30, its output belongs to 5: behind it nothing past 5 is known before.
func TestOutputTimeHoldsTheWatermark(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Elements(sec(1), k(1)...).Watermark(sec(25)).Elements(sec(26), k(2)...).Watermark(sec(40)).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value == 1 {
			f.A.Set(c, sec(30), timers.OutputAt(sec(5)))
		}
		emit(c, fmt.Sprint(e.Value))
	}, Fire: func(f *alarm, c *pcoll.Context, _ string, _ timers.Firing, emit emitter) {
		emit(c, fmt.Sprint("fired at ", c.EventTime().Unix()))
		emit.At(c, sec(17), "later")
	}}
	passert.Panes(t, grouped(StatefulParDo(in, fn)), passert.OnTime(once("1")), passert.OnTime(once("fired at 5")),
		passert.OnTime(once("later")).In(secs(10, 20)), passert.OnTime(once("2")).In(secs(20, 30)))
	ptest.Run(t, p)
}

func TestClearedTimerHoldsNothing(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Elements(sec(1), k(1)...).Elements(sec(2), k(2)...).Watermark(sec(25)).Elements(sec(3), k(3)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		switch e.Value {
		case 1:
			f.A.Set(c, sec(100), timers.OutputAt(sec(1)))
			f.B.Set(c, sec(100), timers.OutputAt(sec(1)))
		case 2:
			f.A.Clear(c)
			f.B.Set(c, sec(200)) // holds at another time now
		}
		emit(c, fmt.Sprint(e.Value))
	}, Fire: func(*alarm, *pcoll.Context, string, timers.Firing, emitter) {}}
	passert.Panes(t, grouped(StatefulParDo(in, fn)), passert.OnTime(once("1")), passert.OnTime(once("2")), passert.Late(once("3")))
	ptest.Run(t, p)
}

func TestEventTimerOutputIsAtTheTimeItIsSetTo(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, sec(8))
			f.A.Set(c, sec(9), timers.OutputAt(c.EventTime()), timers.Tag("x"))
		}}
		passert.Panes(t, StatefulParDo(tens(from(2, 1)), fn), fires("k a@8", 8).In(secs(0, 10)), fires("k ax@9", 2).In(secs(0, 10)))
	})
}

// The context shows the output time, and a looping timer hands it on.
func TestOnTimerSeesTheOutputTime(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, sec(5), timers.OutputAt(c.EventTime()))
		}, Fire: func(f *alarm, c *pcoll.Context, _ string, tm timers.Firing, emit emitter) {
			emit(c, fmt.Sprint(tm.At.Unix(), " for ", c.EventTime().Unix()))
			if tm.At.Before(sec(7)) {
				f.A.Set(c, tm.At.Add(time.Second), timers.OutputAt(c.EventTime()))
			}
		}}
		passert.Panes(t, StatefulParDo(tens(from(2, 1)), fn), fires("5 for 2", 2), fires("6 for 2", 2), fires("7 for 2", 2))
	})
}

func TestProcessingTimerHoldsAtTheElementsTime(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Elements(sec(3), k(1)...).Watermark(sec(25)).ProcessingTime(2*time.Second).
		Elements(sec(4), k(2)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value == 1 {
			f.P.SetAfter(c, time.Second)
		}
		emit(c, fmt.Sprint(e.Value))
	}}
	out := StatefulParDo(in, fn)
	passert.Panes(t, out, fires("1", 3), fires("k p@1", 3), fires("2", 4))
	passert.Panes(t, grouped(out), passert.OnTime(once("1")), passert.OnTime(once("k p@1")), passert.Late(once("2")))
	ptest.Run(t, p)
}

func TestProcessingTimerHoldsAtItsOutputTime(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Elements(sec(3), k(1)...).Watermark(sec(15)).Elements(sec(4), k(2)...).Watermark(sec(25)).
		ProcessingTime(2 * time.Second).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value == 1 {
			f.P.SetAfter(c, time.Second, timers.OutputAt(sec(12)))
		}
		emit(c, fmt.Sprint(e.Value))
	}}
	passert.Panes(t, grouped(StatefulParDo(in, fn)), passert.OnTime(once("1")), passert.Late(once("2")),
		passert.OnTime(once("k p@1")).In(secs(10, 20)))
	ptest.Run(t, p)
}

func TestTimerWithoutHoldHoldsNothing(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Elements(sec(3), k(1)...).Watermark(sec(15)).Elements(sec(4), k(2)...).ProcessingTime(time.Minute).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value == 1 {
			f.P.SetAfter(c, time.Second, timers.NoHold())
			f.A.Set(c, sec(3), timers.NoHold())
		}
		emit(c, fmt.Sprint(e.Value))
	}, Fire: func(f *alarm, c *pcoll.Context, _ string, tm timers.Firing, emit emitter) {
		emit.In(c, c.Window(), sec(5), fmt.Sprint(tm.Name(), c.EventTime().Year()))
		if f.P.Fired(tm) && f.Count.Get(c) == 0 {
			f.Count.Set(c, 1)
			f.Q.SetAfter(c, time.Second) // has no time to hold, either
		}
	}}
	passert.Panes(t, grouped(StatefulParDo(in, fn)), passert.OnTime(once("1")), passert.OnTime(once("a294247")),
		passert.Late(once("2")), passert.Late(once("p294247")))
	ptest.Run(t, p)
}

// What one worker or key holds back, holds all back behind it.
func TestHoldIsTheLeastOfAllKeys(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Bundle(teststream.At(sec(1), kv("a", 30)), teststream.At(sec(2), kv("b", 18)), teststream.At(sec(3), kv("c", 12))).
		Watermark(sec(14)).Watermark(sec(20)).Watermark(sec(40)).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.Set(c, sec(e.Value), timers.OutputAt(c.EventTime()))
	}}
	passert.Panes(t, grouped(StatefulParDo(in, fn)), passert.OnTime(once("a a@30")), passert.OnTime(once("b a@18")), passert.OnTime(once("c a@12")))
	ptest.Run(t, p)
}

// failing runs fn over one element of key k at second 5 and expects the run to fail.
func failing(t *testing.T, fn StatefulFn[string, int, string], opts []pcoll.Option, texts ...string) {
	t.Helper()
	p := pcoll.New("failing")
	in := teststream.New[pair]().Elements(sec(5), k(1)...).ProcessingTime(time.Minute).Source(p)
	StatefulParDo(tens(in), fn, append(opts, pcoll.Named("Alarm"))...)
	ptest.Fails(t, p, append(texts, "Alarm: ")...)
}

func TestSettingsThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(f *alarm, c *pcoll.Context)
		want string
	}{
		"after expiry": {func(f *alarm, c *pcoll.Context) { f.A.Set(c, sec(10)) },
			"key k: timer \"a\": it was set to 1970-01-01T00:00:10Z, after its window's expiry at 1970-01-01T00:00:09.999Z"},
		"held after expiry": {func(f *alarm, c *pcoll.Context) { f.A.Set(c, sec(9), timers.OutputAt(sec(10))) },
			"timer \"a\": its output time 1970-01-01T00:00:10Z is after its window's expiry"},
		"processing, held after expiry": {func(f *alarm, c *pcoll.Context) { f.P.SetAfter(c, time.Second, timers.OutputAt(sec(10))) },
			"timer \"p\": its output time 1970-01-01T00:00:10Z is after its window's expiry"},
		"held before the element": {func(f *alarm, c *pcoll.Context) { f.A.Set(c, sec(9), timers.OutputAt(sec(4))) },
			"its output time 1970-01-01T00:00:04Z is before the time 1970-01-01T00:00:05Z of what is being processed by more than the allowed skew of 0 ms"},
		"to no time":         {func(f *alarm, c *pcoll.Context) { f.A.Set(c, time.Time{}) }, "set to the zero time.Time"},
		"held at no time":    {func(f *alarm, c *pcoll.Context) { f.A.Set(c, sec(9), timers.OutputAt(time.Time{})) }, "zero time.Time as its output time"},
		"after less than 0":  {func(f *alarm, c *pcoll.Context) { f.A.SetAfter(c, -time.Second) }, "after -1s; want a time that is not negative"},
		"aligned to nothing": {func(f *alarm, c *pcoll.Context) { f.A.SetAfter(c, time.Second, timers.Align(0)) }, "aligned to 0s"},
		"aligned at a time":  {func(f *alarm, c *pcoll.Context) { f.A.Set(c, sec(9), timers.Align(time.Second)) }, "use Align with SetAfter"},
		"of another":         {func(f *alarm, c *pcoll.Context) { new(alarm).A.Set(c, sec(9)) }, "not one of the worker's own function"},
		"clear of another":   {func(f *alarm, c *pcoll.Context) { new(alarm).A.Clear(c) }, "not one of the worker's own function"},
		"clock of another":   {func(f *alarm, c *pcoll.Context) { new(alarm).A.Now(c) }, "not one of the worker's own function"},
	} {
		t.Run(name, func(t *testing.T) {
			failing(t, &alarm{Do: func(f *alarm, c *pcoll.Context, _ pair, _ emitter) { tc.set(f, c) }}, nil, tc.want, "element time 1970-01-01T00:00:05Z")
		})
	}
}

func TestSkewIsAllowedToTimers(t *testing.T) {
	p := pcoll.New("holds")
	in := teststream.New[pair]().Elements(sec(5), k(1)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.Set(c, sec(9), timers.OutputAt(sec(4)))
	}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
		emit.At(c, sec(3), "back")
	}}
	passert.Panes(t, StatefulParDo(tens(in), fn, AllowedSkew(time.Second)), fires("back", 3))
	ptest.Run(t, p)
}

func TestOutputBeforeTheTimersTimeFails(t *testing.T) {
	failing(t, &alarm{Do: func(f *alarm, c *pcoll.Context, _ pair, _ emitter) { f.A.Set(c, sec(8)) },
		Fire: func(f *alarm, c *pcoll.Context, _ string, _ timers.Firing, emit emitter) { emit.At(c, sec(7), "x") }}, nil,
		"output time 1970-01-01T00:00:07Z is before the input's time 1970-01-01T00:00:08Z")
}

func TestOutputBeforeTheWindowsEndFails(t *testing.T) {
	failing(t, &ending{alarm: alarm{Do: func(f *alarm, c *pcoll.Context, _ pair, _ emitter) {}},
		End: func(f *ending, c *pcoll.Context, _ string, emit emitter) { emit.At(c, sec(7), "x") }}, nil,
		"output time 1970-01-01T00:00:07Z is before the input's time 1970-01-01T00:00:09.999Z")
}

func TestOutputOfATimerWithoutHoldNeedsATime(t *testing.T) {
	failing(t, &alarm{Do: func(f *alarm, c *pcoll.Context, _ pair, _ emitter) { f.P.SetAfter(c, 0, timers.NoHold()) },
		Fire: func(f *alarm, c *pcoll.Context, _ string, _ timers.Firing, emit emitter) { emit(c, "x") }}, nil, "emit.In")
}

func TestTimerCannotBeSetWhileTheWindowExpires(t *testing.T) {
	failing(t, &ending{alarm: alarm{Do: func(f *alarm, c *pcoll.Context, _ pair, _ emitter) {}},
		End: func(f *ending, c *pcoll.Context, _ string, emit emitter) { f.A.Set(c, sec(9)) }}, nil, "timer \"a\": it was set while its window expires")
}

func TestTimerThatSetsItselfForeverFails(t *testing.T) {
	p := pcoll.New("loop")
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, _ pair, _ emitter) { f.A.SetAfter(c, time.Second) },
		Fire: func(f *alarm, c *pcoll.Context, _ string, _ timers.Firing, _ emitter) { f.A.SetAfter(c, time.Second) }}
	StatefulParDo(tens(WithTimestamps(Create(p, k(1)...), func(pair) time.Time { return sec(1) })), fn)
	_, err := direct.Run(context.Background(), p)
	if err == nil || !strings.Contains(err.Error(), "timer \"a\" was set again and again to fire at 1970-01-01T00:00:09.999Z, which is past") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsNameKeyAndTimer(t *testing.T) {
	told := errors.New("as told")
	for name, tc := range map[string]struct {
		fn   *troubled
		want string
	}{
		"process":    {&troubled{Process1: told}, "key k: as told"},
		"timer":      {&troubled{Timer1: told}, "key k: timer \"end\": as told"},
		"expiration": {&troubled{End1: told}, "key k: OnWindowExpiration: as told"},
	} {
		t.Run(name, func(t *testing.T) { failing(t, tc.fn, nil, tc.want) })
	}
}

// troubled returns errors.
type troubled struct {
	Process1, Timer1, End1 error
	End                    timers.EventTime `timer:"end"`
}

func (f *troubled) Process(c *pcoll.Context, e pair, emit pcoll.Emit[string]) error {
	f.End.Set(c, sec(9))
	return f.Process1
}
func (f *troubled) OnTimer(*pcoll.Context, string, timers.Firing, pcoll.Emit[string]) error {
	return f.Timer1
}
func (f *troubled) OnWindowExpiration(*pcoll.Context, string, pcoll.Emit[string]) error {
	return f.End1
}

func TestStateMisused(t *testing.T) {
	var kept func() bool // an iteration that its call leaves open
	for name, tc := range map[string]struct {
		do   func(f *stock, c *pcoll.Context)
		want string
	}{
		"value of another":     {func(f *stock, c *pcoll.Context) { new(stock).Value.Get(c) }, "not one of the worker's own function"},
		"bag of another":       {func(f *stock, c *pcoll.Context) { new(stock).Bag.Add(c, 1) }, "not one of the worker's own function"},
		"map of another":       {func(f *stock, c *pcoll.Context) { new(stock).Map.Put(c, "", 1) }, "not one of the worker's own function"},
		"multimap of another":  {func(f *stock, c *pcoll.Context) { new(stock).Multi.Put(c, "", 1) }, "not one of the worker's own function"},
		"set of another":       {func(f *stock, c *pcoll.Context) { new(stock).Set.Add(c, 1) }, "not one of the worker's own function"},
		"combining of another": {func(f *stock, c *pcoll.Context) { new(stock).Mean.Add(c, 1) }, "not one of the worker's own function"},
		"list of another":      {func(f *stock, c *pcoll.Context) { new(stock).List.Add(c, sec(1), 1) }, "not one of the worker's own function"},
	} {
		t.Run(name, func(t *testing.T) {
			failing(t, stocked(func(f *stock, c *pcoll.Context, _ pair, _ emitter) { tc.do(f, c) }), nil, tc.want)
		})
	}
	t.Run("iteration kept", func(t *testing.T) {
		p := pcoll.New("kept")
		StatefulParDo(script(p, kv("a", 1), kv("b", 2)), stocked(func(f *stock, c *pcoll.Context, e pair, _ emitter) {
			if e.Key == "b" {
				kept()
				return
			}
			f.Bag.Add(c, 1)
			all := f.Bag.All(c)
			kept = func() bool { return len(slices.Collect(all)) > 0 }
		}))
		if _, err := direct.Run(context.Background(), p); err == nil || !strings.Contains(err.Error(), "after the call that received it had returned") {
			t.Errorf("direct: %v", err) // its own check
		}
		if _, err := direct.Run(context.Background(), p, direct.Unchecked()); err == nil || !strings.Contains(err.Error(), "iteration over state went on") {
			t.Errorf("unchecked: %v", err)
		}
	})
}

// lively has a lifecycle, and state that it touches where there is none.
type lively struct {
	Log   *[]string
	Break string
	Sum   state.Value[int] `state:"sum"`
	End   timers.EventTime `timer:"end"`
	Odd   Output[string]
}

var (
	_ Setupper               = (*lively)(nil)
	_ BundleStarter          = (*lively)(nil)
	_ BundleFinisher[string] = (*lively)(nil)
	_ Teardowner             = (*lively)(nil)
)

func (f *lively) call(name string) error {
	*f.Log = append(*f.Log, name)
	if f.Break == name {
		return errors.New("as told")
	}
	return nil
}

func (f *lively) Setup(c *pcoll.Context) error { return f.call("Setup") }
func (f *lively) Teardown() error              { return f.call("Teardown") }
func (f *lively) StartBundle(c *pcoll.Context) error {
	if f.Break == "state in StartBundle" {
		f.Sum.Get(c)
	}
	return f.call("StartBundle")
}

func (f *lively) FinishBundle(c *pcoll.Context, emit pcoll.Emit[string]) error {
	if f.Break == "timer in FinishBundle" {
		f.End.Clear(c)
		f.End.Set(c, sec(1))
	}
	return f.call("FinishBundle")
}

func (f *lively) Process(c *pcoll.Context, e pair, emit pcoll.Emit[string]) error {
	f.End.Set(c, sec(9))
	return f.call("Process")
}

func (f *lively) OnTimer(*pcoll.Context, string, timers.Firing, pcoll.Emit[string]) error {
	return f.call("OnTimer")
}

func TestStatefulLifecycle(t *testing.T) {
	run := func(stop string) ([]string, error) {
		var log []string
		p := pcoll.New("lifecycle")
		in := teststream.New[pair]().Elements(sec(1), k(1, 2)...).Elements(sec(2), k(3)...).Source(p)
		StatefulParDo(in, &lively{Log: &log, Break: stop})
		_, err := direct.Run(context.Background(), p)
		return log, err
	}
	whole := []string{"Setup", "StartBundle", "Process", "Process", "FinishBundle", "StartBundle", "Process", "FinishBundle",
		"StartBundle", "OnTimer", "FinishBundle", "Teardown"}
	if log, err := run(""); err != nil || !slices.Equal(log, whole) {
		t.Errorf("got %v, %v, want %v", log, err, whole)
	}
	for i, name := range whole {
		if slices.Index(whole, name) != i {
			continue
		}
		want := append(slices.Clip(whole[:i+1]), "Teardown")
		if name == "Teardown" {
			want = whole
		}
		log, err := run(name)
		if err == nil || !strings.Contains(err.Error(), "as told") || !slices.Equal(log, want) {
			t.Errorf("%s fails: got %v, %v, want %v and the error", name, log, err, want)
		}
	}
	for name, want := range map[string]string{"state in StartBundle": "state was used where no key",
		"timer in FinishBundle": "timer was set or cleared where no key"} {
		if _, err := run(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
