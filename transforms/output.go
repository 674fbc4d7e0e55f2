package transforms

import (
	"fmt"
	"reflect"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// An Output is an exported field of a [DoFn] that gives its transform a further
// output. After ParDo, Collection returns it:
//
//	fn := &parse{}
//	orders := transforms.ParDo(lines, fn)
//	bad := fn.Bad.Collection()
//
// Emitting is for the methods of the DoFn, which run on copies of it: the value
// that the program holds is only the handle to the collection.
type Output[T any] struct {
	col  pcoll.PCollection[T]
	emit pcoll.Emit[T] // of a worker's copy
}

// Collection returns the collection of what is emitted. It is the zero
// collection until the DoFn was given to ParDo.
func (o *Output[T]) Collection() pcoll.PCollection[T] { return o.col }

// Emit emits v with time, window and pane of the element being processed.
func (o *Output[T]) Emit(c *pcoll.Context, v T) {
	if o.bound(c) {
		o.emit(c, v)
	}
}

// At emits v with the event time t; see pcoll.Emit.At.
func (o *Output[T]) At(c *pcoll.Context, t time.Time, v T) {
	if o.bound(c) {
		o.emit.At(c, t, v)
	}
}

// In emits v with the event time t into window w; see pcoll.Emit.In.
func (o *Output[T]) In(c *pcoll.Context, w pcoll.Window, t time.Time, v T) {
	if o.bound(c) {
		o.emit.In(c, w, t, v)
	}
}

func (o *Output[T]) bound(c *pcoll.Context) bool {
	if o.emit == nil {
		x, _ := c.Exec()
		x.Fail(fmt.Errorf("an Output[%v] was emitted to that is not a field of the worker's own DoFn; "+
			"emit through the receiver of Process, and do not copy Outputs", reflect.TypeFor[T]()))
	}
	return o.emit != nil
}

// declare makes the output's collection.
func (o *Output[T]) declare(b *pcoll.Builder, like *graph.Collection) { o.col = pcoll.To[T](b, like) }

// bind gives a worker's copy of the output where to emit to, and to count it.
func (o *Output[T]) bind(down any, n *exec.Counter) { o.emit = pcoll.EmitTo(down.(exec.Input[T]), n) }

// outputField is an Output of any type, by its address.
type outputField interface {
	declare(*pcoll.Builder, *graph.Collection)
	bind(down any, n *exec.Counter)
}

// declareOutputs adds the Output fields of fn to the outputs of b.
func declareOutputs(b *pcoll.Builder, fn any, fields boundFields, like *graph.Collection) {
	if len(fields[outputFields]) == 0 {
		return
	}
	for _, f := range fieldsAt[outputField](fields, outputFields, reflect.ValueOf(fn).Elem()) {
		f.declare(b, like)
	}
}

// bindOutputs binds the output fields of a worker's copy to outs from number
// first on; those before are the function's own.
func bindOutputs(worker reflect.Value, fields boundFields, env exec.Env, outs []any, first int) {
	if len(fields[outputFields]) == 0 {
		return
	}
	for i, f := range fieldsAt[outputField](fields, outputFields, worker) {
		f.bind(outs[first+i], env.Counter(exec.Emitted(first+i)))
	}
}
