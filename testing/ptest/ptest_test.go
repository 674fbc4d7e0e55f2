package ptest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/internal/faket"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func at(d time.Duration) time.Time { return time.UnixMilli(0).Add(d) }

type order = pcoll.KV[string, int]

// totals is a pipeline with late data.
func totals(p *pcoll.Pipeline) pcoll.PCollection[order] {
	orders := teststream.New[order]().
		Elements(at(2*time.Second), pcoll.Pair("ann", 7), pcoll.Pair("bob", 1)).
		Watermark(at(70*time.Second)).
		Elements(at(50*time.Second), pcoll.Pair("bob", 100)).
		Source(p)
	return transforms.SumPerKey(windowing.Into(orders, windowing.Fixed(time.Minute),
		windowing.Trigger(triggers.AfterWatermark{Late: triggers.AfterCount(1)}),
		windowing.AllowedLateness(time.Hour), windowing.Accumulating()))
}

var runnerNames = []string{"direct", "local-1", "local-2", "local-5"}

func TestRunIsOnEveryRunner(t *testing.T) {
	p := pcoll.New("totals")
	passert.Panes(t, totals(p), passert.OnTime(pcoll.Pair("ann", 7)), passert.OnTime(pcoll.Pair("bob", 1)), passert.Late(pcoll.Pair("bob", 101)))
	if names := slices.Sorted(maps.Keys(ptest.Run(t, p))); !slices.Equal(names, runnerNames) {
		t.Errorf("ran on %v, want %v", names, runnerNames)
	}
	if names := slices.Sorted(maps.Keys(ptest.Run(t, p, ptest.Workers(3)))); !slices.Equal(names, []string{"direct", "local-3"}) {
		t.Errorf("ran on %v, want direct and local-3", names)
	}
}

func TestRunReportsWhatFails(t *testing.T) {
	div := func(n int) int { return 1 / n }
	for _, tc := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		count int
		want  []string
	}{
		{"construction", func(p *pcoll.Pipeline) { windowing.Into(transforms.Create(p, 1), windowing.Fixed(0)) }, 1, []string{"cannot run", "ptest_test.go"}},
		{"run", func(p *pcoll.Pipeline) {
			transforms.Map(transforms.Create(p, 1, 0), div, pcoll.Named("Divide"))
		}, 4, []string{"ptest: on direct: ", "ptest: on local-5: ", "Divide", "integer divide by zero"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ft := faket.Run(t, func(ft *faket.T) {
				p := pcoll.New("bad")
				tc.build(p)
				ptest.Run(ft, p)
			})
			if ft.Count() != tc.count {
				t.Errorf("%d failures, want %d: %s", ft.Count(), tc.count, ft.Failures())
			}
			for _, want := range tc.want {
				if !strings.Contains(ft.Failures(), want) {
					t.Errorf("no failure contains %q: %s", want, ft.Failures())
				}
			}
		})
	}
}

func TestFails(t *testing.T) {
	boom := func(int) int { panic("boom") }
	p := pcoll.New("bad")
	transforms.Map(transforms.Create(p, 1), boom)
	if errs := ptest.Fails(t, p, "Map: ", "boom"); len(errs) != 4 {
		t.Errorf("%d errors, want one of each runner", len(errs))
	}
	ft := faket.Run(t, func(ft *faket.T) { ptest.Fails(ft, p, "bang") })
	if ft.Count() != 4 || !strings.Contains(ft.Failures(), `does not contain "bang"`) {
		t.Errorf("a wrong text passes: %s", ft.Failures())
	}
	good := pcoll.New("good")
	transforms.Create(good, 1)
	ft = faket.Run(t, func(ft *faket.T) { ptest.Fails(ft, good) })
	if ft.Count() != 4 || !strings.Contains(ft.Failures(), "the run succeeded") {
		t.Errorf("a run without a failure passes: %s", ft.Failures())
	}
}

func TestCollect(t *testing.T) {
	p := pcoll.New("totals")
	c := ptest.Collect(totals(p))
	if c.On("direct") != nil {
		t.Error("there are elements before a run")
	}
	ptest.Run(t, p)
	ptest.Run(t, p) // each run starts anew
	for _, name := range runnerNames {
		got := c.On(name)
		if len(got) != 3 {
			t.Errorf("%s: %d elements, want 3: %v", name, len(got), got)
		}
		for _, e := range got {
			if e.Window != passert.Window(at(0), at(time.Minute)) || e.Time != e.Window.Max() || e.Pane.Timing > pcoll.Late || e.Kind != exec.Insert {
				t.Errorf("%s: %s", name, passert.Describe(e))
			}
		}
	}
	if _, err := direct.Run(t.Context(), p); err != nil || len(c.On("")) != 3 {
		t.Errorf("a run outside ptest: %v, %v", c.On(""), err)
	}
}

func TestSamePanes(t *testing.T) {
	if got := ptest.SamePanes(t, totals); len(got) != 3 {
		t.Errorf("got %v, want 3 elements", got)
	}
}

// number emits the worker's count, which differs between runners.
type number struct{}

func (number) Process(c *pcoll.Context, _ struct{}, emit pcoll.Emit[int]) error {
	_, n := c.Worker()
	emit(c, n)
	return nil
}

func TestSamePanesSeesADifference(t *testing.T) {
	build := func(p *pcoll.Pipeline) pcoll.PCollection[int] {
		return transforms.ParDo(transforms.Impulse(p), number{})
	}
	for name, check := range map[string]func(testing.TB){
		"panes":    func(t testing.TB) { ptest.SamePanes(t, build) },
		"elements": func(t testing.TB) { ptest.SameElements(t, build) },
	} {
		ft := faket.Run(t, func(ft *faket.T) { check(ft) })
		if ft.Count() != 2 || !strings.Contains(ft.Failures(), "local-5 gives other elements than the direct runner") {
			t.Errorf("%s: want a difference on local-2 and local-5: %s", name, ft.Failures())
		}
	}
	// Times differ, values do not.
	stamped := func(p *pcoll.Pipeline) pcoll.PCollection[int] {
		return transforms.ParDo(transforms.Impulse(p), &stamp{}, transforms.AllowedSkew(time.Hour))
	}
	if ft := faket.Run(t, func(ft *faket.T) { ptest.SameElements(ft, stamped) }); ft.Failed() {
		t.Errorf("times count: %s", ft.Failures())
	}
	if ft := faket.Run(t, func(ft *faket.T) { ptest.SamePanes(ft, stamped) }); ft.Count() != 2 {
		t.Errorf("times do not count: %s", ft.Failures())
	}
}

// stamp emits 1 at a time that differs between runners.
type stamp struct{}

func (*stamp) Process(c *pcoll.Context, _ struct{}, emit pcoll.Emit[int]) error {
	_, n := c.Worker()
	emit.At(c, at(time.Duration(n)*time.Second), 1)
	return nil
}

func TestKeysReachTheirOwners(t *testing.T) {
	p := pcoll.New("keys")
	counts := transforms.CountPerElement(transforms.Map(transforms.GenerateSequence(p, 0, 1000), func(n int64) string { return fmt.Sprint("key ", n%50) }),
		pcoll.Named("Count"))
	passert.That(t, counts, func(got []passert.Element[pcoll.KV[string, int64]]) error {
		for _, e := range got {
			if e.Value.Value != 20 {
				return fmt.Errorf("%v, want 20 of each", e.Value)
			}
		}
		return nil
	})
	for name, res := range ptest.Run(t, p) {
		tr, _ := res.Transform("Count")
		busy := 0
		for _, n := range tr.ByWorker {
			if n > 0 {
				busy++
			}
		}
		// One worker needs no exchange.
		if want := map[string]int{"local-2": 2, "local-5": 5}[name]; name != "direct" && busy != want {
			t.Errorf("%s: %d workers received keys, want %d: %v", name, busy, want, tr.ByWorker)
		}
	}
}

func TestOptionsReachTheLocalRunner(t *testing.T) {
	p := pcoll.New("totals")
	passert.Equals(t, totals(p), pcoll.Pair("ann", 7), pcoll.Pair("bob", 1), pcoll.Pair("bob", 101))
	ptest.Run(t, p, ptest.Local(local.Lifting(false), local.BatchSize(1)), ptest.Direct(direct.Seed(7)))
}
