package engine

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
)

// Status is what a step leaves a task in.
type Status uint8

// The states of a task after a step.
const (
	Running Status = iota // call Step again
	Parked                // nothing to do until Signal wakes or WakeAt is past
	Blocked               // a consumer has no room, or work beside the task is to return before a pass goes on; Signal wakes then
	Done                  // everything was emitted and Finish was called
	Failed                // see Err
)

const (
	// flushWatermark is how long, in ms, a moved watermark may wait to be sent
	// while the task is busy: batches fill and combiners combine meanwhile.
	flushWatermark = 10
	// flushData is the same for elements behind an unmoved watermark.
	flushData = 50
)

// Step makes some progress: feeds a batch, polls a root, or goes on with a pass
// over the operators. It never waits.
func (t *Task) Step() (s Status) {
	host.Guard(t.c, func() { s = t.step() })
	if t.c.Err != nil {
		t.publish()
		return Failed
	}
	return s
}

func (t *Task) step() Status {
	if t.finished {
		return Done
	}
	if t.blocked() {
		return Blocked
	}
	t.c.Full = false
	if t.passing {
		return t.pass()
	}
	if m, ok := t.Mail.Pop(); ok {
		t.obey(m)
		return Running
	}
	if !t.eng.opt.Scripted && t.returned(0) {
		t.begin()
		return Running
	}
	if !t.sated(0) && (t.feed() || t.poll()) {
		return Running
	}
	if t.eng.opt.Scripted && t.aligned() {
		t.begin()
		return Running
	}
	if t.over() {
		t.finish()
		return Running
	}
	if t.eng.opt.Scripted {
		return Parked
	}
	if now := t.eng.opt.Clock.Now(); now > t.WakeAt() {
		t.begin()
		return Running
	}
	if t.dirty {
		t.flush()
		return Running
	}
	t.publish()
	return Parked
}

// blocked reports whether some consumer has no room.
func (t *Task) blocked() bool {
	if !t.full && !t.c.Full {
		return false
	}
	t.full = false
	for _, o := range t.outs {
		if o.full() {
			t.full = true
			return true
		}
	}
	return false
}

// returned reports whether some operator, from number from on, has work to collect
// that was done beside the task.
func (t *Task) returned(from int) bool {
	for _, o := range t.ops[from:] {
		if o.env.Returned() {
			return true
		}
	}
	return false
}

// sated reports whether some operator, from number from on, waits for so much work
// beside the task that it wants no further elements. A turn of a script is taken whole.
func (t *Task) sated(from int) bool {
	if t.eng.opt.Scripted {
		return false
	}
	for _, i := range t.limited {
		if i >= from && t.ops[i].inst.Full() {
			return true
		}
	}
	return false
}

// WakeAt returns when the task wants to run again if nothing wakes it, or Idle.
func (t *Task) WakeAt() exec.Time {
	at := exec.Idle
	for _, o := range t.ops {
		at = min(at, o.env.NextWake())
	}
	return at
}

// obey carries out a command.
func (t *Task) obey(m Command) {
	if m.Assign {
		for _, o := range t.ops {
			if o.op.Number == m.Root && o.inst.Assign != nil {
				t.c.Op = m.Root
				if err := o.inst.Assign(m.Splits); err != nil {
					t.c.Fail(err)
				}
				if o.root != ended {
					o.root = awake
				}
			}
		}
		return
	}
	t.commanded, t.last = m.Turn, m.Last
	for _, o := range t.ops {
		if o.root == scripted && m.Event >= 0 {
			for _, r := range m.Roots {
				if r == o.op.Number {
					t.c.Op = r
					o.inst.Step(t.c, m.Event)
				}
			}
		}
		if m.Last && o.root == scripted {
			o.root = ended
		}
	}
	t.dirty = true
}

// feed takes the next message of some queue that is not held.
func (t *Task) feed() bool {
	n := len(t.queues)
	for i := range n {
		k := (t.next + i) % n
		q := t.queues[k]
		if q.ended || q.turn >= 0 {
			continue
		}
		if q.batch == nil {
			m, ok := q.q.Pop()
			if !ok {
				continue
			}
			if m.kind != data {
				t.next = k
				t.control(q, m)
				return true
			}
			q.batch, q.fed = m.batch, 0
		}
		t.next = k
		t.feedBatch(q)
		return true
	}
	return false
}

func (t *Task) feedBatch(q *inQueue) {
	from := q.fed
	q.fed = q.inlet.feed(t.c, q.batch, from, q.batch.Len()-from)
	if q.inlet.count != nil {
		q.inlet.count.N += int64(q.fed - from)
	}
	t.dirty = true
	if q.fed < q.batch.Len() {
		t.full = true // the rest waits at the head of the queue
		return
	}
	q.q.Recycle(message{batch: q.batch})
	q.batch = nil
	t.next++
	if !t.eng.opt.Scripted {
		t.begin()
	}
}

// control takes a control message.
func (t *Task) control(q *inQueue, m message) {
	switch m.kind {
	case watermark:
		q.time, q.last = m.time, m.last
	case turn:
		q.turn = m.turn
		return
	case end:
		q.time, q.ended = exec.MaxTime, true
	}
	t.dirty = true
	if !t.eng.opt.Scripted {
		t.begin()
	}
}

// poll reads from the roots that are awake.
func (t *Task) poll() bool {
	if t.eng.opt.Scripted && t.commanded < 0 {
		return false // the script has not begun
	}
	polled := false
	for _, o := range t.ops {
		// Another root may keep the task busy: it need not park for this one to be heard.
		if (o.root == awake || o.root == dormant) && o.env.TakeWoken() {
			o.root = awake
		}
		if o.root != awake {
			continue
		}
		if o.inst.Poll == nil {
			o.root = ended
			polled = true
			continue
		}
		polled = true
		t.c.Op = o.op.Number
		switch o.inst.Poll(t.c, t.eng.opt.BatchRows) {
		case exec.Waiting:
			o.root = dormant
		case exec.Ended:
			o.root = ended
		}
		if t.c.Full {
			break
		}
	}
	if polled {
		t.dirty = true
		if !t.eng.opt.Scripted {
			t.begin()
		}
	}
	return polled
}

// begin starts a pass: the end of a turn for every operator, in order. What it
// releases has to be sent, also when nothing came in and only the clock moved.
func (t *Task) begin() { t.passing, t.at, t.turned, t.dirty = true, 0, false, true }

// pass calls Turn and Advance of each operator, in order. It stops where an
// operator has more to fire than consumers have room for, and goes on there.
// Under a script it waits at an operator for its work beside the task.
func (t *Task) pass() Status {
	now := t.eng.opt.Clock.Now()
	for ; t.at < len(t.ops); t.at++ {
		o := t.ops[t.at]
		if !t.turned {
			t.c.Op = o.op.Number
			o.env.Collect()
			if t.eng.opt.Scripted && o.env.Running() > 0 {
				return Parked
			}
			t.turned = true
			if o.inst.Turn != nil {
				o.inst.Turn(t.c)
			}
		}
		if t.c.Err != nil {
			return Running
		}
		sated := t.sated(t.at + 1)
		t.c.Full = t.c.Full || sated
		if o.advance(t.c, now) || t.c.Err != nil {
			t.full = true
			if sated || t.sated(t.at+1) {
				t.halted = append(t.halted, t.at)
				t.at, t.turned = t.at+1, false
			}
			return Running
		}
		t.turned = false
	}
	if len(t.halted) > 0 {
		return t.resume()
	}
	t.passing = false
	if t.eng.opt.Scripted {
		t.endTurn()
		return Running
	}
	if t.dirty && (now >= t.flushed.Add(flushData) || now >= t.flushed.Add(flushWatermark) && t.moved()) {
		t.flush()
	}
	return Running
}

// resume goes on with the last operator that had more to fire than the operators
// behind it want. Until those want more, it takes up for them what returns.
func (t *Task) resume() Status {
	last := len(t.halted) - 1
	o := t.halted[last]
	switch {
	case !t.sated(o + 1):
		t.at, t.turned, t.halted = o, true, t.halted[:last]
	case t.returned(o + 1):
		t.at, t.turned = o+1, false
	default:
		if t.dirty {
			t.flush() // what was emitted need not wait
		}
		return Blocked
	}
	t.dirty = true
	return Running
}

// moved reports whether some watermark is ahead of what consumers know.
func (t *Task) moved() bool {
	for _, o := range t.outs {
		if w, last := o.from.say(); o.sent != [2]exec.Time{w, last} {
			return true
		}
	}
	return false
}

// flush sends what waits: partial results, partial batches, then watermarks.
func (t *Task) flush() {
	for _, o := range t.ops {
		if o.inst.Flush != nil {
			t.c.Op = o.op.Number
			o.inst.Flush(t.c)
		}
	}
	for _, o := range t.outs {
		o.flush(t.c)
		o.tell()
	}
	t.dirty, t.flushed = false, t.eng.opt.Clock.Now()
	t.publish()
}

// over reports whether nothing more can come in.
func (t *Task) over() bool {
	if t.eng.opt.Scripted && t.roots && !t.last {
		return false // its markers are waited for, also when its own sources have ended
	}
	for _, q := range t.queues {
		if !q.ended {
			return false
		}
	}
	for _, o := range t.ops {
		if o.root != notRoot && o.root != ended || o.env.Running() > 0 {
			return false
		}
	}
	return true
}

// finish ends the task. The first call makes a last pass, in which every
// watermark is at the end of time.
func (t *Task) finish() {
	if !t.lastPass {
		t.lastPass = true
		t.begin()
		return
	}
	t.flush()
	for _, o := range t.ops {
		if o.inst.Finish != nil {
			t.c.Op = o.op.Number
			o.inst.Finish(t.c)
		}
	}
	if t.c.Err != nil {
		return
	}
	for _, o := range t.outs {
		o.control(message{kind: end})
	}
	t.finished = true
	t.publish()
}
