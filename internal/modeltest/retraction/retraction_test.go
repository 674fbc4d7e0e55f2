package retraction_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/modeltest/retraction"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
)

type run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error)

func onDirect(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
	return direct.Run(ctx, p)
}

func onLocal(workers int, opts ...local.Option) run {
	return func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
		return local.Run(ctx, p, append(opts, local.Workers(workers))...)
	}
}

// outcome runs a plan over a source.
func outcome(t *rapid.T, plan retraction.Plan, rows func(*pcoll.Pipeline) pcoll.PCollection[retraction.Row], r run) []string {
	p := pcoll.New("retraction")
	col, err := plan.Build(rows(p))
	if err != nil {
		t.Fatal(err)
	}
	out := retraction.Collect(col)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	res, err := r(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range res.Transforms {
		if n := tr.Internal[exec.DroppedLate] + tr.Internal[exec.DroppedClosed]; n > 0 {
			t.Fatalf("%s dropped %d elements", tr.Name, n)
		}
	}
	lines, err := out.Standing()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func scripted(script []retraction.Event) func(*pcoll.Pipeline) pcoll.PCollection[retraction.Row] {
	return func(p *pcoll.Pipeline) pcoll.PCollection[retraction.Row] { return retraction.Source(p, script) }
}

func agree(t *rapid.T, name string, got, want []string) {
	if !slices.Equal(got, want) {
		t.Fatalf("%s: inserts less withdrawals are\n\t%s\nall at once\n\t%s", name, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestInsertsLessWithdrawalsAreTheBatchAnswer is the law of retraction, under scripts.
func TestInsertsLessWithdrawalsAreTheBatchAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := retraction.Draw(t)
		want := outcome(t, plan, scripted(retraction.AtOnce(plan.Script)), onDirect)
		for name, r := range map[string]run{"direct": onDirect, "local-1": onLocal(1), "local-2": onLocal(2), "local-5": onLocal(5)} {
			agree(t, name, outcome(t, plan, scripted(plan.Script), r), want)
		}
	})
}

// TestLawHoldsWithoutScript reads a bounded source, in batches as they come.
func TestLawHoldsWithoutScript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := retraction.Draw(t)
		n := int64(rapid.IntRange(1, 120).Draw(t, "rows"))
		rows := func(p *pcoll.Pipeline) pcoll.PCollection[retraction.Row] { return retraction.Sequence(p, n) }
		want := outcome(t, plan, rows, onDirect)
		for name, r := range map[string]run{"local-2": onLocal(2, local.BatchSize(3), local.QueueBatches(1)), "local-5": onLocal(5, local.BatchSize(1))} {
			agree(t, name, outcome(t, plan, rows, r), want)
		}
	})
}
