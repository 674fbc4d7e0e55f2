package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes"
	"github.com/penstock-dev/penstock/pcoll"
)

// aggregate is the operator of every grouping. It groups elements by key and
// window, combines their values, and emits a pane when the strategy says so.
// What the panes are is decided in internal/panes; this operator only lets
// elements in and results out.
type aggregate[K comparable, V, Acc, Out any] struct {
	grouping[K, V, Acc, Out]
	lift bool // combining before the exchange makes sense
}

// New makes the operator's instance: both outputs, one input of KV[K, V].
func (a *aggregate[K, V, Acc, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	n := env.Counter(exec.Elements)
	inst, _ := a.instance(env, outs, n)
	return inst, nil
}

// instance makes the instance and the input for partial results.
func (a *aggregate[K, V, Acc, Out]) instance(env exec.Env, outs []any, n *exec.Counter) (exec.Instance, exec.Input[partial[K, Acc]]) {
	op, cfg := env.Op(), a.config(env, outs)
	// The two forms are used as concrete types: their calls are direct.
	if env.Aligned() && panes.CanAlign(a.strategy) {
		f := panes.NewAligned(env, "panes", cfg)
		in := exec.Input[pcoll.KV[K, V]](func(c *exec.Ctx, e pcoll.KV[K, V]) {
			n.N++
			c.Op = op
			f.Element(c, e.Key, e.Value)
		})
		return exec.Instance{In: []any{in}, Turn: f.Turn, Restored: f.Restored, Advance: advance(f.Advance)}, partials[K, V](op, f.Partial)
	}
	f := panes.NewGeneral(env, "panes", cfg)
	in := exec.Input[pcoll.KV[K, V]](func(c *exec.Ctx, e pcoll.KV[K, V]) {
		n.N++
		c.Op = op
		f.Element(c, e.Key, e.Value)
	})
	return exec.Instance{In: []any{in}, Turn: f.Turn, Restored: f.Restored, Advance: advance(f.Advance)}, partials[K, V](op, f.Partial)
}

// advance takes the one watermark that matters: all inputs of a grouping are
// halves of one collection.
func advance(f func(*exec.Ctx, exec.Time) (exec.Time, bool)) func(*exec.Ctx, []exec.Time) (exec.Time, bool) {
	return func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
		w := in[0]
		for _, o := range in[1:] {
			w = min(w, o)
		}
		return f(c, w)
	}
}

func partials[K comparable, V, Acc any](op int32, f func(*exec.Ctx, K, panes.Partial[Acc])) exec.Input[partial[K, Acc]] {
	return func(c *exec.Ctx, p partial[K, Acc]) {
		c.Op = op
		// Elements are combined only where single times do not matter (Lift).
		f(c, p.Key, panes.Partial[Acc]{Acc: p.Acc, N: p.N, Min: c.Time, Max: c.Time})
	}
}

func (a *aggregate[K, V, Acc, Out]) config(env exec.Env, outs []any) panes.Config[K, V, Acc] {
	down, op, n := outs[0].(exec.Input[pcoll.KV[K, Out]]), env.Op(), env.Counter(exec.Emitted(0))
	cfg := panes.Config[K, V, Acc]{Strategy: a.strategy, Assign: a.assign, Fold: a.comb, Key: a.key, Acc: a.acc, Copy: a.copy,
		Emit: func(c *exec.Ctx, k K, acc Acc) {
			c.Op = op
			n.N++
			down(c, pcoll.KV[K, Out]{Key: k, Value: a.comb.Extract(acc)})
		}}
	if a.late {
		cfg.Drop = dropTo[K, V](env, outs)
	}
	return cfg
}

// dropTo returns what sends dropped elements to the second output.
func dropTo[K comparable, V any](env exec.Env, outs []any) func(c *exec.Ctx, k K, v V, closed bool) {
	late, n := outs[1].(exec.Input[pcoll.KV[K, V]]), env.Counter(exec.Emitted(1))
	return func(c *exec.Ctx, k K, v V, _ bool) {
		// The late collection is in the global window: in the dropped one the
		// next grouping would drop it again.
		w, p, kind := c.Window, c.Pane, c.Kind
		c.Window, c.Pane, c.Kind = exec.Global, exec.NoFiring, exec.Insert
		n.N++
		late(c, pcoll.KV[K, V]{Key: k, Value: v})
		c.Window, c.Pane, c.Kind = w, p, kind
	}
}
