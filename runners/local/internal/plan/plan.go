// Package plan turns a graph into stages: maximal sets of operators that run
// fused on one worker, connected by exchanges. It decides nothing about time
// or data; the same graph and options give the same plan.
package plan

import (
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
)

// Options steer planning.
type Options struct {
	Workers int
	// NoLift keeps combiners behind the exchange.
	NoLift bool
}

// A Plan is what an engine executes.
type Plan struct {
	Workers  int
	Ops      []*Op // by number
	Stages   []*Stage
	Channels []*Channel
}

// An Op is an operator in a plan. A node that was lifted has two.
type Op struct {
	Number int32
	Node   *graph.Node
	Part   string // "combine" or "merge" of a lifted node, else empty
	Op     exec.Op
	Ins    []In
	Outs   []*Out
	Stage  *Stage
	level  int
}

// Name returns the transform's name.
func (o *Op) Name() string { return o.Node.Name }

// Side reports whether input i is a side input.
func (o *Op) Side(i int) bool { return o.Part == "" && o.Node.Inputs[i].Side != nil }

// An In is where an input of an operator comes from: an operator of the same
// stage, or a channel.
type In struct {
	From    *Op // nil with a channel
	Channel *Channel
}

// An Out is an output of an operator with its consumers.
type Out struct {
	Edge     exec.Edge
	Local    []Target   // of the same stage
	Channels []*Channel // to other stages
}

// A Target is an input of an operator.
type Target struct {
	Op    *Op
	Input int
}

// A Channel is an exchange between two stages: one queue for each pair of
// workers, or for each worker if it is Forward.
type Channel struct {
	ID       int
	Edge     exec.Edge
	Exchange graph.Exchange
	Route    any
	From     *Op
	To       Target
}

// Parts returns how many workers the channel leads to from one.
func (c *Channel) Parts(workers int) int {
	if c.Exchange == graph.Forward || c.Exchange == graph.Gather {
		return 1
	}
	return workers
}

// A Stage is a set of fused operators in topological order.
type Stage struct {
	ID  int
	Ops []*Op
	In  []*Channel
	Out []*Channel
}

// New plans a graph.
func New(g *graph.Graph, opt Options) *Plan {
	b := &builder{opt: opt, plan: &Plan{Workers: opt.Workers}, out: map[*graph.Collection]source{}}
	for _, n := range g.Nodes {
		b.add(n)
	}
	b.level()
	b.stages()
	return b.plan
}

// source is the operator output that a collection comes from.
type source struct {
	op  *Op
	out int
}

// link is an edge between two operators before stages are known.
type link struct {
	from     source
	to       Target
	edge     exec.Edge
	exchange graph.Exchange
	route    any
}

type builder struct {
	opt   Options
	plan  *Plan
	out   map[*graph.Collection]source
	links []link
}

func (b *builder) newOp(n *graph.Node, part string, op exec.Op, ins int, edges ...exec.Edge) *Op {
	o := &Op{Number: int32(len(b.plan.Ops)), Node: n, Part: part, Op: op, Ins: make([]In, ins)}
	for _, e := range edges {
		o.Outs = append(o.Outs, &Out{Edge: e})
	}
	b.plan.Ops = append(b.plan.Ops, o)
	return o
}

func (b *builder) add(n *graph.Node) {
	edges := make([]exec.Edge, len(n.Outputs))
	for i, c := range n.Outputs {
		edges[i] = c.Edge
	}
	last := b.lift(n, edges)
	if last == nil {
		last = b.newOp(n, "", n.Op, len(n.Inputs), edges...)
		for i, in := range n.Inputs {
			b.link(b.out[in.Col], Target{last, i}, in.Col.Edge, in.Exchange, in.Route)
		}
	}
	for i, c := range n.Outputs {
		b.out[c] = source{last, i}
	}
}

// lift splits a node around its exchange where its operator can be.
func (b *builder) lift(n *graph.Node, edges []exec.Edge) *Op {
	l, ok := n.Op.(exec.Lifter)
	if !ok || b.opt.NoLift || b.opt.Workers == 1 || len(n.Inputs) != 1 || n.Inputs[0].Exchange != graph.Keyed {
		return nil
	}
	pre, mid, post, ok := l.Lift()
	if !ok {
		return nil
	}
	midEdges := make([]exec.Edge, len(mid))
	for i, m := range mid {
		midEdges[i] = m.Edge
	}
	head := b.newOp(n, "combine", pre, 1, midEdges...)
	b.link(b.out[n.Inputs[0].Col], Target{head, 0}, n.Inputs[0].Col.Edge, graph.Forward, nil)
	tail := b.newOp(n, "merge", post, len(mid), edges...)
	for i, m := range mid {
		b.link(source{head, i}, Target{tail, i}, m.Edge, graph.Keyed, m.Route)
	}
	return tail
}

func (b *builder) link(from source, to Target, edge exec.Edge, x graph.Exchange, route any) {
	switch {
	case b.opt.Workers == 1:
		x, route = graph.Forward, nil
	case x == graph.Broadcast:
		route = exec.ToAll{}
	}
	b.links = append(b.links, link{from, to, edge, x, route})
}

// level numbers operators by the exchanges on the longest way to them.
// Operators are in topological order, and links in that of their targets.
func (b *builder) level() {
	for _, l := range b.links {
		need := l.from.op.level
		if l.exchange != graph.Forward {
			need++
		}
		l.to.Op.level = max(l.to.Op.level, need)
	}
}

// stages unites operators of one level that are linked without an exchange. A
// link to another level becomes a channel, so that the stages have no cycle
// and a full queue always drains.
func (b *builder) stages() {
	root := make([]int, len(b.plan.Ops))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	fused := func(l link) bool {
		return l.exchange == graph.Forward && l.from.op.level == l.to.Op.level
	}
	for _, l := range b.links {
		if fused(l) {
			x, y := find(int(l.from.op.Number)), find(int(l.to.Op.Number))
			root[max(x, y)] = min(x, y)
		}
	}
	byRoot := map[int]*Stage{}
	for i, o := range b.plan.Ops {
		r := find(i)
		s := byRoot[r]
		if s == nil {
			s = &Stage{ID: len(b.plan.Stages)}
			byRoot[r] = s
			b.plan.Stages = append(b.plan.Stages, s)
		}
		o.Stage = s
		s.Ops = append(s.Ops, o)
	}
	for _, l := range b.links {
		out := l.from.op.Outs[l.from.out]
		if fused(l) {
			out.Local = append(out.Local, l.to)
			l.to.Op.Ins[l.to.Input] = In{From: l.from.op}
			continue
		}
		c := &Channel{ID: len(b.plan.Channels), Edge: l.edge, Exchange: l.exchange, Route: l.route, From: l.from.op, To: l.to}
		b.plan.Channels = append(b.plan.Channels, c)
		out.Channels = append(out.Channels, c)
		l.to.Op.Ins[l.to.Input] = In{Channel: c}
		l.from.op.Stage.Out = append(l.from.op.Stage.Out, c)
		l.to.Op.Stage.In = append(l.to.Op.Stage.In, c)
	}
}

// String prints the plan, stage by stage.
func (p *Plan) String() string {
	var b strings.Builder
	workers := "workers"
	if p.Workers == 1 {
		workers = "worker"
	}
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "stage %d on %d %s\n", s.ID, p.Workers, workers)
		for _, o := range s.Ops {
			fmt.Fprintf(&b, "  %s", o.Name())
			if o.Part != "" {
				fmt.Fprintf(&b, " (%s)", o.Part)
			}
			for _, in := range o.Ins {
				if in.Channel != nil {
					fmt.Fprintf(&b, " from stage %d %v", in.Channel.From.Stage.ID, in.Channel.Exchange)
				}
			}
			if o.Node.Strategy != nil && o.Part != "combine" {
				fmt.Fprintf(&b, " [%v]", o.Node.Strategy)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
