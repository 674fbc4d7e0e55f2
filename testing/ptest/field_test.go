package ptest_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

func sec(n int) time.Time { return time.Unix(int64(n), 0) }

func secs(from, to int) pcoll.Window { return passert.Window(sec(from), sec(to)) }

// The second of two windowed steps has the first one's results before it hears
// of the watermark that released them.
func TestF24ChainedWindows(t *testing.T) {
	p := pcoll.New("F24")
	in := teststream.New[pcoll.KV[string, int]]().
		Bundle(teststream.At(sec(1), pcoll.Pair("k", 1)), teststream.At(sec(6), pcoll.Pair("k", 2))).
		Watermark(sec(20)).
		Source(p)
	first := transforms.SumPerKey(windowing.Into(in, windowing.Fixed(5*time.Second)), pcoll.Named("First"))
	second := transforms.SumPerKey(windowing.Into(first, windowing.Fixed(10*time.Second)), pcoll.Named("Second"))
	passert.Panes(t, second, passert.OnTime(pcoll.Pair("k", 3)).In(secs(0, 10)))
	for name, res := range ptest.Run(t, p) {
		if n := res.Dropped(); n != 0 {
			t.Errorf("%s: %d dropped, want none", name, n)
		}
	}
}

func TestF46TimesBefore1970(t *testing.T) {
	p := pcoll.New("F46")
	in := teststream.New[string]().
		Bundle(teststream.At(sec(-8), "a"), teststream.At(sec(-18), "b"), teststream.At(sec(2), "c")).
		Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second, windowing.Offset(5*time.Second)))
	passert.Windows(t, windowed, passert.Holds(secs(-15, -5), "a"), passert.Holds(secs(-25, -15), "b"), passert.Holds(secs(-5, 5), "c"))
	passert.Windows(t, transforms.CountPerElement(windowed),
		passert.Holds(secs(-15, -5), pcoll.Pair("a", int64(1))), passert.Holds(secs(-25, -15), pcoll.Pair("b", int64(1))),
		passert.Holds(secs(-5, 5), pcoll.Pair("c", int64(1))))
	ptest.Run(t, p)
}

func TestF47LateRecordsAreCountedAndKept(t *testing.T) {
	p := pcoll.New("F47")
	k := func(n int) pcoll.KV[string, int] { return pcoll.Pair("k", n) }
	in := teststream.New[pcoll.KV[string, int]]().
		Elements(sec(5), k(5)).
		Watermark(sec(20)).
		Bundle(teststream.At(sec(6), k(6)), teststream.At(sec(15), k(15)), teststream.At(sec(25), k(25))).
		Watermark(sec(30)).
		Source(p)
	groups, late := transforms.GroupByKeyWithLate(windowing.Into(in, windowing.Fixed(10*time.Second)), pcoll.Named("Group"))
	passert.Windows(t, groups, passert.Holds(secs(0, 10), pcoll.Pair("k", pcoll.GroupOf(5))), passert.Holds(secs(20, 30), pcoll.Pair("k", pcoll.GroupOf(25))))
	passert.Panes(t, late, passert.Ungrouped(k(6)).At(sec(6)).In(pcoll.Global), passert.Ungrouped(k(15)).At(sec(15)).In(pcoll.Global))
	for name, res := range ptest.Run(t, p) {
		if tr, _ := res.Transform("Group"); tr.DroppedLate != 2 {
			t.Errorf("%s: %d counted as late, want 2", name, tr.DroppedLate)
		}
	}
}
