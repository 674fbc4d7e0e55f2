package transforms_test

import (
	"context"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
)

// TestPeriodicImpulseFromNow covers instants without a beginning or an end: they
// begin with the run, and the run goes on until it is cancelled.
func TestPeriodicImpulseFromNow(t *testing.T) {
	p := pcoll.New("test")
	before := connector.TimeOf(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	var first time.Time
	n := 0
	transforms.ForEach(transforms.PeriodicImpulse(p, 5*time.Millisecond), func(_ *pcoll.Context, at time.Time) error {
		if n++; n == 1 {
			first = at
		} else if want := first.Add(time.Duration(n-1) * 5 * time.Millisecond); !at.Equal(want) {
			t.Errorf("instant %d is %v, want %v", n, at, want)
		}
		if n == 4 {
			cancel()
		}
		return nil
	})
	if _, err := local.Run(ctx, p, local.Workers(1)); err == nil || ctx.Err() == nil {
		t.Errorf("the run ended by itself: %v", err)
	}
	if n < 4 || connector.TimeOf(first) < before {
		t.Errorf("%d instants from %v, want at least 4 from %v on", n, first, before)
	}
}
