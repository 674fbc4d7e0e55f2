package transforms

import (
	"fmt"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/panes"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// lateWithdrawals is why there is no late output where elements may be withdrawals.
const lateWithdrawals = "elements of the input may be withdrawals, and one that comes too late would be alone among what is dropped, " +
	"without what it takes back; leave WithLate out, and see the counter of what is dropped in the result, or use it at the first grouping"

// checkWithdrawals reports groupings of elements that may be withdrawals whose
// results would not follow them.
func checkWithdrawals(b *pcoll.Builder, like *graph.Collection, late bool) {
	switch s := like.Strategy; {
	case !like.Retracts:
	case s.Mode != strategy.Retracting:
		b.Errorf("elements of the input may be withdrawals of earlier ones, and %v panes cannot be corrected for them; "+
			"use windowing.Retracting() here too, with triggers.Never{} as the trigger if each window is to give one result that stands", s.Mode)
	case s.Merging():
		b.Errorf("elements of the input may be withdrawals, which would have to part windows of %v again that an element had merged; "+
			"put elements into sessions before the first retracting grouping", s.Fn)
	case late:
		b.Errorf(lateWithdrawals)
	}
}

// groupRetracting adds the node of a grouping in retracting mode. Where elements
// may be withdrawals and the combiner cannot take one out of its
// accumulator, the values are kept and combined again.
func groupRetracting[K comparable, V, Acc, Out any](b *pcoll.Builder, like *graph.Collection, g grouping[K, V, Acc, Out]) (
	pcoll.PCollection[pcoll.KV[K, Out]], pcoll.PCollection[pcoll.KV[K, V]]) {
	g.describe(b)
	coder, err := coders.For[Out]()
	if err != nil && !b.Bad() {
		b.Errorf("results are kept encoded until they are taken back: %w", err)
	}
	out, dropped := g.outputs(b, like, !g.strategy.OnePane())
	switch {
	case b.Bad():
	case like.Retracts && combine.RetracterOf(g.comb) == nil:
		if op, err := regroup(g, coder); err != nil {
			b.Errorf("%w", err)
		} else {
			op.add(b, op)
		}
	default:
		g.add(b, &restateOp[K, V, Acc, Out]{g, coder, like.Retracts})
	}
	return out, dropped
}

// regroup returns the operator that keeps values.
func regroup[K comparable, V, Acc, Out any](g grouping[K, V, Acc, Out], out coders.Coder[Out]) (*regroupOp[K, V, Out], error) {
	hash, err := coders.ForKey[string]()
	if err != nil {
		return nil, err
	}
	value, err := coders.For[V]()
	if err != nil {
		return nil, err
	}
	comb := g.comb
	fold := func(b bag) (none Out, err error) {
		acc := comb.Create()
		for _, i := range b.order() {
			v, _, err := value.Decode(b.at(i))
			if err != nil {
				return none, fmt.Errorf("a value does not survive its coder: %w", err)
			}
			acc = comb.Add(acc, v)
		}
		return comb.Extract(acc), nil
	}
	of := grouping[K, V, bag, Out]{strategy: g.strategy, assign: g.assign, key: g.key, acc: bagCoder{hash.Hash}, structure: g.structure}
	return &regroupOp[K, V, Out]{of, value, out, hash.Hash, fold}, nil
}

// restateOp is the operator of a grouping in retracting mode: aggregate where
// results are taken back, and elements by the combiner. It is neither split around its exchange nor aligned.
type restateOp[K comparable, V, Acc, Out any] struct {
	grouping[K, V, Acc, Out]
	out   coders.Coder[Out]
	takes bool // elements may be withdrawals
}

// New makes the operator's instance: both outputs, one input of KV[K, V].
func (o *restateOp[K, V, Acc, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	op, n := env.Op(), env.Counter(exec.Elements)
	f := panes.NewGeneral(env, "panes", o.config(env, outs))
	in := exec.Input[pcoll.KV[K, V]](func(c *exec.Ctx, e pcoll.KV[K, V]) {
		n.N++
		c.Op = op
		f.Element(c, e.Key, e.Value)
	})
	return exec.Instance{In: []any{in}, Turn: f.Turn, Restored: f.Restored, Advance: advance(f.Advance)}, nil
}

func (o *restateOp[K, V, Acc, Out]) config(env exec.Env, outs []any) panes.Config[K, V, Acc] {
	cfg := panes.Config[K, V, Acc]{Strategy: o.strategy, Assign: o.assign, Fold: o.comb, Key: o.key, Acc: o.acc,
		Encode: func(acc Acc) ([]byte, error) { return o.out.Append(nil, o.comb.Extract(acc)) },
		Say:    sayTo[K](env, outs, o.out)}
	if o.takes {
		retract := combine.RetracterOf(o.comb)
		cfg.Retract = func(acc Acc, v V) (Acc, bool) { return retract(acc, v), true }
	}
	if o.late {
		cfg.Drop = dropTo[K, V](env, outs)
	}
	return cfg
}

// sayTo returns what sends encoded results to the first output.
func sayTo[K comparable, Out any](env exec.Env, outs []any, coder coders.Coder[Out]) func(c *exec.Ctx, k K, said []byte) {
	down, op, n := outs[0].(exec.Input[pcoll.KV[K, Out]]), env.Op(), env.Counter(exec.Emitted(0))
	return func(c *exec.Ctx, k K, said []byte) {
		c.Op = op
		out, _, err := coder.Decode(said)
		if err != nil {
			c.Fail(fmt.Errorf("a result of key %v does not survive its coder: %w", k, err))
			return
		}
		n.N++
		down(c, pcoll.KV[K, Out]{Key: k, Value: out})
	}
}

// refuseFinisher reports a DoFn that emits where no element is being processed,
// if elements may be withdrawals.
func refuseFinisher[Out any](b *pcoll.Builder, like *graph.Collection, fn any) {
	if _, ok := fn.(BundleFinisher[Out]); ok && like.Retracts {
		b.Errorf("elements of the input may be withdrawals, and what FinishBundle emits would be new elements, whatever those of the bundle were; "+
			"let %T emit in Process only", fn)
	}
}
