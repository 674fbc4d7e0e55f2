package pardo_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// at expects v at a second.
func at(v string, s int) passert.Fired[string] { return passert.Ungrouped(v).At(sec(s)) }

// stamped is a collection of seconds, at themselves.
func stamped(p *pcoll.Pipeline, ns ...int) pcoll.PCollection[int] {
	return WithTimestamps(CreateFrom(p, ns), sec)
}

// shift emits each element some seconds later or earlier, on three outputs.
func shift(by int) func(*each, *pcoll.Context, int, pcoll.Emit[string]) {
	return func(f *each, c *pcoll.Context, n int, emit pcoll.Emit[string]) {
		to := c.EventTime().Add(time.Duration(by) * time.Second)
		emit.At(c, to, fmt.Sprint(n))
		f.A.At(c, to, fmt.Sprint("a", n))
		f.B.Emit(c, fmt.Sprint("b", n)) // the element's own time is back
	}
}

func TestOutputTimes(t *testing.T) {
	onAll(t, "of the input", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Panes(t, ParDo(stamped(p, 3, 42), &each{Do: say}), at("saw 3", 3), at("saw 42", 42))
	})
	onAll(t, "of one's own", func(t *testing.T, p *pcoll.Pipeline) {
		// Elements without a time are before all times: any time is later.
		fn := &each{Do: func(f *each, c *pcoll.Context, n int, emit pcoll.Emit[string]) {
			emit.At(c, sec(n), fmt.Sprint(n))
			f.A.At(c, sec(2*n), fmt.Sprint("a", n))
		}}
		passert.Panes(t, ParDo(Create(p, 3, 42), fn), at("3", 3), at("42", 42))
		passert.Panes(t, fn.A.Collection(), at("a3", 6), at("a42", 84))
	})
	onAll(t, "later", func(t *testing.T, p *pcoll.Pipeline) {
		fn := &each{Do: shift(10)}
		passert.Panes(t, ParDo(stamped(p, 3, 42), fn), at("3", 13), at("42", 52))
		passert.Panes(t, fn.A.Collection(), at("a3", 13), at("a42", 52))
		passert.Panes(t, fn.B.Collection(), at("b3", 3), at("b42", 42))
	})
	onAll(t, "earlier, as far as is allowed", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Panes(t, ParDo(stamped(p, 3, 42), &each{Do: shift(-1000)}, AllowedSkew(1000*time.Second)), at("3", -997), at("42", -958))
	})
	onAll(t, "earlier, without a limit", func(t *testing.T, p *pcoll.Pipeline) {
		fn := &each{Do: func(f *each, c *pcoll.Context, n int, emit pcoll.Emit[string]) {
			emit.At(c, exec.MinTime.Time(), "first")
			f.A.At(c, sec(-1_000_000_000), "earlier")
		}}
		passert.Panes(t, ParDo(stamped(p, 3), fn, AllowedSkew(math.MaxInt64)), passert.Ungrouped("first").At(exec.MinTime.Time()))
		passert.Panes(t, fn.A.Collection(), at("earlier", -1_000_000_000))
	})
	t.Run("earlier than is allowed", func(t *testing.T) {
		p := pcoll.New("pardo")
		ParDo(stamped(p, 3), &each{Do: shift(-2)}, AllowedSkew(time.Second), pcoll.Named("Shift"))
		ptest.Fails(t, p, "Shift", "output time 1970-01-01T00:00:01Z", "by more than the allowed skew of 1000 ms")
	})
}

// TestTimestampsAreGivenToElements restates Beam's WithTimestampsTest: times are
// those of the function, windows follow, and going back needs to be allowed.
func TestTimestampsAreGivenToElements(t *testing.T) {
	onAll(t, "given", func(t *testing.T, p *pcoll.Pipeline) {
		timed := stamped(p, 0, 1234, -5)
		passert.Panes(t, ParDo(timed, &each{Do: say}), at("saw 0", 0), at("saw 1234", 1234), at("saw -5", -5))
		passert.Windows(t, Count(windowing.Into(timed, windowing.Fixed(time.Minute))),
			passert.Holds(secs(0, 60), int64(1)), passert.Holds(secs(1200, 1260), int64(1)), passert.Holds(secs(-60, 0), int64(1)))
	})
	onAll(t, "given anew, earlier", func(t *testing.T, p *pcoll.Pipeline) {
		back := WithTimestamps(stamped(p, 100, 200), func(n int) time.Time { return sec(n - 50) }, AllowedSkew(50*time.Second))
		passert.Panes(t, ParDo(back, &each{Do: say}), at("saw 100", 50), at("saw 200", 150))
	})
	t.Run("earlier than is allowed", func(t *testing.T) {
		p := pcoll.New("pardo")
		WithTimestamps(stamped(p, 100), func(n int) time.Time { return sec(n - 51) }, AllowedSkew(50*time.Second), pcoll.Named("Back"))
		ptest.Fails(t, p, "Back", "by more than the allowed skew of 50000 ms")
	})
}

// bundled emits when a bundle begins and ends, each in a window of its own, and
// keeps what came between for its end.
type bundled struct {
	Begun Output[string]
	Late  time.Duration // how far behind its element the end of a bundle emits
	kept  []int
	when  []time.Time
}

var (
	_ DoFn[int, string]      = (*bundled)(nil)
	_ BundleStarter          = (*bundled)(nil)
	_ BundleFinisher[string] = (*bundled)(nil)
)

func (f *bundled) StartBundle(c *pcoll.Context) error {
	f.kept, f.when = f.kept[:0], f.when[:0]
	f.Begun.In(c, secs(100, 110), sec(105), "begun")
	return nil
}

func (f *bundled) Process(c *pcoll.Context, n int, _ pcoll.Emit[string]) error {
	f.kept, f.when = append(f.kept, n), append(f.when, c.EventTime())
	return nil
}

func (f *bundled) FinishBundle(c *pcoll.Context, emit pcoll.Emit[string]) error {
	for i, n := range f.kept {
		at := f.when[i]
		start := at.Truncate(10 * time.Second)
		emit.In(c, passert.Window(start, start.Add(10*time.Second)), at, fmt.Sprint(n))
	}
	return nil
}

// TestBundlesEmitIntoWindows of their choice, at their begin and at their end.
func TestBundlesEmitIntoWindows(t *testing.T) {
	p := pcoll.New("pardo")
	in := teststream.New[int]().Elements(sec(3), 3, 4).Elements(sec(14), 14).Source(p)
	fn := &bundled{}
	out := ParDo(windowing.Into(in, windowing.Fixed(10*time.Second)), fn)
	passert.Windows(t, out, passert.Holds(secs(0, 10), "3", "4"), passert.Holds(secs(10, 20), "14"))
	passert.Panes(t, out, at("3", 3), at("4", 3), at("14", 14))
	passert.Panes(t, fn.Begun.Collection(), at("begun", 105).In(secs(100, 110)), at("begun", 105).In(secs(100, 110)))
	ptest.Run(t, p)
}

// TestWatermarkWaitsForTheBundle: what a bundle keeps until its end is not late
// behind it, though the watermark of the source moved on in the middle of it.
func TestWatermarkWaitsForTheBundle(t *testing.T) {
	counted := func(t *testing.T, out pcoll.PCollection[string]) pcoll.PCollection[pcoll.KV[string, pcoll.Group[int]]] {
		keyed := KeyBy(Map(out, func(s string) int { return len(s) }), func(int) string { return "k" })
		groups, late := GroupByKeyWithLate(keyed)
		passert.Empty(t, late)
		return groups
	}
	onAll(t, "script", func(t *testing.T, p *pcoll.Pipeline) {
		in := teststream.New[int]().Elements(sec(3), 1, 2).Watermark(sec(20)).Elements(sec(21), 3).Watermark(sec(40)).Source(p)
		out := ParDo(windowing.Into(in, windowing.Fixed(10*time.Second)), &bundled{})
		passert.Windows(t, counted(t, out), passert.Holds(secs(0, 10), pcoll.Pair("k", pcoll.GroupOf(1, 1))),
			passert.Holds(secs(20, 30), pcoll.Pair("k", pcoll.GroupOf(1))))
	})
	onAll(t, "a source whose watermark follows its elements", func(t *testing.T, p *pcoll.Pipeline) {
		ticks := PeriodicImpulse(p, 10*time.Millisecond, ImpulseFrom(sec(0)), ImpulseUntil(sec(60)))
		in := Map(ticks, func(at time.Time) int { return int(at.Unix()) })
		out := ParDo(windowing.Into(in, windowing.Fixed(10*time.Second)), &bundled{})
		sizes := MapValues(counted(t, out), pcoll.Group[int].Len)
		passert.Equals(t, Values(sizes), 1000, 1000, 1000, 1000, 1000, 1000)
	})
}
