package grouping_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// TestReshuffleKeepsElements, with their times, windows and panes, and does not
// make them wait: Beam's Redistribute is the same here.
func TestReshuffleKeepsElements(t *testing.T) {
	onAll(t, "as they are", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Reshuffle(CreateFrom(p, table)), table...)
		passert.Empty(t, Reshuffle(CreateFrom[pair](p, nil)))
	})
	onAll(t, "times", func(t *testing.T, p *pcoll.Pipeline) {
		var want []passert.Fired[pair]
		for _, e := range table {
			want = append(want, passert.Ungrouped(e).At(sec(e.Value)).In(pcoll.Global))
		}
		passert.Panes(t, Reshuffle(stamped(p, table...)), want...)
	})
	for name, fn := range map[string]windowing.Fn{
		"fixed windows":   windowing.Fixed(2 * time.Second),
		"sliding windows": windowing.Sliding(4*time.Second, 2*time.Second),
		"sessions":        windowing.Sessions(5 * time.Second),
	} {
		onAll(t, name, func(t *testing.T, p *pcoll.Pipeline) {
			in := windowing.Into(stamped(p, table...), fn)
			// What is grouped is what was grouped without it, before and behind it.
			sameContents(t, listed(Reshuffle(in)), listed(in))
			sameContents(t, Reshuffle(listed(in)), listed(in))
			sameContents(t, Sum(Values(Reshuffle(SumPerKey(in)))), Sum(Values(SumPerKey(in))))
		})
	}
}

// sameContents compares two collections with their times, windows and panes.
func sameContents[T any](t *testing.T, got, want pcoll.PCollection[T]) {
	t.Helper()
	whole := func(in pcoll.PCollection[T]) pcoll.PCollection[string] {
		return windowing.Into(Map(Reify(in), func(w Windowed[T]) string { return fmt.Sprintf("%+v", w) }), windowing.Global())
	}
	a, b := whole(got), whole(want)
	passert.Empty(t, ExceptAll(a, b))
	passert.Empty(t, ExceptAll(b, a))
	passert.That(t, b, func(got []passert.Element[string]) error {
		if len(got) == 0 {
			return fmt.Errorf("there is nothing to compare")
		}
		return nil
	})
}

// TestReshuffleOfAStream lets early, on-time and late panes through as they are,
// and elements before the watermark moves.
func TestReshuffleOfAStream(t *testing.T) {
	p := pcoll.New("grouping")
	in := teststream.New[pair]().Elements(sec(1), kv("k", 1)).Elements(sec(2), kv("k", 2)).Watermark(sec(10)).
		Elements(sec(3), kv("k", 4)).Elements(sec(12), kv("k", 8)).Source(p)
	windowed := windowing.Into(in, windowing.Fixed(10*time.Second), windowing.AllowedLateness(time.Hour), windowing.Accumulating(),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)}))
	w0, w1 := secs(0, 10), secs(10, 20)
	want := []passert.Fired[pair]{passert.Early(kv("k", 1)).In(w0).Index(0), passert.Early(kv("k", 3)).In(w0).Index(1),
		passert.OnTime(kv("k", 3)).In(w0).Index(2), passert.Late(kv("k", 7)).In(w0).Index(3).At(sec(10).Add(-time.Millisecond)),
		passert.Early(kv("k", 8)).In(w1).Index(0), passert.OnTime(kv("k", 8)).In(w1).Index(1)}
	passert.Panes(t, Reshuffle(SumPerKey(windowed)), want...)
	passert.Panes(t, SumPerKey(Reshuffle(windowed)), want...)
	times := Reshuffle(ReifyTimestamps(Reshuffle(windowed)))
	passert.Equals(t, Map(times, func(v Timestamped[pair]) string {
		return fmt.Sprint(v.Value.Value, "@", v.Time)
	}),
		"1@"+pcoll.Time(1000).String(), "2@"+pcoll.Time(2000).String(), "4@"+pcoll.Time(3000).String(), "8@"+pcoll.Time(12000).String())
	ptest.Run(t, p)
}

// TestReshuffleSpreads different elements over all workers.
func TestReshuffleSpreads(t *testing.T) {
	p := pcoll.New("grouping")
	Reshuffle(Map(GenerateSequence(p, 0, 3000), func(n int64) pair { return kv("k", int(n)) }), pcoll.Named("Spread"))
	for name, res := range ptest.Run(t, p) {
		r, _ := res.Transform("Spread")
		for i, n := range r.ByWorker {
			if fair := 3000 / int64(len(r.ByWorker)); n < fair/2 || n > 2*fair {
				t.Errorf("%s: worker %d received %d elements, want about %d", name, i, n, fair)
			}
		}
	}
}
