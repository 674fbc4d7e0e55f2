package strategy

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
)

func tr(kind TriggerKind, subs ...*Trigger) *Trigger { return &Trigger{Kind: kind, Subs: subs} }
func cnt(n int64) *Trigger                           { return &Trigger{Kind: OnCount, N: n} }
func dly(ms int64) *Trigger                          { return &Trigger{Kind: OnProcessingTime, Delay: ms} }

// TestContinuation is the table of Beam's continuation triggers.
func TestContinuation(t *testing.T) {
	for _, c := range []struct {
		in   *Trigger
		want string
	}{
		{tr(OnDefault), "Default"},
		{tr(OnAlways), "Always"},
		{tr(OnNever), "Never"},
		{cnt(1000), "AfterCount(1)"},
		{dly(5), "AfterSynchronizedProcessingTime"},
		{tr(OnSynchronizedTime), "AfterSynchronizedProcessingTime"},
		{tr(OnWatermark), "AfterWatermark"},
		{tr(OnWatermark, nil, nil), "AfterWatermark"},
		{tr(OnWatermark, dly(5), cnt(7)), "AfterWatermark(early=AfterSynchronizedProcessingTime, late=AfterCount(1))"},
		{tr(OnWatermark, nil, cnt(7)), "AfterWatermark(late=AfterCount(1))"},
		{tr(OnRepeatedly, cnt(7)), "Repeatedly(AfterCount(1))"},
		{tr(OnAny, cnt(7), dly(5)), "AfterAny(AfterCount(1), AfterSynchronizedProcessingTime)"},
		{tr(OnAll, cnt(7), tr(OnNever)), "AfterAll(AfterCount(1), Never)"},
		{tr(OnEach, cnt(7), dly(5)), "Repeatedly(AfterAny(AfterCount(1), AfterSynchronizedProcessingTime))"},
		{tr(OnOrFinally, cnt(7), dly(5)), "Repeatedly(OrFinally(AfterCount(1), AfterSynchronizedProcessingTime))"},
	} {
		before := c.in.String()
		got := c.in.Continuation()
		if got.String() != c.want {
			t.Errorf("%v: %v, want %s", c.in, got, c.want)
		}
		if c.in.String() != before {
			t.Errorf("Continuation changed %s to %v", before, c.in)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%v: %v", got, err)
		}
	}
}

func TestMayFinish(t *testing.T) {
	for _, c := range []struct {
		t            *Trigger
		finish       bool
		unsafe, late bool // at lateness 0, at lateness 5
	}{
		{tr(OnDefault), false, false, false},
		{tr(OnAlways), false, false, false},
		{tr(OnNever), true, false, false},
		{cnt(1), true, true, true},
		{dly(1), true, true, true},
		{tr(OnSynchronizedTime), true, true, true},
		{tr(OnWatermark), true, false, true},
		{tr(OnWatermark, cnt(1), nil), true, false, true},
		{tr(OnWatermark, nil, cnt(1)), false, false, false},
		{tr(OnRepeatedly, cnt(1)), false, false, false},
		{tr(OnAny, tr(OnRepeatedly, cnt(1))), true, true, true},
		{tr(OnAll, tr(OnDefault)), true, true, true},
		{tr(OnEach, cnt(1), cnt(2)), true, true, true},
		{tr(OnEach, cnt(1), tr(OnDefault)), false, false, false},
		{tr(OnOrFinally, tr(OnDefault), tr(OnDefault)), true, true, true},
	} {
		if got := c.t.MayFinish(); got != c.finish {
			t.Errorf("%v: may finish %t, want %t", c.t, got, c.finish)
		}
		for lateness, want := range map[int64]bool{0: c.unsafe, 5: c.late} {
			if got := (&Strategy{Fn: GlobalWindows{}, Trigger: c.t, Lateness: lateness}).Unsafe(); got != want {
				t.Errorf("%v at lateness %d: unsafe %t, want %t", c.t, lateness, got, want)
			}
		}
	}
}

func TestTriggerCheck(t *testing.T) {
	for _, c := range []struct {
		t    *Trigger
		want string // of the error; empty for none
	}{
		{tr(OnDefault), ""},
		{tr(OnWatermark), ""},
		{tr(OnWatermark, nil, cnt(1)), ""},
		{tr(OnOrFinally, cnt(1), tr(OnEach, dly(0))), ""},
		{nil, "nil"},
		{cnt(0), "at least 1"},
		{dly(-1), "at least 0"},
		{&Trigger{Kind: OnProcessingTime, AlignPeriod: -1}, "at least 0"},
		{tr(OnAny), "no trigger inside"},
		{tr(OnAll), "no trigger inside"},
		{tr(OnEach), "no trigger inside"},
		{tr(OnRepeatedly), "takes 1 trigger"},
		{tr(OnRepeatedly, cnt(1), cnt(1)), "takes 1 trigger"},
		{tr(OnOrFinally, cnt(1)), "takes 2 triggers"},
		{tr(OnWatermark, cnt(1), cnt(1), cnt(1)), "at most"},
		{tr(OnRepeatedly, nil), "nil trigger"},
		{tr(OnAny, cnt(1), tr(OnAll, cnt(-4))), "AfterCount(-4)"},
	} {
		err := c.t.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.t, err, c.want)
		}
	}
}

func TestTriggerEqual(t *testing.T) {
	ts := []*Trigger{nil, tr(OnDefault), tr(OnNever), cnt(1), cnt(2), dly(1), {Kind: OnProcessingTime, Delay: 1, AlignPeriod: 5},
		{Kind: OnProcessingTime, Delay: 1, AlignPeriod: 5, AlignOffset: 1}, tr(OnWatermark), tr(OnWatermark, cnt(1)), tr(OnWatermark, nil, cnt(1)),
		tr(OnAny, cnt(1), cnt(2)), tr(OnAny, cnt(2), cnt(1)), tr(OnAll, cnt(1), cnt(2)), tr(OnAny, cnt(1))}
	for i, a := range ts {
		for j, b := range ts {
			if a.Equal(b) != (i == j) {
				t.Errorf("%v equals %v: %t", a, b, i != j)
			}
		}
	}
	if !tr(OnWatermark).Equal(tr(OnWatermark, nil, nil)) || !tr(OnWatermark, cnt(1), nil).Equal(tr(OnWatermark, cnt(1))) {
		t.Error("an absent early or late trigger differs from a nil one")
	}
}

func TestUsesProcessingTime(t *testing.T) {
	for _, c := range []struct {
		t    *Trigger
		want bool
	}{{nil, false}, {tr(OnDefault), false}, {tr(OnWatermark, nil, cnt(1)), false}, {tr(OnWatermark, nil, dly(1)), true},
		{tr(OnRepeatedly, tr(OnAny, cnt(1), tr(OnSynchronizedTime))), true}} {
		if got := c.t.UsesProcessingTime(); got != c.want {
			t.Errorf("%v: %t, want %t", c.t, got, c.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	w := exec.Window{Start: 0, End: 10}
	for _, c := range []struct {
		w        exec.Window
		lateness int64
		want     exec.Time
	}{
		{w, 0, 9},
		{w, 30, 39},
		{w, 1<<63 - 1, exec.EndOfGlobal},
		{exec.Global, 0, exec.EndOfGlobal},
		{exec.Global, 30, exec.EndOfGlobal},
		{exec.Window{Start: 0, End: exec.EndOfGlobal - 5}, 30, exec.EndOfGlobal},
		{exec.Window{Start: exec.MinTime, End: exec.MinTime + 10}, 5, exec.MinTime + 14},
	} {
		if got := (&Strategy{Lateness: c.lateness}).Expiry(c.w); got != c.want {
			t.Errorf("%v at lateness %d: %d, want %d", c.w, c.lateness, got, c.want)
		}
	}
}

func TestContinued(t *testing.T) {
	s := &Strategy{Fn: SessionWindows{Gap: 10}, Trigger: cnt(7), Lateness: 5, Mode: Accumulating, Combiner: Latest, ClosingAlways: true, OnTimeIfNonEmpty: true}
	if !s.Merging() {
		t.Error("sessions do not merge")
	}
	c := s.Continued()
	if c.Merging() || !c.Merged || c.Trigger.String() != "AfterCount(1)" || c.Lateness != 5 || c.Mode != Accumulating || c.Combiner != Latest || !c.UnsafeAllowed {
		t.Errorf("%v continues as %v", s, c)
	}
	if s.Merged || s.Trigger.N != 7 {
		t.Errorf("Continued changed its receiver to %v", s)
	}
	if d := Default().Continued(); d.Merged || !d.Equal(Default()) {
		t.Errorf("the default strategy continues as %v", d)
	}
}

func TestStrategyEqual(t *testing.T) {
	base := func() *Strategy { return &Strategy{Fn: FixedWindows{Size: 10}, Trigger: cnt(1)} }
	if !base().Equal(base()) {
		t.Error("equal strategies differ")
	}
	for name, change := range map[string]func(*Strategy){
		"fn": func(s *Strategy) { s.Fn = FixedWindows{Size: 20} }, "trigger": func(s *Strategy) { s.Trigger = cnt(2) },
		"merged": func(s *Strategy) { s.Merged = true }, "lateness": func(s *Strategy) { s.Lateness = 1 }, "mode": func(s *Strategy) { s.Mode = Accumulating },
		"combiner": func(s *Strategy) { s.Combiner = Latest }, "closing": func(s *Strategy) { s.ClosingAlways = true },
		"on time": func(s *Strategy) { s.OnTimeIfNonEmpty = true },
	} {
		s := base()
		change(s)
		if s.Equal(base()) || base().Equal(s) {
			t.Errorf("strategies that differ in %s are equal", name)
		}
		if s.String() == base().String() {
			t.Errorf("strategies that differ in %s print the same: %v", name, s)
		}
	}
	if a, b := (&Strategy{Fn: SessionWindows{Gap: 1}, Trigger: cnt(1)}), (&Strategy{Fn: SessionWindows{Gap: 2}, Trigger: cnt(1)}); a.Equal(b) {
		t.Error("sessions of different gaps are equal")
	}
}

func TestString(t *testing.T) {
	s := &Strategy{Fn: SessionWindows{Gap: 1000}, Merged: true, Trigger: &Trigger{Kind: OnProcessingTime, Delay: 10, AlignPeriod: 1000, AlignOffset: 5},
		Lateness: 1<<63 - 1, Mode: Retracting, Combiner: Earliest, ClosingAlways: true, OnTimeIfNonEmpty: true}
	want := "sessions(1s) merged firing AfterProcessingTime(10ms, align=1s+5ms), retracting, lateness forever, stamped EARLIEST, " +
		"closing pane always, on-time pane if non-empty"
	if got := s.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := Default().String(); got != "global" {
		t.Errorf("the default strategy prints as %s", got)
	}
	if got := (*Trigger)(nil).String(); got != "none" {
		t.Errorf("no trigger prints as %s", got)
	}
}
