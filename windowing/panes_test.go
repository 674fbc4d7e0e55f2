package windowing_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	. "github.com/penstock-dev/penstock/windowing"
)

type (
	kv     = pcoll.KV[string, int]
	stream = teststream.Stream[kv]
	step   func(*stream) *stream
	fired  = passert.Fired[kv]
)

func sec(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }

func win(from, to float64) pcoll.Window { return passert.Window(sec(from), sec(to)) }

// add is a bundle of one element of key k.
func add(at float64, v int) step {
	return func(s *stream) *stream { return s.Elements(sec(at), pcoll.Pair("k", v)) }
}

func watermark(s float64) step {
	return func(st *stream) *stream { return st.Watermark(sec(s)) }
}

func onTime(v int, w pcoll.Window) fired { return passert.OnTime(pcoll.Pair("k", v)).In(w) }
func early(v int, w pcoll.Window) fired  { return passert.Early(pcoll.Pair("k", v)).In(w) }
func late(v int, w pcoll.Window) fired   { return passert.Late(pcoll.Pair("k", v)).In(w) }

var earlyLate = Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)})

// TestPanes runs windows and options under scripts on every runner. Values are
// powers of two and are summed, so that a sum says what its pane holds.
func TestPanes(t *testing.T) {
	for _, c := range []struct {
		name    string
		fn      Fn
		opts    []pcoll.Option
		script  []step
		want    []fired
		dropped []int
	}{
		{name: "fixed", fn: Fixed(10 * time.Second),
			script: []step{add(0, 1), add(9.999, 2), add(10, 4)},
			want:   []fired{onTime(3, win(0, 10)), onTime(4, win(10, 20))}},
		{name: "fixed with offset", fn: Fixed(10*time.Second, Offset(3*time.Second)),
			script: []step{add(0, 1), add(3, 2), add(12.999, 4), add(13, 8)},
			want:   []fired{onTime(1, win(-7, 3)), onTime(6, win(3, 13)), onTime(8, win(13, 23))}},
		{name: "sliding", fn: Sliding(10*time.Second, 5*time.Second),
			script: []step{add(1, 1), add(7, 2)},
			want:   []fired{onTime(1, win(-5, 5)), onTime(3, win(0, 10)), onTime(2, win(5, 15))}},
		{name: "sliding with offset", fn: Sliding(10*time.Second, 5*time.Second, Offset(time.Second)),
			script: []step{add(1, 1)},
			want:   []fired{onTime(1, win(-4, 6)), onTime(1, win(1, 11))}},
		{name: "sliding with gaps", fn: Sliding(2*time.Second, 5*time.Second, AllowGaps()),
			script: []step{add(1, 1), add(3, 2), add(5, 4)},
			want:   []fired{onTime(1, win(0, 2)), onTime(4, win(5, 7))}},
		{name: "sessions: overlapping merge, touching do not", fn: Sessions(10 * time.Second),
			script: []step{add(0, 1), add(18, 2), add(9, 4), add(28, 8)},
			want:   []fired{onTime(7, win(0, 28)), onTime(8, win(28, 38))}},
		{name: "global", fn: Global(),
			opts:   []pcoll.Option{Trigger(triggers.Repeatedly{T: triggers.AfterCount(2)}), Discarding()},
			script: []step{add(0, 1), add(1e6, 2), watermark(1e7), add(3, 4)},
			want:   []fired{early(3, pcoll.Global), onTime(4, pcoll.Global)}},
		{name: "no lateness", fn: Fixed(10 * time.Second),
			script: []step{add(1, 1), watermark(9.999), add(2, 2), watermark(10), add(3, 4)},
			want:   []fired{onTime(3, win(0, 10))}, dropped: []int{4}},
		{name: "lateness up to the last moment", fn: Fixed(10 * time.Second), opts: []pcoll.Option{AllowedLateness(5 * time.Second), Discarding()},
			script: []step{add(1, 1), watermark(14.999), add(2, 2), watermark(15), add(3, 4)},
			want:   []fired{onTime(1, win(0, 10)), late(2, win(0, 10))}, dropped: []int{4}},
		{name: "late for one of two windows", fn: Sliding(10*time.Second, 5*time.Second),
			script: []step{watermark(10), add(7, 1), add(9, 2)},
			want:   []fired{onTime(3, win(5, 15))}, dropped: []int{1, 2}},
		{name: "accumulating", fn: Fixed(10 * time.Second), opts: []pcoll.Option{earlyLate, AllowedLateness(time.Minute), Accumulating()},
			script: []step{add(1, 1), add(2, 2), watermark(10), add(3, 4)},
			want:   []fired{early(1, win(0, 10)), early(3, win(0, 10)), onTime(3, win(0, 10)), late(7, win(0, 10))}},
		{name: "discarding", fn: Fixed(10 * time.Second), opts: []pcoll.Option{earlyLate, AllowedLateness(time.Minute), Discarding()},
			script: []step{add(1, 1), add(2, 2), watermark(10), add(3, 4)},
			want:   []fired{early(1, win(0, 10)), early(2, win(0, 10)), onTime(0, win(0, 10)), late(4, win(0, 10))}},
		{name: "on time only with something new", fn: Fixed(10 * time.Second),
			opts:   []pcoll.Option{earlyLate, AllowedLateness(time.Minute), Discarding(), OnTimeIfNonEmpty()},
			script: []step{add(1, 1), add(11, 2), watermark(10), add(3, 4)},
			want:   []fired{early(1, win(0, 10)), late(4, win(0, 10)), early(2, win(10, 20))}},
		{name: "closing always", fn: Fixed(10 * time.Second), opts: []pcoll.Option{AllowedLateness(time.Minute), Accumulating(), ClosingAlways()},
			script: []step{add(1, 1), watermark(10), add(2, 2), watermark(100)},
			want:   []fired{onTime(1, win(0, 10)), late(3, win(0, 10)), late(3, win(0, 10)).Final()}},
		{name: "stamped by the end of the window", fn: Fixed(10 * time.Second), opts: []pcoll.Option{StampedEndOfWindow()},
			script: []step{add(7, 1), add(3, 2)},
			want:   []fired{onTime(3, win(0, 10)).At(sec(9.999))}},
		{name: "stamped by the earliest", fn: Fixed(10 * time.Second), opts: []pcoll.Option{StampedEarliest()},
			script: []step{add(7, 1), add(3, 2)},
			want:   []fired{onTime(3, win(0, 10)).At(sec(3))}},
		{name: "stamped by the latest", fn: Fixed(10 * time.Second), opts: []pcoll.Option{StampedLatest()},
			script: []step{add(7, 1), add(3, 2)},
			want:   []fired{onTime(3, win(0, 10)).At(sec(7))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := teststream.New[kv]()
			for _, step := range c.script {
				step(s)
			}
			p := pcoll.New("test")
			sums, dropped := transforms.CombinePerKeyWithLate(Into(s.Source(p), c.fn, c.opts...), combine.Sum[int]())
			passert.Panes(t, sums, c.want...)
			passert.Equals(t, transforms.Values(dropped), c.dropped...)
			for runner, res := range ptest.Run(t, p) {
				if n := res.Dropped(); n != int64(len(c.dropped)) {
					t.Errorf("%s counts %d dropped elements, want %d", runner, n, len(c.dropped))
				}
			}
		})
	}
}

// TestF46BeforeTheEpoch: times before 1970 fall into the windows that hold them.
func TestF46BeforeTheEpoch(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for _, step := range []step{add(-0.001, 1), add(-10, 2), add(-10.001, 4), add(-3600, 8)} {
		step(s)
	}
	src := s.Source(p)
	passert.Panes(t, transforms.SumPerKey(Into(src, Fixed(10*time.Second))),
		onTime(3, win(-10, 0)), onTime(4, win(-20, -10)), onTime(8, win(-3600, -3590)))
	passert.Panes(t, transforms.SumPerKey(Into(src, Sliding(10*time.Second, 5*time.Second))),
		onTime(1, win(-5, 5)), onTime(3, win(-10, 0)), onTime(6, win(-15, -5)), onTime(4, win(-20, -10)),
		onTime(8, win(-3600, -3590)), onTime(8, win(-3605, -3595)))
	ptest.Run(t, p)
}

// TestF24SecondGrouping: what a first windowed step releases is not late for a
// second one, though their windows end together.
func TestF24SecondGrouping(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for _, step := range []step{add(1, 1), add(2, 2), watermark(10), add(11, 4), watermark(60)} {
		step(s)
	}
	first := transforms.SumPerKey(Into(s.Source(p), Fixed(10*time.Second)), pcoll.Named("First"))
	second, dropped := transforms.CombinePerKeyWithLate(first, combine.Sum[int](), pcoll.Named("Second"))
	passert.Panes(t, second, onTime(3, win(0, 10)), onTime(4, win(10, 20)))
	passert.Empty(t, dropped)
	larger := transforms.SumPerKey(Into(first, Fixed(time.Minute)))
	passert.Panes(t, larger, onTime(7, win(0, 60)))
	ptest.Run(t, p)
}

// TestSessionsMergeOnce covers a second grouping of sessions: it groups by the
// exact windows and merges again only when it is told to.
func TestSessionsMergeOnce(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for _, e := range []struct {
		at  float64
		key string
	}{{0, "a"}, {5, "a"}, {8, "b"}} {
		s.Elements(sec(e.at), pcoll.Pair(e.key, 1))
	}
	first := transforms.SumPerKey(Into(s.Source(p), Sessions(10*time.Second)))
	rekeyed := transforms.KeyBy(transforms.Values(first), func(int) string { return "k" })
	passert.Panes(t, transforms.SumPerKey(rekeyed), onTime(2, win(0, 15)), onTime(1, win(8, 18)))
	again := Into(rekeyed, Sessions(10*time.Second)) // from the times of the results: 14.999 and 17.999
	passert.Panes(t, transforms.SumPerKey(again), onTime(3, win(14.999, 27.999)))
	ptest.Run(t, p)
}

// TestF47LateRecordsAreKnown: what comes too late is counted and available.
func TestF47LateRecordsAreKnown(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for _, step := range []step{add(1, 1), watermark(20), add(2, 2), add(12, 4), add(21, 8)} {
		step(s)
	}
	groups, dropped := transforms.GroupByKeyWithLate(Into(s.Source(p), Fixed(10*time.Second)))
	passert.Panes(t, transforms.MapValues(groups, pcoll.Group[int].Len), onTime(1, win(0, 10)), onTime(1, win(20, 30)))
	passert.Panes(t, dropped, passert.Ungrouped(pcoll.Pair("k", 2)).In(pcoll.Global).At(sec(2)),
		passert.Ungrouped(pcoll.Pair("k", 4)).In(pcoll.Global).At(sec(12)))
	for runner, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("GroupByKey"); r.DroppedLate != 2 || r.DroppedClosed != 0 {
			t.Errorf("%s counts %d late and %d closed, want 2 and 0", runner, r.DroppedLate, r.DroppedClosed)
		}
	}
}

// TestWindowsAreAssignedWhereTheyAreSeen covers that a function which can look at
// its window gets an element once for each, and that others in front of it do not.
func TestWindowsAreAssignedWhereTheyAreSeen(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	add(7, 1)(s)
	in := transforms.MapValues(Into(s.Source(p), Sliding(10*time.Second, 5*time.Second)), func(n int) int { return n }, pcoll.Named("Before"))
	seen := transforms.ParDo(in, &windows{}, pcoll.Named("See"))
	passert.Equals(t, seen, win(0, 10).String(), win(5, 15).String())
	for runner, res := range ptest.Run(t, p) {
		before, _ := res.Transform("Before")
		see, _ := res.Transform("See")
		if before.Elements != 1 || see.Elements != 2 {
			t.Errorf("%s: %d elements before and %d behind the assignment, want 1 and 2", runner, before.Elements, see.Elements)
		}
	}
}

type windows struct{}

var _ transforms.DoFn[kv, string] = (*windows)(nil)

func (*windows) Process(c *pcoll.Context, _ kv, emit pcoll.Emit[string]) error {
	emit(c, c.Window().String())
	return nil
}
