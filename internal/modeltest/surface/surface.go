// Package surface says a windowing strategy, which is data, in the words that
// users have for it: the functions and options of packages windowing and
// triggers. Tests that draw strategies, or read them from files, run real
// pipelines with it.
package surface

import (
	"fmt"
	"math"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// Into windows in as s says. Every option is given explicitly, and triggers that
// may finish are accepted. It fails where the public API has no words for s.
func Into[T any](in pcoll.PCollection[T], s *strategy.Strategy, opts ...pcoll.Option) (pcoll.PCollection[T], error) {
	fn, err := Fn(s.Fn)
	if err != nil {
		return in, err
	}
	how, err := Options(s)
	if err != nil {
		return in, err
	}
	return windowing.Into(in, fn, append(how, opts...)...), nil
}

// Options returns the options of windowing.Into that s takes beside its windows.
func Options(s *strategy.Strategy) ([]pcoll.Option, error) {
	trigger, err := Trigger(s.Trigger)
	if err != nil {
		return nil, err
	}
	lateness, err := duration(s.Lateness)
	if err != nil { // longer than any watermark can be behind
		lateness = math.MaxInt64
	}
	opts := []pcoll.Option{windowing.Trigger(trigger), windowing.AllowUnsafeTrigger(), windowing.AllowedLateness(lateness)}
	switch s.Mode {
	case strategy.Accumulating:
		opts = append(opts, windowing.Accumulating())
	case strategy.Discarding:
		opts = append(opts, windowing.Discarding())
	case strategy.Retracting:
		opts = append(opts, windowing.Retracting())
	default:
		return nil, fmt.Errorf("surface: no option for mode %v", s.Mode)
	}
	switch s.Combiner {
	case strategy.EndOfWindow:
		opts = append(opts, windowing.StampedEndOfWindow())
	case strategy.Earliest:
		opts = append(opts, windowing.StampedEarliest())
	case strategy.Latest:
		opts = append(opts, windowing.StampedLatest())
	default:
		return nil, fmt.Errorf("surface: no option for timestamp combiner %v", s.Combiner)
	}
	closing, onTime := windowing.ClosingIfNonEmpty(), windowing.OnTimeAlways()
	if s.ClosingAlways {
		closing = windowing.ClosingAlways()
	}
	if s.OnTimeIfNonEmpty {
		onTime = windowing.OnTimeIfNonEmpty()
	}
	return append(opts, closing, onTime), nil
}

// Fn returns the window function.
func Fn(f strategy.WindowFn) (fn windowing.Fn, err error) {
	ms := func(n int64) time.Duration {
		d, bad := duration(n)
		if bad != nil {
			err = bad
		}
		return d
	}
	switch f := f.(type) {
	case strategy.GlobalWindows:
		fn = windowing.Global()
	case strategy.FixedWindows:
		fn = windowing.Fixed(ms(f.Size), windowing.Offset(ms(f.Offset)))
	case strategy.SlidingWindows:
		fn = windowing.Sliding(ms(f.Size), ms(f.Period), windowing.Offset(ms(f.Offset)), windowing.AllowGaps())
	case strategy.SessionWindows:
		fn = windowing.Sessions(ms(f.Gap))
	case strategy.CalendarWindows:
		fn = windowing.Calendar(f.N, f.Unit, windowing.In(f.Zone.String()), windowing.From(f.Year, time.Month(f.Month), f.Day))
	case strategy.Custom:
		user, ok := f.User.(windowing.Assigner)
		if !ok {
			err = fmt.Errorf("surface: windows %v are those of elements of one type", f)
			return fn, err
		}
		fn = windowing.Custom(user)
	default:
		err = fmt.Errorf("surface: no function for windows %v", f)
	}
	return fn, err
}

// Trigger returns the trigger expression; nil for nil. The continuation of
// AfterProcessingTime, which users do not write, is AfterProcessingTime(0): in
// one process synchronized processing time is the processing clock.
func Trigger(t *strategy.Trigger) (triggers.Trigger, error) {
	if t == nil {
		return nil, nil
	}
	subs := make([]triggers.Trigger, len(t.Subs))
	for i, s := range t.Subs {
		var err error
		if subs[i], err = Trigger(s); err != nil {
			return nil, err
		}
	}
	sub := func(i int) triggers.Trigger {
		if i < len(subs) {
			return subs[i]
		}
		return nil
	}
	switch t.Kind {
	case strategy.OnDefault:
		return triggers.Default{}, nil
	case strategy.OnAlways:
		return triggers.Always{}, nil
	case strategy.OnNever:
		return triggers.Never{}, nil
	case strategy.OnCount:
		return triggers.AfterCount(t.N), nil
	case strategy.OnProcessingTime:
		return delay(t)
	case strategy.OnSynchronizedTime:
		return triggers.AfterProcessingTime(0), nil
	case strategy.OnWatermark:
		return triggers.AfterWatermark{Early: sub(0), Late: sub(1)}, nil
	case strategy.OnRepeatedly:
		return triggers.Repeatedly{T: sub(0)}, nil
	case strategy.OnAny:
		return triggers.AfterAny(subs), nil
	case strategy.OnAll:
		return triggers.AfterAll(subs), nil
	case strategy.OnEach:
		return triggers.AfterEach(subs), nil
	case strategy.OnOrFinally:
		return triggers.OrFinally{Main: sub(0), Until: sub(1)}, nil
	}
	return nil, fmt.Errorf("surface: no trigger for %v", t)
}

// delay returns the trigger of processing time.
func delay(t *strategy.Trigger) (triggers.Trigger, error) {
	var d [3]time.Duration
	for i, n := range [...]int64{t.Delay, t.AlignPeriod, t.AlignOffset} {
		var err error
		if d[i], err = duration(n); err != nil {
			return nil, err
		}
	}
	if t.AlignPeriod == 0 {
		return triggers.AfterProcessingTime(d[0]), nil
	}
	return triggers.AfterAlignedTime{Delay: d[0], Period: d[1], Offset: d[2]}, nil
}

// duration returns ms as a time.Duration, which spans 292 years.
func duration(ms int64) (time.Duration, error) {
	const most = math.MaxInt64 / int64(time.Millisecond)
	if ms > most || ms < -most {
		return 0, fmt.Errorf("surface: %d ms are more than a time.Duration can hold; a pipeline cannot be told", ms)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
