package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
)

// slice adds a root that emits the elements of a slice, passes times over, with
// nothing between it and the slice: each worker has its share. Without timeOf
// all are stamped with the epoch.
func slice[T any](p *pcoll.Pipeline, elems []T, passes int, timeOf func(*T) exec.Time) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(p, "Slice")
	out := pcoll.To[T](b, pcoll.Unwindowed(true))
	b.Node().Structure = graph.Source
	b.Add(sliceOp[T]{elems, passes, timeOf})
	return out
}

type sliceOp[T any] struct {
	elems  []T
	passes int
	timeOf func(*T) exec.Time
}

const disorder = 5000 // ms that the slices are out of order, at most

func (o sliceOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down := outs[0].(exec.Input[T])
	i, n := env.Worker()
	size := len(o.elems) / n
	part := o.elems[i*size : (i+1)*size]
	at, pass, wm := 0, 0, exec.MinTime
	return exec.Instance{
		Poll: func(c *exec.Ctx, limit int) exec.Status {
			end, i, down := min(at+limit, len(part)), at, down // not read from the closure for each element
			if o.timeOf == nil {
				c.Time = 0
				for ; i < end && !c.Full; i++ {
					down(c, part[i])
				}
			} else {
				for ; i < end && !c.Full; i++ {
					e := &part[i]
					c.Time = o.timeOf(e)
					down(c, *e)
				}
				wm = max(wm, c.Time-disorder)
			}
			at = i
			if at == len(part) {
				if pass++; pass == o.passes {
					wm = exec.MaxTime
					return exec.Ended
				}
				at = 0
			}
			return exec.Ready
		},
		Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return wm, false },
	}, nil
}

// sum adds a sink that adds up its elements.
func sum(in pcoll.PCollection[uint64]) *atomic.Uint64 {
	b := pcoll.NewBuilder(in.Pipeline(), "Sum")
	pcoll.From(b, in)
	b.Node().Structure = graph.Sink
	total := new(atomic.Uint64)
	b.Add(sumOp{total})
	return total
}

type sumOp struct{ total *atomic.Uint64 }

func (o sumOp) New(exec.Env, []any) (exec.Instance, error) {
	var s uint64
	return exec.Instance{
		In:     []any{exec.Input[uint64](func(_ *exec.Ctx, v uint64) { s += v })},
		Finish: func(*exec.Ctx) { o.total.Add(s) },
	}, nil
}

// run runs a pipeline on the local runner and returns what its sink added up.
func run(p *pcoll.Pipeline, total *atomic.Uint64, workers int) uint64 {
	if _, err := local.Run(context.Background(), p, local.Workers(workers)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	return total.Load()
}
