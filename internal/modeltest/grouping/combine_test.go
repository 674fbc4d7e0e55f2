package grouping_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// sortedDigits is a combiner of one's own, whose accumulator is neither its input
// nor its output: it counts digits, and says them in order.
type sortedDigits struct{}

type digits struct{ Seen [10]int8 }

var _ combine.Combiner[int, digits, string] = sortedDigits{}

func (sortedDigits) Create() digits { return digits{} }
func (sortedDigits) Add(d digits, n int) digits {
	for ; n > 0; n /= 10 {
		d.Seen[n%10]++
	}
	return d
}
func (sortedDigits) Merge(a, b digits) digits {
	for i := range b.Seen {
		a.Seen[i] += b.Seen[i]
	}
	return a
}
func (sortedDigits) Extract(d digits) string {
	var b strings.Builder
	for i, n := range d.Seen {
		b.WriteString(strings.Repeat(string(rune('0'+i)), int(n)))
	}
	return b.String()
}

// table is what most tests of Beam's combine: values of two keys at their seconds.
var table = []pair{kv("a", 1), kv("a", 1), kv("a", 4), kv("b", 1), kv("b", 13)}

// TestCombinersOfOnesOwn per key and of all, of some and of none.
func TestCombinersOfOnesOwn(t *testing.T) {
	onAll(t, "per key", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, CombinePerKey(CreateFrom(p, table), sortedDigits{}), pcoll.Pair("a", "114"), pcoll.Pair("b", "113"))
	})
	onAll(t, "of all", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Combine(Values(CreateFrom(p, table)), sortedDigits{}), "111134")
	})
	onAll(t, "per key of none", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Empty(t, CombinePerKey(CreateFrom[pair](p, nil), sortedDigits{}))
	})
	onAll(t, "of none", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Combine(Create[int](p), sortedDigits{}), "")
		passert.Empty(t, Combine(Create[int](p), sortedDigits{}, NoDefault()))
	})
	onAll(t, "by functions before and behind", func(t *testing.T, p *pcoll.Pipeline) {
		tenfold := func(n int) int { return 10 * n }
		shouted := combine.Then(combine.On(tenfold, sortedDigits{}), strings.ToUpper) // a function, and one of a package
		passert.Equals(t, CombinePerKey(CreateFrom(p, table), shouted), pcoll.Pair("a", "000114"), pcoll.Pair("b", "00113"))
		passert.Equals(t, Combine(Values(CreateFrom(p, table)), shouted), "00000111134")
	})
	onAll(t, "of many elements, in parts", func(t *testing.T, p *pcoll.Pipeline) {
		nines := KeyBy(Map(GenerateSequence(p, 0, 6000), func(n int64) int { return 9 }), func(int) string { return "k" })
		passert.Equals(t, CombinePerKey(nines, combine.Then(combine.Both(combine.Count[int](), combine.Sum[int]()), func(r combine.Two[int64, int]) int {
			return r.Second / int(r.First)
		})), kv("k", 9))
	})
}

// TestComposedCombinersOfNil: parts of a composition may have no value.
func TestComposedCombinersOfNil(t *testing.T) {
	one, three := 1, 3
	onAll(t, "some nil", func(t *testing.T, p *pcoll.Pipeline) {
		both := combine.Both(lastOf{}, combine.Count[*int]())
		type result = combine.Two[*int, int64]
		passert.Equals(t, CombinePerKey(Create(p, pcoll.Pair("a", &one), pcoll.Pair("b", (*int)(nil)), pcoll.Pair("a", (*int)(nil)), pcoll.Pair("a", &three)), both),
			pcoll.Pair("a", result{First: &three, Second: 3}), pcoll.Pair("b", result{First: nil, Second: 1}))
	})
}

// lastOf keeps the greatest of what is not nil.
type lastOf struct{}

func (lastOf) Create() *int { return nil }
func (lastOf) Add(a, b *int) *int {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
func (l lastOf) Merge(a, b *int) *int { return l.Add(a, b) }
func (lastOf) Extract(a *int) *int    { return a }

// TestCombinationsInWindows per key, and of those results of all keys.
func TestCombinationsInWindows(t *testing.T) {
	for _, c := range []struct {
		name string
		fn   windowing.Fn
		want []passert.Contents[pair]
		all  []passert.Contents[string]
	}{
		{"fixed", windowing.Fixed(2 * time.Second),
			[]passert.Contents[pair]{passert.Holds(secs(0, 2), kv("a", 2), kv("b", 1)), passert.Holds(secs(4, 6), kv("a", 4)), passert.Holds(secs(12, 14), kv("b", 13))},
			[]passert.Contents[string]{passert.Holds(secs(0, 2), "111"), passert.Holds(secs(4, 6), "4"), passert.Holds(secs(12, 14), "13")}},
		{"sliding", windowing.Sliding(4*time.Second, 2*time.Second),
			[]passert.Contents[pair]{passert.Holds(secs(-2, 2), kv("a", 2), kv("b", 1)), passert.Holds(secs(0, 4), kv("a", 2), kv("b", 1)),
				passert.Holds(secs(2, 6), kv("a", 4)), passert.Holds(secs(4, 8), kv("a", 4)), passert.Holds(secs(10, 14), kv("b", 13)),
				passert.Holds(secs(12, 16), kv("b", 13))},
			[]passert.Contents[string]{passert.Holds(secs(-2, 2), "111"), passert.Holds(secs(0, 4), "111"), passert.Holds(secs(2, 6), "4"),
				passert.Holds(secs(4, 8), "4"), passert.Holds(secs(10, 14), "13"), passert.Holds(secs(12, 16), "13")}},
		{"sessions", windowing.Sessions(5 * time.Second),
			[]passert.Contents[pair]{passert.Holds(secs(1, 9), kv("a", 6)), passert.Holds(secs(1, 6), kv("b", 1)), passert.Holds(secs(13, 18), kv("b", 13))},
			[]passert.Contents[string]{passert.Holds(secs(1, 9), "1114"), passert.Holds(secs(13, 18), "13")}},
	} {
		onAll(t, c.name, func(t *testing.T, p *pcoll.Pipeline) {
			in := windowing.Into(stamped(p, table...), c.fn)
			passert.Windows(t, SumPerKey(in), c.want...)
			passert.Windows(t, Combine(Values(in), sortedDigits{}), c.all...)
			passert.Empty(t, Combine(windowing.Into(Create[int](p), c.fn), sortedDigits{}))
		})
	}
}

// TestCombinationsOfWhatASideInputChose: a combiner has no context; what it needs
// of a side input stands beside the elements, in each of their windows.
func TestCombinationsOfWhatASideInputChose(t *testing.T) {
	scaled := func(e pair, by side.Singleton[int]) pair { return kv(e.Key, e.Value*by.Get()) }
	scale := func(in pcoll.PCollection[pair]) pcoll.PCollection[pair] {
		// Of each window the sum of its values, as a side input: windows of fixed and
		// sliding kind correspond to themselves.
		return MapSide(in, side.AsSingletonOr(Combine(Values(in), combine.Sum[int](), NoDefault()), 0), scaled)
	}
	onAll(t, "in the global window", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, SumPerKey(scale(CreateFrom(p, table))), kv("a", 120), kv("b", 280))
		passert.Equals(t, Sum(Values(scale(CreateFrom(p, table)))), 400)
		three := func(string) int { return 3 }
		passert.Equals(t, CombinePerKeyWithFanout(scale(CreateFrom(p, table)), combine.Sum[int](), three), kv("a", 120), kv("b", 280))
		passert.Equals(t, Sum(Values(scale(CreateFrom[pair](p, nil)))), 0)
	})
	onAll(t, "in fixed windows", func(t *testing.T, p *pcoll.Pipeline) {
		in := windowing.Into(stamped(p, table...), windowing.Fixed(2*time.Second))
		passert.Windows(t, SumPerKey(scale(in)), passert.Holds(secs(0, 2), kv("a", 6), kv("b", 3)), passert.Holds(secs(4, 6), kv("a", 16)),
			passert.Holds(secs(12, 14), kv("b", 169)))
	})
	onAll(t, "in sliding windows", func(t *testing.T, p *pcoll.Pipeline) {
		in := windowing.Into(stamped(p, table...), windowing.Sliding(4*time.Second, 2*time.Second))
		// A sliding window corresponds to the earliest that holds its end: itself.
		passert.In(t, SumPerKey(scale(in)), secs(2, 6), kv("a", 16))
		passert.In(t, SumPerKey(scale(in)), secs(0, 4), kv("a", 6), kv("b", 3))
	})
	onAll(t, "then in sessions", func(t *testing.T, p *pcoll.Pipeline) {
		timed := stamped(p, table...)
		chosen := MapSide(timed, side.AsSingleton(Sum(Values(timed))), scaled)
		passert.Windows(t, SumPerKey(windowing.Into(chosen, windowing.Sessions(5*time.Second))),
			passert.Holds(secs(1, 9), kv("a", 120)), passert.Holds(secs(1, 6), kv("b", 20)), passert.Holds(secs(13, 18), kv("b", 260)))
	})
}

// eachElement fires for each bundle.
var eachElement = windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(1)})

// TestDefaultsAndTriggers: what a trigger fires of the global window is refined,
// and never by the default, which is the result of no element where the default
// trigger fires once for all.
func TestDefaultsAndTriggers(t *testing.T) {
	global := []pcoll.Option{eachElement, windowing.Accumulating()}
	onAll(t, "of some", func(t *testing.T, p *pcoll.Pipeline) {
		in := teststream.New[int]().Elements(sec(1), 1).Elements(sec(1), 2).Source(p)
		passert.Panes(t, Sum(windowing.Into(in, windowing.Global(), global...)), passert.Early(1), passert.Early(3), passert.OnTime(3))
	})
	onAll(t, "of none", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Empty(t, Sum(windowing.Into(teststream.New[int]().Watermark(sec(1)).Source(p), windowing.Global(), global...)))
		passert.Empty(t, Sum(windowing.Into(Create[int](p), windowing.Global(), global...)))
		passert.Panes(t, Sum(Create[int](p)), passert.OnTime(0).In(pcoll.Global).Final())
	})
	onAll(t, "of a bounded collection", func(t *testing.T, p *pcoll.Pipeline) {
		sums := Sum(windowing.Into(Create(p, 1, 1), windowing.Global(), global...))
		passert.That(t, sums, func(got []passert.Element[int]) error {
			if last := got[len(got)-1].Value; last != 2 || slices.ContainsFunc(got, func(e passert.Element[int]) bool { return e.Value == 0 }) {
				t.Errorf("panes %v: want no default, and 2 in the end", got)
			}
			return nil
		})
	})
}

// TestCombinationsAsSideInputs: a singleton is the combination, or its default.
func TestCombinationsAsSideInputs(t *testing.T) {
	add := func(n int, s side.Singleton[int]) int { return n + s.Get() }
	p := pcoll.New("grouping")
	in := Create(p, 100, 200)
	passert.Equals(t, MapSide(in, side.AsSingleton(Sum(Create(p, 1, 2, 3))), add), 106, 206)
	passert.Equals(t, MapSide(in, side.AsSingleton(Sum(Create[int](p))), add), 100, 200)
	windowed := windowing.Into(Values(stamped(p, kv("", 1), kv("", 2), kv("", 25))), windowing.Fixed(10*time.Second))
	main := windowing.Into(Values(stamped(p, kv("", 3), kv("", 15), kv("", 28))), windowing.Fixed(10*time.Second))
	passert.Windows(t, MapSide(main, side.AsSingletonOr(Sum(windowed), 0), add),
		passert.Holds(secs(0, 10), 6), passert.Holds(secs(10, 20), 15), passert.Holds(secs(20, 30), 53))
	ptest.Run(t, p)
}
