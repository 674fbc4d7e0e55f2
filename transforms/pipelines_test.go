package transforms_test

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// many are enough elements for several batches, splits and workers.
const many = 10_000

func numbers(p *pcoll.Pipeline) pcoll.PCollection[int64] { return GenerateSequence(p, 0, many) }

func mod(n int64) func(int64) int64 { return func(v int64) int64 { return v % n } }

// TestOnAllRunners runs each transform on every runner, by its contents.
func TestOnAllRunners(t *testing.T) {
	type kv = pcoll.KV[int64, int64]
	for _, c := range []struct {
		name  string
		build func(t *testing.T, p *pcoll.Pipeline)
	}{
		{"Create", func(t *testing.T, p *pcoll.Pipeline) { passert.Equals(t, Create(p, "a", "b", "a"), "a", "b", "a") }},
		{"CreateFrom nothing", func(t *testing.T, p *pcoll.Pipeline) { passert.Empty(t, CreateFrom[string](p, nil)) }},
		{"Impulse", func(t *testing.T, p *pcoll.Pipeline) { passert.Equals(t, Impulse(p), struct{}{}) }},
		{"GenerateSequence", func(t *testing.T, p *pcoll.Pipeline) { passert.Equals(t, GenerateSequence(p, -2, 2), -2, -1, 0, 1) }},
		{"Map, Filter, FlatMap", func(t *testing.T, p *pcoll.Pipeline) {
			big := Filter(numbers(p), func(n int64) bool { return n >= many-2 })
			twice := FlatMap(big, func(n int64) iter.Seq[int64] { return slices.Values([]int64{n, n}) })
			passert.Equals(t, Map(twice, mod(10)), 8, 8, 9, 9)
		}},
		{"KeyBy, Swap, MapValues, Keys, Values", func(t *testing.T, p *pcoll.Pipeline) {
			swapped := Swap(KeyBy(Create(p, "a", "bb"), func(s string) int { return len(s) }))
			passert.Equals(t, Keys(swapped), "a", "bb")
			passert.Equals(t, Values(MapValues(swapped, double)), 2, 4)
		}},
		{"TryMap", func(t *testing.T, p *pcoll.Pipeline) {
			good, failed := TryMap(Create(p, 1, 2, 3), half)
			passert.Equals(t, good, 1)
			passert.Equals(t, failed, Failed[int]{1, "1 is odd"}, Failed[int]{3, "3 is odd"})
		}},
		{"Partition", func(t *testing.T, p *pcoll.Pipeline) {
			small, rest := Partition(numbers(p), func(n int64) bool { return n < 3 })
			passert.Equals(t, small, 0, 1, 2)
			passert.Equals(t, Count(rest), many-3)
		}},
		{"PartitionBy", func(t *testing.T, p *pcoll.Pipeline) {
			parts := PartitionBy(numbers(p), 7, func(n int64) int { return int(n % 7) })
			passert.Equals(t, Min(parts[5]), 5)
			passert.Equals(t, Sum(Map(Flatten(parts[0], parts[1:]...), func(int64) int { return 1 })), many)
		}},
		{"Flatten", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, Flatten(Create(p, 1), Create(p, 2), Create(p, 1)), 1, 2, 1)
		}},
		{"Flatten with itself", func(t *testing.T, p *pcoll.Pipeline) {
			in := Create(p, 1)
			passert.Equals(t, Flatten(in, in), 1, 1)
		}},
		{"FlattenAll of none", func(t *testing.T, p *pcoll.Pipeline) { passert.Empty(t, FlattenAll[int](p, nil)) }},
		{"Reshuffle", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, Sum(Reshuffle(numbers(p))), many*(many-1)/2)
		}},
		{"GroupByKey", func(t *testing.T, p *pcoll.Pipeline) {
			groups := GroupByKey(KeyBy(GenerateSequence(p, 0, 6), mod(2)))
			passert.Equals(t, groups, pcoll.Pair[int64](0, pcoll.GroupOf[int64](0, 2, 4)), pcoll.Pair[int64](1, pcoll.GroupOf[int64](1, 3, 5)))
		}},
		{"GroupByKey of many", func(t *testing.T, p *pcoll.Pipeline) {
			sizes := MapValues(GroupByKey(KeyBy(numbers(p), mod(100))), pcoll.Group[int64].Len)
			passert.Equals(t, CountPerElement(Values(sizes)), pcoll.Pair[int, int64](many/100, 100))
		}},
		{"CombinePerKey of many", func(t *testing.T, p *pcoll.Pipeline) {
			sums := CombinePerKey(KeyBy(numbers(p), mod(1000)), combine.Both(combine.Sum[int64](), combine.Max[int64]()))
			passert.Equals(t, Filter(sums, func(e pcoll.KV[int64, combine.Two[int64, int64]]) bool { return e.Key == 3 }),
				pcoll.Pair[int64](3, combine.Two[int64, int64]{First: 10*3 + 1000*45, Second: 9003}))
			passert.Equals(t, Count(sums), 1000)
		}},
		{"Combine", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, Combine(numbers(p), combine.Mean[int64]()), float64(many-1)/2)
		}},
		{"Combine of none", func(t *testing.T, p *pcoll.Pipeline) {
			none := CreateFrom[int](p, nil)
			passert.Equals(t, Sum(none), 0)
			passert.Equals(t, Count(none), 0)
			passert.Equals(t, Top(none, 2, cmp.Compare[int]), []int{})
			passert.Empty(t, Sum(none, NoDefault()))
			passert.Empty(t, Min(none))
			passert.Empty(t, Max(none))
			passert.Empty(t, Sum(windowing.Into(none, sixty)))
		}},
		{"Count, Sum, Mean, Min, Max, Top", func(t *testing.T, p *pcoll.Pipeline) {
			in := numbers(p)
			passert.Equals(t, Count(in), many)
			passert.Equals(t, Sum(in), many*(many-1)/2)
			passert.Equals(t, Mean(in), (many-1)/2.0)
			passert.Equals(t, Min(in), 0)
			passert.Equals(t, Max(in), many-1)
			passert.Equals(t, Top(in, 3, cmp.Compare[int64]), []int64{many - 1, many - 2, many - 3})
		}},
		{"the same per key", func(t *testing.T, p *pcoll.Pipeline) {
			in := KeyBy(numbers(p), mod(2))
			passert.Equals(t, CountPerKey(in), kv{Key: 0, Value: many / 2}, kv{Key: 1, Value: many / 2})
			passert.Equals(t, SumPerKey(in), kv{Key: 0, Value: many / 2 * (many/2 - 1)}, kv{Key: 1, Value: many / 2 * many / 2})
			passert.Equals(t, MeanPerKey(in), pcoll.Pair[int64](0, many/2-1.0), pcoll.Pair[int64](1, many/2.0))
			passert.Equals(t, MinPerKey(in), kv{Key: 0, Value: 0}, kv{Key: 1, Value: 1})
			passert.Equals(t, MaxPerKey(in), kv{Key: 0, Value: many - 2}, kv{Key: 1, Value: many - 1})
			passert.Equals(t, TopPerKey(in, 1, cmp.Compare[int64]), pcoll.Pair[int64](0, []int64{many - 2}), pcoll.Pair[int64](1, []int64{many - 1}))
		}},
		{"CountPerElement", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, CountPerElement(Create(p, "a", "b", "a")), pcoll.Pair[string, int64]("a", 2), pcoll.Pair[string, int64]("b", 1))
		}},
		{"ParDo with a further output", func(t *testing.T, p *pcoll.Pipeline) {
			fn := &routes{}
			passert.Equals(t, ParDo(Create(p, "a", "long word"), fn), 1)
			passert.Equals(t, fn.Long.Collection(), 9)
		}},
		{"ParDo that finishes bundles", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, Sum(ParDo(numbers(p), &bundleSums{})), many*(many-1)/2)
		}},
		{"WithTimestamps and windows", func(t *testing.T, p *pcoll.Pipeline) {
			timed := WithTimestamps(numbers(p), func(n int64) time.Time { return time.Unix(n, 0) })
			perMinute := CountPerElement(Map(windowing.Into(timed, sixty), mod(60)))
			counts := CountPerElement(Values(perMinute)) // in each window each remainder once
			passert.In(t, counts, pcoll.Window{Start: 0, End: 60000}, pcoll.Pair[int64, int64](1, 60))
			passert.Equals(t, Sum(windowing.Into(Values(perMinute), windowing.Global())), many)
		}},
		{"SequenceTime", func(t *testing.T, p *pcoll.Pipeline) {
			timed := GenerateSequence(p, 0, many, SequenceTime(func(n int64) time.Time { return time.Unix(many-n, 0) })) // backwards: nothing is late
			counts, late := CombineWithLate(windowing.Into(timed, windowing.Fixed(time.Hour)), combine.Count[int64]())
			passert.Equals(t, counts, 3599, 3600, many-2*3600+1)
			passert.Empty(t, late)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("test")
			c.build(t, p)
			ptest.Run(t, p)
		})
	}
}

// bundleSums adds up each bundle.
type bundleSums struct{ sum int64 }

var _ BundleFinisher[int64] = (*bundleSums)(nil)

func (b *bundleSums) Process(_ *pcoll.Context, n int64, _ pcoll.Emit[int64]) error {
	b.sum += n
	return nil
}

func (b *bundleSums) FinishBundle(c *pcoll.Context, emit pcoll.Emit[int64]) error {
	emit.In(c, pcoll.Global, pcoll.Time(0).Time(), b.sum)
	b.sum = 0
	return nil
}

// TestPanesPass covers that transforms hand on time, window and pane, on every
// runner, also over an exchange.
func TestPanesPass(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[int]().
		Elements(time.Unix(1, 0), 1, 2).
		Watermark(time.Unix(60, 0)).
		Elements(time.Unix(2, 0), 4)
	in := windowing.Into(s.Source(p), sixty, windowing.AllowedLateness(time.Hour), windowing.Accumulating())
	sum := Sum(in)
	same := func(n int) int { return n }
	yes, no := Partition(sum, even)
	for _, out := range []pcoll.PCollection[int]{
		Map(sum, same),
		Filter(sum, func(int) bool { return true }),
		FlatMap(sum, func(n int) iter.Seq[int] { return slices.Values([]int{n}) }),
		Keys(KeyBy(sum, same)),
		ParDo(sum, &process{Do: func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error { emit(c, n); return nil }}),
		Reshuffle(sum),
		Flatten(yes, no),
	} {
		passert.Panes(t, out,
			passert.OnTime(3).In(pcoll.Window{Start: 0, End: 60000}).At(time.UnixMilli(59999)).Index(0),
			passert.Late(7).In(pcoll.Window{Start: 0, End: 60000}).At(time.UnixMilli(59999)).Index(1))
	}
	ptest.Run(t, p)
}

// TestFlattenPending covers collections of which one waits for its windows and the other has them.
func TestFlattenPending(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[int]().Elements(time.Unix(1, 0), 1).Elements(time.Unix(9, 0), 2)
	src := s.Source(p)
	half := windowing.Into(src, windowing.Sliding(10*time.Second, 5*time.Second))
	seen := ParDo(half, &process{Do: func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error { emit(c, 4*n); return nil }})
	sum := Sum(Flatten(half, seen))
	win := func(from, to pcoll.Time) pcoll.Window { return pcoll.Window{Start: from, End: to} }
	passert.Windows(t, sum, passert.Holds(win(-5000, 5000), 5), passert.Holds(win(0, 10000), 15), passert.Holds(win(5000, 15000), 10))
	sessions := Sum(Flatten(windowing.Into(src, windowing.Sessions(time.Second)), windowing.Into(src, windowing.Sessions(9*time.Second))))
	passert.Windows(t, sessions, passert.Holds(win(1000, 18000), 6))
	ptest.Run(t, p)
}

// TestF10EqualKeys: keys with one meaning are one key, whatever Go thinks of them.
func TestF10EqualKeys(t *testing.T) {
	p := pcoll.New("test")
	instant := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	paris := time.FixedZone("CEST", 2*3600)
	times := Create(p, instant, instant.In(paris), instant.Round(0), time.UnixMilli(instant.UnixMilli()))
	passert.Equals(t, Values(CountPerElement(times)), 4)
	type nested struct {
		At   time.Time
		Name string
	}
	passert.Equals(t, Values(CountPerElement(Create(p, nested{instant, "a"}, nested{instant.In(paris), "a"}, nested{instant, "b"}))), 2, 1)
	ptest.Run(t, p)
}

// TestFailures covers what an error of a user function says on every runner.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(in pcoll.PCollection[int])
		want  []string
	}{
		{"panic", func(in pcoll.PCollection[int]) {
			Map(in, func(n int) int { return 1 / (n - 2) }, pcoll.Named("Divide"))
		}, []string{"Divide", "element time 1970-01-01T00:00:02Z", "panic: runtime error: integer divide by zero", "pipelines_test.go"}},
		{"error", func(in pcoll.PCollection[int]) {
			ParDo(in, &process{Do: func(c *pcoll.Context, n int, _ pcoll.Emit[int]) error { return fmt.Errorf("no %d today", n) }}, pcoll.Named("Check"))
		}, []string{"Check", "window [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)", "today"}},
		{"combiner", func(in pcoll.PCollection[int]) {
			keyed := KeyBy(in, func(n int) string { return "k" })
			CombinePerKey(keyed, combine.On(func(n int) int { panic("cannot add") }, sum), pcoll.Named("Add"))
		}, []string{"Add", "panic: cannot add"}},
		{"behind a grouping", func(in pcoll.PCollection[int]) {
			Map(CountPerKey(KeyBy(in, even)), func(e pcoll.KV[bool, int64]) int { panic("downstream") }, pcoll.Named("Show"))
		}, []string{"Show", "panic: downstream", "element time 1970-01-01T00:00:59.999Z"}},
		{"setup", func(in pcoll.PCollection[int]) {
			var log []string
			ParDo(in, &witness{Log: &log, Fail: "Setup"}, pcoll.Named("Start"))
		}, []string{"Start", "Setup: as told"}},
		{"finish", func(in pcoll.PCollection[int]) {
			ParDo(in, &process{Do: func(*pcoll.Context, int, pcoll.Emit[int]) error { return nil },
				End: func(*pcoll.Context, pcoll.Emit[int]) error { return fmt.Errorf("disk full") }}, pcoll.Named("End"))
		}, []string{"End", "FinishBundle: disk full"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("test")
			timed := WithTimestamps(Create(p, 1, 2, 3), func(n int) time.Time { return time.Unix(int64(n), 0) })
			c.build(windowing.Into(timed, sixty))
			ptest.Fails(t, p, c.want...)
		})
	}
}

// TestWorkersHaveCopies covers that workers share nothing of a DoFn but what its
// fields point to.
func TestWorkersHaveCopies(t *testing.T) {
	p := pcoll.New("test")
	counted := ParDo(Reshuffle(numbers(p)), &counter{})
	firsts := Filter(counted, func(w worked) bool { return w.Seen == 1 })
	got := ptest.Collect(Map(firsts, func(w worked) int { return w.Worker }))
	results := ptest.Run(t, p)
	for _, name := range slices.Sorted(maps.Keys(results)) {
		workers := map[int]bool{}
		for _, e := range got.On(name) {
			if workers[e.Value] {
				t.Errorf("%s: worker %d began to count twice", name, e.Value)
			}
			workers[e.Value] = true
		}
		var want int
		if _, err := fmt.Sscanf(strings.Replace(name, "direct", "local-1", 1), "local-%d", &want); err != nil {
			t.Fatal(err)
		}
		if len(workers) != want {
			t.Errorf("%s: %d workers counted, want %d", name, len(workers), want)
		}
	}
}

type worked struct{ Worker, Seen int }

type counter struct{ seen int }

func (d *counter) Process(c *pcoll.Context, _ int64, emit pcoll.Emit[worked]) error {
	d.seen++
	i, _ := c.Worker()
	emit(c, worked{i, d.seen})
	return nil
}
