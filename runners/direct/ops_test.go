package direct_test

import (
	"sync"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// The operators here are written by hand, so that what they do to the runner
// is in plain sight.

// opFunc is an exec.Op made of its New.
type opFunc func(env exec.Env, outs []any) (exec.Instance, error)

func (f opFunc) New(env exec.Env, outs []any) (exec.Instance, error) { return f(env, outs) }

// root adds a root.
func root[T any](p *pcoll.Pipeline, name string, bounded bool, op exec.Op) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(p, "Root", pcoll.Named(name))
	out := pcoll.To[T](b, pcoll.Unwindowed(bounded))
	b.Add(op)
	return out
}

// timed is an element and its event time.
type timed[T any] struct {
	t exec.Time
	v T
}

// list adds a bounded root that emits each of elems in a turn of its own, with
// the watermark at the element's time.
func list[T any](p *pcoll.Pipeline, name string, elems ...timed[T]) pcoll.PCollection[T] {
	return root[T](p, name, true, opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
		down, i, wm := outs[0].(exec.Input[T]), 0, exec.MinTime
		return exec.Instance{
			Poll: func(c *exec.Ctx, _ int) exec.Status {
				if i == len(elems) {
					return exec.Ended
				}
				was := c.Time
				c.Time = elems[i].t
				down(c, elems[i].v)
				wm, c.Time = elems[i].t, was
				i++
				return exec.Ready
			},
			Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return wm, false },
		}, nil
	}))
}

// apply adds a transform with one input and one output.
func apply[A, B any](in pcoll.PCollection[A], name string, op exec.Op) pcoll.PCollection[B] {
	b := pcoll.NewBuilder(in.Pipeline(), "Apply", pcoll.Named(name))
	out := pcoll.To[B](b, pcoll.From(b, in))
	b.Add(op)
	return out
}

// each adds a transform that calls f for each element.
func each[A, B any](in pcoll.PCollection[A], name string, f func(*exec.Ctx, A, exec.Input[B])) pcoll.PCollection[B] {
	return apply[A, B](in, name, opFunc(func(env exec.Env, outs []any) (exec.Instance, error) {
		down := outs[0].(exec.Input[B])
		return exec.Instance{In: []any{exec.Input[A](func(c *exec.Ctx, v A) {
			env.Counter(exec.Elements).Add(1)
			c.Op = env.Op()
			f(c, v, down)
		})}}, nil
	}))
}

// sink adds a transform without outputs.
func sink[T any](in pcoll.PCollection[T], name string, op exec.Op) *graph.Node {
	b := pcoll.NewBuilder(in.Pipeline(), "Sink", pcoll.Named(name))
	pcoll.From(b, in)
	b.Add(op)
	return b.Node()
}

// journal is a list of what happened.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}
