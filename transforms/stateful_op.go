package transforms

import (
	"fmt"
	"reflect"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/sideinput"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/internal/table"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
)

// statefulOp runs a function with state and timers.
type statefulOp[K comparable, V, Out any] struct {
	fn       StatefulFn[K, V, Out]
	skew     int64
	fields   boundFields
	sides    *sideInputs // nil without
	states   []string    // names of the state fields, in their order
	timers   []timerField
	strategy *strategy.Strategy
	key      *coders.Key[K]
	val      coders.Coder[V]
	sorted   bool
	late     bool // the second output takes what is dropped
}

// New makes the operator's instance: a worker's copy of the function with its state.
func (o *statefulOp[K, V, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	d, worker := newDoing(env, DoFn[pcoll.KV[K, V], Out](o.fn), o.skew, outs[0])
	s := &keeping[K, V, Out]{doing: d, spec: o, env: env, dropped: env.Counter(exec.DroppedLate),
		marks: marks{exec.MinTime, exec.MinTime}, told: exec.MinTime,
		index: table.NewWindows[K, int32](o.key, nil), scope: state.Scope{Slot: -1, Now: env.Now}}
	s.onTimer, _ = d.fn.(TimerFn[K, Out])
	s.onExpiry, _ = d.fn.(ExpirationFn[K, Out])
	first := 1
	if o.late {
		first = 2
		s.late, s.lateN = outs[1].(exec.Input[pcoll.KV[K, V]]), env.Counter(exec.Emitted(1))
	}
	bindOutputs(worker, o.fields, env, outs, first)
	s.bind(worker)
	s.keep()
	if err := d.setup(env); err != nil {
		return exec.Instance{}, err
	}
	inst := exec.Instance{In: []any{exec.Input[pcoll.KV[K, V]](s.element)}, Advance: s.advance, Restored: s.restored, Close: d.close}
	if d.start != nil || d.end != nil {
		inst.Turn = d.turn
	}
	if o.sides != nil {
		inst = s.besides(worker, inst)
	}
	return inst, nil
}

// keeping is a function with state on one worker.
type keeping[K comparable, V, Out any] struct {
	*doing[pcoll.KV[K, V], Out]
	spec     *statefulOp[K, V, Out]
	env      exec.Env
	onTimer  TimerFn[K, Out]      // nil without timers
	onExpiry ExpirationFn[K, Out] // nil if the function need not be told
	views    viewer               // nil without side inputs
	late     exec.Input[pcoll.KV[K, V]]
	lateN    *exec.Counter
	dropped  *exec.Counter

	marks   marks
	told    exec.Time // derived: the input watermark that the last output watermark was made of
	scope   state.Scope
	columns []state.Column // what state fields hold, in their order
	mortal  []int          // columns with a time to live
	index   *table.Windows[K, int32]
	opened  exec.Window // window of table; a run of equal windows finds it once
	table   *table.Table[K, int32]
	cells   cells[K, V]
	at      current
	loops   loops

	events agenda // of event time
	clocks agenda // of processing time
	holds  agenda // of output times
}

// marks are how far the operator has come in event time.
type marks struct {
	in   exec.Time // input watermark
	past exec.Time // all that is due before that has been done
}

// current is what is being processed.
type current struct {
	window   exec.Window
	time     exec.Time // output times must not lie before it
	noTime   bool      // a timer without an output time fires
	expiring bool      // the window is about to go
	firing   exec.Time // time of the event-time timer that fires, or exec.Idle
	held     exec.Time // the least hold of what was there until now, or exec.Idle
}

// bind ties the fields of the worker's copy.
func (s *keeping[K, V, Out]) bind(worker reflect.Value) {
	if len(s.spec.states) > 0 {
		for i, f := range fieldsAt[state.Field](s.spec.fields, stateFields, worker) {
			s.columns = append(s.columns, state.Bind(f, &s.scope))
			if ms, _ := s.columns[i].TTL(); ms > 0 {
				s.mortal = append(s.mortal, i)
			}
		}
	}
	if len(s.spec.timers) > 0 {
		for i, f := range fieldsAt[timers.Field](s.spec.fields, timerFields, worker) {
			timers.Bind(f, s, i)
		}
	}
}

// besides gives the function its side inputs: pairs wait for them, and what
// happens later to their key and window sees them too.
func (s *keeping[K, V, Out]) besides(worker reflect.Value, inst exec.Instance) exec.Instance {
	hash := s.spec.key.Hash
	gate := gateOf(s.env, s.spec.sides, sideinput.Config[pcoll.KV[K, V]]{Opens: true, Next: s.element, Refuse: s.refuse,
		Route: func(e pcoll.KV[K, V]) uint64 { return hash(e.Key) }})
	bindSides(gate, fieldsAt[side.Bindable](s.spec.fields, sideFields, worker)...)
	s.views = gate
	return behind(gate, inst)
}

// element takes a pair from the input.
func (s *keeping[K, V, Out]) element(c *exec.Ctx, e pcoll.KV[K, V]) {
	if s.refuse(c, e, s.marks.in) {
		return
	}
	s.n.N++
	c.Op = s.op
	slot := s.slotOf(e.Key, c.Window)
	if s.spec.sorted {
		s.wait(c, slot, e.Value)
		return
	}
	s.call(c, slot, e, exec.Idle)
}

// refuse drops a pair that comes too late at watermark wm, and reports whether it does.
func (s *keeping[K, V, Out]) refuse(c *exec.Ctx, e pcoll.KV[K, V], wm exec.Time) bool {
	if s.spec.strategy.Expiry(c.Window) >= wm && !(s.spec.sorted && s.release(c.Window, c.Time) < wm) {
		return false
	}
	s.n.N++
	c.Op = s.op
	s.drop(c, e)
	return true
}

// call calls Process; held is where the pair held the output watermark until now, or exec.Idle.
func (s *keeping[K, V, Out]) call(c *exec.Ctx, slot int32, e pcoll.KV[K, V], held exec.Time) {
	if c.Err != nil || !s.begin(c) {
		return
	}
	s.enter(c, slot, current{window: c.Window, time: c.Time, firing: exec.Idle, held: held}, c.Time)
	c.Op = s.op
	if err := s.fn.Process(s.pc.Bind(c), e, s.emit); err != nil {
		c.Fail(fmt.Errorf("key %+v: %w", e.Key, err))
	}
	s.leave(slot)
}

// drop counts what comes too late, and sends it to the late output.
func (s *keeping[K, V, Out]) drop(c *exec.Ctx, e pcoll.KV[K, V]) {
	s.dropped.N++
	if s.late == nil {
		return
	}
	// In the window that has expired the next grouping would drop it again.
	w, p := c.Window, c.Pane
	c.Window, c.Pane = exec.Global, exec.NoFiring
	s.lateN.N++
	s.late(c, e)
	c.Window, c.Pane = w, p
}

// enter makes state, timers and side inputs those of a slot; t is the time of what is being processed.
func (s *keeping[K, V, Out]) enter(c *exec.Ctx, slot int32, at current, t exec.Time) {
	if s.views != nil {
		s.views.Open(c, at.window)
	}
	s.at = at
	s.scope.Slot, s.scope.Event = slot, max(t, s.marks.past.Add(-s.lag()))
	s.scope.Call++
}

// lag is how far elements are behind the order of events.
func (s *keeping[K, V, Out]) lag() int64 {
	if s.spec.sorted {
		return s.spec.strategy.Lateness
	}
	return 0
}

// leave ends what enter began. A slot in which nothing is left is given up.
func (s *keeping[K, V, Out]) leave(slot int32) {
	s.exit()
	if s.onExpiry == nil && s.empty(slot) {
		s.remove(slot)
		return
	}
	s.plan(slot)
}

// exit ends the access that enter gave.
func (s *keeping[K, V, Out]) exit() {
	s.scope.Slot = -1
	if s.views != nil {
		s.views.Close()
	}
}

// empty reports whether nothing is kept in a slot.
func (s *keeping[K, V, Out]) empty(slot int32) bool {
	x := s.cells.at(slot)
	if len(x.event) > 0 || len(x.clock) > 0 || len(x.waiting) > 0 {
		return false
	}
	for _, col := range s.columns {
		if col.Has(slot) {
			return false
		}
	}
	return true
}

// slotOf returns the slot of a key and window, a new one if there was none.
func (s *keeping[K, V, Out]) slotOf(k K, w exec.Window) int32 {
	if s.spec.key.Normalize != nil {
		k = s.spec.key.Normalize(k)
	}
	hash := s.spec.key.Hash(k)
	if s.table == nil || s.opened != w {
		s.opened, s.table = w, s.index.Open(w)
	}
	p, fresh := s.table.At(hash, k)
	if fresh {
		*p = s.cells.take(k, hash, w)
	}
	return *p
}

// remove gives up a slot. The window's table stays until the window expires.
func (s *keeping[K, V, Out]) remove(slot int32) {
	x := s.cells.at(slot)
	s.index.Open(x.window).Delete(x.hash, x.key)
	s.free(slot)
}

// free empties a slot that is in no table any more.
func (s *keeping[K, V, Out]) free(slot int32) {
	for _, col := range s.columns {
		col.Drop(slot)
	}
	s.cells.put(slot)
}
