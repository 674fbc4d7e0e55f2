package transforms

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// advance fires what is due: waiting elements, event-time timers and expiring
// windows in one order of time, then processing-time timers. When c.Full is set
// it stops after a call of the function.
func (s *keeping[K, V, Out]) advance(c *exec.Ctx, in []exec.Time) (out exec.Time, more bool) {
	idle := in[0] == exec.Idle
	if !idle {
		s.marks.in = max(s.marks.in, in[0])
	}
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	now := exec.MinTime
	if len(s.clocks) > 0 || len(s.spec.timers) > 0 { // a timer that fires may set one of processing time
		now = s.env.Now()
	}
	for !more && c.Err == nil && s.next(c, now) {
		more = c.Full
	}
	if s.open {
		s.turn(c)
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
	if len(s.clocks) > 0 {
		s.env.WakeAt(s.clocks[0].at)
	}
	if more { // holds that firings set before this watermark is done with are not to come too late
		return min(s.told, s.held()), true
	}
	s.told = s.marks.in
	if idle && s.cells.used == 0 {
		return exec.Idle, false
	}
	return s.held(), false
}

// next does the one thing that is due first, and reports whether there was any.
func (s *keeping[K, V, Out]) next(c *exec.Ctx, now exec.Time) bool {
	for {
		expiry := s.firstExpiry()
		switch {
		case len(s.events) > 0 && s.events[0].at < s.marks.in && s.events[0].at <= expiry:
			if s.passEvent(c) {
				return true
			}
		case expiry < s.marks.in:
			s.marks.past = max(s.marks.past, expiry)
			if s.expire(c) {
				return true
			}
		case len(s.clocks) > 0 && s.clocks[0].at < now:
			s.marks.past = s.marks.in
			if s.passClock(c, now) {
				return true
			}
		default:
			s.marks.past = s.marks.in
			return false
		}
	}
}

// firstExpiry returns when the first of all windows expires, or exec.Idle.
func (s *keeping[K, V, Out]) firstExpiry() exec.Time {
	if s.index.Len() == 0 {
		return exec.Idle
	}
	return s.spec.strategy.Expiry(s.index.List()[0])
}

// passEvent does what the first entry of events stands for, if it is still due,
// and reports whether the function was called.
func (s *keeping[K, V, Out]) passEvent(c *exec.Ctx) bool {
	d := s.events[0]
	x := s.cells.current(d)
	if x == nil || x.events != d.at {
		s.events.pop()
		return false
	}
	s.marks.past = max(s.marks.past, d.at)
	switch {
	case len(x.waiting) > 0 && s.release(x.window, x.waiting[0].time) <= d.at && (len(x.event) == 0 || x.waiting[0].time <= x.event[0].at):
		s.resume(c, d.slot, x)
		return true
	case len(x.event) > 0 && s.release(x.window, x.event[0].at) <= d.at:
		s.fire(c, d.slot, true)
		return true
	case x.sweeps[0] <= d.at:
		s.sweep(d.slot, true, d.at.Add(-s.lag()))
		return false
	}
	s.events.pop()
	x.events = exec.Idle
	s.dueEvent(d.slot, x, s.nextEvent(x))
	return false
}

// passClock is passEvent for processing time.
func (s *keeping[K, V, Out]) passClock(c *exec.Ctx, now exec.Time) bool {
	d := s.clocks[0]
	x := s.cells.current(d)
	if x == nil || x.clocks != d.at {
		s.clocks.pop()
		return false
	}
	switch {
	case len(x.clock) > 0 && x.clock[0].at <= d.at:
		s.fire(c, d.slot, false)
		return true
	case x.sweeps[1] <= d.at:
		s.sweep(d.slot, false, now)
		return false
	}
	s.clocks.pop()
	x.clocks = exec.Idle
	s.dueClock(d.slot, x, s.nextClock(x))
	return false
}

// nextEvent returns when a cell is to be looked at next.
func (s *keeping[K, V, Out]) nextEvent(x *cell[K, V]) exec.Time {
	at := x.sweeps[0]
	if len(x.event) > 0 {
		at = min(at, s.release(x.window, x.event[0].at))
	}
	if len(x.waiting) > 0 {
		at = min(at, s.release(x.window, x.waiting[0].time))
	}
	return at
}

func (s *keeping[K, V, Out]) nextClock(x *cell[K, V]) exec.Time {
	at := x.sweeps[1]
	if len(x.clock) > 0 {
		at = min(at, x.clock[0].at)
	}
	return at
}

// nextHold returns the least output time that a cell holds back.
func (s *keeping[K, V, Out]) nextHold(x *cell[K, V]) exec.Time {
	at := exec.Idle
	for _, list := range [...][]timer{x.event, x.clock} {
		for i := range list {
			if !list[i].noHold {
				at = min(at, list[i].hold)
			}
		}
	}
	if len(x.waiting) > 0 {
		at = min(at, x.waiting[0].hold) // the least of all: later ones were put behind it
	}
	return at
}

// notBefore returns where something of output time t can hold the output
// watermark: not behind where the key and window alone would have let it come. Other
// keys may hold it further back still, but which of them are on this worker must not matter.
func (s *keeping[K, V, Out]) notBefore(x *cell[K, V], t, held exec.Time) exec.Time {
	if t >= s.told {
		return t
	}
	return max(t, min(s.told, held, s.nextHold(x)))
}

// dueEvent makes sure that the cell is looked at when the watermark is past at.
func (s *keeping[K, V, Out]) dueEvent(slot int32, x *cell[K, V], at exec.Time) {
	if at < x.events {
		x.events = at
		s.events.push(due{at, slot, x.gen})
	}
}

func (s *keeping[K, V, Out]) dueClock(slot int32, x *cell[K, V], at exec.Time) {
	if at < x.clocks {
		x.clocks = at
		s.clocks.push(due{at, slot, x.gen})
	}
}

// hold makes sure that the output watermark stays at or before at.
func (s *keeping[K, V, Out]) hold(slot int32, x *cell[K, V], at exec.Time) {
	if at < x.held {
		x.held = at
		s.holds.push(due{at, slot, x.gen})
	}
}

// held returns the output watermark: the least of that of the input and all holds.
func (s *keeping[K, V, Out]) held() exec.Time {
	out := s.marks.in
	if s.onExpiry != nil {
		for _, w := range s.index.List() { // what OnWindowExpiration emits must not come too late
			if s.index.Find(w).Len() > 0 {
				out = min(out, s.spec.strategy.Expiry(w))
				break
			}
		}
	}
	for len(s.holds) > 0 && s.holds[0].at < out {
		d := s.holds[0]
		x := s.cells.current(d)
		if x == nil || x.held != d.at {
			s.holds.pop()
			continue
		}
		at := s.nextHold(x)
		if at == d.at {
			return at
		}
		s.holds.pop()
		x.held = exec.Idle
		s.hold(d.slot, x, at)
	}
	return out
}

// expire ends the first window, or, if the function is to be told, one key of it; it
// reports whether the function was called.
func (s *keeping[K, V, Out]) expire(c *exec.Ctx) bool {
	w := s.index.List()[0]
	t := s.index.Find(w)
	for i := range t.Chunks() {
		chunk := t.Chunk(i)
		if s.onExpiry != nil && len(chunk) > 0 {
			s.tell(c, chunk[len(chunk)-1].Value)
			return true
		}
		for j := range chunk {
			s.free(chunk[j].Value)
		}
	}
	s.index.Drop(w)
	s.table = nil
	return false
}

// tell calls OnWindowExpiration and gives up the slot.
func (s *keeping[K, V, Out]) tell(c *exec.Ctx, slot int32) {
	x := s.cells.at(slot)
	if s.begin(c) {
		s.enter(c, slot, current{window: x.window, time: x.window.Max(), expiring: true, firing: exec.Idle, held: exec.Idle}, x.window.Max())
		c.Time, c.Window, c.Pane, c.Kind, c.Op = x.window.Max(), x.window, exec.NoFiring, exec.Insert, s.op
		if err := s.onExpiry.OnWindowExpiration(s.pc.Bind(c), x.key, s.emit); err != nil {
			c.Fail(fmt.Errorf("key %+v: OnWindowExpiration: %w", x.key, err))
		}
		s.exit()
	}
	s.remove(slot)
}

// release returns the watermark after which a timer set to t fires, and a waiting
// element of time t is processed: timers wait as long as elements, so that they keep their order.
func (s *keeping[K, V, Out]) release(w exec.Window, t exec.Time) exec.Time {
	return min(t.Add(s.lag()), s.spec.strategy.Expiry(w))
}

// wait keeps an element until its turn.
func (s *keeping[K, V, Out]) wait(c *exec.Ctx, slot int32, v V) {
	x := s.cells.at(slot)
	i, _ := slices.BinarySearchFunc(x.waiting, c.Time, func(e waiting[V], t exec.Time) int {
		if e.time <= t {
			return -1
		}
		return 1
	})
	hold := s.notBefore(x, c.Time, exec.Idle)
	x.waiting = slices.Insert(x.waiting, i, waiting[V]{c.Time, hold, c.Pane, c.Kind, v})
	s.dueEvent(slot, x, s.release(x.window, c.Time))
	s.hold(slot, x, hold)
}

// resume processes the first waiting element of a cell.
func (s *keeping[K, V, Out]) resume(c *exec.Ctx, slot int32, x *cell[K, V]) {
	e := x.waiting[0]
	x.waiting[0] = waiting[V]{}
	if x.waiting = x.waiting[1:]; len(x.waiting) == 0 {
		x.waiting = nil
	}
	c.Time, c.Window, c.Pane, c.Kind = e.time, x.window, e.pane, e.kind
	s.call(c, slot, pcoll.KV[K, V]{Key: x.key, Value: e.v}, e.hold)
}

// plan makes sure that what ends in a slot is swept, some time after.
func (s *keeping[K, V, Out]) plan(slot int32) {
	for _, i := range s.mortal {
		col := s.columns[i]
		ms, event := col.TTL()
		x := s.cells.at(slot)
		switch {
		case !col.Has(slot):
		case event && x.sweeps[0] == exec.Idle:
			x.sweeps[0] = s.scope.Event.Add(ms).Add(1 + s.lag())
			s.dueEvent(slot, x, x.sweeps[0])
		case !event && x.sweeps[1] == exec.Idle:
			x.sweeps[1] = s.env.Now().Add(ms).Add(1)
			s.dueClock(slot, x, x.sweeps[1])
		}
	}
}

// sweep removes what has ended in a slot, and the slot if nothing is left. The
// next sweep comes when more has ended, but not before a quarter of the time to live:
// reads see for themselves what has ended.
func (s *keeping[K, V, Out]) sweep(slot int32, event bool, now exec.Time) {
	x, next := s.cells.at(slot), exec.Idle
	for _, i := range s.mortal {
		ms, e := s.columns[i].TTL()
		if e != event || !s.columns[i].Has(slot) {
			continue
		}
		if at := s.columns[i].Sweep(slot, now); at != exec.Idle {
			next = min(next, max(at, now.Add(ms/4)))
		}
	}
	if event {
		x.sweeps[0] = next
		if next != exec.Idle {
			x.sweeps[0] = next.Add(s.lag())
		}
	} else {
		x.sweeps[1] = next
	}
	if s.onExpiry == nil && s.empty(slot) {
		s.remove(slot)
	}
}
