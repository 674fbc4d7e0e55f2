package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/sideinput"
	"github.com/penstock-dev/penstock/pcoll"
)

// WaitOn returns the elements of in, each held back until the signal is done
// for its window: until the watermark of signal has passed the end of the
// window by more than signal's allowed lateness. What the signal holds does not
// matter, nor whether it holds anything. Use it to begin with something when
// something else has been written.
//
//	done := …                                  // results of a write
//	transforms.WaitOn(notifications, done)     // are sent after it
//
// An element's window is the one of the signal that contains the last
// millisecond of its own, the earliest if there are several. To wait for
// several signals apply WaitOn to each in turn.
//
// Elements keep time, window and pane, and hold the watermark while they wait;
// none is dropped. An unbounded signal in the global window, which is never
// done, is refused, and so are windows that merge.
func WaitOn[T, S any](in pcoll.PCollection[T], signal pcoll.PCollection[S], opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "WaitOn", opts...)
	like := pcoll.FromWindowed(b, in)
	op := &waitOp[T]{}
	if src := sideinput.NewSignal(b, signal); !b.Bad() {
		op.sides = declareSides(b, like, src)
	}
	out := pcoll.To[T](b, like)
	b.Add(op)
	return out
}

// waitOp lets elements through as the gate does.
type waitOp[T any] struct{ sides *sideInputs }

func (o *waitOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, n := outs[0].(exec.Input[T]), env.Counter(exec.Elements)
	return behind(gateOf(env, o.sides, sideinput.Config[T]{Next: func(c *exec.Ctx, v T) {
		n.N++
		down(c, v)
	}}), exec.Instance{}), nil
}
