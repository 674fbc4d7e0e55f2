package panes

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A plan is a trigger in the terms of the aligned form: it fires at the end of
// the window, before that by early and after it by late.
type plan struct {
	early, late sub
	finishes    bool // at the end of the window
}

// A sub says when to fire between two panes.
type sub struct {
	kind subKind
	n    int64             // subCount
	t    *strategy.Trigger // subTime
}

type subKind uint8

const (
	subNone   subKind = iota
	subAlways         // at the end of each turn with elements
	subCount          // at the end of a turn with n elements
	subTime           // a processing time after the first element
)

// CanAlign reports whether NewAligned takes the strategy: windows that do not
// merge, panes stamped with the end of the window, and a trigger that fires
// when the window ends (Default, Repeatedly(AfterWatermark) or AfterWatermark
// with early and late firings that are Never, Always, AfterCount, or a
// processing-time delay, repeated or not).
func CanAlign(s *strategy.Strategy) bool {
	_, ok := planFor(s)
	return ok
}

func planFor(s *strategy.Strategy) (p plan, ok bool) {
	if s.Merging() || s.Combiner != strategy.EndOfWindow || s.Mode == strategy.Retracting {
		return p, false
	}
	t, repeated := unrepeat(s.Trigger)
	switch {
	case t.Kind == strategy.OnDefault:
		return plan{late: sub{kind: subAlways}}, true
	case t.Kind != strategy.OnWatermark:
		return p, false
	case repeated:
		return plan{late: sub{kind: subAlways}}, t.Early() == nil && t.Late() == nil
	}
	early, ok1 := subFor(t.Early())
	late, ok2 := subFor(t.Late())
	return plan{early, late, t.Late() == nil}, ok1 && ok2
}

func unrepeat(t *strategy.Trigger) (inner *strategy.Trigger, repeated bool) {
	for t.Kind == strategy.OnRepeatedly {
		t, repeated = t.Subs[0], true
	}
	return t, repeated
}

func subFor(t *strategy.Trigger) (sub, bool) {
	if t == nil {
		return sub{}, true
	}
	switch t, _ = unrepeat(t); t.Kind {
	case strategy.OnNever:
		return sub{}, true
	case strategy.OnAlways:
		return sub{kind: subAlways}, true
	case strategy.OnCount:
		return sub{kind: subCount, n: t.N}, t.N <= pending
	case strategy.OnProcessingTime, strategy.OnSynchronizedTime:
		return sub{kind: subTime, t: t}, true
	}
	return sub{}, false
}

// A queue holds panes that wait for processing time, in the order of their
// targets, which is that of their first elements. Each has an id that an entry
// can hold in its pending bits; once the entry holds another one, it is void.
type queue[K comparable] struct {
	items []wait[K]
	head  int
	base  uint64 // number of items[0], counted from the start
}

type wait[K comparable] struct {
	at   exec.Time
	w    exec.Window
	hash uint64
	key  K
}

// push appends x and returns its id.
func (q *queue[K]) push(c *exec.Ctx, x wait[K]) uint32 {
	if len(q.items)-q.head >= pending {
		c.Fail(fmt.Errorf("panes: more than %d panes of one worker wait for processing time: use more workers", pending))
	}
	if q.head > 1024 && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.base, q.head = q.items[:n], q.base+uint64(q.head), 0
	}
	q.items = append(q.items, x)
	return q.id(len(q.items) - 1)
}

func (q *queue[K]) id(i int) uint32 { return uint32((q.base+uint64(i))%pending) + 1 }

// at returns the item with an id.
func (q *queue[K]) at(id uint32) *wait[K] {
	first := (q.base + uint64(q.head)) % pending
	return &q.items[q.head+int((uint64(id)-1+pending-first)%pending)]
}

// due reports whether the first item's target is before now.
func (q *queue[K]) due(now exec.Time) bool { return q.head < len(q.items) && q.items[q.head].at < now }

// pop removes the first item and returns it with its id.
func (q *queue[K]) pop() (x wait[K], id uint32) {
	x, id = q.items[q.head], q.id(q.head)
	q.items[q.head] = wait[K]{}
	q.head++
	return x, id
}

// next returns the first item's target, or exec.Idle.
func (q *queue[K]) next() exec.Time {
	if q.head == len(q.items) {
		return exec.Idle
	}
	return q.items[q.head].at
}

// sort puts items that were not appended in order of target.
func (q *queue[K]) sort() {
	slices.SortFunc(q.items, func(x, y wait[K]) int {
		switch {
		case x.at != y.at:
			return int(max(-1, min(1, x.at-y.at)))
		case x.hash != y.hash && x.hash < y.hash:
			return -1
		case x.hash != y.hash:
			return 1
		}
		return x.w.Compare(y.w)
	})
}
