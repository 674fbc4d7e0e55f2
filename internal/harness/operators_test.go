package harness_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// exempt operators go on with their instance where others are restarted.
var exempt = harness.Exempt{
	"*connector.writeOp": "a writer keeps what it took until it is prepared; sinks restart by their handles (connectortest)",
}

// ints is an example with disorder, late and too late elements, and pauses.
func ints(p *pcoll.Pipeline) pcoll.PCollection[int64] {
	var steps []harness.Step[int64]
	for i := range int64(12) {
		var s harness.Step[int64]
		for j := range 1 + i%3 {
			at := i*1000 - j*1700
			s.Elems = append(s.Elems, harness.Elem[int64]{At: exec.Time(at), V: i*10 + j})
		}
		if i%3 == 2 {
			s.Watermark = exec.Time(i*1000 - 500)
			s.Clock = 700
		}
		if i == 9 {
			s.Elems = append(s.Elems, harness.Elem[int64]{At: 100, V: 999}, harness.Elem[int64]{At: 5100, V: 555})
		}
		steps = append(steps, s)
	}
	return harness.Source(p, steps...)
}

func keyed(in pcoll.PCollection[int64]) pcoll.PCollection[pcoll.KV[string, int64]] {
	return transforms.KeyBy(in, func(i int64) string { return fmt.Sprint("k", i%4) })
}

// strategies are ways to window ints.
var strategies = map[string]func(pcoll.PCollection[int64]) pcoll.PCollection[int64]{
	"fixed": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Fixed(2*time.Second))
	},
	"fixed late early accumulating": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Fixed(3*time.Second), windowing.AllowedLateness(2*time.Second), windowing.Accumulating(),
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)}))
	},
	"fixed early by clock": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Fixed(4*time.Second), windowing.AllowedLateness(time.Second), windowing.Discarding(),
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterProcessingTime(500 * time.Millisecond), Late: triggers.Always{}}))
	},
	"sliding earliest": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Sliding(4*time.Second, 2*time.Second), windowing.StampedEarliest())
	},
	"sessions": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Sessions(1500*time.Millisecond), windowing.AllowedLateness(time.Second), windowing.Accumulating(),
			windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)}))
	},
	"global repeated": func(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
		return windowing.Into(in, windowing.Global(), windowing.Discarding(), windowing.Trigger(triggers.Repeatedly{
			T: triggers.AfterAny{triggers.AfterCount(3), triggers.AfterProcessingTime(time.Second)}}))
	},
}

type parDo struct {
	Add int64
	Odd transforms.Output[int64]
}

func (f *parDo) Process(c *pcoll.Context, e int64, emit pcoll.Emit[string]) error {
	if e%2 == 1 {
		f.Odd.Emit(c, e)
		return nil
	}
	emit(c, fmt.Sprint(e+f.Add, c.Window()))
	return nil
}

// topics add to the examples, each from a file of its own.
var topics []func() map[string]func(p *pcoll.Pipeline)

// examples are pipelines that together hold every operator.
func examples() map[string]func(p *pcoll.Pipeline) {
	m := map[string]func(p *pcoll.Pipeline){
		"element by element": elementwise,
		"created and read":   created,
		"default of nothing": func(p *pcoll.Pipeline) {
			transforms.Sum(transforms.Create[int64](p))
		},
		"script": func(p *pcoll.Pipeline) {
			in := teststream.New[int64]().Elements(time.Unix(1, 0), 1, 2).Watermark(time.Unix(20, 0)).ProcessingTime(time.Second).Elements(time.Unix(30, 0), 3).Source(p)
			transforms.Count(windowing.Into(in, windowing.Fixed(10*time.Second)))
		},
		"asserted": func(p *pcoll.Pipeline) {
			in := transforms.Create(p, 1, 2, 3)
			passert.That(quietTB{}, in, func([]passert.Element[int]) error { return nil })
			transforms.Map(in, func(i int) int { return i })
		},
	}
	for _, topic := range topics {
		maps.Copy(m, topic())
	}
	for name, into := range strategies {
		m["group "+name] = func(p *pcoll.Pipeline) {
			transforms.GroupByKeyWithLate(keyed(into(ints(p))))
		}
		m["combine "+name] = func(p *pcoll.Pipeline) {
			sums, _ := transforms.CombinePerKeyWithLate(keyed(into(ints(p))), combine.Both(combine.Sum[int64](), combine.Max[int64]()))
			again := transforms.MapValues(sums, func(t combine.Two[int64, int64]) int64 { return t.First })
			transforms.SumPerKey(transforms.KeyBy(transforms.Values(again), func(v int64) bool { return v%2 == 0 }))
		}
	}
	return m
}

func elementwise(p *pcoll.Pipeline) {
	in := strategies["sliding earliest"](ints(p))
	twice := transforms.FlatMap(in, func(i int64) iter.Seq[int64] { return slices.Values([]int64{i, -i}) })
	good, failed := transforms.TryMap(twice, func(i int64) (int64, error) {
		if i%5 == 0 {
			return 0, errors.New("divisible by five")
		}
		return i, nil
	})
	transforms.Map(failed, func(f transforms.Failed[int64]) string { return f.Error })
	even, odd := transforms.Partition(good, func(i int64) bool { return i%2 == 0 })
	later := transforms.WithTimestamps(even, func(i int64) time.Time { return time.UnixMilli(20_000 + i) })
	all := transforms.Flatten(transforms.Reshuffle(odd), later)
	transforms.MapValues(keyed(transforms.Filter(all, func(i int64) bool { return i > 0 })), func(i int64) int64 { return 2 * i })
	fn := &parDo{Add: 1}
	transforms.ParDo(in, fn)
	transforms.ForEach(in, func(*pcoll.Context, int64) error { return nil })
	transforms.PartitionBy(in, 3, func(i int64) int { return int(i % 3) })
}

// created covers roots that are read in splits, and a sink.
func created(p *pcoll.Pipeline) {
	seq := transforms.GenerateSequence(p, 0, 3000, transforms.SequenceTime(time.UnixMilli))
	transforms.CountPerElement(transforms.Map(seq, func(i int64) int64 { return i % 7 }))
	connector.Write(transforms.Create(p, "a", "b"), "Discard", discard{})
}

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Accepts() connector.Changes { return connector.Retracts }
func (discard) Open(context.Context, connector.Env) (connector.Writer[string], error) {
	return discardWriter{}, nil
}

type discardWriter struct{}

func (discardWriter) Write(connector.Element, string) error { return nil }
func (discardWriter) Flush() error                          { return nil }
func (discardWriter) Prepare(int64) ([]byte, error)         { return nil, nil }
func (discardWriter) Commit([]byte) error                   { return nil }
func (discardWriter) Close() error                          { return nil }

// quietTB lets passert be built without a test to fail: the harness compares.
type quietTB struct{ testing.TB }

func (quietTB) Helper()               {}
func (quietTB) Errorf(string, ...any) {}
func (quietTB) Cleanup(func())        {}
func (quietTB) Name() string          { return "harness" }
func (quietTB) Failed() bool          { return false }
func (quietTB) Fatalf(string, ...any) {}

// TestEveryOperator runs every example in every variation, and fails on an
// operator type that none of them holds.
func TestEveryOperator(t *testing.T) {
	covered := map[string]bool{}
	for name, build := range examples() {
		t.Run(name, func(t *testing.T) {
			for _, typ := range harness.Check(t, exempt, build) {
				covered[typ] = true
			}
		})
	}
	for _, typ := range operatorTypes(t) {
		if !covered[typ] && typ != "harness.stepsOp" {
			t.Errorf("no example holds the operator %s; add it to one, so that it is restarted, filled and split", typ)
		}
	}
	for typ := range exempt {
		if !covered[strings.TrimPrefix(typ, "*")] {
			t.Errorf("%s is exempt and does not occur", typ)
		}
	}
}
