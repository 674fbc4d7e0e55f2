// Package engine executes plans. A [Task] is one stage on one worker: it owns
// the instances of the stage's operators and everything they keep, and makes
// progress in bounded steps, so that whoever drives it (goroutines in
// production, one seeded loop in simulation) decides when it runs.
//
// A task takes no lock and starts no goroutine. It meets other tasks in queues
// only: one for each pair of producer and consumer, in which data and control
// messages travel in order.
package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
)

// Options configure the execution of a plan.
type Options struct {
	Clock   host.Clock
	Context context.Context
	Log     *slog.Logger
	// Spawn runs work beside the tasks.
	Spawn func(f func())
	// Aligned lets aggregations use their aligned forms.
	Aligned bool
	// Scripted makes turn markers, not batches, the bundles.
	Scripted bool
	// QueueBatches is the number of batches at which a queue is full; 0 means 8.
	QueueBatches int
	// BatchRows is how many elements a source emits in a turn, at most; 0 means exec.BatchSize.
	BatchRows int
	// OnTurn is called by a task when a turn marker has passed through it.
	OnTurn func(turn int)
}

// An Engine is a plan made ready to run.
type Engine struct {
	Plan  *plan.Plan
	Tasks []*Task
	opt   Options
}

// kind tells messages apart.
type kind uint8

const (
	data kind = iota
	watermark
	turn
	end
)

// message is what travels in a queue between tasks.
type message struct {
	kind  kind
	batch exec.Batch
	time  exec.Time // of watermark, or Idle
	last  exec.Time // what it was before it was Idle
	turn  int       // of turn
}

type queue = host.Queue[message]

// New instantiates the operators of a plan. On an error whatever was made is
// closed again.
func New(p *plan.Plan, opt Options) (*Engine, error) {
	if opt.QueueBatches == 0 {
		opt.QueueBatches = 8
	}
	if opt.BatchRows == 0 {
		opt.BatchRows = exec.BatchSize
	}
	e := &Engine{Plan: p, opt: opt}
	byStage := map[*plan.Stage][]*Task{}
	for _, s := range p.Stages {
		for w := range p.Workers {
			t := newTask(e, s, w)
			byStage[s] = append(byStage[s], t)
			e.Tasks = append(e.Tasks, t)
		}
	}
	for _, c := range p.Channels {
		connect(c, byStage[c.From.Stage], byStage[c.To.Op.Stage], opt.QueueBatches)
	}
	for _, t := range e.Tasks {
		if err := t.build(); err != nil {
			return nil, e.Locate(errors.Join(err, e.Close()))
		}
	}
	e.spread()
	return e, nil
}

// connect makes the queues of a channel.
func connect(c *plan.Channel, from, to []*Task, limit int) {
	for w, t := range from {
		out := &outlet{channel: c}
		for _, v := range targets(c, w, len(to)) {
			q := host.NewQueue[message](limit, t.Signal, to[v].Signal)
			out.queues = append(out.queues, q)
			to[v].inlet(c, t, q)
		}
		t.outs = append(t.outs, out)
	}
}

// targets returns the workers that worker w of the sending stage leads to.
func targets(c *plan.Channel, w, n int) []int {
	if c.Parts(n) == n && n > 1 {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	if c.Exchange == 0 { // forward
		return []int{w}
	}
	return []int{0}
}

// Close closes all instances and returns what failed, joined.
func (e *Engine) Close() error {
	var errs []error
	for _, t := range e.Tasks {
		errs = append(errs, t.close()...)
	}
	return errors.Join(errs...)
}

// Commit tells all instances to publish what they prepared. It is called once
// all tasks are done.
func (e *Engine) Commit() error {
	for _, t := range e.Tasks {
		if err := t.commit(); err != nil {
			return err
		}
	}
	return nil
}

// Locate names the operator of a failure.
func (e *Engine) Locate(err error) error {
	return host.Locate(err, func(op int32) string {
		if op < 0 || int(op) >= len(e.Plan.Ops) {
			return "engine"
		}
		return e.Plan.Ops[op].Name()
	})
}
