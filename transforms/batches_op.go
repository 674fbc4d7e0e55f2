package transforms

import (
	"fmt"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/internal/table"
	"github.com/penstock-dev/penstock/pcoll"
)

// batch is what is gathered of a key and window.
type batch[V any] struct {
	Vals []V
	Size int64     // by batchOp.sizeOf, if there is a limit
	Time exec.Time // least event time
	Hold exec.Time // where it holds the watermark
	Due  exec.Time // processing time after which it is not to wait; exec.Idle if it may
}

// batchOp is the operator of GroupIntoBatches.
type batchOp[K comparable, V any] struct {
	strategy *strategy.Strategy
	key      *coders.Key[K]
	state    coders.Coder[batch[V]]
	count    int   // 0: no limit
	bytes    int64 // 0: no limit
	sizeOf   func(V) int64
	wait     int64 // ms; -1: as long as the window
	late     bool  // the second output takes what is dropped
}

func (o *batchOp[K, V]) New(env exec.Env, outs []any) (exec.Instance, error) {
	x := &batching[K, V]{batchOp: o, env: env, op: env.Op(), down: outs[0].(exec.Input[pcoll.KV[K, pcoll.Group[V]]]),
		drop: dropper[pcoll.KV[K, V]](env, outs, o.late), elements: env.Counter(exec.Elements), emitted: env.Counter(exec.Emitted(0)),
		wm: mark(exec.MinTime), out: exec.MinTime, open: table.NewWindows(o.key, o.state), size: o.sizeOf}
	if o.bytes > 0 && o.sizeOf == nil {
		if err := x.measure(); err != nil {
			return exec.Instance{}, err
		}
	}
	env.Keep("watermark", &x.wm)
	env.Keep("batches", x.open)
	return exec.Instance{In: []any{exec.Input[pcoll.KV[K, V]](x.element)}, Advance: x.advance, Restored: x.restored,
		Holds: func() bool { return x.waits.next() != exec.Idle }}, nil
}

// batching is the operator on one worker.
type batching[K comparable, V any] struct {
	*batchOp[K, V]
	env      exec.Env
	op       int32
	down     exec.Input[pcoll.KV[K, pcoll.Group[V]]]
	drop     exec.Input[pcoll.KV[K, V]]
	elements *exec.Counter
	emitted  *exec.Counter
	size     func(V) int64
	failed   error // of measuring

	wm   mark
	open *table.Windows[K, batch[V]]

	out          exec.Time // output watermark, as it was said last
	holds, waits alarms[K] // derived
}

// measure makes size that of the encoding.
func (x *batching[K, V]) measure() error {
	coder, err := coders.For[V]()
	if err != nil {
		return err
	}
	var buf []byte
	x.size = func(v V) int64 {
		b, err := coder.Append(buf[:0], v)
		if err != nil {
			x.failed = fmt.Errorf("value %+v cannot be encoded: %w", v, err)
			return 0
		}
		buf = b
		return int64(len(b))
	}
	return nil
}

func (x *batching[K, V]) element(c *exec.Ctx, e pcoll.KV[K, V]) {
	x.elements.N++
	c.Op = x.op
	expiry := x.strategy.Expiry(c.Window)
	if expiry < exec.Time(x.wm) {
		x.drop(c, e)
		return
	}
	if x.key.Normalize != nil {
		e.Key = x.key.Normalize(e.Key)
	}
	hash := x.key.Hash(e.Key)
	tab := x.open.Open(c.Window)
	b, fresh := tab.At(hash, e.Key)
	size := int64(0)
	if x.bytes > 0 {
		if size = x.size(e.Value); x.failed != nil {
			c.Fail(x.failed)
			return
		}
		if !fresh && b.Size+size > x.bytes {
			x.emit(c, c.Window, e.Key, *b)
			*b, fresh = batch[V]{}, true
		}
	}
	x.add(c, b, fresh, hash, e, size, expiry)
	if x.count > 0 && len(b.Vals) >= x.count || x.bytes > 0 && b.Size >= x.bytes {
		full := *b
		tab.Delete(hash, e.Key)
		x.emit(c, c.Window, e.Key, full)
	}
}

// add puts the value into its batch. One that is late holds the watermark only
// so far back that the batch is not late beyond the lateness that is allowed.
func (x *batching[K, V]) add(c *exec.Ctx, b *batch[V], fresh bool, hash uint64, e pcoll.KV[K, V], size int64, expiry exec.Time) {
	hold := c.Time
	if hold < exec.Time(x.wm) {
		hold = expiry
	}
	if fresh {
		*b = batch[V]{Time: c.Time, Hold: exec.Idle, Due: exec.Idle}
		if x.wait >= 0 {
			b.Due = x.env.Now().Add(x.wait)
			x.waits.add(b.Due, c.Window, hash, e.Key)
			x.env.WakeAt(b.Due)
		}
	}
	b.Vals = append(b.Vals, e.Value)
	b.Size += size
	b.Time = min(b.Time, c.Time)
	if hold < b.Hold {
		b.Hold = hold
		x.holds.add(hold, c.Window, hash, e.Key)
	}
}

func (x *batching[K, V]) emit(c *exec.Ctx, w exec.Window, key K, b batch[V]) {
	t, was, p, k := c.Time, c.Window, c.Pane, c.Kind
	c.Time, c.Window, c.Pane, c.Kind, c.Op = b.Time, w, exec.NoFiring, exec.Insert, x.op
	x.emitted.N++
	x.down(c, pcoll.KV[K, pcoll.Group[V]]{Key: key, Value: pcoll.GroupOf(b.Vals...)})
	c.Time, c.Window, c.Pane, c.Kind = t, was, p, k
}

func (x *batching[K, V]) advance(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
	x.wm = mark(in[0])
	if x.ring(c) || x.expire(c) {
		return x.out, true
	}
	x.out = max(x.out, min(in[0], x.held()))
	if next := x.waits.next(); next != exec.Idle {
		x.env.WakeAt(next)
	}
	return x.out, false
}

// ring emits the batches that have waited long enough, and reports whether it had to stop.
func (x *batching[K, V]) ring(c *exec.Ctx) (more bool) {
	now := x.env.Now()
	for x.waits.next() < now {
		if c.Full || c.Err != nil {
			return c.Err == nil
		}
		a := x.waits.take()
		tab := x.open.Find(a.w)
		if tab == nil {
			continue
		}
		if b := tab.Find(a.hash, a.key); b != nil && b.Due == a.at {
			due := *b
			tab.Delete(a.hash, a.key)
			x.emit(c, a.w, a.key, due)
		}
	}
	return false
}

// expire emits what windows hold that end, and reports whether it had to stop.
func (x *batching[K, V]) expire(c *exec.Ctx) (more bool) {
	for x.open.Len() > 0 && x.strategy.Expiry(x.open.List()[0]) < exec.Time(x.wm) {
		w := x.open.List()[0]
		tab := x.open.Find(w)
		for i := range tab.Chunks() {
			for chunk := tab.Chunk(i); len(chunk) > 0; chunk = tab.Chunk(i) {
				if c.Full || c.Err != nil {
					return c.Err == nil
				}
				last := chunk[len(chunk)-1]
				tab.Delete(x.key.Hash(last.Key), last.Key)
				x.emit(c, w, last.Key, last.Value)
			}
		}
		x.open.Drop(w)
	}
	return false
}

// held returns the least hold of a batch, or exec.Idle.
func (x *batching[K, V]) held() exec.Time {
	for len(x.holds.heap) > 0 {
		a := x.holds.heap[0]
		if tab := x.open.Find(a.w); tab != nil {
			if b := tab.Find(a.hash, a.key); b != nil && b.Hold == a.at {
				return a.at
			}
		}
		x.holds.take()
	}
	return exec.Idle
}

// restored rebuilds the alarms.
func (x *batching[K, V]) restored(*exec.Ctx) {
	for _, w := range x.open.List() {
		tab := x.open.Find(w)
		for i := range tab.Chunks() {
			for _, e := range tab.Chunk(i) {
				hash := x.key.Hash(e.Key)
				x.holds.add(e.Value.Hold, w, hash, e.Key)
				if e.Value.Due != exec.Idle {
					x.waits.add(e.Value.Due, w, hash, e.Key)
					x.env.WakeAt(e.Value.Due)
				}
			}
		}
	}
}
