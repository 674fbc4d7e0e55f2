package modeltest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// Draw draws a spec with one to three groupings, joins or functions with state. Whatever is drawn can be built.
func Draw(t *rapid.T) *Spec {
	s := &Spec{Streams: 1, Bounded: rapid.IntRange(0, 7).Draw(t, "bounded") == 7}
	if rapid.IntRange(0, 2).Draw(t, "streams") == 2 && !s.Bounded {
		s.Streams = 2
	}
	s.Keys = rapid.SampledFrom([]int{1, 3, 12, 60, 3000}).Draw(t, "keys")
	d := &drawer{t: t, s: s, ordered: !s.Bounded}
	d.add(Step{Kind: Window, Strategy: d.strategy()})
	for range rapid.IntRange(1, 3).Draw(t, "groupings") {
		for range rapid.IntRange(0, 3).Draw(t, "between") {
			st := d.step()
			if st.Kind.views() && d.apart { // what is late there is judged by the watermark of the worker
				d.add(Step{Kind: Shuffle})
			}
			d.add(st)
		}
		d.add(d.heart())
		if s.loose() { // which rows come and go within a bundle is nobody's promise: nothing may follow that counts them
			break
		}
	}
	s.Events = d.events()
	return s
}

// A drawer draws a spec from front to end. It knows what it has drawn so far
// by what may follow.
type drawer struct {
	t *rapid.T
	s *Spec

	ordered   bool // elements of a key come in one order, whatever the runner
	retracts  bool // elements may be withdrawals
	merging   bool // windows are still to merge
	mode      strategy.Mode
	combiner  strategy.TimestampCombiner
	crossings int  // joins, whose rows may be many
	apart     bool // workers differ in how far their watermarks are
	stepped   bool // also of a bounded source the watermark comes in steps
	looks     bool // side inputs, of which each element sees all
	taken     bool // the second stream, if there is one
}

func (d *drawer) n(lo, hi int, label string) int { return rapid.IntRange(lo, hi).Draw(d.t, label) }
func (d *drawer) yes(label string) bool          { return rapid.Bool().Draw(d.t, label) }

// add appends a step and takes note of what comes out of it.
func (d *drawer) add(st Step) {
	d.s.Steps = append(d.s.Steps, st)
	if s := st.Strategy; s != nil {
		if st.Kind != Rewindow {
			d.merging = s.Fn.Merging()
		}
		d.mode, d.combiner = s.Mode, s.Combiner
	}
	switch k := st.Kind; {
	case k.groups(), k.joins(), k == Distinct, k == Latest:
		d.merging, d.ordered = false, false
		d.retracts = d.retracts || d.mode == strategy.Retracting
	case k == Shuffle, k == Split, k == Double, k == Join, k.intervals(), k.views(), k >= Keep:
		d.ordered = false
	}
	switch k := st.Kind; {
	case k == Shuffle:
		d.apart = false
	case k.groups(), k.joins(), k >= InnerInterval:
		d.apart, d.stepped = true, d.stepped || k >= InnerInterval
	}
	d.looks = d.looks || st.Kind.views()
	d.taken = d.taken || st.Kind.takesOther()
	if st.Kind.joins() || st.Kind.intervals() {
		d.crossings++
	}
}

// pinned reports whether elements cannot be put into other windows: their
// withdrawals could be too late for those.
func (d *drawer) pinned() bool { return d.retracts && d.combiner != strategy.EndOfWindow }

// heart draws what a pipeline is about.
func (d *drawer) heart() Step {
	switch n := d.n(0, 9, "heart"); {
	case n >= 8 && d.crossings == 0 && (!d.pinned() || d.taken || d.s.Streams == 1):
		return d.join()
	case n == 7 && d.crossings == 0 && !d.pinned():
		return d.interval()
	case n >= 5 && n < 7 && !d.retracts:
		return d.keep()
	}
	st := Step{Kind: Group + StepKind(d.n(0, int(ConcatAll-Group), "grouping")), NoLate: d.retracts}
	if d.n(0, 3, "regroup") == 3 && !st.NoLate {
		st.Late = d.lateStrategy()
	}
	return st
}

// step draws what may stand between groupings.
func (d *drawer) step() Step {
	kinds := []StepKind{Map, Filter, Rekey, Repeat, Shuffle, Split, Double, Look, Shift, Rewindow}
	if !d.pinned() {
		kinds = append(kinds, Window, Join)
	}
	kinds = append(kinds, d.others()...)
	st := Step{Kind: rapid.SampledFrom(kinds).Draw(d.t, "step")}
	switch {
	case st.Kind == Window, st.Kind == Rewindow, st.Kind == Join:
		st.Strategy = d.strategy()
	case st.Kind == Shift:
		st.By = int64(d.n(-15, 15, "shift"))
		if d.s.Bounded { // late is what the watermark has passed
			st.By = max(st.By, -st.By)
		}
	case st.Kind.views():
		d.views(&st)
	case st.Kind == Dedup, st.Kind == Batches:
		st.By = int64(d.n(1, 20, "by"))
		if d.merging {
			st.Strategy = d.fixed()
		}
	}
	return st
}

// strategy draws one for what comes next.
func (d *drawer) strategy() *strategy.Strategy {
	s := &strategy.Strategy{
		Fn: d.fn(), Mode: strategy.Mode(d.n(0, 2, "mode")), Combiner: strategy.TimestampCombiner(d.n(0, 2, "combiner")),
		ClosingAlways: d.yes("closing"), OnTimeIfNonEmpty: d.yes("onTime"),
	}
	if d.retracts {
		s.Mode = strategy.Retracting
	}
	if !d.s.Bounded && d.yes("late") { // how far the watermark moves at a time is not promised either
		s.Lateness = int64(d.n(1, 40, "lateness"))
	}
	switch {
	case d.s.Bounded: // how such a source is cut into bundles is not part of what it promises
		s.Trigger = d.atEnd()
	case d.yes("usual"):
		s.Trigger = d.usual()
	default:
		s.Trigger = d.trigger(3)
	}
	return s
}

// lateStrategy draws one for what was dropped, which holds no withdrawals.
func (d *drawer) lateStrategy() *strategy.Strategy {
	was := d.retracts
	defer func() { d.retracts = was }()
	d.retracts = false
	return d.strategy()
}

// fixed draws a strategy whose windows do not merge, without withdrawals.
func (d *drawer) fixed() *strategy.Strategy {
	s := d.strategy()
	if s.Fn.Merging() {
		s.Fn = strategy.FixedWindows{Size: int64(d.n(1, 40, "size"))}
	}
	return s
}

func (d *drawer) fn() strategy.WindowFn {
	most := 8
	if d.retracts {
		most = 5
	}
	switch d.n(0, most, "fn") {
	case 0, 1:
		n := d.n(1, 20, "size")
		return strategy.FixedWindows{Size: int64(n), Offset: int64(d.n(0, n-1, "offset"))}
	case 2:
		return strategy.GlobalWindows{}
	case 3:
		p := d.n(1, 15, "period")
		return strategy.SlidingWindows{Size: int64(d.n(1, 30, "size")), Period: int64(p), Offset: int64(d.n(0, p-1, "offset"))}
	case 4:
		return strategy.CalendarWindows{Unit: strategy.Days, N: 1, Year: 1970, Month: 1, Day: 1, Zone: time.UTC}
	case 5:
		return strategy.Custom{User: stairs{exec.Time(d.n(1, 12, "stair"))}}
	case 6:
		return sessionsGap(d.n(1, 15, "gap"))
	}
	return strategy.SessionWindows{Gap: int64(d.n(1, 15, "gap"))}
}

func of(k strategy.TriggerKind, subs ...*strategy.Trigger) *strategy.Trigger {
	return &strategy.Trigger{Kind: k, Subs: subs}
}

// atEnd draws a trigger that fires once if nothing is late.
func (d *drawer) atEnd() *strategy.Trigger {
	switch d.n(0, 3, "atEnd") {
	case 0:
		return of(strategy.OnDefault)
	case 1:
		return of(strategy.OnNever)
	case 2:
		return of(strategy.OnWatermark, nil, d.leaf())
	}
	return of(strategy.OnWatermark)
}

// usual draws a trigger that the aligned form takes.
func (d *drawer) usual() *strategy.Trigger {
	w := of(strategy.OnWatermark, nil, nil)
	switch d.n(0, 5, "usual") {
	case 0:
		return of(strategy.OnDefault)
	case 1:
		return of(strategy.OnRepeatedly, of(strategy.OnWatermark))
	}
	for i := range w.Subs {
		var s *strategy.Trigger
		switch d.n(0, 4, "sub") {
		case 0:
			continue
		case 1:
			s = of(strategy.OnNever)
		case 2:
			s = of(strategy.OnAlways)
		case 3:
			s = d.count()
		case 4:
			s = d.delay()
		}
		if d.yes("repeated") {
			s = of(strategy.OnRepeatedly, s)
		}
		w.Subs[i] = s
	}
	return w
}

// trigger draws any trigger.
func (d *drawer) trigger(depth int) *strategy.Trigger {
	kind := d.n(0, 6, "kind")
	if depth == 0 || kind == 0 {
		return d.leaf()
	}
	sub := func() *strategy.Trigger { return d.trigger(depth - 1) }
	switch kind {
	case 1, 2:
		return of(strategy.OnRepeatedly, sub())
	case 3:
		return of(strategy.OnOrFinally, sub(), sub())
	case 4:
		w := of(strategy.OnWatermark, nil, nil)
		for i := range w.Subs {
			if d.yes("has") {
				w.Subs[i] = sub()
			}
		}
		return w
	}
	x := of(rapid.SampledFrom([]strategy.TriggerKind{strategy.OnAny, strategy.OnAll, strategy.OnEach}).Draw(d.t, "list"))
	for range d.n(1, 3, "subs") {
		x.Subs = append(x.Subs, sub())
	}
	return x
}

func (d *drawer) leaf() *strategy.Trigger {
	switch d.n(0, 5, "leaf") {
	case 0:
		return d.count()
	case 1:
		return of(strategy.OnDefault)
	case 2:
		return of(strategy.OnAlways)
	case 3:
		return of(strategy.OnNever)
	case 4:
		return of(strategy.OnWatermark)
	}
	return d.delay()
}

func (d *drawer) count() *strategy.Trigger {
	return &strategy.Trigger{Kind: strategy.OnCount, N: int64(d.n(1, 4, "count"))}
}

func (d *drawer) delay() *strategy.Trigger {
	x := &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: int64(d.n(0, 15, "delay"))}
	if d.yes("aligned") {
		x.AlignPeriod = int64(d.n(1, 10, "period"))
		x.AlignOffset = int64(d.n(0, int(x.AlignPeriod)-1, "offset"))
	}
	return x
}

// maxBurst is how many elements may come in bursts before all bursts are small:
// in several windows, twice, and grouped again they are many.
const maxBurst = 4000

// drawn is an event whose times count from where its stream is.
type drawn struct {
	kind, stream, by int
	elems            []Elem
}

// events draws a script: elements in disorder about the watermark of their stream.
func (d *drawer) events() (events []Event) {
	elem := rapid.Custom(func(t *rapid.T) Elem {
		return Elem{Key: rapid.IntRange(0, d.s.Keys-1).Draw(t, "key"), Time: exec.Time(rapid.IntRange(-40, 30).Draw(t, "time"))}
	})
	event := rapid.Custom(func(t *rapid.T) drawn {
		e := drawn{kind: rapid.IntRange(0, 20).Draw(t, "event"), stream: rapid.IntRange(0, d.s.Streams-1).Draw(t, "stream")}
		switch {
		case e.kind < 10:
			e.elems = rapid.SliceOfN(elem, 1, 6).Draw(t, "elements")
		case e.kind < 15:
			e.by = rapid.IntRange(0, 25).Draw(t, "watermark")
		case e.kind < 19:
			e.by = rapid.IntRange(1, 12).Draw(t, "clock")
		case e.kind == 19:
			e.by = rapid.IntRange(25, 120).Draw(t, "leap")
		default:
			// Enough of them fill batches and queues.
			e.by = rapid.SampledFrom([]int{40, 200, d.s.Keys + 200}).Draw(t, "burst")
		}
		return e
	})
	var wm [2]exec.Time
	id, big, most := 0, 0, maxBurst
	if d.looks || d.crossings > 0 && d.s.Keys < 60 { // what comes out is the square of what comes in
		most = 40
	}
	for _, x := range rapid.SliceOfN(event, 1, 25).Draw(d.t, "events") {
		e := Event{Stream: x.stream}
		switch {
		case x.kind < 10:
			for _, el := range x.elems {
				id++
				e.Elems = append(e.Elems, Elem{Key: el.Key, Time: wm[x.stream] + el.Time, ID: id})
			}
		case x.kind < 15, x.kind == 19:
			wm[x.stream] += exec.Time(x.by)
			e.Watermark = wm[x.stream]
		case x.kind < 19:
			e.Clock = int64(x.by)
		default:
			e.Base = wm[x.stream]
			e.Burst = min(x.by, most)
			if big += e.Burst; big > maxBurst || most < 100 && big > 3*most {
				e.Burst = min(x.by, 10)
			}
		}
		events = append(events, e)
	}
	return events
}
