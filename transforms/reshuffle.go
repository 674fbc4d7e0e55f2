package transforms

import (
	"fmt"
	"unsafe"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// Reshuffle spreads elements over all workers: by the hash of their encoding,
// so that equal elements stay in order. Use it behind what turns few elements
// into many, so that many workers get the many. Time, windows and pane stay,
// and nothing is dropped.
func Reshuffle[T any](in pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "Reshuffle", opts...)
	coder, err := coders.For[T]()
	if err != nil {
		b.Errorf("%w", err)
	}
	hash, err := coders.ForKey[string]()
	if err != nil {
		b.Errorf("%w", err)
		return applyTo[T, T](b, in, false, nil)
	}
	marked := applyTo[T, hashed[T]](b.Part("Hash"), in, false, hashOp[T]{coder, hash.Hash})
	like := pcoll.From(b, marked)
	out := pcoll.To[T](b, like)
	if b.Bad() {
		return out
	}
	b.Node().Structure = graph.Reshuffle
	b.Node().Inputs[0].Exchange = graph.Keyed
	b.Node().Inputs[0].Route = func(h hashed[T]) uint64 { return h.Hash }
	b.Add(reshuffleOp[T]{})
	return out
}

// hashed is an element on its way to a worker.
type hashed[T any] struct {
	Hash  uint64
	Value T
}

// hashOp hashes the encoding of each element. It is an operator of its own
// because it needs a buffer for each worker.
type hashOp[T any] struct {
	coder coders.Coder[T]
	hash  func(string) uint64
}

func (o hashOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, op := outs[0].(exec.Input[hashed[T]]), env.Op()
	var buf []byte
	return one(exec.Input[T](func(c *exec.Ctx, v T) {
		c.Op = op
		var err error
		if buf, err = o.coder.Append(buf[:0], v); err != nil {
			c.Fail(fmt.Errorf("element %+v cannot be encoded: %w", v, err))
			return
		}
		// The hash keeps nothing of the string, which lives until the next element.
		down(c, hashed[T]{o.hash(unsafe.String(unsafe.SliceData(buf), len(buf))), v})
	}))
}

type reshuffleOp[T any] struct{}

func (reshuffleOp[T]) New(_ exec.Env, outs []any) (exec.Instance, error) {
	down := outs[0].(exec.Input[T])
	return one(exec.Input[hashed[T]](func(c *exec.Ctx, h hashed[T]) { down(c, h.Value) }))
}
