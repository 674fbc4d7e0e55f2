package panes

import "github.com/penstock-dev/penstock/internal/exec"

// Advance fires what is due at watermark wm and at the processing time of the
// Env, and returns the output watermark: the least of wm and all holds. When
// c.Full is set it stops after a firing and returns more, together with the
// output watermark that holds until it is called again; each call fires at
// least once or comes to the end. A wm of exec.Idle leaves the input watermark
// as it was; out is then Idle too if there is no state.
func (g *General[K, V, Acc]) Advance(c *exec.Ctx, wm exec.Time) (out exec.Time, more bool) {
	idle := wm == exec.Idle
	if !idle {
		g.p.cur = max(g.p.cur, wm)
	}
	now := g.clock()
	for len(g.events) > 0 && g.events[0].at < g.p.cur {
		if g.passEvent(c, now) && c.Full {
			return g.p.out, true
		}
		if c.Err != nil {
			return g.p.out, false
		}
	}
	for len(g.clocks) > 0 && g.clocks[0].at < now {
		if g.passClock(c, now) && c.Full {
			return g.p.out, true
		}
		if c.Err != nil {
			return g.p.out, false
		}
	}
	g.p.last, g.p.now = g.p.cur, now
	g.p.out = max(g.p.out, g.held())
	g.wake()
	if idle && g.keys.Len() == 0 {
		return exec.Idle, false
	}
	return g.p.out, false
}

// held returns the least of the input watermark and all holds.
func (g *General[K, V, Acc]) held() exec.Time {
	for len(g.holds) > 0 && g.holds[0].at < g.p.cur {
		d := g.holds[0]
		ks := g.keys.Find(d.hash, d.key)
		if ks == nil || ks.held != d.at {
			g.holds.pop()
			continue
		}
		at := g.operatorHold(ks)
		if at == d.at {
			return at
		}
		g.holds.pop()
		ks.held = exec.Idle
		g.scheduleHold(ks, keyRef[K]{d.hash, d.key}, at)
	}
	return g.p.cur
}

func (g *General[K, V, Acc]) scheduleHold(ks *keyState[Acc], r keyRef[K], at exec.Time) {
	if at < ks.held {
		ks.held = at
		g.holds.push(deadline[K]{at, r.hash, r.key})
	}
}

// passEvent acts on the first window of the first key in events that is past
// its end or expired, and reports whether it emitted a pane.
func (g *General[K, V, Acc]) passEvent(c *exec.Ctx, now exec.Time) bool {
	d := g.events[0]
	ks := g.keys.Find(d.hash, d.key)
	if ks == nil || ks.event != d.at {
		g.events.pop()
		return false
	}
	for i := range ks.wins {
		x := &ks.wins[i]
		if g.due(x) >= g.p.cur {
			continue
		}
		g.settle(ks)
		if g.s.Expiry(x.w) >= g.p.cur {
			x.flags &^= isTimed
			emitted := g.evaluate(c, d.key, ks, x, now)
			g.scheduleHold(ks, keyRef[K]{d.hash, d.key}, g.operatorHold(ks))
			return emitted
		}
		emitted := x.flags&isOpen != 0 && g.emit(c, d.key, ks, x, true)
		g.remove(ks, i)
		if len(ks.wins) == 0 {
			g.keys.Delete(d.hash, d.key)
			g.events.pop()
		}
		return emitted
	}
	g.events.pop()
	ks.event = exec.Idle
	g.schedule(ks, keyRef[K]{d.hash, d.key})
	return false
}

// due returns the watermark after which x has to be looked at.
func (g *General[K, V, Acc]) due(x *win[Acc]) exec.Time {
	if x.flags&isTimed != 0 {
		return x.w.Max()
	}
	return g.s.Expiry(x.w)
}

func (g *General[K, V, Acc]) remove(ks *keyState[Acc], i int) {
	n := len(ks.wins) - 1
	copy(ks.wins[i:], ks.wins[i+1:])
	ks.wins[n] = win[Acc]{}
	ks.wins = ks.wins[:n]
}

// passClock evaluates the windows of the first key in clocks that have a
// processing-time target before now, and reports whether a pane was emitted;
// then there may be more of them. Only targets that a trigger still waits for
// count, so that a form that was restored does the same as one that ran on.
func (g *General[K, V, Acc]) passClock(c *exec.Ctx, now exec.Time) bool {
	d := g.clocks[0]
	ks := g.keys.Find(d.hash, d.key)
	if ks == nil || ks.clock != d.at {
		g.clocks.pop()
		return false
	}
	g.settle(ks)
	for i := range ks.wins {
		x := &ks.wins[i]
		if g.m.nextTarget(x.trig, g.p.now) >= now {
			continue
		}
		emitted := g.evaluate(c, d.key, ks, x, now)
		g.scheduleHold(ks, keyRef[K]{d.hash, d.key}, g.operatorHold(ks))
		if emitted {
			return true
		}
	}
	g.clocks.pop()
	ks.clock = exec.Idle
	g.scheduleClock(ks, keyRef[K]{d.hash, d.key}, now)
	return false
}

// schedule makes sure that the indexes look at the key in time.
func (g *General[K, V, Acc]) schedule(ks *keyState[Acc], r keyRef[K]) {
	at := exec.Idle
	for i := range ks.wins {
		at = min(at, g.due(&ks.wins[i]))
	}
	if at < ks.event {
		ks.event = at
		g.events.push(deadline[K]{at, r.hash, r.key})
	}
	g.scheduleClock(ks, r, g.p.now)
	g.scheduleHold(ks, r, g.operatorHold(ks))
}

func (g *General[K, V, Acc]) scheduleClock(ks *keyState[Acc], r keyRef[K], from exec.Time) {
	if len(g.m.targets) == 0 {
		return
	}
	at := exec.Idle
	for i := range ks.wins {
		at = min(at, g.m.nextTarget(ks.wins[i].trig, from))
	}
	if at < ks.clock {
		ks.clock = at
		g.clocks.push(deadline[K]{at, r.hash, r.key})
	}
}

// wake asks for an Advance after the next processing-time target.
func (g *General[K, V, Acc]) wake() {
	if len(g.clocks) > 0 {
		g.env.WakeAt(g.clocks[0].at)
	}
}

// Restored rebuilds the indexes over restored stores.
func (g *General[K, V, Acc]) Restored(c *exec.Ctx) {
	g.p.read = false
	g.events, g.clocks, g.holds = g.events[:0], g.clocks[:0], g.holds[:0]
	for i := range g.keys.Chunks() {
		chunk := g.keys.Chunk(i)
		for j := range chunk {
			e := &chunk[j]
			ks := &e.Value
			ks.event, ks.clock, ks.held = exec.Idle, exec.Idle, exec.Idle
			g.schedule(ks, keyRef[K]{g.cfg.Key.Hash(e.Key), e.Key})
		}
	}
	g.wake()
}
