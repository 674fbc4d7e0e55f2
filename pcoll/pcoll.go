package pcoll

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/graph"
)

// KV pairs a key with a value. Collections of KV can be grouped and combined.
type KV[K comparable, V any] struct {
	Key   K
	Value V
}

// Pair returns a KV; it saves spelling the type parameters.
func Pair[K comparable, V any](k K, v V) KV[K, V] { return KV[K, V]{Key: k, Value: v} }

// CoderShape makes a KV travel as Beam's kv: key, then value.
func (KV[K, V]) CoderShape() coders.Shape { return coders.ShapeKV }

// A Group holds the values of one key and window. It can be iterated any
// number of times; the order of values is not defined. It must not be changed,
// but may be kept.
type Group[V any] struct{ vals []V }

// GroupOf returns a group that holds vals, which it takes over. It is for tests
// and for connectors; pipelines get groups from transforms.GroupByKey.
func GroupOf[V any](vals ...V) Group[V] { return Group[V]{slices.Clip(vals)} }

// All iterates over the values.
func (g Group[V]) All() iter.Seq[V] { return slices.Values(g.vals) }

// Len returns the number of values.
func (g Group[V]) Len() int { return len(g.vals) }

// String prints the values like a slice.
func (g Group[V]) String() string { return fmt.Sprint(g.vals) }

// CoderShape makes a Group travel as Beam's iterable.
func (Group[V]) CoderShape() coders.Shape { return coders.ShapeIterable }

// A Pipeline is a graph of transforms under construction. It is built by one
// goroutine and may then be run any number of times, also at once.
type Pipeline struct {
	name    string
	g       graph.Graph
	scope   []string
	used    map[string]int
	claimed map[any]*graph.Node // DoFn values, by pointer
	errs    []error
}

// New returns an empty pipeline. The name identifies it across restarts.
func New(name string) *Pipeline {
	return &Pipeline{name: name, used: map[string]int{}, claimed: map[any]*graph.Node{}}
}

// Name returns the name given to [New].
func (p *Pipeline) Name() string { return p.name }

// String describes the graph, one transform a line.
func (p *Pipeline) String() string { return p.g.String() }

// Err returns everything found wrong with the pipeline so far, or nil. The
// result wraps one [*BuildError] for each mistake.
func (p *Pipeline) Err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return fmt.Errorf("pipeline %q cannot run:\n%w", p.name, errors.Join(p.errs...))
}

// A BuildError is one mistake in the construction of a pipeline.
type BuildError struct {
	Transform string // unique name of the transform, "Sessions/GroupByKey"
	File      string // of the user's call
	Line      int
	Err       error
}

// Error prints file:line: transform: mistake.
func (e *BuildError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %v", base(e.File), e.Line, e.Transform, e.Err)
}

// Unwrap returns the mistake.
func (e *BuildError) Unwrap() error { return e.Err }

// A PCollection is a bag of elements of type T, bounded or not, each with an
// event time and a window. It is a small value: copy it freely.
type PCollection[T any] struct {
	p   *Pipeline
	col *graph.Collection // nil after a mistake upstream
}

// Pipeline returns the pipeline that the collection belongs to.
func (c PCollection[T]) Pipeline() *Pipeline { return c.p }

// Scoped builds part of a pipeline under a common name: transforms applied by
// build are named name/…
func Scoped[R any](p *Pipeline, name string, build func() R) R {
	if p == nil {
		panic("pcoll: Scoped called with a nil Pipeline")
	}
	p.scope = append(p.scope, name)
	defer func() { p.scope = p.scope[:len(p.scope)-1] }()
	return build()
}

// An Option configures any transform.
type Option interface{ apply(*settings) }

type settings struct {
	name   string
	named  bool
	extras []extra
}

type optionFunc func(*settings)

func (f optionFunc) apply(s *settings) { f(s) }

// Named sets the name of a transform. Names are unique within a scope. Those of
// transforms with state should be set: they tie stored state to the transform
// when the program changes.
func Named(name string) Option {
	return optionFunc(func(s *settings) { s.name, s.named = name, true })
}
