package library_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func itself[T any](v T) T { return v }

func stamped[T any](at float64, v T) teststream.Timestamped[T] { return teststream.At(second(at), v) }

// TestDeduplicate restates what Beam's DeduplicateTest checks, by event times.
func TestDeduplicate(t *testing.T) {
	onAll(t, "within a time", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[string]().
			Watermark(second(0)).
			Bundle(stamped(0, "k1"), stamped(10, "k2"), stamped(20, "k3"), stamped(59, "k4")).
			Watermark(second(60)).
			Bundle(stamped(30, "k1"), stamped(40, "k2"), stamped(50, "k3")). // late and duplicates
			Bundle(stamped(599, "k1"), stamped(600, "k1"), stamped(601, "k1")).
			Watermark(second(660)).
			Bundle(stamped(670, "k4")).
			Source(p)
		passert.Panes(t, Deduplicate(s, itself[string], 10*time.Minute),
			passert.Ungrouped("k1").At(second(0)), passert.Ungrouped("k2"), passert.Ungrouped("k3"), passert.Ungrouped("k4").At(second(59)),
			passert.Ungrouped("k1").At(second(600)), passert.Ungrouped("k4").At(second(670)))
	})
	onAll(t, "out of order", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[string]().Bundle(stamped(100, "a"), stamped(95, "a"), stamped(80, "a"), stamped(89.999, "a"), stamped(90, "a"), stamped(109.999, "a"),
			stamped(110, "a")).Source(p)
		passert.Panes(t, Deduplicate(s, itself[string], 10*time.Second),
			passert.Ungrouped("a").At(second(100)), passert.Ungrouped("a").At(second(80)), passert.Ungrouped("a").At(second(90)), passert.Ungrouped("a").At(second(110)))
	})
	onAll(t, "in each window", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[string]().Bundle(stamped(0, "k1"), stamped(10, "k2"), stamped(20, "k1"), stamped(30, "k1"), stamped(40, "k2"),
			stamped(60, "k3")).Source(p)
		passert.Windows(t, Deduplicate(windowing.Into(s, windowing.Fixed(30*time.Second)), itself[string], 10*time.Minute),
			passert.Holds(span(0, 30), "k1", "k2"), passert.Holds(span(30, 60), "k1", "k2"), passert.Holds(span(60, 90), "k3"))
	})
	onAll(t, "a representative by key", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[pcoll.KV[int64, string]]().
			Bundle(stamped(0, pcoll.KV[int64, string]{Key: 1, Value: "k1"}), stamped(1, pcoll.KV[int64, string]{Key: 2, Value: "k2"})).
			ProcessingTime(time.Minute).
			Bundle(stamped(30, pcoll.KV[int64, string]{Key: 1, Value: "other"})).
			Source(p)
		passert.Equals(t, Deduplicate(s, func(e pcoll.KV[int64, string]) int64 { return e.Key }, 10*time.Minute),
			pcoll.KV[int64, string]{Key: 1, Value: "k1"}, pcoll.KV[int64, string]{Key: 2, Value: "k2"})
	})
	onAll(t, "what is forgotten passes again", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[string]().Bundle(stamped(10, "a")).Watermark(second(20)).Bundle(stamped(11, "a")).
			Watermark(second(20.001)).Bundle(stamped(12, "a")).Source(p)
		passert.Panes(t, Deduplicate(s, itself[string], 10*time.Second), passert.Ungrouped("a").At(second(10)), passert.Ungrouped("a").At(second(12)))
	})
	onAll(t, "what may come late is not forgotten", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[string]().Bundle(stamped(10, "a")).Watermark(second(30)).Bundle(stamped(11, "a")).Watermark(second(31)).Bundle(stamped(12, "a")).Source(p)
		in := windowing.Into(s, windowing.Global(), windowing.AllowedLateness(10*time.Second), windowing.Trigger(triggers.Default{}))
		passert.Panes(t, Deduplicate(in, itself[string], 10*time.Second), passert.Ungrouped("a").At(second(10)), passert.Ungrouped("a").At(second(12)))
	})
	onAll(t, "of many", func(t *testing.T, p *pcoll.Pipeline) {
		in := WithTimestamps(numbers(p), func(n int64) time.Time { return time.UnixMilli(n) }) // a second apart for each key, ten times
		passert.Equals(t, Count(Deduplicate(in, mod(1000), 10*time.Second)), 1000)
		passert.Equals(t, Count(Deduplicate(in, mod(1000), time.Second)), many)
	})
}

// TestDeduplicateByProcessingTime compares the times at which elements come.
func TestDeduplicateByProcessingTime(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[string]().
		Bundle(stamped(0, "k1"), stamped(900, "k1"), stamped(20, "k2")).
		ProcessingTime(time.Minute).
		Bundle(stamped(30, "k1"), stamped(50, "k3")).
		ProcessingTime(9*time.Minute). // ten minutes after the first: still within
		Bundle(stamped(30, "k1")).
		ProcessingTime(time.Millisecond).
		Bundle(stamped(30, "k1"), stamped(30, "k2"), stamped(30, "k3")).
		Source(p)
	passert.Panes(t, Deduplicate(s, itself[string], 10*time.Minute, ByProcessingTime()),
		passert.Ungrouped("k1").At(second(0)), passert.Ungrouped("k2").At(second(20)), passert.Ungrouped("k3").At(second(50)),
		passert.Ungrouped("k1").At(second(30)), passert.Ungrouped("k2").At(second(30)))
	ptest.Run(t, p)
}

// TestDeduplicateLate covers elements of a window that has expired.
func TestDeduplicateLate(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[string]().Bundle(stamped(1, "a")).Watermark(second(45)).Bundle(stamped(2, "a"), stamped(3, "b")).
		Watermark(second(60)).Bundle(stamped(4, "a"), stamped(50, "a")).Source(p)
	in := windowing.Into(s, windowing.Fixed(30*time.Second), windowing.AllowedLateness(20*time.Second), windowing.Discarding())
	first, late := DeduplicateWithLate(in, itself[string], time.Minute, pcoll.Named("Once"))
	passert.Panes(t, first, passert.Ungrouped("a").At(second(1)).In(span(0, 30)), passert.Ungrouped("b").In(span(0, 30)), passert.Ungrouped("a").In(span(30, 60)))
	passert.Panes(t, late, passert.Ungrouped("a").At(second(4)).In(pcoll.Global))
	for name, res := range ptest.Run(t, p) {
		tr, _ := res.Transform("Once")
		if tr.DroppedLate != 1 || tr.Internal["duplicates"] != 1 || tr.Elements != 5 {
			t.Errorf("%s: %d of %d elements were dropped, %d duplicates; want 1 of 5, 1", name, tr.DroppedLate, tr.Elements, tr.Internal["duplicates"])
		}
	}
}

// batchesOf are the values of batches, each sorted and joined.
func batchesOf[K comparable](in pcoll.PCollection[pcoll.KV[K, pcoll.Group[string]]]) pcoll.PCollection[string] {
	return Map(in, func(e pcoll.KV[K, pcoll.Group[string]]) string {
		return strings.Join(slices.Sorted(e.Value.All()), " ")
	})
}

func sizesOf[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]]) pcoll.PCollection[int] {
	return Map(in, func(e pcoll.KV[K, pcoll.Group[V]]) int { return e.Value.Len() })
}

func underOne[V any](in pcoll.PCollection[V]) pcoll.PCollection[pcoll.KV[string, V]] {
	return KeyBy(in, func(V) string { return "key" })
}

// scientists are Beam's test data: their encodings have 7 to 11 bytes.
func scientists(p *pcoll.Pipeline) pcoll.PCollection[pcoll.KV[string, string]] {
	return underOne(Create(p, "Einstein", "Darwin", "Copernicus", "Pasteur", "Curie", "Faraday", "Newton", "Bohr", "Galilei", "Maxwell"))
}

// TestGroupIntoBatches restates what Beam's GroupIntoBatchesTest checks.
func TestGroupIntoBatches(t *testing.T) {
	onAll(t, "by count", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, sizesOf(GroupIntoBatches(scientists(p), 5)), 5, 5)
	})
	onAll(t, "uneven", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, sizesOf(GroupIntoBatches(scientists(p), 4)), 4, 4, 2)
	})
	onAll(t, "by bytes", func(t *testing.T, p *pcoll.Pipeline) {
		passert.That(t, batchesOf(GroupIntoBatches(scientists(p), 0, BatchBytes(25))), func(got []passert.Element[string]) error {
			for _, e := range got {
				if n := len(e.Value) + 1; n > 25 { // a byte of length for each name, in place of a space
					return fmt.Errorf("batch %q has %d bytes, more than 25", e.Value, n)
				}
			}
			if len(got) < 4 || len(got) > 5 { // 74 bytes
				return fmt.Errorf("%d batches, want 4 or 5", len(got))
			}
			return nil
		})
	})
	onAll(t, "by a size of one's own", func(t *testing.T, p *pcoll.Pipeline) {
		in := underOne(Create(p, 1, 1, 1, 9, 1, 20, 1))
		got := GroupIntoBatches(in, 0, BatchBytes(10), BatchSizeOf(func(n int) int64 { return int64(n) }))
		passert.That(t, got, func(got []passert.Element[pcoll.KV[string, pcoll.Group[int]]]) error {
			for _, e := range got {
				sum := 0
				for v := range e.Value.Value.All() {
					sum += v
				}
				if sum > 10 && e.Value.Value.Len() > 1 {
					return fmt.Errorf("batch %v is larger than 10 and has more than one value", e.Value)
				}
			}
			return nil
		})
		passert.Equals(t, Sum(Map(got, func(e pcoll.KV[string, pcoll.Group[int]]) int { return e.Value.Len() })), 7)
	})
	onAll(t, "by count and bytes", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[string]().Elements(second(1), "a").Elements(second(1), "b").Elements(second(1), "cccc").
			Elements(second(1), "d").Elements(second(1), "e").Source(p)
		size := func(s string) int64 { return int64(len(s)) }
		passert.Equals(t, batchesOf(GroupIntoBatches(underOne(s), 3, BatchBytes(4), BatchSizeOf(size))), "a b", "cccc", "d e")
		passert.Equals(t, batchesOf(GroupIntoBatches(underOne(s), 2, BatchBytes(5), BatchSizeOf(size))), "a b", "cccc d", "e")
	})
	onAll(t, "of many keys", func(t *testing.T, p *pcoll.Pipeline) {
		sizes := sizesOf(GroupIntoBatches(KeyBy(numbers(p), mod(100)), 30))
		passert.Equals(t, CountPerElement(sizes), pcoll.Pair[int, int64](30, 300), pcoll.Pair[int, int64](10, 100))
	})
	onAll(t, "in shards", func(t *testing.T, p *pcoll.Pipeline) {
		batches := GroupIntoShardedBatches(underOne(numbers(p)), 5, 8)
		passert.That(t, CountPerElement(sizesOf(batches)), func(got []passert.Element[pcoll.KV[int, int64]]) error {
			full, rest := int64(0), int64(0)
			for _, e := range got {
				if e.Value.Key == 5 {
					full = e.Value.Value
				} else {
					rest += e.Value.Value
				}
			}
			if rest > 8 || full < (many-8*4)/5 {
				return fmt.Errorf("%d full batches and %d that are not; want at most one of those for each of 8 shards", full, rest)
			}
			return nil
		})
		passert.Equals(t, Sum(sizesOf(batches)), many)
		passert.Equals(t, Distinct(Keys(batches)), "key")
	})
}

// TestBatchesEndWithTheirWindow is Beam's testInStreamingMode.
func TestBatchesEndWithTheirWindow(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[string]().
		Bundle(stamped(0, "a"), stamped(1, "b"), stamped(2, "c"), stamped(3, "d"), stamped(4, "e"), stamped(5, "f"), stamped(6, "g"), stamped(7, "h")).
		Watermark(second(5)).
		Watermark(second(8)).
		Bundle(stamped(2.5, "late")).
		Watermark(second(15)).
		Bundle(stamped(3.5, "too late")).
		Source(p)
	in := windowing.Into(s, windowing.Fixed(6*time.Second), windowing.AllowedLateness(4*time.Second), windowing.Discarding())
	batches, late := GroupIntoBatchesWithLate(underOne(in), 5, pcoll.Named("Batches"))
	first := span(0, 6)
	passert.Panes(t, batchesOf(batches),
		passert.Ungrouped("a b c d e").In(first).At(second(0)),
		passert.Ungrouped("f late").In(first).At(second(2.5)),
		passert.Ungrouped("g h").In(span(6, 12)).At(second(6)))
	passert.Panes(t, late, passert.Ungrouped(pcoll.Pair("key", "too late")).In(pcoll.Global).At(second(3.5)))
	// A batch holds the watermark: what it holds is counted on time behind it.
	passert.Panes(t, Values(SumPerKey(MapValues(batches, pcoll.Group[string].Len))),
		passert.OnTime(7).In(first), passert.OnTime(2).In(span(6, 12)))
	for name, res := range ptest.Run(t, p) {
		if tr, _ := res.Transform("Batches"); tr.DroppedLate != 1 || tr.Elements != 10 {
			t.Errorf("%s: %d of %d elements were dropped, want 1 of 10", name, tr.DroppedLate, tr.Elements)
		}
	}
}

// TestBatchesWait is Beam's testBufferingTimerInFixedWindow and -GlobalWindow.
func TestBatchesWait(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[string]().
		Bundle(stamped(0, "a"), stamped(1, "b")).
		ProcessingTime(5*time.Second).
		Bundle(stamped(2, "c")).
		ProcessingTime(5*time.Second). // ten seconds after a: not yet past
		Bundle(stamped(3, "d")).
		ProcessingTime(time.Millisecond).
		Bundle(stamped(4, "e")).
		Watermark(second(6)).
		Bundle(stamped(7, "f")).
		ProcessingTime(time.Minute).
		Bundle(stamped(8, "g"), stamped(8, "h"), stamped(8, "i"), stamped(8, "j"), stamped(8, "k"), stamped(8, "l")).
		ProcessingTime(time.Minute).
		Source(p)
	for _, c := range []struct {
		fn   windowing.Fn
		want []string
	}{
		{windowing.Fixed(6 * time.Second), []string{"a b c d", "e", "f", "g h i j k", "l"}},
		{windowing.Global(), []string{"a b c d", "e f", "g h i j k", "l"}},
	} {
		in := windowing.Into(s, c.fn)
		passert.Equals(t, batchesOf(GroupIntoBatches(underOne(in), 5, BatchWait(10*time.Second))), c.want...)
	}
	ptest.Run(t, p)
}

// TestStateNeedsSettledWindows covers windows that merge, and those that did.
func TestStateNeedsSettledWindows(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[string]().Bundle(stamped(1, "a"), stamped(2, "a"), stamped(9, "b")).Source(p)
	counts := CountPerElement(windowing.Into(s, windowing.Sessions(5*time.Second)))
	batches := GroupIntoBatches(KeyBy(counts, func(pcoll.KV[string, int64]) bool { return true }), 10)
	passert.Windows(t, sizesOf(batches), passert.Holds(span(1, 7), 1), passert.Holds(span(9, 14), 1))
	ptest.Run(t, p)
}

func TestStateMistakes(t *testing.T) {
	mistakes{
		{"sessions", func(p *pcoll.Pipeline) {
			GroupIntoBatches(windowing.Into(Create(p, pair{}), windowing.Sessions(time.Second)), 3)
		}, "GroupIntoBatches keeps state by window, and sessions(1s) may still merge; group by key first"},
		{"sessions, deduplicated", func(p *pcoll.Pipeline) {
			Deduplicate(windowing.Into(Create(p, 1), windowing.Sessions(time.Second)), itself[int], time.Second)
		}, "Deduplicate keeps state by window, and sessions(1s) may still merge"},
		{"no time", func(p *pcoll.Pipeline) { Deduplicate(Create(p, 1), itself[int], 0) },
			"elements cannot be compared within 0s; give whole milliseconds, at least one"},
		{"no key function", func(p *pcoll.Pipeline) { Deduplicate[int](Create(p, 1), nil, time.Second) }, "Deduplicate/KeyBy: the function is nil"},
		{"float key", func(p *pcoll.Pipeline) { Deduplicate(Create(p, 1.5), itself[float64], time.Second) }, "cannot use as a key float64"},
		{"no limit", func(p *pcoll.Pipeline) { GroupIntoBatches(Create(p, pair{}), 0) },
			"batches of 0 values would never be full; give a number of at least 1, or limit them with BatchBytes"},
		{"negative", func(p *pcoll.Pipeline) { GroupIntoBatches(Create(p, pair{}), -1, BatchBytes(3)) }, "batches of -1 values would never be full"},
		{"no bytes", func(p *pcoll.Pipeline) { GroupIntoBatches(Create(p, pair{}), 1, BatchBytes(0)) }, "a batch of 0 bytes holds nothing"},
		{"size without limit", func(p *pcoll.Pipeline) {
			GroupIntoBatches(Create(p, pair{}), 1, BatchSizeOf(func(int) int64 { return 1 }))
		}, "BatchSizeOf measures for BatchBytes, which is not given"},
		{"size of another type", func(p *pcoll.Pipeline) {
			GroupIntoBatches(Create(p, pair{}), 1, BatchBytes(9), BatchSizeOf(func(string) int64 { return 1 }))
		}, "option BatchSizeOf does not apply to GroupIntoBatches"},
		{"wait", func(p *pcoll.Pipeline) { GroupIntoBatches(Create(p, pair{}), 1, BatchWait(time.Microsecond)) }, "a batch cannot wait for 1µs"},
		{"shards", func(p *pcoll.Pipeline) { GroupIntoShardedBatches(Create(p, pair{}), 1, 0) }, "0 shards take nothing; want at least 1"},
		{"value", func(p *pcoll.Pipeline) {
			GroupIntoBatches(KeyBy(Create(p, func() {}), func(func()) int { return 0 }), 1)
		}, "cannot encode func()"},
		{"sample", func(p *pcoll.Pipeline) { Sample(Create(p, 1), 0) }, "a sample of 0 holds nothing; want at least 1"},
		{"any", func(p *pcoll.Pipeline) { SampleAny(Create(p, 1), 0) }, "combine.Any(0) keeps nothing"},
		{"seed of another", func(p *pcoll.Pipeline) { SampleAny(Create(p, 1), 1, SampleSeed(3)) }, "option SampleSeed does not apply to"},
		{"distinct floats", func(p *pcoll.Pipeline) { Distinct(Create(p, 1.5)) }, "cannot use as a key float64"},
		{"sets of floats", func(p *pcoll.Pipeline) { Union(Create(p, 1.5), Create(p, 2.5)) }, "cannot use as a key float64"},
		{"sets in other windows", func(p *pcoll.Pipeline) {
			Except(Create(p, 1), windowing.Into(Create(p, 1), windowing.Fixed(time.Minute)))
		}, "input 1 cannot be joined with input 0: windows fixed(1m0s) and global differ"},
		{"sets in panes that hold parts", func(p *pcoll.Pipeline) {
			in := windowing.Into(Create(p, 1), windowing.Fixed(time.Minute), earlyEach, windowing.AllowedLateness(0), windowing.Discarding())
			Intersect(in, Union(in, in))
		}, "Intersect: a window can have several panes, of which each holds only what is new"},
		{"never ends", func(p *pcoll.Pipeline) { Distinct(teststream.New[int]().Source(p)) }, "unbounded input in the global window"},
	}.check(t)
}
