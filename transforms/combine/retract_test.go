package combine_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/transforms/combine"
)

// TestRetractUndoesAdd checks, for each combiner that takes elements back, that
// what was added and taken out leaves no trace, in any order.
func TestRetractUndoesAdd(t *testing.T) {
	double := func(v int64) int64 { return 2 * v }
	undoes(t, "sum", combine.Sum[int64]())
	undoes(t, "count", combine.Count[int64]())
	undoes(t, "mean", combine.Mean[int64]())
	undoes(t, "on", combine.On(double, combine.Sum[int64]()))
	undoes(t, "then", combine.Then(combine.Sum[int64](), double))
	undoes(t, "both", combine.Both(combine.Sum[int64](), combine.Count[int64]()))
	undoes(t, "three", combine.All3(combine.Sum[int64](), combine.Count[int64](), combine.Mean[int64]()))
}

func undoes[Acc, Out comparable](t *testing.T, name string, c combine.Combiner[int64, Acc, Out]) {
	t.Run(name, func(t *testing.T) {
		retract := combine.RetracterOf(c)
		if retract == nil {
			t.Fatal("does not retract")
		}
		rapid.Check(t, func(t *rapid.T) {
			values := rapid.SliceOfN(rapid.Int64Range(-1<<40, 1<<40), 1, 10).Draw(t, "values")
			gone := rapid.IntRange(0, len(values)-1).Draw(t, "gone")
			with, without := c.Create(), c.Create()
			for i, v := range values {
				with = c.Add(with, v)
				if i >= gone {
					without = c.Add(without, v)
				}
			}
			for _, v := range rapid.Permutation(values[:gone]).Draw(t, "order") {
				with = retract(with, v)
			}
			if with != without || c.Extract(with) != c.Extract(without) {
				t.Fatalf("%v less the first %d is %v, want %v", values, gone, with, without)
			}
		})
	})
}

// TestWhatCannotRetract lists combiners for which the values have to be kept.
func TestWhatCannotRetract(t *testing.T) {
	for name, retracts := range map[string]bool{
		"max":            combine.RetracterOf(combine.Max[int64]()) != nil,
		"sum of floats":  combine.RetracterOf(combine.Sum[float64]()) != nil,
		"mean of floats": combine.RetracterOf(combine.Mean[float32]()) != nil,
		"on":             combine.RetracterOf(combine.On(func(s string) float64 { return 0 }, combine.Sum[float64]())) != nil,
		"then":           combine.RetracterOf(combine.Then(combine.Min[int](), func(i int) int { return i })) != nil,
		"both, first":    combine.RetracterOf(combine.Both(combine.Max[int](), combine.Sum[int]())) != nil,
		"both, second":   combine.RetracterOf(combine.Both(combine.Sum[int](), combine.Max[int]())) != nil,
	} {
		if retracts {
			t.Errorf("%s retracts, and cannot", name)
		}
	}
	type cents float64
	if combine.RetracterOf(combine.Sum[cents]()) != nil {
		t.Error("a sum of a type whose kind is a float retracts")
	}
}
