package direct

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/progress"
)

// execute runs the pipeline until all is done.
func (r *run) execute() error {
	if err := r.read(); err != nil {
		return err
	}
	if r.script != nil {
		if err := r.play(); err != nil {
			return err
		}
	}
	return r.drain()
}

// read polls the sources that no script drives until all have ended.
func (r *run) read() error {
	var roots []*node
	for _, n := range r.roots {
		if n.inst.Poll != nil {
			roots = append(roots, n)
		}
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		ready := false
		for _, n := range r.order(roots) {
			if n.status == exec.Ended {
				continue
			}
			if err := r.list(n); err != nil {
				return err
			}
			if err := r.poll(n); err != nil {
				return err
			}
			ready = ready || n.status == exec.Ready
		}
		if ended(roots) {
			return nil
		}
		if !ready && !r.due() {
			r.park()
		}
	}
}

// park waits until a source or the clock wakes the run. A scripted clock does
// not move by itself.
func (r *run) park() {
	at := exec.Idle
	for _, n := range r.nodes {
		if r.manual == nil {
			at = min(at, n.env.NextWake(), n.relistAt)
		}
	}
	r.signal.Wait(r.ctx, r.clock.Now(), at)
}

func ended(roots []*node) bool {
	for _, n := range roots {
		if n.status != exec.Ended {
			return false
		}
	}
	return true
}

// poll reads some elements of a root and completes the turn.
func (r *run) poll(n *node) error {
	n.status = exec.Waiting
	n.env.TakeWake(r.clock.Now())
	r.c.Full = false
	if err := r.call(n, func() { n.status = n.inst.Poll(r.c, MaxTurn) }); err != nil {
		return err
	}
	if n.status == exec.Ended {
		n.relistAt = exec.Idle
	}
	return r.turn()
}

// play delivers the events of the script, each settled before the next: elements or
// a watermark to their root, an advance of the clock, or, with neither, the end to all roots.
func (r *run) play() error {
	for i, e := range r.script.Events {
		r.manual.Advance(e.Clock)
		for _, n := range r.roots {
			if n.inst.Step == nil || e.Root == nil && e.Clock != 0 || e.Root != nil && e.Root != n.Op {
				continue
			}
			if err := r.call(n, func() { n.inst.Step(r.c, i) }); err != nil {
				return err
			}
		}
		if err := r.settle(); err != nil {
			return err
		}
	}
	for _, n := range r.roots {
		n.status = exec.Ended
	}
	return r.settle()
}

// settle ends the bundle and takes further turns until nothing is due.
func (r *run) settle() error {
	if err := r.turn(); err != nil {
		return err
	}
	for r.due() {
		if err := r.turn(); err != nil {
			return err
		}
	}
	return nil
}

// turn ends the bundle: each operator in topological order evaluates what it
// was sent and then what its input watermarks and the clock make due. What it
// releases thereby reaches its consumers before they hear of its watermark, and
// is part of their bundle of the same turn.
func (r *run) turn() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	now := r.clock.Now()
	for _, n := range r.nodes {
		if !n.polled() { // a root's request is served by polling it
			n.env.TakeWake(now)
		}
	}
	for _, n := range r.nodes {
		if err := r.collect(n); err != nil {
			return err
		}
		if n.inst.Turn != nil {
			if err := r.call(n, func() { n.inst.Turn(r.c) }); err != nil {
				return err
			}
		}
		if err := r.advance(n); err != nil {
			return err
		}
	}
	for _, check := range r.verify {
		check(r.c)
	}
	return r.failure()
}

// collect waits for all work of n beside the run, so that what comes of a turn is
// part of it.
func (r *run) collect(n *node) error {
	for n.env.Running() > 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if !n.env.Returned() {
			r.signal.Wait(r.ctx, r.clock.Now(), exec.Idle)
			defer r.signal.Wake() // it may have been for a source: park will look again
			continue
		}
		if err := r.call(n, n.env.Collect); err != nil {
			return err
		}
	}
	return nil
}

// advance moves the watermarks of n.
func (r *run) advance(n *node) error {
	idle := n.observe()
	low := n.least()
	out := progress.Min(n.in)
	if n.root() {
		out = exec.MinTime
	}
	if n.inst.Advance != nil {
		for more := true; more; {
			r.c.Full = false
			if err := r.call(n, func() { out, more = n.inst.Advance(r.c, n.in) }); err != nil {
				return err
			}
			if more && out != exec.Idle {
				n.out = max(n.out, out) // a source says where it came to, and then that it is idle
			}
		}
	}
	if n.root() && n.status == exec.Ended {
		out = exec.MaxTime
	}
	// Whoever holds back more than its inputs do has a say even while they have none.
	n.idle = out == exec.Idle || idle && out >= low && !(n.inst.Holds != nil && n.inst.Holds())
	if out != exec.Idle {
		n.out = max(n.out, out)
	}
	return nil
}

// observe takes over the watermarks of the producers of n and reports whether
// none of those that may still deliver has a say. Operators never see Idle: an
// idle input counts as being where the least of the others is, or as where it
// was itself if there is none. Inputs that have ended do not count for that: the end
// of one stream says nothing of where another is. Nor do side inputs say where main
// inputs are: only those count for whether the operator is idle.
func (n *node) observe() (idle bool) {
	low, all := exec.Idle, exec.Idle // of live main inputs, and of all live ones
	for i, p := range n.from {
		w := exec.Idle
		if !p.idle && p.out < exec.MaxTime {
			w = p.out
		}
		all = min(all, w)
		if !n.side(i) {
			low, idle = min(low, w), idle || p.idle
		}
	}
	for i, p := range n.from {
		w := p.out
		if beside := low; p.idle {
			if n.side(i) {
				beside = all
			}
			if beside != exec.Idle {
				w = beside
			}
		}
		n.in[i] = max(n.in[i], w)
	}
	return idle && low == exec.Idle
}

// side reports whether input i is a side input.
func (n *node) side(i int) bool { return n.Inputs[i].Side != nil }

// least returns the least watermark of the main inputs.
func (n *node) least() exec.Time {
	low := exec.Idle
	for i, w := range n.in {
		if !n.side(i) {
			low = min(low, w)
		}
	}
	return low
}

// polled reports whether n is a root that is still to be polled.
func (n *node) polled() bool { return n.inst.Poll != nil && n.status != exec.Ended }

// due reports whether a time that an operator asked to be woken for has passed.
func (r *run) due() bool {
	now := r.clock.Now()
	for _, n := range r.nodes {
		if now > n.env.NextWake() {
			return true
		}
	}
	return false
}

// drain waits until all operators have let go of their watermarks, as all inputs have.
func (r *run) drain() error {
	for held := r.held(); held != nil; held = r.held() {
		if held.env.NextWake() == exec.Idle || r.manual != nil {
			return fmt.Errorf("%s holds its output watermark at %v although its input has ended; this is a bug of the transform", held.Name, held.out)
		}
		r.park()
		if err := r.turn(); err != nil {
			return err
		}
	}
	return nil
}

// held returns the first operator whose output watermark is not at the end of time.
func (r *run) held() *node {
	for _, n := range r.nodes {
		if n.out < exec.MaxTime {
			return n
		}
	}
	return nil
}

// publish ends the run: everything is prepared before anything is published.
func (r *run) publish() error {
	for _, n := range r.nodes {
		if n.inst.Finish != nil {
			if err := r.call(n, func() { n.inst.Finish(r.c) }); err != nil {
				return err
			}
		}
	}
	for _, n := range r.nodes {
		if n.inst.Commit != nil {
			if err := r.call(n, func() { n.inst.Commit(r.c) }); err != nil {
				return err
			}
		}
	}
	return nil
}
