package panes

import (
	"cmp"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// scratch is memory that General uses again and again.
type scratch struct {
	windows []exec.Window
	spans   []span
	groups  []exec.Window
	states  [][]int64
	own     []int64
	active  []int
	gone    []gone
	into    map[exec.Window]exec.Window // where merging is the user's: what each window merged into
}

// span is a window that takes part in a merge: open window at of the key, or a
// new one where at is -1.
type span struct {
	w  exec.Window
	at int
}

// wait chains an element to its key until the end of the turn.
func (g *General[K, V, Acc]) wait(ks *keyState[Acc], e waiting[V]) {
	g.bundle.waiting = append(g.bundle.waiting, e)
	n := int32(len(g.bundle.waiting))
	if ks.head == 0 {
		ks.head = n
	} else {
		g.bundle.waiting[ks.tail-1].next = n
	}
	ks.tail = n
}

// Turn ends a bundle: windows merge, then triggers are evaluated for the
// windows that got elements, then the output watermark of its keys moves.
func (g *General[K, V, Acc]) Turn(c *exec.Ctx) {
	for _, r := range g.bundle.keys {
		if c.Err != nil {
			break
		}
		ks := g.keys.Find(r.hash, r.key)
		if ks.head != 0 {
			if !g.mergeAll(c, ks) {
				break
			}
			g.enterAll(c, r.key, ks)
		}
		for i := range ks.wins {
			if x := &ks.wins[i]; x.flags&inBundle != 0 {
				x.flags &^= inBundle
				g.evaluate(c, r.key, ks, x, g.bundle.now)
			}
		}
		ks.out, ks.seen = max(ks.out, min(g.p.cur, g.leastHold(ks))), g.p.last
		ks.touched = false
		g.schedule(ks, r)
	}
	b := &g.bundle
	clear(b.keys)
	clear(b.waiting)
	clear(b.parts)
	*b = bundle[K, V, Acc]{keys: b.keys[:0], waiting: b.waiting[:0], parts: b.parts[:0]}
	g.wake()
}

// evaluate fires the trigger of x if it is ready and reports whether a pane was emitted.
func (g *General[K, V, Acc]) evaluate(c *exec.Ctx, key K, ks *keyState[Acc], x *win[Acc], now exec.Time) (emitted bool) {
	if x.flags&isOpen == 0 {
		return false
	}
	s := g.sight(x, now)
	if !g.m.ready(&s, 0) {
		return false
	}
	g.m.fire(&s, 0)
	finished := g.m.finished(x.trig, 0)
	emitted = g.emit(c, key, ks, x, finished)
	if finished {
		g.close(x)
	} else if g.s.Mode == strategy.Discarding {
		g.dropAcc(x)
	}
	return emitted
}

// emit builds the pane of x and emits it unless it is suppressed.
func (g *General[K, V, Acc]) emit(c *exec.Ctx, key K, ks *keyState[Acc], x *win[Acc], finished bool) bool {
	end := x.w.Max()
	at := end
	if x.flags&isHeld != 0 {
		at = min(at, x.hold)
	}
	x.flags &^= isHeld | isKept
	if !finished && g.s.ClosingAlways {
		g.keep(x) // for the last pane, which may be empty
	}
	pane, emit := nextPane(g.s, x.panes, x.late, g.p.cur > end, ks.out > end, finished, x.flags&isFilled == 0)
	x.flags &^= isFilled
	if x.ret != nil {
		return g.restate(c, key, x, at, pane, emit)
	}
	if !emit {
		return false
	}
	x.count(pane)
	acc := g.accOf(x)
	if g.cfg.Copy != nil && !finished && g.s.Mode == strategy.Accumulating {
		acc = g.cfg.Copy(acc)
	}
	output(c, at, x.w, pane, func() { g.cfg.Emit(c, key, acc) })
	return true
}

// close leaves of x the marker that its trigger has finished.
func (g *General[K, V, Acc]) close(x *win[Acc]) {
	x.flags &^= isHeld | isKept
	g.dropAcc(x)
	g.m.forget(x.trig)
	x.panes, x.late, x.flags, x.ret = 0, 0, 0, nil
}

func (g *General[K, V, Acc]) dropAcc(x *win[Acc]) {
	var none Acc
	x.acc = none
	x.flags &^= hasAcc
}

// enterAll adds the waiting elements of a key to what their windows merged into.
func (g *General[K, V, Acc]) enterAll(c *exec.Ctx, key K, ks *keyState[Acc]) {
	g.withdrawMerged(c, key)
	t := c.Time
	for n := ks.head; n != 0; {
		e := &g.bundle.waiting[n-1]
		n = e.next
		w := g.target(e.w)
		x := g.enter(ks, w)
		c.Time = e.time
		switch {
		case x == nil && e.part != 0:
			g.dropPartial(c, key, g.bundle.parts[e.part-1], w, true)
		case x == nil:
			g.drop(c, key, e.v, w, true)
		case e.part != 0:
			g.addPartial(ks, x, g.bundle.parts[e.part-1])
		default:
			x.acc = g.cfg.Fold.Add(g.accOf(x), e.v)
			g.added(ks, x, e.time, e.time, 1)
		}
	}
	c.Time = t
	ks.head, ks.tail = 0, 0
}

// target returns the window that w merged into: the one of g.scratch.groups that holds it.
func (g *General[K, V, Acc]) target(w exec.Window) exec.Window {
	if g.own != nil {
		return g.scratch.into[w]
	}
	i, ok := slices.BinarySearchFunc(g.scratch.groups, w, func(x, w exec.Window) int { return cmp.Compare(x.Start, w.Start) })
	if !ok {
		i--
	}
	return g.scratch.groups[i]
}

// merge makes one window of the key's open windows and those of its waiting
// elements wherever they overlap; windows that touch stay apart. It leaves the
// outcome in g.scratch.groups.
func (g *General[K, V, Acc]) merge(ks *keyState[Acc]) {
	if ks.head == ks.tail && g.mergeOne(ks, g.bundle.waiting[ks.head-1].w) {
		return
	}
	spans := g.scratch.spans[:0]
	for i := range ks.wins {
		if ks.wins[i].flags&isOpen != 0 {
			spans = append(spans, span{ks.wins[i].w, i})
		}
	}
	for n := ks.head; n != 0; n = g.bundle.waiting[n-1].next {
		spans = append(spans, span{g.bundle.waiting[n-1].w, -1})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.w.Start, b.w.Start), cmp.Compare(a.w.End, b.w.End), cmp.Compare(b.at, a.at))
	})
	groups := g.scratch.groups[:0]
	merged := false
	for i := 0; i < len(spans); {
		union, from, distinct := spans[i].w, i, 1
		for i++; i < len(spans) && (spans[i].w.Overlaps(union) || spans[i].w == union); i++ {
			if spans[i].w != spans[i-1].w {
				distinct++
			}
			union = union.Span(spans[i].w)
		}
		groups = append(groups, union)
		if distinct > 1 {
			g.mergeInto(ks, union, spans[from:i])
			merged = true
		}
	}
	g.scratch.spans, g.scratch.groups = spans, groups
	if merged {
		g.tidy(ks)
	}
}

// tidy removes windows that merged away and puts the others in order.
func (g *General[K, V, Acc]) tidy(ks *keyState[Acc]) {
	ks.wins = slices.DeleteFunc(ks.wins, func(x win[Acc]) bool { return x.flags&isGone != 0 })
	slices.SortFunc(ks.wins, func(a, b win[Acc]) int { return a.w.Compare(b.w) })
}

// mergeOne is merge where one element waits and at most one open window
// overlaps it, which is the usual case; it reports whether it was.
func (g *General[K, V, Acc]) mergeOne(ks *keyState[Acc], w exec.Window) bool {
	union, at := w, -1
	for i := range ks.wins {
		x := &ks.wins[i]
		if x.flags&isOpen == 0 || !x.w.Overlaps(w) && x.w != w {
			continue
		}
		if at >= 0 {
			return false
		}
		union, at = x.w.Span(w), i
	}
	g.scratch.groups = append(g.scratch.groups[:0], union)
	if at < 0 || ks.wins[at].w == w {
		return true
	}
	if ks.wins[at].w != union && slices.ContainsFunc(ks.wins, func(x win[Acc]) bool { return x.w == union }) {
		return false // the marker of a window that was closed before
	}
	g.widen(ks, at, union)
	return true
}

// widen makes union of open window number at, as mergeInto does.
func (g *General[K, V, Acc]) widen(ks *keyState[Acc], at int, union exec.Window) {
	x := &ks.wins[at]
	g.scratch.own = append(g.scratch.own[:0], x.trig...)
	was, moved := x.w, x.w != union
	if moved {
		x.w, x.panes, x.late = union, 0, 0
		x.flags &^= isTimed
		clear(x.trig)
	}
	if g.m.size > 0 {
		g.scratch.states = append(g.scratch.states[:0], g.scratch.own)
		s := g.sight(x, g.bundle.now)
		g.m.merge(&s, 0, g.scratch.states)
	}
	g.scratch.active = append(g.scratch.active[:0], at)
	g.mergeHolds(ks, x, g.scratch.active)
	if g.m.finished(x.trig, 0) {
		g.close(x)
	} else if moved {
		g.mergedAway(x, was)
	}
	for ; at+1 < len(ks.wins) && ks.wins[at].w.Compare(ks.wins[at+1].w) > 0; at++ {
		ks.wins[at], ks.wins[at+1] = ks.wins[at+1], ks.wins[at]
	}
	for ; at > 0 && ks.wins[at].w.Compare(ks.wins[at-1].w) < 0; at-- {
		ks.wins[at], ks.wins[at-1] = ks.wins[at-1], ks.wins[at]
	}
}

// mergeInto merges the open windows among spans into union. If it is open
// already it keeps its panes; otherwise it starts afresh. New windows have no
// state to merge.
func (g *General[K, V, Acc]) mergeInto(ks *keyState[Acc], union exec.Window, spans []span) {
	at := slices.IndexFunc(ks.wins, func(x win[Acc]) bool { return x.w == union && x.flags&isGone == 0 })
	if at < 0 {
		at = len(ks.wins)
		ks.wins = append(ks.wins, g.newWin(union))
	}
	active, states := g.scratch.active[:0], g.scratch.states[:0]
	for _, s := range spans {
		if s.at < 0 {
			continue
		}
		active = append(active, s.at)
		st := ks.wins[s.at].trig
		if s.at == at {
			g.scratch.own = append(g.scratch.own[:0], st...)
			st = g.scratch.own
		}
		states = append(states, st)
	}
	x := &ks.wins[at]
	x.flags |= isOpen
	if x.ret == nil && g.s.Mode == strategy.Retracting { // the marker of a window that was closed before
		x.ret = &stated{}
	}
	if g.m.size > 0 {
		s := g.sight(x, g.bundle.now)
		g.m.merge(&s, 0, states)
	}
	if len(active) > 0 {
		g.mergeHolds(ks, x, active)
		g.mergeAccs(ks, x, active)
	}
	closed := g.m.finished(x.trig, 0)
	for _, i := range active {
		if y := &ks.wins[i]; i != at {
			if y.ret != nil {
				x.ret.net += y.ret.net
			}
			if !closed { // else nothing takes the place of what y said
				g.mergedAway(y, y.w)
			}
			y.flags, y.ret = isGone, nil
		}
	}
	if closed { // the marker of a window that was closed before wins
		g.close(x)
	}
	clear(states)
	g.scratch.active, g.scratch.states = active[:0], states[:0]
}

func (g *General[K, V, Acc]) mergeHolds(ks *keyState[Acc], x *win[Acc], active []int) {
	at, held := exec.Time(0), false
	for _, i := range active {
		y := &ks.wins[i]
		if y.flags&isHeld != 0 {
			switch {
			case !held:
				at = y.hold
			case g.s.Combiner == strategy.Earliest:
				at = min(at, y.hold)
			default:
				at = max(at, y.hold)
			}
			held = true
		}
		y.flags &^= isHeld | isKept
	}
	if g.s.Combiner == strategy.EndOfWindow {
		at = x.w.Max()
		held = at >= ks.out && at >= g.p.cur
	}
	if held {
		g.hold(x, at)
	}
	g.keep(x)
}

func (g *General[K, V, Acc]) mergeAccs(ks *keyState[Acc], x *win[Acc], active []int) {
	var acc Acc
	var flags winFlags
	for _, i := range active {
		y := &ks.wins[i]
		if y.flags&hasAcc != 0 {
			if flags&hasAcc == 0 {
				acc = y.acc
			} else {
				acc = g.cfg.Fold.Merge(acc, y.acc)
			}
			g.dropAcc(y)
			flags |= hasAcc
		}
		flags |= y.flags & isFilled
	}
	x.acc = acc
	x.flags |= flags
}
