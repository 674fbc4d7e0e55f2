package pcoll

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
)

// A Result says what a run did.
type Result struct {
	Transforms []TransformResult // in graph order
}

// A TransformResult says what one transform did, summed over workers.
type TransformResult struct {
	Name          string
	Elements      int64 // that entered it, side inputs aside; of a source: that it emitted
	DroppedLate   int64 // (element, window) pairs dropped because the window had expired
	DroppedClosed int64 // dropped because the window's trigger had finished
	Watermark     Time  // output watermark when the run ended
	// ByWorker says how many elements, or partial results where they are
	// combined before the exchange, each worker received over a keyed
	// exchange; nil where there was none.
	ByWorker      []int64
	Counters      map[string]int64
	Distributions map[string]DistributionResult
	Internal      map[string]int64 // counters of the transform itself, such as rejected records
}

// A DistributionResult summarises the values of a distribution.
type DistributionResult struct{ Count, Sum, Min, Max int64 }

// Mean returns the mean of the values, or 0 if there were none.
func (d DistributionResult) Mean() float64 {
	if d.Count == 0 {
		return 0
	}
	return float64(d.Sum) / float64(d.Count)
}

// Transform returns the result of the transform of that name; ok is false if there is none.
func (r *Result) Transform(name string) (t TransformResult, ok bool) {
	i := slices.IndexFunc(r.Transforms, func(t TransformResult) bool { return t.Name == name })
	if i < 0 {
		return t, false
	}
	return r.Transforms[i], true
}

// Counter returns the sum of a user counter over all transforms.
func (r *Result) Counter(name string) (n int64) {
	for _, t := range r.Transforms {
		n += t.Counters[name]
	}
	return n
}

// Dropped returns how many (element, window) pairs were dropped in all.
func (r *Result) Dropped() (n int64) {
	for _, t := range r.Transforms {
		n += t.DroppedLate + t.DroppedClosed
	}
	return n
}

// String prints one transform a line.
func (r *Result) String() string {
	var b strings.Builder
	for _, t := range r.Transforms {
		fmt.Fprintf(&b, "%s: %d elements", t.Name, t.Elements)
		if t.DroppedLate+t.DroppedClosed > 0 {
			fmt.Fprintf(&b, ", %d dropped late, %d dropped closed", t.DroppedLate, t.DroppedClosed)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Counted is what a runner knows of a transform, under the names of exec.
type Counted struct {
	Counters      map[string]int64
	Distributions map[string]exec.Distribution
	Watermark     Time
	ByWorker      []int64
}

// NewResult makes the result of a run from the counters of its transforms. It
// is for runners.
func NewResult(g *graph.Graph, of func(*graph.Node) Counted) *Result {
	res := &Result{}
	emitted := map[*graph.Collection]int64{}
	for _, n := range g.Nodes {
		c := of(n)
		t := newTransformResult(n, c, emitted)
		for i, col := range n.Outputs {
			if k, ok := c.Counters[exec.Emitted(i)]; ok {
				emitted[col] = k
			} else {
				emitted[col] = t.Elements
			}
		}
		res.Transforms = append(res.Transforms, t)
	}
	return res
}

func newTransformResult(n *graph.Node, c Counted, emitted map[*graph.Collection]int64) TransformResult {
	t := TransformResult{Name: n.Name, Watermark: c.Watermark, ByWorker: c.ByWorker,
		DroppedLate: c.Counters[exec.DroppedLate], DroppedClosed: c.Counters[exec.DroppedClosed]}
	elements, ok := c.Counters[exec.Elements]
	if !ok {
		for _, in := range n.Inputs {
			if in.Side == nil {
				elements += emitted[in.Col]
			}
		}
	}
	t.Elements = elements
	for k, v := range c.Counters {
		user, ok := strings.CutPrefix(k, "user:")
		switch {
		case ok:
			put(&t.Counters, user, v)
		case k == exec.Elements || k == exec.Received || k == exec.DroppedLate || k == exec.DroppedClosed || exec.IsEmitted(k):
		default:
			put(&t.Internal, k, v)
		}
	}
	for k, d := range c.Distributions {
		put(&t.Distributions, strings.TrimPrefix(k, "user:"), DistributionResult(d))
	}
	return t
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}
