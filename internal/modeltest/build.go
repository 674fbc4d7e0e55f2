package modeltest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/modeltest/surface"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// An item is an element of a stream. Before each event of the script stands a
// mark, which carries its number and goes no further than to the record.
type item struct {
	Mark       bool
	Step       int
	Key, Value string
}

// row is what flows between the steps.
type row = pcoll.KV[string, string]

// A result is what a grouping makes of N values.
type result struct {
	Text string
	N    int
}

// builder builds the pipeline of a spec.
type builder struct {
	s      *Spec
	rec    *record
	p      *pcoll.Pipeline
	cur    pcoll.PCollection[row]
	second pcoll.PCollection[row] // the second stream, for the step that takes it
	err    error
}

// build returns the pipeline, which reports to rec.
func (s *Spec) build(rec *record) (*pcoll.Pipeline, error) {
	b := &builder{s: s, rec: rec, p: pcoll.New("model")}
	if s.Bounded {
		b.bounded()
	} else {
		b.streams()
	}
	for i, st := range s.Steps {
		b.step(i, st)
	}
	end := rec.probe("end")
	end.loose = s.loose()
	observe(b.cur, end, text)
	if b.err == nil {
		b.err = b.p.Err()
	}
	return b.p, b.err
}

func (b *builder) bounded() {
	var items []item
	var times []time.Time
	for _, e := range b.s.Events {
		for _, x := range e.elems(b.s.Keys) {
			items = append(items, item{Step: len(items), Key: key(x), Value: strconv.Itoa(x.ID)})
			times = append(times, x.Time.Time())
		}
	}
	in := transforms.CreateFrom(b.p, items)
	b.cur = rows(transforms.WithTimestamps(in, func(e item) time.Time { return times[e.Step] }))
}

func key(x Elem) string { return fmt.Sprint("k", x.Key) }

func rows(in pcoll.PCollection[item]) pcoll.PCollection[row] {
	return transforms.Map(in, func(e item) row { return pcoll.Pair(e.Key, e.Value) })
}

func (b *builder) streams() {
	var script teststream.Script
	var streams []*teststream.Stream[item]
	for range b.s.Streams {
		streams = append(streams, teststream.On[item](&script))
	}
	mark := func(i int) { streams[0].Elements(time.UnixMilli(0), item{Mark: true, Step: i}) }
	for i, e := range b.s.Events {
		mark(i)
		elems := e.elems(b.s.Keys)
		switch {
		case e.Clock > 0:
			script.ProcessingTime(time.Duration(e.Clock) * time.Millisecond)
		case len(elems) == 0:
			streams[e.Stream].Watermark(e.Watermark.Time())
		default:
			bundle := make([]teststream.Timestamped[item], len(elems))
			for k, x := range elems {
				bundle[k] = teststream.At(x.Time.Time(), item{Key: key(x), Value: strconv.Itoa(x.ID)})
			}
			streams[e.Stream].Bundle(bundle...)
		}
	}
	mark(len(b.s.Events))
	src := streams[0].Source(b.p)
	// The script is finite: also the global window comes to its end.
	pcoll.Col(src).Bounded = true
	marks, items := transforms.Partition(src, func(e item) bool { return e.Mark })
	transforms.ForEach(marks, func(_ *pcoll.Context, m item) error { b.rec.begin(m.Step); return nil }, pcoll.Named("Marks"))
	b.cur = rows(items)
	if b.s.Streams == 1 {
		return
	}
	second := streams[1].Source(b.p)
	pcoll.Col(second).Bounded = true
	b.second = rows(second)
	if b.s.otherStep() < 0 {
		b.cur = transforms.Flatten(b.cur, b.second)
	}
}

func (b *builder) into(in pcoll.PCollection[row], s *strategy.Strategy) pcoll.PCollection[row] {
	if s == nil {
		return in
	}
	if by, ok := s.Fn.(strategy.ElementSessions); ok {
		opts, err := surface.Options(s)
		b.err = cmp.Or(b.err, err)
		return windowing.Into(in, windowing.SessionsBy(by.By.(gapByElem).of), opts...)
	}
	out, err := surface.Into(in, s)
	b.err = cmp.Or(b.err, err)
	return out
}

// other returns the other input of step i.
func (b *builder) other(i int) pcoll.PCollection[row] {
	if i == b.s.otherStep() {
		return b.second
	}
	some := transforms.Filter(b.cur, func(e row) bool { return part(e, 4) == 1 })
	return transforms.MapValues(some, func(v string) string { return "b" + v })
}

func (b *builder) step(i int, st Step) {
	name := fmt.Sprintf("step %d", i)
	switch {
	case st.Kind == Window:
		b.cur = b.into(b.cur, st.Strategy)
	case st.Kind == Rewindow:
		opts, err := surface.Options(st.Strategy)
		if err != nil {
			b.err = err
			return
		}
		b.cur = windowing.Into(b.cur, windowing.Same(), opts...)
	case st.Kind == Join:
		other := i == b.s.otherStep()
		b.cur = b.into(b.cur, st.Strategy)
		if other {
			b.cur = transforms.Flatten(b.cur, b.into(b.second, st.Strategy))
		}
	case st.Kind.groups():
		b.cur = b.group(name, st)
		return
	case st.Kind.joins():
		b.cur = b.join(name, st, b.into(b.other(i), st.Strategy))
		return
	case st.Kind.intervals():
		b.cur = b.interval(name, st, b.other(i))
		b.cur = b.into(b.cur, st.Strategy)
		return
	case st.Kind == Keep:
		b.cur = b.keep(name, st)
		return
	case st.Kind.views():
		b.cur = b.view(name, st, b.other(i))
	case st.Kind >= Distinct:
		b.cur = b.library(name, st)
	default:
		b.cur = elementwise(b.cur, st)
	}
	observe(b.cur, b.rec.probe(name), text)
}

func text(v string) result { return result{Text: v} }

// gapByElem is the gap of sessions by element: up to Most ms.
type gapByElem struct{ Most uint32 }

func (g gapByElem) String() string {
	return fmt.Sprintf("sessions(gap by element, up to %d ms)", g.Most)
}

func (g gapByElem) of(e row) time.Duration {
	return time.Duration(1+part(e, g.Most)) * time.Millisecond
}

// elementwise applies a step that looks at elements one by one.
func elementwise(in pcoll.PCollection[row], st Step) pcoll.PCollection[row] {
	switch st.Kind {
	case Map:
		return transforms.MapValues(in, func(v string) string { return "m" + v })
	case Filter:
		return transforms.Filter(in, func(e row) bool { return part(e, 3) != 0 })
	case Rekey:
		return transforms.KeyBy(transforms.Values(in), func(v string) string { return fmt.Sprint("r", part(row{Value: v}, 3)) })
	case Repeat:
		return transforms.FlatMap(in, func(e row) iter.Seq[row] {
			return slices.Values([]row{e, pcoll.Pair(e.Key, "again "+e.Value)}[:1+part(e, 3)/2])
		})
	case Shuffle:
		return transforms.Reshuffle(in)
	case Split:
		some, rest := transforms.Partition(in, func(e row) bool { return part(e, 2) == 0 })
		return transforms.Flatten(some, transforms.Reshuffle(rest))
	case Double:
		return transforms.Flatten(in, transforms.MapValues(in, func(v string) string { return "twin " + v }))
	case Look:
		return transforms.ParDo(in, looking{})
	case Shift:
		by := time.Duration(st.By) * time.Millisecond
		return transforms.ParDo(in, shifting{by}, transforms.AllowedSkew(max(0, -by)))
	}
	panic(fmt.Sprintf("modeltest: step kind %d", st.Kind))
}

// part returns which of n parts e belongs to.
func part(e row, n uint32) uint32 {
	h := fnv.New32a()
	h.Write([]byte(e.Key + "=" + e.Value))
	return h.Sum32() >> 8 % n
}

type looking struct{}

func (looking) Process(c *pcoll.Context, e row, emit pcoll.Emit[row]) error {
	emit(c, pcoll.Pair(e.Key, brief(fmt.Sprintf("%s in %v pane %d", e.Value, c.Window(), c.Pane().Index))))
	return nil
}

type shifting struct{ by time.Duration }

func (s shifting) Process(c *pcoll.Context, e row, emit pcoll.Emit[row]) error {
	emit.At(c, c.EventTime().Add(s.by), e)
	return nil
}

// group applies a grouping, with probes at its input and its outputs.
func (b *builder) group(name string, st Step) pcoll.PCollection[row] {
	col := pcoll.Col(b.cur)
	if col == nil {
		return b.cur // a mistake was made before
	}
	probe := b.probe(name, col, groupingLaw)
	probe.panes = true
	enter(b.cur, probe, 0)
	named := pcoll.Named(name)
	var out pcoll.PCollection[pcoll.KV[string, result]]
	var late pcoll.PCollection[row]
	switch st.Kind {
	case Group:
		var groups pcoll.PCollection[pcoll.KV[string, pcoll.Group[string]]]
		if st.NoLate {
			groups = transforms.GroupByKey(b.cur, named)
		} else {
			groups, late = transforms.GroupByKeyWithLate(b.cur, named)
		}
		out = transforms.MapValues(groups, func(g pcoll.Group[string]) result { return concat{}.Extract(slices.Collect(g.All())) })
	case Concat:
		out, late = combined(b.cur, concat{}, st.NoLate, named)
	case Count:
		out, late = combined(b.cur, count{}, st.NoLate, named)
	case ConcatAll:
		var all pcoll.PCollection[result]
		if st.NoLate {
			all = transforms.Combine(b.cur, allOf{}, named)
		} else {
			all, late = transforms.CombineWithLate(b.cur, allOf{}, named)
		}
		out = transforms.KeyBy(all, func(result) string { return "all" })
	}
	observe(out, probe, func(r result) result { return r })
	b.late(probe, st, late)
	return transforms.MapValues(out, func(r result) string { return r.Text })
}

func combined[Acc any](in pcoll.PCollection[row], c combine.Combiner[string, Acc, result], noLate bool, opts ...pcoll.Option) (
	pcoll.PCollection[pcoll.KV[string, result]], pcoll.PCollection[row]) {
	if noLate {
		return transforms.CombinePerKey(in, c, opts...), pcoll.PCollection[row]{}
	}
	return transforms.CombinePerKeyWithLate(in, c, opts...)
}

// probe returns a probe of a transform whose input is col, which a law holds for.
func (b *builder) probe(name string, col *graph.Collection, law func(*probe) error) *probe {
	p := b.rec.probe(name)
	p.strategy, p.law, p.bounded, p.retracts = col.Strategy, law, b.s.Bounded, col.Retracts
	return p
}

// late observes what a transform drops of each of its inputs.
func (b *builder) late(p *probe, st Step, late ...pcoll.PCollection[row]) {
	if st.NoLate {
		return
	}
	for i, in := range late {
		dropped := b.rec.probe(fmt.Sprintf("%s late%.*s", p.name, len(late)-1, strconv.Itoa(i)))
		p.late = append(p.late, dropped)
		observe(in, dropped, text)
		if st.Late != nil {
			again := &builder{s: b.s, rec: b.rec, p: b.p, cur: b.into(in, st.Late)}
			again.group(dropped.name+" again", Step{Kind: Group})
			b.err = cmp.Or(b.err, again.err)
		}
	}
}

// enter tells a probe of what enters its transform by input side.
func enter(in pcoll.PCollection[row], p *probe, side int) {
	transforms.ForEach(in, func(c *pcoll.Context, e row) error {
		p.rec.in(p, entry{side: side, key: e.Key, text: e.Value, at: exec.TimeOf(c.EventTime()), window: c.Window(), kind: c.Kind()})
		return nil
	})
}

// observe reports all elements of a collection to a probe.
func observe[V any](in pcoll.PCollection[pcoll.KV[string, V]], p *probe, as func(V) result) {
	transforms.ForEach(in, func(c *pcoll.Context, e pcoll.KV[string, V]) error {
		v := as(e.Value)
		p.rec.saw(p, entry{key: e.Key, text: v.Text, n: v.N, at: exec.TimeOf(c.EventTime()), window: c.Window(), pane: c.Pane(), kind: c.Kind()})
		return nil
	})
}

// brief returns text, or if it is long a digest of it.
func brief(text string) string {
	if len(text) <= 120 {
		return text
	}
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf("%s…%x", text[:40], h.Sum64())
}

// concat makes a sorted list of strings.
type concat struct{}

var _ combine.Combiner[string, []string, result] = concat{}

func (concat) Create() []string                    { return nil }
func (concat) Add(acc []string, v string) []string { return append(acc, v) }
func (concat) Merge(acc, other []string) []string  { return append(acc, other...) }
func (concat) Extract(acc []string) result {
	sorted := slices.Sorted(slices.Values(acc))
	return result{brief("(" + strings.Join(sorted, " ") + ")"), len(acc)}
}

// allOf is concat of rows.
type allOf struct{}

func (allOf) Create() []string                   { return nil }
func (allOf) Add(acc []string, e row) []string   { return append(acc, e.Key+"="+e.Value) }
func (allOf) Merge(acc, other []string) []string { return append(acc, other...) }
func (allOf) Extract(acc []string) result        { return concat{}.Extract(acc) }

// count counts; its sum of digests tells lists of one length apart.
type count struct{}

type counted struct {
	N      int
	Digest uint32
}

func (count) Create() counted { return counted{} }
func (count) Add(acc counted, v string) counted {
	return counted{acc.N + 1, acc.Digest + part(row{Value: v}, 1<<20)}
}
func (count) Retract(acc counted, v string) counted {
	return counted{acc.N - 1, acc.Digest - part(row{Value: v}, 1<<20)}
}
func (count) Merge(acc, other counted) counted {
	return counted{acc.N + other.N, acc.Digest + other.Digest}
}
func (count) Extract(acc counted) result {
	return result{fmt.Sprintf("#%d:%x", acc.N, acc.Digest), acc.N}
}
