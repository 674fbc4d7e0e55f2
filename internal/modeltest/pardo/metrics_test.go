package pardo_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
)

// measured counts in each of its methods.
type measured struct {
	End timers.EventTime `timer:"end"`
}

var (
	_ StatefulFn[string, int, int] = (*measured)(nil)
	_ TimerFn[string, int]         = (*measured)(nil)
	_ ExpirationFn[string, int]    = (*measured)(nil)
	_ Setupper                     = (*measured)(nil)
	_ BundleStarter                = (*measured)(nil)
	_ BundleFinisher[int]          = (*measured)(nil)
)

func (f *measured) Setup(c *pcoll.Context) error {
	pcoll.Counter(c, "setups").Add(1)
	return nil
}

func (f *measured) StartBundle(c *pcoll.Context) error {
	pcoll.Counter(c, "bundles").Add(1)
	return nil
}

func (f *measured) FinishBundle(c *pcoll.Context, _ pcoll.Emit[int]) error {
	pcoll.Counter(c, "bundles").Add(-1)
	return nil
}

func (f *measured) Process(c *pcoll.Context, e pair, emit pcoll.Emit[int]) error {
	pcoll.Counter(c, "elements").Add(1)
	pcoll.Distribution(c, "values").Update(int64(e.Value))
	if e.Value == 3 {
		f.End.Set(c, sec(30))
	}
	emit(c, e.Value)
	return nil
}

func (f *measured) OnTimer(c *pcoll.Context, _ string, _ timers.Firing, _ pcoll.Emit[int]) error {
	pcoll.Counter(c, "timers").Add(1)
	return nil
}

func (f *measured) OnWindowExpiration(c *pcoll.Context, _ string, _ pcoll.Emit[int]) error {
	pcoll.Counter(c, "keys").Add(1)
	return nil
}

// TestMetricsOfARun are sums over workers of what functions counted, by transform.
func TestMetricsOfARun(t *testing.T) {
	p := pcoll.New("metrics")
	timed := WithTimestamps(Create(p, pcoll.Pair("a", 3), pcoll.Pair("b", -7), pcoll.Pair("c", 3), pcoll.Pair("a", 10)),
		func(pair) time.Time { return sec(1) })
	out := StatefulParDo(timed, &measured{}, pcoll.Named("First"))
	ForEach(out, func(c *pcoll.Context, n int) error {
		pcoll.Counter(c, "elements").Add(10)
		pcoll.Distribution(c, "values").Update(5)
		return nil
	}, pcoll.Named("Second"))
	for name, res := range ptest.Run(t, p) {
		first, _ := res.Transform("First")
		second, _ := res.Transform("Second")
		setups := first.Counters["setups"]
		if want := map[string]int64{"direct": 1, "local-1": 1, "local-2": 2, "local-5": 5}[name]; setups != want {
			t.Errorf("%s: %d setups, want %d", name, setups, want)
		}
		want := map[string]int64{"setups": setups, "bundles": 0, "elements": 4, "timers": 2, "keys": 3}
		if !maps.Equal(first.Counters, want) {
			t.Errorf("%s: First counted %v, want %v", name, first.Counters, want)
		}
		if got := first.Distributions["values"]; got != (pcoll.DistributionResult{Count: 4, Sum: 9, Min: -7, Max: 10}) || got.Mean() != 2.25 {
			t.Errorf("%s: First has the distribution %+v", name, got)
		}
		if !maps.Equal(second.Counters, map[string]int64{"elements": 40}) || second.Distributions["values"].Sum != 20 {
			t.Errorf("%s: Second counted %v, %v", name, second.Counters, second.Distributions)
		}
		if n := res.Counter("elements"); n != 44 {
			t.Errorf("%s: %d elements in all, want 44", name, n)
		}
		if first.Elements != 4 || second.Elements != 4 {
			t.Errorf("%s: %d and %d elements entered, want 4", name, first.Elements, second.Elements)
		}
	}
}

// TestMetricsOfAFailedRun are those up to the failure.
func TestMetricsOfAFailedRun(t *testing.T) {
	p := pcoll.New("metrics")
	ForEach(Create(p, 1, 2, 3), func(c *pcoll.Context, n int) error {
		pcoll.Counter(c, "seen").Add(1)
		if n == 2 {
			return errors.New("as told")
		}
		return nil
	})
	res, err := direct.Run(context.Background(), p)
	if err == nil || res.Counter("seen") != 2 {
		t.Errorf("got %v, %v", res.Counter("seen"), err)
	}
}
