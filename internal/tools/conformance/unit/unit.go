// Package unit runs conformance vectors through the forms of package panes,
// the machine that all runners instantiate, without a pipeline around it. It
// only translates steps into calls.
package unit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes"
	"github.com/penstock-dev/penstock/internal/panes/panestest"
	"github.com/penstock-dev/penstock/internal/tools/conformance/vectors"
)

// Check runs a case through the general form, and through the aligned form
// where it takes the strategy, and returns what either did wrong.
func Check(c *vectors.Case) error {
	err := named("general form", vectors.Judge(c, run(c, general)))
	if panes.CanAlign(c.Strategy) {
		err = errors.Join(err, named("aligned form", vectors.Judge(c, run(c, aligned))))
	}
	return err
}

func named(form string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", form, err)
	}
	return nil
}

type config = panes.Config[int64, string, []string]

// form is what the general and the aligned form have in common.
type form interface {
	Element(c *exec.Ctx, key int64, v string)
	Turn(c *exec.Ctx)
	Advance(c *exec.Ctx, wm exec.Time) (out exec.Time, more bool)
}

func general(env exec.Env, cfg config) form { return panes.NewGeneral(env, "panes", cfg) }
func aligned(env exec.Env, cfg config) form { return panes.NewAligned(env, "panes", cfg) }

// run returns the outcome of each step.
func run(c *vectors.Case, make func(exec.Env, config) form) []vectors.Outcome {
	env := panestest.NewEnv()
	ctx := exec.NewCtx(context.Background())
	var got []vectors.Emitted
	f := make(env, config{
		Strategy: c.Strategy, Assign: true, Fold: panestest.Collect[string]{}, Key: panestest.Int64Keys(),
		Emit: func(ctx *exec.Ctx, _ int64, acc []string) {
			got = append(got, vectors.Emitted{Window: ctx.Window, Values: slices.Clone(acc), Time: ctx.Time, Pane: ctx.Pane})
		},
	})
	const key = 1
	wm := exec.MinTime
	out := []vectors.Outcome{}
	for _, s := range c.Steps {
		got = nil
		switch s.Kind {
		case vectors.Input:
			for _, e := range s.Elements {
				ctx.Time = e.Time
				f.Element(ctx, key, e.Value)
			}
			f.Turn(ctx)
			f.Advance(ctx, wm)
		case vectors.Watermark:
			wm = s.Time
			f.Advance(ctx, wm)
		case vectors.Clock:
			env.Clock = s.Time
			f.Advance(ctx, wm)
		}
		out = append(out, vectors.Outcome{Panes: got,
			DroppedLate: env.Counter(exec.DroppedLate).N, DroppedClosed: env.Counter(exec.DroppedClosed).N})
	}
	return out
}
