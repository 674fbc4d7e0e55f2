package transforms

import (
	"slices"
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/internal/table"
	"github.com/penstock-dev/penstock/pcoll"
)

// Deduplicate lets an element pass at once, and drops those that follow with the
// same key, in the same window, within a time: for sources that deliver more
// than once.
//
// Times are event times: an element is a duplicate if its time is less than
// within away, before or after, from that of one that passed. So a replay of
// the same elements in the same order gives the same result, however fast it
// is. With [ByProcessingTime] it is a duplicate if it comes at most within after
// one that passed, by the clock.
//
// What was seen is forgotten when no element can be a duplicate of it any more:
// when the watermark has passed its time by within and the allowed lateness.
// An element that is even later, in a window that has not expired, passes again.
// Elements of windows that have expired are dropped as late and counted. The
// windows must not merge.
func Deduplicate[K comparable, T any](in pcoll.PCollection[T], key func(T) K, within time.Duration, opts ...pcoll.Option) pcoll.PCollection[T] {
	out, _ := deduplicate(pcoll.NewBuilder(in.Pipeline(), "Deduplicate", opts...), in, key, within, false)
	return out
}

// DeduplicateWithLate is [Deduplicate] that also returns what it drops because
// its window had expired. Such elements keep their time and are in the global window.
func DeduplicateWithLate[K comparable, T any](in pcoll.PCollection[T], key func(T) K, within time.Duration, opts ...pcoll.Option) (
	first, late pcoll.PCollection[T]) {
	return deduplicate(pcoll.NewBuilder(in.Pipeline(), "Deduplicate", opts...), in, key, within, true)
}

func deduplicate[K comparable, T any](b *pcoll.Builder, in pcoll.PCollection[T], key func(T) K, within time.Duration, late bool) (
	out, dropped pcoll.PCollection[T]) {
	byClock := len(pcoll.Taken[byProcessingTime](b)) > 0
	if within < time.Millisecond || within%time.Millisecond != 0 {
		b.Errorf("elements cannot be compared within %v; give whole milliseconds, at least one", within)
	}
	keyed := applyTo[T, pcoll.KV[K, T]](b.Part("KeyBy"), in, key == nil, keyByOp[K, T]{key})
	like, k := byKeyAndWindow(b, keyed)
	out = pcoll.To[T](b, like)
	if late {
		dropped = pcoll.To[T](b, pcoll.Unwindowed(like.Bounded))
	}
	seen, err := coders.For[seenTimes]()
	if err != nil {
		b.Errorf("%w", err)
	}
	b.Add(&dedupOp[K, T]{strategy: like.Strategy, key: k, seen: seen, within: within.Milliseconds(), byClock: byClock, late: late})
	return out, dropped
}

// ByProcessingTime makes [Deduplicate] compare the times at which elements come,
// by the clock, and not their event times.
func ByProcessingTime() pcoll.Option { return pcoll.Extra("ByProcessingTime", byProcessingTime{}) }

type byProcessingTime struct{}

// seenTimes are the times, ascending, of the elements of a key and window that
// passed and are remembered: one, unless elements came far out of order.
type seenTimes []exec.Time

type dedupOp[K comparable, T any] struct {
	strategy *strategy.Strategy
	key      *coders.Key[K]
	seen     coders.Coder[seenTimes]
	within   int64
	byClock  bool
	late     bool // the second output takes what is dropped
}

func (o *dedupOp[K, T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	d := &dedup[K, T]{dedupOp: o, env: env, op: env.Op(), down: outs[0].(exec.Input[T]), elements: env.Counter(exec.Elements),
		emitted: env.Counter(exec.Emitted(0)), drop: dropper[T](env, outs, o.late), duplicates: env.Counter("duplicates"),
		wm: mark(exec.MinTime), keys: table.NewWindows(o.key, o.seen)}
	env.Keep("watermark", &d.wm)
	env.Keep("seen", d.keys)
	return exec.Instance{In: []any{exec.Input[pcoll.KV[K, T]](d.element)}, Advance: d.advance, Restored: d.restored}, nil
}

type dedup[K comparable, T any] struct {
	*dedupOp[K, T]
	env                           exec.Env
	op                            int32
	down, drop                    exec.Input[T]
	elements, emitted, duplicates *exec.Counter
	wm                            mark
	keys                          *table.Windows[K, seenTimes]

	forget alarms[K] // derived: when the oldest time of a key is to be forgotten
}

func (d *dedup[K, T]) element(c *exec.Ctx, e pcoll.KV[K, T]) {
	d.elements.N++
	c.Op = d.op
	if d.strategy.Expiry(c.Window) < exec.Time(d.wm) {
		d.drop(c, e.Value)
		return
	}
	if d.key.Normalize != nil {
		e.Key = d.key.Normalize(e.Key)
	}
	hash := d.key.Hash(e.Key)
	seen, fresh := d.keys.Open(c.Window).At(hash, e.Key)
	if !d.pass(c, seen) {
		d.duplicates.N++
		return
	}
	if fresh {
		d.forget.add(d.end((*seen)[0]), c.Window, hash, e.Key)
		if d.byClock {
			d.env.WakeAt(d.forget.next())
		}
	}
	d.emitted.N++
	d.down(c, e.Value)
}

// pass reports whether the element is not a duplicate, and remembers it then.
func (d *dedup[K, T]) pass(c *exec.Ctx, seen *seenTimes) bool {
	if d.byClock {
		now := d.env.Now()
		if len(*seen) > 0 && now <= d.end((*seen)[0]) {
			return false
		}
		if len(*seen) > 0 {
			(*seen)[0] = now
		} else {
			*seen = append(*seen, now)
		}
		return true
	}
	i, same := slices.BinarySearch(*seen, c.Time)
	if same || i > 0 && c.Time < (*seen)[i-1].Add(d.within) || i < len(*seen) && (*seen)[i] < c.Time.Add(d.within) {
		return false
	}
	*seen = slices.Insert(*seen, i, c.Time)
	return true
}

// end returns when a time is to be forgotten: once the clock, or the watermark, is past it.
func (d *dedup[K, T]) end(seen exec.Time) exec.Time {
	if d.byClock {
		return seen.Add(d.within)
	}
	return seen.Add(d.within).Add(d.strategy.Lateness)
}

func (d *dedup[K, T]) advance(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
	d.wm = mark(in[0])
	for d.keys.Len() > 0 && d.strategy.Expiry(d.keys.List()[0]) < in[0] {
		d.keys.Drop(d.keys.List()[0])
	}
	now := in[0]
	if d.byClock {
		now = d.env.Now()
	}
	for d.forget.next() < now {
		d.ring(d.forget.take(), now)
	}
	if next := d.forget.next(); d.byClock && next != exec.Idle {
		d.env.WakeAt(next)
	}
	return in[0], false
}

// ring forgets what is old of a key.
func (d *dedup[K, T]) ring(a alarm[K], now exec.Time) {
	tab := d.keys.Find(a.w)
	if tab == nil {
		return
	}
	seen := tab.Find(a.hash, a.key)
	if seen == nil {
		return
	}
	for len(*seen) > 0 && d.end((*seen)[0]) < now {
		*seen = slices.Delete(*seen, 0, 1)
	}
	if len(*seen) > 0 {
		d.forget.add(d.end((*seen)[0]), a.w, a.hash, a.key)
		return
	}
	tab.Delete(a.hash, a.key)
	if tab.Len() == 0 {
		d.keys.Drop(a.w)
	}
}

func (d *dedup[K, T]) restored(*exec.Ctx) {
	for _, w := range d.keys.List() {
		tab := d.keys.Find(w)
		for i := range tab.Chunks() {
			for _, e := range tab.Chunk(i) {
				if len(e.Value) > 0 {
					d.forget.add(d.end(e.Value[0]), w, d.key.Hash(e.Key), e.Key)
				}
			}
		}
	}
}
