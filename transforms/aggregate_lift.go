package transforms

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/internal/table"
	"github.com/penstock-dev/penstock/pcoll"
)

// partial is what one worker combined of a key and window before the exchange.
type partial[K comparable, Acc any] struct {
	Key K
	Acc Acc
	N   int64 // elements
}

// partialCoder encodes partials with the accumulator coder of the combiner.
type partialCoder[K comparable, Acc any] struct {
	key coders.Coder[K]
	acc coders.Coder[Acc]
}

// Append appends the number of elements, key and accumulator.
func (p partialCoder[K, Acc]) Append(dst []byte, v partial[K, Acc]) ([]byte, error) {
	out, err := p.key.Append(binary.AppendVarint(dst, v.N), v.Key)
	if err != nil {
		return dst, err
	}
	if out, err = p.acc.Append(out, v.Acc); err != nil {
		return dst, err
	}
	return out, nil
}

// Decode reads what Append wrote.
func (p partialCoder[K, Acc]) Decode(src []byte) (v partial[K, Acc], rest []byte, err error) {
	n, k := binary.Varint(src)
	if k <= 0 {
		return v, nil, errors.New("transforms: a partial result is cut off in its header")
	}
	v.N = n
	if v.Key, src, err = p.key.Decode(src[k:]); err != nil {
		return v, nil, err
	}
	v.Acc, rest, err = p.acc.Decode(src)
	return v, rest, err
}

// Lift splits the aggregation into a half that combines on the sender and one
// that merges on the owner of the key. It is off where panes could tell the
// difference: for merging windows, triggers that may finish and so drop single
// elements, and timestamp combiners that look at single elements.
func (a *aggregate[K, V, Acc, Out]) Lift() (pre exec.Op, mid []exec.Lifted, post exec.Op, ok bool) {
	s := a.strategy
	if !a.lift || s.Merging() || s.Unsafe() || s.Combiner != strategy.EndOfWindow {
		return nil, nil, nil, false
	}
	hash := a.key.Hash
	mid = []exec.Lifted{
		{Edge: exec.NewEdgeOf(partialCoder[K, Acc]{a.key.Coder, a.acc}), Route: func(p partial[K, Acc]) uint64 { return hash(p.Key) }},
		{Edge: exec.NewEdge[pcoll.KV[K, V]](), Route: func(e pcoll.KV[K, V]) uint64 { return hash(e.Key) }},
	}
	return &combineHalf[K, V, Acc, Out]{a}, mid, &mergeHalf[K, V, Acc, Out]{a}, true
}

// mergeHalf is the owner's half: partials come in through input 0, single
// elements through input 1, both with their windows assigned.
type mergeHalf[K comparable, V, Acc, Out any] struct {
	*aggregate[K, V, Acc, Out]
}

// New makes the instance of the owner's half.
func (m *mergeHalf[K, V, Acc, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	whole := *m.aggregate
	whole.assign = false
	inst, in := whole.instance(env, outs, new(exec.Counter)) // the sender has counted
	inst.In = []any{in, inst.In[0]}
	return inst, nil
}

// combineHalf is the sender's half.
type combineHalf[K comparable, V, Acc, Out any] struct {
	*aggregate[K, V, Acc, Out]
}

// Limits of the sender's half.
const (
	// maxHeld is how many keys and windows are held back at most.
	maxHeld = 1 << 16
	// Keys that do not repeat gain nothing from being held: where fewer than
	// four elements in three are combined away, single elements are sent on for a
	// while, and then it is tried again.
	minJudged = 1 << 12
	restAfter = 1 << 18
)

// New makes the instance of the sender's half.
func (h *combineHalf[K, V, Acc, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	x := &combining[K, V, Acc, Out]{aggregate: h.aggregate, op: env.Op(), n: env.Counter(exec.Elements), none: env.Counter(exec.NoWindow),
		down: outs[0].(exec.Input[partial[K, Acc]]), raw: outs[1].(exec.Input[pcoll.KV[K, V]]),
		fn: strategy.ForWorker(h.strategy.Fn), wm: exec.MinTime, held: table.NewWindows[K, held[Acc]](h.key, nil)}
	env.Keep("watermark", (*mark)(&x.wm))
	x.fixed, _ = h.strategy.Fn.(strategy.FixedWindows)
	x.one = h.assign && x.fixed.Size > 0
	return exec.Instance{In: []any{exec.Input[pcoll.KV[K, V]](x.element)}, Advance: x.advance, Flush: x.flush}, nil
}

// mark is a store of a watermark, which belongs to no key. A half that started
// again at the beginning of time would combine elements that have expired, and
// they could not be told apart any more.
type mark exec.Time

// Snapshot writes the mark with every group: whoever owns one needs it.
func (m *mark) Snapshot(dst []byte, _ int) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(*m)), nil
}

// Restore takes over the greatest: what more than one sender calls expired is
// sent on alone, and the owner of the key decides.
func (m *mark) Restore(src []byte) error {
	for ; len(src) >= 8; src = src[8:] {
		*m = max(*m, mark(binary.BigEndian.Uint64(src)))
	}
	if len(src) > 0 {
		return fmt.Errorf("transforms: stored watermark has %d bytes too many", len(src))
	}
	return nil
}

// held is what is held back of a key and window.
type held[Acc any] struct {
	acc Acc
	n   int64
}

type combining[K comparable, V, Acc, Out any] struct {
	*aggregate[K, V, Acc, Out]
	op    int32
	n     *exec.Counter
	none  *exec.Counter // elements in no window
	down  exec.Input[partial[K, Acc]]
	raw   exec.Input[pcoll.KV[K, V]]
	fn    strategy.WindowFn // of this worker
	fixed strategy.FixedWindows
	one   bool // windows are fixed and still to be assigned
	buf   []exec.Window

	wm    exec.Time
	held  *table.Windows[K, held[Acc]]
	count int // entries of held
	taken int // elements in them
	rest  int // single elements still to be sent on before combining is tried again

	window exec.Window // last window, with its table: nil if the window is expired
	table  *table.Table[K, held[Acc]]
}

func (x *combining[K, V, Acc, Out]) element(c *exec.Ctx, e pcoll.KV[K, V]) {
	x.n.N++
	c.Op = x.op
	if x.key.Normalize != nil {
		e.Key = x.key.Normalize(e.Key)
	}
	switch {
	case x.one:
		if x.table == nil || !x.window.Contains(c.Time) {
			x.open(x.fixed.Window(c.Time))
		}
		x.add(c, e)
	case !x.assign:
		if x.table == nil || x.window != c.Window {
			x.open(c.Window)
		}
		x.add(c, e)
	default:
		x.buf = x.fn.Assign(x.buf[:0], c.Time)
		if len(x.buf) == 0 {
			x.none.N++
		}
		for _, w := range x.buf {
			if x.table == nil || x.window != w {
				x.open(w)
			}
			x.add(c, e)
		}
	}
}

// open makes w the current window. An expired one has no table: the owner of
// the key has to decide about its elements one by one.
func (x *combining[K, V, Acc, Out]) open(w exec.Window) {
	x.window, x.table = w, nil
	if x.rest == 0 && x.strategy.Expiry(w) >= x.wm {
		x.table = x.held.Open(w)
	}
}

func (x *combining[K, V, Acc, Out]) add(c *exec.Ctx, e pcoll.KV[K, V]) {
	if x.table == nil {
		w := c.Window
		c.Window = x.window
		x.raw(c, e)
		c.Window = w
		x.rest = max(0, x.rest-1)
		return
	}
	h, fresh := x.table.At(x.key.Hash(e.Key), e.Key)
	if fresh {
		h.acc = x.comb.Create()
		x.count++
	}
	h.acc = x.comb.Add(h.acc, e.Value)
	h.n++
	x.taken++
	if x.count >= maxHeld {
		x.flush(c)
	}
}

func (x *combining[K, V, Acc, Out]) advance(_ *exec.Ctx, in []exec.Time) (exec.Time, bool) {
	if in[0] != x.wm {
		x.wm, x.table = in[0], nil
	}
	return x.wm, false
}

// flush sends everything held back.
func (x *combining[K, V, Acc, Out]) flush(c *exec.Ctx) {
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	c.Pane, c.Kind = exec.NoFiring, exec.Insert
	for x.held.Len() > 0 {
		w := x.held.List()[0]
		tab := x.held.Find(w)
		c.Time, c.Window = w.Max(), w
		for i := range tab.Chunks() {
			chunk := tab.Chunk(i)
			for j := range chunk {
				h := &chunk[j].Value
				x.down(c, partial[K, Acc]{chunk[j].Key, h.acc, h.n})
			}
		}
		x.held.Drop(w)
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
	if x.taken >= minJudged && 4*x.count > 3*x.taken {
		x.rest = restAfter
	}
	x.count, x.taken, x.table = 0, 0, nil
}
