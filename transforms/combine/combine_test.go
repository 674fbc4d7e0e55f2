package combine_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/coders"
	. "github.com/penstock-dev/penstock/transforms/combine"
	"pgregory.net/rapid"
)

// fold combines vs one by one.
func fold[In, Acc, Out any](c Combiner[In, Acc, Out], vs ...In) Out {
	acc := c.Create()
	for _, v := range vs {
		acc = c.Add(acc, v)
	}
	return c.Extract(acc)
}

func TestResults(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	desc := func(a, b int) int { return cmp.Compare(b, a) }
	for _, c := range []struct{ name, got, want string }{
		{"sum", fmt.Sprint(fold(Sum[int](), 1, 2, 3)), "6"},
		{"sum of none", fmt.Sprint(fold(Sum[int]())), "0"},
		{"sum wraps around", fmt.Sprint(fold(Sum[int8](), 100, 100)), "-56"},
		{"sum with NaN", fmt.Sprint(fold(Sum[float64](), 1, nan)), "NaN"},
		{"count", fmt.Sprint(fold(Count[string](), "a", "b")), "2"},
		{"count of none", fmt.Sprint(fold(Count[string]())), "0"},
		{"mean", fmt.Sprint(fold(Mean[int](), 1, 2)), "1.5"},
		{"mean of none", fmt.Sprint(fold(Mean[int]())), "NaN"},
		{"min", fmt.Sprint(fold(Min[int](), 3, 1, 2)), "1"},
		{"max", fmt.Sprint(fold(Max[int](), 3, 1, 7)), "7"},
		{"max of negatives", fmt.Sprint(fold(Max[int](), -3, -1)), "-1"},
		{"max of none", fmt.Sprint(fold(Max[string]()) == ""), "true"},
		{"max with NaN", fmt.Sprint(fold(Max[float64](), nan, -inf)), "-Inf"},
		{"min with NaN", fmt.Sprint(fold(Min[float64](), -inf, nan)), "NaN"},
		{"top", fmt.Sprint(fold(Top(3, cmp.Compare[int]), 5, 1, 9, 9, 2)), "[9 9 5]"},
		{"top of fewer", fmt.Sprint(fold(Top(3, desc), 5, 1)), "[1 5]"},
		{"top of none", fmt.Sprintf("%#v", fold(Top(3, desc))), "[]int{}"},
		{"on", fmt.Sprint(fold(On(func(s string) int { return len(s) }, Sum[int]()), "ab", "c")), "3"},
		{"then", fmt.Sprint(fold(Then(Sum[int](), func(n int) string { return fmt.Sprint("n", n) }), 2)), "n2"},
		{"both", fmt.Sprint(fold(Both(Min[int](), Max[int]()), 2, 1, 3)), "{1 3}"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
}

// law checks, for elements drawn from gen, that however elements are divided
// into parts, merged, encoded and copied on the way, the result is the same; and
// that a copy does not change with its original.
func law[In, Acc, Out any](name string, c Combiner[In, Acc, Out], gen *rapid.Generator[In]) func(*testing.T) {
	return func(t *testing.T) {
		coder, err := CoderOf(c)
		if err != nil {
			t.Fatal(err)
		}
		copier, err := CopierOf(c)
		if err != nil {
			t.Fatal(err)
		}
		if copier == nil {
			copier = func(acc Acc) Acc { return acc }
		}
		rapid.Check(t, func(r *rapid.T) {
			vs := rapid.SliceOfN(gen, 0, 20).Draw(r, "elements")
			want := fold(c, vs...)
			parts := []Acc{c.Create()}
			for _, v := range rapid.Permutation(vs).Draw(r, "order") {
				i := len(parts) - 1
				switch rapid.IntRange(0, 3).Draw(r, "step") {
				case 0:
					parts = append(parts, c.Create())
					i++
				case 1:
					parts[i] = through(r, coder, parts[i])
				case 2:
					was := c.Extract(parts[i])
					kept := copier(parts[i])
					parts[i] = c.Add(parts[i], v)
					if now := c.Extract(kept); !reflect.DeepEqual(now, was) {
						r.Fatalf("%s: a copy changed from %v to %v with its original", name, was, now)
					}
					continue
				}
				parts[i] = c.Add(parts[i], v)
			}
			all := c.Create()
			for _, p := range parts {
				was := c.Extract(p)
				all = c.Merge(all, p)
				if now := c.Extract(p); !reflect.DeepEqual(now, was) {
					r.Fatalf("%s: Merge changed its second argument from %v to %v", name, was, now)
				}
			}
			if got := c.Extract(all); !reflect.DeepEqual(got, want) {
				r.Fatalf("%s of %v in parts: %v, want %v", name, vs, got, want)
			}
		})
	}
}

func through[Acc any](r *rapid.T, coder coders.Coder[Acc], acc Acc) Acc {
	buf, err := coder.Append(nil, acc)
	if err != nil {
		r.Fatal(err)
	}
	back, rest, err := coder.Decode(append(buf, "rest"...))
	if err != nil || string(rest) != "rest" {
		r.Fatalf("accumulator decodes as %v with %q behind it: %v", back, rest, err)
	}
	return back
}

func TestLaws(t *testing.T) {
	ints := rapid.IntRange(-100, 100)
	words := rapid.StringN(0, 3, -1)
	length := func(s string) int { return len(s) }
	t.Run("sum", law("sum", Sum[int](), ints))
	t.Run("count", law("count", Count[string](), words))
	t.Run("mean", law("mean", Then(Mean[int](), func(m float64) string { return fmt.Sprint(m) }), ints)) // NaN is not equal to itself
	t.Run("min", law("min", Min[string](), words))
	t.Run("max", law("max", Max[int](), ints))
	t.Run("top", law("top", Top(3, cmp.Compare[int]), ints))
	t.Run("on", law("on", On(length, Top(2, cmp.Compare[int])), words))
	t.Run("both", law("both", Both(Top(2, cmp.Compare[string]), On(length, Sum[int]())), words))
	t.Run("both flat", law("both", Both(Min[int](), Max[int]()), ints))
	t.Run("all three", law("all three", All3(Min[int](), Top(2, cmp.Compare[int]), Sum[int]()), ints))
	t.Run("all four", law("all four", All4(Min[int](), Top(2, cmp.Compare[int]), Sum[int](), Count[int]()), ints))
	t.Run("set", law("set", set{}, ints))
}

// set has an accumulator that must be copied and says neither how to copy nor how to encode it.
type set struct{}

func (set) Create() map[int]bool { return map[int]bool{} }
func (set) Add(m map[int]bool, v int) map[int]bool {
	m[v] = true
	return m
}
func (set) Merge(m, o map[int]bool) map[int]bool {
	for v := range o {
		m[v] = true
	}
	return m
}
func (set) Extract(m map[int]bool) (vs []int) {
	for v := range m {
		vs = append(vs, v)
	}
	slices.Sort(vs)
	return vs
}

// mute is a set that says its accumulators have no coder.
type mute struct{ set }

func (mute) AccCoder() (coders.Coder[map[int]bool], error) { return nil, errors.New("no coder today") }

type forgetful struct{ set }

func (forgetful) AccCoder() (coders.Coder[map[int]bool], error) { return nil, nil }

func TestFlatAccumulatorsNeedNoCopy(t *testing.T) {
	for name, copies := range map[string]bool{
		"sum":       copied(t, Sum[int]()),
		"strings":   copied(t, Max[string]()),
		"mean":      copied(t, Mean[int]()),
		"both flat": copied(t, Both(Min[int](), Mean[int]())),
		"on flat":   copied(t, On(func(s string) int { return len(s) }, Sum[int]())),
	} {
		if copies {
			t.Errorf("%s is copied by more than assignment", name)
		}
	}
	if !copied(t, Both(Min[int](), Top(1, cmp.Compare[int]))) || !copied(t, Then(set{}, func([]int) int { return 0 })) {
		t.Error("an accumulator that can be shared is copied by assignment")
	}
}

func copied[In, Acc, Out any](t *testing.T, c Combiner[In, Acc, Out]) bool {
	t.Helper()
	f, err := CopierOf(c)
	if err != nil {
		t.Fatal(err)
	}
	return f != nil
}

func TestMistakes(t *testing.T) {
	coder := func(_ any, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{CheckOf[int, int, int](nil), "the combiner is nil"},
		{CheckOf(Top(0, cmp.Compare[int])), "combine.Top(0) keeps nothing; want at least 1"},
		{CheckOf(Top[int](1, nil)), "combine.Top has no function to compare by"},
		{CheckOf(On[string](nil, Sum[int]())), "combine.On has no function"},
		{CheckOf(On(func(s string) int { return 0 }, Top(-1, cmp.Compare[int]))), "combine.Top(-1) keeps nothing"},
		{CheckOf(Then[int, int, int, int](Sum[int](), nil)), "combine.Then has no function"},
		{CheckOf(All3(Sum[int](), Min[int](), Top(0, cmp.Compare[int]))), "combine.Top(0) keeps nothing"},
		{CheckOf(Any[int](0)), "combine.Any(0) keeps nothing; want at least 1"},
		{CheckOf(Both(Sum[int](), Top(0, cmp.Compare[int]))), "combine.Top(0) keeps nothing"},
		{coder(CoderOf(Both(Sum[int](), mute{}))), "no coder today"},
		{coder(CopierOf(Both(mute{}, Sum[int]()))), "no coder today"},
		{coder(CoderOf(forgetful{})), "AccCoder of combine_test.forgetful returned no coder"},
		{coder(CoderOf(Max[string]())), ""},
	} {
		if c.want == "" {
			if c.err != nil {
				t.Errorf("got %v, want none", c.err)
			}
			continue
		}
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", c.err, c.want)
		}
	}
}

// TestDamagedAccumulator covers decoding of what is cut off.
func TestDamagedAccumulator(t *testing.T) {
	coder, err := CoderOf(Both(Max[string](), Count[string]()))
	if err != nil {
		t.Fatal(err)
	}
	buf, err := coder.Append(nil, Two[Extreme[string], int64]{Extreme[string]{"abc", true}, 7})
	if err != nil {
		t.Fatal(err)
	}
	for n := range buf {
		if v, _, err := coder.Decode(buf[:n]); err == nil {
			t.Errorf("%d of %d bytes decode as %v", n, len(buf), v)
		}
	}
}

func ExampleOn() {
	type order struct {
		user  string
		cents int64
	}
	total := On(func(o order) int64 { return o.cents }, Sum[int64]())
	fmt.Println(fold(total, order{"ann", 250}, order{"bob", 100}))
	// Output: 350
}

func ExampleBoth() {
	fmt.Println(fold(Both(Mean[int](), Max[int]()), 1, 2, 6))
	// Output: {3 6}
}

func ExampleThen() {
	euros := Then(Sum[int](), func(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) })
	fmt.Println(fold(euros, 199, 251))
	// Output: 4.50
}

func ExampleTop() {
	fmt.Println(fold(Top(2, cmp.Compare[int]), 3, 9, 4))
	// Output: [9 4]
}
