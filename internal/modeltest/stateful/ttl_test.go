package stateful_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
)

// mortal is stock whose state ends after ten seconds. It writes values that are
// not 0, and says what it holds before that.
func mortal(ttl state.TTL) *stock {
	fn := stocked(func(f *stock, c *pcoll.Context, e pair, emit emitter) {
		_, set := f.Value.Lookup(c)
		emit(c, fmt.Sprint(set, list(f.Bag.All(c)), f.Bag.Len(c), maps.Collect(f.Map.All(c)), f.Map.Len(c), f.Multi.Len(c),
			list(f.Set.All(c)), f.Set.Contains(c, 1), f.Mean.Empty(c), listed(f.List.All(c)), f.List.Len(c)))
		if e.Value == 0 {
			return
		}
		f.Value.Set(c, e.Value)
		f.Bag.Add(c, e.Value)
		f.Map.Put(c, "last", e.Value)
		f.Multi.Put(c, fmt.Sprint(e.Value), e.Value)
		f.Set.Add(c, e.Value)
		f.Mean.Add(c, e.Value)
		f.List.Add(c, sec(1), e.Value)
	})
	fn.Value.TTL, fn.Bag.TTL, fn.Map.TTL, fn.Multi.TTL, fn.Set.TTL, fn.Mean.TTL, fn.List.TTL = ttl, ttl, ttl, ttl, ttl, ttl, ttl
	return fn
}

var mortalWant = []string{
	"false [] 0 map[] 0 0 [] false true [] 0",
	"true [1] 1 map[last:1] 1 1 [1] true false [1:1] 1",
	"true [1 2] 2 map[last:2] 1 2 [1 2] true false [1:1 1:2] 2",
	"true [2] 1 map[last:2] 1 1 [2] false false [1:2] 1",
	"false [] 0 map[] 0 0 [] false true [] 0",
}

func TestStateEndsByProcessingTime(t *testing.T) {
	p := pcoll.New("ttl")
	in := teststream.New[pair]().
		Elements(sec(0), k(1)...).ProcessingTime(4*time.Second).
		Elements(sec(0), k(2)...).ProcessingTime(6*time.Second).
		Elements(sec(0), k(0)...). // at the very moment
		ProcessingTime(time.Millisecond).Elements(sec(0), k(0)...).
		ProcessingTime(4*time.Second).Elements(sec(0), k(0)...).Source(p)
	inOrder(t, StatefulParDo(in, mortal(state.AfterProcessingTime(10*time.Second))), mortalWant...)
	ptest.Run(t, p)
}

func TestStateEndsByEventTime(t *testing.T) {
	for name, watermarks := range map[string]bool{"bundles": false, "watermarks": true} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("ttl")
			in := teststream.New[pair]()
			for _, e := range []struct{ ms, v int }{{0, 1}, {4000, 2}, {10000, 0}, {10001, 0}, {14001, 0}} {
				if watermarks {
					in.Watermark(at(e.ms))
				}
				in.Elements(at(e.ms), k(e.v)...)
			}
			inOrder(t, StatefulParDo(in.Source(p), mortal(state.AfterEventTime(10*time.Second))), mortalWant...)
			ptest.Run(t, p)
		})
	}
}

// The watermark jumps over everything: a timer still finds what is alive at its time.
func TestTimersSeeStateAsOfTheirTime(t *testing.T) {
	p := pcoll.New("ttl")
	in := teststream.New[pair]().Elements(sec(0), k(1)...).Elements(sec(3), k(2)...).Watermark(sec(100)).Source(p)
	fn := &alarm{Do: func(f *alarm, c *pcoll.Context, e pair, emit emitter) {
		f.Seen.Add(c, e.Value)
		for _, s := range []int{9, 10, 11, 14} {
			f.A.Set(c, sec(s), timers.Tag(fmt.Sprint(s)))
		}
	}, Fire: func(f *alarm, c *pcoll.Context, _ string, tm timers.Firing, emit emitter) {
		emit(c, fmt.Sprint(tm.At.Unix(), slices.Collect(f.Seen.All(c))))
	}}
	fn.Seen.TTL = state.AfterEventTime(10 * time.Second)
	inOrder(t, StatefulParDo(in, fn), "9 [1 2]", "10 [1 2]", "11 [2]", "14 []")
	ptest.Run(t, p)
}
