package windowing_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	. "github.com/penstock-dev/penstock/windowing"
)

// bySelf are sessions that a user defines.
type bySelf struct{ Gap int64 }

func (b bySelf) String() string { return fmt.Sprintf("bySelf(%d)", b.Gap) }
func (b bySelf) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	return append(dst, window(t, t.Add(b.Gap)))
}
func (bySelf) Merge(windows []pcoll.Window) []Merged { return MergeOverlapping(windows) }

// TestMergerLaw: sessions that a user defines, and sessions by element, give the
// panes of Sessions, over random scripts, triggers, modes and lateness.
func TestMergerLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := teststream.New[kv]()
		now := 0
		for i := range rapid.IntRange(1, 25).Draw(t, "events") {
			if rapid.IntRange(0, 3).Draw(t, "event") == 0 {
				now += rapid.IntRange(0, 20).Draw(t, "pass")
				s.Watermark(time.UnixMilli(int64(now)))
				continue
			}
			bundle := []teststream.Timestamped[kv]{}
			for j := range rapid.IntRange(1, 4).Draw(t, "elements") {
				at := now + rapid.IntRange(-30, 30).Draw(t, "at")
				bundle = append(bundle, teststream.At(time.UnixMilli(int64(at)), pcoll.Pair(fmt.Sprint("k", rapid.IntRange(0, 1).Draw(t, "key")), 100*i+j)))
			}
			s.Bundle(bundle...)
		}
		gap := rapid.Int64Range(1, 15).Draw(t, "gap")
		opts := []pcoll.Option{AllowedLateness(time.Duration(rapid.IntRange(0, 40).Draw(t, "lateness")) * time.Millisecond),
			rapid.SampledFrom([]pcoll.Option{Accumulating(), Discarding(), Retracting()}).Draw(t, "mode"),
			Trigger(rapid.SampledFrom([]triggers.Trigger{triggers.Default{}, triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)},
				triggers.Repeatedly{T: triggers.AfterCount(2)}}).Draw(t, "trigger"))}
		p := pcoll.New("test")
		in := s.Source(p)
		var all []*ptest.Collected[kvs]
		group := func(in pcoll.PCollection[kv]) {
			groups := transforms.MapValues(transforms.GroupByKey(in), func(g pcoll.Group[int]) string { return fmt.Sprint(slices.Sorted(g.All())) })
			all = append(all, ptest.Collect(groups))
		}
		group(Into(in, Sessions(time.Duration(gap)*time.Millisecond), opts...))
		group(Into(in, Custom(bySelf{gap}), opts...))
		group(Into(in, SessionsBy(func(kv) time.Duration { return time.Duration(gap) * time.Millisecond }), opts...))
		if _, err := direct.Run(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		lines := func(c *ptest.Collected[kvs]) (lines []string) {
			for _, e := range c.On("") {
				lines = append(lines, passert.Describe(e))
			}
			slices.Sort(lines)
			return lines
		}
		want := lines(all[0])
		for _, c := range all[1:] {
			if got := lines(c); !slices.Equal(got, want) {
				t.Fatalf("got\n%q\nwant\n%q", got, want)
			}
		}
	})
}

type kvs = pcoll.KV[string, string]
