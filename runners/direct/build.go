package direct

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
)

// A node is one operator of the run.
type node struct {
	*graph.Node
	env  *host.Op
	inst exec.Instance
	made bool    // inst is set, and to be closed
	from []*node // producer of each input

	in   []exec.Time // input watermarks; they never go back
	out  exec.Time   // output watermark; it never goes back
	idle bool        // has no say in the watermark of its consumers for now

	// Of a root.
	status   exec.Status
	known    map[string]bool // splits that were assigned
	relistAt exec.Time
}

func (n *node) root() bool { return len(n.Inputs) == 0 }

// run is one execution of a graph.
type run struct {
	cfg    config
	graph  *graph.Graph
	ctx    context.Context // done when the run ends
	cancel context.CancelFunc
	c      *exec.Ctx
	clock  host.Clock
	manual *host.Manual // clock, under a script
	script *exec.Script
	signal *host.Signal
	random random
	crew   host.Crew
	nodes  []*node // in topological order
	roots  []*node
	verify []func(*exec.Ctx) // end-of-turn checks of the edges
}

// newRun prepares a run without making anything that must be closed.
func newRun(ctx context.Context, g *graph.Graph, cfg config) (*run, error) {
	r := &run{cfg: cfg, graph: g, clock: cfg.clock, signal: host.NewSignal(), random: random(cfg.seed)}
	for _, gn := range g.Nodes {
		n := &node{Node: gn, out: exec.MinTime, relistAt: exec.Idle}
		n.in = make([]exec.Time, len(gn.Inputs))
		for i, in := range gn.Inputs {
			n.in[i] = exec.MinTime
			n.from = append(n.from, r.nodes[in.Col.From.ID])
		}
		r.nodes = append(r.nodes, n)
		if n.root() {
			r.roots = append(r.roots, n)
		}
	}
	script, err := g.Script()
	if err != nil {
		return nil, err
	}
	if script != nil {
		r.script, r.manual = script, &host.Manual{}
		r.clock = r.manual
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.c = exec.NewCtx(r.ctx)
	return r, nil
}

// start makes the instances, consumers before what feeds them, and gives the
// sources their splits.
func (r *run) start() error {
	inputs := map[*graph.Collection][]any{}
	for i := len(r.nodes) - 1; i >= 0; i-- {
		n := r.nodes[i]
		n.env = host.NewOp(host.Place{Number: int32(n.ID), Name: n.Name, Count: 1, Context: r.ctx, Clock: r.clock,
			Wake: r.signal.Wake, Spawn: r.crew.Go, Log: r.cfg.log})
		outs := make([]any, len(n.Outputs))
		for j, c := range n.Outputs {
			outs[j] = c.Edge.Fanout(inputs[c])
		}
		if err := r.instantiate(n, outs); err != nil {
			return err
		}
		for j, in := range n.Inputs {
			// Nodes are made from the last to the first: keep consumers in graph order.
			inputs[in.Col] = append([]any{r.checked(n, j)}, inputs[in.Col]...)
		}
	}
	for _, n := range r.nodes {
		if n.inst.Restored != nil {
			if err := r.call(n, func() { n.inst.Restored(r.c) }); err != nil {
				return err
			}
		}
	}
	for _, n := range r.roots {
		if err := r.list(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) instantiate(n *node, outs []any) error {
	var err error
	failed := r.call(n, func() { n.inst, err = n.Op.New(r.newEnv(n), outs) })
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("%s: cannot start: %w", n.Name, err)
	}
	n.made = true
	return nil
}

// call runs f, which is code of n, and returns what makes the run fail.
func (r *run) call(n *node, f func()) error {
	c := r.c
	c.Time, c.Window, c.Pane, c.Kind, c.Op = exec.MinTime, exec.Global, exec.NoFiring, exec.Insert, int32(n.ID)
	host.Guard(c, f)
	return r.failure()
}

// failure returns the failure that the context holds, located.
func (r *run) failure() error {
	if r.c.Err == nil {
		return nil
	}
	return host.Locate(r.c.Err, func(op int32) string {
		if op < 0 || int(op) >= len(r.nodes) {
			return "runner"
		}
		return r.nodes[op].Name
	})
}

// close releases all instances that were made, sources first, and joins what fails.
func (r *run) close() error {
	r.cancel()
	r.crew.Wait()
	var errs []error
	for _, n := range r.nodes {
		if !n.made || n.inst.Close == nil {
			continue
		}
		n.made = false
		var err error
		c := exec.NewCtx(r.ctx) // a failure of the run does not hide one here
		c.Op = int32(n.ID)
		host.Guard(c, func() { err = n.inst.Close() })
		if err = errors.Join(err, c.Err); err != nil {
			errs = append(errs, fmt.Errorf("%s: closing: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

// result reads the metrics of all operators.
func (r *run) result() *pcoll.Result {
	return pcoll.NewResult(r.graph, func(g *graph.Node) pcoll.Counted {
		n := r.nodes[g.ID]
		c := pcoll.Counted{Counters: map[string]int64{}, Distributions: map[string]exec.Distribution{}, Watermark: n.out}
		if n.env != nil {
			n.env.Metrics().Publish(n.out)
			n.env.Metrics().AddTo(c.Counters, c.Distributions)
		}
		return c
	})
}
