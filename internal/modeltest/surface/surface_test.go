package surface_test

import (
	"math"
	"testing"

	"github.com/penstock-dev/penstock/internal/modeltest/surface"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
)

func TestStrategiesSurviveTheirWords(t *testing.T) {
	never := &strategy.Trigger{Kind: strategy.OnNever}
	count := &strategy.Trigger{Kind: strategy.OnCount, N: 3}
	delay := &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: 5, AlignPeriod: 10, AlignOffset: 3}
	plain := &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: 4}
	of := func(k strategy.TriggerKind, subs ...*strategy.Trigger) *strategy.Trigger {
		return &strategy.Trigger{Kind: k, Subs: subs}
	}
	for _, s := range []*strategy.Strategy{
		{Fn: strategy.GlobalWindows{}, Trigger: of(strategy.OnRepeatedly, count)},
		{Fn: strategy.FixedWindows{Size: 10, Offset: 3}, Trigger: of(strategy.OnWatermark, count, nil), Mode: strategy.Accumulating, Lateness: 7},
		{Fn: strategy.SlidingWindows{Size: 10, Period: 15, Offset: 2}, Trigger: of(strategy.OnWatermark, nil, delay), Combiner: strategy.Earliest},
		{Fn: strategy.SessionWindows{Gap: 9}, Trigger: of(strategy.OnEach, never, of(strategy.OnDefault)), Combiner: strategy.Latest, ClosingAlways: true},
		{Fn: strategy.FixedWindows{Size: 1}, Trigger: of(strategy.OnAny, of(strategy.OnAlways), of(strategy.OnAll, count, never)), OnTimeIfNonEmpty: true},
		{Fn: strategy.FixedWindows{Size: 2}, Trigger: of(strategy.OnDefault), Mode: strategy.Retracting},
		{Fn: strategy.FixedWindows{Size: 1}, Trigger: of(strategy.OnOrFinally, of(strategy.OnWatermark), plain)},
	} {
		p := pcoll.New("test")
		in, err := surface.Into(transforms.Create(p, "x"), s)
		if err != nil || p.Err() != nil {
			t.Errorf("%v: %v, %v", s, err, p.Err())
			continue
		}
		if got := pcoll.Col(in).Strategy; !got.Equal(s) || !got.UnsafeAllowed {
			t.Errorf("%v became %v", s, got)
		}
	}
	synchronized := of(strategy.OnSynchronizedTime)
	if got, err := surface.Trigger(synchronized); err != nil || got.String() != "AfterProcessingTime(0s)" {
		t.Errorf("synchronized processing time became %v, %v", got, err)
	}
}

type strange struct{ strategy.GlobalWindows }

func TestWhatHasNoWords(t *testing.T) {
	ok := strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}
	for name, change := range map[string]func(*strategy.Strategy){
		"window function": func(s *strategy.Strategy) { s.Fn = strange{} },
		"size":            func(s *strategy.Strategy) { s.Fn = strategy.FixedWindows{Size: math.MaxInt64 / 1000} },
		"delay": func(s *strategy.Strategy) {
			s.Trigger = &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: math.MaxInt64}
		},
		"sub": func(s *strategy.Strategy) {
			s.Trigger = &strategy.Trigger{Kind: strategy.OnAny, Subs: []*strategy.Trigger{{Kind: 99}}}
		},
		"mode":     func(s *strategy.Strategy) { s.Mode = strategy.Retracting + 1 },
		"combiner": func(s *strategy.Strategy) { s.Combiner = strategy.Latest + 1 },
	} {
		s := ok
		change(&s)
		if _, err := surface.Into(transforms.Create(pcoll.New("test"), "x"), &s); err == nil {
			t.Errorf("%s: there are no words for it, and no error", name)
		}
	}
}
