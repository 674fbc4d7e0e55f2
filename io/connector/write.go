package connector

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// Write adds a sink to a pipeline. kind names the transform, "kafka.Write".
func Write[T any](in pcoll.PCollection[T], kind string, sink Sink[T], opts ...pcoll.Option) {
	b := pcoll.NewBuilder(in.Pipeline(), kind, opts...)
	AddSink(b, in, sink)
}

// AddSink is Write for a connector that has checks of its own: mistakes recorded in
// b keep the sink out of the pipeline. A sink that only appends does not take a
// collection with withdrawals.
func AddSink[T any](b *pcoll.Builder, in pcoll.PCollection[T], sink Sink[T]) {
	if like := pcoll.FromWindowed(b, in); like.Retracts && !b.Bad() && sink.Accepts() == Appends {
		b.Errorf("elements may be withdrawals of earlier ones, and this sink only appends; write to a sink that takes changes, or let the " +
			"grouping in front give each window one result that stands, with windowing.Trigger(triggers.Never{}), which waits until the window expires")
	}
	b.Node().Structure = graph.Sink
	b.Add(&writeOp[T]{sink, b.Name()})
}

type writeOp[T any] struct {
	sink Sink[T]
	name string
}

// flushEvery is how long, in ms, a writer may sit on elements while input pauses.
const flushEvery = 50

func (o *writeOp[T]) New(env exec.Env, _ []any) (exec.Instance, error) {
	w, err := o.sink.Open(env.Context(), newEnv(env, o.name))
	if err != nil {
		return exec.Instance{}, err
	}
	s := &writing[T]{env: env, w: w, elements: env.Counter(exec.Elements), due: exec.Idle}
	return exec.Instance{In: []any{exec.Input[T](s.write)}, Advance: s.advance, Finish: s.finish, Commit: s.commit, Close: w.Close}, nil
}

type writing[T any] struct {
	env      exec.Env
	w        Writer[T]
	elements *exec.Counter
	due      exec.Time // when to flush; Idle if nothing was written since the last flush
	handle   []byte
}

func (s *writing[T]) write(c *exec.Ctx, v T) {
	c.Op = s.env.Op()
	s.elements.N++
	if err := s.w.Write(Element{c.Time, c.Window, c.Pane, c.Kind}, v); err != nil {
		c.Fail(err)
	}
	if s.due == exec.Idle {
		s.due = s.env.Now().Add(flushEvery)
		s.env.WakeAt(s.due)
	}
}

func (s *writing[T]) advance(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
	if s.env.Now() > s.due {
		s.due = exec.Idle
		if err := s.w.Flush(); err != nil {
			c.Op = s.env.Op()
			c.Fail(err)
		}
	}
	return in[0], false
}

func (s *writing[T]) finish(c *exec.Ctx) {
	c.Op = s.env.Op()
	var err error
	if s.handle, err = s.w.Prepare(0); err != nil {
		c.Fail(err)
	}
}

func (s *writing[T]) commit(c *exec.Ctx) {
	c.Op = s.env.Op()
	if s.handle == nil {
		return
	}
	if err := s.w.Commit(s.handle); err != nil {
		c.Fail(err)
	}
}
