package transforms

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/sideinput"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
)

// A DoFn processes elements one by one and emits any number of results.
//
//	type parse struct {
//		Strict bool                        // exported fields are configuration
//		Bad    transforms.Output[string]   // a further output
//		Known  side.Map[string, User]      // a side input: side.AsMap(users)
//		lines  int                         // unexported fields are scratch
//	}
//
//	var _ transforms.DoFn[string, Order] = (*parse)(nil) // says clearly what does not fit
//
// Write that last line beside every DoFn: without it the compiler reports a
// Process of the wrong type at the call of ParDo, in words hard to read.
//
// # Copies
//
// Each worker works on a shallow copy of the value given to [ParDo], made before
// Setup, so that fields need no locks. What a field points to is shared: make
// maps and slices that are to be changed in Setup. A DoFn value serves one
// transform; give each its own.
//
// # Lifecycle
//
// A DoFn may implement [Setupper], [BundleStarter], [BundleFinisher] and
// [Teardowner]. A worker calls them in this order:
//
//	Setup → { StartBundle → Process… → FinishBundle }… → Teardown
//
// A bundle is some number of elements, at least one. Nothing may be kept for later across bundles
// that should not be lost: a worker that stops emits nothing in Teardown.
//
// An error or a panic fails the run, with the transform's name and the element's
// time and window. No method is called after it but Teardown.
type DoFn[In, Out any] interface {
	// Process handles one element. c describes it until Process returns; emit
	// sends results with the element's time, window and pane, or others.
	Process(c *pcoll.Context, e In, emit pcoll.Emit[Out]) error
}

// A Setupper is a [DoFn] to be prepared before a worker's first element:
// connections, compiled expressions, maps. It cannot emit.
type Setupper interface {
	Setup(c *pcoll.Context) error
}

// A BundleStarter is a [DoFn] that is told before the first element of a bundle.
type BundleStarter interface {
	StartBundle(c *pcoll.Context) error
}

// A BundleFinisher is a [DoFn] that is told after the last element of a bundle.
// No element is being processed then: it emits with emit.In, into a window and
// at a time of its choice, which should be those of an element of the bundle.
type BundleFinisher[Out any] interface {
	FinishBundle(c *pcoll.Context, emit pcoll.Emit[Out]) error
}

// A Teardowner is a [DoFn] that has something to release when its worker ends.
// It is called once, also after a failure of the run, and also after a Setup that
// failed, so that it may find that only in part done.
type Teardowner interface {
	Teardown() error
}

// ParDo applies fn to each element, once for each of the element's windows, and
// returns what it emits. fn is a pointer to a struct, or a value without
// [Output] fields and views of package side. Options are pcoll.Named and [AllowedSkew].
func ParDo[In, Out any](in pcoll.PCollection[In], fn DoFn[In, Out], opts ...pcoll.Option) pcoll.PCollection[Out] {
	b := pcoll.NewBuilder(in.Pipeline(), "ParDo", opts...)
	skew := takeSkew(b)
	like := pcoll.FromWindowed(b, in)
	usable := checkDoFn(b, fn)
	if usable {
		b.Claim(fn)
		checkMethods[Out](b, fn)
	}
	out := pcoll.To[Out](b, like)
	op := &parDoOp[In, Out]{fn: fn, skew: skew}
	if usable {
		op.fields = findFields(b, fn, outputFields, sideFields, stateFields, timerFields)
		refuseState(b, fn, op.fields)
		op.sides = declareSides(b, like, sidesOf(b, fn, op.fields)...)
		declareOutputs(b, fn, op.fields, like)
		refuseFinisher[Out](b, like, fn)
	}
	b.Node().Structure = graph.ParDo
	b.Add(op)
	return out
}

func checkDoFn(b *pcoll.Builder, fn any) bool {
	v := reflect.ValueOf(fn)
	switch {
	case !v.IsValid():
		b.Errorf("the DoFn is nil; give a pointer to a struct with a Process method")
	case v.Kind() == reflect.Pointer && v.IsNil():
		b.Errorf("the DoFn is a nil %T; give a pointer to a value, &%v{…}", fn, v.Type().Elem())
	default:
		return true
	}
	return false
}

// checkMethods reports methods that have the name of a lifecycle method and not
// its type: they would never be called.
func checkMethods[Out any](b *pcoll.Builder, fn any) {
	for _, m := range []struct {
		name string
		want reflect.Type
	}{
		{"Setup", reflect.TypeFor[Setupper]()}, {"StartBundle", reflect.TypeFor[BundleStarter]()},
		{"FinishBundle", reflect.TypeFor[BundleFinisher[Out]]()}, {"Teardown", reflect.TypeFor[Teardowner]()},
	} {
		checkMethod(b, fn, m.name, m.want)
	}
}

// checkMethod reports a method of that name that is not the one of the interface want.
func checkMethod(b *pcoll.Builder, fn any, name string, want reflect.Type) {
	t := reflect.TypeOf(fn)
	if got, ok := t.MethodByName(name); ok && !t.Implements(want) {
		b.Errorf("%T.%s is a %v, which is not called; want %s%s", fn, name, reflect.ValueOf(fn).Method(got.Index).Type(),
			name, want.Method(0).Type.String()[len("func"):])
	}
}

// parDoOp runs a DoFn.
type parDoOp[In, Out any] struct {
	fn     DoFn[In, Out]
	skew   int64
	fields boundFields
	sides  *sideInputs // nil without
}

func (o *parDoOp[In, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	d, worker := newDoing(env, o.fn, o.skew, outs[0])
	bindOutputs(worker, o.fields, env, outs, 1)
	d.process = d.kernel()
	inst := exec.Instance{In: []any{d.process}, Close: d.close}
	if d.start != nil || d.end != nil {
		inst.In[0], inst.Turn = exec.Input[In](d.inBundle), d.turn
	}
	if o.sides != nil {
		cfg := sideinput.Config[In]{Next: d.process}
		if inst.Turn != nil {
			cfg.Begin = d.begin
		}
		gate := gateOf(env, o.sides, cfg)
		bindSides(gate, fieldsAt[side.Bindable](o.fields, sideFields, worker)...)
		inst = behind(gate, inst)
	}
	if err := d.setup(env); err != nil {
		return exec.Instance{}, err
	}
	return inst, nil
}

// newDoing makes a worker's copy of fn. The struct that it is, if it is one by
// pointer, is returned for its fields to be bound.
func newDoing[In, Out any](env exec.Env, fn DoFn[In, Out], skew int64, out any) (d *doing[In, Out], worker reflect.Value) {
	d = &doing[In, Out]{fn: fn, op: env.Op(), n: env.Counter(exec.Elements), pc: pcoll.NewContext(env, skew),
		emit: pcoll.EmitTo(out.(exec.Input[Out]), env.Counter(exec.Emitted(0)))}
	if v := reflect.ValueOf(fn); v.Kind() == reflect.Pointer {
		copied := reflect.New(v.Type().Elem())
		worker = copied.Elem()
		worker.Set(v.Elem())
		d.fn = copied.Interface().(DoFn[In, Out])
	}
	d.start, _ = d.fn.(BundleStarter)
	d.end, _ = d.fn.(BundleFinisher[Out])
	return d, worker
}

// doing is a DoFn on one worker.
type doing[In, Out any] struct {
	fn    DoFn[In, Out]
	start BundleStarter
	end   BundleFinisher[Out]
	open  bool // a bundle has begun
	op    int32
	n     *exec.Counter
	pc    *pcoll.Context
	emit  pcoll.Emit[Out]

	process exec.Input[In]
}

// kernel returns the input that calls Process and nothing else. Who sends may
// not look whether the run has failed between two elements: a function that
// failed, or never began its bundle, is called no more.
func (d *doing[In, Out]) kernel() exec.Input[In] {
	fn, pc, emit, op, n := d.fn, d.pc, d.emit, d.op, d.n
	return func(c *exec.Ctx, e In) {
		if c.Err != nil {
			return
		}
		n.N++
		c.Op = op
		if err := fn.Process(pc.Bind(c), e, emit); err != nil {
			c.Fail(err)
		}
	}
}

func (d *doing[In, Out]) setup(env exec.Env) (err error) {
	s, ok := d.fn.(Setupper)
	if !ok {
		return nil
	}
	done := false
	defer func() {
		if !done || err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	x := exec.NewCtx(env.Context())
	x.Op = d.op
	err = s.Setup(d.pc.BindFree(x))
	done = true
	if err != nil {
		return fmt.Errorf("calling Setup: %w", err)
	}
	return x.Err // of emitting to an Output, which has no element yet
}

func (d *doing[In, Out]) close() error {
	t, ok := d.fn.(Teardowner)
	if !ok {
		return nil
	}
	if err := t.Teardown(); err != nil {
		return fmt.Errorf("calling Teardown: %w", err)
	}
	return nil
}

// inBundle is process for a DoFn that is told of bundles.
func (d *doing[In, Out]) inBundle(c *exec.Ctx, e In) {
	if d.begin(c) {
		d.process(c, e)
	}
}

// begin begins a bundle unless one has begun, and reports whether that went well.
func (d *doing[In, Out]) begin(c *exec.Ctx) bool {
	if d.open || c.Err != nil {
		return c.Err == nil
	}
	d.open = true
	if d.start == nil {
		return true
	}
	c.Op = d.op
	if err := d.start.StartBundle(d.pc.BindFree(c)); err != nil {
		c.Fail(fmt.Errorf("StartBundle: %w", err))
		return false
	}
	return true
}

func (d *doing[In, Out]) turn(c *exec.Ctx) {
	if !d.open || c.Err != nil {
		return
	}
	d.open = false
	if d.end == nil {
		return
	}
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	c.Time, c.Window, c.Pane, c.Kind, c.Op = exec.MinTime, exec.Global, exec.NoFiring, exec.Insert, d.op
	if err := d.end.FinishBundle(d.pc.BindFree(c), d.emit); err != nil {
		c.Fail(fmt.Errorf("FinishBundle: %w", err))
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
}
