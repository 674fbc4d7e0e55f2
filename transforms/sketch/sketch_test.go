package sketch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/transforms/sketch"
)

func fold[In, Acc, Out any](c combine.Combiner[In, Acc, Out], vs ...In) Out {
	acc := c.Create()
	for _, v := range vs {
		acc = c.Add(acc, v)
	}
	return c.Extract(acc)
}

// TestLaws: however elements are divided, ordered, merged, encoded and copied on
// the way, the result is the same; a copy does not change with its original.
func TestLaws(t *testing.T) {
	for _, precision := range []int{4, 14} { // of which the first is soon dense
		t.Run(fmt.Sprint("distinct ", precision), law(sketch.Distinct[int](precision), rapid.IntRange(0, 500), func(n int64) any { return n }))
	}
	numbers := rapid.OneOf(rapid.Float64Range(-1e3, 1e3), rapid.Float64(), rapid.Just(0.0), rapid.Just(math.Inf(1)), rapid.Just(math.NaN()))
	t.Run("quantiles", law(sketch.Quantiles[float64](0.02, 0, 0.25, 0.5, 0.999, 1), numbers, func(q []float64) any { return fmt.Sprint(q) })) // NaN is not itself
}

func law[In, Acc, Out any](c combine.Combiner[In, Acc, Out], gen *rapid.Generator[In], comparable func(Out) any) func(*testing.T) {
	return func(t *testing.T) {
		coder, err := combine.CoderOf(c)
		if err != nil {
			t.Fatal(err)
		}
		clone, err := combine.CopierOf(c)
		if err != nil || clone == nil {
			t.Fatalf("accumulators are assigned: %v", err)
		}
		result := func(a Acc) any { return comparable(c.Extract(a)) }
		rapid.Check(t, func(r *rapid.T) {
			vs := rapid.SliceOfN(gen, 0, 60).Draw(r, "elements")
			want := comparable(fold(c, vs...))
			parts := []Acc{c.Create()}
			for _, v := range rapid.Permutation(vs).Draw(r, "order") {
				i := len(parts) - 1
				switch rapid.IntRange(0, 4).Draw(r, "step") {
				case 0:
					parts = append(parts, c.Create())
					i++
				case 1:
					parts[i] = through(r, coder, parts[i])
				case 2:
					was, kept := result(parts[i]), clone(parts[i])
					parts[i] = c.Add(parts[i], v)
					if now := result(kept); !reflect.DeepEqual(now, was) {
						r.Fatalf("a copy changed from %v to %v with its original", was, now)
					}
					continue
				}
				parts[i] = c.Add(parts[i], v)
			}
			all := c.Create()
			for _, p := range parts {
				was := result(p)
				all = c.Merge(all, p)
				if now := result(p); !reflect.DeepEqual(now, was) {
					r.Fatalf("Merge changed its second argument from %v to %v", was, now)
				}
			}
			if got := result(all); !reflect.DeepEqual(got, want) {
				r.Fatalf("%v in parts: %v, want %v", vs, got, want)
			}
		})
	}
}

func through[Acc any](r *rapid.T, coder coders.Coder[Acc], acc Acc) Acc {
	buf, err := coder.Append([]byte("head"), acc)
	if err != nil {
		r.Fatal(err)
	}
	back, rest, err := coder.Decode(append(buf[4:], "rest"...))
	if err != nil || string(rest) != "rest" {
		r.Fatalf("accumulator decodes with %q behind it: %v", rest, err)
	}
	return back
}

// TestDistinctError restates Beam's ApproximateUniqueTest: estimates are within
// three standard errors, whatever the number of elements and of repetitions.
func TestDistinctError(t *testing.T) {
	for _, precision := range []int{10, 14} {
		c := sketch.Distinct[string](precision)
		off := 3 * 1.04 / math.Sqrt(float64(int(1)<<precision))
		for _, n := range []int{0, 1, 2, 100, 5000, 100_000} {
			acc := c.Create()
			for i := range 2 * n {
				acc = c.Add(acc, fmt.Sprint("element ", i%n))
			}
			if got := float64(c.Extract(acc)); math.Abs(got-float64(n)) > off*float64(n) {
				t.Errorf("precision %d: %d different elements are estimated %v, more than %.1f %% off", precision, n, got, 100*off)
			}
		}
	}
}

// TestQuantilesError restates Beam's ApproximateQuantilesTest: values at any
// quantile are as near as the accuracy says, for any distribution and sign.
func TestQuantilesError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	at := []float64{0, 0.001, 0.01, 0.25, 0.5, 0.75, 0.99, 0.999, 1}
	for name, draw := range map[string]func(i int) float64{
		"one value":   func(int) float64 { return 42 },
		"ascending":   func(i int) float64 { return float64(i) },
		"uniform":     func(int) float64 { return random.Float64()*200 - 100 },
		"exponential": func(int) float64 { return random.ExpFloat64() * 1e6 },
		"heavy":       func(int) float64 { return math.Exp(20 * random.Float64()) },
		"times":       func(int) float64 { return 1.7e12 + float64(random.IntN(1e9)) },
	} {
		vs := make([]float64, 20_000)
		for i := range vs {
			vs[i] = draw(i)
		}
		for _, accuracy := range []float64{0.05, 0.01, 0.001} {
			got := fold(sketch.Quantiles[float64](accuracy, at...), vs...)
			slices.Sort(vs)
			for i, p := range at {
				rank := p * float64(len(vs)-1)
				low, high := vs[int(math.Floor(rank))], vs[int(math.Ceil(rank))] // a rank between two may be either's
				near := func(want float64) bool { return math.Abs(got[i]-want) <= accuracy*math.Abs(want)*1.000001 }
				if !near(low) && !near(high) {
					t.Errorf("%s: the value at %v is %v, want %v or %v within %v of it", name, p, got[i], low, high, accuracy)
				}
			}
			if got[0] != vs[0] || got[len(got)-1] != vs[len(vs)-1] {
				t.Errorf("%s: extremes are %v and %v, want exactly %v and %v", name, got[0], got[len(got)-1], vs[0], vs[len(vs)-1])
			}
		}
	}
}

func TestQuantilesOfOddNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		vs   []float64
		want string
	}{
		{nil, "[NaN NaN]"},
		{[]float64{nan}, "[NaN NaN]"},
		{[]float64{nan, 3}, "[3 3]"},
		{[]float64{0, 0, 0}, "[0 0]"},
		{[]float64{-inf, 0, inf}, "[-Inf 0]"},
		{[]float64{5e-324, 0}, "[0 0]"},
	} {
		if got := fmt.Sprint(fold(sketch.Quantiles[float64](0.01, 0, 0.5), c.vs...)); got != c.want {
			t.Errorf("of %v: %s, want %s", c.vs, got, c.want)
		}
	}
	if got := fold(sketch.Quantiles[uint8](0.01, 0, 1), 7, 255); got[0] != 7 || got[1] != 255 {
		t.Errorf("extremes of bytes are %v", got)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{combine.CheckOf(sketch.Distinct[int](3)), "sketch.Distinct with a precision of 3; want 4 to 18"},
		{combine.CheckOf(sketch.Distinct[int](19)), "precision of 19"},
		{combine.CheckOf(sketch.Distinct[float64](14)), "cannot use as a key float64"},
		{combine.CheckOf(sketch.Quantiles[int](0, 0.5)), "sketch.Quantiles with an accuracy of 0; want a relative error between 0 and 1, such as 0.01"},
		{combine.CheckOf(sketch.Quantiles[int](math.NaN(), 0.5)), "accuracy of NaN"},
		{combine.CheckOf(sketch.Quantiles[int](1, 0.5)), "accuracy of 1;"},
		{combine.CheckOf(sketch.Quantiles[int](0.01)), "of no quantile; name some"},
		{combine.CheckOf(sketch.Quantiles[int](0.01, 0.5, 95)), "sketch.Quantiles at 95; want 0 to 1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", c.err, c.want)
		}
	}
}

// TestDamagedAccumulators decodes what is cut off, and what is of another combiner.
func TestDamagedAccumulators(t *testing.T) {
	d, q := sketch.Distinct[int](14), sketch.Quantiles[int](0.01, 0.5)
	da, qa := d.Create(), q.Create()
	for i := range 50 {
		da, qa = d.Add(da, i), q.Add(qa, i-20)
	}
	cut(t, "distinct", d, da)
	cut(t, "quantiles", q, qa)
	foreign(t, "precision 14, want 10", d, da, sketch.Distinct[int](10))
	far := sketch.Quantiles[float64](0.001, 0.5)
	foreign(t, "was the accuracy changed?", far, far.Add(far.Create(), 1e300), sketch.Quantiles[float64](0.5, 0.5))
}

func encoded[In, Acc, Out any](t *testing.T, c combine.Combiner[In, Acc, Out], acc Acc) (coders.Coder[Acc], []byte) {
	t.Helper()
	coder, err := combine.CoderOf(c)
	if err != nil {
		t.Fatal(err)
	}
	buf, err := coder.Append(nil, acc)
	if err != nil {
		t.Fatal(err)
	}
	return coder, buf
}

func cut[In, Acc, Out any](t *testing.T, name string, c combine.Combiner[In, Acc, Out], acc Acc) {
	t.Helper()
	coder, buf := encoded(t, c, acc)
	for n := range buf {
		if _, _, err := coder.Decode(buf[:n]); err == nil {
			t.Errorf("%s: %d of %d bytes decode", name, n, len(buf))
		}
	}
}

func foreign[In, Acc, Out any](t *testing.T, want string, c combine.Combiner[In, Acc, Out], acc Acc, other combine.Combiner[In, Acc, Out]) {
	t.Helper()
	_, buf := encoded(t, c, acc)
	coder, _ := encoded(t, other, other.Create())
	if _, _, err := coder.Decode(buf); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// FuzzDecode decodes any bytes as accumulators: without a panic, and what decodes can be used.
func FuzzDecode(f *testing.F) {
	d, q := sketch.Distinct[int](10), sketch.Quantiles[float64](0.01, 0, 0.5, 1)
	dc, err := combine.CoderOf(d)
	if err != nil {
		f.Fatal(err)
	}
	qc, err := combine.CoderOf(q)
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range []int{0, 1, 300} {
		da, qa := d.Create(), q.Create()
		for i := range n {
			da, qa = d.Add(da, i), q.Add(qa, float64(i-10))
		}
		for _, enc := range []func() ([]byte, error){
			func() ([]byte, error) { return dc.Append(nil, da) }, func() ([]byte, error) { return qc.Append(nil, qa) }} {
			b, err := enc()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(_ *testing.T, src []byte) {
		if a, _, err := dc.Decode(src); err == nil {
			d.Extract(d.Add(d.Merge(d.Create(), a), 7))
		}
		if a, _, err := qc.Decode(src); err == nil {
			q.Extract(q.Add(q.Merge(q.Create(), a), 7))
		}
	})
}
