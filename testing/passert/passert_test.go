package passert_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/testing/internal/faket"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

type sum = pcoll.KV[string, int]

func at(sec int) time.Time { return time.Unix(int64(sec), 0) }

func kv(k string, v int) sum { return pcoll.Pair(k, v) }

// minute is the window that starts at the given minute.
func minute(m int) pcoll.Window { return passert.Window(at(60*m), at(60*m+60)) }

// panes is a collection with every timing:
//
//	minute 0, ann: EARLY 1, EARLY 3, ON_TIME 3, LATE 10 (last)
//	minute 0, bob: ON_TIME 5 (first)
//	minute 1, ann: ON_TIME 20
func panes(p *pcoll.Pipeline) pcoll.PCollection[sum] {
	in := teststream.New[sum]().
		Elements(at(1), kv("ann", 1)).
		Elements(at(2), kv("ann", 2)).
		Watermark(at(30)).
		Bundle(teststream.At(at(31), kv("bob", 5)), teststream.At(at(61), kv("ann", 20))).
		Watermark(at(125)).
		Elements(at(50), kv("ann", 7)).
		Source(p)
	windowed := windowing.Into(in, windowing.Fixed(time.Minute),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)}),
		windowing.AllowedLateness(time.Hour), windowing.Accumulating())
	return transforms.SumPerKey(windowed)
}

// all is what panes holds.
var all = []sum{kv("ann", 1), kv("ann", 3), kv("ann", 3), kv("ann", 10), kv("bob", 5), kv("bob", 5), kv("ann", 20), kv("ann", 20)}

func TestAssertions(t *testing.T) {
	type col = pcoll.PCollection[sum]
	w0, w1 := minute(0), minute(1)
	early, onTime, late := passert.Early[sum], passert.OnTime[sum], passert.Late[sum]
	fired := func(f ...passert.Fired[sum]) []passert.Fired[sum] { return f }
	right := fired(early(kv("ann", 1)), early(kv("ann", 3)), onTime(kv("ann", 3)), late(kv("ann", 10)),
		early(kv("bob", 5)), onTime(kv("bob", 5)), early(kv("ann", 20)), onTime(kv("ann", 20)))
	edit := func(f func(ps []passert.Fired[sum])) []passert.Fired[sum] {
		ps := append([]passert.Fired[sum](nil), right...)
		f(ps)
		return ps
	}
	for _, tc := range []struct {
		name   string
		assert func(t testing.TB, c col)
		fail   []string // what the failure says; nil: it holds
	}{
		{"equals", func(t testing.TB, c col) { passert.Equals(t, c, all...) }, nil},
		{"equals in any order", func(t testing.TB, c col) {
			passert.Equals(t, c, kv("bob", 5), kv("ann", 20), kv("ann", 3), kv("ann", 20), kv("ann", 1), kv("ann", 10), kv("bob", 5), kv("ann", 3))
		}, nil},
		{"equals with one less", func(t testing.TB, c col) { passert.Equals(t, c, all[1:]...) },
			[]string{"passert_test.go:", "passert.Equals on direct: contents differ", `+ `, `"ann": 1`, "8 elements came:",
				`"ann": 10 at 1970-01-01T00:00:59.999Z in [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z), pane 3 LATE`}},
		{"equals with one more", func(t testing.TB, c col) { passert.Equals(t, c, append(all, kv("eve", 1))...) }, []string{`- `, `"eve": 1`}},
		{"equals with another count", func(t testing.TB, c col) { passert.Equals(t, c, append(all[1:], kv("ann", 3))...) }, []string{"differ"}},
		{"empty", func(t testing.TB, c col) { passert.Empty(t, c) }, []string{"passert.Empty on direct", "differ"}},
		{"in", func(t testing.TB, c col) { passert.In(t, c, w1, kv("ann", 20), kv("ann", 20)) }, nil},
		{"in another", func(t testing.TB, c col) { passert.In(t, c, w0, kv("ann", 20), kv("ann", 20)) }, []string{"window " + w0.String() + ": ", "differ"}},
		{"in none", func(t testing.TB, c col) { passert.In(t, c, minute(2)) }, nil},
		{"in none but", func(t testing.TB, c col) { passert.In(t, c, minute(2), kv("ann", 20)) },
			[]string{"the collection is empty", "in all windows and panes, 8 elements came"}},
		{"early", func(t testing.TB, c col) { passert.InEarly(t, c, w0, kv("ann", 1), kv("ann", 3), kv("bob", 5)) }, nil},
		{"early but", func(t testing.TB, c col) { passert.InEarly(t, c, w0, kv("ann", 1), kv("ann", 3)) }, []string{`"bob": 5`}},
		{"on time", func(t testing.TB, c col) { passert.InOnTime(t, c, w0, kv("ann", 3), kv("bob", 5)) }, nil},
		{"on time but", func(t testing.TB, c col) { passert.InOnTime(t, c, w0, kv("ann", 10), kv("bob", 5)) }, []string{`"ann": 10`}},
		{"not late", func(t testing.TB, c col) {
			passert.InNonLate(t, c, w0, kv("ann", 1), kv("ann", 3), kv("ann", 3), kv("bob", 5), kv("bob", 5))
		}, nil},
		{"not late but", func(t testing.TB, c col) { passert.InNonLate(t, c, w0, all[:6]...) }, []string{`"ann": 10`}},
		{"late", func(t testing.TB, c col) { passert.InLate(t, c, w0, kv("ann", 10)) }, nil},
		{"late but", func(t testing.TB, c col) { passert.InLate(t, c, w1, kv("ann", 20)) }, []string{`"ann": 20`}},
		{"final", func(t testing.TB, c col) { passert.InFinal(t, c, w0) }, nil}, // no closing pane without news
		{"final but", func(t testing.TB, c col) { passert.InFinal(t, c, w0, kv("ann", 10)) }, []string{`"ann": 10`}},
		{"windows", func(t testing.TB, c col) {
			passert.Windows(t, c, passert.Holds(w0, all[:6]...), passert.Holds(w1, all[6:]...))
		}, nil},
		{"windows swapped", func(t testing.TB, c col) {
			passert.Windows(t, c, passert.Holds(w1, all[:6]...), passert.Holds(w0, all[6:]...))
		}, []string{"differ"}},
		{"windows forgotten", func(t testing.TB, c col) { passert.Windows(t, c, passert.Holds(w0, all[:6]...)) }, []string{w1.String() + ` "ann": 20`}},
		{"that", func(t testing.TB, c col) { passert.That(t, c, func(got []passert.Element[sum]) error { return nil }) }, nil},
		{"that not", func(t testing.TB, c col) {
			passert.That(t, c, func(got []passert.Element[sum]) error { return errors.New("not what I want") })
		}, []string{"passert.That on direct: not what I want", "8 elements came"}},

		{"panes", func(t testing.TB, c col) { passert.Panes(t, c, right...) }, nil},
		{"panes with keys in another order", func(t testing.TB, c col) {
			passert.Panes(t, c, append(append(fired(), right[4:]...), right[:4]...)...)
		}, nil},
		{"panes of a key in another order", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[0], ps[1] = ps[1], ps[0] })...)
		}, []string{"panes of key \"ann\" came in another order", "want\n\tEARLY \"ann\": 3"}},
		{"panes with another timing", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[4] = passert.Late(kv("bob", 5)) })...)
		}, []string{`LATE "bob": 5`, `EARLY "bob": 5`}},
		{"panes with details", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) {
				ps[0] = ps[0].In(w0).Index(0).At(at(60).Add(-time.Millisecond))
				ps[6] = ps[6].In(w1)
			})...)
		}, nil},
		{"panes with another window", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[6] = ps[6].In(w0) })...)
		}, []string{`EARLY "ann": 20 in ` + w0.String()}},
		{"panes with another index", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[3] = ps[3].Index(2) })...)
		}, []string{`LATE "ann": 10, pane 2`, `LATE "ann": 10, pane 3`}},
		{"panes with another time", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[3] = ps[3].At(at(1)) })...)
		}, []string{`LATE "ann": 10 at 1970-01-01T00:00:01Z`}},
		{"panes with a last one", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[3] = ps[3].Final() })...)
		}, []string{`LATE "ann": 10 last`}},
		{"panes outside", func(t testing.TB, c col) {
			passert.Panes(t, c, edit(func(ps []passert.Fired[sum]) { ps[3] = passert.Ungrouped(kv("ann", 10)) })...)
		}, []string{`UNKNOWN "ann": 10`}},
		{"panes with one less", func(t testing.TB, c col) { passert.Panes(t, c, right[:7]...) }, []string{`ON_TIME "ann": 20`}},
		{"panes with one more", func(t testing.TB, c col) { passert.Panes(t, c, append(right, late(kv("ann", 20)))...) }, []string{`LATE "ann": 20`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ft := faket.Run(t, func(ft *faket.T) {
				p := pcoll.New("self")
				tc.assert(ft, panes(p))
				ptest.Run(ft, p)
			})
			got := ft.Failures()
			if tc.fail == nil && got != "" {
				t.Errorf("it must hold, but: %s", got)
			}
			if tc.fail != nil && ft.Count() != 4 {
				t.Errorf("it failed %d times, want once on each of 4 runners: %s", ft.Count(), got)
			}
			for _, want := range tc.fail {
				if !strings.Contains(strings.ReplaceAll(got, "\u00a0", " "), want) {
					t.Errorf("failure does not say %q: %s", want, got)
				}
			}
		})
	}
}

func TestAssertionThatNeverRanFails(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(ft *faket.T, p *pcoll.Pipeline)
		want int
	}{
		{"not run", func(*faket.T, *pcoll.Pipeline) {}, 1},
		{"run", func(ft *faket.T, p *pcoll.Pipeline) { _, _ = direct.Run(ft.Context(), p) }, 0},
		{"run by ptest", func(ft *faket.T, p *pcoll.Pipeline) { ptest.Run(ft, p) }, 0},
		{"added after the run", func(ft *faket.T, p *pcoll.Pipeline) {
			ptest.Run(ft, p)
			passert.Empty(ft, transforms.Create(p, 1))
		}, 1},
		{"run that fails", func(ft *faket.T, p *pcoll.Pipeline) {
			transforms.Map(transforms.Create(p, 0), func(n int) int { return 1 / n })
			_, _ = direct.Run(ft.Context(), p)
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ft := faket.Run(t, func(ft *faket.T) {
				p := pcoll.New("self")
				passert.Equals(ft, transforms.Create(p, "a"), "a")
				tc.run(ft, p)
			})
			if ft.Count() != tc.want || tc.want > 0 && !strings.Contains(ft.Failures(), "was never checked") {
				t.Errorf("%d failures, want %d: %s", ft.Count(), tc.want, ft.Failures())
			}
		})
	}
}

func TestEqualityIsOfMeaning(t *testing.T) {
	type elem struct {
		P *int
		T time.Time
		F []float64
		M map[string]int
		G pcoll.Group[string]
	}
	one, uno, two := 1, 1, 2
	berlin := time.FixedZone("", 3600)
	a := elem{&one, at(5), []float64{math.NaN(), 0}, map[string]int{"x": 1, "y": 2}, pcoll.GroupOf("b", "a", "b")}
	b := elem{&uno, at(5).In(berlin), []float64{math.NaN(), math.Copysign(0, -1)}, map[string]int{"y": 2, "x": 1}, pcoll.GroupOf("b", "b", "a")}
	edits := map[string]func(*elem){
		"pointer": func(e *elem) { e.P = &two },
		"nil":     func(e *elem) { e.P = nil },
		"time":    func(e *elem) { e.T = at(6) },
		"floats":  func(e *elem) { e.F = []float64{0, math.NaN()} },
		"map":     func(e *elem) { e.M = map[string]int{"x": 2, "y": 1} },
		"group":   func(e *elem) { e.G = pcoll.GroupOf("a", "a", "b") },
	}
	equal := func(t *testing.T, x elem) string {
		return faket.Run(t, func(ft *faket.T) {
			p := pcoll.New("self")
			passert.Equals(ft, transforms.Create(p, a), x)
			ptest.Run(ft, p)
		}).Failures()
	}
	if f := equal(t, b); f != "" {
		t.Errorf("equal values differ: %s", f)
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			c := b
			edit(&c)
			if equal(t, c) == "" {
				t.Errorf("%+v and %+v count as equal", a, c)
			}
		})
	}
}

func TestPanesOfOneKey(t *testing.T) {
	run := func(t *testing.T, want ...passert.Fired[int]) string {
		return faket.Run(t, func(ft *faket.T) {
			p := pcoll.New("self")
			passert.Panes(ft, transforms.Values(panes(p)), want...)
			ptest.Run(ft, p)
		}).Failures()
	}
	// ann and bob share pane numbers of minute 0, so there is no order.
	if f := run(t, passert.Late(10), passert.Early(1), passert.OnTime(3), passert.Early(3),
		passert.Early(5), passert.OnTime(5), passert.OnTime(20), passert.Early(20)); f != "" {
		t.Error(f)
	}
	global := func(t *testing.T, want ...passert.Fired[int64]) string {
		return faket.Run(t, func(ft *faket.T) {
			p := pcoll.New("self")
			in := teststream.New[string]().Elements(at(1), "a").Elements(at(2), "b").Source(p)
			n := transforms.Count(windowing.Into(in, windowing.Fixed(time.Minute), windowing.Accumulating(), windowing.AllowedLateness(0),
				windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1)})))
			passert.Panes(ft, n, want...)
			ptest.Run(ft, p)
		}).Failures()
	}
	if f := global(t, passert.Early(int64(1)), passert.Early(int64(2)), passert.OnTime(int64(2))); f != "" {
		t.Error(f)
	}
	f := global(t, passert.Early(int64(2)), passert.Early(int64(1)), passert.OnTime(int64(2)))
	if !strings.Contains(f, "panes of the collection came in another order") {
		t.Errorf("wrong order passes: %s", f)
	}
}
