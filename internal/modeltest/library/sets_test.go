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
	"github.com/penstock-dev/penstock/windowing"
)

type word struct {
	Key  string
	Rank int
}

func keyOfWord(w word) string { return w.Key }

// TestDistinct restates what Beam's DistinctTest checks.
func TestDistinct(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(t *testing.T, p *pcoll.Pipeline)
	}{
		{"one of each", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, Distinct(Create(p, "k1", "k5", "k5", "k2", "k1", "k2", "k3")), "k1", "k5", "k2", "k3")
		}},
		{"of none", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Empty(t, Distinct(Create[string](p)))
			passert.Empty(t, DistinctBy(Create[word](p), keyOfWord))
		}},
		{"of many", func(t *testing.T, p *pcoll.Pipeline) {
			passert.Equals(t, Count(Distinct(Map(numbers(p), mod(1000)))), 1000)
		}},
		{"by a key, any of them", func(t *testing.T, p *pcoll.Pipeline) {
			passert.That(t, DistinctBy(Create(p, word{"a", 1}, word{"a", 2}, word{"b", 1}), keyOfWord), func(got []passert.Element[word]) error {
				ranks := map[string]int{}
				for _, e := range got {
					ranks[e.Value.Key] = e.Value.Rank
				}
				if len(got) != 2 || ranks["a"] != 1 && ranks["a"] != 2 || ranks["b"] != 1 {
					return fmt.Errorf("want b and one of a")
				}
				return nil
			})
		}},
		{"in each window", func(t *testing.T, p *pcoll.Pipeline) {
			s := teststream.New[string]().
				Bundle(teststream.At(second(1), "a"), teststream.At(second(2), "a"), teststream.At(second(31), "a"), teststream.At(second(32), "b")).
				Source(p)
			passert.Windows(t, Distinct(windowing.Into(s, windowing.Fixed(30*time.Second))),
				passert.Holds(span(0, 30), "a"), passert.Holds(span(30, 60), "a", "b"))
		}},
		{"once however often the window fires", func(t *testing.T, p *pcoll.Pipeline) {
			s := teststream.New[string]().
				Elements(second(1), "a", "b").
				Elements(second(2), "b", "c").
				Watermark(second(30)).
				Elements(second(3), "a", "d"). // late
				Source(p)
			for _, mode := range []pcoll.Option{windowing.Discarding(), windowing.Accumulating()} {
				in := windowing.Into(s, windowing.Fixed(30*time.Second), earlyEach, windowing.AllowedLateness(time.Minute), mode)
				passert.Panes(t, Distinct(in), passert.Early("a").Index(0), passert.Early("b").Index(0), passert.Early("c").Index(0),
					passert.Late("d").Index(0))
				byLetter := DistinctBy(in, func(s string) string { return s })
				passert.Equals(t, byLetter, "a", "b", "c", "d")
			}
		}},
		{"the representative is that of the first pane", func(t *testing.T, p *pcoll.Pipeline) {
			s := teststream.New[word]().Elements(second(1), word{"a", 1}).Elements(second(2), word{"a", 2}, word{"b", 3}).Watermark(second(30)).
				Elements(second(3), word{"a", 4}).Source(p)
			in := windowing.Into(s, windowing.Fixed(30*time.Second), earlyEach, windowing.AllowedLateness(time.Minute), windowing.Accumulating())
			passert.Panes(t, DistinctBy(in, keyOfWord), passert.Early(word{"a", 1}).In(span(0, 30)), passert.Early(word{"b", 3}).In(span(0, 30)))
		}},
		{"nothing for an empty pane on time", func(t *testing.T, p *pcoll.Pipeline) {
			s := teststream.New[word]().Elements(second(1), word{"a", 1}).Watermark(second(30)).Source(p)
			in := windowing.Into(s, windowing.Fixed(30*time.Second), earlyEach, windowing.AllowedLateness(time.Minute), windowing.Discarding())
			passert.Panes(t, DistinctBy(in, keyOfWord), passert.Early(word{"a", 1}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("test")
			c.build(t, p)
			ptest.Run(t, p)
		})
	}
}

// TestLatest restates what Beam's LatestTest checks.
func TestLatest(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[pair]().
		Bundle(teststream.At(second(2), pcoll.Pair("a", 2)), teststream.At(second(9), pcoll.Pair("a", 9)), teststream.At(second(5), pcoll.Pair("b", 5)),
			teststream.At(second(3), pcoll.Pair("a", 3)), teststream.At(second(31), pcoll.Pair("b", 31))).
		Source(p)
	in := windowing.Into(s, windowing.Fixed(30*time.Second))
	passert.Windows(t, Latest(in), passert.Holds(span(0, 30), pcoll.Pair("a", 9)), passert.Holds(span(30, 60), pcoll.Pair("b", 31)))
	passert.Windows(t, LatestPerKey(in), passert.Holds(span(0, 30), pcoll.Pair("a", 9), pcoll.Pair("b", 5)), passert.Holds(span(30, 60), pcoll.Pair("b", 31)))
	passert.Empty(t, Latest(Filter(in, func(pair) bool { return false })))
	passert.Empty(t, LatestPerKey(Filter(in, func(pair) bool { return false })))
	ptest.Run(t, p)
}

// TestLatestOfBounded covers elements that all have one time, and no elements at all.
func TestLatestOfBounded(t *testing.T) {
	p := pcoll.New("test")
	passert.Empty(t, Latest(Create[int](p)))
	passert.Equals(t, Count(Latest(numbers(p))), 1)
	passert.Equals(t, Latest(WithTimestamps(numbers(p), func(n int64) time.Time { return time.UnixMilli(n ^ 1) })), many-2)
	ptest.Run(t, p)
}

// TestLatestByPane follows a value that changes, as slowly updated side inputs do; an empty pane gives none.
func TestLatestByPane(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[string]().Elements(second(1), "one").Elements(second(9), "nine").Elements(second(5), "five").Watermark(second(30)).Source(p)
	fixed := windowing.Fixed(30 * time.Second)
	acc := windowing.Into(s, fixed, earlyEach, windowing.AllowedLateness(0), windowing.Accumulating())
	passert.Panes(t, Latest(acc), passert.Early("one"), passert.Early("nine"), passert.Early("nine"), passert.OnTime("nine"))
	dis := windowing.Into(s, fixed, earlyEach, windowing.AllowedLateness(0), windowing.Discarding())
	passert.Panes(t, Latest(dis), passert.Early("one"), passert.Early("nine"), passert.Early("five"))
	ptest.Run(t, p)
}

// TestSample restates what Beam's SampleTest checks: how many there are, and of which.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		name       string
		in         []int
		n          int
		wantLength int
	}{
		{"some", []int{1, 2, 3, 4, 5}, 3, 3},
		{"all", []int{1, 2, 3}, 3, 3},
		{"more than there are", []int{1, 2, 3}, 5, 3},
		{"of repeated elements", []int{1, 1, 2, 2}, 3, 3},
		{"of none", nil, 3, 0},
		{"one", []int{1, 2, 3}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("test")
			in := CreateFrom(p, c.in)
			check := func(got []int) error {
				left := slices.Clone(c.in)
				for _, v := range got {
					i := slices.Index(left, v)
					if i < 0 {
						return fmt.Errorf("%v holds %d too often", got, v)
					}
					left = slices.Delete(left, i, i+1)
				}
				if len(got) != c.wantLength {
					return fmt.Errorf("%v has %d elements, want %d", got, len(got), c.wantLength)
				}
				return nil
			}
			passert.That(t, Sample(in, c.n), func(got []passert.Element[[]int]) error {
				if len(got) != 1 {
					return fmt.Errorf("%d samples, want one", len(got))
				}
				return check(got[0].Value)
			})
			passert.That(t, SampleAny(in, c.n), func(got []passert.Element[int]) error {
				var vs []int
				for _, e := range got {
					vs = append(vs, e.Value)
				}
				return check(vs)
			})
			passert.That(t, SamplePerKey(KeyBy(in, func(int) string { return "k" }), c.n), func(got []passert.Element[pcoll.KV[string, []int]]) error {
				if len(c.in) == 0 && len(got) == 0 {
					return nil
				}
				if len(got) != 1 {
					return fmt.Errorf("%d samples, want one", len(got))
				}
				return check(got[0].Value.Value)
			})
			ptest.Run(t, p)
		})
	}
}

// TestSampleIsUniform draws 3 of 12 elements with many seeds: each as often as any other.
func TestSampleIsUniform(t *testing.T) {
	p := pcoll.New("test")
	in := Reshuffle(GenerateSequence(p, 0, 12)) // to several workers
	var all []pcoll.PCollection[[]int64]
	for seed := range uint64(400) {
		all = append(all, Sample(in, 3, SampleSeed(seed)))
	}
	got := ptest.Collect(FlattenAll(p, all))
	for name := range ptest.Run(t, p, ptest.Workers(2)) {
		times := make([]int, 12)
		for _, e := range got.On(name) {
			for _, v := range e.Value {
				times[v]++
			}
		}
		for v, n := range times {
			if n < 61 || n > 139 { // 100 ± 4.5 standard deviations
				t.Errorf("%s: %d was drawn %d times of 400, want 100±39: %v", name, v, n, times)
			}
		}
	}
}

// TestSampleOfEqualElements draws from a crowd of equal elements and one other,
// on several workers, which must not be drawn more often than its share.
func TestSampleOfEqualElements(t *testing.T) {
	p := pcoll.New("test")
	in := Map(Reshuffle(GenerateSequence(p, 0, 40)), func(n int64) bool { return n == 17 })
	var all []pcoll.PCollection[[]bool]
	for seed := range uint64(400) {
		all = append(all, Sample(in, 1, SampleSeed(seed)))
	}
	got := ptest.Collect(FlattenAll(p, all))
	for name := range ptest.Run(t, p, ptest.Workers(4)) {
		times := 0
		for _, e := range got.On(name) {
			if e.Value[0] {
				times++
			}
		}
		if times < 1 || times > 24 { // 10 ± 4.5 standard deviations
			t.Errorf("%s: one of 40 elements was drawn %d times of 400, want 10±14", name, times)
		}
	}
}

// TestSampleSeed covers that on one worker a seed is a choice.
func TestSampleSeed(t *testing.T) {
	p := pcoll.New("test")
	one, again, other := Sample(numbers(p), 20), Sample(numbers(p), 20, SampleSeed(0)), Sample(numbers(p), 20, SampleSeed(1))
	a, b, c := ptest.Collect(one), ptest.Collect(again), ptest.Collect(other)
	for name := range ptest.Run(t, p, ptest.Workers(1)) {
		x, y, z := a.On(name)[0].Value, b.On(name)[0].Value, c.On(name)[0].Value
		for _, s := range [][]int64{x, y, z} {
			slices.Sort(s)
		}
		if !slices.Equal(x, y) || slices.Equal(x, z) {
			t.Errorf("%s: seed 0 drew %v and %v, seed 1 drew %v", name, x, y, z)
		}
	}
}

// TestSets restates what Beam's SetsTest checks.
func TestSets(t *testing.T) {
	p := pcoll.New("test")
	a := Create(p, "a", "a", "a", "b", "b", "c", "d", "d", "g", "g", "h", "h")
	b := Create(p, "a", "a", "b", "b", "b", "c", "d", "d", "e", "e", "f", "f")
	passert.Equals(t, Union(a, b), "a", "b", "c", "d", "e", "f", "g", "h")
	passert.Equals(t, UnionAll(a, b), "a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "c", "c", "d", "d", "d", "d", "e", "e", "f", "f", "g", "g", "h", "h")
	passert.Equals(t, Intersect(a, b), "a", "b", "c", "d")
	passert.Equals(t, IntersectAll(a, b), "a", "a", "b", "b", "c", "d", "d")
	passert.Equals(t, Except(a, b), "g", "h")
	passert.Equals(t, ExceptAll(a, b), "a", "g", "g", "h", "h")
	// Of several: one after the other, and taking away what is flattened.
	c := Create(p, "a", "c", "g")
	passert.Equals(t, Intersect(Intersect(a, b), c), "a", "c")
	passert.Equals(t, IntersectAll(IntersectAll(a, b), c), "a", "c")
	passert.Equals(t, Except(a, Flatten(b, c)), "h")
	passert.Equals(t, ExceptAll(a, Flatten(b, c)), "g", "h", "h")
	passert.Equals(t, Union(Union(a, b), c), "a", "b", "c", "d", "e", "f", "g", "h")
	none := Create[string](p)
	passert.Equals(t, Except(c, none), "a", "c", "g")
	passert.Empty(t, Intersect(c, none))
	passert.Empty(t, Union(none, none))
	ptest.Run(t, p)
}

// TestSetsByWindow compares windows with each other, and panes as they come.
func TestSetsByWindow(t *testing.T) {
	p := pcoll.New("test")
	var script teststream.Script
	a, b := teststream.On[string](&script), teststream.On[string](&script)
	a.Bundle(teststream.At(second(1), "x"), teststream.At(second(31), "x"), teststream.At(second(32), "y"))
	b.Bundle(teststream.At(second(2), "x"), teststream.At(second(33), "z"))
	a.Watermark(second(90))
	b.Watermark(second(90))
	inA, inB := windowing.Into(a.Source(p), windowing.Fixed(30*time.Second)), windowing.Into(b.Source(p), windowing.Fixed(30*time.Second))
	passert.Windows(t, Intersect(inA, inB), passert.Holds(span(0, 30), "x"))
	passert.Windows(t, Except(inA, inB), passert.Holds(span(30, 60), "x", "y"))
	passert.Windows(t, Union(inA, inB), passert.Holds(span(0, 30), "x"), passert.Holds(span(30, 60), "x", "y", "z"))
	early := func(in pcoll.PCollection[string]) pcoll.PCollection[string] {
		return windowing.Into(in, windowing.Fixed(30*time.Second), earlyEach, windowing.AllowedLateness(0), windowing.Discarding())
	}
	// "x" comes by a, then by b; each pane is about one of them, the one on time about neither.
	passert.Panes(t, Filter(Union(early(inA), early(inB)), func(s string) bool { return s == "x" }),
		passert.Early("x").In(span(0, 30)).Index(0), passert.Early("x").In(span(0, 30)).Index(1), passert.Early("x").In(span(30, 60)))
	ptest.Run(t, p)
}

func timed[T any](v T, at pcoll.Time) Timestamped[T] { return Timestamped[T]{Value: v, Time: at} }

// placed is what no grouping has produced.
func placed[T any](v T, at pcoll.Time, w pcoll.Window) Windowed[T] {
	return Windowed[T]{Value: v, Time: at, Window: w, Pane: pcoll.Pane{Timing: pcoll.Unknown, First: true, Last: true}}
}

// TestReify restates what Beam's ReifyTest and ReifyTimestampsTest check.
func TestReify(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[pair]().Bundle(teststream.At(second(1), pcoll.Pair("a", 1)), teststream.At(second(31), pcoll.Pair("b", 2))).Source(p)
	in := windowing.Into(s, windowing.Fixed(30*time.Second))
	passert.Equals(t, ReifyTimestamps(in), timed[pair](pcoll.Pair("a", 1), 1000), timed[pair](pcoll.Pair("b", 2), 31000))
	passert.Equals(t, Reify(in), placed[pair](pcoll.Pair("a", 1), 1000, span(0, 30)), placed[pair](pcoll.Pair("b", 2), 31000, span(30, 60)))
	passert.Equals(t, ReifyTimestampsOfValues(in), pcoll.Pair("a", timed[int](1, 1000)), pcoll.Pair("b", timed[int](2, 31000)))
	passert.Equals(t, ReifyValues(in), pcoll.Pair("a", placed[int](1, 1000, span(0, 30))), pcoll.Pair("b", placed[int](2, 31000, span(30, 60))))
	// What is reified stays where it is, survives an exchange, and shows panes.
	passert.Windows(t, Map(Reshuffle(Reify(in)), func(w Windowed[pair]) string { return w.Value.Key }),
		passert.Holds(span(0, 30), "a"), passert.Holds(span(30, 60), "b"))
	fired := pcoll.Pane{Timing: pcoll.OnTime, First: true, Last: true}
	passert.Equals(t, Map(Reify(Count(in)), func(w Windowed[int64]) pcoll.Pane { return w.Pane }), fired, fired)
	// An element in two windows is reified twice.
	sliding := windowing.Into(s, windowing.Sliding(20*time.Second, 10*time.Second))
	passert.Windows(t, Map(Reify(sliding), func(w Windowed[pair]) pcoll.Window { return w.Window }), passert.Holds(span(-10, 10), span(-10, 10)),
		passert.Holds(span(0, 20), span(0, 20)), passert.Holds(span(20, 40), span(20, 40)), passert.Holds(span(30, 50), span(30, 50)))
	ptest.Run(t, p)
}

// TestReifiedTimesCanBeGivenBack takes times off and puts them on again.
func TestReifiedTimesCanBeGivenBack(t *testing.T) {
	p := pcoll.New("test")
	in := WithTimestamps(Create(p, 1, 2), func(n int) time.Time { return second(float64(n)) })
	back := WithTimestamps(Map(ReifyTimestamps(in), func(v Timestamped[int]) Timestamped[int] { return v }),
		func(v Timestamped[int]) time.Time { return v.Time.Time().Add(time.Minute) })
	passert.Panes(t, back, passert.Ungrouped(timed[int](1, 1000)).At(second(61)), passert.Ungrouped(timed[int](2, 2000)).At(second(62)))
	ptest.Run(t, p)
}

// TestWithdrawalsAreRefused covers transforms that would not bring a withdrawal to what it takes back.
func TestWithdrawalsAreRefused(t *testing.T) {
	for name, build := range map[string]func(in pcoll.PCollection[pair]){
		"Deduplicate":      func(in pcoll.PCollection[pair]) { Deduplicate(in, func(e pair) string { return e.Key }, time.Second) },
		"GroupIntoBatches": func(in pcoll.PCollection[pair]) { GroupIntoBatches(in, 3) },
	} {
		p := pcoll.New("test")
		in := Create(p, pair{})
		pcoll.Col(in).Retracts = true
		build(in)
		want := "elements of the input may be withdrawals of earlier ones, which " + name + " cannot take back"
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
