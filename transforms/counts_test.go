package transforms_test

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/ptest"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// TestCounts covers what a result says of each transform: how many elements
// entered it, whatever it made of them.
func TestCounts(t *testing.T) {
	p := pcoll.New("test")
	in := CreateFrom(p, []int{1, 2, 3, 4}, pcoll.Named("In"))
	timed := WithTimestamps(in, func(n int) time.Time { return time.Unix(int64(n), 0) }, pcoll.Named("Time"))
	some := Filter(timed, even, pcoll.Named("Even"))
	more := FlatMap(some, func(n int) iter.Seq[int] { return slices.Values(make([]int, n)) }, pcoll.Named("Repeat"))
	windowed := windowing.Into(more, windowing.Sliding(10*time.Second, 5*time.Second))
	seen := ParDo(windowed, &routesInt{}, pcoll.Named("See"))
	good, failed := TryMap(timed, half, pcoll.Named("Try"))
	small, rest := Partition(timed, func(n int) bool { return n < 4 }, pcoll.Named("Part"))
	all := Flatten(small, rest, good)
	for name, c := range map[string]pcoll.PCollection[int]{"seen": seen, "good": good, "small": small, "rest": rest, "all": all, "shuffled": Reshuffle(all)} {
		Map(c, double, pcoll.Named("behind "+name))
	}
	Keys(KeyBy(failed, func(f Failed[int]) int { return f.Input }), pcoll.Named("behind failed"))
	Map(CountPerElement(windowed, pcoll.Named("Count")), func(e pcoll.KV[int, int64]) int64 { return e.Value }, pcoll.Named("behind counts"))
	want := map[string]int64{
		"In": 4, "Time": 4, "Even": 4, "Repeat": 2, "See": 12, "Try": 4, "Part": 4,
		"behind seen": 24, "behind good": 2, "behind failed": 2, "behind small": 3, "behind rest": 1, "behind all": 6, "behind shuffled": 6,
		"Count": 6, "behind counts": 2,
	}
	for runner, res := range ptest.Run(t, p) {
		for name, n := range want {
			if got, _ := res.Transform(name); got.Elements != n {
				t.Errorf("%s: %s counts %d elements, want %d", runner, name, got.Elements, n)
			}
		}
	}
}

// routesInt emits each element twice.
type routesInt struct{}

func (*routesInt) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	emit(c, n)
	emit(c, n)
	return nil
}

// TestElementsInNoWindow covers that elements between sliding windows with gaps
// are counted wherever windows are assigned, also in front of an exchange.
func TestElementsInNoWindow(t *testing.T) {
	p := pcoll.New("test")
	timed := WithTimestamps(CreateFrom(p, []int{1, 2, 3, 4, 5}), func(n int) time.Time { return time.Unix(int64(n), 0) })
	windowed := windowing.Into(timed, windowing.Sliding(time.Second, 5*time.Second, windowing.AllowGaps()))
	byKey := KeyBy(windowed, func(int) string { return "k" })
	CountPerKey(byKey, pcoll.Named("Count"))
	GroupByKey(byKey, pcoll.Named("Group"))
	for runner, res := range ptest.Run(t, p) {
		for _, name := range []string{"Count", "Group"} {
			if got, _ := res.Transform(name); got.Internal["elementsInNoWindow"] != 4 {
				t.Errorf("%s: %s counts %v, want 4 elements in no window", runner, name, got.Internal)
			}
		}
	}
}
