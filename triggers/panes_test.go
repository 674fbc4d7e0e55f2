package triggers_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	. "github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

type (
	kv     = pcoll.KV[string, int]
	stream = teststream.Stream[kv]
	step   func(*stream) *stream
	fired  = passert.Fired[kv]
)

func sec(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }

// add is one bundle of elements in the window of the first minute.
func add(vals ...int) step {
	return func(s *stream) *stream {
		elems := make([]kv, len(vals))
		for i, v := range vals {
			elems[i] = pcoll.Pair("k", v)
		}
		return s.Elements(sec(1), elems...)
	}
}

func watermark(s float64) step {
	return func(st *stream) *stream { return st.Watermark(sec(s)) }
}

func clock(d time.Duration) step {
	return func(s *stream) *stream { return s.ProcessingTime(d) }
}

func early(v int) fired  { return passert.Early(pcoll.Pair("k", v)) }
func onTime(v int) fired { return passert.OnTime(pcoll.Pair("k", v)) }
func late(v int) fired   { return passert.Late(pcoll.Pair("k", v)) }

// TestPanes runs each trigger under a script on every runner. Values are powers
// of two and are summed, so that a sum says what its pane holds. Where a script
// ends before the window does, the end and the expiry of the window are one
// moment, which has an on-time pane even if it is empty.
func TestPanes(t *testing.T) {
	minute := windowing.Fixed(time.Minute)
	hour := windowing.AllowedLateness(time.Hour)
	tick := time.Millisecond // past an instant means strictly past
	for _, c := range []struct {
		name    string
		trigger Trigger
		opts    []pcoll.Option // besides the trigger; an hour of lateness, discarding, if none
		fn      windowing.Fn
		script  []step
		want    []fired
		dropped []int
	}{
		{name: "default fires again for each late bundle", trigger: Default{},
			script: []step{add(1), add(2), watermark(60), add(4, 8), add(16)},
			want:   []fired{onTime(3), late(12), late(16)}},
		{name: "default keeps to the end of the window", trigger: Default{},
			script: []step{add(1), watermark(59.999), add(2), watermark(60)},
			want:   []fired{onTime(3)}},
		{name: "always: after bundles, and no more at the end of the window", trigger: Always{},
			script: []step{add(1), add(2, 4), watermark(60), add(8)},
			want:   []fired{early(1), early(6), late(8)}},
		{name: "never", trigger: Never{},
			script: []step{add(1), watermark(60), add(2)},
			want:   []fired{onTime(3).Final()}},
		{name: "count: the unit is the bundle, the rest comes at the end", trigger: Repeatedly{T: AfterCount(2)},
			script: []step{add(1), add(2), add(4, 8, 16), add(32), watermark(60)},
			want:   []fired{early(3), early(28), onTime(32).Final()}},
		{name: "count, accumulating", trigger: Repeatedly{T: AfterCount(2)}, opts: []pcoll.Option{hour, windowing.Accumulating()},
			script: []step{add(1, 2), add(4), add(8)},
			want:   []fired{early(3), early(15), onTime(15).Final()}},
		{name: "a count that finishes closes the window", trigger: AfterCount(2),
			opts:   []pcoll.Option{hour, windowing.Discarding(), windowing.AllowUnsafeTrigger()},
			script: []step{add(1), add(2), add(4, 8)},
			want:   []fired{early(3).Final()}, dropped: []int{4, 8}},
		{name: "watermark only", trigger: AfterWatermark{}, opts: []pcoll.Option{windowing.AllowedLateness(0)},
			script: []step{add(1), watermark(60), add(2)},
			want:   []fired{onTime(1)}, dropped: []int{2}},
		{name: "watermark with early and late", trigger: AfterWatermark{Early: AfterCount(2), Late: AfterCount(2)},
			script: []step{add(1), add(2), add(4), watermark(60), add(8), add(16), add(32)},
			want:   []fired{early(3), onTime(4), late(24), late(32).Final()}},
		{name: "watermark, accumulating", trigger: AfterWatermark{Early: AfterCount(1), Late: AfterCount(1)},
			opts:   []pcoll.Option{hour, windowing.Accumulating()},
			script: []step{add(1), watermark(60), add(2)},
			want:   []fired{early(1), onTime(1), late(3)}},
		{name: "processing time", trigger: Repeatedly{T: AfterProcessingTime(10 * time.Second)},
			script: []step{add(1), clock(10 * time.Second), add(2), clock(tick), add(4), clock(10 * time.Second), clock(tick)},
			want:   []fired{early(3), early(4), onTime(0).Final()}},
		{name: "aligned processing time", trigger: Repeatedly{T: AfterProcessingTime(0).AlignedTo(time.Minute)},
			script: []step{clock(10 * time.Second), add(1), clock(50 * time.Second), add(2), clock(tick)},
			want:   []fired{early(3), onTime(0).Final()}},
		{name: "any: by count", trigger: Repeatedly{T: AfterAny{AfterCount(2), AfterProcessingTime(10 * time.Second)}},
			script: []step{add(1), add(2), add(4), clock(10*time.Second + tick)},
			want:   []fired{early(3), early(4), onTime(0).Final()}},
		{name: "all: not before both", trigger: Repeatedly{T: AfterAll{AfterCount(2), AfterProcessingTime(10 * time.Second)}},
			script: []step{add(1), clock(time.Minute), add(2), add(4), add(8), clock(10*time.Second + tick)},
			want:   []fired{early(3), early(12), onTime(0).Final()}},
		{name: "each: one after the other", trigger: AfterEach{AfterCount(1), Repeatedly{T: AfterCount(2)}},
			script: []step{add(1), add(2), add(4), add(8, 16)},
			want:   []fired{early(1), early(6), early(24), onTime(0).Final()}},
		{name: "or finally: until counts across panes", trigger: OrFinally{Main: Repeatedly{T: AfterCount(1)}, Until: AfterCount(3)},
			opts:   []pcoll.Option{hour, windowing.Discarding(), windowing.AllowUnsafeTrigger()},
			script: []step{add(1), add(2), add(4), add(8)},
			want:   []fired{early(1), early(2), early(4).Final()}, dropped: []int{8}},
		{name: "in the global window", trigger: Repeatedly{T: AfterCount(2)}, fn: windowing.Global(), opts: []pcoll.Option{windowing.Discarding()},
			script: []step{add(1, 2), add(4), watermark(1000), add(8), add(16)},
			want:   []fired{early(3), early(12), onTime(16).Final()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := teststream.New[kv]()
			for _, step := range c.script {
				step(s)
			}
			if c.fn == (windowing.Fn{}) {
				c.fn = minute
			}
			if c.opts == nil {
				c.opts = []pcoll.Option{hour, windowing.Discarding()}
			}
			p := pcoll.New("test")
			in := windowing.Into(s.Source(p), c.fn, append(c.opts, windowing.Trigger(c.trigger))...)
			sums, dropped := transforms.CombinePerKeyWithLate(in, combine.Sum[int](), pcoll.Named("Sum"))
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

// TestContinuation covers that a second grouping passes on what the first one
// fires: it does not wait for as many panes as the first did for elements. The
// first one's on-time pane comes before its watermark, so to the second one it is early.
func TestContinuation(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for _, step := range []step{add(1, 2, 4), add(8), watermark(60), add(16)} {
		step(s)
	}
	in := windowing.Into(s.Source(p), windowing.Fixed(time.Minute), windowing.Discarding(), windowing.AllowedLateness(time.Hour),
		windowing.Trigger(AfterWatermark{Early: AfterCount(3), Late: AfterCount(1)}))
	twice := transforms.SumPerKey(transforms.SumPerKey(in))
	passert.Panes(t, twice, early(7), early(8), onTime(0), late(16))
	ptest.Run(t, p)
}

// TestF07FinishingTrigger: a trigger that would close its window early is
// refused, unless the loss is accepted; then what is lost is known.
func TestF07FinishingTrigger(t *testing.T) {
	build := func(opts ...pcoll.Option) (*pcoll.Pipeline, pcoll.PCollection[pcoll.KV[string, pcoll.Group[int]]], pcoll.PCollection[kv]) {
		p := pcoll.New("test")
		s := teststream.New[kv]()
		for _, step := range []step{add(1), add(2), add(3), add(4), watermark(10)} {
			step(s)
		}
		in := windowing.Into(s.Source(p), windowing.Fixed(10*time.Second), append(opts, windowing.Discarding(), windowing.AllowedLateness(0),
			windowing.Trigger(AfterCount(2)))...)
		groups, dropped := transforms.GroupByKeyWithLate(in)
		return p, groups, dropped
	}
	if p, _, _ := build(); p.Err() == nil {
		t.Error("the trigger is accepted as it is")
	}
	p, groups, dropped := build(windowing.AllowUnsafeTrigger())
	passert.Panes(t, groups, passert.Early(pcoll.Pair("k", pcoll.GroupOf(1, 2))))
	passert.Equals(t, dropped, pcoll.Pair("k", 3), pcoll.Pair("k", 4))
	for runner, res := range ptest.Run(t, p) {
		r, _ := res.Transform("GroupByKey")
		if r.DroppedClosed != 2 || r.DroppedLate != 0 {
			t.Errorf("%s counts %d closed and %d late, want 2 and 0", runner, r.DroppedClosed, r.DroppedLate)
		}
	}
}
