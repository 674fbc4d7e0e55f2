package modeltest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// example is a spec with most of what there is.
func example() *Spec {
	count := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Lateness: 5, Trigger: &strategy.Trigger{Kind: strategy.OnCount, N: 2}}
	return &Spec{Streams: 2, Keys: 2,
		Steps: []Step{{Kind: Window, Strategy: count}, {Kind: Map}, {Kind: Concat, Late: count}, {Kind: Join, Strategy: count}, {Kind: Shift, By: -3}, {Kind: Count}},
		Events: []Event{{Elems: []Elem{{0, 5, 1}, {0, 6, 2}, {0, 7, 3}}}, {Stream: 1, Watermark: 10}, {Clock: 7}, {Elems: []Elem{{0, 7, 4}}},
			{Stream: 1, Burst: 20, Base: 30}, {Watermark: 40}}}
}

// short is its beginning, of one stream.
func short() *Spec {
	s := example()
	s.Streams, s.Steps, s.Events = 1, s.Steps[:3], append([]Event{s.Events[0], {Watermark: 6}}, s.Events[2:]...)
	s.Events[4].Stream = 0
	return s
}

// TestStepsPrint prints what steps are told beside their windows.
func TestStepsPrint(t *testing.T) {
	fixed := &strategy.Strategy{Fn: strategy.FixedWindows{Size: 10}, Trigger: &strategy.Trigger{Kind: strategy.OnNever}}
	s := &Spec{Streams: 2, Keys: 3, Steps: []Step{{Kind: LeftJoin, Strategy: fixed, NoLate: true},
		{Kind: FullInterval, Lower: -2, Upper: 3, By: 5, Strategy: fixed},
		{Kind: Keep, State: &State{Sorted: true, Each: true, Ordered: true, Event: ByFirst, Clock: ByElem, Delay: 4, Output: NoHold, Again: 2, Cross: true,
			Drain: All, TTL: 7, Expiry: true}},
		{Kind: Multimap, Strategy: fixed, Other: fixed}, {Kind: Dedup, By: 9}, {Kind: Batches, By: 2},
		{Kind: Window, Strategy: &strategy.Strategy{Fn: sessionsGap(6), Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}}}}
	want := `in = stream 0, keys k0 to k2
0: LeftJoin(in, stream 1) [fixed(10ms) firing Never] without late output
1: FullIntervalJoin(in, branch) from -2 to 3 ms, lateness 5 ms, then Into [fixed(10ms) firing Never]
2: StatefulParDo: TimeSorted, emits each element, order matters, event-time timer after the first, processing-time timer each element's, ` +
		`delay 4 ms, output time none, clears all, 2 times again, setting the other timer, TTL 7 ms of event time, OnWindowExpiration
3: MapSide(in, AsMultimap(branch)) [fixed(10ms) firing Never] other [fixed(10ms) firing Never]
4: Deduplicate(key) within 9 ms
5: GroupIntoBatches of 2
6: Into [sessions(gap by element, up to 6 ms)]
script:
`
	if got := s.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSpecsPrint(t *testing.T) {
	want := `in = stream 0, keys k0 to k1
0: Into [fixed(10ms) firing AfterCount(2), lateness 5ms]
1: MapValues
2: CombinePerKeyWithLate(concat), late output to Into [fixed(10ms) firing AfterCount(2), lateness 5ms], GroupByKeyWithLate
3: Flatten(in, stream 1) [fixed(10ms) firing AfterCount(2), lateness 5ms]
4: ParDo(time) by -3 ms
5: CombinePerKeyWithLate(count)
script:
0: stream 0: elements k0=1@5 k0=2@6 k0=3@7
1: stream 1: watermark 10
2: clock +7 ms
3: stream 0: elements k0=4@7
4: stream 1: elements and a burst of 20 about 30
5: stream 0: watermark 40
`
	if got := example().String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestWhatIsRecorded pins what a run is compared by.
func TestWhatIsRecorded(t *testing.T) {
	s := short()
	got, err := s.run(t.Context(), Direct())
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(append(got.lines, got.counts...), "\n")
	for _, want := range []string{
		"step 2, event 0: k0: (m1 m2 m3) at 9 in [0, 10), EARLY pane 0 (-1) first true last true",
		"step 2 late, event 3: k0: m4 at 7 in [-9223372036854775, 9223371950454776), UNKNOWN pane 0 (0) first true last true",
		"step 2 late again, event 4: k0: (m4 m5012) at 9 in [0, 10), EARLY pane 0 (-1) first true last true",
		"end, event 0: k0: (m1 m2 m3) at 9 in",
		"step 2: 24 elements, 3 dropped late, 2 dropped closed, watermark +inf",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
}

// TestDifferencesAreFound runs a spec on runners that do something wrong.
func TestDifferencesAreFound(t *testing.T) {
	run := Direct().Run
	for name, c := range map[string]struct {
		run  func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error)
		want []string
	}{
		"fails": {func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error) { return nil, errors.New("boom") }, []string{"boom"}},
		"gives nothing": {func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error) { return &pcoll.Result{}, nil },
			[]string{"- step 2, event 0: k0: (m1 m2 m3)"}},
		"runs twice": {func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
			if _, err := run(ctx, p); err != nil {
				return nil, err
			}
			return run(ctx, p)
		}, []string{"+ step 2, event 0: k0: (m1 m2 m3)"}},
		"counts wrong": {func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
			res, err := run(ctx, p)
			for i := range res.Transforms {
				res.Transforms[i].DroppedClosed = 0
			}
			return res, err
		}, []string{"- step 2: 4 elements, 0 dropped late, 1 dropped closed", "+ step 2: 4 elements, 0 dropped late, 0 dropped closed"}},
		"is right": {run, nil},
	} {
		s := short()
		s.Events = s.Events[:4]
		err := s.Check(t.Context(), Direct(), Runner{name, c.run})
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, w := range append(c.want, name, "3: stream 0: elements k0=4@7") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is missing in %v", name, w, err)
			}
		}
	}
}

// TestLaw keeps the books of a grouping by hand.
func TestLaw(t *testing.T) {
	never, count := &strategy.Trigger{Kind: strategy.OnNever}, &strategy.Trigger{Kind: strategy.OnCount, N: 2}
	fixed, sessions := strategy.WindowFn(strategy.FixedWindows{Size: 10}), strategy.WindowFn(strategy.SessionWindows{Gap: 10})
	for name, c := range map[string]struct {
		s       strategy.Strategy
		entered int
		dropped int
		panes   []int // sizes
		ok      bool
	}{
		"discarding":             {strategy.Strategy{Fn: fixed, Trigger: never}, 6, 1, []int{2, 3}, true},
		"discarding, one lost":   {strategy.Strategy{Fn: fixed, Trigger: never}, 7, 1, []int{2, 3}, false},
		"discarding, one more":   {strategy.Strategy{Fn: fixed, Trigger: never}, 5, 1, []int{2, 3}, false},
		"accumulating":           {strategy.Strategy{Fn: fixed, Trigger: never, Mode: strategy.Accumulating}, 4, 1, []int{2, 3}, true},
		"accumulating, one lost": {strategy.Strategy{Fn: fixed, Trigger: never, Mode: strategy.Accumulating}, 5, 1, []int{2, 3}, false},
		"merging, one lost":      {strategy.Strategy{Fn: sessions, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}, 7, 1, []int{2, 3}, false},
		"finished by a merge":    {strategy.Strategy{Fn: sessions, Trigger: count}, 7, 1, []int{2, 3}, true},
		"merging, one more":      {strategy.Strategy{Fn: sessions, Trigger: never}, 5, 1, []int{2, 3}, false},
		"merging accumulating":   {strategy.Strategy{Fn: sessions, Trigger: never, Mode: strategy.Accumulating}, 3, 0, []int{2, 3}, true},
	} {
		r := &record{}
		p := r.probe("grouping")
		p.strategy, p.law, p.late = &c.s, groupingLaw, []*probe{r.probe("late")}
		for range c.entered {
			r.in(p, entry{})
		}
		for range c.dropped {
			r.saw(p.late[0], entry{})
		}
		for i, n := range c.panes {
			r.saw(p, entry{key: "k", n: n, window: exec.Window{Start: 0, End: 10}, pane: exec.Pane{Index: int64(i)}})
		}
		res := &pcoll.Result{Transforms: []pcoll.TransformResult{{Name: "grouping", DroppedLate: int64(c.dropped)}}}
		if err := r.laws(res); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
