package transforms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func fixedSeconds(s int) windowing.Fn { return windowing.Fixed(time.Duration(s) * time.Second) }

// moments looks, at each step of a script, at what has come through so far.
type moments struct {
	p      *pcoll.Pipeline
	main   *teststream.Stream[int]
	signal *teststream.Stream[string]
	look   *teststream.Stream[string]
	want   []string
}

func newMoments(p *pcoll.Pipeline) *moments {
	var s teststream.Script
	return &moments{p: p, main: teststream.On[int](&s), signal: teststream.On[string](&s), look: teststream.On[string](&s)}
}

// through expects exactly the elements named to have come through by now.
func (m *moments) through(elems ...int) {
	name := fmt.Sprint("moment ", len(m.want), ": ")
	m.look.Elements(second(0), name)
	m.want = append(m.want, fmt.Sprint(name, append([]int{-1}, elems...)))
}

// check compares out, in which -1 is a marker that makes the view ready.
func (m *moments) check(t *testing.T, out pcoll.PCollection[int]) {
	t.Helper()
	m.checkWith(t, out, m.look.Source(m.p))
}

// checkWith is check for a test that has the collection of moments already.
func (m *moments) checkWith(t *testing.T, out pcoll.PCollection[int], look pcoll.PCollection[string]) {
	t.Helper()
	all := []pcoll.Option{windowing.Accumulating(), windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(1)})}
	seen := Flatten(windowing.Into(Create(m.p, -1), windowing.Global(), all...), windowing.Into(out, windowing.Global(), all...))
	passert.Equals(t, MapSide(look, side.AsIterable(seen), func(name string, s side.Iterable[int]) string {
		return name + fmt.Sprint(slices.Sorted(s.All()))
	}), m.want...)
	ptest.Run(t, m.p)
}

func TestWaitOnSameWindows(t *testing.T) {
	m := newMoments(pcoll.New("test"))
	m.main.Elements(second(1), 1).Elements(second(11), 11).Elements(second(12), 12).Elements(second(21), 21)
	m.through()
	m.signal.Elements(second(2), "first").Elements(second(13), "second") // elements say nothing
	m.through()
	m.signal.Watermark(time.UnixMilli(9999))
	m.through()
	m.signal.Watermark(second(10))
	m.through(1)
	m.main.Elements(second(3), 3) // of a window that is done
	m.through(1, 3)
	m.main.Watermark(second(100)) // is not asked
	m.through(1, 3)
	m.signal.Watermark(second(20))
	m.through(1, 3, 11, 12)
	m.signal.Watermark(second(30))
	m.through(1, 3, 11, 12, 21)
	m.check(t, WaitOn(windowing.Into(m.main.Source(m.p), fixedSeconds(10)), windowing.Into(m.signal.Source(m.p), fixedSeconds(10))))
}

func TestWaitOnOtherWindows(t *testing.T) {
	for name, c := range map[string]struct {
		signal windowing.Fn
		done   int // when the signal is done for [10, 20)
	}{
		"larger":   {fixedSeconds(15), 30},
		"smaller":  {fixedSeconds(7), 21},
		"sliding":  {windowing.Sliding(20*time.Second, 5*time.Second), 20}, // [0, 20)
		"calendar": {windowing.Calendar(1, windowing.Days), 86400},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoments(pcoll.New("test"))
			m.main.Elements(second(11), 11)
			m.signal.Watermark(time.UnixMilli(int64(c.done)*1000 - 1))
			m.through()
			m.signal.Watermark(second(c.done))
			m.through(11)
			m.check(t, WaitOn(windowing.Into(m.main.Source(m.p), fixedSeconds(10)), windowing.Into(m.signal.Source(m.p), c.signal)))
		})
	}
}

func TestWaitOnLateness(t *testing.T) {
	m := newMoments(pcoll.New("test"))
	m.main.Elements(second(1), 1)
	m.signal.Elements(second(1), "on time").Watermark(second(14))
	m.through()
	m.signal.Elements(second(2), "late").Watermark(second(15))
	m.through(1)
	late := windowing.Into(m.signal.Source(m.p), fixedSeconds(10), windowing.AllowedLateness(5*time.Second), windowing.Discarding())
	m.check(t, WaitOn(windowing.Into(m.main.Source(m.p), fixedSeconds(10)), late))
}

// TestWaitOnSomeWindowsEmpty waits for windows in which the signal has nothing.
func TestWaitOnSomeWindowsEmpty(t *testing.T) {
	m := newMoments(pcoll.New("test"))
	m.main.Elements(second(1), 1).Elements(second(11), 11).Elements(second(21), 21).Watermark(second(30))
	m.signal.Elements(second(25), "only").Watermark(second(20))
	m.through(1, 11)
	m.signal.Watermark(second(30))
	m.through(1, 11, 21)
	out := WaitOn(windowing.Into(m.main.Source(m.p), fixedSeconds(10)), windowing.Into(m.signal.Source(m.p), fixedSeconds(10)))
	// What waited is not late, though the watermark of the input had passed it.
	passert.Panes(t, Count(out), passert.OnTime[int64](1).In(passert.Window(second(0), second(10))),
		passert.OnTime[int64](1).In(passert.Window(second(10), second(20))), passert.OnTime[int64](1).In(passert.Window(second(20), second(30))))
	m.check(t, out)
}

func TestWaitOnGlobalWindow(t *testing.T) {
	p := pcoll.New("test")
	signal := Map(Create(p, 1, 2), func(i int) string { return "done" })
	main := teststream.New[int]().Elements(second(1), 1).Elements(second(100), 2).Source(p)
	passert.Equals(t, WaitOn(main, signal), 1, 2)
	passert.Equals(t, WaitOn(windowing.Into(main, fixedSeconds(10)), signal), 1, 2)
	passert.Equals(t, WaitOn(Create(p, 7), CreateFrom[string](p, nil)), 7)
	ptest.Run(t, p)
}

// TestWaitOnSeveral waits for two signals in turn.
func TestWaitOnSeveral(t *testing.T) {
	m := newMoments(pcoll.New("test"))
	m.main.Elements(second(1), 1)
	m.signal.Watermark(second(10))
	m.through()
	m.look.Watermark(second(10))
	m.through(1)
	in := windowing.Into(m.main.Source(m.p), fixedSeconds(10))
	looked := m.look.Source(m.p)
	out := WaitOn(WaitOn(in, windowing.Into(m.signal.Source(m.p), fixedSeconds(10))), windowing.Into(looked, fixedSeconds(10)))
	m.checkWith(t, out, looked)
}

func TestWaitOnKeepsTimesAndPanes(t *testing.T) {
	p := pcoll.New("test")
	sums := Sum(windowing.Into(WithTimestamps(Create(p, 1, 2), func(i int) time.Time { return second(i) }), fixedSeconds(10)))
	got := WaitOn(sums, Create(p, "x"))
	passert.Panes(t, got, passert.OnTime(3).In(passert.Window(second(0), second(10))).At(time.UnixMilli(9999)).Final())
	ptest.Run(t, p)
}

func TestWaitOnMistakes(t *testing.T) {
	for _, c := range []struct {
		signal func(pcoll.PCollection[string]) pcoll.PCollection[string]
		want   string
	}{
		{func(s pcoll.PCollection[string]) pcoll.PCollection[string] { return s }, "WaitOn/Signal: an unbounded signal in the global window never closes it"},
		{func(s pcoll.PCollection[string]) pcoll.PCollection[string] { return windowing.Into(s, fixedSeconds(1)) },
			"WaitOn: the input is in the global window, to which no window of the side input corresponds"},
		{func(s pcoll.PCollection[string]) pcoll.PCollection[string] {
			return windowing.Into(s, windowing.Sessions(time.Second))
		},
			"WaitOn/Signal: windows that merge"},
	} {
		p := pcoll.New("test")
		WaitOn(Create(p, 1), c.signal(teststream.New[string]().Source(p)))
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "wait_test.go") != 1 {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
