package panes

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/internal/table"
)

// Aligned is the form for windows that do not merge with triggers driven by
// the watermark (see CanAlign). Entries lie by window, then key. An element
// costs one look-up in the table of its window; closing a window is one sweep
// over that table, with no timer or hold for any key.
//
// It gets by without holds for this reason: all panes are stamped with the end
// of their window, and the trigger fires when the watermark is past that. So
// every hold is at the end of a window that the watermark has not passed, or at
// an expiry that it has not passed: none is ever behind the input watermark, and
// the output watermark of the operator and of each key is the input watermark
// of the last Advance that came to its end. A pane of a window that has ended
// before is therefore late, and the one that its end brings about is on time.
type Aligned[K comparable, V, Acc any] struct {
	cfg   Config[K, V, Acc]
	s     *strategy.Strategy
	env   exec.Env
	plan  plan
	keeps bool // accumulating
	drops drops

	// Kept. before has the number of early panes of keys that had some, once
	// their window has ended.
	p      progress
	wins   *table.Windows[K, entry[Acc]]
	before *table.Windows[K, int64]

	// Derived: panes that wait for processing time, before and after the end of
	// their window.
	early, lates queue[K]

	// The windows of the last element and of the last partial, until Advance.
	from, to exec.Time // with Assign: when views holds
	only     exec.Window
	views    []view[K, Acc]
	expired  []exec.Window
	alone    bool // there is one view, of a window that has not ended
	direct   bool // and there is nothing to do for any but the first element of a pane
	part     view[K, Acc]
	recent   [8]view[K, Acc]

	touched  []entryRef[K]
	now      exec.Time // processing time of the bundle, if timed
	timed    bool
	anyDue   bool // a pane's target is before now
	sweeping position
	windows  []exec.Window
	restored []exec.Time // targets that the coder read
}

// An entry is a key in a window. n holds flags and what is pending: the number
// of elements since the last pane, or only 1, or the id in a queue. panes counts
// emitted panes, from the end of the window on only those that were not early.
// Without pending elements acc is the zero value, unless panes accumulate.
type entry[Acc any] struct {
	acc      Acc
	n, panes uint32
}

const (
	isClosed  = 1 << 31 // the trigger has finished, or the last pane is out
	isEnded   = 1 << 30 // the end of the window was acted upon
	isTouched = 1 << 29 // to be fired at the end of the turn
	pending   = 1<<28 - 1
)

// view is a window with its table.
type view[K comparable, Acc any] struct {
	w     exec.Window
	tab   *table.Table[K, entry[Acc]]
	ended bool
}

type entryRef[K comparable] struct {
	w    exec.Window
	hash uint64
	key  K
}

// NewAligned returns an empty form that keeps its state in env under names
// that start with name. The strategy must satisfy CanAlign.
func NewAligned[K comparable, V, Acc any](env exec.Env, name string, cfg Config[K, V, Acc]) *Aligned[K, V, Acc] {
	check(cfg.Strategy)
	p, ok := planFor(cfg.Strategy)
	if !ok {
		panic("panes: no aligned form for " + cfg.Strategy.String())
	}
	a := &Aligned[K, V, Acc]{
		cfg: cfg, s: cfg.Strategy, env: env, plan: p, keeps: cfg.Strategy.Mode == strategy.Accumulating,
		drops: newDrops(env), p: newProgress(),
	}
	a.wins = table.NewWindows(cfg.Key, entryCoder[K, V, Acc]{a})
	a.before = table.NewWindows(cfg.Key, countCoder{})
	a.forget()
	env.Keep(name+".time", &a.p)
	env.Keep(name+".windows", a.wins)
	env.Keep(name+".before", a.before)
	return a
}

// Element adds v. With Assign it goes to the windows of c.Time, otherwise to c.Window.
func (a *Aligned[K, V, Acc]) Element(c *exec.Ctx, key K, v V) {
	if a.cfg.Assign {
		if c.Time < a.from || c.Time >= a.to {
			a.assign(c.Time)
		}
	} else if c.Window != a.only {
		a.enter(c.Window)
	}
	if a.cfg.Key.Normalize != nil {
		key = a.cfg.Key.Normalize(key)
	}
	hash := a.cfg.Key.Hash(key)
	if !a.direct {
		a.spread(c, hash, key, v)
		return
	}
	e, fresh := a.views[0].tab.At(hash, key)
	if e.n == 0 {
		if fresh || !a.keeps {
			e.acc = a.cfg.Fold.Create()
		}
		a.added(c, &a.views[0], e, hash, key, 1)
	}
	e.acc = a.cfg.Fold.Add(e.acc, v)
}

// spread is Element where windows are several, some expired, or fire in Turn.
func (a *Aligned[K, V, Acc]) spread(c *exec.Ctx, hash uint64, key K, v V) {
	if len(a.views)+len(a.expired) == 0 {
		a.drops.nowhere.Add(1)
	}
	for _, w := range a.expired {
		a.drop(c, key, v, w, false)
	}
	for i := range a.views {
		x := &a.views[i]
		e, fresh := x.tab.At(hash, key)
		if e.n&isClosed != 0 {
			a.drop(c, key, v, x.w, true)
			continue
		}
		if fresh || !a.keeps && e.n&pending == 0 {
			e.acc = a.cfg.Fold.Create()
		}
		e.acc = a.cfg.Fold.Add(e.acc, v)
		a.added(c, x, e, hash, key, 1)
	}
}

// Partial adds elements that were combined before. c.Window is their window, whatever Assign says.
func (a *Aligned[K, V, Acc]) Partial(c *exec.Ctx, key K, p Partial[Acc]) {
	if a.cfg.Key.Normalize != nil {
		key = a.cfg.Key.Normalize(key)
	}
	if c.Window != a.part.w || a.part.tab == nil {
		if a.s.Expiry(c.Window) < a.p.cur {
			a.dropPartial(c, key, p, false)
			return
		}
		a.part = *a.view(c.Window)
	}
	hash := a.cfg.Key.Hash(key)
	e, fresh := a.part.tab.At(hash, key)
	switch {
	case e.n&isClosed != 0:
		a.dropPartial(c, key, p, true)
		return
	case fresh || !a.keeps && e.n&pending == 0:
		e.acc = p.Acc
	default:
		e.acc = a.cfg.Fold.Merge(e.acc, p.Acc)
	}
	a.added(c, &a.part, e, hash, key, p.N)
}

// added counts n new elements of e and notes whether it fires in Turn.
func (a *Aligned[K, V, Acc]) added(c *exec.Ctx, x *view[K, Acc], e *entry[Acc], hash uint64, key K, n int64) {
	sub, q := &a.plan.early, &a.early
	if x.ended {
		sub, q = &a.plan.late, &a.lates
	}
	fires := false
	had := e.n & pending
	switch {
	case x.ended && e.n&isEnded == 0: // the window ended before the key came
		e.n |= 1
		fires = true
	case sub.kind == subCount:
		has := min(int64(had)+n, pending)
		e.n = e.n&^pending | uint32(has)
		fires = has >= sub.n
	case sub.kind == subTime:
		if !a.timed {
			a.timed, a.now = true, a.clock()
			a.anyDue = a.early.due(a.now) || a.lates.due(a.now)
			a.setDirect()
		}
		if had == 0 {
			e.n |= q.push(c, wait[K]{target(sub.t, a.now), x.w, hash, key})
		} else {
			fires = a.anyDue && q.at(had).at < a.now
		}
	default:
		e.n |= 1
		fires = sub.kind == subAlways
	}
	if fires && e.n&isTouched == 0 {
		e.n |= isTouched
		a.touched = append(a.touched, entryRef[K]{x.w, hash, key})
	}
}

// clock returns processing time, which never goes back.
func (a *Aligned[K, V, Acc]) clock() exec.Time { return max(a.env.Now(), a.p.now) }

// forget forgets which windows elements were in last.
func (a *Aligned[K, V, Acc]) forget() {
	a.from, a.to = exec.Idle, exec.Idle
	a.only = exec.Window{Start: exec.Idle, End: exec.Idle} // no element's
	a.part = view[K, Acc]{}
	a.recent = [8]view[K, Acc]{}
}

// assign finds the windows of time t, and how long they stay the same.
func (a *Aligned[K, V, Acc]) assign(t exec.Time) {
	a.windows = a.s.Fn.Assign(a.windows[:0], t)
	a.setViews(a.windows)
	a.from, a.to = t, t+1
	switch fn := a.s.Fn.(type) {
	case strategy.GlobalWindows:
		a.from, a.to = exec.MinTime, exec.Idle
	case strategy.FixedWindows, strategy.CalendarWindows:
		if w := a.windows[0]; w.Contains(t) {
			a.from, a.to = w.Start, w.End
		}
	case strategy.SlidingWindows:
		// The set changes where a window starts and where one ends.
		start := floor(t, fn.Period, fn.Offset)
		end := floor(t, fn.Period, fn.Offset+fn.Size)
		a.from, a.to = max(start, end), min(start, end)+exec.Time(fn.Period)
	}
}

// floor returns the greatest offset + k*step that is not after t.
func floor(t exec.Time, step, offset int64) exec.Time {
	m := (int64(t) - offset) % step
	if m < 0 {
		m += step
	}
	return t - exec.Time(m)
}

func (a *Aligned[K, V, Acc]) enter(w exec.Window) {
	a.only = w
	a.windows = append(a.windows[:0], w)
	a.setViews(a.windows)
}

func (a *Aligned[K, V, Acc]) setViews(windows []exec.Window) {
	a.views, a.expired = a.views[:0], a.expired[:0]
	for _, w := range windows {
		if a.s.Expiry(w) < a.p.cur {
			a.expired = append(a.expired, w)
		} else {
			a.views = append(a.views, *a.view(w))
		}
	}
	a.alone = len(a.expired) == 0 && len(a.views) == 1 && !a.views[0].ended
	a.setDirect()
}

// setDirect is called when views, timed or anyDue have changed.
func (a *Aligned[K, V, Acc]) setDirect() {
	sub := a.plan.early.kind
	a.direct = a.alone && (sub == subNone || sub == subTime && a.timed && !a.anyDue)
}

// view returns the view of w, opening its table if needed.
func (a *Aligned[K, V, Acc]) view(w exec.Window) *view[K, Acc] {
	x := &a.recent[uint64(w.End)*0x9e3779b97f4a7c15>>61]
	if x.w != w || x.tab == nil {
		*x = view[K, Acc]{w: w, tab: a.wins.Open(w), ended: w.Max() < a.p.cur}
	}
	return x
}

func (a *Aligned[K, V, Acc]) drop(c *exec.Ctx, key K, v V, w exec.Window, closed bool) {
	a.drops.count(1, closed)
	if a.cfg.Drop != nil {
		output(c, c.Time, w, c.Pane, func() { a.cfg.Drop(c, key, v, closed) })
	}
}

func (a *Aligned[K, V, Acc]) dropPartial(c *exec.Ctx, key K, p Partial[Acc], closed bool) {
	a.drops.count(p.N, closed)
	if a.cfg.DropPartial != nil {
		output(c, c.Time, c.Window, c.Pane, func() { a.cfg.DropPartial(c, key, p, closed) })
	}
}
