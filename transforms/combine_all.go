package transforms

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Combine combines all elements of each window with c.
//
// Of bounded input in the global window with the default trigger there is a
// result even if it is empty: what c extracts from no element. [NoDefault]
// turns that off. A window that no element is in gives nothing.
func Combine[In, Acc, Out any](in pcoll.PCollection[In], c combine.Combiner[In, Acc, Out], opts ...pcoll.Option) pcoll.PCollection[Out] {
	out, _ := combineEach(pcoll.NewBuilder(in.Pipeline(), "Combine", opts...), in, c, true, false)
	return out
}

// CombineWithLate is [Combine] that also returns what it drops: an element for
// each window that had expired, or whose trigger had finished, when it came.
// They keep their time and are in the global window.
func CombineWithLate[In, Acc, Out any](in pcoll.PCollection[In], c combine.Combiner[In, Acc, Out], opts ...pcoll.Option) (
	combined pcoll.PCollection[Out], late pcoll.PCollection[In]) {
	return combineEach(pcoll.NewBuilder(in.Pipeline(), "Combine", opts...), in, c, true, true)
}

// NoDefault makes a [Combine] of no elements give no result.
func NoDefault() pcoll.Option { return pcoll.Extra("NoDefault", noDefault{}) }

type noDefault struct{}

// combineNamed is Combine of another kind.
func combineNamed[In, Acc, Out any](kind string, in pcoll.PCollection[In], c combine.Combiner[In, Acc, Out], orDefault bool,
	opts []pcoll.Option) pcoll.PCollection[Out] {
	out, _ := combineEach(pcoll.NewBuilder(in.Pipeline(), kind, opts...), in, c, orDefault, false)
	return out
}

// noKey is the one key under which everything is combined.
type noKey = struct{}

func combineEach[In, Acc, Out any](b *pcoll.Builder, in pcoll.PCollection[In], c combine.Combiner[In, Acc, Out], orDefault, late bool) (
	pcoll.PCollection[Out], pcoll.PCollection[In]) {
	keyed := applyTo[In, pcoll.KV[noKey, In]](b.Part("KeyBy"), in, false, keyByOp[noKey, In]{func(In) (k noKey) { return k }})
	return combineAll(b, keyed, c, orDefault, late)
}

// combineAll combines what is keyed by one key and takes the key off again.
func combineAll[In, Acc, Out any](b *pcoll.Builder, keyed pcoll.PCollection[pcoll.KV[noKey, In]], c combine.Combiner[In, Acc, Out], orDefault, late bool) (
	pcoll.PCollection[Out], pcoll.PCollection[In]) {
	if len(pcoll.Taken[noDefault](b)) > 0 {
		orDefault = false
	}
	all, dropped := group(b, keyed, c, late)

	v := b.Part("Values")
	var op exec.Op = mapOp[pcoll.KV[noKey, Out], Out]{valueOf[noKey, Out]}
	like := pcoll.From(v, all)
	s := like.Strategy
	global := s.Fn == strategy.WindowFn(strategy.GlobalWindows{}) && s.Trigger.Kind == strategy.OnDefault
	if orDefault && like.Bounded && global && !v.Bad() {
		v.Node().Inputs[0].Exchange = graph.Gather
		op = orDefaultOp[noKey, Out]{func() Out { return c.Extract(c.Create()) }}
	}
	out := pcoll.To[Out](v, like)
	v.Add(op)
	if !late {
		return out, pcoll.PCollection[In]{}
	}
	return out, applyTo[pcoll.KV[noKey, In], In](b.Part("Late"), dropped, false, mapOp[pcoll.KV[noKey, In], In]{valueOf[noKey, In]})
}

// orDefaultOp passes values on, and at the end of time emits a default if there
// was none. All of its input is gathered on worker 0.
type orDefaultOp[K comparable, Out any] struct{ def func() Out }

func (o orDefaultOp[K, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, op, n := outs[0].(exec.Input[Out]), env.Op(), env.Counter(exec.Emitted(0))
	done := new(flag)
	env.Keep("done", done)
	worker, _ := env.Worker()
	return exec.Instance{
		In: []any{exec.Input[pcoll.KV[K, Out]](func(c *exec.Ctx, e pcoll.KV[K, Out]) {
			n.N++
			done.set = true
			down(c, e.Value)
		})},
		Advance: func(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
			if in[0] != exec.MaxTime || done.set || worker != 0 {
				return in[0], false
			}
			done.set = true
			t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
			c.Time, c.Window, c.Kind, c.Op = exec.EndOfGlobal, exec.Global, exec.Insert, op
			c.Pane = exec.Pane{Timing: exec.OnTime, First: true, Last: true}
			n.N++
			down(c, o.def())
			c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
			return in[0], false
		},
	}, nil
}

// A flag is a store of one bit. It belongs to no key and goes with group 0.
type flag struct{ set bool }

// Snapshot writes a byte if the flag is set.
func (f *flag) Snapshot(dst []byte, group int) ([]byte, error) {
	if group == 0 && f.set {
		dst = append(dst, 1)
	}
	return dst, nil
}

// Restore sets the flag if it was set.
func (f *flag) Restore(src []byte) error {
	f.set = f.set || len(src) > 0
	return nil
}
