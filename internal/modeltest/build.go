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
	other  pcoll.PCollection[row] // the second stream, until it is joined
	joined bool
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
	observe(b.cur, rec.probe("end", nil), func(v string) result { return result{Text: v} })
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
	b.other = rows(second)
	if !b.s.joins() {
		b.cur = transforms.Flatten(b.cur, b.other)
	}
}

func (b *builder) into(in pcoll.PCollection[row], s *strategy.Strategy) pcoll.PCollection[row] {
	out, err := surface.Into(in, s)
	if err != nil && b.err == nil {
		b.err = err
	}
	return out
}

func (b *builder) step(i int, st Step) {
	switch st.Kind {
	case Window:
		b.cur = b.into(b.cur, st.Strategy)
	case Rewindow:
		opts, err := surface.Options(st.Strategy)
		if err != nil {
			b.err = err
			return
		}
		b.cur = windowing.Into(b.cur, windowing.Same(), opts...)
	case Join:
		b.cur = b.into(b.cur, st.Strategy)
		if b.s.joins() && !b.joined {
			b.joined = true
			b.cur = transforms.Flatten(b.cur, b.into(b.other, st.Strategy))
		}
	default:
		if st.Kind.groups() {
			b.cur = b.group(fmt.Sprintf("step %d", i), st)
		} else {
			b.cur = elementwise(b.cur, st)
		}
	}
	if !st.Kind.groups() {
		observe(b.cur, b.rec.probe(fmt.Sprintf("step %d", i), nil), func(v string) result { return result{Text: v} })
	}
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
	probe := b.rec.probe(name, col.Strategy)
	transforms.ForEach(b.cur, func(*pcoll.Context, row) error { b.rec.in(probe); return nil })
	named := pcoll.Named(name)
	var out pcoll.PCollection[pcoll.KV[string, result]]
	var late pcoll.PCollection[row]
	switch st.Kind {
	case Group:
		var groups pcoll.PCollection[pcoll.KV[string, pcoll.Group[string]]]
		groups, late = transforms.GroupByKeyWithLate(b.cur, named)
		out = transforms.MapValues(groups, func(g pcoll.Group[string]) result { return concat{}.Extract(slices.Collect(g.All())) })
	case Concat:
		out, late = transforms.CombinePerKeyWithLate(b.cur, concat{}, named)
	case Count:
		out, late = transforms.CombinePerKeyWithLate(b.cur, count{}, named)
	case ConcatAll:
		var all pcoll.PCollection[result]
		all, late = transforms.CombineWithLate(b.cur, allOf{}, named)
		out = transforms.KeyBy(all, func(result) string { return "all" })
	}
	observe(out, probe, func(r result) result { return r })
	dropped := b.rec.probe(name+" late", nil)
	probe.late = dropped
	observe(late, dropped, func(v string) result { return result{Text: v} })
	if st.Late != nil {
		again := &builder{s: b.s, rec: b.rec, p: b.p, cur: b.into(late, st.Late)}
		again.group(name+" again", Step{Kind: Group})
		b.err = cmp.Or(b.err, again.err)
	}
	return transforms.MapValues(out, func(r result) string { return r.Text })
}

// observe reports all elements of a collection to a probe.
func observe[V any](in pcoll.PCollection[pcoll.KV[string, V]], p *probe, as func(V) result) {
	transforms.ForEach(in, func(c *pcoll.Context, e pcoll.KV[string, V]) error {
		p.rec.saw(p, e.Key, as(e.Value), exec.TimeOf(c.EventTime()), c.Window(), c.Pane())
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
func (count) Merge(acc, other counted) counted {
	return counted{acc.N + other.N, acc.Digest + other.Digest}
}
func (count) Extract(acc counted) result {
	return result{fmt.Sprintf("#%d:%x", acc.N, acc.Digest), acc.N}
}
