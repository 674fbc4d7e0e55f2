package lifecycle_test

import (
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// sums is a combiner whose methods fail by panics: they have no other way.
type sums struct{ At string }

func (s sums) call(name string) {
	if s.At == name {
		panic(errTold)
	}
}

func (s sums) Create() int            { s.call("Create"); return 0 }
func (s sums) Add(acc int, v int) int { s.call("Add"); return acc + v }
func (s sums) Merge(a, b int) int     { s.call("Merge"); return a + b }
func (s sums) Extract(acc int) int    { s.call("Extract"); return acc }

// TestFunctionsThatFail: whatever function of a user's fails, wherever a runner
// calls it, the run ends with an error that names the transform.
func TestFunctionsThatFail(t *testing.T) {
	bad := func() int { panic(errTold) }
	sessions := func(p *pcoll.Pipeline) pcoll.PCollection[pair] {
		in := teststream.New[pair]()
		for _, at := range []int{1, 20, 10} { // the last one joins the sessions of the others
			in.Elements(sec(at), pcoll.Pair("k", at))
		}
		return windowing.Into(in.Source(p), windowing.Sessions(15*time.Second))
	}
	for name, build := range map[string]func(p *pcoll.Pipeline, named pcoll.Option){
		"Map": func(p *pcoll.Pipeline, named pcoll.Option) { Map(Create(p, 1), func(int) int { return bad() }, named) },
		"Filter": func(p *pcoll.Pipeline, named pcoll.Option) {
			Filter(Create(p, 1), func(int) bool { return bad() > 0 }, named)
		},
		"FlatMap": func(p *pcoll.Pipeline, named pcoll.Option) {
			FlatMap(Create(p, 1), func(int) iter.Seq[int] { bad(); return nil }, named)
		},
		"a sequence of FlatMap": func(p *pcoll.Pipeline, named pcoll.Option) {
			FlatMap(Create(p, 1), func(int) iter.Seq[int] { return func(yield func(int) bool) { yield(bad()) } }, named)
		},
		"KeyBy": func(p *pcoll.Pipeline, named pcoll.Option) {
			KeyBy(Create(p, 1), func(int) int { return bad() }, named)
		},
		"Partition": func(p *pcoll.Pipeline, named pcoll.Option) {
			Partition(Create(p, 1), func(int) bool { return bad() > 0 }, named)
		},
		"PartitionBy": func(p *pcoll.Pipeline, named pcoll.Option) {
			PartitionBy(Create(p, 1), 2, func(int) int { return bad() }, named)
		},
		"WithTimestamps": func(p *pcoll.Pipeline, named pcoll.Option) {
			WithTimestamps(Create(p, 1), func(int) time.Time { bad(); return sec(1) }, named)
		},
		"SequenceTime": func(p *pcoll.Pipeline, named pcoll.Option) {
			GenerateSequence(p, 0, 3, SequenceTime(func(int64) time.Time { bad(); return sec(1) }), named)
		},
		"MapSide": func(p *pcoll.Pipeline, named pcoll.Option) {
			MapSide(Create(p, 1), side.AsSingleton(Create(p, 2)), func(int, side.Singleton[int]) int { return bad() }, named)
		},
		"ForEach with an error": func(p *pcoll.Pipeline, named pcoll.Option) {
			ForEach(Create(p, 1), func(*pcoll.Context, int) error { return errTold }, named)
		},
		"ForEach with a panic": func(p *pcoll.Pipeline, named pcoll.Option) {
			ForEach(Create(p, 1), func(*pcoll.Context, int) error { bad(); return nil }, named)
		},
		"Create of a combiner": func(p *pcoll.Pipeline, named pcoll.Option) {
			CombinePerKey(Create(p, pcoll.Pair("k", 1)), sums{"Create"}, named)
		},
		"Add of a combiner": func(p *pcoll.Pipeline, named pcoll.Option) {
			CombinePerKey(Create(p, pcoll.Pair("k", 1)), sums{"Add"}, named)
		},
		"Extract of a combiner": func(p *pcoll.Pipeline, named pcoll.Option) {
			CombinePerKey(Create(p, pcoll.Pair("k", 1)), sums{"Extract"}, named)
		},
		"Merge of a combiner": func(p *pcoll.Pipeline, named pcoll.Option) { CombinePerKey(sessions(p), sums{"Merge"}, named) },
	} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("functions")
			build(p, pcoll.Named("Trouble"))
			for runner, err := range ptest.Fails(t, p, `"functions": Trouble`) {
				if !errors.Is(err, errTold) {
					t.Errorf("%s: the cause is not in the error: %v", runner, err)
				}
			}
		})
	}
}

// TestNothingIsDoneBehindAFailure: a function that sends several elements from
// one call, of which the first fails behind it, does not reach that function again.
func TestNothingIsDoneBehindAFailure(t *testing.T) {
	onEach(t, func(t *testing.T, run runFunc) {
		p := pcoll.New("behind")
		in := ParDo(Create(p, 3), &several{})
		calls := 0
		ForEach(in, func(*pcoll.Context, int) error {
			calls++
			return errTold
		}, pcoll.Named("Trouble"))
		failsWith(t, run(t.Context(), p), ": Trouble: ")
		if calls != 1 {
			t.Errorf("the function was called %d times, want once", calls)
		}
	})
}

// several emits as many elements as its input says.
type several struct{}

func (*several) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	for i := range n {
		emit(c, i)
	}
	return nil
}
