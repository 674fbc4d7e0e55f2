package transforms

import (
	"reflect"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/sideinput"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
)

// MapSide applies f to each element and a view of another collection, once for
// each of the element's windows; see package side for what f then sees.
//
//	priced := transforms.MapSide(orders, side.AsMap(rates), func(o Order, rates side.Map[string, float64]) float64 { … })
func MapSide[A any, S side.View, B any](in pcoll.PCollection[A], view S, f func(A, S) B, opts ...pcoll.Option) pcoll.PCollection[B] {
	b := pcoll.NewBuilder(in.Pipeline(), "MapSide", opts...)
	return withView[A, B](b, in, view, f == nil, func(view S, emit exec.Input[B]) exec.Input[A] {
		return func(c *exec.Ctx, a A) { emit(c, f(a, view)) }
	})
}

// FilterSide keeps the elements for which keep is true, given a view of another
// collection; see package side for what keep then sees.
func FilterSide[T any, S side.View](in pcoll.PCollection[T], view S, keep func(T, S) bool, opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "FilterSide", opts...)
	return withView[T, T](b, in, view, keep == nil, func(view S, emit exec.Input[T]) exec.Input[T] {
		return func(c *exec.Ctx, v T) {
			if keep(v, view) {
				emit(c, v)
			}
		}
	})
}

// withView adds a node that processes elements with one view. process makes the
// function of a worker, with the view as that worker reads it.
func withView[A, B any, S side.View](b *pcoll.Builder, in pcoll.PCollection[A], view S, noFunc bool,
	process func(S, exec.Input[B]) exec.Input[A]) pcoll.PCollection[B] {
	like := pcoll.FromWindowed(b, in)
	checkFunc(b, noFunc)
	op := &viewOp[A, B, S]{view: view, process: process}
	if side.SourceOf(view) == nil {
		b.Errorf("the view is a zero %T; make one with a function of package side, such as side.AsMap(collection)", view)
	} else {
		op.sides = declareSides(b, like, side.SourceOf(view))
	}
	out := pcoll.To[B](b, like)
	b.Node().Structure = graph.ParDo
	b.Add(op)
	return out
}

// viewOp runs a function with one view.
type viewOp[A, B any, S side.View] struct {
	view    S
	sides   *sideInputs
	process func(S, exec.Input[B]) exec.Input[A]
}

func (o *viewOp[A, B, S]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, op := outs[0].(exec.Input[B]), env.Op()
	in, out := env.Counter(exec.Elements), env.Counter(exec.Emitted(0))
	view := new(S)
	*view = o.view
	var process exec.Input[A]
	gate := gateOf(env, o.sides, sideinput.Config[A]{Next: func(c *exec.Ctx, a A) {
		in.N++
		c.Op = op
		process(c, a)
	}})
	bindSides(gate, any(view).(side.Bindable))
	process = o.process(*view, func(c *exec.Ctx, v B) {
		out.N++
		down(c, v)
	})
	return behind(gate, exec.Instance{}), nil
}

// sideInputs is what a transform knows of its side inputs.
type sideInputs struct {
	main    *graph.Collection
	sources []*sideinput.Source // each once
}

// declareSides adds side inputs to the inputs of b, whose main input it has
// already, with windows assigned as in like. It returns nil if there are none.
func declareSides(b *pcoll.Builder, like *graph.Collection, sources ...*sideinput.Source) *sideInputs {
	if len(sources) == 0 || b.Bad() {
		return nil
	}
	s := &sideInputs{main: b.Node().Inputs[0].Col}
	if err := s.main.Edge.Check(); err != nil { // elements are kept while they wait
		b.Errorf("%w", err)
	}
	for _, src := range sources {
		if !slices.Contains(s.sources, src) {
			s.sources = append(s.sources, src)
		}
	}
	sideinput.Declare(b, like, s.sources)
	return s
}

// sidesOf returns what is behind the views in fields of fn.
func sidesOf(b *pcoll.Builder, fn any, fields boundFields) (sources []*sideinput.Source) {
	if len(fields[sideFields]) == 0 {
		return nil
	}
	v := reflect.ValueOf(fn).Elem()
	for i, f := range fieldsAt[side.Bindable](fields, sideFields, v) {
		src, field := side.SourceOf(f), fields[sideFields][i]
		if src == nil {
			b.Errorf("%v.%s is a %v without a collection; set it with a function of package side, such as side.AsMap(collection)",
				v.Type(), field.Name, field.Type)
			continue
		}
		sources = append(sources, src)
	}
	return sources
}

// gateOf returns the gate of a worker; cfg says what is behind it, and by what
// the main input is keyed.
func gateOf[T any](env exec.Env, s *sideInputs, cfg sideinput.Config[T]) *sideinput.Gate[T] {
	cfg.Sources, cfg.Main, cfg.Edge = s.sources, s.main.Strategy, s.main.Edge
	return sideinput.NewGate(env, "sides", cfg)
}

// bindSides lets a worker's copies of views read what the gate shows.
func bindSides[T any](gate *sideinput.Gate[T], views ...side.Bindable) {
	for _, v := range views {
		side.Bind(v, gate.Content(side.SourceOf(v)))
	}
}

// behind puts an operator of one main input behind a gate: it sees the elements
// and the watermark that the gate lets through.
func behind[T any](gate *sideinput.Gate[T], inst exec.Instance) exec.Instance {
	turn, advance := inst.Turn, inst.Advance
	inst.In = gate.Inputs()
	inst.Turn = func(c *exec.Ctx) {
		gate.Turn(c)
		if turn != nil {
			turn(c)
		}
	}
	main := make([]exec.Time, 1)
	holds := inst.Holds
	inst.Holds = func() bool { return gate.Waits() || holds != nil && holds() }
	inst.Advance = func(c *exec.Ctx, in []exec.Time) (out exec.Time, more bool) {
		if main[0], more = gate.Advance(c, in); more {
			return exec.MinTime, true // of what the gate let through nothing has been heard yet
		}
		if turn != nil {
			turn(c) // it is a bundle that ends before the watermark moves
		}
		out = main[0]
		if advance != nil {
			if out, more = advance(c, main); more {
				return out, true
			}
		}
		gate.Sweep()
		return out, false
	}
	return inst
}

// A viewer makes side inputs readable for a function that is not only called
// with elements which the gate lets through.
type viewer interface {
	Open(*exec.Ctx, exec.Window)
	Close()
}
