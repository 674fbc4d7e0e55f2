package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
)

// TestNilPipeline: a nil pipeline is an error that says how to make one.
func TestNilPipeline(t *testing.T) {
	for name, run := range map[string]func() error{
		"local.Run":     func() error { _, err := local.Run(t.Context(), nil); return err },
		"local.Explain": func() error { _, err := local.Explain(nil); return err },
		"direct.Run":    func() error { _, err := direct.Run(t.Context(), nil); return err },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), "pcoll.New") {
			t.Errorf("%s of a nil pipeline: %v", name, err)
		}
	}
}

// unlistable is a source that looks for its splits in vain until it is told to stop.
type unlistable struct{}

func (unlistable) Progress() connector.Progress { return connector.Progress{Bounded: true} }
func (unlistable) Splits(ctx context.Context) ([]connector.Split, error) {
	<-ctx.Done()
	return nil, errors.New("there is no topic nosuch")
}
func (unlistable) Open(context.Context, connector.Env, connector.Split, connector.Position) (connector.Reader[int], error) {
	return nil, errors.New("not reached")
}

// TestDeadlineKeepsTheCause: a run whose deadline passes while a source is being
// listed says what the source was at, not only that time is over.
func TestDeadlineKeepsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pcoll.New("missing")
		connector.Read(p, "Unlistable", unlistable{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := local.Run(ctx, p, local.Workers(2))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "Unlistable: listing what to read: there is no topic nosuch") {
			t.Errorf("error %v", err)
		}
	})
}
