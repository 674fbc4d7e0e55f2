package engine

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
)

type opEnv = *host.Op

// A Task is one stage on one worker.
type Task struct {
	Stage  *plan.Stage
	Worker int
	// Signal wakes whoever drives the task.
	Signal *host.Signal
	// Mail takes commands for the task from any goroutine.
	Mail *host.Queue[Command]

	eng     *Engine
	c       *exec.Ctx
	ops     []*opState // topological
	byOp    map[*plan.Op]*opState
	inlets  []*inlet
	queues  []*inQueue // of all inlets
	outs    []*outlet
	roots   bool  // some operator is a root
	turns   bool  // markers of a script come here: from the driver, or from tasks that they come to
	next    int   // queue to look at next
	limited []int // operators that may be sated, ascending

	passing bool  // a pass over the operators is under way
	at      int   // operator that the pass has come to
	turned  bool  // its Turn was called
	halted  []int // operators before it that have more to fire, ascending
	full    bool  // an outlet was full when last looked at

	dirty     bool      // elements or watermarks may wait to be sent
	flushed   exec.Time // processing time of the last flush
	turn      int       // marker being passed on, in a script
	commanded int       // turn that the last command began, in a script
	last      bool      // and it was the last one
	lastPass  bool      // the pass at the end of time was begun
	finished  bool      // Finish was called
}

// A Command is told to a task from outside.
type Command struct {
	// Assign gives splits to the root with this number.
	Assign bool
	Root   int32
	Splits []exec.Split
	// Turn begins turn number Turn of a script with the event of that number
	// (-1: no event, bounded sources are read; Last: the script is over).
	Turn  int
	Event int
	Roots []int32 // that the event is for
	Last  bool
}

func newTask(e *Engine, s *plan.Stage, w int) *Task {
	sig := host.NewSignal()
	return &Task{Stage: s, Worker: w, Signal: sig, Mail: host.NewQueue[Command](1, nil, sig), eng: e,
		c: exec.NewCtx(e.opt.Context), byOp: map[*plan.Op]*opState{}, turn: -1, commanded: -1, flushed: e.opt.Clock.Now()}
}

func (t *Task) inlet(c *plan.Channel, from *Task, q *queue) {
	var in *inlet
	for _, x := range t.inlets {
		if x.channel == c {
			in = x
		}
	}
	if in == nil {
		in = &inlet{channel: c}
		t.inlets = append(t.inlets, in)
	}
	iq := &inQueue{q: q, from: from, inlet: in, time: exec.MinTime, last: exec.MinTime, turn: -1}
	in.queues = append(in.queues, iq)
	t.queues = append(t.queues, iq)
}

// build makes the instances, consumers first, and wires them.
func (t *Task) build() error {
	ops := t.Stage.Ops
	t.ops = make([]*opState, len(ops))
	for i, op := range ops {
		t.ops[i] = &opState{op: op, out: exec.MinTime, in: make([]exec.Time, len(op.Ins)), now: make([][2]exec.Time, len(op.Ins))}
		t.byOp[op] = t.ops[i]
	}
	for i := len(ops) - 1; i >= 0; i-- {
		if err := t.instantiate(t.ops[i]); err != nil {
			return err
		}
	}
	for i, o := range t.ops {
		t.wireInputs(o)
		if o.inst.Full != nil {
			t.limited = append(t.limited, i)
		}
	}
	return nil
}

func (t *Task) instantiate(o *opState) error {
	opt := &t.eng.opt
	o.env = host.NewOp(host.Place{Number: o.op.Number, Name: o.op.Name(), Index: t.Worker, Count: t.eng.Plan.Workers,
		Context: opt.Context, Clock: opt.Clock, Aligned: opt.Aligned, Wake: t.Signal.Wake, Spawn: opt.Spawn, Log: opt.Log})
	outs := make([]any, len(o.op.Outs))
	for i, out := range o.op.Outs {
		var downs []any
		for _, target := range out.Local {
			downs = append(downs, t.byOp[target.Op].inst.In[target.Input])
		}
		for _, ch := range out.Channels {
			downs = append(downs, t.writer(o, ch))
		}
		outs[i] = out.Edge.Fanout(downs)
	}
	c := t.fresh(o)
	host.Guard(c, func() {
		var err error
		o.inst, err = o.op.Op.New(o.env, outs)
		c.Fail(err)
	})
	if c.Err != nil {
		return c.Err
	}
	if o.op.Node.Structure == graph.Source || len(o.op.Ins) == 0 {
		t.roots, o.root = true, awake
		if o.inst.Step != nil {
			o.root = scripted
		}
	}
	return nil
}

func (t *Task) writer(o *opState, ch *plan.Channel) any {
	for _, out := range t.outs {
		if out.channel == ch {
			out.from, out.sent = o, [2]exec.Time{exec.MinTime, exec.MinTime}
			w := ch.Edge.Writer(ch.Route, len(out.queues), out)
			out.flush = w.Flush
			return w.In
		}
	}
	panic("engine: a channel has no outlet on a worker of its stage")
}

// wireInputs tells where each input's watermark comes from.
func (t *Task) wireInputs(o *opState) {
	for i, in := range o.op.Ins {
		o.in[i] = exec.MinTime
		o.side = append(o.side, o.op.Side(i))
		if in.Channel == nil {
			from := t.byOp[in.From]
			o.src, o.kin = append(o.src, from.say), append(o.kin, in.From)
			continue
		}
		// A gathering or forwarding channel may not reach this worker: then the input ends at once.
		src := func() (w, last exec.Time) { return exec.MaxTime, exec.MaxTime }
		for _, n := range t.inlets {
			if n.channel == in.Channel {
				n.feed = in.Channel.Edge.Feeder(o.inst.In[i])
				if in.Channel.Exchange == graph.Keyed {
					n.count = o.env.Counter(exec.Received)
				}
				src = n.watermark
			}
		}
		o.src, o.kin = append(o.src, src), append(o.kin, in.Channel.From)
	}
}

// close closes all instances and returns what failed.
func (t *Task) close() (errs []error) {
	for _, o := range t.ops {
		if o.inst.Close == nil {
			continue
		}
		f := o.inst.Close
		o.inst.Close = nil
		c := t.fresh(o) // a failure of the run does not hide one here
		host.Guard(c, func() { c.Fail(f()) })
		if c.Err != nil {
			errs = append(errs, c.Err)
		}
	}
	return errs
}

// commit publishes what the instances prepared, up to the first failure.
func (t *Task) commit() error {
	defer t.publish()
	for _, o := range t.ops {
		if o.inst.Commit == nil {
			continue
		}
		c := t.fresh(o)
		host.Guard(c, func() { o.inst.Commit(c) })
		if c.Err != nil {
			return c.Err
		}
	}
	return nil
}

// fresh returns a context for calls outside the run of elements.
func (t *Task) fresh(o *opState) *exec.Ctx {
	c := exec.NewCtx(t.c.Context)
	c.Op = o.op.Number
	return c
}

// publish makes the operators' counters visible.
func (t *Task) publish() {
	for _, o := range t.ops {
		if o.env != nil {
			o.env.Metrics().Publish(o.out)
		}
	}
}

// Err returns the failure that ended the task.
func (t *Task) Err() error { return t.c.Err }
