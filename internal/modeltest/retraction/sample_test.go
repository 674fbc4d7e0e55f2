package retraction_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
)

// corrected are sums of which some are taken back: at the end A, B and C have 1, and D has 2.
func corrected(p *pcoll.Pipeline) pcoll.PCollection[amount] {
	return transforms.SumPerKey(early(teststream.New[amount]().
		Elements(at(1), pcoll.Pair("A", int64(5)), pcoll.Pair("B", int64(1)), pcoll.Pair("D", int64(2))).
		Elements(at(2), pcoll.Pair("A", int64(-4)), pcoll.Pair("C", int64(2))).
		Watermark(at(60)).
		Elements(at(3), pcoll.Pair("C", int64(-1))).
		Source(p)))
}

// TestSampleOfWhatStands checks that withdrawals find what they take back behind
// the lots that elements draw, and that a sample holds nothing else.
func TestSampleOfWhatStands(t *testing.T) {
	p := pcoll.New("sample")
	sums := corrected(p)
	values := transforms.Values(sums)
	passert.Equals(t, transforms.Map(transforms.Sample(values, 9), sorted), "[1 1 1 2]")
	passert.Equals(t, transforms.Map(transforms.Sample(transforms.Filter(values, func(v int64) bool { return v != 2 }), 2), sorted), "[1 1]")
	perKey := transforms.SamplePerKey(transforms.Map(sums, func(s amount) amount { return pcoll.Pair(fmt.Sprint(s.Key > "B"), s.Value) }), 9)
	passert.Equals(t, transforms.Map(perKey, func(e pcoll.KV[string, []int64]) string { return e.Key + sorted(e.Value) }), "false[1 1]", "true[1 2]")
	ptest.Run(t, p)
}

// TestSampleOfWhatStandsIsUniform draws one of three that are equal and another:
// that one comes in a quarter of the samples.
func TestSampleOfWhatStandsIsUniform(t *testing.T) {
	const seeds = 200
	p := pcoll.New("sample")
	values := transforms.Values(corrected(p))
	var all []pcoll.PCollection[[]int64]
	for seed := range uint64(seeds) {
		all = append(all, transforms.Sample(values, 1, transforms.SampleSeed(seed)))
	}
	got := transforms.Map(transforms.FlattenAll(p, all), sorted)
	passert.That(t, got, func(got []passert.Element[string]) error {
		left, err := passert.Standing(got)
		if err != nil {
			return err
		}
		other := 0
		for _, e := range left {
			if e.Value == "[2]" {
				other++
			}
		}
		if len(left) != seeds || other < seeds/8 || other > seeds*3/8 { // four standard deviations
			return fmt.Errorf("%d samples, of which %d hold the other; want %d, and about a quarter", len(left), other, seeds)
		}
		return nil
	})
	ptest.Run(t, p, ptest.Workers(2))
}

func sorted(vs []int64) string { return fmt.Sprint(slices.Sorted(slices.Values(vs))) }
