package engine

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/progress"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
)

// outlet is the sending end of a channel on one worker. It is the exec.Outlet of a Writer.
type outlet struct {
	channel *plan.Channel
	queues  []*queue
	from    *opState
	flush   func(*exec.Ctx)
	sent    [2]exec.Time // what the operator said last
}

// Send passes a batch to a consumer.
func (o *outlet) Send(part int, b exec.Batch) bool {
	return o.queues[part].Push(message{kind: data, batch: b}, true)
}

// Free returns a batch that the consumer is done with.
func (o *outlet) Free(part int) exec.Batch {
	m, ok := o.queues[part].Free()
	if !ok {
		return nil
	}
	return m.batch
}

func (o *outlet) control(m message) {
	for _, q := range o.queues {
		q.Push(m, false)
	}
}

// tell sends what the operator says of its watermark, if it is news. What the
// consumer has not seen yet is replaced.
func (o *outlet) tell() {
	w, last := o.from.say()
	if o.sent == [2]exec.Time{w, last} {
		return
	}
	o.sent = [2]exec.Time{w, last}
	for _, q := range o.queues {
		q.Replace(message{kind: watermark, time: w, last: last}, func(m message) bool { return m.kind == watermark })
	}
}

func (o *outlet) full() bool {
	for _, q := range o.queues {
		if q.Full() {
			return true
		}
	}
	return false
}

// inlet is the receiving end of a channel on one worker.
type inlet struct {
	channel *plan.Channel
	queues  []*inQueue
	feed    exec.Feeder
	count   *exec.Counter // elements received over a keyed exchange, or nil
}

// watermark returns the least watermark of the channel's producers, or Idle, and
// where the furthest of those that have not ended came to.
func (n *inlet) watermark() (w, last exec.Time) {
	low, idle, last := exec.Idle, false, exec.MinTime
	for _, q := range n.queues {
		idle = idle || q.time == exec.Idle
		if q.time < exec.MaxTime {
			low = min(low, q.time)
		}
		if !q.ended {
			last = max(last, q.last)
		}
	}
	if low == exec.Idle && !idle {
		return exec.MaxTime, exec.MaxTime
	}
	return low, last // one that has ended says nothing of where an idle one is
}

// inQueue is a queue with what the consumer knows of its producer.
type inQueue struct {
	q     *queue
	from  *Task
	inlet *inlet
	time  exec.Time // watermark, Idle if it has no say
	last  exec.Time // what it was before it was Idle
	turn  int       // marker at which the queue is held, or -1
	ended bool
	batch exec.Batch // partly fed
	fed   int        // elements of it
}

// opState is one operator of a task.
type opState struct {
	op   *plan.Op
	env  opEnv
	inst exec.Instance
	src  []func() (w, last exec.Time) // watermark of each input, or Idle and what it was before
	kin  []*plan.Op                   // producer of each input
	side []bool                       // which of them are side inputs
	now  [][2]exec.Time               // what src said last
	in   []exec.Time                  // what the operator knows of its inputs: never goes back
	out  exec.Time                    // own output watermark
	idle bool                         // all inputs are idle and nothing is held: no say
	root rootState
}

// rootState is how far a root has been read.
type rootState uint8

const (
	notRoot  rootState = iota
	awake              // may have elements
	dormant            // waits to be woken
	scripted           // emits when the script says so
	ended
)

// refresh reads the watermarks of the inputs. An idle input counts as being
// where the least of the live ones is, or as where it was itself if there is none;
// one that has ended says nothing of where another is. Nor does one of the
// same producer: that has a say again on all its channels, but this is heard on
// one after the other, and what is on its way on the others must not become late.
// And side inputs say nothing of where main inputs are: the operator is idle when those are.
func (o *opState) refresh() {
	low := exec.Idle
	o.idle = false
	for i, f := range o.src {
		w, last := f()
		o.now[i] = [2]exec.Time{w, last}
		if o.side[i] {
			continue
		}
		o.idle = o.idle || w == exec.Idle
		if w < exec.MaxTime {
			low = min(low, w)
		}
	}
	for i, now := range o.now {
		w := now[0]
		if w == exec.Idle {
			if w = o.leastBeside(i); w == exec.Idle {
				w = now[1]
			}
		}
		o.in[i] = max(o.in[i], w)
	}
	o.idle = o.idle && low == exec.Idle
}

// leastBeside returns the least watermark of the live inputs of other producers than input i's, or Idle.
func (o *opState) leastBeside(i int) exec.Time {
	low := exec.Idle
	for j, now := range o.now {
		if now[0] < exec.MaxTime && o.kin[j] != o.kin[i] && (o.side[i] || !o.side[j]) {
			low = min(low, now[0])
		}
	}
	return low
}

// advance fires what is due and moves the output watermark.
func (o *opState) advance(c *exec.Ctx, now exec.Time) (more bool) {
	o.refresh()
	if o.env.TakeWake(now) && o.root == dormant {
		o.root = awake
	}
	out := progress.Min(o.in)
	if len(o.in) == 0 {
		out = exec.MinTime // until the root says more
	}
	if o.inst.Advance != nil {
		c.Op = o.op.Number
		out, more = o.inst.Advance(c, o.in)
	}
	if len(o.in) == 0 { // a root may have no say
		o.idle = out == exec.Idle
		if o.root == ended && !more {
			out, o.idle = exec.MaxTime, false
		}
	} else if o.idle && (out < o.least() || o.inst.Holds != nil && o.inst.Holds()) {
		o.idle = false // it holds something back, and has to say so
	}
	if out != exec.Idle {
		o.out = max(o.out, out)
	}
	return more
}

// least returns the least watermark of the main inputs.
func (o *opState) least() exec.Time {
	low := exec.Idle
	for i, w := range o.in {
		if !o.side[i] {
			low = min(low, w)
		}
	}
	return low
}

// say returns the operator's watermark as consumers see it, and, where that is
// Idle, what it was before.
func (o *opState) say() (w, last exec.Time) {
	if o.idle {
		return exec.Idle, o.out
	}
	return o.out, o.out
}
