package stateful_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

type (
	pair    = pcoll.KV[string, int]
	emitter = pcoll.Emit[string]
)

// stock is a function with state of every kind, and without timers. What it does
// is up to the test.
type stock struct {
	Value state.Value[int]                               `state:"value"`
	Words state.Value[[]string]                          `state:"words"`
	Bag   state.Bag[int]                                 `state:"bag"`
	Map   state.Map[string, int]                         `state:"map"`
	Multi state.Multimap[string, int]                    `state:"multi"`
	Set   state.Set[int]                                 `state:"set"`
	Mean  state.Combining[int, combine.MeanAcc, float64] `state:"mean"`
	List  state.OrderedList[int]                         `state:"list"`
	Odd   Output[int]

	Do func(f *stock, c *pcoll.Context, e pair, emit emitter)
}

var _ StatefulFn[string, int, string] = (*stock)(nil)

func stocked(do func(f *stock, c *pcoll.Context, e pair, emit emitter)) *stock {
	return &stock{Mean: state.Combined(combine.Mean[int]()), Do: do}
}

func (f *stock) Process(c *pcoll.Context, e pair, emit pcoll.Emit[string]) error {
	f.Do(f, c, e, emit)
	return nil
}

func at(ms int) time.Time                  { return time.UnixMilli(int64(ms)) }
func sec(n int) time.Time                  { return time.Unix(int64(n), 0) }
func kv(k string, v int) pair              { return pcoll.Pair(k, v) }
func secs(from, to int) pcoll.Window       { return passert.Window(sec(from), sec(to)) }
func list[T any](seq iter.Seq[T]) []T      { return slices.Collect(seq) }
func sorted(seq iter.Seq[string]) []string { return slices.Sorted(seq) }

// listed prints what an ordered list yields.
func listed(seq iter.Seq2[time.Time, int]) (out []string) {
	for t, v := range seq {
		out = append(out, fmt.Sprint(t.Unix(), ":", v))
	}
	return out
}

// script delivers each pair as a bundle of its own, one a second.
func script(p *pcoll.Pipeline, pairs ...pair) pcoll.PCollection[pair] {
	in := teststream.New[pair]()
	for i, e := range pairs {
		in.Elements(sec(i), e)
	}
	return in.Source(p)
}

// inOrder checks the values of a collection of one key, in order.
func inOrder[T comparable](t *testing.T, col pcoll.PCollection[T], want ...T) {
	t.Helper()
	passert.That(t, col, func(got []passert.Element[T]) error {
		var vals []T
		for _, e := range got {
			vals = append(vals, e.Value)
		}
		if !slices.Equal(vals, want) {
			return fmt.Errorf("got %v, want %v", vals, want)
		}
		return nil
	})
}

// check runs fn over pairs of key k and expects its results in that order.
func checkState(t *testing.T, fn StatefulFn[string, int, string], pairs []pair, want ...string) {
	t.Helper()
	p := pcoll.New("state")
	inOrder(t, StatefulParDo(script(p, pairs...), fn), want...)
	ptest.Run(t, p)
}

// k gives values one key.
func k(vals ...int) (pairs []pair) {
	for _, v := range vals {
		pairs = append(pairs, kv("k", v))
	}
	return pairs
}

func TestValueIsKeptByKey(t *testing.T) {
	p := pcoll.New("state")
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		n, ok := f.Value.Lookup(c)
		f.Value.Set(c, n+e.Value)
		emit(c, fmt.Sprint(e.Key, " ", ok, " ", n, " then ", f.Value.Get(c)))
	})
	passert.Equals(t, StatefulParDo(script(p, kv("a", 1), kv("b", 5), kv("a", 2), kv("a", 3)), fn),
		"a false 0 then 1", "b false 0 then 5", "a true 1 then 3", "a true 3 then 6")
	ptest.Run(t, p)
}

func TestValueIsGoneAfterClear(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Value.Set(c, e.Value)
		f.Value.Clear(c)
		_, ok := f.Value.Lookup(c)
		emit(c, fmt.Sprint(f.Value.Get(c), ok))
	}), k(7, 8), "0 false", "0 false")
}

func TestValueFindsDuplicates(t *testing.T) {
	p := pcoll.New("state")
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		if f.Value.Get(c) == 0 {
			f.Value.Set(c, 1)
			emit(c, e.Key)
		}
	})
	// Not a script: elements of a bounded input, in bundles as they fall.
	nums := GenerateSequence(p, 0, 3000)
	keyed := KeyBy(Map(nums, func(n int64) int { return int(n % 7) }), func(n int) string { return fmt.Sprint("k", n) })
	passert.Equals(t, StatefulParDo(keyed, fn), "k0", "k1", "k2", "k3", "k4", "k5", "k6")
	ptest.Run(t, p)
}

func TestValueHoldsAList(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Words.Set(c, append(slices.Clip(f.Words.Get(c)), fmt.Sprint(e.Value)))
		emit(c, fmt.Sprint(f.Words.Get(c)))
	}), k(1, 2, 3), "[1]", "[1 2]", "[1 2 3]")
}

func TestStateIsKeptByWindow(t *testing.T) {
	p := pcoll.New("state")
	in := teststream.New[pair]().Elements(sec(1), k(1)...).Elements(sec(12), k(2)...).Elements(sec(3), k(3)...).
		Watermark(sec(15)).Elements(sec(18), k(4)...).Source(p)
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Value.Set(c, f.Value.Get(c)+e.Value)
		emit(c, fmt.Sprint(f.Value.Get(c)))
	})
	passert.Panes(t, StatefulParDo(windowing.Into(in, windowing.Fixed(10*time.Second)), fn),
		passert.Ungrouped("1").In(secs(0, 10)).At(sec(1)), passert.Ungrouped("4").In(secs(0, 10)).At(sec(3)),
		passert.Ungrouped("2").In(secs(10, 20)).At(sec(12)), passert.Ungrouped("6").In(secs(10, 20)).At(sec(18)))
	ptest.Run(t, p)
}

func TestElementIsProcessedOnceForEachWindow(t *testing.T) {
	p := pcoll.New("state")
	in := teststream.New[pair]().Elements(sec(7), k(1)...).Elements(sec(12), k(2)...).Source(p)
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Bag.Add(c, e.Value)
		emit(c, fmt.Sprint(list(f.Bag.All(c))))
	})
	passert.Windows(t, StatefulParDo(windowing.Into(in, windowing.Sliding(10*time.Second, 5*time.Second)), fn),
		passert.Holds(secs(0, 10), "[1]"), passert.Holds(secs(5, 15), "[1]", "[1 2]"), passert.Holds(secs(10, 20), "[2]"))
	ptest.Run(t, p)
}

func TestTransformsDoNotShareStateOfOneName(t *testing.T) {
	p := pcoll.New("state")
	in := script(p, k(1, 2)...)
	add := func(by int) *stock {
		return stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
			f.Value.Set(c, f.Value.Get(c)+by)
			emit(c, fmt.Sprint(f.Value.Get(c)))
		})
	}
	first := StatefulParDo(in, add(1))
	inOrder(t, first, "1", "2")
	inOrder(t, StatefulParDo(in, add(10)), "10", "20")
	again := KeyBy(Map(first, func(string) int { return 0 }), func(int) string { return "k" })
	inOrder(t, StatefulParDo(again, add(100)), "100", "200")
	ptest.Run(t, p)
}

func TestStatefulFunctionHasFurtherOutputs(t *testing.T) {
	p := pcoll.New("state")
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		if f.Value.Set(c, f.Value.Get(c)+1); e.Value%2 == 1 {
			f.Odd.Emit(c, f.Value.Get(c))
			return
		}
		emit(c, fmt.Sprint(f.Value.Get(c)))
	})
	out, late := StatefulParDoWithLate(script(p, k(1, 2, 3, 4)...), fn)
	inOrder(t, out, "2", "4")
	inOrder(t, fn.Odd.Collection(), 1, 3)
	passert.Empty(t, late)
	ptest.Run(t, p)
}

func TestBagHoldsWhatWasAdded(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Bag.Add(c, e.Value)
		f.Bag.Add(c, e.Value) // blind writes; the read sees them and what was there
		emit(c, fmt.Sprint(f.Bag.Len(c), list(f.Bag.All(c))))
		if f.Bag.Len(c) > 2 {
			f.Bag.Clear(c)
		}
	}), k(1, 2, 3), "2 [1 1]", "4 [1 1 2 2]", "2 [3 3]")
}

func TestIterationSeesWhatWasThereWhenItBegan(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		for i := range 12 {
			f.Bag.Add(c, i)
			f.Set.Add(c, i)
			f.List.Add(c, sec(i), i)
		}
		sum := 0
		for v := range f.Bag.All(c) {
			f.Bag.Add(c, 100)
			sum += v
		}
		for v := range f.Set.All(c) {
			f.Set.Delete(c, v+1)
			f.Set.Add(c, 100+v)
			sum += v
		}
		for _, v := range f.List.All(c) {
			f.List.ClearRange(c, sec(v+1), sec(v+2))
			f.List.Add(c, sec(0), 100)
			sum += v
		}
		emit(c, fmt.Sprint(sum, f.Bag.Len(c), f.Set.Len(c), f.List.Len(c)))
	}), k(0), "198 24 13 13")
}

func TestSetHoldsElementsOnce(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		added := f.Set.Add(c, e.Value)
		emit(c, fmt.Sprint(added, f.Set.Len(c), f.Set.Contains(c, 2), list(f.Set.All(c))))
		if f.Set.Len(c) == 3 {
			f.Set.Delete(c, 1)
			f.Set.Delete(c, 1000)
		}
		if e.Value == 9 {
			f.Set.Clear(c)
		}
	}), k(1, 2, 1, 3, 9, 2), "true 1 false [1]", "true 2 true [1 2]", "false 2 true [1 2]", "true 3 true [1 2 3]",
		"true 3 true [3 2 9]", "true 1 true [2]")
}

func TestSetAddInsertsWithoutAReadOfItsResult(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Set.Add(c, e.Value)
		if f.Set.Len(c) == 2 {
			emit(c, fmt.Sprint(list(f.Set.All(c))))
		}
	}), k(4, 5), "[4 5]")
}

func TestMapHoldsAValueForEachKey(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		name := fmt.Sprint("n", e.Value%3)
		v, ok := f.Map.Lookup(c, name)
		f.Map.Put(c, name, v+e.Value)
		emit(c, fmt.Sprint(ok, f.Map.Get(c, name), f.Map.Len(c)))
		if e.Value == 4 {
			emit(c, fmt.Sprint(maps.Collect(f.Map.All(c))))
			f.Map.Delete(c, "n0")
			f.Map.Delete(c, "none")
			emit(c, fmt.Sprint(maps.Collect(f.Map.All(c)), f.Map.Get(c, "n0")))
			f.Map.Clear(c)
			emit(c, fmt.Sprint(f.Map.Len(c)))
		}
	}), k(1, 2, 3, 4), "false 1 1", "false 2 2", "false 3 3", "true 5 3",
		"map[n0:3 n1:5 n2:2]", "map[n1:5 n2:2] 0", "0")
}

func TestMapPutIfAbsentInsertsWithoutAReadOfItsResult(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Map.PutIfAbsent(c, "x", e.Value)
		v, put := f.Map.PutIfAbsent(c, "x", 100)
		emit(c, fmt.Sprint(v, put, f.Map.Len(c)))
		v, put = f.Map.PutIfAbsent(c, fmt.Sprint(e.Value), 200)
		emit(c, fmt.Sprint(v, put, f.Map.Len(c)))
	}), k(1, 2), "1 false 1", "200 true 2", "1 false 2", "200 true 3")
}

func TestMapOfManyKeys(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		for i := range 100 {
			f.Map.Put(c, fmt.Sprint(i), i)
		}
		for i := 0; i < 100; i += 2 {
			f.Map.Delete(c, fmt.Sprint(i))
		}
		f.Map.Put(c, "1", -1)
		sum := 0
		for i := range 100 {
			sum += f.Map.Get(c, fmt.Sprint(i))
		}
		emit(c, fmt.Sprint(f.Map.Len(c), sum))
	}), k(0), "50 2498")
}

func TestMultimapHoldsAllValuesOfAKey(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Multi.Put(c, "a", e.Value)
		f.Multi.Put(c, "a", e.Value+1)
		f.Multi.Put(c, "b", e.Value)
		emit(c, fmt.Sprint(list(f.Multi.Get(c, "a")), list(f.Multi.Get(c, "b")), list(f.Multi.Get(c, "c"))))
	}), k(1, 5), "[1 2] [1] []", "[1 2 5 6] [1 5] []")
}

func TestMultimapIteratesOverKeysAndEntries(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Multi.Put(c, "a", 1)
		f.Multi.Put(c, "b", 2)
		f.Multi.Put(c, "a", 3)
		var entries []string
		for k, v := range f.Multi.All(c) {
			entries = append(entries, fmt.Sprint(k, v))
		}
		emit(c, fmt.Sprint(sorted(f.Multi.Keys(c)), entries, f.Multi.Len(c)))
	}), k(0), "[a b] [a1 a3 b2] 2")
}

func TestMultimapForgetsRemovedKeys(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Multi.Put(c, "a", 1)
		f.Multi.Put(c, "b", 2)
		f.Multi.Delete(c, "a")
		emit(c, fmt.Sprint(f.Multi.Has(c, "a"), f.Multi.Has(c, "b"), list(f.Multi.Get(c, "a")), f.Multi.Len(c)))
		f.Multi.Delete(c, "b")
		emit(c, fmt.Sprint(f.Multi.Has(c, "b"), f.Multi.Len(c)))
		f.Multi.Put(c, "b", 3)
		emit(c, fmt.Sprint(list(f.Multi.Get(c, "b"))))
		f.Multi.Clear(c)
		emit(c, fmt.Sprint(f.Multi.Len(c), list(f.Multi.Keys(c))))
	}), k(0), "false true [] 1", "false 0", "[3]", "0 []")
}

func TestCombiningKeepsTheAccumulator(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		empty := f.Mean.Empty(c)
		f.Mean.Add(c, e.Value)
		emit(c, fmt.Sprint(empty, f.Mean.Get(c), f.Mean.Accumulator(c)))
		if e.Value == 6 {
			f.Mean.Merge(c, combine.MeanAcc{N: 1, Sum: 5})
			emit(c, fmt.Sprint(f.Mean.Get(c)))
			f.Mean.Clear(c)
			emit(c, fmt.Sprint(f.Mean.Empty(c), f.Mean.Get(c)))
		}
	}), k(1, 2, 6), "true 1 {1 1}", "false 1.5 {2 3}", "false 3 {3 9}", "3.5", "true NaN")
}

// longest combines by its own rules, with an accumulator that is a slice.
type longest struct{}

func (longest) Create() []int              { return nil }
func (longest) Add(acc []int, v int) []int { return append(acc, v) }
func (longest) Merge(a, b []int) []int     { return append(a, b...) }
func (longest) Extract(acc []int) int      { return len(acc) }

type lengths struct {
	All state.Combining[int, []int, int] `state:"all"`
}

func (f *lengths) Process(c *pcoll.Context, e pair, emit pcoll.Emit[string]) error {
	f.All.Add(c, e.Value)
	kept := f.All.Accumulator(c)
	f.All.Add(c, -e.Value)
	emit(c, fmt.Sprint(kept, f.All.Get(c)))
	return nil
}

func TestCombiningByACombinerOfOnesOwn(t *testing.T) {
	checkState(t, &lengths{All: state.Combined(longest{})}, k(1, 2), "[1] 2", "[1 -1 2] 4")
}

func TestOrderedListIsInTheOrderOfTime(t *testing.T) {
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.List.Add(c, sec(10*(e.Value%3)), e.Value)
		emit(c, fmt.Sprint(f.List.Len(c), listed(f.List.All(c))))
	}), k(1, 2, 3, 4), "1 [10:1]", "2 [10:1 20:2]", "3 [0:3 10:1 20:2]", "4 [0:3 10:1 10:4 20:2]")
}

func TestOrderedListRanges(t *testing.T) {
	var open time.Time
	ms := time.Millisecond
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.List.Add(c, sec(e.Value), e.Value)
		if e.Value != 5 {
			return
		}
		for _, r := range [][2]time.Time{{open, open}, {sec(2), sec(4)}, {sec(2), open}, {open, sec(2)}, {sec(4), sec(2)}, {sec(7), sec(9)},
			{sec(2).Add(-ms), sec(4).Add(ms)}, {sec(2).Add(time.Microsecond), sec(4).Add(time.Microsecond)}} {
			emit(c, fmt.Sprint(listed(f.List.Range(c, r[0], r[1]))))
		}
	}), k(4, 1, 3, 2, 5), "[1:1 2:2 3:3 4:4 5:5]", "[2:2 3:3]", "[2:2 3:3 4:4 5:5]", "[1:1]", "[]", "[]", "[2:2 3:3 4:4]", "[3:3 4:4]")
}

func TestOrderedListClearsRanges(t *testing.T) {
	var open time.Time
	checkState(t, stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		for i := range 6 {
			f.List.Add(c, sec(i), i)
		}
		f.List.ClearRange(c, sec(2), sec(4))
		emit(c, fmt.Sprint(listed(f.List.All(c))))
		f.List.ClearRange(c, open, sec(1))
		emit(c, fmt.Sprint(listed(f.List.All(c))))
		f.List.ClearRange(c, sec(5), open)
		f.List.ClearRange(c, sec(9), sec(7))
		emit(c, fmt.Sprint(listed(f.List.All(c))))
		f.List.ClearRange(c, open, open)
		f.List.Add(c, sec(3), 3)
		emit(c, fmt.Sprint(listed(f.List.All(c))))
		f.List.Clear(c)
		emit(c, fmt.Sprint(f.List.Len(c)))
	}), k(0), "[0:0 1:1 4:4 5:5]", "[1:1 4:4 5:5]", "[1:1 4:4]", "[3:3]", "0")
}

func TestStateIsGoneAfterExpiry(t *testing.T) {
	p := pcoll.New("state")
	in := teststream.New[pair]().
		Elements(sec(1), k(1)...).
		Watermark(sec(12).Add(-time.Millisecond)). // the expiry itself, which still accepts
		Elements(sec(2), k(2)...).
		Watermark(sec(12)).
		Bundle(teststream.At(sec(3), kv("k", 3)), teststream.At(sec(11), kv("k", 4))).
		Source(p)
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		f.Value.Set(c, f.Value.Get(c)+e.Value)
		emit(c, fmt.Sprint(f.Value.Get(c)))
	})
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(2*time.Second), windowing.Discarding())
	out, late := StatefulParDoWithLate(windowed, fn, pcoll.Named("Stateful"))
	passert.Windows(t, out, passert.Holds(secs(0, 10), "1", "3"), passert.Holds(secs(10, 20), "4"))
	passert.Panes(t, late, passert.Ungrouped(kv("k", 3)).At(sec(3)).In(pcoll.Global))
	for name, res := range ptest.Run(t, p) {
		if tr, _ := res.Transform("Stateful"); tr.DroppedLate != 1 || tr.Elements != 4 {
			t.Errorf("%s: %d of %d dropped as late, want 1 of 4", name, tr.DroppedLate, tr.Elements)
		}
	}
}

func TestKeysThatAreOneInstantShareState(t *testing.T) {
	p := pcoll.New("state")
	berlin := time.FixedZone("Berlin", 3600)
	in := teststream.New[pcoll.KV[time.Time, int]]().
		Elements(sec(1), pcoll.Pair(sec(5).UTC(), 1)).Elements(sec(1), pcoll.Pair(sec(5).In(berlin), 2)).Source(p)
	passert.Equals(t, StatefulParDo(in, &byTime{}), 1, 3)
	ptest.Run(t, p)
}

type byTime struct {
	Sum state.Value[int] `state:"sum"`
}

func (f *byTime) Process(c *pcoll.Context, e pcoll.KV[time.Time, int], emit pcoll.Emit[int]) error {
	f.Sum.Set(c, f.Sum.Get(c)+e.Value)
	emit(c, f.Sum.Get(c))
	return nil
}
