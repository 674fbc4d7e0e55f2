// Package local runs pipelines on one machine, on all its cores.
//
// The graph is cut into stages at its exchanges (see [Explain]); each stage
// runs on every worker, each worker of a stage is one goroutine that owns its
// operators and what they keep, and stages meet in bounded queues, so that a
// slow consumer slows its producers down and nothing piles up. Keys belong to
// key groups, and a worker owns a range of them. Combiners combine before the
// exchange where that gives the same panes.
//
// Bounded and unbounded pipelines run alike: a bounded one ends when its
// sources do. State is kept in memory and ends with the run.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/engine"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
)

// An Option configures [Run] and [Start].
type Option func(*config)

type config struct {
	workers int
	log     *slog.Logger
	noLift  bool
	general bool
	batch   int
	queue   int
}

// Workers sets how many workers run each stage; the default is one a core.
func Workers(n int) Option { return func(c *config) { c.workers = n } }

// Logger sets where the run and its transforms log; the default is slog.Default.
func Logger(l *slog.Logger) Option { return func(c *config) { c.log = l } }

// Lifting says whether combiners may combine before the exchange; the default
// is true. Results do not depend on it.
func Lifting(on bool) Option { return func(c *config) { c.noLift = !on } }

// BatchSize sets how many elements a source emits in one turn, at most; the
// default is 1024. Results do not depend on it.
func BatchSize(n int) Option { return func(c *config) { c.batch = n } }

// QueueBatches sets how many batches wait between two workers before the
// producer stops; the default is 8. Results do not depend on it.
func QueueBatches(n int) Option { return func(c *config) { c.queue = n } }

// Aligned says whether aggregations may use the form that is organised by
// window; the default is true. Results do not depend on it.
func Aligned(on bool) Option { return func(c *config) { c.general = !on } }

func configure(opts []Option) (config, error) {
	c := config{workers: runtime.GOMAXPROCS(0), log: slog.Default(), batch: exec.BatchSize, queue: 8}
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	switch {
	case c.workers < 1 || c.workers > exec.KeyGroups: // more would own none
		return c, fmt.Errorf("local: %d workers; want 1 to %d", c.workers, exec.KeyGroups)
	case c.batch < 1 || c.queue < 1:
		return c, fmt.Errorf("local: batches of %d elements and queues of %d batches; want at least 1 of both", c.batch, c.queue)
	case c.log == nil:
		return c, errors.New("local: the logger is nil; leave out Logger for slog.Default, or use slog.DiscardHandler")
	}
	return c, nil
}

// Run runs p until its sources end or ctx is done, and returns what it did. Once
// the run has started the result is there, as far as the run came, also beside
// an error; it is nil where p, an option or the start is at fault.
func Run(ctx context.Context, p *pcoll.Pipeline, opts ...Option) (*pcoll.Result, error) {
	j, err := Start(ctx, p, opts...)
	if err != nil {
		return nil, err
	}
	return j.Wait()
}

// Explain returns the plan by which p would run: its stages, their operators and
// the exchanges between them.
func Explain(p *pcoll.Pipeline, opts ...Option) (string, error) {
	c, err := configure(opts)
	if err != nil {
		return "", err
	}
	if err := check(p); err != nil {
		return "", err
	}
	return plan.New(pcoll.Graph(p), plan.Options{Workers: c.workers, NoLift: c.noLift}).String(), nil
}

// check reports why p cannot run.
func check(p *pcoll.Pipeline) error {
	if p == nil {
		return errors.New("local: the pipeline is nil; make one with pcoll.New")
	}
	return p.Err()
}

// Start starts p and returns at once. The caller must call [Job.Wait].
func Start(ctx context.Context, p *pcoll.Pipeline, opts ...Option) (*Job, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	if err := check(p); err != nil {
		return nil, err
	}
	g := pcoll.Graph(p)
	script, err := g.Script()
	if err != nil {
		return nil, fmt.Errorf("local: pipeline %q: %w", p.Name(), err)
	}
	log := c.log.With("pipeline", p.Name())
	for _, w := range g.Warnings() {
		log.Warn(w)
	}
	j := &Job{name: p.Name(), graph: g, script: script, clock: host.Wall{}}
	if script != nil {
		j.manual = &host.Manual{}
		j.clock = j.manual
	}
	j.parent = ctx
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	eopt := engine.Options{Clock: j.clock, Context: j.ctx, Spawn: j.beside.Go, Log: log, Aligned: !c.general,
		Scripted: script != nil, QueueBatches: c.queue, BatchRows: c.batch, OnTurn: j.onTurn}
	j.eng, err = engine.New(plan.New(g, plan.Options{Workers: c.workers, NoLift: c.noLift}), eopt)
	if err != nil {
		j.cancel(nil)
		return nil, fmt.Errorf("local: pipeline %q: %w", p.Name(), err)
	}
	j.run()
	return j, nil
}
