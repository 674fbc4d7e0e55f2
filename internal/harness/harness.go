// Package harness turns one example of a pipeline into many adversarial runs
// of its operators. It executes a graph in one goroutine, turn by turn, and
//
//   - bundles the elements of a step whole or one by one,
//   - after every turn snapshots every operator, and goes on with a new instance
//     into which the snapshot was restored,
//   - lets outputs be full after every single element, so that operators which
//     can stop do,
//   - splits operators that can be split around an exchange (exec.Lifter).
//
// Runs of the same bundling must give the same elements with the same times,
// windows and panes.
package harness

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Step is one event of an example.
type Step[T any] struct {
	Elems     []Elem[T]
	Watermark exec.Time // if not 0
	Clock     int64     // ms by which processing time advances
}

// An Elem is a value with its event time in ms.
type Elem[T any] struct {
	At exec.Time
	V  T
}

// Source adds a root that emits the elements of steps.
func Source[T any](p *pcoll.Pipeline, steps ...Step[T]) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(p, "Steps")
	out := pcoll.To[T](b, pcoll.Unwindowed(false))
	b.Node().Structure = graph.Source
	b.Add(&stepsOp[T]{steps: steps})
	return out
}

// stepsOp is a root that is told by number which element to emit.
type stepsOp[T any] struct {
	steps   []Step[T]
	emitted *exec.Counter // of the one instance that there is at a time
}

// stepped is what the executor knows of a stepsOp.
type stepped interface {
	count() int
	step(i int) (elems int, watermark exec.Time, clock int64)
	emit(down any, c *exec.Ctx, step, elem int)
}

func (o *stepsOp[T]) New(env exec.Env, _ []any) (exec.Instance, error) {
	o.emitted = env.Counter(exec.Elements)
	return exec.Instance{}, nil
}
func (o *stepsOp[T]) count() int { return len(o.steps) }
func (o *stepsOp[T]) step(i int) (int, exec.Time, int64) {
	return len(o.steps[i].Elems), o.steps[i].Watermark, o.steps[i].Clock
}
func (o *stepsOp[T]) emit(down any, c *exec.Ctx, step, elem int) {
	e := o.steps[step].Elems[elem]
	o.emitted.N++
	c.Time, c.Window, c.Pane, c.Kind = e.At, exec.Global, exec.NoFiring, exec.Insert
	down.(exec.Input[T])(c, e.V)
}

// Variation is one way to run an example.
type Variation struct {
	OneByOne bool // a turn for each element
	Restart  bool // new instances after every turn
	Full     bool // outputs are full after every element
	Lift     bool // operators are split around their exchange
	Aligned  bool
}

// String names the variation.
func (v Variation) String() string {
	var s []string
	for name, on := range map[string]bool{"one by one": v.OneByOne, "restart": v.Restart, "full": v.Full, "lift": v.Lift, "aligned": v.Aligned} {
		if on {
			s = append(s, name)
		}
	}
	slices.Sort(s)
	return "[" + strings.Join(s, ", ") + "]"
}

// Exempt says why an operator is not restarted: what it keeps lies outside the engine.
type Exempt map[string]string

// Check runs the pipeline that build makes in every variation and compares the
// outputs of all its transforms that nothing consumes. It returns the names of
// the operator types that took part.
func Check(t *testing.T, exempt Exempt, build func(p *pcoll.Pipeline)) (types []string) {
	t.Helper()
	for _, one := range []bool{false, true} {
		var want []string
		for i := range 16 {
			v := Variation{OneByOne: one, Restart: i&1 != 0, Full: i&2 != 0, Lift: i&4 != 0, Aligned: i&8 != 0}
			got, seen, err := Run(v, exempt, build)
			types = append(types, seen...)
			if err != nil {
				t.Fatalf("%v: %v", v, err)
			}
			if i == 0 {
				want = got
				continue
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v gives other results than %v:\ngot\n\t%s\nwant\n\t%s", v, Variation{OneByOne: one},
					strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		}
		if len(want) == 0 {
			t.Fatal("the example has no output, so it shows nothing")
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// Run runs the example once and returns its outputs, printed and sorted, and the
// operator types seen.
func Run(v Variation, exempt Exempt, build func(p *pcoll.Pipeline)) (out, types []string, err error) {
	p := pcoll.New("harness")
	build(p)
	if err := p.Err(); err != nil {
		return nil, nil, err
	}
	x := &executor{v: v, exempt: exempt, clock: &host.Manual{}, c: exec.NewCtx(context.Background()), col: map[*graph.Collection]from{}}
	for _, n := range pcoll.Graph(p).Nodes {
		x.add(n)
	}
	for i := len(x.ops) - 1; i >= 0; i-- {
		if err := x.start(x.ops[i]); err != nil {
			return nil, nil, err
		}
	}
	host.Guard(x.c, x.run)
	if x.c.Err != nil {
		return nil, nil, host.Locate(x.c.Err, func(op int32) string { return x.ops[op].node.Name })
	}
	if err := x.counts(pcoll.Graph(p)); err != nil {
		return nil, nil, err
	}
	for _, o := range x.ops {
		types = append(types, strings.TrimPrefix(typeName(o.op), "*"))
	}
	slices.Sort(x.out)
	return x.out, types, nil
}

// typeName returns the name of an operator's type without type arguments.
func typeName(op exec.Op) string {
	name, _, _ := strings.Cut(fmt.Sprintf("%T", op), "[")
	return name
}

var quiet = slog.New(slog.DiscardHandler)
