package transforms

import (
	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// This file holds what operators have in common that keep state by key and window.

// byKeyAndWindow makes in the keyed input of the transform, with its windows
// assigned, and returns what the operator needs of the key. Windows that still
// merge are refused: state would have to merge with them.
func byKeyAndWindow[K comparable, V any](b *pcoll.Builder, in pcoll.PCollection[pcoll.KV[K, V]]) (*graph.Collection, *coders.Key[K]) {
	like := pcoll.FromWindowed(b, in)
	if b.Bad() {
		return like, nil
	}
	pcoll.RefuseWithdrawals(b, like)
	if like.Strategy.Merging() {
		b.Errorf("%s keeps state by window, and %v may still merge; group by key first, or apply windowing.Into with windows that do not merge",
			b.Node().Kind, like.Strategy.Fn)
	}
	key, err := coders.ForKey[K]()
	if err == nil { // values travel to the worker that owns the key
		_, err = coders.For[V]()
	}
	if err != nil {
		b.Errorf("%w", err)
		return like, nil
	}
	n := b.Node()
	n.Structure, n.Strategy, n.KeyCoder = graph.StatefulParDo, like.Strategy, key
	n.Inputs[0].Exchange = graph.Keyed
	n.Inputs[0].Route = func(e pcoll.KV[K, V]) uint64 { return key.Hash(e.Key) }
	return like, key
}

// dropper counts an element whose window has expired, and gives it to the late output if there is one.
func dropper[T any](env exec.Env, outs []any, late bool) exec.Input[T] {
	dropped := env.Counter(exec.DroppedLate)
	if !late {
		return func(*exec.Ctx, T) { dropped.N++ }
	}
	down, n := outs[1].(exec.Input[T]), env.Counter(exec.Emitted(1))
	return func(c *exec.Ctx, v T) {
		dropped.N++
		n.N++
		// In its own window the next transform would drop it again.
		w, p := c.Window, c.Pane
		c.Window, c.Pane = exec.Global, exec.NoFiring
		down(c, v)
		c.Window, c.Pane = w, p
	}
}

// An alarm is a time at which the state of a key and window may have to be
// looked at. State that has moved on has another alarm; the old one is ignored.
type alarm[K comparable] struct {
	at   exec.Time
	w    exec.Window
	hash uint64
	key  K
}

// Before orders alarms; those of one time ring in an order that does not depend
// on when they were set.
func (x alarm[K]) Before(y alarm[K]) bool {
	switch {
	case x.at != y.at:
		return x.at < y.at
	case x.w != y.w:
		return x.w.Compare(y.w) < 0
	}
	return x.hash < y.hash
}

// alarms are the alarms that were set, the first one first. They are derived from the state.
type alarms[K comparable] struct{ heap heap[alarm[K]] }

func (a *alarms[K]) add(at exec.Time, w exec.Window, hash uint64, key K) {
	a.heap.push(alarm[K]{at, w, hash, key})
}

// next returns the time of the first alarm, or exec.Idle.
func (a *alarms[K]) next() exec.Time {
	if len(a.heap) == 0 {
		return exec.Idle
	}
	return a.heap[0].at
}

// take removes the first alarm.
func (a *alarms[K]) take() alarm[K] { return a.heap.pop() }
