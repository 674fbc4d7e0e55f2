package transforms

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/table"
	"github.com/penstock-dev/penstock/pcoll"
)

// intervalOp is the operator of interval joins. Let W be the least of its input
// watermarks. An element is too late when its time plus the lateness is before
// W. Every other one meets all it can match, because what it matches is kept as
// long: a left element until W is past its time plus upper plus the lateness, a
// right one until W is past its time less lower plus the lateness.
//
// A withdrawal has the time of its element. So it is too late if a second such
// element would be, and if it is not then all that its element matched is still
// kept: it takes these rows back. A row of an element that has matched nothing is not said before
// nothing can come that matches it, so only the element's own withdrawal takes that back.
type intervalOp[K comparable, L, R, Row any] struct {
	lower, upper, lateness int64 // ms
	key                    *coders.Key[K]
	sides                  coders.Coder[twoSides[L, R]]
	rows                   rowsOf[L, R, Row]
	late                   bool // the second and third output take what is dropped
	retracts               bool // elements may be withdrawals
	left                   coders.Coder[L]
	right                  coders.Coder[R]
}

// twoSides are the elements kept of a key, each side in the order of time.
type twoSides[L, R any] struct {
	Left  []kept[L]
	Right []kept[R]
}

// kept is an element that may still match.
type kept[T any] struct {
	Time    int64
	Late    bool // it was behind the watermark, within the lateness
	Matches int32
	Value   T
}

// New makes the operator's instance: rows and what is dropped of either side, of inputs left and right.
func (o *intervalOp[K, L, R, Row]) New(env exec.Env, outs []any) (exec.Instance, error) {
	x := &intervals[K, L, R, Row]{intervalOp: o, op: env.Op(), n: env.Counter(exec.Elements), dropped: env.Counter(exec.DroppedLate),
		emitted: env.Counter(exec.Emitted(0)), buffered: env.Distribution("bufferedRows"), down: outs[0].(exec.Input[pcoll.KV[K, Row]]),
		wm: exec.MinTime}
	x.keys = table.New(o.key, coders.Coder[pending[L, R]](pendingCoder[L, R]{o.sides}))
	x.left = half[K, L, R, Row, L]{lower: o.lower, upper: o.upper, alone: o.rows.left, value: o.left,
		column: func(c *pending[L, R]) *column[L] { return &c.left }}
	x.right = half[K, L, R, Row, R]{lower: -o.upper, upper: -o.lower, alone: o.rows.right, value: o.right,
		column: func(c *pending[L, R]) *column[R] { return &c.right }}
	env.Keep("watermark", (*mark)(&x.wm))
	env.Keep("rows", x.keys)
	lateLeft, lateRight := func(*exec.Ctx, pcoll.KV[K, L]) {}, func(*exec.Ctx, pcoll.KV[K, R]) {}
	if o.late {
		lateLeft, lateRight = lateTo[pcoll.KV[K, L]](env, outs, 1), lateTo[pcoll.KV[K, R]](env, outs, 2)
	}
	left := exec.Input[pcoll.KV[K, L]](func(c *exec.Ctx, e pcoll.KV[K, L]) {
		if x.enter(c) {
			arrive(x, c, &x.left, &x.right, e, o.rows.both)
		} else {
			lateLeft(c, e)
		}
	})
	flipped := func(r R, l L) Row { return o.rows.both(l, r) }
	right := exec.Input[pcoll.KV[K, R]](func(c *exec.Ctx, e pcoll.KV[K, R]) {
		if x.enter(c) {
			arrive(x, c, &x.right, &x.left, e, flipped)
		} else {
			lateRight(c, e)
		}
	})
	return exec.Instance{In: []any{left, right}, Advance: x.advance, Restored: x.restored}, nil
}

// lateTo returns what sends dropped elements to an output. They are in the
// global window already, and are not of a pane any more.
func lateTo[T any](env exec.Env, outs []any, i int) func(*exec.Ctx, T) {
	down, n := outs[i].(exec.Input[T]), env.Counter(exec.Emitted(i))
	return func(c *exec.Ctx, v T) {
		p := c.Pane
		c.Pane = exec.NoFiring
		n.N++
		down(c, v)
		c.Pane = p
	}
}

// intervals is the operator on one worker.
type intervals[K comparable, L, R, Row any] struct {
	*intervalOp[K, L, R, Row]
	op                  int32
	n, dropped, emitted *exec.Counter
	buffered            *exec.Distribution
	down                exec.Input[pcoll.KV[K, Row]]

	// Kept.
	wm   exec.Time // W, which never goes back
	keys *table.Table[K, pending[L, R]]

	// Derived.
	left        half[K, L, R, Row, L]
	right       half[K, L, R, Row, R]
	count, told int64 // elements kept: now, and when last reported
}

// half is what the operator knows of one side, whose elements are of type T. One
// stamped t matches those of the other side from t+lower to t+upper.
type half[K comparable, L, R, Row, T any] struct {
	lower, upper int64
	alone        func(T) Row // nil where an element that matched nothing has no row
	value        coders.Coder[T]
	column       func(*pending[L, R]) *column[T]
	ends         heap[keyDue[K]] // when the first element of a key has to go
	holds        heap[keyDue[K]] // elements that hold the output watermark: all that may be a row alone, and some that cannot any more
}

// pending is what is kept of a key.
type pending[L, R any] struct {
	left  column[L]
	right column[R]
}

// column is one side of a cell, in the order of time.
type column[T any] struct {
	rows  []kept[T]
	armed exec.Time // derived: the entry of ends that counts, where there are rows
}

// arrive lets an element meet what the other side has, and keeps it while it can
// match more. A withdrawal meets the same, and its element is kept no longer.
func arrive[K comparable, L, R, Row, T, O any](x *intervals[K, L, R, Row], c *exec.Ctx, own *half[K, L, R, Row, T], other *half[K, L, R, Row, O],
	e pcoll.KV[K, T], both func(T, O) Row) {
	if x.key.Normalize != nil {
		e.Key = x.key.Normalize(e.Key)
	}
	hash, t := x.key.Hash(e.Key), c.Time
	cell, matches, by := x.keys.Find(hash, e.Key), int32(0), int32(1)
	if c.Kind.Withdrawal() {
		by = -1
	}
	if cell != nil {
		rows := other.column(cell).rows
		// Plain arithmetic: times and bounds are far from the ends of int64.
		for i := search(rows, int64(t)+own.lower); i < len(rows) && rows[i].Time <= int64(t)+own.upper; i++ {
			rows[i].Matches += by
			matches++
			x.emit(c, max(t, exec.Time(rows[i].Time)), e.Key, both(e.Value, rows[i].Value))
		}
	}
	end := x.end(t, own.upper)
	if end < x.wm { // nothing that it could match can come any more
		if matches == 0 && own.alone != nil {
			x.emit(c, t, e.Key, own.alone(e.Value))
		}
		return
	}
	if by < 0 {
		x.took(c, cell, hash, e.Key, own.take(c, cell, e.Value))
		return
	}
	if cell == nil {
		cell, _ = x.keys.At(hash, e.Key)
	}
	col := own.column(cell)
	r := kept[T]{Time: int64(t), Late: t < x.wm, Matches: matches, Value: e.Value}
	col.put(r)
	x.count++
	if len(col.rows) == 1 || end < col.armed {
		col.armed = end
		own.ends.push(keyDue[K]{at: end, hash: hash, key: e.Key})
	}
	if own.alone != nil && (matches == 0 || x.retracts) {
		own.holds.push(keyDue[K]{x.hold(t, r.Late), t, r.Late, hash, e.Key})
	}
}

// take takes an element with c's time out of a cell and reports whether there was one.
func (h *half[K, L, R, Row, T]) take(c *exec.Ctx, cell *pending[L, R], v T) bool {
	if cell == nil {
		return false
	}
	col := h.column(cell)
	var enc, other []byte
	enc, err := h.value.Append(nil, v)
	for i := search(col.rows, int64(c.Time)); err == nil && i < len(col.rows) && col.rows[i].Time == int64(c.Time); i++ {
		if other, err = h.value.Append(other[:0], col.rows[i].Value); err == nil && bytes.Equal(enc, other) {
			col.rows = slices.Delete(col.rows, i, i+1)
			return true
		}
	}
	c.Fail(err)
	return false
}

// took follows up on a withdrawal, of which there has to be an element.
func (x *intervals[K, L, R, Row]) took(c *exec.Ctx, cell *pending[L, R], hash uint64, k K, ok bool) {
	if !ok {
		c.Fail(fmt.Errorf("a withdrawal finds no such element of key %v: a function between this join and the grouping before gave "+
			"it another result than its element; functions have to be deterministic where elements may be withdrawn", k))
		return
	}
	x.count--
	if len(cell.left.rows)+len(cell.right.rows) == 0 {
		x.keys.Delete(hash, k)
	}
}

// enter counts an element, and reports whether it is in time.
func (x *intervals[K, L, R, Row]) enter(c *exec.Ctx) bool {
	x.n.N++
	c.Op = x.op
	if x.end(c.Time, 0) < x.wm {
		x.dropped.N++
		return false
	}
	return true
}

// end returns the last watermark at which an element stamped t is kept that
// matches others up to reach ms after it. It is before the end of time, which ends everything.
func (x *intervals[K, L, R, Row]) end(t exec.Time, reach int64) exec.Time {
	return min(t.Add(reach+x.lateness), exec.EndOfGlobal)
}

// hold returns where an element that matched nothing holds the watermark, so
// that its row, which has its time, is not late. If it was late itself, the row only has to be
// no later than the lateness.
func (x *intervals[K, L, R, Row]) hold(t exec.Time, late bool) exec.Time {
	if late {
		return x.end(t, 0)
	}
	return t
}

// emit emits a row.
func (x *intervals[K, L, R, Row]) emit(c *exec.Ctx, at exec.Time, k K, row Row) {
	t, w, p, kind := c.Time, c.Window, c.Pane, c.Kind
	c.Time, c.Window, c.Pane, c.Kind = at, exec.Global, exec.NoFiring, exec.Insert
	if kind.Withdrawal() {
		c.Kind = exec.Delete // what comes in its place need not be a row
	}
	x.emitted.N++
	x.down(c, pcoll.KV[K, Row]{Key: k, Value: row})
	c.Time, c.Window, c.Pane, c.Kind, c.Op = t, w, p, kind, x.op
}

// advance lets go of elements that can match no more, and moves the output
// watermark up to the first that may still be a row alone.
func (x *intervals[K, L, R, Row]) advance(c *exec.Ctx, in []exec.Time) (out exec.Time, more bool) {
	c.Kind = exec.Insert
	x.wm = max(x.wm, min(in[0], in[1]))
	for len(x.left.ends) > 0 && x.left.ends[0].at < x.wm && c.Err == nil && !more {
		more = expire(x, c, &x.left) && c.Full
	}
	for len(x.right.ends) > 0 && x.right.ends[0].at < x.wm && c.Err == nil && !more {
		more = expire(x, c, &x.right) && c.Full
	}
	if x.count != x.told {
		x.buffered.Update(x.count)
		x.told = x.count
	}
	out = leastHold(x, &x.right, leastHold(x, &x.left, x.wm))
	return out, more
}

// expire lets go of what has to go first: elements of one key up to the first
// that is emitted. It reports whether one was.
func expire[K comparable, L, R, Row, T any](x *intervals[K, L, R, Row], c *exec.Ctx, h *half[K, L, R, Row, T]) (emitted bool) {
	d := h.ends.pop()
	cell := x.keys.Find(d.hash, d.key)
	if cell == nil {
		return false
	}
	col := h.column(cell)
	if len(col.rows) == 0 || col.armed != d.at {
		return false
	}
	for len(col.rows) > 0 && !emitted {
		r := col.rows[0]
		if x.end(exec.Time(r.Time), h.upper) >= x.wm {
			break
		}
		col.rows[0] = kept[T]{}
		col.rows = col.rows[1:]
		x.count--
		if r.Matches == 0 && h.alone != nil {
			x.emit(c, exec.Time(r.Time), d.key, h.alone(r.Value))
			emitted = true
		}
	}
	if len(col.rows) > 0 {
		col.armed = x.end(exec.Time(col.rows[0].Time), h.upper)
		h.ends.push(keyDue[K]{at: col.armed, hash: d.hash, key: d.key})
		return emitted
	}
	col.rows = nil // and the memory before it
	if len(cell.left.rows)+len(cell.right.rows) == 0 {
		x.keys.Delete(d.hash, d.key)
	}
	return emitted
}

// leastHold returns the least of low and where elements hold the output watermark.
func leastHold[K comparable, L, R, Row, T any](x *intervals[K, L, R, Row], h *half[K, L, R, Row, T], low exec.Time) exec.Time {
	for len(h.holds) > 0 && h.holds[0].at < low {
		d := &h.holds[0]
		if cell := x.keys.Find(d.hash, d.key); cell != nil && h.column(cell).waits(d.time, d.late, x.retracts) {
			return d.at
		}
		h.holds.pop()
	}
	return low
}

// waits reports whether an element of that time has matched nothing, or can come
// to that because what it matched may be taken back.
func (col *column[T]) waits(t exec.Time, late, retracts bool) bool {
	for i := search(col.rows, int64(t)); i < len(col.rows) && col.rows[i].Time == int64(t); i++ {
		if (col.rows[i].Matches == 0 || retracts) && col.rows[i].Late == late {
			return true
		}
	}
	return false
}

// put inserts an element behind those of its time.
func (col *column[T]) put(r kept[T]) {
	if n := len(col.rows); n == 0 || col.rows[n-1].Time <= r.Time { // the usual case
		col.rows = append(col.rows, r)
		return
	}
	col.rows = slices.Insert(col.rows, search(col.rows, r.Time+1), r)
}

// search returns the number of elements before t.
func search[T any](rows []kept[T], t int64) int {
	i, _ := slices.BinarySearchFunc(rows, t, func(r kept[T], t int64) int { return cmp.Compare(r.Time, t) })
	return i
}

// restored rebuilds what is derived.
func (x *intervals[K, L, R, Row]) restored(*exec.Ctx) {
	x.left.ends, x.left.holds, x.right.ends, x.right.holds, x.count = nil, nil, nil, nil, 0
	for i := range x.keys.Chunks() {
		chunk := x.keys.Chunk(i)
		for j := range chunk {
			arm(x, &x.left, chunk[j].Key, &chunk[j].Value)
			arm(x, &x.right, chunk[j].Key, &chunk[j].Value)
		}
	}
}

func arm[K comparable, L, R, Row, T any](x *intervals[K, L, R, Row], h *half[K, L, R, Row, T], k K, cell *pending[L, R]) {
	col, hash := h.column(cell), x.key.Hash(k)
	if len(col.rows) == 0 {
		return
	}
	x.count += int64(len(col.rows))
	col.armed = x.end(exec.Time(col.rows[0].Time), h.upper)
	h.ends.push(keyDue[K]{at: col.armed, hash: hash, key: k})
	for i := range col.rows {
		if r := &col.rows[i]; h.alone != nil && (r.Matches == 0 || x.retracts) {
			t := exec.Time(r.Time)
			h.holds.push(keyDue[K]{x.hold(t, r.Late), t, r.Late, hash, k})
		}
	}
}

// pendingCoder encodes what is kept of a key.
type pendingCoder[L, R any] struct{ sides coders.Coder[twoSides[L, R]] }

// Append appends both sides.
func (k pendingCoder[L, R]) Append(dst []byte, c pending[L, R]) ([]byte, error) {
	return k.sides.Append(dst, twoSides[L, R]{c.left.rows, c.right.rows})
}

// Decode reads both sides.
func (k pendingCoder[L, R]) Decode(src []byte) (c pending[L, R], rest []byte, err error) {
	s, rest, err := k.sides.Decode(src)
	c.left.rows, c.right.rows = s.Left, s.Right
	return c, rest, err
}

// keyDue is when to look at a key.
type keyDue[K comparable] struct {
	at   exec.Time
	time exec.Time // of a hold: the element's, and whether it was late
	late bool
	hash uint64
	key  K
}

// Before orders by time, and then in a way that does not depend on when they came.
func (d keyDue[K]) Before(e keyDue[K]) bool {
	return d.at < e.at || d.at == e.at && d.hash < e.hash
}
