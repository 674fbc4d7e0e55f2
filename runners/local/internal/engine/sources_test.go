package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/engine"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

func upTo(n int64) (secs []int64) {
	for i := range n {
		secs = append(secs, i)
	}
	return secs
}

// TestF28EmptyPartitionsOnWorkersOfTheirOwn: partitions that never had a record
// do not hold back those that have, on whichever workers they are; and what they
// deliver later is on time.
func TestF28EmptyPartitionsOnWorkersOfTheirOwn(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		l := &log{progress: connector.Progress{Idle: 2 * time.Second, MaxFuture: -1, Rediscover: time.Hour}, parts: []*part{{}, {}, {}}}
		p := pcoll.New("F28")
		counts(connector.Read(p, "Log", l), 10, &got)
		l.parts[0].rows = []int64{1, 5, 12, 25}
		w := start(t, p, workers, engine.Options{})
		w.settle()
		w.pass(1900)
		got.want(t)
		w.pass(200)
		got.want(t, "[0,10)=2 ON_TIME", "[10,20)=1 ON_TIME")
		w.pass(8000)
		l.parts[1].put(30)
		w.settle()
		w.pass(100)
		l.parts[0].put(41)
		w.pass(3000)
		got.want(t, "[0,10)=2 ON_TIME", "[10,20)=1 ON_TIME", "[20,30)=1 ON_TIME", "[30,40)=1 ON_TIME")
		if n := w.dropped(); n != 0 {
			t.Errorf("%d dropped", n)
		}
	})
}

// TestF01SlowSinkBlocksTheReading: while the sink blocks, nothing is read, and no
// partition with unread records is left out of the watermark.
func TestF01SlowSinkBlocksTheReading(t *testing.T) {
	for _, away := range []bool{false, true} { // what the reader of the second partition last heard: records, or nothing at all
		each(t, func(t *testing.T, workers int) {
			var got seen
			l := &log{progress: connector.Progress{Idle: time.Second, MaxFuture: -1}, parts: []*part{{rows: upTo(500)}, {rows: upTo(100)}}}
			p := pcoll.New("F01")
			in := connector.Read(p, "Log", l)
			var w *world
			blocked := false
			in = transforms.Map(in, func(v int64) int64 {
				if !blocked {
					blocked = true
					w.clock.Advance(3000) // the function waits
					l.parts[1].away = false
				}
				return v
			})
			counts(in, 10, &got)
			l.parts[1].away = away
			w = start(t, p, workers, engine.Options{BatchRows: 10, QueueBatches: 1})
			w.settle()
			l.parts[1].put()
			w.settle()
			l.parts[0].close()
			l.parts[1].close()
			w.pass(10_000)
			if !w.settle() {
				t.Error("not done")
			}
			var want seen
			for s := 0; s < 500; s += 10 {
				n := 10
				if s < 100 {
					n = 20
				}
				want = append(want, fmt.Sprintf("[%d,%d)=%d ON_TIME", s, s+10, n))
			}
			got.want(t, want...)
			if n := w.dropped(); n != 0 {
				t.Errorf("%d dropped as late", n)
			}
		})
	}
}

// TestF05OneRecordADayAhead does not make the others late.
func TestF05OneRecordADayAhead(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		l := &log{progress: connector.Progress{Disorder: 5 * time.Second, MaxFuture: time.Minute}, parts: []*part{{}}}
		p := pcoll.New("F05")
		counts(connector.Read(p, "Log", l), 10, &got)
		w := start(t, p, workers, engine.Options{}) // the clock is at 105 s
		for _, s := range []int64{100, 101, 102, 86500, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112} {
			l.parts[0].put(s)
			w.settle()
		}
		l.parts[0].close()
		w.settle()
		got.want(t, "[100,110)=10 ON_TIME", "[110,120)=3 ON_TIME", "[86500,86510)=1 ON_TIME")
		res := w.eng.Result(pcoll.Graph(p))
		if tr, _ := res.Transform("Log"); tr.Internal["futureTimestamps"] != 1 || res.Dropped() != 0 {
			t.Errorf("%v, %d dropped; want one future, none dropped", tr.Internal, res.Dropped())
		}
	})
}

// TestF45PartitionFoundLaterHolds: from its assignment on; what it holds from
// before follows the rules for late records, and is counted.
func TestF45PartitionFoundLaterHolds(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		l := &log{progress: connector.Progress{MaxFuture: -1, Rediscover: time.Minute, Idle: time.Second}, parts: []*part{{}}}
		p := pcoll.New("F45")
		counts(connector.Read(p, "Log", l), 10, &got)
		w := start(t, p, workers, engine.Options{})
		l.parts[0].put(1, 12)
		w.settle()
		got.want(t, "[0,10)=1 ON_TIME")
		l.parts = append(l.parts, &part{rows: []int64{5, 15}, away: true})
		w.discover(false)
		w.settle()
		l.parts[0].put(35)
		w.pass(500)
		got.want(t, "[0,10)=1 ON_TIME") // nobody knows yet what is in the new one
		l.parts[1].away = false
		l.parts[1].put()
		w.settle()
		if n := w.dropped(); n != 1 { // 5 came when [0,10) had expired
			t.Errorf("%d dropped, want 1", n)
		}
		l.parts[1].put(31)
		w.settle()
		got.want(t, "[0,10)=1 ON_TIME", "[10,20)=2 ON_TIME")
	})
}

// TestMoreWorkersThanSplits: workers without a split have no say, from the first
// assignment on, and the source ends all the same.
func TestMoreWorkersThanSplits(t *testing.T) {
	for _, rediscover := range []time.Duration{0, time.Minute} {
		each(t, func(t *testing.T, workers int) {
			var got seen
			l := &log{progress: connector.Progress{MaxFuture: -1, Rediscover: rediscover}, parts: []*part{{}}}
			p := pcoll.New("few")
			counts(connector.Read(p, "Log", l), 10, &got)
			w := start(t, p, workers, engine.Options{})
			l.parts[0].put(1, 11, 25)
			w.settle()
			got.want(t, "[0,10)=1 ON_TIME", "[10,20)=1 ON_TIME")
			l.parts[0].close()
			if done := w.settle(); done != (rediscover == 0) {
				t.Errorf("done: %v", done)
			}
		})
	}
}

// TestNoSplitsAtAll: a source that lists nothing ends at once if nothing can come.
func TestNoSplitsAtAll(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		p := pcoll.New("nothing")
		counts(connector.Read(p, "Log", &log{}), 10, &got)
		if w := start(t, p, workers, engine.Options{}); !w.settle() {
			t.Error("not done")
		}
		got.want(t)
	})
}

// TestIdleBesideEnded: where one worker's splits are idle and all others' have
// ended, the watermark is that of the idle ones, not the end of time.
func TestIdleBesideEnded(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		l := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}, {}, {}}}
		p := pcoll.New("mixed")
		counts(connector.Read(p, "Log", l), 10, &got)
		w := start(t, p, workers, engine.Options{})
		l.parts[0].put(3)
		l.parts[1].put(45)
		l.parts[2].put(15)
		w.settle()
		l.parts[0].close()
		l.parts[1].close()
		w.pass(5000) // the last is idle at 15 s
		got.want(t, "[0,10)=1 ON_TIME")
		l.parts[2].put(16, 31)
		w.settle()
		got.want(t, "[0,10)=1 ON_TIME", "[10,20)=2 ON_TIME")
		l.parts[2].close()
		if !w.settle() {
			t.Error("not done")
		}
		got.want(t, "[0,10)=1 ON_TIME", "[10,20)=2 ON_TIME", "[30,40)=1 ON_TIME", "[40,50)=1 ON_TIME")
	})
}

// TestBoundedBesideLive: the bounded source holds the watermark while it is read and
// then no more; its end is not taken for the other's.
func TestBoundedBesideLive(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		live := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
		files := &log{progress: connector.Progress{Bounded: true, AtEnd: true, MaxFuture: -1}, parts: []*part{{rows: []int64{25, 3}}, {rows: []int64{14}}}}
		p := pcoll.New("beside")
		counts(transforms.Flatten(connector.Read(p, "Live", live), connector.Read(p, "Files", files)), 10, &got)
		w := start(t, p, workers, engine.Options{})
		live.parts[0].put(4, 31)
		w.pass(5000)
		got.want(t)
		files.parts[0].close()
		files.parts[1].close()
		w.settle()
		got.want(t, "[0,10)=2 ON_TIME", "[10,20)=1 ON_TIME", "[20,30)=1 ON_TIME")
		live.parts[0].put(32)
		w.settle()
		live.parts[0].close()
		if !w.settle() || w.dropped() != 0 {
			t.Errorf("%d dropped", w.dropped())
		}
		got.want(t, "[0,10)=2 ON_TIME", "[10,20)=1 ON_TIME", "[20,30)=1 ON_TIME", "[30,40)=2 ON_TIME")
	})
}

// TestIdleInputOfAStage: an input of a stage with several follows the others
// while it is idle, over an exchange and without one, and holds again when it wakes.
func TestIdleInputOfAStage(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		a := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}, {}}}
		b := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
		p := pcoll.New("inputs")
		counts(transforms.Flatten(transforms.Reshuffle(connector.Read(p, "A", a)), connector.Read(p, "B", b)), 10, &got)
		w := start(t, p, workers, engine.Options{})
		a.parts[0].put(1, 12)
		a.parts[1].put(2, 13)
		b.parts[0].put(4)
		w.settle()
		got.want(t)
		for range 6 { // b is silent, a is not
			w.pass(400)
			a.parts[0].put(14)
			a.parts[1].put(14)
			w.settle()
		}
		got.want(t, "[0,10)=3 ON_TIME")
		b.parts[0].put(15)
		w.settle()
		a.parts[0].put(35)
		a.parts[1].put(36)
		w.settle()
		got.want(t, "[0,10)=3 ON_TIME") // b is awake, at 15
		b.parts[0].put(22)
		w.settle()
		got.want(t, "[0,10)=3 ON_TIME", "[10,20)=15 ON_TIME")
		if n := w.dropped(); n != 0 {
			t.Errorf("%d dropped", n)
		}
	})
}

// TestIdleMainInputDoesNotFollowItsSideInput: while a main input is idle its side
// input goes on, and nothing that comes then is late by that.
func TestIdleMainInputDoesNotFollowItsSideInput(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		main := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
		rates := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
		p := pcoll.New("side")
		fixed := windowing.Fixed(10 * time.Second)
		view := side.AsList(windowing.Into(connector.Read(p, "Rates", rates), fixed))
		var got seen
		transforms.ForEach(transforms.MapSide(windowing.Into(connector.Read(p, "Main", main), fixed), view,
			func(v int64, rates side.List[int64]) string { return fmt.Sprint(v, " with ", rates.Len()) }),
			func(_ *pcoll.Context, s string) error { got = append(got, s); return nil })
		w := start(t, p, workers, engine.Options{})
		rates.parts[0].put(3, 25)
		main.parts[0].put(1, 2)
		w.settle()
		got.want(t, "1 with 1", "2 with 1")
		for i := range int64(6) {
			w.pass(400)
			rates.parts[0].put(30 + 10*i)
			w.settle()
		}
		main.parts[0].put(12, 31) // 31 waits for the list of its window no more
		w.settle()
		got.want(t, "1 with 1", "2 with 1", "12 with 0", "31 with 1")
		if n := w.dropped(); n != 0 {
			t.Errorf("%d dropped", n)
		}
	})
}

// TestWaitingRootBesideBusyOne: a source that was woken is read although another
// in its stage keeps the task busy for ever.
func TestWaitingRootBesideBusyOne(t *testing.T) {
	var got seen
	busy := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
	quiet := &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
	p := pcoll.New("busy")
	seenQuiet := int64(0)
	rows := transforms.Map(connector.Read(p, "Quiet", quiet), func(v int64) int64 { seenQuiet++; return v })
	counts(transforms.Flatten(connector.Read(p, "Busy", busy), rows), 10, &got)
	w := start(t, p, 1, engine.Options{})
	w.settle()
	task := w.eng.Tasks[0]
	step := func(n int, until func() bool) bool {
		for i := range int64(n) {
			for len(busy.parts[0].rows)-busy.parts[0].read < 2*maxRead { // there is always more
				busy.parts[0].put(20 + i/1000)
			}
			if st := task.Step(); st != engine.Running {
				t.Fatalf("the task is not busy: %d", st)
			}
			if until() {
				return true
			}
		}
		return false
	}
	step(20, func() bool { return false })
	quiet.parts[0].put(5)
	if !step(1000, func() bool { return seenQuiet == 1 }) {
		t.Fatal("a source that was woken is not read while another is busy")
	}
	if len(got) > 0 {
		t.Errorf("fired %v although the quiet source is at 5", got)
	}
	// It becomes idle while the other is busy, by the wakes that it asked for.
	asked := quiet.parts[0].asked
	for range 6 {
		w.clock.Advance(260)
		step(50, func() bool { return false })
	}
	if quiet.parts[0].asked == asked {
		t.Error("a source whose time to be asked has come is not asked while another is busy")
	}
	if got.String() != "[0,10)=1 ON_TIME" {
		t.Errorf("fired %v, want the window behind which only the busy source is", got)
	}
}

// TestHalfIdleStillHolds: what joins an idle input with a live one has a say, and
// who joins it with others must wait for it.
func TestHalfIdleStillHolds(t *testing.T) {
	each(t, func(t *testing.T, workers int) {
		var got seen
		logs := make([]*log, 3)
		p := pcoll.New("half")
		var ins []pcoll.PCollection[int64]
		for i := range logs {
			logs[i] = &log{progress: connector.Progress{MaxFuture: -1, Idle: time.Second}, parts: []*part{{}}}
			ins = append(ins, connector.Read(p, "Log", logs[i]))
		}
		half := transforms.Flatten(ins[0], ins[1])
		counts(transforms.Flatten(half, ins[2]), 10, &got)
		w := start(t, p, workers, engine.Options{})
		logs[0].parts[0].put(1)
		logs[1].parts[0].put(15)
		logs[2].parts[0].put(55)
		w.settle()
		for range 6 { // the first is silent, the others are not
			w.pass(400)
			logs[1].parts[0].put(15)
			logs[2].parts[0].put(55)
			w.settle()
		}
		got.want(t, "[0,10)=1 ON_TIME")
		logs[1].parts[0].put(16, 31)
		w.settle()
		if n := w.dropped(); n != 0 {
			t.Errorf("%d dropped: the joined input had no say", n)
		}
	})
}
