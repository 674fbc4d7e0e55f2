package engine

import (
	"cmp"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
)

// Result sums what was published so far, transform by transform. Any goroutine
// may call it.
func (e *Engine) Result(g *graph.Graph) *pcoll.Result {
	ops := map[*graph.Node][]*plan.Op{}
	for _, o := range e.Plan.Ops {
		ops[o.Node] = append(ops[o.Node], o)
	}
	return pcoll.NewResult(g, func(n *graph.Node) pcoll.Counted { return e.counted(ops[n]) })
}

func (e *Engine) counted(ops []*plan.Op) pcoll.Counted {
	counts, dists := map[string]int64{}, map[string]exec.Distribution{}
	low := exec.MaxTime
	byWorker := make([]int64, e.Plan.Workers)
	for _, t := range e.Tasks {
		for _, o := range ops {
			before := counts[exec.Received]
			if w, ok := t.metrics(o, counts, dists); ok {
				low = min(low, w)
				byWorker[t.Worker] += counts[exec.Received] - before
			}
		}
	}
	r := pcoll.Counted{Counters: counts, Distributions: dists, Watermark: low}
	if counts[exec.Received] > 0 {
		r.ByWorker = byWorker
	}
	return r
}

// metrics adds the published counters of an operator to counts and dists and
// returns its watermark here; ok is false if it does not run on this task.
func (t *Task) metrics(op *plan.Op, counts map[string]int64, dists map[string]exec.Distribution) (exec.Time, bool) {
	o := t.byOp[op]
	if o == nil || o.env == nil {
		return 0, false
	}
	return o.env.Metrics().AddTo(counts, dists), true
}

// Assign gives splits of a root to the least loaded workers, the largest split
// first; loads is what each worker has of this root so far. With all set, workers
// that get nothing are told so, once: they know then that they have nothing to read.
func (e *Engine) Assign(root int32, splits []exec.Split, loads []int64, all bool) {
	slices.SortStableFunc(splits, func(a, b exec.Split) int { return cmp.Compare(b.Size, a.Size) })
	byWorker := make([][]exec.Split, len(loads))
	for _, s := range splits {
		w := slices.Index(loads, slices.Min(loads))
		loads[w] += max(s.Size, 1)
		byWorker[w] = append(byWorker[w], s)
	}
	for _, t := range e.Tasks {
		if t.has(root) && (all || len(byWorker[t.Worker]) > 0) {
			t.Mail.Push(Command{Assign: true, Root: root, Splits: byWorker[t.Worker]}, false)
		}
	}
}

// has reports whether the operator with this number runs on the task.
func (t *Task) has(op int32) bool {
	return slices.ContainsFunc(t.Stage.Ops, func(o *plan.Op) bool { return o.Number == op })
}
