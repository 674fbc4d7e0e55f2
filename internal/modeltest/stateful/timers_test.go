package stateful_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// alarm is a function with timers. What it does is up to the test.
type alarm struct {
	Count state.Value[int]      `state:"count"`
	Seen  state.Bag[int]        `state:"seen"`
	A     timers.EventTime      `timer:"a"`
	B     timers.EventTime      `timer:"b"`
	P     timers.ProcessingTime `timer:"p"`
	Q     timers.ProcessingTime `timer:"q"`

	Do   func(f *alarm, c *pcoll.Context, e pair, emit emitter)
	Fire func(f *alarm, c *pcoll.Context, key string, t timers.Firing, emit emitter)
}

var (
	_ StatefulFn[string, int, string] = (*alarm)(nil)
	_ TimerFn[string, string]         = (*alarm)(nil)
)

func (f *alarm) Process(c *pcoll.Context, e pair, emit pcoll.Emit[string]) error {
	f.Do(f, c, e, emit)
	return nil
}

func (f *alarm) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[string]) error {
	if f.Fire == nil {
		emit(c, fmt.Sprint(key, " ", t.Name(), t.Tag, "@", t.At.Unix()))
		return nil
	}
	f.Fire(f, c, key, t, emit)
	return nil
}

// ending is an alarm that is told when its window expires.
type ending struct {
	alarm
	End func(f *ending, c *pcoll.Context, key string, emit emitter)
}

var _ ExpirationFn[string, string] = (*ending)(nil)

func (f *ending) OnWindowExpiration(c *pcoll.Context, key string, emit pcoll.Emit[string]) error {
	f.End(f, c, key, emit)
	return nil
}

// fires expects v as the output of a timer at a second.
func fires(v string, at int) passert.Fired[string] { return passert.Ungrouped(v).At(sec(at)) }

func tens(in pcoll.PCollection[pair]) pcoll.PCollection[pair] {
	return windowing.Into(in, windowing.Fixed(10*time.Second))
}

// sources are the pairs of key k at one second, from a script and from a bounded collection.
var sources = map[string]func(p *pcoll.Pipeline, at int, vals ...int) pcoll.PCollection[pair]{
	"script": func(p *pcoll.Pipeline, at int, vals ...int) pcoll.PCollection[pair] {
		return teststream.New[pair]().Elements(sec(at), k(vals...)...).Source(p)
	},
	"bounded": func(p *pcoll.Pipeline, at int, vals ...int) pcoll.PCollection[pair] {
		return WithTimestamps(Create(p, k(vals...)...), func(pair) time.Time { return sec(at) })
	},
}

// onSources builds and runs a pipeline for each of sources.
func onSources(t *testing.T, build func(t *testing.T, p *pcoll.Pipeline, from func(at int, vals ...int) pcoll.PCollection[pair])) {
	for name, from := range sources {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("timers")
			build(t, p, func(at int, vals ...int) pcoll.PCollection[pair] { return from(p, at, vals...) })
			ptest.Run(t, p)
		})
	}
}

func TestEventTimerFires(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.SetAfter(c, time.Second)
			emit(c, "element")
		}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
			emit(c, fmt.Sprint(key, f.A.Fired(tm), f.B.Fired(tm), f.P.Fired(tm)))
		}}
		passert.Equals(t, StatefulParDo(from(1, 5), fn), "element", "ktrue false false")
	})
}

// An element comes before the watermark says anything, so that SetAfter counts
// from the start of time: the timer is due as soon as the watermark moves.
func TestEventTimerSetAfterCountsFromTheWatermark(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Watermark(sec(100)).Elements(sec(102), k(1)...).
		Watermark(sec(105)). // not past it
		Elements(sec(105), k(2)...).
		Watermark(sec(105).Add(time.Millisecond)).
		Elements(sec(106), k(3)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value == 1 {
			f.A.SetAfter(c, 5*time.Second)
		}
		emit(c, fmt.Sprint(e.Value, " now ", f.A.Now(c).Unix()))
	}}
	out := StatefulParDo(in, fn)
	inOrder(t, out, "1 now 100", "2 now 105", "k a@105", "3 now 105")
	ptest.Run(t, p)
}

func TestEventTimerIsAligned(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Watermark(sec(3)).Elements(sec(4), k(1)...).Watermark(sec(-1).Add(1e10)).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.SetAfter(c, 0, timers.Align(5*time.Second))
		f.B.SetAfter(c, 2*time.Second+time.Millisecond, timers.Align(5*time.Second))
		f.A.SetAfter(c, 2*time.Second, timers.Align(5*time.Second), timers.Tag("x")) // aligned as it is
		f.A.SetAfter(c, 2*time.Second, timers.Align(time.Second), timers.Tag("y"))
	}}
	passert.Panes(t, StatefulParDo(in, fn), fires("k a@5", 5), fires("k ax@5", 5), fires("k ay@5", 5), fires("k b@10", 10))
	ptest.Run(t, p)
}

func TestEventTimerIsAlignedBeforeTheEpoch(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Watermark(sec(-8)).Elements(sec(-8), k(1)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.SetAfter(c, 0, timers.Align(5*time.Second))
		f.B.SetAfter(c, 3*time.Second, timers.Align(5*time.Second))
	}}
	passert.Panes(t, StatefulParDo(in, fn), fires("k a@-5", -5), fires("k b@-5", -5))
	ptest.Run(t, p)
}

func TestAlignedEventTimerIsLimitedToExpiry(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Watermark(sec(8)).Elements(sec(9), k(1)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.SetAfter(c, time.Second, timers.Align(time.Minute))
	}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
		emit(c, fmt.Sprint(tm.At.UnixMilli()))
	}}
	passert.Panes(t, StatefulParDo(tens(in), fn), passert.Ungrouped("9999").At(at(9999)).In(secs(0, 10)))
	ptest.Run(t, p)
}

func TestTimerFiresInItsWindow(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, c.Window().Max().Time())
		}, Fire: func(f *alarm, c *pcoll.Context, key string, _ timers.Firing, emit emitter) {
			emit(c, fmt.Sprint(c.Window().Start.Time().Unix(), c.Pane() == pcoll.Pane{Timing: pcoll.Unknown, First: true, Last: true}))
		}}
		sliding := windowing.Into(from(7, 1), windowing.Sliding(10*time.Second, 5*time.Second))
		passert.Panes(t, StatefulParDo(sliding, fn), passert.Ungrouped("0 true").In(secs(0, 10)).At(at(9999)),
			passert.Ungrouped("5 true").In(secs(5, 15)).At(at(14999)))
	})
}

func TestTimersBehindAGrouping(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, c.Window().Max().Time())
			emit(c, fmt.Sprint("sum ", e.Value))
		}}
		sums := SumPerKey(tens(from(1, 1, 2, 3)))
		passert.Equals(t, StatefulParDo(sums, fn), "sum 6", "k a@9")
	})
}

func TestEventTimerAtAnAbsoluteTime(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, c.EventTime().Add(4*time.Second+time.Microsecond))
			emit(c, "element")
		}}
		passert.Panes(t, StatefulParDo(tens(from(2, 1)), fn), fires("element", 2).In(secs(0, 10)), fires("k a@6", 6).In(secs(0, 10)))
	})
}

func TestEventTimerLoops(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.SetAfter(c, time.Second)
		}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
			if n := f.Count.Get(c); n < 5 {
				emit(c, fmt.Sprint(n))
				f.Count.Set(c, n+1)
				f.A.SetAfter(c, time.Second)
			}
		}}
		inOrder(t, StatefulParDo(from(0, 1), fn), "0", "1", "2", "3", "4")
	})
}

func TestEventTimersOfManyKeys(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		var vals []int
		var want []string
		for i := range 50 {
			vals = append(vals, i)
			want = append(want, fmt.Sprint("k", i, " a@", i))
		}
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			for i := range 15 { // only the last setting counts
				f.A.Set(c, sec(e.Value+14-i))
			}
		}}
		keyed := KeyBy(Values(from(0, vals...)), func(n int) string { return fmt.Sprint("k", n) })
		passert.Equals(t, StatefulParDo(keyed, fn), want...)
	})
}

func TestTimersFireWithinAllowedLateness(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Watermark(sec(12)).Elements(sec(1), k(1)...).Watermark(sec(16)).Elements(sec(1), k(2)...).Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(5*time.Second), windowing.Discarding())
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.Set(c, sec(14))
		f.B.Set(c, sec(3)) // past already
	}}
	passert.Panes(t, StatefulParDo(windowed, fn), fires("k b@3", 3).In(secs(0, 10)), fires("k a@14", 14).In(secs(0, 10)))
	for name, res := range ptest.Run(t, p) {
		if res.Dropped() != 1 {
			t.Errorf("%s: %d dropped, want 1", name, res.Dropped())
		}
	}
}

func TestSettingReplacesTheOneBefore(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().
		Elements(sec(1), k(5)...).Elements(sec(1), k(8)...). // later
		Watermark(sec(6)).
		Elements(sec(7), k(7)...). // earlier
		Watermark(sec(9)).
		Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) { f.A.Set(c, sec(e.Value)) }}
	inOrder(t, StatefulParDo(in, fn), "k a@7")
	ptest.Run(t, p)
}

func TestSettingReplacesOneThatIsDue(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(1)...).Watermark(sec(9)).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.Set(c, sec(2))
		f.B.Set(c, sec(3))
		f.A.Set(c, sec(4), timers.Tag("x"))
	}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
		emit(c, fmt.Sprint(tm.Name(), tm.Tag, tm.At.Unix()))
		if tm.At.Equal(sec(2)) {
			f.B.Set(c, sec(7))   // due at once as well, but later
			f.A.ClearTag(c, "x") // due, and not to fire
		}
	}}
	inOrder(t, StatefulParDo(in, fn), "a2", "b7")
	ptest.Run(t, p)
}

func TestClearedTimerDoesNotFire(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(5)...).Elements(sec(1), k(0)...).Watermark(sec(9)).ProcessingTime(time.Minute).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value > 0 {
			f.A.Set(c, sec(e.Value))
			f.B.Set(c, sec(e.Value))
			f.P.SetAfter(c, time.Second)
			return
		}
		f.A.Clear(c)
		f.P.Clear(c)
		f.P.Clear(c) // nothing is set any more
	}}
	passert.Equals(t, StatefulParDo(in, fn), "k b@5")
	ptest.Run(t, p)
}

func TestTimersOfAKeyFireInOrder(t *testing.T) {
	for name, marks := range map[string][]int{"one watermark": {100}, "many": {3, 5, 6, 7, 20, 100}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("timers")
			in := teststream.New[pair]().Elements(sec(0), k(5)...).Elements(sec(0), k(2)...).Elements(sec(0), k(7)...).Elements(sec(0), k(3)...)
			for _, w := range marks {
				in.Watermark(sec(w))
			}
			fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
				f.A.Set(c, sec(e.Value), timers.Tag(fmt.Sprint(e.Value)))
				f.B.Set(c, sec(4))
			}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
				f.Seen.Add(c, int(tm.At.Unix()))
				emit(c, fmt.Sprint(list(f.Seen.All(c))))
			}}
			inOrder(t, StatefulParDo(in.Source(p), fn), "[2]", "[2 3]", "[2 3 4]", "[2 3 4 5]", "[2 3 4 5 7]")
			ptest.Run(t, p)
		})
	}
}

func TestTimersOfAKeyFireInOrderOverWindows(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(7), k(1)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		start := c.Window().Start.Time()
		f.A.Set(c, start.Add(8*time.Second))
		f.B.Set(c, start.Add(2*time.Second))
	}}
	sliding := windowing.Into(in, windowing.Sliding(10*time.Second, 5*time.Second))
	inOrder(t, StatefulParDo(sliding, fn), "k b@2", "k b@7", "k a@8", "k a@13")
	ptest.Run(t, p)
}

func TestTwoTimersSetEachOther(t *testing.T) {
	for name, w := range map[string]int{"at once": 100, "step by step": 1} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("timers")
			in := teststream.New[pair]().Elements(sec(0), k(1)...)
			for i := w; i <= 100; i += w {
				in.Watermark(sec(i))
			}
			fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
				f.A.Set(c, sec(1))
				f.B.Set(c, sec(10))
			}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
				emit(c, fmt.Sprint(tm.Name(), tm.At.Unix()))
				switch {
				case tm.At.Unix() >= 4:
				case f.A.Fired(tm):
					f.B.Set(c, tm.At.Add(time.Second))
				default:
					f.A.Set(c, tm.At.Add(time.Second))
				}
			}}
			inOrder(t, StatefulParDo(in.Source(p), fn), "a1", "b2", "a3", "b4")
			ptest.Run(t, p)
		})
	}
}

func TestTwoTimersSetEachOtherOverABoundedInput(t *testing.T) {
	p := pcoll.New("timers")
	in := WithTimestamps(Create(p, k(1)...), func(pair) time.Time { return sec(0) })
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) { f.A.SetAfter(c, time.Second) },
		Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
			n := f.Count.Get(c)
			f.Count.Set(c, n+1)
			emit(c, fmt.Sprint(tm.Name(), n))
			switch {
			case n == 3:
			case f.A.Fired(tm):
				f.B.SetAfter(c, time.Second)
			default:
				f.A.SetAfter(c, time.Second)
			}
		}}
	inOrder(t, StatefulParDo(tens(in), fn), "a0", "b1", "a2", "b3")
	ptest.Run(t, p)
}

func TestTimerThatIsSetTwiceFiresOnce(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(1, 2)...).Elements(sec(1), k(3)...).Watermark(sec(5)).Watermark(sec(9)).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.A.Set(c, sec(4))
		f.A.Set(c, sec(4))
	}}
	passert.Equals(t, StatefulParDo(in, fn), "k a@4")
	ptest.Run(t, p)
}

func TestProcessingTimerFires(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(7), k(1)...).
		ProcessingTime(2*time.Second). // not past it
		Elements(sec(7), k(2)...).
		ProcessingTime(time.Millisecond).
		Elements(sec(7), k(3)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value == 1 {
			f.P.SetAfter(c, 2*time.Second)
		}
		emit(c, fmt.Sprint(e.Value, " ", f.P.Now(c).UnixMilli()))
	}}
	out := StatefulParDo(in, fn)
	inOrder(t, out, "1 0", "2 2000", "k p@2", "3 2001")
	ptest.Run(t, p)
}

func TestProcessingTimerIsReplaced(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(3)...).
		ProcessingTime(2*time.Second).Elements(sec(1), k(5)...).
		ProcessingTime(2*time.Second).Elements(sec(1), k(0)...).
		ProcessingTime(4*time.Second).Elements(sec(1), k(0)...).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		if e.Value > 0 {
			f.P.SetAfter(c, time.Duration(e.Value)*time.Second)
		}
		emit(c, "element")
	}}
	inOrder(t, StatefulParDo(in, fn), "element", "element", "element", "k p@7", "element")
	ptest.Run(t, p)
}

func TestProcessingTimersFireInOrderAndAligned(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().ProcessingTime(3*time.Second).Elements(sec(1), k(1)...).ProcessingTime(time.Minute).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.P.SetAfter(c, 4*time.Second, timers.Align(5*time.Second))
		f.P.Set(c, f.P.Now(c).Add(20*time.Second), timers.Tag("x"))
		f.Q.SetAfter(c, 9*time.Second)
	}, Fire: func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) {
		emit(c, fmt.Sprint(tm.Name(), tm.Tag, tm.At.Unix()))
		if f.Q.Fired(tm) {
			f.P.Set(c, sec(13), timers.Tag("y")) // due already, and first
		}
	}}
	inOrder(t, StatefulParDo(in, fn), "p10", "q12", "py13", "px23")
	ptest.Run(t, p)
}

func TestProcessingTimerOfAnExpiredWindowIsForgotten(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(1)...).Watermark(sec(11)).Elements(sec(12), k(2)...).ProcessingTime(time.Minute).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) { f.P.SetAfter(c, time.Second) }}
	passert.Windows(t, StatefulParDo(tens(in), fn), passert.Holds(secs(10, 20), "k p@1"))
	ptest.Run(t, p)
}

func TestProcessingTimerIsForgottenAtTheEndOfInput(t *testing.T) {
	p := pcoll.New("timers")
	in := WithTimestamps(Create(p, k(1)...), func(pair) time.Time { return sec(1) })
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.P.SetAfter(c, time.Hour)
		emit(c, "element")
	}}
	passert.Equals(t, StatefulParDo(in, fn), "element")
	ptest.Run(t, p)
}

func TestTaggedTimersAreApart(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, sec(3), timers.Tag("x"))
			f.A.Set(c, sec(5), timers.Tag("y"))
			f.A.Set(c, sec(4))
			f.A.Set(c, sec(6), timers.Tag("x")) // in place of the first
			f.A.ClearTag(c, "none")
		}}
		passert.Panes(t, StatefulParDo(tens(from(1, 1)), fn), fires("k a@4", 4), fires("k ay@5", 5), fires("k ax@6", 6))
	})
}

func TestTagsOfTwoTimersAreApart(t *testing.T) {
	onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
		fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
			f.A.Set(c, sec(3), timers.Tag("x"))
			f.B.Set(c, sec(4), timers.Tag("x"))
			f.A.Set(c, sec(5), timers.Tag("y"))
			f.B.ClearTag(c, "y")
		}}
		passert.Panes(t, StatefulParDo(tens(from(1, 1)), fn), fires("k ax@3", 3), fires("k bx@4", 4), fires("k ay@5", 5))
	})
}

func TestTaggedProcessingTimers(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(1)...).ProcessingTime(3 * time.Second).ProcessingTime(3 * time.Second).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.P.SetAfter(c, 2*time.Second, timers.Tag("x"))
		f.P.SetAfter(c, 5*time.Second, timers.Tag("y"))
		f.P.SetAfter(c, 10*time.Second)
	}}
	inOrder(t, StatefulParDo(in, fn), "k px@2", "k py@5")
	ptest.Run(t, p)
}

// structured is a key that is more than a string.
type structured struct {
	City string
	At   time.Time
}

type byPlace struct {
	End timers.EventTime `timer:"end"`
}

func (f *byPlace) Process(c *pcoll.Context, e pcoll.KV[structured, int], emit pcoll.Emit[structured]) error {
	f.End.SetAfter(c, time.Second)
	return nil
}

func (f *byPlace) OnTimer(c *pcoll.Context, key structured, _ timers.Firing, emit pcoll.Emit[structured]) error {
	emit(c, key)
	return nil
}

func TestOnTimerIsGivenTheKey(t *testing.T) {
	p := pcoll.New("timers")
	keys := []structured{{"Rome", sec(1).UTC()}, {"Rome", sec(2).UTC()}, {"Oslo", sec(1).UTC()}}
	in := Map(Create(p, keys...), func(s structured) pcoll.KV[structured, int] { return pcoll.Pair(s, 1) })
	passert.Equals(t, StatefulParDo(in, &byPlace{}), keys...)
	ptest.Run(t, p)
}

func TestOnWindowExpirationReadsStateOnce(t *testing.T) {
	for name, into := range map[string]func(pcoll.PCollection[pair]) pcoll.PCollection[pair]{
		"fixed": tens, "global": func(in pcoll.PCollection[pair]) pcoll.PCollection[pair] { return in }} {
		t.Run(name, func(t *testing.T) {
			onSources(t, func(t *testing.T, p *pcoll.Pipeline, from func(int, ...int) pcoll.PCollection[pair]) {
				fn := &ending{alarm: alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
					f.Seen.Add(c, e.Value)
					f.P.SetAfter(c, time.Hour)
					f.A.SetAfter(c, time.Hour)
				}}, End: func(f *ending, c *pcoll.Context, key string, emit emitter) {
					seen := list(f.Seen.All(c))
					slices.Sort(seen)
					emit(c, fmt.Sprint(key, seen, c.EventTime().Equal(c.Window().Max().Time())))
				}}
				fn.Fire = func(f *alarm, c *pcoll.Context, key string, tm timers.Firing, emit emitter) { f.Seen.Add(c, 99) }
				passert.Equals(t, StatefulParDo(into(from(1, 1, 2, 3)), fn), "k[1 2 3 99] true")
			})
		})
	}
}

func TestOnWindowExpirationIsCalledWithoutState(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), kv("a", 1), kv("b", 2)).Elements(sec(11), kv("a", 1)).Watermark(sec(15)).Source(p)
	fn := &ending{alarm: alarm{Do: func(*alarm, *pcoll.Context, pair, emitter) {}},
		End: func(f *ending, c *pcoll.Context, key string, emit emitter) { emit(c, key) }}
	passert.Panes(t, StatefulParDo(tens(in), fn), passert.Ungrouped("a").In(secs(0, 10)).At(at(9999)),
		passert.Ungrouped("b").In(secs(0, 10)).At(at(9999)), passert.Ungrouped("a").In(secs(10, 20)).At(at(19999)))
	ptest.Run(t, p)
}

// What a window emits when it expires is on time for a grouping behind, and
// with allowed lateness not too late.
func TestOutputOfOnWindowExpirationIsNotDropped(t *testing.T) {
	for name, late := range map[string]time.Duration{"on time": 0, "late": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("timers")
			in := teststream.New[pair]().Elements(sec(1), kv("a", 1), kv("b", 2)).Watermark(sec(30)).Elements(sec(31), kv("a", 7)).Source(p)
			fn := &ending{alarm: alarm{Do: func(f *alarm, c *pcoll.Context, e pair, _ emitter) { f.Count.Set(c, e.Value) }},
				End: func(f *ending, c *pcoll.Context, key string, emit emitter) { emit(c, fmt.Sprint(key, f.Count.Get(c))) }}
			out := StatefulParDo(windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(late), windowing.Discarding()), fn)
			passert.Windows(t, CountPerElement(out), passert.Holds(secs(0, 10), pcoll.Pair("a1", int64(1)), pcoll.Pair("b2", int64(1))),
				passert.Holds(secs(30, 40), pcoll.Pair("a7", int64(1))))
			for name, res := range ptest.Run(t, p) {
				if res.Dropped() != 0 {
					t.Errorf("%s: %d dropped", name, res.Dropped())
				}
			}
		})
	}
}

// The watermark passes all at once: a window ends before what fires later in another.
func TestWindowsExpireInTheOrderOfTimers(t *testing.T) {
	p := pcoll.New("timers")
	in := teststream.New[pair]().Elements(sec(1), k(4)...).Elements(sec(11), k(12)...).Watermark(sec(40)).Source(p)
	fn := &ending{alarm: alarm{Do: func(f *alarm, c *pcoll.Context, e pair, _ emitter) { f.A.Set(c, sec(e.Value)) }},
		End: func(f *ending, c *pcoll.Context, _ string, emit emitter) {
			emit(c, fmt.Sprint("end ", c.Window().End.Time().Unix()))
		}}
	inOrder(t, StatefulParDo(tens(in), fn), "k a@4", "end 10", "k a@12", "end 20")
	ptest.Run(t, p)
}
