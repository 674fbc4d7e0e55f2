package panes

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A machine is a trigger compiled to a flat list of nodes in preorder. What it
// remembers of one window is a slice of size words, all zero at the start:
// first a finished bit for each node, then the count or target of each leaf
// that has one. A machine of size 0 remembers nothing.
//
// The rules are those of Beam Java's trigger state machines, quirks included:
// finished bits inside an early trigger survive its firings, AfterWatermark
// treats a merge of windows without state as finished in all of them.
type machine struct {
	nodes   []node
	bits    int // words of finished bits
	size    int
	targets []int // values that are processing-time targets
	merging bool
}

type node struct {
	kind strategy.TriggerKind
	subs []int
	end  int // the first node after the subtree
	val  int // index of its value in the state
	t    *strategy.Trigger
}

// plain reports whether a watermark node has neither early nor late firings.
func (n *node) plain() bool { return len(n.subs) == 0 }

// sight is what a trigger sees of one window.
type sight struct {
	st      []int64
	wm, now exec.Time
	max     exec.Time // of the window
	// timed is set when a node asks to be looked at when the window ends.
	timed bool
}

func (s *sight) ended() bool { return s.wm > s.max }

func newMachine(t *strategy.Trigger, merging bool) *machine {
	m := &machine{merging: merging}
	m.compile(t)
	switch t.Kind {
	case strategy.OnDefault, strategy.OnAlways, strategy.OnNever:
		return m // never finishes and counts nothing
	}
	m.bits = (len(m.nodes) + 63) / 64
	m.size = m.bits
	for i := range m.nodes {
		switch n := &m.nodes[i]; n.kind {
		case strategy.OnProcessingTime, strategy.OnSynchronizedTime:
			m.targets = append(m.targets, m.size)
			fallthrough
		case strategy.OnCount:
			n.val = m.size
			m.size++
		}
	}
	return m
}

func (m *machine) compile(t *strategy.Trigger) int {
	i := len(m.nodes)
	m.nodes = append(m.nodes, node{kind: t.Kind, t: t})
	subs := t.Subs
	if t.Kind == strategy.OnWatermark {
		switch {
		case t.Early() == nil && t.Late() == nil:
			subs = nil
		case t.Early() == nil:
			subs = []*strategy.Trigger{{Kind: strategy.OnNever}, t.Late()}
		case t.Late() == nil:
			subs = subs[:1]
		}
	}
	var nodes []int
	for _, s := range subs {
		nodes = append(nodes, m.compile(s))
	}
	m.nodes[i].subs, m.nodes[i].end = nodes, len(m.nodes)
	return i
}

func (m *machine) finished(st []int64, i int) bool {
	return m.bits > 0 && st[i/64]>>(i%64)&1 != 0
}

func (m *machine) setFinished(st []int64, i int, on bool) {
	switch {
	case m.bits == 0:
	case on:
		st[i/64] |= 1 << (i % 64)
	default:
		st[i/64] &^= 1 << (i % 64)
	}
}

// unfinished returns the first sub of n that is not finished, or -1.
func (m *machine) unfinished(st []int64, n *node) int {
	for _, s := range n.subs {
		if !m.finished(st, s) {
			return s
		}
	}
	return -1
}

// forget clears what all nodes remember and keeps the finished bits.
func (m *machine) forget(st []int64) {
	if m.size > 0 {
		clear(st[m.bits:])
	}
}

// A target is stored so that 0 means none.
func packTime(t exec.Time) int64   { return int64(t-exec.MinTime) + 1 }
func unpackTime(v int64) exec.Time { return exec.Time(v-1) + exec.MinTime }

// nextTarget returns the least target of st that is not before from, or exec.Idle.
func (m *machine) nextTarget(st []int64, from exec.Time) exec.Time {
	next := exec.Idle
	for _, v := range m.targets {
		if st[v] != 0 {
			if t := unpackTime(st[v]); t >= from && t < next {
				next = t
			}
		}
	}
	return next
}

// target returns when a pane whose first element comes at now is due.
func target(t *strategy.Trigger, now exec.Time) exec.Time {
	at := now.Add(t.Delay)
	if p := t.AlignPeriod; p > 0 {
		m := (int64(at) - t.AlignOffset) % p
		if m < 0 {
			m += p
		}
		if m > 0 {
			at = at.Add(p - m)
		}
	}
	return at
}

// onElement tells node i of n elements.
func (m *machine) onElement(s *sight, i int, n int64) {
	d := &m.nodes[i]
	switch d.kind {
	case strategy.OnDefault:
		s.timed = s.timed || !s.ended()
	case strategy.OnCount:
		s.st[d.val] += n
	case strategy.OnProcessingTime, strategy.OnSynchronizedTime:
		if s.st[d.val] == 0 {
			s.st[d.val] = packTime(target(d.t, s.now))
		}
	case strategy.OnWatermark, strategy.OnEach:
		if d.kind == strategy.OnWatermark && !s.ended() {
			s.timed = true
		}
		// A merge may take the trigger back to an earlier sub, so where windows
		// merge all are kept informed.
		if !m.merging {
			if u := m.unfinished(s.st, d); u >= 0 {
				m.onElement(s, u, n)
			}
			return
		}
		fallthrough
	case strategy.OnRepeatedly, strategy.OnAny, strategy.OnOrFinally:
		for _, u := range d.subs {
			m.onElement(s, u, n)
		}
	case strategy.OnAll:
		for _, u := range d.subs {
			if !m.finished(s.st, u) {
				m.onElement(s, u, n)
			}
		}
	}
}

// ready reports whether node i would fire.
func (m *machine) ready(s *sight, i int) bool {
	d := &m.nodes[i]
	switch d.kind {
	case strategy.OnDefault:
		return s.ended()
	case strategy.OnAlways:
		return true
	case strategy.OnCount:
		return s.st[d.val] >= d.t.N
	case strategy.OnProcessingTime, strategy.OnSynchronizedTime:
		return s.st[d.val] != 0 && s.now > unpackTime(s.st[d.val])
	case strategy.OnWatermark:
		switch {
		case d.plain():
			return s.ended()
		case !m.finished(s.st, d.subs[0]):
			return s.ended() || m.ready(s, d.subs[0])
		default:
			return len(d.subs) > 1 && m.ready(s, d.subs[1])
		}
	case strategy.OnRepeatedly:
		return m.ready(s, d.subs[0])
	case strategy.OnAny:
		for _, u := range d.subs {
			if m.finished(s.st, u) || m.ready(s, u) {
				return true
			}
		}
	case strategy.OnAll:
		for _, u := range d.subs {
			if !m.finished(s.st, u) && !m.ready(s, u) {
				return false
			}
		}
		return true
	case strategy.OnEach:
		u := m.unfinished(s.st, d)
		return u >= 0 && m.ready(s, u)
	case strategy.OnOrFinally:
		return m.ready(s, d.subs[0]) || m.ready(s, d.subs[1])
	}
	return false
}

// fire makes node i, which is ready, ready for the next pane.
func (m *machine) fire(s *sight, i int) {
	d := &m.nodes[i]
	switch d.kind {
	case strategy.OnCount, strategy.OnProcessingTime, strategy.OnSynchronizedTime:
		s.st[d.val] = 0
		m.setFinished(s.st, i, true)
	case strategy.OnWatermark:
		m.fireWatermark(s, i)
	case strategy.OnRepeatedly:
		u := d.subs[0]
		m.fire(s, u)
		if m.finished(s.st, u) {
			for j := u; j < m.nodes[u].end; j++ {
				m.setFinished(s.st, j, false)
			}
			m.clear(s.st, u)
		}
	case strategy.OnAny:
		for _, u := range d.subs {
			if m.ready(s, u) {
				m.fire(s, u)
			} else {
				m.clear(s.st, u) // the pane that it waited for is gone
			}
		}
		m.setFinished(s.st, i, true)
	case strategy.OnAll:
		for _, u := range d.subs {
			m.fire(s, u)
		}
		m.setFinished(s.st, i, true)
	case strategy.OnEach:
		if u := m.unfinished(s.st, d); u >= 0 {
			m.fire(s, u)
		}
		if m.merging {
			m.clear(s.st, i)
		}
		m.setFinished(s.st, i, m.unfinished(s.st, d) < 0)
	case strategy.OnOrFinally:
		if m.ready(s, d.subs[1]) {
			m.fire(s, d.subs[1])
			m.clear(s.st, d.subs[0])
		} else {
			m.fire(s, d.subs[0]) // and until goes on counting across panes
		}
		m.setFinished(s.st, i, m.finished(s.st, d.subs[0]) || m.finished(s.st, d.subs[1]))
	}
}

func (m *machine) fireWatermark(s *sight, i int) {
	d := &m.nodes[i]
	if d.plain() {
		m.setFinished(s.st, i, true)
		return
	}
	early, last := d.subs[0], d.subs[len(d.subs)-1]
	switch {
	case m.finished(s.st, early) && last == early:
		m.setFinished(s.st, i, true)
	case m.finished(s.st, early):
		m.fire(s, last)
		m.clear(s.st, last)
		m.setFinished(s.st, last, false)
	case !s.ended():
		m.fire(s, early)
		m.clear(s.st, early)
		m.setFinished(s.st, early, false)
	default: // the end of the window ends early firings, ready or not
		if m.ready(s, early) {
			m.fire(s, early)
		}
		m.setFinished(s.st, early, true)
		m.clear(s.st, early)
		if last == early {
			m.setFinished(s.st, i, true)
		} else {
			m.clear(s.st, last)
		}
	}
}

// clear forgets what the subtree of i remembers; finished bits stay.
func (m *machine) clear(st []int64, i int) {
	for j := i; j < m.nodes[i].end; j++ {
		if v := m.nodes[j].val; v > 0 {
			st[v] = 0
		}
	}
}

// merge makes s.st, the state of the merge result, follow from the states of
// the windows that were merged into it; that of the result itself is among
// them, as a copy, if it was there before.
func (m *machine) merge(s *sight, i int, from [][]int64) {
	d := &m.nodes[i]
	switch d.kind {
	case strategy.OnCount:
		sum := int64(0)
		for _, f := range from {
			if m.finished(f, i) {
				m.setFinished(s.st, i, true)
				s.st[d.val] = 0
				return
			}
			sum += f[d.val]
		}
		s.st[d.val] = sum
	case strategy.OnProcessingTime, strategy.OnSynchronizedTime:
		s.st[d.val] = 0
		if m.finished(s.st, i) {
			return
		}
		for _, f := range from {
			if v := f[d.val]; v != 0 && (s.st[d.val] == 0 || v < s.st[d.val]) {
				s.st[d.val] = v
			}
		}
	case strategy.OnWatermark:
		m.mergeWatermark(s, i, from)
	case strategy.OnRepeatedly:
		m.merge(s, d.subs[0], from)
	case strategy.OnAny, strategy.OnOrFinally, strategy.OnAll:
		some, all := false, true
		for _, u := range d.subs {
			m.merge(s, u, from)
			f := m.finished(s.st, u)
			some, all = some || f, all && f
		}
		m.setFinished(s.st, i, all || some && d.kind != strategy.OnAll)
	case strategy.OnEach:
		done := true
		for _, u := range d.subs {
			if done {
				m.merge(s, u, from)
				done = m.finished(s.st, u)
			} else {
				m.clear(s.st, u)
			}
		}
		m.setFinished(s.st, i, m.unfinished(s.st, d) < 0)
	}
}

func (m *machine) mergeWatermark(s *sight, i int, from [][]int64) {
	d := &m.nodes[i]
	bit := i
	if !d.plain() {
		bit = d.subs[0]
	}
	done := s.ended()
	for _, f := range from {
		done = done && m.finished(f, bit)
	}
	if d.plain() {
		m.setFinished(s.st, i, done)
		return
	}
	if !done { // something pending was never fired: back to the early trigger
		m.merge(s, bit, from)
	}
	m.setFinished(s.st, bit, done)
	if len(d.subs) > 1 {
		if late := d.subs[1]; done {
			m.merge(s, late, from)
		} else {
			m.setFinished(s.st, late, false)
			m.clear(s.st, late)
		}
	}
}
