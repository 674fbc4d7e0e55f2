package harness

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
)

// operator is one operator of the example with its present instance.
type operator struct {
	number int32
	node   *graph.Node
	op     exec.Op
	ins    []from
	edges  []exec.Edge // of outputs
	downs  [][]down    // consumers of each output

	env    *host.Op
	outs   []any
	inst   exec.Instance
	in     []exec.Time
	out    exec.Time
	ended  bool    // a root
	sent   []int64 // elements emitted to each output
	splits []exec.Split
}

type from struct {
	op  *operator
	out int
}

type down struct {
	op    *operator
	input int
}

type executor struct {
	v      Variation
	exempt Exempt
	clock  *host.Manual
	c      *exec.Ctx
	ops    []*operator
	col    map[*graph.Collection]from
	out    []string
	beside []func() // work of operators that is to be done beside them
	turns  int
	last   bool // the turn at the end of time is under way
}

func (x *executor) op(n *graph.Node, op exec.Op, ins []from, edges []exec.Edge) *operator {
	o := &operator{number: int32(len(x.ops)), node: n, op: op, ins: ins, edges: edges, downs: make([][]down, len(edges)), sent: make([]int64, len(edges)),
		in: make([]exec.Time, len(ins)), out: exec.MinTime}
	for i, f := range ins {
		o.in[i] = exec.MinTime
		f.op.downs[f.out] = append(f.op.downs[f.out], down{o, i})
	}
	x.ops = append(x.ops, o)
	return o
}

func (x *executor) add(n *graph.Node) {
	edges := make([]exec.Edge, len(n.Outputs))
	for i, c := range n.Outputs {
		edges[i] = c.Edge
	}
	ins := make([]from, len(n.Inputs))
	for i, in := range n.Inputs {
		ins[i] = x.col[in.Col]
	}
	last := x.lift(n, ins, edges)
	if last == nil {
		last = x.op(n, n.Op, ins, edges)
	}
	for i, c := range n.Outputs {
		x.col[c] = from{last, i}
	}
}

func (x *executor) lift(n *graph.Node, ins []from, edges []exec.Edge) *operator {
	l, ok := n.Op.(exec.Lifter)
	if !ok || !x.v.Lift {
		return nil
	}
	pre, mid, post, ok := l.Lift()
	if !ok {
		return nil
	}
	var midEdges []exec.Edge
	var midIns []from
	for i, m := range mid {
		midEdges, midIns = append(midEdges, m.Edge), append(midIns, from{nil, i})
	}
	head := x.op(n, pre, ins, midEdges)
	for i := range midIns {
		midIns[i].op = head
	}
	return x.op(n, post, midIns, edges)
}

// start makes an operator's instance; its consumers have theirs.
func (x *executor) start(o *operator) error {
	outs := make([]any, len(o.edges))
	for i, e := range o.edges {
		var ins []any
		for _, d := range o.downs[i] {
			ins = append(ins, d.op.inst.In[d.input])
		}
		outs[i] = e.Tap(e.Fanout(ins), func(c *exec.Ctx, v any) {
			o.sent[i]++
			if len(o.downs[i]) == 0 {
				x.out = append(x.out, fmt.Sprintf("%s/%d: %v at %v in %v %+v %v", o.node.Name, i, v, c.Time, c.Window, c.Pane, c.Kind))
			}
			c.Full = c.Full || x.v.Full
		})
	}
	o.outs = outs
	if o.env != nil && x.exempt[typeName(o.op)] != "" && len(outs) == 0 {
		return nil // goes on with its instance
	}
	o.env = host.NewOp(host.Place{Number: o.number, Name: o.node.Name, Count: 1, Context: x.c.Context, Clock: x.clock,
		Aligned: x.v.Aligned, Wake: func() {}, Spawn: func(f func()) { x.beside = append(x.beside, f) }, Log: quiet})
	inst, err := o.op.New(o.env, outs)
	o.inst = inst
	return err
}

// restart replaces every instance by a new one with the state of the old.
func (x *executor) restart() {
	stored := make([]map[string][][]byte, len(x.ops))
	for i, o := range x.ops {
		stored[i] = map[string][][]byte{}
		for name, s := range o.env.Stores() {
			for g := range exec.KeyGroups {
				b, err := s.Snapshot(nil, g)
				if err != nil {
					x.fail(o, fmt.Errorf("snapshot of %s: %w", name, err))
					return
				}
				stored[i][name] = append(stored[i][name], b)
			}
		}
	}
	for i := len(x.ops) - 1; i >= 0; i-- {
		o := x.ops[i]
		old := o.inst
		if err := x.start(o); err != nil {
			x.fail(o, err)
			return
		}
		if x.exempt[typeName(o.op)] != "" && len(o.outs) == 0 {
			continue
		}
		if old.Close != nil {
			if err := old.Close(); err != nil {
				x.fail(o, err)
			}
		}
		x.restore(o, stored[i])
	}
}

func (x *executor) restore(o *operator, stored map[string][][]byte) {
	stores := o.env.Stores()
	if len(stores) != len(stored) {
		x.fail(o, fmt.Errorf("a new instance keeps %d stores, the old one kept %d", len(stores), len(stored)))
	}
	for name, groups := range stored {
		for _, b := range groups {
			if len(b) == 0 {
				continue
			}
			if err := stores[name].Restore(b); err != nil {
				x.fail(o, fmt.Errorf("restoring %s: %w", name, err))
			}
		}
	}
	if o.inst.Restored != nil {
		o.inst.Restored(x.c)
	}
	if o.inst.Assign != nil {
		if err := o.inst.Assign(o.splits); err != nil {
			x.fail(o, err)
		}
	}
}

func (x *executor) fail(o *operator, err error) {
	x.c.Op = o.number
	x.c.Fail(err)
}

// run plays the example: roots that are read, then steps and scripts, then the end.
func (x *executor) run() {
	x.list()
	for reading := true; reading && x.c.Err == nil; {
		reading = false
		for _, o := range x.ops {
			if len(o.ins) == 0 && o.inst.Poll != nil && !o.ended {
				reading = true
				x.poll(o)
			}
		}
		x.turn()
	}
	for _, o := range x.ops {
		if s, ok := o.op.(stepped); ok {
			x.play(o, s)
		}
	}
	x.script()
	for _, o := range x.ops {
		o.ended = o.ended || len(o.ins) == 0
	}
	x.last = true
	for x.turn(); x.busy() && x.c.Err == nil; {
		x.turn()
	}
	for _, f := range []func(exec.Instance) func(*exec.Ctx){
		func(i exec.Instance) func(*exec.Ctx) { return i.Finish }, func(i exec.Instance) func(*exec.Ctx) { return i.Commit }} {
		for _, o := range x.ops {
			if g := f(o.inst); g != nil && x.c.Err == nil {
				x.c.Op = o.number
				g(x.c)
			}
		}
	}
	for _, o := range x.ops {
		if o.inst.Close != nil {
			if err := o.inst.Close(); err != nil {
				x.fail(o, err)
			}
		}
	}
}

// list finds the splits of the roots that are read and assigns them.
func (x *executor) list() {
	for _, o := range x.ops {
		s, ok := o.op.(exec.Splitter)
		if !ok {
			continue
		}
		var err error
		if o.splits, err = s.Splits(x.c.Context); err == nil {
			err = o.inst.Assign(o.splits)
		}
		if err != nil {
			x.fail(o, err)
		}
	}
}

// maxPolls bounds the polls of one root in a turn.
const maxPolls = 1 << 16

// poll reads one batch whole: a snapshot cannot be taken in the middle of one.
func (x *executor) poll(o *operator) {
	for i := 0; ; i++ {
		x.c.Full, x.c.Op = false, o.number
		st := o.inst.Poll(x.c, 1<<20)
		if st == exec.Ended {
			o.ended = true
			return
		}
		if !x.c.Full || x.c.Err != nil || i == maxPolls {
			return
		}
	}
}

func (x *executor) play(o *operator, s stepped) {
	for i := range s.count() {
		n, wm, clock := s.step(i)
		for j := range n {
			x.c.Op = o.number
			s.emit(o.outs[0], x.c, i, j)
			if x.v.OneByOne {
				x.turn()
			}
		}
		x.turn() // the step's elements are a bundle before its clock and watermark
		if clock > 0 {
			x.clock.Advance(clock)
			x.turn()
		}
		if wm != 0 {
			o.out = max(o.out, wm)
			x.turn()
		}
	}
}

// script plays the events of TestStreams.
func (x *executor) script() {
	for _, o := range x.ops {
		s, ok := o.op.(exec.Scripted)
		if !ok {
			continue
		}
		for i, e := range s.Script().Events {
			x.clock.Advance(e.Clock)
			for _, r := range x.ops {
				if r.inst.Step != nil && (e.Root == nil || e.Root == r.op) {
					x.c.Op = r.number
					r.inst.Step(x.c, i)
				}
			}
			x.turn()
		}
		return // all streams share one script
	}
}

// turn ends a bundle everywhere, in order.
func (x *executor) turn() {
	for _, o := range x.ops {
		if x.c.Err != nil {
			return
		}
		x.c.Op = o.number
		x.work(o)
		x.c.Full = false
		if o.inst.Turn != nil {
			o.inst.Turn(x.c)
		}
		if o.inst.Flush != nil {
			o.inst.Flush(x.c)
		}
		x.advance(o)
	}
	x.turns++
	if x.v.Restart && x.c.Err == nil {
		x.beside = nil
		x.restart()
	}
}

// work does what operators want done beside them and collects that of o. Every
// other restart cuts it off instead.
func (x *executor) work(o *operator) {
	if x.v.Restart && x.turns%2 == 0 && !x.last {
		return
	}
	for o.env.Running() > 0 {
		for len(x.beside) > 0 {
			f := x.beside[0]
			x.beside = x.beside[1:]
			f()
		}
		o.env.Collect()
	}
}

// busy reports whether some operator waits for work beside it.
func (x *executor) busy() bool {
	return slices.ContainsFunc(x.ops, func(o *operator) bool { return o.env.Running() > 0 })
}

func (x *executor) advance(o *operator) {
	low := exec.MaxTime
	for i, f := range o.ins {
		o.in[i] = max(o.in[i], f.op.out)
		low = min(low, o.in[i])
	}
	if len(o.ins) == 0 {
		low = o.out
	}
	for more := true; more && x.c.Err == nil; {
		more = false
		if o.inst.Advance != nil {
			x.c.Full, x.c.Op = false, o.number
			if low, more = o.inst.Advance(x.c, o.in); more && low != exec.Idle {
				o.out = max(o.out, low)
			}
		}
	}
	if o.ended {
		low = exec.MaxTime
	}
	if low != exec.Idle {
		o.out = max(o.out, low)
	}
}

// counts compares what the operators counted with what was seen to pass. It is
// about whole runs of whole operators: counters start again with an instance.
func (x *executor) counts(g *graph.Graph) error {
	if x.v.Restart || x.v.Lift {
		return nil
	}
	res := pcoll.NewResult(g, func(n *graph.Node) pcoll.Counted {
		c := pcoll.Counted{Counters: map[string]int64{}, Distributions: map[string]exec.Distribution{}}
		m := x.ops[n.ID].env.Metrics()
		m.Publish(0)
		m.AddTo(c.Counters, c.Distributions)
		return c
	})
	for i, o := range x.ops {
		want := int64(0)
		for j, f := range o.ins {
			if o.node.Inputs[j].Side == nil { // side inputs do not count
				want += f.op.sent[f.out]
			}
		}
		if len(o.ins) == 0 {
			want = o.sent[0]
		}
		if got := res.Transforms[i].Elements; got != want {
			return fmt.Errorf("%s reports %d elements, %d passed", o.node.Name, got, want)
		}
	}
	return nil
}
