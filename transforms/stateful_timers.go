package transforms

import (
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/timers"
)

// This file is what timer fields call: timers.Owner.

var errNoKey = errors.New("a timer was set or cleared where no key is being processed; " +
	"it belongs to the key and window of Process and OnTimer")

// TimerNow returns the input watermark, of sorted input that of what has been processed, or processing time.
func (s *keeping[K, V, Out]) TimerNow(event bool) exec.Time {
	if event {
		return s.marks.in.Add(-s.lag())
	}
	return s.env.Now()
}

// SetTimer makes or replaces a setting.
func (s *keeping[K, V, Out]) SetTimer(x *exec.Ctx, t timers.Setting) {
	if s.scope.Slot < 0 {
		x.Fail(errNoKey)
		return
	}
	cell := s.cells.at(s.scope.Slot)
	set, err := s.setting(t)
	if err != nil {
		x.Fail(fmt.Errorf("key %+v: timer %q: %w", cell.key, s.spec.timers[t.Field].name, err))
		return
	}
	if !set.noHold {
		set.hold = s.notBefore(cell, set.out, s.at.held)
	}
	if s.spec.timers[t.Field].event {
		cell.event = setTimer(cell.event, set)
		s.dueEvent(s.scope.Slot, cell, s.release(cell.window, set.at))
		s.loops.set(set.at, s.at.firing)
	} else {
		cell.clock = setTimer(cell.clock, set)
		s.dueClock(s.scope.Slot, cell, set.at)
	}
	if !set.noHold {
		s.hold(s.scope.Slot, cell, set.hold)
	}
}

// ClearTimer removes a setting.
func (s *keeping[K, V, Out]) ClearTimer(x *exec.Ctx, field int, tag string) {
	if s.scope.Slot < 0 {
		x.Fail(errNoKey)
		return
	}
	cell := s.cells.at(s.scope.Slot)
	list := &cell.clock
	if s.spec.timers[field].event {
		list = &cell.event
	}
	for i := range *list { // what it held can still be held
		if t := &(*list)[i]; t.field == field && t.tag == tag && !t.noHold {
			s.at.held = min(s.at.held, t.hold)
		}
	}
	*list = clearTimer(*list, field, tag)
}

// setting gives a setting its times, or says what is wrong with it.
func (s *keeping[K, V, Out]) setting(t timers.Setting) (timer, error) {
	set := timer{at: t.At, field: t.Field, tag: t.Tag, noHold: t.NoHold}
	event, expiry := s.spec.timers[t.Field].event, s.spec.strategy.Expiry(s.at.window)
	if s.at.expiring {
		return set, errors.New("it was set while its window expires, after which nothing fires; emit what there is to emit instead")
	}
	if event && set.at > expiry {
		if !t.Relative {
			return set, fmt.Errorf("it was set to %v, after its window's expiry at %v (the window's end and allowed lateness), "+
				"when nothing fires any more; set it no later, or use SetAfter, which is limited to that", set.at, expiry)
		}
		set.at = expiry
	}
	switch {
	case t.NoHold:
		return set, nil
	case t.HasOutput:
		set.out = t.Output
		if low := s.at.time.Add(-s.spec.skew); set.out < low {
			return set, fmt.Errorf("its output time %v is before the time %v of what is being processed by more than the allowed skew of %d ms; "+
				"give it that time or a later one, or use transforms.AllowedSkew", set.out, s.at.time, s.spec.skew)
		}
	case event:
		set.out = set.at
	case s.at.noTime:
		set.noHold = true // as that of the timer that fires
		return set, nil
	default:
		set.out = s.at.time
	}
	if set.out > expiry {
		return set, fmt.Errorf("its output time %v is after its window's expiry at %v (the window's end and allowed lateness); "+
			"give it an earlier one with timers.OutputAt, or none with timers.NoHold", set.out, expiry)
	}
	return set, nil
}

// fire calls OnTimer for the first of the cell's timers of a kind.
func (s *keeping[K, V, Out]) fire(c *exec.Ctx, slot int32, event bool) {
	x := s.cells.at(slot)
	list := &x.clock
	if event {
		list = &x.event
	}
	t := (*list)[0]
	*list = slices.Delete(*list, 0, 1)
	if !s.begin(c) {
		return
	}
	at := current{window: x.window, time: t.out, noTime: t.noHold, firing: exec.Idle, held: t.hold}
	now := t.out
	if t.noHold {
		at.held = exec.Idle
		at.time, now = s.marks.in, s.marks.in
	}
	if event {
		at.firing, now = t.at, t.at
	}
	s.enter(c, slot, at, now)
	c.Time, c.Window, c.Pane, c.Kind, c.Op = t.out, x.window, exec.NoFiring, exec.Insert, s.op
	bind := s.pc.Bind
	if t.noHold {
		c.Time, bind = exec.MaxTime, s.pc.BindFree
	}
	name := s.spec.timers[t.field].name
	if err := s.onTimer.OnTimer(bind(c), x.key, timers.NewFiring(s, t.field, name, t.tag, t.at), s.emit); err != nil {
		c.Fail(fmt.Errorf("key %+v: timer %q: %w", x.key, name, err))
	}
	if s.loops.endless() {
		c.Fail(fmt.Errorf("key %+v: timer %q was set again and again to fire at %v, which is past; "+
			"a timer that sets itself must stop when its window ends: Firing.At does not advance then", x.key, name, t.at))
	}
	s.leave(slot)
}

// loops counts settings, made while an event-time timer fires, to no later time.
type loops struct {
	at exec.Time
	n  int
}

// maxLoops is far more than any function needs, and is counted to in a second.
const maxLoops = 1 << 20

func (l *loops) set(at, firing exec.Time) {
	switch {
	case firing == exec.Idle || at > firing:
	case at != l.at:
		l.at, l.n = at, 1
	default:
		l.n++
	}
}

func (l *loops) endless() bool { return l.n > maxLoops }
