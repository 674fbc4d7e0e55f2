package passert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/faket"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// changes is a collection with withdrawals:
//
//	minute 0, ann: EARLY 1, EARLY 3 in its place, ON_TIME 3 in its place
func changes(p *pcoll.Pipeline) pcoll.PCollection[sum] {
	in := teststream.New[sum]().Elements(at(1), kv("ann", 1)).Elements(at(2), kv("ann", 2)).Watermark(at(60)).Source(p)
	return transforms.SumPerKey(windowing.Into(in, windowing.Fixed(time.Minute), windowing.Retracting(), windowing.AllowedLateness(0),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)})))
}

func TestAssertionsOfChanges(t *testing.T) {
	type col = pcoll.PCollection[sum]
	early, onTime := passert.Early[sum], passert.OnTime[sum]
	right := []passert.Fired[sum]{early(kv("ann", 1)).Kind(pcoll.Insert), early(kv("ann", 1)).Kind(pcoll.UpdateBefore),
		early(kv("ann", 3)).Kind(pcoll.UpdateAfter), early(kv("ann", 3)).Kind(pcoll.UpdateBefore), onTime(kv("ann", 3)).Kind(pcoll.UpdateAfter)}
	edit := func(i int, f passert.Fired[sum]) []passert.Fired[sum] {
		ps := append([]passert.Fired[sum](nil), right...)
		ps[i] = f
		return ps
	}
	for _, tc := range []struct {
		name   string
		assert func(t testing.TB, c col)
		fail   []string // what the failure says; nil: it holds
	}{
		{"equals what stands", func(t testing.TB, c col) { passert.Equals(t, c, kv("ann", 3)) }, nil},
		{"equals what came", func(t testing.TB, c col) { passert.Equals(t, c, kv("ann", 1), kv("ann", 3)) },
			[]string{"differ", "before anything was taken back,", "5 elements came", "pane 0 EARLY first, update-before"}},
		{"in", func(t testing.TB, c col) { passert.In(t, c, minute(0), kv("ann", 3)) }, nil},
		{"early", func(t testing.TB, c col) { passert.InEarly(t, c, minute(0)) }, nil},
		{"on time", func(t testing.TB, c col) { passert.InOnTime(t, c, minute(0), kv("ann", 3)) }, nil},
		{"windows", func(t testing.TB, c col) { passert.Windows(t, c, passert.Holds(minute(0), kv("ann", 3))) }, nil},
		{"empty", func(t testing.TB, c col) { passert.Empty(t, c) }, []string{"differ"}},
		{"panes", func(t testing.TB, c col) { passert.Panes(t, c, right...) }, nil},
		{"panes without kinds", func(t testing.TB, c col) { passert.Panes(t, c, edit(3, early(kv("ann", 3)))...) }, nil},
		{"panes of another kind", func(t testing.TB, c col) { passert.Panes(t, c, edit(2, early(kv("ann", 3)).Kind(pcoll.Insert))...) },
			[]string{`EARLY "ann": 3, insert`, `EARLY "ann": 3, update-after`}},
		{"panes of kinds in another order", func(t testing.TB, c col) {
			passert.Panes(t, c, append([]passert.Fired[sum]{right[1], right[0]}, right[2:]...)...)
		}, []string{"came in another order", `EARLY "ann": 1, update-before`}},
		{"lone withdrawals", func(t testing.TB, c col) {
			passert.Equals(t, transforms.ParDo(c, onlyWithdrawals{}))
		}, []string{"element 0", "update-before", "takes back what did not come before it"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ft := faket.Run(t, func(ft *faket.T) {
				p := pcoll.New("self")
				tc.assert(ft, changes(p))
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

// onlyWithdrawals is what no DoFn should be.
type onlyWithdrawals struct{}

func (onlyWithdrawals) Process(c *pcoll.Context, s sum, emit pcoll.Emit[sum]) error {
	if c.Kind() == pcoll.UpdateBefore || c.Kind() == pcoll.Delete {
		emit(c, s)
	}
	return nil
}
