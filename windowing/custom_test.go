package windowing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	. "github.com/penstock-dev/penstock/windowing"
)

func window(start, end pcoll.Time) (w pcoll.Window) {
	w.Start, w.End = start, end
	return w
}

// doubling puts an element into windows of one, two and four seconds that end
// alike, and leaves out what comes before the epoch.
type doubling struct{ Step int64 }

func (d doubling) String() string { return fmt.Sprintf("doubling(%d)", d.Step) }

func (d doubling) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	if t < 0 {
		return dst
	}
	end := (int64(t)/d.Step + 1) * d.Step
	for _, n := range []int64{1, 2, 4} {
		dst = append(dst, window(pcoll.Time(end-n*d.Step), pcoll.Time(end)))
	}
	return dst
}

// lasting keeps an element's window open for as many seconds as its value says.
type lasting struct{}

func (lasting) String() string { return "lasting" }
func (lasting) Assign(dst []pcoll.Window, t pcoll.Time, e kv) []pcoll.Window {
	for v := e.Value; v > 0; v -= 100 {
		dst = append(dst, window(t, t.Add(int64(v)*1000)))
	}
	return dst
}

// capped are sessions that do not grow beyond a length.
type capped struct{ Gap, Longest int64 }

func (c capped) String() string { return fmt.Sprintf("capped(%d, %d)", c.Gap, c.Longest) }
func (c capped) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	return append(dst, window(t, t.Add(c.Gap)))
}

func (c capped) Merge(windows []pcoll.Window) (merged []Merged) {
	for _, m := range MergeOverlapping(windows) {
		if int64(m.Into.End-m.Into.Start) <= c.Longest {
			merged = append(merged, m)
		}
	}
	return merged
}

// drawn merges windows that overlap with a big one into it, and leaves small
// ones alone (Beam's test of custom merging).
type drawn struct{}

func (drawn) String() string { return "drawn" }
func (drawn) Assign(dst []pcoll.Window, t pcoll.Time, e kv) []pcoll.Window {
	if e.Value >= 100 {
		return append(dst, window(t, t.Add(30_000)))
	}
	return append(dst, window(t, t.Add(5_000)))
}

func (drawn) Merge(windows []pcoll.Window) (merged []Merged) {
	for _, big := range windows {
		if big.End-big.Start < 30_000 {
			continue
		}
		m := Merged{Into: big}
		for _, w := range windows {
			if w.Overlaps(big) && w.Start >= big.Start {
				m.From = append(m.From, w)
				m.Into = m.Into.Span(w)
			}
		}
		merged = append(merged, m)
	}
	return merged
}

// TestCustomPanes runs window functions of users under scripts on every runner.
func TestCustomPanes(t *testing.T) {
	sums := func(s *stream, into func(pcoll.PCollection[kv]) pcoll.PCollection[kv]) func(*pcoll.Pipeline) (pcoll.PCollection[kv], pcoll.PCollection[kv]) {
		return func(p *pcoll.Pipeline) (pcoll.PCollection[kv], pcoll.PCollection[kv]) {
			return transforms.CombinePerKeyWithLate(into(s.Source(p)), combine.Sum[int]())
		}
	}
	byTime := func(fn Fn, opts ...pcoll.Option) func(pcoll.PCollection[kv]) pcoll.PCollection[kv] {
		return func(in pcoll.PCollection[kv]) pcoll.PCollection[kv] { return Into(in, fn, opts...) }
	}
	byElement := func(fn FnOf[kv], opts ...pcoll.Option) func(pcoll.PCollection[kv]) pcoll.PCollection[kv] {
		return func(in pcoll.PCollection[kv]) pcoll.PCollection[kv] { return Into(in, fn, opts...) }
	}
	gap := SessionsBy(func(e kv) time.Duration { return time.Duration(e.Value%100) * time.Second })
	for _, c := range []struct {
		name    string
		into    func(pcoll.PCollection[kv]) pcoll.PCollection[kv]
		script  []step
		want    []fired
		dropped []int
		nowhere int64
	}{
		{name: "by time, several and none", into: byTime(Custom(doubling{1000})),
			script: []step{add(0.5, 1), add(-1, 2), add(1.5, 4), watermark(2), add(1.7, 8)},
			want: []fired{onTime(1, win(0, 1)), onTime(1, win(-1, 1)), onTime(1, win(-3, 1)),
				onTime(4, win(1, 2)), onTime(4, win(0, 2)), onTime(4, win(-2, 2))},
			dropped: []int{8, 8, 8}, nowhere: 1},
		{name: "by element", into: byElement(CustomOf[kv](lasting{})),
			script:  []step{add(0, 10), add(0, 110), add(3, 0), watermark(10), add(0, 10)},
			want:    []fired{onTime(120, win(0, 10)), onTime(110, win(0, 110))},
			dropped: []int{10}, nowhere: 1},
		{name: "gap by element", into: byElement(gap),
			script: []step{add(0, 5), add(4, 10), add(14, 101), add(16, 3)},
			want:   []fired{onTime(15, win(0, 14)), onTime(101, win(14, 15)), onTime(3, win(16, 19))}},
		{name: "gap by element, late", into: byElement(gap, AllowedLateness(10*time.Second), Accumulating()),
			script: []step{add(0, 5), watermark(6), add(4, 10), add(1, 2), watermark(50), add(1, 30)},
			// The second element's window was not on time yet: it makes a new one of the two.
			want:    []fired{onTime(5, win(0, 5)), onTime(17, win(0, 14))},
			dropped: []int{30}},
		{name: "sessions with a longest", into: byTime(Custom(capped{10_000, 18_000})),
			script: []step{add(0, 1), add(4, 2), add(8, 4), watermark(9), add(17, 8)},
			want:   []fired{onTime(7, win(0, 18)), onTime(8, win(17, 27))}},
		{name: "drawn into a big one", into: byElement(CustomOf[kv](drawn{})),
			script: []step{add(1, 1), add(2, 2), add(0, 100), add(29, 4), add(40, 8)},
			want:   []fired{onTime(107, win(0, 34)), onTime(8, win(40, 45))}},
		{name: "small ones stay apart", into: byElement(CustomOf[kv](drawn{})),
			script: []step{add(1, 1), add(2, 2)},
			want:   []fired{onTime(1, win(1, 6)), onTime(2, win(2, 7))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := teststream.New[kv]()
			for _, step := range c.script {
				step(s)
			}
			p := pcoll.New("test")
			got, dropped := sums(s, c.into)(p)
			passert.Panes(t, got, c.want...)
			passert.Equals(t, transforms.Values(dropped), c.dropped...)
			for runner, res := range ptest.Run(t, p) {
				var nowhere int64
				for _, tr := range res.Transforms {
					nowhere += tr.Internal[exec.NoWindow]
				}
				if nowhere != c.nowhere || res.Dropped() != int64(len(c.dropped)) {
					t.Errorf("%s counts %d elements in no window and %d dropped, want %d and %d", runner, nowhere, res.Dropped(), c.nowhere, len(c.dropped))
				}
			}
		})
	}
}

// TestGapsAreCounted covers elements between sliding windows, also where they
// are combined before an exchange.
func TestGapsAreCounted(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for _, step := range []step{add(1, 1), add(3, 2), add(4, 4), add(5, 8)} {
		step(s)
	}
	in := Into(s.Source(p), Sliding(2*time.Second, 5*time.Second, AllowGaps()))
	passert.Panes(t, transforms.SumPerKey(in, pcoll.Named("Sum")), onTime(1, win(0, 2)), onTime(8, win(5, 7)))
	passert.Equals(t, transforms.ParDo(in, &windows{}, pcoll.Named("See")), win(0, 2).String(), win(5, 7).String())
	for runner, res := range ptest.Run(t, p) {
		for _, name := range []string{"Sum", "See/AssignWindows"} {
			if r, ok := res.Transform(name); !ok || r.Internal[exec.NoWindow] != 2 {
				t.Errorf("%s: %s counts %d elements in no window, want 2", runner, name, r.Internal[exec.NoWindow])
			}
		}
	}
}

// TestMergedOnce covers what follows a grouping by windows that a user merges:
// it groups by the exact windows, and merges again only when it is told to.
func TestMergedOnce(t *testing.T) {
	p := pcoll.New("test")
	s := teststream.New[kv]()
	for i, key := range []string{"a", "a", "b"} {
		s.Elements(sec(float64(5*i)), pcoll.Pair(key, 1))
	}
	fn := Custom(capped{10_000, 60_000})
	first := transforms.SumPerKey(Into(s.Source(p), fn))
	rekeyed := transforms.KeyBy(transforms.Values(first), func(int) string { return "k" })
	passert.Panes(t, transforms.SumPerKey(rekeyed), onTime(2, win(0, 15)), onTime(1, win(10, 20)))
	passert.Panes(t, transforms.SumPerKey(Into(rekeyed, Same(), StampedLatest())), onTime(2, win(0, 15)), onTime(1, win(10, 20)))
	passert.Panes(t, transforms.SumPerKey(Into(rekeyed, fn)), onTime(3, win(14.999, 29.999)))
	ptest.Run(t, p)
}

// wrong breaks the rules of a Merger, or of windows, as its kind says.
type wrong struct{ Kind string }

func (w wrong) String() string { return "wrong" }
func (w wrong) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	switch w.Kind {
	case "empty":
		return append(dst, window(t, t))
	case "again":
		return append(dst, window(t, t+10), window(t, t+20), window(t, t+10))
	}
	return append(dst, window(t, t+10))
}

func (w wrong) Merge(ws []pcoll.Window) []Merged {
	all := window(ws[0].Start, ws[len(ws)-1].End)
	switch w.Kind {
	case "unknown":
		return []Merged{{Into: all, From: []pcoll.Window{window(0, 1)}}}
	case "twice":
		return []Merged{{Into: all, From: []pcoll.Window{ws[0], ws[0]}}}
	case "small":
		return []Merged{{Into: window(ws[0].Start, ws[0].End-1), From: ws}}
	case "old":
		return []Merged{{Into: ws[1], From: ws[:1]}}
	case "parts":
		return []Merged{{Into: all, From: ws[:1]}, {Into: all, From: ws[1:]}}
	}
	panic("of the user")
}

func TestCustomFailures(t *testing.T) {
	for kind, want := range map[string]string{
		"empty": "window function wrong put an element stamped 1970-01-01T00:00:01Z into window " +
			"[1970-01-01T00:00:01Z, 1970-01-01T00:00:01Z), which holds no instant",
		"again":   "[1970-01-01T00:00:01Z, 1970-01-01T00:00:01.01Z) twice, where it would count twice; append each window once",
		"unknown": "window function wrong: it merges [1970-01-01T00:00:00Z, 1970-01-01T00:00:00.001Z), which is none of the windows that it was given",
		"twice":   "it merges [1970-01-01T00:00:01Z, 1970-01-01T00:00:01.01Z) twice; a window goes into one other",
		"small":   "into [1970-01-01T00:00:01Z, 1970-01-01T00:00:01.009Z), which does not hold it",
		"old":     "into [1970-01-01T00:00:02Z, 1970-01-01T00:00:02.01Z), which is there already and not one of them",
		"parts":   "it merges into [1970-01-01T00:00:01Z, 1970-01-01T00:00:02.01Z) twice",
		"panic":   "panic: of the user",
	} {
		t.Run(kind, func(t *testing.T) {
			p := pcoll.New("test")
			s := teststream.New[kv]().Bundle(teststream.At(sec(1), pcoll.Pair("k", 1)), teststream.At(sec(2), pcoll.Pair("k", 2)))
			transforms.GroupByKey(Into(s.Source(p), Custom(wrong{kind})), pcoll.Named("Group"))
			ptest.Fails(t, p, want, "Group")
		})
	}
	t.Run("gap", func(t *testing.T) {
		p := pcoll.New("test")
		Into(teststream.New[kv]().Elements(sec(1), pcoll.Pair("k", 1)).Source(p), SessionsBy(func(kv) time.Duration { return -time.Second }))
		ptest.Fails(t, p, "Window: ", "window function sessions(gap by pcoll.KV[string,int]) put an element stamped")
	})
}

// TestEndsOfTime covers windows that reach beyond either end of time.
func TestEndsOfTime(t *testing.T) {
	start, end := (exec.MinTime + 1000).Time(), exec.EndOfGlobal.Time()
	first, last := pcoll.Pair("first", 1), pcoll.Pair("last", 2)
	p := pcoll.New("test")
	in := teststream.New[kv]().Elements(start, first).Elements(end, last).Source(p)
	ends := func(size pcoll.Time) (pcoll.Window, pcoll.Window) {
		return window(exec.MinTime, exec.MinTime+size), window(exec.EndOfGlobal-size+1, exec.EndOfGlobal+1)
	}
	whole := passert.OnTime(first).In(window(exec.MinTime+1000, exec.EndOfGlobal+1))
	passert.Panes(t, transforms.SumPerKey(Into(in, Custom(forever{}))), whole, passert.OnTime(last).In(window(exec.EndOfGlobal, exec.EndOfGlobal+1)))
	passert.Panes(t, transforms.SumPerKey(Into(in, SessionsBy(func(kv) time.Duration { return 1<<63 - 1 }))),
		passert.OnTime(first).In(window(exec.MinTime+1000, exec.MinTime+1000+9223372036854)), passert.OnTime(last).In(window(exec.EndOfGlobal, exec.EndOfGlobal+1)))
	for _, fn := range []Fn{Fixed(time.Hour), Sliding(time.Hour, time.Hour), Calendar(1, Days), Calendar(7, Years, In("Europe/Berlin"))} {
		passert.That(t, transforms.SumPerKey(Into(in, fn)), func(got []passert.Element[kv]) error {
			if len(got) != 2 {
				return fmt.Errorf("%v: %d results, want 2", fn, len(got))
			}
			for _, e := range got {
				lowest, highest := ends(1)
				if e.Value == first && !e.Window.Contains(lowest.Start+1000) || e.Value == last && e.Window.End != highest.End || e.Window.Start < exec.MinTime {
					return fmt.Errorf("%v: %v is in %v", fn, e.Value, e.Window)
				}
			}
			return nil
		})
	}
	ptest.Run(t, p)
}

// forever is in a window that never ends.
type forever struct{}

func (forever) String() string { return "forever" }
func (forever) Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window {
	return append(dst, window(t, exec.Idle))
}

// TestF29DaysAcrossClockChanges: a day of the calendar lasts as long as it does on
// the clocks of the zone.
func TestF29DaysAcrossClockChanges(t *testing.T) {
	p := pcoll.New("test")
	day := func(s string) time.Time {
		d, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	s := teststream.New[kv]()
	for _, at := range []string{"2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z"} {
		s.Elements(day(at), pcoll.Pair("k", 1))
	}
	s.Watermark(day("2026-03-09T04:00:00Z")).Elements(day("2026-03-09T03:00:00Z"), pcoll.Pair("k", 1))
	counts := transforms.SumPerKey(Into(s.Source(p), Calendar(1, Days, In("America/New_York"))))
	passert.Panes(t, counts,
		onTime(2, passert.Window(day("2026-03-08T05:00:00Z"), day("2026-03-09T04:00:00Z"))),
		onTime(1, passert.Window(day("2026-03-09T04:00:00Z"), day("2026-03-10T04:00:00Z"))))
	for runner, res := range ptest.Run(t, p) {
		if n := res.Dropped(); n != 1 {
			t.Errorf("%s dropped %d elements, want the one that came after the day", runner, n)
		}
	}
}

func TestCustomFns(t *testing.T) {
	for want, fn := range map[string]fmt.Stringer{
		"calendar(1 day in America/New_York)": Calendar(1, Days, In("America/New_York")),
		"calendar(2 weeks from 1970-01-04)":   Calendar(2, Weeks, From(2026, time.February, 15)),
		"calendar(1 month from 2026-01-31)":   Calendar(1, Months, From(2026, time.January, 31)),
		"doubling(1000)":                      Custom(doubling{1000}),
		"lasting":                             CustomOf[kv](lasting{}),
		"sessions(gap by int)":                SessionsBy(func(int) time.Duration { return 1 }),
		"none":                                FnOf[int]{},
		"invalid":                             CustomOf[int](nil),
	} {
		if got := fn.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if Calendar(1, Days, In("Europe/Berlin")) != Calendar(1, Days, In("Europe/Berlin"), From(2020, time.May, 5)) ||
		Calendar(1, Weeks) != Calendar(1, Weeks, From(2026, time.January, 5)) || Calendar(1, Weeks) == Calendar(1, Weeks, From(2026, time.January, 4)) ||
		Custom(doubling{1}) != Custom(doubling{1}) || Custom(doubling{1}) == Custom(doubling{2}) {
		t.Error("window functions do not compare by what they do")
	}
}

func TestMergeOverlapping(t *testing.T) {
	in := []pcoll.Window{window(0, 10), window(30, 31), window(9, 12), window(20, 30), window(3, 4), window(12, 15)}
	want := []Merged{{Into: window(0, 12), From: []pcoll.Window{window(0, 10), window(3, 4), window(9, 12)}}}
	if got := MergeOverlapping(in); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// slow cannot be compared.
type slow struct{ doubling []int } //lint:ignore U1000 it is there to be compared, and cannot be

func (slow) String() string                                         { return "slow" }
func (slow) Assign(dst []pcoll.Window, _ pcoll.Time) []pcoll.Window { return dst }

func TestCustomMistakes(t *testing.T) {
	plain := func(fn Fn) func(*pcoll.Pipeline) {
		return func(p *pcoll.Pipeline) { Into(source(p, false), fn) }
	}
	of := func(fn FnOf[int]) func(*pcoll.Pipeline) {
		return func(p *pcoll.Pipeline) { Into(source(p, false), fn) }
	}
	for want, build := range map[string]func(*pcoll.Pipeline){
		"the window function is a nil Assigner; give a value":             plain(Custom(nil)),
		"the window function is a nil AssignerOf; give a value":           of(CustomOf[int](nil)),
		"the window function is the zero Fn":                              of(FnOf[int]{}),
		"window function windowing_test.slow cannot be compared":          plain(Custom(slow{})),
		"session windows have no function for the gap":                    of(SessionsBy[int](nil)),
		"calendar windows of 0 days cannot be; want a number from 1":      plain(Calendar(0, Days)),
		"calendar windows of unit 9 cannot be":                            plain(Calendar(1, Unit(9))),
		"calendar windows from 2026-02-30 cannot be":                      plain(Calendar(1, Months, From(2026, time.February, 30))),
		`calendar windows in zone "Local" could be in another`:            plain(Calendar(1, Days, In("Local"))),
		`calendar windows in zone "Europe/Atlantis": unknown time zone E`: plain(Calendar(1, Days, In("Europe/Atlantis"))),
		"windows doubling(2) and doubling(1) differ": func(p *pcoll.Pipeline) {
			in := source(p, false)
			transforms.Flatten(Into(in, Custom(doubling{1})), Into(in, Custom(doubling{2})))
		},
	} {
		p := pcoll.New("test")
		build(p)
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "custom_test.go:") {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// TestSessionsOfAllKinds covers sessions that can be flattened whatever says their gap.
func TestSessionsOfAllKinds(t *testing.T) {
	p := pcoll.New("test")
	in := teststream.New[kv]().Elements(sec(0), pcoll.Pair("k", 1)).Elements(sec(3), pcoll.Pair("k", 2)).Source(p)
	wide := Into(in, SessionsBy(func(e kv) time.Duration { return time.Duration(e.Value) * time.Second }))
	passert.Panes(t, transforms.SumPerKey(transforms.Flatten(Into(in, Sessions(time.Second)), wide)),
		onTime(2, win(0, 1)), onTime(4, win(3, 5)))
	ptest.Run(t, p)
}
