// Package direct runs pipelines in one goroutine, in memory. It is the meaning
// of a pipeline in readable code, and the runner for unit tests:
//
//	res, err := direct.Run(ctx, p)
//
// # What it promises
//
// A run is deterministic: the same pipeline over the same input gives the same
// elements and panes in the same order. [Seed] varies what a pipeline must not
// depend on, the order in which sources and their splits are read.
//
// Bounded pipelines run to their end; unbounded ones until the context is
// done or all sources have ended. Sinks publish when the whole run has
// succeeded, so an unbounded pipeline with such sinks belongs on the local runner.
//
// # What it checks
//
// Between every two transforms it verifies that elements survive their coder,
// that neither producer nor consumer changes an element that was emitted, and
// that keys are routed the same way each time, also after a round trip through
// their coder. A function that goes on using its pcoll.Context after it has
// returned fails the run. [Unchecked] turns all this off.
//
// # Failures
//
// The first failure ends the run; there is no retry. A failing or panicking
// function is reported with its transform, the time and window of the element,
// and for a panic the stack. Cancellation is looked at between turns (at most
// [MaxTurn] elements of one source); functions that wait should watch
// pcoll.Context.Context.
//
// # Scripts
//
// Under a test script (package testing/teststream) the processing clock stands
// at the Unix epoch and moves only by the script. Other sources must be
// bounded; they are read to their end first. Then each event of the script is
// delivered as one bundle, and the next follows when nothing is left to do.
package direct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
)

// MaxTurn is how many elements of a source make one bundle at most.
const MaxTurn = 128

// An Option configures a run.
type Option func(*config)

type config struct {
	seed      uint64
	seeded    bool
	unchecked bool
	log       *slog.Logger
	clock     host.Clock
	observe   func(n *graph.Node, input, group int)
}

// Seed makes the order in which sources and splits are read a random one, the
// same for the same n. Without it both are read in the order in which they
// were added or listed.
func Seed(n uint64) Option { return func(c *config) { c.seed, c.seeded = n, true } }

// Unchecked turns the checks off that cost time for each element.
func Unchecked() Option { return func(c *config) { c.unchecked = true } }

// Logger sets where the run and its transforms log; the default is slog.Default.
func Logger(l *slog.Logger) Option { return func(c *config) { c.log = l } }

// ObserveKeys has see called for each element that enters a keyed input, with
// the key group of its key. Its signature names internal types: it is for the
// module's testing kit. It has no effect together with Unchecked.
func ObserveKeys(see func(n *graph.Node, input, group int)) Option {
	return func(c *config) { c.observe = see }
}

// Run runs p until all its sources have ended, a function fails or ctx is done.
//
// It returns the construction errors of p without starting, if there are any. Once a
// run has started there is a result, also when it fails or is cancelled: it
// says how far the run came. When ctx is done the error wraps ctx.Err().
func Run(ctx context.Context, p *pcoll.Pipeline, opts ...Option) (*pcoll.Result, error) {
	if p == nil {
		return nil, errors.New("direct: the pipeline is nil; make one with pcoll.New")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	cfg := config{clock: host.Wall{}}
	for _, o := range opts {
		if o != nil {
			o(&cfg)
		}
	}
	if cfg.log == nil {
		cfg.log = slog.Default()
	}
	cfg.log = cfg.log.With("pipeline", p.Name())
	for _, w := range pcoll.Graph(p).Warnings() {
		cfg.log.Warn(w)
	}
	r, err := newRun(ctx, pcoll.Graph(p), cfg)
	if err != nil {
		return nil, fmt.Errorf("direct: pipeline %q: %w", p.Name(), err)
	}
	defer r.cancel()
	err = r.start()
	if err == nil {
		err = r.execute()
	}
	if err == nil {
		err = r.publish()
	}
	err = errors.Join(err, r.close())
	switch {
	case err == nil:
	case ctx.Err() == nil:
		err = fmt.Errorf("direct: pipeline %q: %w", p.Name(), err)
	case errors.Is(err, ctx.Err()):
		err = fmt.Errorf("direct: pipeline %q: cancelled: %w", p.Name(), ctx.Err())
	default: // something failed first, or in a way that hides its reason
		err = fmt.Errorf("direct: pipeline %q: cancelled: %w; and: %w", p.Name(), ctx.Err(), err)
	}
	return r.result(), err
}
