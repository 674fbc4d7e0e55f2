// Package retraction draws pipelines of two groupings, of which the first takes
// its results back, and says what they must come to: inserts less withdrawals are
// what the same pipeline gives if all of its input comes at once.
//
//	plan := retraction.Draw(t)
//	out := retraction.Collect(plan.Build(p, plan.Script))
package retraction

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/modeltest/surface"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// A Row is an element of all collections of a plan.
type Row = pcoll.KV[int64, int64]

// A Plan is a pipeline with its script. Fields are exported so that a failure
// prints what was drawn.
type Plan struct {
	Script        []Event
	First, Second *strategy.Strategy // Second.Fn is nil where windows stay
	Folds         [2]Fold
	Between       []Step
}

// An Event is a bundle of elements, a watermark, or time that passes, in ms.
type Event struct {
	Elems            []Elem
	Watermark, Clock int64
}

// An Elem is a row with its event time in ms.
type Elem struct {
	At  int64
	Row Row
}

// A Fold is a way to combine the values of a key.
type Fold int

// The folds: some take elements back, others keep them.
const (
	Sum Fold = iota
	Count
	Max
	Mean
	SumAndMax
	Group
	folds
)

// String names the fold.
func (f Fold) String() string {
	return [...]string{"sum", "count", "max", "mean", "sum and max", "group"}[f]
}

// A Step is a transform between the groupings.
type Step int

// The steps; the last makes of the value a key, which comes before every grouping.
const (
	Negate Step = iota
	Twice
	OnlyEven
	Reshuffled
	Parted
	Doing
	Later
	steps
)

// String names the step.
func (s Step) String() string {
	return [...]string{"negate", "twice", "only even", "reshuffled", "parted", "doing", "later"}[s]
}

// lateness is more than any element of a script is late by: nothing is dropped.
const lateness = 1_000_000

// Draw draws a plan.
func Draw(t *rapid.T) Plan {
	p := Plan{First: drawStrategy(t, true), Second: drawStrategy(t, false)}
	if rapid.IntRange(0, 2).Draw(t, "windows stay") == 0 {
		p.Second.Fn = nil
		endless(p.Second, p.First.Fn)
	}
	for i := range p.Folds {
		p.Folds[i] = Fold(rapid.IntRange(0, int(folds)-1).Draw(t, "fold"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "between") {
		p.Between = append(p.Between, Step(rapid.IntRange(0, int(steps)-1).Draw(t, "step")))
	}
	p.Script = drawScript(t)
	return p
}

func drawStrategy(t *rapid.T, first bool) *strategy.Strategy {
	n := func(lo, hi int, what string) int64 { return int64(rapid.IntRange(lo, hi).Draw(t, what)) }
	s := &strategy.Strategy{Trigger: drawTrigger(t, 2), Mode: strategy.Retracting, Lateness: lateness,
		OnTimeIfNonEmpty: rapid.Bool().Draw(t, "on time"), ClosingAlways: rapid.Bool().Draw(t, "closing")}
	kinds := 4
	if !first {
		kinds = 3 // sessions of what may be withdrawn are refused
	}
	switch rapid.IntRange(1, kinds).Draw(t, "windows") {
	case 1:
		s.Fn = strategy.GlobalWindows{}
	case 2:
		s.Fn = strategy.FixedWindows{Size: n(1, 25, "size")}
	case 3:
		s.Fn = strategy.SlidingWindows{Size: n(5, 30, "size"), Period: n(2, 10, "period")}
	case 4:
		s.Fn = strategy.SessionWindows{Gap: n(1, 12, "gap")}
	}
	endless(s, s.Fn)
	return s
}

// endless replaces triggers that may be refused in the global window.
func endless(s *strategy.Strategy, fn strategy.WindowFn) {
	if k := s.Trigger.Kind; fn == strategy.WindowFn(strategy.GlobalWindows{}) && (k == strategy.OnDefault || k == strategy.OnWatermark || k == strategy.OnNever) {
		s.Trigger = &strategy.Trigger{Kind: strategy.OnAlways}
	}
}

// drawTrigger draws a trigger that drops nothing.
func drawTrigger(t *rapid.T, depth int) *strategy.Trigger {
	repeated := func(x *strategy.Trigger) *strategy.Trigger {
		return &strategy.Trigger{Kind: strategy.OnRepeatedly, Subs: []*strategy.Trigger{x}}
	}
	count := func() *strategy.Trigger {
		return &strategy.Trigger{Kind: strategy.OnCount, N: int64(rapid.IntRange(1, 4).Draw(t, "count"))}
	}
	delay := func() *strategy.Trigger {
		return &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: int64(rapid.IntRange(0, 9).Draw(t, "delay"))}
	}
	kind := rapid.IntRange(0, 7).Draw(t, "trigger")
	if depth == 0 {
		kind = min(kind, 4)
	}
	switch kind {
	case 0:
		return &strategy.Trigger{Kind: strategy.OnAlways}
	case 1:
		return &strategy.Trigger{Kind: strategy.OnDefault}
	case 2:
		return &strategy.Trigger{Kind: strategy.OnNever}
	case 3:
		return repeated(count())
	case 4:
		return repeated(delay())
	case 5:
		return repeated(&strategy.Trigger{Kind: strategy.OnAny, Subs: []*strategy.Trigger{count(), delay()}})
	case 6:
		return repeated(&strategy.Trigger{Kind: strategy.OnOrFinally, Subs: []*strategy.Trigger{drawTrigger(t, depth-1), count()}})
	}
	w := &strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, drawTrigger(t, depth-1)}}
	if rapid.Bool().Draw(t, "early") {
		w.Subs[0] = drawTrigger(t, depth-1)
	}
	return w
}

func drawScript(t *rapid.T) (script []Event) {
	wm := 0
	for range rapid.IntRange(1, 14).Draw(t, "events") {
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0, 1:
			var elems []Elem
			for range rapid.IntRange(1, 5).Draw(t, "elements") {
				at := wm + rapid.IntRange(-30, 25).Draw(t, "time")
				elems = append(elems, Elem{int64(at), Row{Key: int64(rapid.IntRange(0, 4).Draw(t, "key")), Value: int64(rapid.IntRange(-3, 9).Draw(t, "value"))}})
			}
			script = append(script, Event{Elems: elems})
		case 2:
			wm += rapid.IntRange(1, 25).Draw(t, "watermark")
			script = append(script, Event{Watermark: int64(wm)})
		case 3:
			script = append(script, Event{Clock: int64(rapid.IntRange(1, 12).Draw(t, "clock"))})
		}
	}
	return script
}

// AtOnce is a script whose elements come in one bundle.
func AtOnce(script []Event) []Event {
	var all Event
	for _, e := range script {
		all.Elems = append(all.Elems, e.Elems...)
	}
	if len(all.Elems) == 0 {
		return nil
	}
	return []Event{all}
}

// Source returns a script as a source.
func Source(p *pcoll.Pipeline, script []Event) pcoll.PCollection[Row] {
	s := teststream.New[Row]()
	for _, e := range script {
		switch {
		case e.Clock > 0:
			s.ProcessingTime(time.Duration(e.Clock) * time.Millisecond)
		case e.Elems == nil:
			s.Watermark(time.UnixMilli(e.Watermark))
		default:
			var elems []teststream.Timestamped[Row]
			for _, x := range e.Elems {
				elems = append(elems, teststream.At(time.UnixMilli(x.At), x.Row))
			}
			s.Bundle(elems...)
		}
	}
	return s.Source(p)
}

// Sequence returns n rows as a bounded source, out of order.
func Sequence(p *pcoll.Pipeline, n int64) pcoll.PCollection[Row] {
	seq := transforms.GenerateSequence(p, 0, n, transforms.SequenceTime(func(i int64) time.Time { return time.UnixMilli(i * 37 % 90) }))
	return transforms.Map(seq, func(i int64) Row { return Row{Key: i * 7 % 5, Value: i * 11 % 13} })
}

// Build adds the plan to a pipeline, behind rows.
func (l Plan) Build(rows pcoll.PCollection[Row]) (out pcoll.PCollection[Row], err error) {
	out, err = l.Found(rows)
	if err != nil {
		return out, err
	}
	// What the first grouping found becomes the key: its corrections move rows to other keys.
	out = transforms.Map(out, func(r Row) Row { return Row{Key: floor(r.Value, 4), Value: r.Key + r.Value} })
	how, err := surface.Options(l.Second)
	if err != nil {
		return out, err
	}
	fn := windowing.Same()
	if l.Second.Fn != nil {
		if fn, err = surface.Fn(l.Second.Fn); err != nil {
			return out, err
		}
	}
	return l.Folds[1].of(windowing.Into(out, fn, how...)), nil
}

// Found adds the first grouping and what follows it, up to the second.
func (l Plan) Found(rows pcoll.PCollection[Row]) (out pcoll.PCollection[Row], err error) {
	in, err := surface.Into(rows, l.First)
	if err != nil {
		return in, err
	}
	out = l.Folds[0].of(in)
	for _, s := range l.Between {
		out = s.of(out)
	}
	return out, nil
}

func floor(v, by int64) int64 {
	if v < 0 {
		v -= by - 1
	}
	return v / by
}

// of combines the values of each key.
func (f Fold) of(in pcoll.PCollection[Row]) pcoll.PCollection[Row] {
	switch f {
	case Sum:
		return transforms.SumPerKey(in)
	case Count:
		return transforms.CountPerKey(in)
	case Max:
		return transforms.MaxPerKey(in)
	case Mean:
		return transforms.CombinePerKey(in, combine.Then(combine.Mean[int64](), func(m float64) int64 { return int64(m * 8) }))
	case SumAndMax:
		return transforms.CombinePerKey(in, combine.Then(combine.Both(combine.Sum[int64](), combine.Max[int64]()),
			func(t combine.Two[int64, int64]) int64 { return 3*t.First + t.Second }))
	}
	return transforms.MapValues(transforms.GroupByKey(in), digest)
}

// digest makes a number of a group that tells it apart from others, whatever its order.
func digest(g pcoll.Group[int64]) int64 {
	h := int64(0)
	for _, v := range slices.Sorted(g.All()) {
		h = h*31 + v
	}
	return h % 50
}

// doing is a DoFn that looks at the window.
type doing struct {
	Odd transforms.Output[Row]
}

func (f *doing) Process(c *pcoll.Context, r Row, emit pcoll.Emit[Row]) error {
	r.Value += int64(c.Window().Start) % 3
	if r.Value%2 != 0 {
		f.Odd.Emit(c, r)
		return nil
	}
	emit(c, r)
	return nil
}

// later is a DoFn that gives elements another time.
type later struct{ n int }

func (f *later) Process(c *pcoll.Context, r Row, emit pcoll.Emit[Row]) error {
	f.n++ // a DoFn may count, as long as nothing depends on it
	emit.At(c, c.EventTime().Add(time.Duration(r.Value&7)*time.Millisecond), r)
	return nil
}

// of applies the step.
func (s Step) of(in pcoll.PCollection[Row]) pcoll.PCollection[Row] {
	switch s {
	case Negate:
		return transforms.MapValues(in, func(v int64) int64 { return -v })
	case Twice:
		return transforms.FlatMap(in, func(r Row) iter.Seq[Row] { return slices.Values([]Row{r, {Key: r.Key + 1, Value: r.Value}}) })
	case OnlyEven:
		return transforms.Filter(in, func(r Row) bool { return r.Value%2 == 0 })
	case Reshuffled:
		return transforms.Reshuffle(in)
	case Parted: // one half takes the longer way
		low, high := transforms.Partition(in, func(r Row) bool { return r.Value < 5 })
		return transforms.Flatten(transforms.Reshuffle(low), high, low)
	case Doing:
		fn := &doing{}
		even := transforms.ParDo(in, fn)
		return transforms.Flatten(even, fn.Odd.Collection())
	}
	return transforms.ParDo(in, &later{})
}

// An Outcome is what a collection held in the runs of its pipeline.
type Outcome struct {
	rows *ptest.Collected[Row]
}

// Collect records what col holds.
func Collect(col pcoll.PCollection[Row]) Outcome { return Outcome{ptest.Collect(col)} }

// Elements returns what came in the last run, in its order.
func (o Outcome) Elements() []passert.Element[Row] { return o.rows.On("") }

// Standing returns what was inserted and not withdrawn, with windows, sorted. It is an
// error if a withdrawal came that took nothing back, or if a key and window
// hold two results.
func (o Outcome) Standing() (lines []string, err error) {
	left, err := passert.Standing(o.Elements())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(left, func(a, b passert.Element[Row]) int {
		return cmp.Or(a.Window.Compare(b.Window), cmp.Compare(a.Value.Key, b.Value.Key))
	})
	for i, e := range left {
		if i > 0 && e.Window == left[i-1].Window && e.Value.Key == left[i-1].Value.Key {
			return nil, fmt.Errorf("%s and %s stand beside each other", passert.Describe(left[i-1]), passert.Describe(e))
		}
		lines = append(lines, fmt.Sprintf("%v %d: %d", e.Window, e.Value.Key, e.Value.Value))
	}
	return lines, nil
}
