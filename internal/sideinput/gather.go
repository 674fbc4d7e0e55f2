package sideinput

import (
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// noKey is the one key of all elements of a view.
type noKey = struct{}

// gatherOp groups a collection by window alone. Its panes share memory with
// each other and with what it goes on gathering: elements are only appended.
type gatherOp[T any] struct {
	strategy *strategy.Strategy
	assign   bool // windows are still to be assigned
	key      *coders.Key[noKey]
	acc      coders.Coder[[]T]
}

func newGather[T any](s *strategy.Strategy, assign bool) (*gatherOp[T], error) {
	key, err := coders.ForKey[noKey]()
	if err != nil {
		return nil, err
	}
	acc, err := coders.For[[]T]()
	return &gatherOp[T]{s, assign, key, acc}, err
}

// New makes an instance with one input of T and an output of pcoll.Group[T].
func (o *gatherOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, op := outs[0].(exec.Input[pcoll.Group[T]]), env.Op()
	in, out := env.Counter(exec.Elements), env.Counter(exec.Emitted(0))
	f := panes.NewGeneral(env, "panes", panes.Config[noKey, T, []T]{
		Strategy: o.strategy, Assign: o.assign, Fold: gathered[T]{}, Key: o.key, Acc: o.acc, Copy: slices.Clip[[]T],
		Emit: func(c *exec.Ctx, _ noKey, vals []T) {
			c.Op = op
			out.N++
			down(c, pcoll.GroupOf(vals...))
		},
	})
	return exec.Instance{
		In: []any{exec.Input[T](func(c *exec.Ctx, v T) {
			in.N++
			c.Op = op
			f.Element(c, noKey{}, v)
		})},
		Turn: f.Turn, Restored: f.Restored,
		Advance: func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) { return f.Advance(c, in[0]) },
	}, nil
}

// gathered folds elements into a slice.
type gathered[T any] struct{}

func (gathered[T]) Create() []T              { return nil }
func (gathered[T]) Add(acc []T, v T) []T     { return append(acc, v) }
func (gathered[T]) Merge(acc, other []T) []T { return append(acc, other...) }
