package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// ForEach calls f for each element and has no output: it ends a pipeline in
// code of the program, to print, collect or send results. Several workers may
// call f at once. An error fails the run. f runs once for each element unless
// the run fails; to write to a store with better promises, implement
// connector.Sink.
func ForEach[T any](in pcoll.PCollection[T], f func(c *pcoll.Context, v T) error, opts ...pcoll.Option) {
	b := pcoll.NewBuilder(in.Pipeline(), "ForEach", opts...)
	pcoll.FromWindowed(b, in)
	checkFunc(b, f == nil)
	b.Node().Structure = graph.Sink
	b.Add(forEachOp[T]{f})
}

type forEachOp[T any] struct {
	f func(c *pcoll.Context, v T) error
}

func (o forEachOp[T]) New(env exec.Env, _ []any) (exec.Instance, error) {
	op, n, pc := env.Op(), env.Counter(exec.Elements), pcoll.NewContext(env, 0)
	return exec.Instance{In: []any{exec.Input[T](func(c *exec.Ctx, v T) {
		if c.Err != nil { // of an element before it, which came together with this one
			return
		}
		n.N++
		c.Op = op
		if err := o.f(pc.Bind(c), v); err != nil {
			c.Fail(err)
		}
	})}}, nil
}
