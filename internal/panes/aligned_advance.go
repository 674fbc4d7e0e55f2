package panes

import (
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/table"
)

// Turn ends a bundle: what it made ready fires.
func (a *Aligned[K, V, Acc]) Turn(c *exec.Ctx) {
	var tab *table.Table[K, entry[Acc]]
	var w exec.Window
	for _, r := range a.touched {
		if c.Err != nil {
			break
		}
		if tab == nil || r.w != w {
			w, tab = r.w, a.wins.Find(r.w)
		}
		e := tab.Find(r.hash, r.key)
		e.n &^= isTouched
		a.fire(c, w, r.hash, r.key, e, w.Max() < a.p.cur)
	}
	clear(a.touched)
	a.touched, a.timed = a.touched[:0], false
	a.setDirect()
	a.wake()
}

// fire emits a pane of e other than that which the end of its window brings.
func (a *Aligned[K, V, Acc]) fire(c *exec.Ctx, w exec.Window, hash uint64, key K, e *entry[Acc], ended bool) {
	total, late := e.panes, uint32(0)
	finished := false
	if ended {
		total, late = e.panes+a.earlyPanes(w, hash, key), e.panes
		finished = a.plan.finishes
		e.n |= isEnded
	}
	pane, emit := nextPane(a.s, total, late, ended, ended, finished, e.n&pending == 0)
	if emit {
		e.panes++
		acc := a.accOf(e, finished)
		output(c, w.Max(), w, pane, func() { a.cfg.Emit(c, key, acc) })
	}
	a.reset(e, finished)
}

// reset makes e ready for its next pane.
func (a *Aligned[K, V, Acc]) reset(e *entry[Acc], finished bool) {
	e.n &^= pending
	if finished {
		e.n |= isClosed
	}
	if finished || !a.keeps {
		var none Acc
		e.acc = none
	}
}

// accOf returns what a pane of e holds, for the callee to keep.
func (a *Aligned[K, V, Acc]) accOf(e *entry[Acc], finished bool) Acc {
	switch {
	case !a.keeps && e.n&pending == 0:
		return a.cfg.Fold.Create()
	case a.keeps && !finished && a.cfg.Copy != nil:
		return a.cfg.Copy(e.acc)
	}
	return e.acc
}

// earlyPanes returns how many early panes a key had in a window that has ended.
func (a *Aligned[K, V, Acc]) earlyPanes(w exec.Window, hash uint64, key K) uint32 {
	if a.before.Len() == 0 {
		return 0
	}
	if t := a.before.Find(w); t != nil {
		if n := t.Find(hash, key); n != nil {
			return uint32(*n)
		}
	}
	return 0
}

// position is how far Advance has come before it was asked to stop.
type position struct {
	ends          bool // win is set: expired windows are done
	win           int
	chunk, number int
}

// Advance fires what is due at watermark wm and at the processing time of the
// Env, and returns the output watermark. When c.Full is set it stops after a
// firing and returns more, together with the output watermark that holds until
// it is called again; each call fires at least once or comes to the end. A wm
// of exec.Idle leaves the input watermark as it was; out is then Idle too if
// there is no window.
func (a *Aligned[K, V, Acc]) Advance(c *exec.Ctx, wm exec.Time) (out exec.Time, more bool) {
	idle := wm == exec.Idle
	if !idle && wm > a.p.cur {
		a.p.cur = wm
		a.forget()
	}
	now := a.clock()
	if !a.passWindows(c) || !a.passQueue(c, &a.early, now, false) || !a.passQueue(c, &a.lates, now, true) {
		return a.p.out, c.Err == nil
	}
	a.sweeping = position{}
	a.p.last, a.p.now, a.p.out = a.p.cur, now, max(a.p.out, a.p.cur)
	a.wake()
	if idle && a.wins.Len() == 0 {
		return exec.Idle, false
	}
	return a.p.out, false
}

// passWindows sweeps the windows that expired or ended; false means that it stopped on the way.
func (a *Aligned[K, V, Acc]) passWindows(c *exec.Ctx) bool {
	pos := &a.sweeping
	for a.wins.Len() > 0 && a.s.Expiry(a.wins.List()[0]) < a.p.cur {
		w := a.wins.List()[0]
		if !a.sweep(c, w, true) {
			return false
		}
		a.wins.Drop(w)
		a.before.Drop(w)
		a.forget()
		pos.chunk, pos.number = 0, 0
	}
	if !pos.ends {
		// The end of windows before last was acted upon.
		pos.ends = true
		pos.win, _ = slices.BinarySearchFunc(a.wins.List(), a.p.last, func(w exec.Window, t exec.Time) int {
			if w.Max() < t {
				return -1
			}
			return 1
		})
	}
	for ; pos.win < a.wins.Len() && a.wins.List()[pos.win].Max() < a.p.cur; pos.win++ {
		if !a.sweep(c, a.wins.List()[pos.win], false) {
			return false
		}
		pos.chunk, pos.number = 0, 0
	}
	return true
}

// sweep emits the pane that the end of w brings, or its last one if it has
// expired, for each of its keys; false means that it stopped on the way.
func (a *Aligned[K, V, Acc]) sweep(c *exec.Ctx, w exec.Window, expired bool) bool {
	t, win, pane, kind := c.Time, c.Window, c.Pane, c.Kind
	c.Kind = exec.Insert
	done := a.sweepEntries(c, w, expired)
	// Not deferred: after a panic the context has to say where it was.
	c.Time, c.Window, c.Pane, c.Kind = t, win, pane, kind
	return done
}

// sweepEntries is sweep without restoring the context.
func (a *Aligned[K, V, Acc]) sweepEntries(c *exec.Ctx, w exec.Window, expired bool) bool {
	tab := a.wins.Find(w)
	finished := expired || a.plan.finishes
	pos := &a.sweeping
	for ; pos.chunk < tab.Chunks(); pos.chunk++ {
		chunk := tab.Chunk(pos.chunk)
		for pos.number < len(chunk) {
			x := &chunk[pos.number]
			pos.number++
			e := &x.Value
			if e.n&isClosed != 0 || !expired && e.n&isEnded != 0 {
				continue
			}
			emitted := a.end(c, w, x, expired, finished)
			if c.Err != nil || emitted && c.Full {
				return false
			}
		}
		pos.number = 0
	}
	return true
}

// end is the sweep of one entry. It leaves the context's fields changed.
func (a *Aligned[K, V, Acc]) end(c *exec.Ctx, w exec.Window, x *table.Entry[K, entry[Acc]], expired, finished bool) (emit bool) {
	e := &x.Value
	total, late := e.panes, uint32(0)
	again := e.n&isEnded != 0
	if again {
		total, late = e.panes+a.earlyPanes(w, a.cfg.Key.Hash(x.Key), x.Key), e.panes
	}
	c.Pane, emit = nextPane(a.s, total, late, true, again, finished, e.n&pending == 0)
	if emit {
		c.Time, c.Window = w.Max(), w
		a.cfg.Emit(c, x.Key, a.accOf(e, finished))
	}
	if !again && !finished {
		if e.panes > 0 {
			n, _ := a.before.Open(w).At(a.cfg.Key.Hash(x.Key), x.Key)
			*n = int64(e.panes)
		}
		e.panes = 0
		if emit {
			e.panes = 1
		}
	}
	e.n |= isEnded
	a.reset(e, finished)
	return emit
}

// passQueue fires the panes of a queue whose target is before now; false means
// that it stopped on the way.
func (a *Aligned[K, V, Acc]) passQueue(c *exec.Ctx, q *queue[K], now exec.Time, ended bool) bool {
	for q.due(now) {
		x, id := q.pop()
		tab := a.wins.Find(x.w)
		if tab == nil {
			continue
		}
		e := tab.Find(x.hash, x.key)
		if e == nil || e.n&pending != id || e.n&isClosed != 0 || (e.n&isEnded != 0) != ended {
			continue
		}
		a.fire(c, x.w, x.hash, x.key, e, ended)
		if c.Err != nil || c.Full {
			return false
		}
	}
	return true
}

// wake asks for an Advance after the next processing-time target.
func (a *Aligned[K, V, Acc]) wake() {
	if t := min(a.early.next(), a.lates.next()); t != exec.Idle {
		a.env.WakeAt(t)
	}
}

// Restored rebuilds the queues over restored stores.
func (a *Aligned[K, V, Acc]) Restored(c *exec.Ctx) {
	a.p.read = false
	a.forget()
	a.early, a.lates = queue[K]{}, queue[K]{}
	if len(a.restored) > 0 {
		a.eachWaiting(func(w exec.Window, x *table.Entry[K, entry[Acc]], q *queue[K]) {
			at := a.restored[x.Value.n&pending-1]
			q.items = append(q.items, wait[K]{at, w, a.cfg.Key.Hash(x.Key), x.Key})
		})
		a.restored = nil
	}
	for _, q := range []*queue[K]{&a.early, &a.lates} {
		q.sort()
		for i, x := range q.items {
			e := a.wins.Find(x.w).Find(x.hash, x.key)
			e.n = e.n&^pending | q.id(i)
		}
	}
	a.wake()
}

// eachWaiting calls f for each entry that waits for processing time.
func (a *Aligned[K, V, Acc]) eachWaiting(f func(exec.Window, *table.Entry[K, entry[Acc]], *queue[K])) {
	for _, w := range a.wins.List() {
		tab := a.wins.Find(w)
		for i := range tab.Chunks() {
			chunk := tab.Chunk(i)
			for j := range chunk {
				x := &chunk[j]
				if x.Value.n&pending == 0 {
					continue
				}
				if q := a.queueOf(x.Value.n); q != nil {
					f(w, x, q)
				}
			}
		}
	}
}

// queueOf returns the queue that the pending bits of an entry are an id in, or nil.
func (a *Aligned[K, V, Acc]) queueOf(n uint32) *queue[K] {
	switch {
	case n&isEnded == 0 && a.plan.early.kind == subTime:
		return &a.early
	case n&isEnded != 0 && a.plan.late.kind == subTime:
		return &a.lates
	}
	return nil
}
