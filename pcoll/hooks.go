package pcoll

// This file holds what the module's own packages need to define transforms,
// connectors and runners. Its signatures name internal types, so that other
// modules cannot use it by accident.

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// NewContext returns the context that a transform hands to user code. One
// serves all elements of an operator on a worker; Bind points it at the
// element. skew is in ms.
func NewContext(env exec.Env, skew int64) *Context {
	keep, _ := env.(Keeper)
	return &Context{env: env, skew: skew, keep: keep}
}

// A Keeper is an exec.Env that is told when a function of the operator used its
// Context after the call that received it had returned. Under it each call gets a Context of its own.
type Keeper interface{ ContextKept() }

// Bind returns c, made to describe the element of x. What is handed to user
// code is the result.
func (c *Context) Bind(x *exec.Ctx) *Context {
	c.x, c.free = x, false
	if c.keep != nil {
		return c.fresh()
	}
	return c
}

// BindFree is Bind for a call without an element, such as FinishBundle.
func (c *Context) BindFree(x *exec.Ctx) *Context {
	c.x, c.free = x, true
	if c.keep != nil {
		return c.fresh()
	}
	return c
}

// fresh returns a copy of c and ends the one before. An ended context has a
// place of its own, so that it shows nothing of other elements.
func (c *Context) fresh() *Context {
	if l := c.last; l != nil {
		l.x, l.free, l.over = exec.NewCtx(l.x.Context), true, true
	}
	c.last = &Context{x: c.x, env: c.env, skew: c.skew, free: c.free, keep: c.keep}
	return c.last
}

// Exec returns the worker's context, and whether an element may be emitted
// without an explicit time.
func (c *Context) Exec() (x *exec.Ctx, free bool) { return c.element(), c.free }

// EmitTo returns the Emit that sends into down and counts in n.
func EmitTo[T any](down exec.Input[T], n *exec.Counter) Emit[T] {
	return func(c *Context, v T) {
		if c.free {
			if c.over {
				c.keep.ContextKept()
				return
			}
			c.x.Fail(fmt.Errorf("an element was emitted where none is being processed; give it a time and a window with emit.In"))
			return
		}
		n.N++
		op := c.x.Op
		down(c.x, v)
		c.x.Op = op
	}
}

// GroupValues returns the values of g, which must not be changed.
func GroupValues[V any](g Group[V]) []V { return g.vals }

// A Builder adds one transform to a pipeline.
type Builder struct {
	p      *Pipeline
	node   *graph.Node
	bad    bool
	extras []extra // not taken yet
}

// An extra is a setting that only some transforms understand.
type extra struct {
	name  string
	value any
}

// Extra returns an option for the transforms that take values of v's type with
// [Taken]. Given to any other transform it is a mistake: no option is ignored.
func Extra(name string, v any) Option {
	return optionFunc(func(s *settings) { s.extras = append(s.extras, extra{name, v}) })
}

// Taken returns the values of type X that options made with [Extra] carry, in
// order. It is called before the first output is added.
func Taken[X any](b *Builder) (taken []X) {
	var rest []extra
	for _, e := range b.extras {
		if x, ok := e.value.(X); ok {
			taken = append(taken, x)
		} else {
			rest = append(rest, e)
		}
	}
	b.extras = rest
	return taken
}

// settle reports the options that nobody took.
func (b *Builder) settle() {
	for _, e := range b.extras {
		b.Errorf("option %s does not apply to %s; remove it", e.name, b.node.Kind)
	}
	b.extras = nil
}

// Part starts a node that is a part of the transform, named after it: the
// transform is made of several nodes. The parts must be added in the order of their data.
func (b *Builder) Part(kind string) *Builder {
	n := &graph.Node{Kind: kind, Name: b.node.Name + "/" + kind, File: b.node.File, Line: b.node.Line}
	for k := 2; b.p.used[n.Name] > 0; k++ {
		n.Name = fmt.Sprintf("%s/%s-%d", b.node.Name, kind, k)
	}
	b.p.used[n.Name]++
	return &Builder{p: b.p, node: n, bad: b.bad}
}

// NewBuilder starts a transform of the given kind. It panics if p is nil.
func NewBuilder(p *Pipeline, kind string, opts ...Option) *Builder {
	if p == nil {
		panic("pcoll: " + kind + " applied to a zero PCollection or a nil Pipeline; every PCollection comes from a transform or a source")
	}
	s := settings{name: kind}
	for _, o := range opts {
		if o != nil {
			o.apply(&s)
		}
	}
	empty := s.named && s.name == ""
	if empty {
		s.name = kind // so that the mistake names something
	}
	path := strings.Join(append(append([]string(nil), p.scope...), s.name), "/")
	n := &graph.Node{Kind: kind, Name: path, Named: s.named}
	n.File, n.Line = caller()
	b := &Builder{p: p, node: n, extras: s.extras}
	if empty {
		b.Errorf("name is empty")
	}
	p.used[path]++
	if k := p.used[path]; k > 1 {
		if s.named && !empty {
			b.Errorf("name %q is already used; names are unique within a scope", path)
		}
		for p.used[fmt.Sprintf("%s-%d", path, k)] > 0 {
			k++
		}
		n.Name = fmt.Sprintf("%s-%d", path, k)
		p.used[n.Name]++
	}
	return b
}

// Errorf records a mistake. The outputs of the transform become inert.
func (b *Builder) Errorf(format string, args ...any) {
	b.bad = true
	b.p.errs = append(b.p.errs, &BuildError{b.node.Name, b.node.File, b.node.Line, fmt.Errorf(format, args...)})
}

// Bad reports whether a mistake was made here or upstream.
func (b *Builder) Bad() bool { return b.bad }

// Name returns the transform's unique name.
func (b *Builder) Name() string { return b.node.Name }

// Node returns the node being built.
func (b *Builder) Node() *graph.Node { return b.node }

// Claim records that the function value fn, a pointer, belongs to this
// transform; a second claim is a mistake, since its fields are bound once.
func (b *Builder) Claim(fn any) {
	if v := reflect.ValueOf(fn); v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 {
		return
	}
	if first := b.p.claimed[fn]; first != nil {
		b.Errorf("this %T is already used by %s (%s:%d); give each transform a value of its own", fn, first.Name, base(first.File), first.Line)
		return
	}
	b.p.claimed[fn] = b.node
}

// From adds in to the inputs of the transform, as it is: its windows may be
// still to be assigned (Pending). After a mistake it returns a collection that
// only serves to go on building. It panics if in is the zero PCollection.
func From[T any](b *Builder, in PCollection[T]) *graph.Collection {
	switch {
	case in.p == nil:
		panic("pcoll: " + b.node.Kind + " applied to a zero PCollection; every PCollection comes from a transform or a source")
	case in.p != b.p:
		b.Errorf("an input belongs to pipeline %q, the transform to %q; build both in one pipeline", in.p.name, b.p.name)
	case in.col == nil:
		b.bad = true // the mistake is recorded already
	default:
		b.node.Inputs = append(b.node.Inputs, graph.Input{Col: in.col})
		return in.col
	}
	return &graph.Collection{Elem: reflect.TypeFor[T](), Strategy: strategy.Default(), Bounded: true}
}

// FromWindowed is From for transforms that can observe windows: if they are
// still to be assigned, a node that assigns them is put in between.
func FromWindowed[T any](b *Builder, in PCollection[T]) *graph.Collection {
	if in.p != nil && in.p == b.p && in.col != nil && in.col.Pending {
		in = Assigned(b, in)
	}
	return From(b, in)
}

// Assigned returns in with its windows assigned. The node it adds stands under b's name.
func Assigned[T any](b *Builder, in PCollection[T]) PCollection[T] {
	if in.col == nil || !in.col.Pending || b.bad {
		return in
	}
	a := b.Part("AssignWindows")
	a.node.Structure = graph.WindowInto
	like := From(a, in)
	out := To[T](a, like)
	out.col.Pending = false
	a.Add(assignOp[T]{like.Strategy.Fn})
	return out
}

// assignOp sends an element once for each of its windows.
type assignOp[T any] struct{ fn strategy.WindowFn }

func (o assignOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, n, none := outs[0].(exec.Input[T]), env.Counter(exec.Emitted(0)), env.Counter(exec.NoWindow)
	fn := strategy.ForWorker(o.fn)
	var buf []exec.Window
	return exec.Instance{In: []any{exec.Input[T](func(c *exec.Ctx, v T) {
		w := c.Window
		buf = fn.Assign(buf[:0], c.Time)
		n.N += int64(len(buf))
		if len(buf) == 0 {
			none.N++
		}
		for _, c.Window = range buf {
			down(c, v)
		}
		c.Window = w
	})}}, nil
}

// To adds an output to the transform, windowed and bounded like the given
// collection (nil: the global window, bounded).
func To[T any](b *Builder, like *graph.Collection) PCollection[T] {
	b.settle()
	c := b.p.g.NewCollection(reflect.TypeFor[T](), exec.NewEdge[T]())
	if like != nil {
		c.Strategy, c.Pending, c.Bounded, c.Retracts = like.Strategy, like.Pending, like.Bounded, like.Retracts
	}
	b.node.Outputs = append(b.node.Outputs, c)
	if b.bad {
		return PCollection[T]{p: b.p}
	}
	return PCollection[T]{p: b.p, col: c}
}

// Unwindowed returns what the output of a root is like: in the global window.
func Unwindowed(bounded bool) *graph.Collection {
	return &graph.Collection{Strategy: strategy.Default(), Bounded: bounded}
}

// Col returns the collection, or nil after a mistake.
func Col[T any](c PCollection[T]) *graph.Collection { return c.col }

// Add ends the transform. After a mistake the node stays out of the graph.
func (b *Builder) Add(op exec.Op) {
	b.settle()
	if b.bad {
		return
	}
	b.node.Op = op
	b.p.g.Add(b.node)
}

// Graph returns the graph, for runners.
func Graph(p *Pipeline) *graph.Graph { return &p.g }

const module = "github.com/penstock-dev/penstock/"

// caller returns the first frame outside the module's library packages.
func caller() (string, int) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		lib := strings.HasPrefix(f.Function, module) &&
			!strings.HasPrefix(f.Function, module+"examples/") && !strings.HasSuffix(f.File, "_test.go")
		if !lib || !more {
			return f.File, f.Line
		}
	}
}

func base(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }
