package transforms

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// Flatten puts the elements of collections of one type together. Their windows
// must be compatible, and trigger, mode and the like must be the same: use
// windowing.Into first where they are not. The result allows the lateness of the most
// patient input, and is bounded if all are.
func Flatten[T any](first pcoll.PCollection[T], rest ...pcoll.PCollection[T]) pcoll.PCollection[T] {
	return FlattenAll(first.Pipeline(), append([]pcoll.PCollection[T]{first}, rest...))
}

// FlattenAll is [Flatten] of the collections of a slice, and takes options. Of
// no collection it makes an empty one, bounded and in the global window.
func FlattenAll[T any](p *pcoll.Pipeline, ins []pcoll.PCollection[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	if len(ins) == 0 {
		return CreateFrom[T](p, nil, opts...)
	}
	return flatten(pcoll.NewBuilder(p, "Flatten", opts...), ins)
}

// flatten adds the node of a Flatten of at least one collection.
func flatten[T any](b *pcoll.Builder, ins []pcoll.PCollection[T]) pcoll.PCollection[T] {
	cols := make([]*graph.Collection, len(ins))
	assign := false
	for i, in := range ins {
		if cols[i] = pcoll.Col(in); cols[i] == nil {
			cols[i] = pcoll.Unwindowed(true)
		}
		// Elements whose windows are to be assigned can wait together only if all
		// wait, and for the same windows.
		assign = assign || cols[i].Pending != cols[0].Pending || cols[i].Strategy.Fn.String() != cols[0].Strategy.Fn.String()
	}
	s := *cols[0].Strategy
	like := &graph.Collection{Strategy: &s, Bounded: true}
	for i, in := range ins {
		if assign {
			pcoll.FromWindowed(b, in)
		} else {
			pcoll.From(b, in)
			like.Pending = cols[i].Pending
		}
		if i > 0 && !b.Bad() {
			if err := join(&s, cols[i].Strategy); err != nil {
				b.Errorf("input %d cannot be joined with input 0: %w; apply windowing.Into to make them the same", i, err)
			}
		}
		like.Bounded, like.Retracts = like.Bounded && cols[i].Bounded, like.Retracts || cols[i].Retracts
	}
	out := pcoll.To[T](b, like)
	b.Node().Structure = graph.Flatten
	b.Add(flattenOp[T]{len(ins)})
	return out
}

// join makes s a strategy for elements of t's too, or says what differs.
func join(s, t *strategy.Strategy) error {
	switch {
	case !s.Fn.Compatible(t.Fn):
		return fmt.Errorf("windows %v and %v differ", t.Fn, s.Fn)
	case s.Merged != t.Merged:
		return fmt.Errorf("the %v of one were merged by a grouping, those of the other were not", s.Fn)
	case !s.Trigger.Equal(t.Trigger):
		return fmt.Errorf("triggers %v and %v differ", t.Trigger, s.Trigger)
	case s.Mode != t.Mode:
		return fmt.Errorf("modes %v and %v differ", t.Mode, s.Mode)
	case s.Combiner != t.Combiner:
		return fmt.Errorf("results are stamped %v and %v", t.Combiner, s.Combiner)
	case s.ClosingAlways != t.ClosingAlways || s.OnTimeIfNonEmpty != t.OnTimeIfNonEmpty:
		return fmt.Errorf("empty panes are treated differently: %v, and %v", t, s)
	}
	s.Lateness = max(s.Lateness, t.Lateness)
	s.TriggerSet, s.LatenessSet, s.ModeSet = s.TriggerSet || t.TriggerSet, s.LatenessSet || t.LatenessSet, s.ModeSet || t.ModeSet
	s.UnsafeAllowed = s.UnsafeAllowed && t.UnsafeAllowed
	return nil
}

type flattenOp[T any] struct{ n int }

func (o flattenOp[T]) New(_ exec.Env, outs []any) (exec.Instance, error) {
	ins := make([]any, o.n)
	for i := range ins {
		ins[i] = outs[0].(exec.Input[T])
	}
	return exec.Instance{In: ins}, nil
}
