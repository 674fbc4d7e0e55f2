package teststream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func at(sec int) time.Time { return time.Unix(int64(sec), 0) }

func minute(m int) pcoll.Window { return passert.Window(at(60*m), at(60*m+60)) }

// counted counts in fixed windows of a minute with a trigger.
func counted[T any](in pcoll.PCollection[T], trigger triggers.Trigger) pcoll.PCollection[int64] {
	return transforms.Count(windowing.Into(in, windowing.Fixed(time.Minute), windowing.Trigger(trigger),
		windowing.AllowedLateness(time.Hour), windowing.Discarding()))
}

func TestElementsKeepTimeInTheGlobalWindow(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().
		Bundle(teststream.At(at(1), "a"), teststream.At(at(-5), "b")).
		Elements(at(3), "c", "d").
		Source(p)
	passert.Panes(t, in,
		passert.Ungrouped("a").At(at(1)).In(pcoll.Global), passert.Ungrouped("b").At(at(-5)).In(pcoll.Global),
		passert.Ungrouped("c").At(at(3)).In(pcoll.Global), passert.Ungrouped("d").At(at(3)).In(pcoll.Global))
	for name, res := range ptest.Run(t, p) {
		if tr, _ := res.Transform("TestStream"); tr.Elements != 4 || tr.Watermark != exec.MaxTime {
			t.Errorf("%s: TestStream emitted %d elements up to %v, want 4 and the end of time", name, tr.Elements, tr.Watermark)
		}
	}
}

// An event is one bundle, however many elements and times it has: a trigger
// that is ready within it fires once, at its end.
func TestAnEventIsOneBundle(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().
		Elements(at(1), "a", "b", "c").
		Bundle(teststream.At(at(2), "d"), teststream.At(at(3), "e")).
		Elements(at(4), "f").
		Source(p)
	passert.Panes(t, counted(in, triggers.Repeatedly{T: triggers.AfterCount(2)}),
		passert.Early(int64(3)), passert.Early(int64(2)), passert.OnTime(int64(1)))
	ptest.Run(t, p)
}

func TestWatermarkDecidesTiming(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().
		Elements(at(1), "a").
		Watermark(at(60)). // not past the window's last millisecond's end: strictly after 59.999 is
		Elements(at(2), "late").
		Watermark(at(60)). // may repeat
		Elements(at(61), "next").
		Source(p)
	passert.Panes(t, counted(in, triggers.AfterWatermark{Late: triggers.AfterCount(1)}),
		passert.OnTime(int64(1)).In(minute(0)), passert.Late(int64(1)).In(minute(0)), passert.OnTime(int64(1)).In(minute(1)))
	ptest.Run(t, p)
}

func TestEndOfScriptClosesAllWindows(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().Elements(at(1), "a").Elements(at(1_000_000), "b").Source(p)
	passert.Panes(t, counted(in, triggers.AfterWatermark{Late: triggers.AfterCount(1)}), passert.OnTime(int64(1)), passert.OnTime(int64(1)))
	ptest.Run(t, p)
}

func TestEmptyScriptEnds(t *testing.T) {
	p := pcoll.New("script")
	passert.Empty(t, teststream.New[string]().Source(p))
	ptest.Run(t, p)
}

// The clock starts at the epoch and moves by the script alone. A timer is due strictly after its time.
func TestProcessingTime(t *testing.T) {
	trigger := triggers.Repeatedly{T: triggers.AfterProcessingTime(time.Minute)}
	for _, tc := range []struct {
		name   string
		script func(*teststream.Stream[string]) *teststream.Stream[string]
		want   []passert.Fired[int64]
	}{
		{"just not due", func(s *teststream.Stream[string]) *teststream.Stream[string] {
			return s.Elements(at(1), "a").ProcessingTime(time.Minute).Elements(at(1), "b")
		}, []passert.Fired[int64]{passert.OnTime(int64(2))}},
		{"due", func(s *teststream.Stream[string]) *teststream.Stream[string] {
			return s.Elements(at(1), "a").ProcessingTime(time.Minute).ProcessingTime(time.Millisecond).Elements(at(1), "b")
		}, []passert.Fired[int64]{passert.Early(int64(1)), passert.OnTime(int64(1))}},
		{"counted from the pane's first element", func(s *teststream.Stream[string]) *teststream.Stream[string] {
			return s.Elements(at(1), "a").ProcessingTime(40*time.Second).Elements(at(1), "b").ProcessingTime(30*time.Second).
				Elements(at(1), "c").ProcessingTime(40 * time.Second)
		}, []passert.Fired[int64]{passert.Early(int64(2)), passert.OnTime(int64(1))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := pcoll.New("script")
			in := tc.script(teststream.New[string]()).Source(p)
			passert.Panes(t, counted(in, trigger), tc.want...)
			ptest.Run(t, p)
		})
	}
}

// Two streams of one script: one order of events, one clock.
func TestStreamsOfOneScript(t *testing.T) {
	build := func(p *pcoll.Pipeline) (pcoll.PCollection[string], pcoll.PCollection[int]) {
		var script teststream.Script
		words, numbers := teststream.On[string](&script), teststream.On[int](&script)
		ws, ns := words.Source(p, pcoll.Named("words")), numbers.Source(p, pcoll.Named("numbers")) // events may follow
		words.Elements(at(1), "a")
		numbers.Elements(at(2), 1, 2)
		words.Elements(at(3), "b").Watermark(at(70))
		script.ProcessingTime(time.Minute)
		numbers.Elements(at(4), 3)
		return ws, ns
	}
	t.Run("order", func(t *testing.T) {
		p := pcoll.New("script")
		ws, ns := build(p)
		all := transforms.Flatten(ws, transforms.Map(ns, func(n int) string { return fmt.Sprint(n) }))
		passert.That(t, all, func(got []passert.Element[string]) error {
			var order []string
			for _, e := range got {
				order = append(order, e.Value)
			}
			if s := strings.Join(order, " "); s != "a 1 2 b 3" {
				return fmt.Errorf("order of events is %s", s)
			}
			return nil
		})
		ptest.Run(t, p)
	})
	t.Run("watermarks", func(t *testing.T) {
		p := pcoll.New("script")
		ws, ns := build(p)
		each := triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)}
		// The numbers stay early, the words' watermark is not theirs.
		passert.Panes(t, counted(ns, each), passert.Early(int64(2)), passert.Early(int64(1)), passert.OnTime(int64(0)))
		passert.Panes(t, counted(ws, each), passert.Early(int64(1)), passert.Early(int64(1)), passert.OnTime(int64(0)))
		ptest.Run(t, p)
	})
}

func TestBoundedSourcesAreReadFirst(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().Elements(at(1), "scripted").Source(p)
	all := transforms.Flatten(transforms.Map(transforms.Create(p, "a", "b"), strings.ToUpper), in)
	passert.That(t, all, func(got []passert.Element[string]) error {
		if len(got) != 3 || got[2].Value != "scripted" {
			return errors.New("the event did not come last")
		}
		return nil
	})
	ptest.Run(t, p)
}

func TestAStreamServesManyPipelines(t *testing.T) {
	s := teststream.New[string]().Elements(at(1), "a", "b")
	for _, name := range []string{"one", "two"} {
		p := pcoll.New(name)
		passert.Equals(t, s.Source(p), "a", "b")
		ptest.Run(t, p)
	}
	s.Elements(at(2), "c")
	p := pcoll.New("three")
	in := s.Source(p)
	s.Elements(at(2), "d")
	passert.Equals(t, in, "a", "b", "c", "d")
	ptest.Run(t, p)
}

// TestFirstAndLastTimes delivers elements at the first and the last time that an element can have.
func TestFirstAndLastTimes(t *testing.T) {
	p := pcoll.New("test")
	first, last := exec.MinTime.Time(), (exec.MaxTime - 1).Time()
	got := teststream.New[int]().Watermark(first).Elements(first, 1).Elements(last, 2).Source(p)
	passert.Panes(t, got, passert.Ungrouped(1).At(first), passert.Ungrouped(2).At(last))
	ptest.Run(t, p)
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		want  []string
	}{
		{"watermark goes back", func(p *pcoll.Pipeline) {
			teststream.New[int]().Watermark(at(10)).Watermark(at(9)).Source(p)
		}, []string{"event 1 of the script (teststream_test.go:", "1970-01-01T00:00:09Z lies before 1970-01-01T00:00:10Z", "never goes back"}},
		{"watermark at the end of time", func(p *pcoll.Pipeline) {
			teststream.New[int]().Watermark(exec.MaxTime.Time()).Source(p)
		}, []string{"event 0", "outside what event time can express"}},
		{"watermark of no time", func(p *pcoll.Pipeline) { teststream.New[int]().Watermark(time.Time{}).Source(p) }, []string{"zero time.Time"}},
		{"element at the end of time", func(p *pcoll.Pipeline) {
			teststream.New[int]().Elements(exec.MaxTime.Time(), 7).Source(p)
		}, []string{"event 0", "element 0, 7: ", "outside"}},
		{"element before time", func(p *pcoll.Pipeline) {
			teststream.New[int]().Bundle(teststream.At(at(1), 6), teststream.At(exec.MinTime.Time().Add(-time.Millisecond), 7)).Source(p)
		}, []string{"element 1, 7: ", "outside", "which begins at"}},
		{"element without time", func(p *pcoll.Pipeline) { teststream.New[int]().Elements(time.Time{}, 7).Source(p) }, []string{"zero time.Time"}},
		{"clock stands still", func(p *pcoll.Pipeline) { teststream.New[int]().ProcessingTime(0).Source(p) }, []string{"cannot advance by 0s"}},
		{"clock goes back", func(p *pcoll.Pipeline) { teststream.New[int]().ProcessingTime(-time.Second).Source(p) }, []string{"cannot advance by -1s"}},
		{"clock in microseconds", func(p *pcoll.Pipeline) {
			teststream.New[int]().ProcessingTime(1500 * time.Microsecond).Source(p)
		}, []string{"cannot advance by 1.5ms"}},
		{"after Source", func(p *pcoll.Pipeline) {
			s := teststream.New[int]()
			s.Source(p)
			s.Watermark(time.Time{})
		}, []string{"event 0", "zero time.Time"}},
		{"clock after Source", func(p *pcoll.Pipeline) {
			s := teststream.New[int]()
			s.Source(p)
			s.ProcessingTime(0)
		}, []string{"cannot advance"}},
		{"twice in a pipeline", func(p *pcoll.Pipeline) {
			s := teststream.New[int]()
			s.Source(p)
			s.Source(p)
		}, []string{"TestStream-2: ", "a source of this pipeline already"}},
		{"two scripts", func(p *pcoll.Pipeline) {
			teststream.New[int]().Source(p, pcoll.Named("a"))
			teststream.New[int]().Source(p, pcoll.Named("b"))
		}, []string{": b: a follows another script", "with On"}},
		{"unbounded", func(p *pcoll.Pipeline) { transforms.Count(teststream.New[int]().Source(p)) }, []string{"unbounded"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := pcoll.New("bad")
			tc.build(p)
			err := p.Err()
			if err == nil {
				t.Fatal("no error")
			}
			var be *pcoll.BuildError
			if !errors.As(err, &be) || !strings.HasSuffix(be.File, "teststream_test.go") {
				t.Errorf("%v is not located in this file", err)
			}
			if n := strings.Count(err.Error(), "\n"); n != 1 {
				t.Errorf("%d mistakes, want 1: %v", n, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not contain %q: %v", want, err)
				}
			}
		})
	}
}

func TestEventOfAnUnreadStream(t *testing.T) {
	p := pcoll.New("bad")
	var script teststream.Script
	teststream.On[int](&script).Elements(at(1), 1).Source(p, pcoll.Named("read"))
	teststream.On[int](&script).Elements(at(1), 2)
	ptest.Fails(t, p, "read: ", "teststream_test.go:", "no source of this pipeline")
}

func TestAScriptNeedsBoundedCompany(t *testing.T) {
	p := pcoll.New("bad")
	teststream.New[int]().Source(p)
	b := pcoll.NewBuilder(p, "Live")
	pcoll.To[int](b, pcoll.Unwindowed(false))
	b.Add(never{})
	ptest.Fails(t, p, "Live is unbounded")
}

// never is a root without elements.
type never struct{}

func (never) New(exec.Env, []any) (exec.Instance, error) {
	return exec.Instance{Poll: func(*exec.Ctx, int) exec.Status { return exec.Waiting }}, nil
}

func TestTheSameScriptTwiceAtOnce(t *testing.T) {
	p := pcoll.New("script")
	in := teststream.New[string]().Elements(at(1), "a").Watermark(at(2)).Source(p)
	passert.Equals(t, in, "a")
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := direct.Run(context.Background(), p)
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
