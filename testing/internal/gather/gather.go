// Package gather brings all elements of a collection to one place, together
// with their times, windows and panes, and tells of it when the run has
// succeeded. It is what passert and ptest look at collections with.
package gather

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// An Element is a value with what surrounds it.
type Element[T any] struct {
	Value  T
	Time   pcoll.Time
	Window pcoll.Window
	Pane   pcoll.Pane
	Kind   exec.Kind
}

// A Run is one run of a pipeline, known to those who look at its collections by
// the context that it was started with.
type Run struct {
	Name string

	mu   sync.Mutex
	done map[exec.Op]bool
}

type runKey struct{}

// NewRun returns a run and the context to start it with.
func NewRun(ctx context.Context, name string) (context.Context, *Run) {
	r := &Run{Name: name, done: map[exec.Op]bool{}}
	return context.WithValue(ctx, runKey{}, r), r
}

// NameOf returns the name of the run that ctx belongs to, or "".
func NameOf(ctx context.Context) string {
	if r, ok := ctx.Value(runKey{}).(*Run); ok {
		return r.Name
	}
	return ""
}

// Missing returns the nodes of p that gather and did not finish in the run.
func (r *Run) Missing(p *pcoll.Pipeline) (nodes []*graph.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range pcoll.Graph(p).Nodes {
		if _, ok := n.Op.(gatherer); ok && !r.done[n.Op] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

type gatherer interface{ gathers() }

// Add ends the transform b as a sink of col. done is called once in each run that
// comes to its end, by a goroutine of the run, with the run's context.
func Add[T any](b *pcoll.Builder, col pcoll.PCollection[T], done func(ctx context.Context, elems []Element[T])) {
	pcoll.FromWindowed(b, col)
	for i := range b.Node().Inputs {
		b.Node().Inputs[i].Exchange = graph.Gather
	}
	b.Node().Structure = graph.Sink
	b.Add(&gatherOp[T]{exec.NewEdge[T](), done})
}

type gatherOp[T any] struct {
	edge exec.Edge
	done func(context.Context, []Element[T])
}

func (*gatherOp[T]) gathers() {}

func (o *gatherOp[T]) New(env exec.Env, _ []any) (exec.Instance, error) {
	g := &gathering[T]{edge: o.edge, elements: env.Counter(exec.Elements)}
	env.Keep("elements", g)
	worker, _ := env.Worker()
	return exec.Instance{
		In: []any{exec.Input[T](g.add)},
		Finish: func(*exec.Ctx) {
			if worker != 0 {
				return
			}
			if r, ok := env.Context().Value(runKey{}).(*Run); ok {
				r.mu.Lock()
				r.done[o] = true
				r.mu.Unlock()
			}
			o.done(env.Context(), g.elems)
		},
	}, nil
}

// gathering is what came to one worker; all of it comes to worker 0.
type gathering[T any] struct {
	edge     exec.Edge
	elems    []Element[T]
	elements *exec.Counter
}

func (g *gathering[T]) add(c *exec.Ctx, v T) {
	g.elements.N++
	g.keep(c, v)
}

func (g *gathering[T]) keep(c *exec.Ctx, v T) {
	g.elems = append(g.elems, Element[T]{v, c.Time, c.Window, c.Pane, c.Kind})
}

// packer collects the batches of a Writer.
type packer struct{ batches []exec.Batch }

func (p *packer) Send(_ int, b exec.Batch) bool { p.batches = append(p.batches, b); return false }
func (p *packer) Free(int) exec.Batch           { return nil }

// Snapshot appends the elements as batches of their edge. They belong to no key
// group and go with group 0.
func (g *gathering[T]) Snapshot(dst []byte, group int) ([]byte, error) {
	if group != 0 || len(g.elems) == 0 {
		return dst, nil
	}
	var p packer
	w, c := g.edge.Writer(nil, 1, &p), exec.NewCtx(context.Background())
	in := w.In.(exec.Input[T])
	for _, e := range g.elems {
		c.Time, c.Window, c.Pane, c.Kind = e.Time, e.Window, e.Pane, e.Kind
		in(c, e.Value)
	}
	w.Flush(c)
	for _, b := range p.batches {
		enc, err := g.edge.Encode(nil, b, 0)
		if err != nil {
			return dst, err
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(enc))), enc...)
	}
	return dst, nil
}

// Restore reads what Snapshot wrote.
func (g *gathering[T]) Restore(src []byte) error {
	feed, c := g.edge.Feeder(exec.Input[T](g.keep)), exec.NewCtx(context.Background())
	for len(src) > 0 {
		n, k := binary.Uvarint(src)
		if k <= 0 || n > uint64(len(src)-k) {
			return fmt.Errorf("gather: stored elements are damaged: %d bytes left", len(src))
		}
		b, err := g.edge.Decode(src[k : k+int(n)])
		if err != nil {
			return fmt.Errorf("gather: %w", err)
		}
		feed(c, b, 0, b.Len())
		src = src[k+int(n):]
	}
	return nil
}
