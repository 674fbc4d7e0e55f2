package local_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
)

// Tests run in a bubble of testing/synctest: its clock stands in for the wall
// clock, and it fails a test that leaves a goroutine behind.

// rows collects lines from many workers.
type rows struct {
	mu   sync.Mutex
	rows []string
}

func (r *rows) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, fmt.Sprintf(format, args...))
}

func (r *rows) sorted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.rows))
}

// collect ends a pipeline in r.
func collect[T any](in pcoll.PCollection[T], r *rows) {
	transforms.ForEach(in, func(c *pcoll.Context, v T) error {
		r.add("%v %v %v", v, c.Window(), c.Pane().Timing)
		return nil
	})
}

// run runs p and fails the test on an error.
func run(t *testing.T, p *pcoll.Pipeline, opts ...local.Option) *pcoll.Result {
	t.Helper()
	res, err := local.Run(t.Context(), p, append([]local.Option{quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

var quiet = local.Logger(slog.New(slog.DiscardHandler))

// want checks lines in any order.
func (r *rows) want(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := r.sorted(); !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// bubble runs f in a bubble for each number of workers.
func bubble(t *testing.T, workers []int, f func(t *testing.T, workers int)) {
	t.Helper()
	for _, n := range workers {
		t.Run(fmt.Sprint(n), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, n) }) })
	}
}

// A probe is called wherever the runner calls an operator, and does something
// at one of these places.
type probe struct {
	at string
	do func() error

	opened, closed, finished, committed atomic.Int64
}

func (p *probe) hit(at string) error {
	if p.at == at {
		return p.do()
	}
	return nil
}

func (p *probe) instance(i exec.Instance) exec.Instance {
	p.opened.Add(1)
	fail := func(c *exec.Ctx, at string) { c.Fail(p.hit(at)) }
	i.Turn = func(c *exec.Ctx) { fail(c, "Turn") }
	i.Flush = func(c *exec.Ctx) { fail(c, "Flush") }
	i.Finish = func(c *exec.Ctx) { p.finished.Add(1); fail(c, "Finish") }
	i.Commit = func(c *exec.Ctx) {
		p.committed.Add(1)
		fail(c, "Commit")
	}
	i.Close = func() error {
		p.closed.Add(1)
		return p.hit("Close")
	}
	return i
}

// numbersOp is a root that emits n numbers on each worker, or goes on for ever.
type numbersOp struct {
	*probe
	n       int64
	endless bool
	emitted atomic.Int64
}

func (o *numbersOp) Rediscover() int64 { return 0 }

func (o *numbersOp) Splits(context.Context) ([]exec.Split, error) { return nil, o.hit("Splits") }

func (o *numbersOp) New(env exec.Env, outs []any) (exec.Instance, error) {
	if err := o.hit("New"); err != nil {
		return exec.Instance{}, err
	}
	down, elements := outs[0].(exec.Input[int64]), env.Counter(exec.Elements)
	next, assigned := int64(0), false
	return o.instance(exec.Instance{
		Assign: func([]exec.Split) error {
			assigned = true
			return o.hit("Assign")
		},
		Poll: func(c *exec.Ctx, limit int) exec.Status {
			if !assigned {
				return exec.Waiting
			}
			c.Fail(o.hit("Poll"))
			for i := 0; i < limit && next < o.n && !c.Full && c.Err == nil; i++ {
				c.Time = exec.Time(next)
				elements.Add(1)
				o.emitted.Add(1)
				down(c, next)
				next++
			}
			c.Time = exec.MinTime
			if next < o.n || o.endless {
				return exec.Ready
			}
			return exec.Ended
		},
		Advance: func(c *exec.Ctx, _ []exec.Time) (exec.Time, bool) {
			c.Fail(o.hit("Advance"))
			return exec.Time(next), false
		},
	}), nil
}

// numbers adds a numbersOp to a pipeline.
func numbers(p *pcoll.Pipeline, o *numbersOp) pcoll.PCollection[int64] {
	if o.probe == nil {
		o.probe = &probe{}
	}
	b := pcoll.NewBuilder(p, "Numbers")
	b.Node().Structure = graph.Source
	out := pcoll.To[int64](b, pcoll.Unwindowed(!o.endless))
	b.Add(o)
	return out
}

// probeOp passes elements on.
type probeOp struct{ *probe }

func (o probeOp) New(env exec.Env, outs []any) (exec.Instance, error) {
	if err := o.hit("New"); err != nil {
		return exec.Instance{}, err
	}
	down, op := outs[0].(exec.Input[int64]), env.Op()
	return o.instance(exec.Instance{
		In: []any{exec.Input[int64](func(c *exec.Ctx, v int64) {
			c.Op = op
			c.Fail(o.hit("In"))
			down(c, v)
		})},
		Advance: func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
			c.Fail(o.hit("Advance"))
			return in[0], false
		},
	}), nil
}

// probed adds a probeOp to a pipeline.
func probed(in pcoll.PCollection[int64], name string, pr *probe, x graph.Exchange) pcoll.PCollection[int64] {
	b := pcoll.NewBuilder(in.Pipeline(), "Probe", pcoll.Named(name))
	like := pcoll.From(b, in)
	b.Node().Inputs[0].Exchange = x
	out := pcoll.To[int64](b, like)
	b.Add(probeOp{pr})
	return out
}

var errBoom = errors.New("boom")

// gate is a place where workers stop until it opens.
type gate struct{ open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{})} }

func at(sec int64) time.Time { return time.Unix(sec, 0) }
