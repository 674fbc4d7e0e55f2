package panes

import (
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/internal/table"
)

// General is the form for any strategy. It keeps a small state for each key,
// with the key's windows in it.
type General[K comparable, V, Acc any] struct {
	cfg   Config[K, V, Acc]
	s     *strategy.Strategy
	env   exec.Env
	m     *machine
	fn    strategy.WindowFn // of this worker
	own   strategy.Merger   // nil where windows merge that overlap
	drops drops

	// Kept.
	p    progress
	keys *table.Table[K, keyState[Acc]]

	// Derived: when the end or expiry of a window, a processing-time target or a
	// hold of which key has to be looked at next. A key that has one has an entry
	// that is not later.
	events, clocks, holds deadlines[K]

	bundle  bundle[K, V, Acc]
	scratch scratch
}

// bundle is what General remembers until the end of the turn.
type bundle[K comparable, V, Acc any] struct {
	open    bool
	now     exec.Time // processing time of all of it
	keys    []keyRef[K]
	waiting []waiting[V]   // elements whose windows may merge, chained by key
	parts   []Partial[Acc] // of those that stand for partials
}

type keyRef[K comparable] struct {
	hash uint64
	key  K
}

// waiting is an element that waits for the merge at the end of the turn.
type waiting[V any] struct {
	v    V
	time exec.Time
	w    exec.Window
	next int32 // of the same key, plus one
	part int32 // number of its partial plus one, or 0
}

// keyState is what General knows of a key.
type keyState[Acc any] struct {
	wins []win[Acc] // in the order of exec.Window.Compare
	// out is the key's output watermark as it was when the input watermark was
	// seen; settle brings it up to date.
	out, seen exec.Time
	// told is how far the key let the operator's output watermark go, which
	// unlike out moves when processing time frees a hold. A hold placed behind it
	// has no effect there, whatever other keys hold.
	told exec.Time

	// Derived: the entries of the indexes that count, or exec.Idle.
	event, clock, held exec.Time
	// Of the bundle: the waiting elements, numbers plus one.
	head, tail int32
	touched    bool
}

// win is a window of a key: open, or only a marker that its trigger finished.
type win[Acc any] struct {
	w           exec.Window
	hold        exec.Time // if isHeld
	trig        []int64
	panes, late uint32 // emitted, and of those the ones that were not early
	flags       winFlags
	acc         Acc     // if hasAcc
	ret         *stated // where open and retracting
}

type winFlags uint16

const (
	isOpen   winFlags = 1 << iota
	isTimed           // the trigger is to be evaluated once the watermark is past the window
	isFilled          // there are elements since the last pane
	isHeld            // hold holds the watermark
	isKept            // the expiry holds the watermark
	hasAcc
	inBundle // to be evaluated at the end of the turn
	isGone   // merged away
)

// NewGeneral returns an empty form that keeps its state in env under names that start with name.
func NewGeneral[K comparable, V, Acc any](env exec.Env, name string, cfg Config[K, V, Acc]) *General[K, V, Acc] {
	check(cfg.Strategy)
	if cfg.Strategy.Mode == strategy.Retracting && (cfg.Encode == nil || cfg.Say == nil) {
		panic("panes: retracting panes need Encode and Say")
	}
	g := &General[K, V, Acc]{
		cfg: cfg, s: cfg.Strategy, env: env, m: newMachine(cfg.Strategy.Trigger, cfg.Strategy.Merging()),
		fn: strategy.ForWorker(cfg.Strategy.Fn), own: strategy.MergerOf(cfg.Strategy.Fn), drops: newDrops(env), p: newProgress(),
	}
	g.keys = table.New(cfg.Key, keyCoder[Acc]{g.m, cfg.Acc, g.s.Mode == strategy.Retracting})
	env.Keep(name+".time", &g.p)
	env.Keep(name+".keys", g.keys)
	return g
}

// Element adds v. With Assign it goes to the windows of c.Time, otherwise to c.Window.
func (g *General[K, V, Acc]) Element(c *exec.Ctx, key K, v V) {
	if g.cfg.Key.Normalize != nil {
		key = g.cfg.Key.Normalize(key)
	}
	hash := g.cfg.Key.Hash(key)
	var ks *keyState[Acc]
	dropped := false
	windows := g.windowsOf(c)
	if len(windows) == 0 {
		g.drops.nowhere.Add(1)
	}
	for _, w := range windows {
		if g.s.Expiry(w) < g.p.cur {
			g.drop(c, key, v, w, false)
			dropped = true
			continue
		}
		if ks == nil {
			ks = g.touch(hash, key)
		}
		if c.Kind.Withdrawal() {
			g.takeBack(c, key, ks, v, w)
			continue
		}
		if g.m.merging {
			g.wait(ks, waiting[V]{v: v, time: c.Time, w: w})
			continue
		}
		if x := g.enter(ks, w); x == nil {
			g.drop(c, key, v, w, true)
		} else {
			x.acc = g.cfg.Fold.Add(g.accOf(x), v)
			g.added(ks, x, c.Time, c.Time, 1)
		}
	}
	if dropped && ks == nil {
		g.touchKnown(hash, key)
	}
}

// Partial adds elements that were combined before. c.Window is their window, whatever Assign says.
func (g *General[K, V, Acc]) Partial(c *exec.Ctx, key K, p Partial[Acc]) {
	if g.cfg.Key.Normalize != nil {
		key = g.cfg.Key.Normalize(key)
	}
	hash := g.cfg.Key.Hash(key)
	if g.s.Expiry(c.Window) < g.p.cur {
		g.dropPartial(c, key, p, c.Window, false)
		g.touchKnown(hash, key)
		return
	}
	ks := g.touch(hash, key)
	if g.m.merging {
		g.bundle.parts = append(g.bundle.parts, p)
		g.wait(ks, waiting[V]{time: c.Time, w: c.Window, part: int32(len(g.bundle.parts))})
		return
	}
	x := g.enter(ks, c.Window)
	if x == nil {
		g.dropPartial(c, key, p, c.Window, true)
		return
	}
	g.addPartial(ks, x, p)
}

func (g *General[K, V, Acc]) addPartial(ks *keyState[Acc], x *win[Acc], p Partial[Acc]) {
	if x.flags&hasAcc == 0 {
		x.acc = p.Acc
		x.flags |= hasAcc
	} else {
		x.acc = g.cfg.Fold.Merge(x.acc, p.Acc)
	}
	g.added(ks, x, p.Min, p.Max, p.N)
}

// windowsOf returns the windows of the element in c; valid until the next call.
func (g *General[K, V, Acc]) windowsOf(c *exec.Ctx) []exec.Window {
	if g.cfg.Assign {
		g.scratch.windows = g.fn.Assign(g.scratch.windows[:0], c.Time)
	} else {
		g.scratch.windows = append(g.scratch.windows[:0], c.Window)
	}
	return g.scratch.windows
}

// touch returns the state of a key that has input in this bundle.
func (g *General[K, V, Acc]) touch(hash uint64, key K) *keyState[Acc] {
	ks, fresh := g.keys.At(hash, key)
	if fresh {
		*ks = keyState[Acc]{out: g.p.last, seen: g.p.last, told: g.p.last, event: exec.Idle, clock: exec.Idle, held: exec.Idle}
	}
	g.mark(ks, hash, key)
	return ks
}

// touchKnown is touch for input that was dropped: the output watermark of a
// key that has state moves all the same.
func (g *General[K, V, Acc]) touchKnown(hash uint64, key K) {
	if ks := g.keys.Find(hash, key); ks != nil {
		g.mark(ks, hash, key)
	}
}

func (g *General[K, V, Acc]) mark(ks *keyState[Acc], hash uint64, key K) {
	if ks.touched {
		return
	}
	if !g.bundle.open {
		g.bundle.open, g.bundle.now = true, g.clock()
	}
	g.settle(ks)
	ks.touched = true
	g.bundle.keys = append(g.bundle.keys, keyRef[K]{hash, key})
}

// clock returns processing time, which never goes back.
func (g *General[K, V, Acc]) clock() exec.Time { return max(g.env.Now(), g.p.now) }

// settle brings the key's output watermark up to date with the input
// watermark. It is called before any hold of the key changes.
func (g *General[K, V, Acc]) settle(ks *keyState[Acc]) {
	free := min(g.p.last, g.leastHold(ks))
	ks.told = max(ks.told, free)
	if ks.seen != g.p.last {
		ks.out, ks.seen = max(ks.out, free), g.p.last
	}
}

// operatorHold returns where the key holds the operator's output watermark, or exec.Idle.
func (g *General[K, V, Acc]) operatorHold(ks *keyState[Acc]) exec.Time {
	return max(ks.told, g.leastHold(ks))
}

// leastHold returns the least of the key's holds, or exec.Idle. Elements can be
// stamped behind the end of their window, by a transform between. The hold of a
// pane is then that time, since the window may yet grow by merging, but the
// watermark is held where the pane would be stamped if it fired now.
func (g *General[K, V, Acc]) leastHold(ks *keyState[Acc]) exec.Time {
	least := exec.Idle
	for i := range ks.wins {
		x := &ks.wins[i]
		if x.flags&isHeld != 0 {
			least = min(least, x.hold, x.w.Max())
		}
		if x.flags&isKept != 0 {
			least = min(least, g.s.Expiry(x.w))
		}
	}
	return least
}

// enter returns the open window w, which it makes if needed, or nil if its trigger has finished.
func (g *General[K, V, Acc]) enter(ks *keyState[Acc], w exec.Window) *win[Acc] {
	i, ok := find(ks.wins, w)
	if !ok {
		ks.wins = slices.Insert(ks.wins, i, g.newWin(w))
	}
	x := &ks.wins[i]
	if x.flags&isOpen == 0 {
		return nil
	}
	return x
}

func (g *General[K, V, Acc]) newWin(w exec.Window) win[Acc] {
	x := win[Acc]{w: w, flags: isOpen}
	if g.s.Mode == strategy.Retracting {
		x.ret = &stated{}
	}
	if g.m.size > 0 {
		x.trig = make([]int64, g.m.size)
	}
	return x
}

func find[Acc any](wins []win[Acc], w exec.Window) (int, bool) {
	if n := len(wins); n > 0 && wins[n-1].w == w { // the usual case
		return n - 1, true
	}
	return slices.BinarySearchFunc(wins, w, func(x win[Acc], w exec.Window) int { return x.w.Compare(w) })
}

func (g *General[K, V, Acc]) accOf(x *win[Acc]) Acc {
	if x.flags&hasAcc == 0 {
		x.acc = g.cfg.Fold.Create()
		x.flags |= hasAcc
	}
	return x.acc
}

// added does for a window what n new elements with times from first to last
// ask for, except folding them in.
func (g *General[K, V, Acc]) added(ks *keyState[Acc], x *win[Acc], first, last exec.Time, n int64) {
	if x.ret != nil {
		x.ret.net += n
	}
	g.changed(ks, x, first, last, n)
}

// changed is what withdrawals have in common with elements.
func (g *General[K, V, Acc]) changed(ks *keyState[Acc], x *win[Acc], first, last exec.Time, n int64) {
	x.flags |= isFilled | inBundle
	g.holdFor(ks, x, first, last)
	s := g.sight(x, g.bundle.now)
	g.m.onElement(&s, 0, n)
	if s.timed {
		x.flags |= isTimed
	}
}

func (g *General[K, V, Acc]) sight(x *win[Acc], now exec.Time) sight {
	return sight{st: x.trig, wm: g.p.cur, now: now, max: x.w.Max()}
}

// holdFor places the hold of new elements. One that would be behind the key's
// output watermark, or that no end of window would release, is replaced by one
// at expiry, so that the pane is at least not droppable downstream. Of a
// partial that is late in part the earliest time that is not late is taken to
// be the output watermark.
func (g *General[K, V, Acc]) holdFor(ks *keyState[Acc], x *win[Acc], first, last exec.Time) {
	end := x.w.Max()
	at, tooLate := end, false
	switch g.s.Combiner {
	case strategy.Earliest:
		tooLate = first < ks.out
		at = max(first, min(ks.out, last))
	case strategy.Latest:
		tooLate = first < ks.out
		at = last
	}
	if at < ks.out || end < g.p.cur {
		tooLate = true
	} else {
		g.hold(x, at)
	}
	if tooLate {
		g.keep(x)
	}
}

// hold places or combines an element hold.
func (g *General[K, V, Acc]) hold(x *win[Acc], at exec.Time) {
	if x.flags&isHeld != 0 {
		if g.s.Combiner == strategy.Earliest {
			at = min(at, x.hold)
		} else {
			at = max(at, x.hold)
		}
	}
	x.hold = at
	x.flags |= isHeld
}

// keep places a hold at expiry.
func (g *General[K, V, Acc]) keep(x *win[Acc]) {
	if g.s.Expiry(x.w) >= g.p.cur {
		x.flags |= isKept
	}
}

func (g *General[K, V, Acc]) drop(c *exec.Ctx, key K, v V, w exec.Window, closed bool) {
	g.drops.count(1, closed)
	if g.cfg.Drop != nil {
		output(c, c.Time, w, c.Pane, func() { g.cfg.Drop(c, key, v, closed) })
	}
}

func (g *General[K, V, Acc]) dropPartial(c *exec.Ctx, key K, p Partial[Acc], w exec.Window, closed bool) {
	g.drops.count(p.N, closed)
	if g.cfg.DropPartial != nil {
		output(c, c.Time, w, c.Pane, func() { g.cfg.DropPartial(c, key, p, closed) })
	}
}
