package transforms

import (
	"reflect"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/timers"
)

// A StatefulFn is a [DoFn] of pairs that runs in [StatefulParDo]. Its exported,
// tagged fields of package state and package timers belong to the key and window of the
// pair being processed:
//
//	type velocity struct {
//		Limit  int64                          // configuration
//		Recent state.Bag[Txn]   `state:"recent"`
//		Expire timers.EventTime `timer:"expire"`
//		Limits side.Map[string, int64]        // side.AsMap(limits)
//		Odd    transforms.Output[Txn]
//	}
//
//	var (
//		_ transforms.StatefulFn[string, Txn, Alert] = (*velocity)(nil)
//		_ transforms.TimerFn[string, Alert]         = (*velocity)(nil)
//	)
//
// The tag names state and timers in what is stored, so that fields can be
// renamed. A function with timers must be a [TimerFn]; it may be an
// [ExpirationFn]. Copies and lifecycle are those of a DoFn; what fires between
// two bundles of elements is a bundle of its own.
type StatefulFn[K comparable, V, Out any] interface {
	// Process handles one pair. Pairs of the same key and window come one after
	// the other, in any order of time unless the transform is [TimeSorted].
	Process(c *pcoll.Context, e pcoll.KV[K, V], emit pcoll.Emit[Out]) error
}

// A TimerFn is a [StatefulFn] with timers.
type TimerFn[K comparable, Out any] interface {
	// OnTimer handles a timer that fires. c describes the key's window and, as the
	// element's time, the output time of the timer: emit gives it to results.
	OnTimer(c *pcoll.Context, key K, t timers.Firing, emit pcoll.Emit[Out]) error
}

// An ExpirationFn is a [StatefulFn] that is told before state goes away.
type ExpirationFn[K comparable, Out any] interface {
	// OnWindowExpiration is called once for each key and window that had an
	// element, when the watermark has passed the window's end and allowed lateness, after
	// the last timer. State can still be read; timers cannot be set. The
	// element's time is the end of the window. The watermark downstream is held
	// at the time of the expiry until then: with allowed lateness results
	// may be late there, but not too late.
	OnWindowExpiration(c *pcoll.Context, key K, emit pcoll.Emit[Out]) error
}

// StatefulParDo applies fn to each pair, once for each of its windows, with state
// and timers that belong to the pair's key and window, and returns what it
// emits. See packages state and timers for what they do. fn is a pointer to a struct.
// Options are pcoll.Named, [AllowedSkew] and [TimeSorted].
//
// A pair for a window that has expired, since the watermark has passed its end and
// allowed lateness, is dropped and counted; [StatefulParDoWithLate] returns it. Windows
// must not merge. Keys are equal when their encodings are; K must have a
// canonical one (see coders.ForKey), and V any encoding.
func StatefulParDo[K comparable, V, Out any](in pcoll.PCollection[pcoll.KV[K, V]], fn StatefulFn[K, V, Out],
	opts ...pcoll.Option) pcoll.PCollection[Out] {
	out, _ := statefulParDo(in, fn, false, opts)
	return out
}

// StatefulParDoWithLate is [StatefulParDo] that also returns what it drops: a pair
// for each window that had expired when it came, or, if [TimeSorted], when its
// turn had passed. They keep their time and are in the global window.
func StatefulParDoWithLate[K comparable, V, Out any](in pcoll.PCollection[pcoll.KV[K, V]], fn StatefulFn[K, V, Out],
	opts ...pcoll.Option) (out pcoll.PCollection[Out], late pcoll.PCollection[pcoll.KV[K, V]]) {
	return statefulParDo(in, fn, true, opts)
}

// TimeSorted makes a [StatefulParDo] process the pairs of each key and window in
// the order of their event times, those of the same time in the order in which
// they came. A pair waits until the watermark has passed its time and the
// allowed lateness, and holds the watermark downstream at its time meanwhile; a pair that comes
// after that is dropped as late. Timers of event
// time and pairs come in one order of time, pairs first, so that timers too wait for the allowed lateness.
func TimeSorted() pcoll.Option { return pcoll.Extra("TimeSorted", timeSorted{}) }

type timeSorted struct{}

func statefulParDo[K comparable, V, Out any](in pcoll.PCollection[pcoll.KV[K, V]], fn StatefulFn[K, V, Out], late bool, opts []pcoll.Option) (
	pcoll.PCollection[Out], pcoll.PCollection[pcoll.KV[K, V]]) {
	b := pcoll.NewBuilder(in.Pipeline(), "StatefulParDo", opts...)
	op := &statefulOp[K, V, Out]{fn: fn, late: late, skew: takeSkew(b), sorted: len(pcoll.Taken[timeSorted](b)) > 0}
	like := pcoll.FromWindowed(b, in)
	op.strategy = like.Strategy
	if checkDoFn(b, fn) {
		b.Claim(fn)
		op.declare(b)
	}
	checkStateful[K, V](b, op, like)
	op.sides = declareSides(b, like, sidesOf(b, fn, op.fields)...)

	out := pcoll.To[Out](b, like)
	var dropped pcoll.PCollection[pcoll.KV[K, V]]
	if late {
		dropped = pcoll.To[pcoll.KV[K, V]](b, pcoll.Unwindowed(like.Bounded))
	}
	declareOutputs(b, fn, op.fields, like)
	if b.Bad() {
		return out, dropped
	}
	n, hash := b.Node(), op.key.Hash
	n.Structure, n.Strategy, n.KeyCoder = graph.StatefulParDo, like.Strategy, op.key
	n.Inputs[0].Exchange = graph.Keyed
	n.Inputs[0].Route = func(e pcoll.KV[K, V]) uint64 { return hash(e.Key) }
	b.Add(op)
	return out, dropped
}

// checkStateful finds the coders of key and value and reports input that state
// cannot be kept for.
func checkStateful[K comparable, V, Out any](b *pcoll.Builder, op *statefulOp[K, V, Out], like *graph.Collection) {
	var err error
	if op.key, err = coders.ForKey[K](); err != nil {
		b.Errorf("%w", err)
	}
	if op.val, err = coders.For[V](); err != nil { // values travel to the worker that owns the key
		b.Errorf("%w", err)
	}
	if like.Strategy.Merging() {
		b.Errorf("state belongs to a window, and windows of %v may merge; "+
			"use windows that do not, such as windowing.Fixed, or group by key first", like.Strategy.Fn)
	}
	if like.Retracts {
		b.Errorf("the input may hold withdrawals, which a function with state does not undo; " +
			"let the grouping before discard or accumulate (windowing.Discarding, windowing.Accumulating)")
	}
}

// declare finds the fields of the function, and reports methods that would never be called.
func (o *statefulOp[K, V, Out]) declare(b *pcoll.Builder) {
	checkMethods[Out](b, o.fn)
	checkMethod(b, o.fn, "OnTimer", reflect.TypeFor[TimerFn[K, Out]]())
	checkMethod(b, o.fn, "OnWindowExpiration", reflect.TypeFor[ExpirationFn[K, Out]]())
	o.fields = findFields(b, o.fn, outputFields, sideFields, stateFields, timerFields)
	checkTags(b, o.fn, o.fields)
	o.states, o.timers = declareState(b, o.fn, o.fields), declareTimers(b, o.fn, o.fields)
	_, handles := o.fn.(TimerFn[K, Out])
	_, wrong := reflect.TypeOf(o.fn).MethodByName("OnTimer")
	switch {
	case len(o.timers) > 0 && !handles && !wrong:
		b.Errorf("%T has timers and no OnTimer to fire them; give it the method OnTimer%s", o.fn,
			reflect.TypeFor[TimerFn[K, Out]]().Method(0).Type.String()[len("func"):])
	case len(o.timers) == 0 && handles:
		b.Errorf("%T.OnTimer is never called: no field is a timer; give it one, such as Expire timers.EventTime `timer:\"expire\"`", o.fn)
	}
}
