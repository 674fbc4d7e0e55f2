package gather_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/gather"
	"github.com/penstock-dev/penstock/transforms"
)

// instance makes a gathering operator on one worker, and its store.
func instance(t *testing.T, worker int, done func(context.Context, []gather.Element[string])) (exec.Instance, exec.Store) {
	t.Helper()
	p := pcoll.New("gather")
	b := pcoll.NewBuilder(p, "Gather")
	gather.Add(b, transforms.Create(p, "x"), done)
	env := host.NewOp(host.Place{Name: "Gather", Index: worker, Count: 2, Context: context.Background(), Clock: host.Wall{}, Log: slog.Default()})
	inst, err := b.Node().Op.New(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	return inst, env.Stores()["elements"]
}

func TestWhatIsGatheredSurvivesARestart(t *testing.T) {
	c := exec.NewCtx(context.Background())
	var got, want []gather.Element[string]
	first, store := instance(t, 0, func(context.Context, []gather.Element[string]) { t.Error("it has not finished") })
	in := first.In[0].(exec.Input[string])
	for i := range 2*exec.BatchSize + 3 {
		c.Time, c.Window = exec.Time(i), exec.Window{Start: exec.Time(i - i%10), End: exec.Time(i - i%10 + 10)}
		c.Pane, c.Kind = exec.Pane{Index: int64(i), Timing: exec.Late}, exec.Kind(i%4)
		in(c, "v")
		want = append(want, gather.Element[string]{Value: "v", Time: c.Time, Window: c.Window, Pane: c.Pane, Kind: c.Kind})
	}
	second, restored := instance(t, 0, func(_ context.Context, elems []gather.Element[string]) { got = elems })
	for group := range exec.KeyGroups {
		part, err := store.Snapshot(nil, group)
		if err != nil {
			t.Fatal(err)
		}
		if err := restored.Restore(part); err != nil {
			t.Fatal(err)
		}
		if group == 0 {
			for _, n := range []int{1, len(part) / 2, len(part) - 1} {
				_, damaged := instance(t, 0, nil)
				if damaged.Restore(part[:n]) == nil {
					t.Errorf("the first %d of %d bytes are taken for all", n, len(part))
				}
			}
		}
	}
	second.Finish(c)
	if !slices.Equal(got, want) {
		t.Errorf("%d elements came back, want the same %d", len(got), len(want))
	}
}

func TestOnlyTheFirstWorkerTells(t *testing.T) {
	other, _ := instance(t, 1, func(context.Context, []gather.Element[string]) { t.Error("worker 1 tells") })
	other.Finish(exec.NewCtx(context.Background()))
}

func TestMissing(t *testing.T) {
	p := pcoll.New("gather")
	b := pcoll.NewBuilder(p, "Gather")
	gather.Add(b, transforms.Create(p, "x"), func(context.Context, []gather.Element[string]) {})
	ctx, run := gather.NewRun(context.Background(), "r")
	if gather.NameOf(ctx) != "r" || gather.NameOf(context.Background()) != "" {
		t.Error("the run does not have its name")
	}
	if m := run.Missing(p); len(m) != 1 || m[0].Name != "Gather" {
		t.Errorf("missing %v, want Gather", m)
	}
	env := host.NewOp(host.Place{Count: 1, Context: ctx, Clock: host.Wall{}, Log: slog.Default()})
	inst, err := b.Node().Op.New(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	inst.Finish(exec.NewCtx(ctx))
	if m := run.Missing(p); len(m) != 0 {
		t.Errorf("missing %v, want nothing", m)
	}
}
