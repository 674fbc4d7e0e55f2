package library_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func four(string) int { return 4 }

// TestFanout restates what Beam's CombineTest checks of hot keys.
func TestFanout(t *testing.T) {
	onAll(t, "of many, some hot", func(t *testing.T, p *pcoll.Pipeline) {
		in := KeyBy(numbers(p), func(n int64) int64 { return min(n%10, 1) })
		sums := CombinePerKeyWithFanout(in, combine.Both(combine.Sum[int64](), combine.Top(2, func(a, b int64) int { return int(a - b) })),
			func(k int64) int { return int(7 * k) })
		passert.Equals(t, MapValues(sums, func(v combine.Two[int64, []int64]) int64 { return v.First }),
			pcoll.Pair[int64, int64](0, 4_995_000), pcoll.Pair[int64, int64](1, 45_000_000))
		passert.Equals(t, MapValues(sums, func(v combine.Two[int64, []int64]) int64 { return v.Second[0] }),
			pcoll.Pair[int64, int64](0, many-10), pcoll.Pair[int64, int64](1, many-1))
		passert.Equals(t, CombineWithFanout(numbers(p), combine.Count[int64](), 5), many)
		passert.Empty(t, CombineWithFanout(Create[int64](p), combine.Sum[int64](), 5))
	})
	for _, mode := range []struct {
		name string
		mode pcoll.Option
		want []passert.Fired[pair]
	}{
		{"discarding", windowing.Discarding(), []passert.Fired[pair]{passert.Early(pcoll.Pair("k", 7)), passert.Early(pcoll.Pair("k", 8)),
			passert.OnTime(pcoll.Pair("k", 0)), passert.Late(pcoll.Pair("k", 16))}},
		{"accumulating", windowing.Accumulating(), []passert.Fired[pair]{passert.Early(pcoll.Pair("k", 7)), passert.Early(pcoll.Pair("k", 15)),
			passert.OnTime(pcoll.Pair("k", 15)), passert.Late(pcoll.Pair("k", 31))}},
	} {
		onAll(t, "counts nothing twice, "+mode.name, func(t *testing.T, p *pcoll.Pipeline) {
			s := teststream.New[pair]().Elements(second(1), pcoll.Pair("k", 1), pcoll.Pair("k", 2), pcoll.Pair("k", 4)).Elements(second(2), pcoll.Pair("k", 8)).
				Watermark(second(60)).Elements(second(3), pcoll.Pair("k", 16)).Source(p)
			in := windowing.Into(s, windowing.Fixed(time.Minute), earlyEach, windowing.AllowedLateness(time.Hour), mode.mode)
			passert.Panes(t, CombinePerKeyWithFanout(in, combine.Sum[int](), four), mode.want...)
		})
	}
	onAll(t, "sessions merge over parts", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[pair]().Bundle(stamped(1, pcoll.Pair("k", 1)), stamped(5, pcoll.Pair("k", 2)), stamped(9, pcoll.Pair("k", 4)),
			stamped(30, pcoll.Pair("k", 8))).Source(p)
		in := windowing.Into(s, windowing.Sessions(5*time.Second))
		passert.Windows(t, Values(CombinePerKeyWithFanout(in, combine.Sum[int](), four)), passert.Holds(span(1, 14), 7), passert.Holds(span(30, 35), 8))
	})
	onAll(t, "a count is of elements", func(t *testing.T, p *pcoll.Pipeline) {
		s := teststream.New[pair]().Elements(second(1), pcoll.Pair("k", 1), pcoll.Pair("k", 2), pcoll.Pair("k", 4), pcoll.Pair("k", 8)).
			Elements(second(2), pcoll.Pair("k", 16), pcoll.Pair("k", 32)).Source(p)
		in := windowing.Into(s, windowing.Global(), windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(2)}), windowing.Accumulating())
		// One part: its panes of four and two elements reach the count of the key at once.
		passert.Panes(t, CombinePerKeyWithFanout(in, combine.Sum[int](), func(string) int { return 1 }),
			passert.Early(pcoll.Pair("k", 15)), passert.Early(pcoll.Pair("k", 63)), passert.OnTime(pcoll.Pair("k", 63)))
	})
}

func TestFanoutMistakes(t *testing.T) {
	mistakes{
		{"no function", func(p *pcoll.Pipeline) { CombinePerKeyWithFanout(Create(p, pair{}), combine.Sum[int](), nil) }, "the function is nil"},
		{"no parts", func(p *pcoll.Pipeline) { CombineWithFanout(Create(p, 1), combine.Sum[int](), 0) }, "elements cannot be combined in 0 parts; want at least 1"},
		{"no combiner", func(p *pcoll.Pipeline) { CombinePerKeyWithFanout[string, int, int, int](Create(p, pair{}), nil, four) }, "the combiner is nil"},
		{"retracting", func(p *pcoll.Pipeline) {
			in := windowing.Into(Create(p, pair{}), windowing.Fixed(time.Minute), earlyEach, windowing.AllowedLateness(0), windowing.Retracting())
			CombinePerKeyWithFanout(in, combine.Sum[int](), four)
		}, "parts cannot be combined in retracting mode; combine without fanout"},
		{"impulses", func(p *pcoll.Pipeline) { PeriodicImpulse(p, time.Microsecond) }, "instants cannot be 1µs apart; give whole milliseconds"},
		{"impulses from", func(p *pcoll.Pipeline) { PeriodicImpulse(p, time.Second, ImpulseFrom(time.Time{})) }, "instants cannot begin at the zero time.Time"},
	}.check(t)
}

// TestPeriodicImpulse restates Beam's test: instants that have passed come at
// once, with themselves as event times, and windows of them fire.
func TestPeriodicImpulse(t *testing.T) {
	p := pcoll.New("test")
	ticks := PeriodicImpulse(p, 250*time.Millisecond, ImpulseFrom(second(10)), ImpulseUntil(second(12)))
	passert.Equals(t, ReifyTimestamps(Filter(ticks, func(at time.Time) bool { return at.Before(second(10.5)) })),
		timed(second(10), 10_000), timed(second(10.25), 10_250))
	passert.Windows(t, Count(windowing.Into(ticks, windowing.Fixed(time.Second))), passert.Holds(span(10, 11), int64(4)), passert.Holds(span(11, 12), int64(4)))
	many := PeriodicImpulse(p, time.Millisecond, ImpulseFrom(second(0)), ImpulseUntil(second(5)))
	passert.Windows(t, Count(windowing.Into(many, windowing.Fixed(time.Minute))), passert.Holds(span(0, 60), int64(5000)))
	ptest.Run(t, p)
}

// TestPeriodicImpulseWaits reads instants that are still to come.
func TestPeriodicImpulseWaits(t *testing.T) {
	p := pcoll.New("test")
	start := time.Now().Add(20 * time.Millisecond).Truncate(time.Millisecond)
	ticks := PeriodicImpulse(p, 10*time.Millisecond, ImpulseFrom(start), ImpulseUntil(start.Add(30*time.Millisecond)))
	early := Filter(ticks, func(at time.Time) bool { return time.Now().Before(at) })
	passert.Empty(t, early)
	passert.Equals(t, ticks, start.UTC(), start.Add(10*time.Millisecond).UTC(), start.Add(20*time.Millisecond).UTC())
	ptest.Run(t, p, ptest.Workers(2))
}
