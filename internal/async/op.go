package async

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A Resolver finds the results of elements on one worker.
type Resolver[I, R any] struct {
	// Resolve returns the result of an element, or the call that brings it, which
	// start was given.
	Resolve func(v I) (R, *Call[R])
	// Turn is called at the end of each turn, and Close at the end; nil: nothing to do.
	Turn  func()
	Close func() error
}

// An Op is the operator: elements of type I wait for results of type R and go on
// as elements of type O, or as failed ones of type F to a second output.
type Op[I, R, O, F any] struct {
	Settings
	Edge exec.Edge // of the input
	Open func(env exec.Env, start func(*Call[R])) (Resolver[I, R], error)
	// Result makes the element that goes on.
	Result func(v I, r R) O
	// Failed makes that of one whose call failed; nil: the run fails, and Remedy ends the message.
	Failed func(v I, c *Call[R]) F
	Remedy string
}

// backlog bounds the elements that wait, as a multiple of the limit of calls: so
// many may be ready and have to wait for one before them, or share calls.
const backlog = 64

// New makes the operator's instance.
func (o *Op[I, R, O, F]) New(env exec.Env, outs []any) (exec.Instance, error) {
	x := &instance[I, R, O, F]{Op: o, op: env.Op(), down: outs[0].(exec.Input[O]), good: env.Counter(exec.Emitted(0)),
		held: newHeld[I, R](env, o.Edge), calls: newCalls[R](env, &o.Settings), heard: exec.MinTime, env: env}
	if o.Failed != nil {
		x.failed, x.bad = outs[1].(exec.Input[F]), env.Counter(exec.Emitted(1))
	}
	var err error
	if x.Resolver, err = o.Open(env, x.calls.start); err != nil {
		return exec.Instance{}, err
	}
	env.Keep("waiting", x.held)
	return exec.Instance{In: []any{exec.Input[I](x.element)}, Turn: x.turn, Advance: x.advance, Full: x.full, Restored: x.restored,
		Close: x.Resolver.Close}, nil
}

type instance[I, R, O, F any] struct {
	*Op[I, R, O, F]
	Resolver[I, R]
	env       exec.Env
	op        int32
	down      exec.Input[O]
	failed    exec.Input[F]
	good, bad *exec.Counter
	held      *held[I, R]
	calls     *calls[R]
	heard     exec.Time // output watermark when consumers heard it last
	news      bool      // elements may have become ready
	asked     bool      // for another turn
}

// full reports that as many calls wait as run, or too many elements.
func (x *instance[I, R, O, F]) full() bool {
	return x.calls.waiting() >= x.Limit || x.held.n >= backlog*x.Limit
}

func (x *instance[I, R, O, F]) element(c *exec.Ctx, v I) {
	c.Op = x.op
	r, call := x.Resolve(v)
	if call == nil && (x.held.n == 0 || x.Unordered && x.held.first().wm >= x.held.wm && x.held.out >= x.held.wm) {
		x.good.N++
		x.down(c, x.Result(v, r))
		return
	}
	it := x.held.add(c, v, x.held.wm)
	it.val, it.call = r, call
	x.news = x.news || call == nil
	c.Full = c.Full || x.full()
}

// turn fails the run if a call did.
func (x *instance[I, R, O, F]) turn(c *exec.Ctx) {
	x.heard = x.held.out
	if x.Resolver.Turn != nil {
		x.Resolver.Turn()
	}
	x.news = x.news || x.calls.ended
	x.calls.ended = false
	if !x.calls.failed {
		return
	}
	x.calls.failed = false
	for i := x.held.head; i < len(x.held.items); i++ {
		if it := &x.held.items[i]; !it.gone && it.call != nil && it.call.ended {
			if err := x.fatal(it); err != nil {
				t, w := c.Time, c.Window
				c.Time, c.Window, c.Op = it.time, it.window, x.op
				c.Fail(err)
				c.Time, c.Window = t, w
				return
			}
		}
	}
}

// fatal returns why the run fails on an element whose call has ended, or nil.
func (x *instance[I, R, O, F]) fatal(it *item[I, R]) error {
	switch call := it.call; {
	case call.crash != nil:
		return fmt.Errorf("element %+v: %w", it.v, call.crash)
	case call.Err == nil || x.Failed != nil:
		return nil
	case call.Attempts > 1:
		return fmt.Errorf("element %+v: the last of %d attempts failed: %w; %s", it.v, call.Attempts, call.Err, x.Remedy)
	default:
		return fmt.Errorf("element %+v: %w; %s", it.v, call.Err, x.Remedy)
	}
}

// advance lets go on what is ready and has no watermark to wait for, and says the
// watermark behind it.
func (x *instance[I, R, O, F]) advance(c *exec.Ctx, in []exec.Time) (exec.Time, bool) {
	h := x.held
	h.wm = max(h.wm, in[0])
	if x.news {
		if x.release(c, in[0]) {
			return h.out, true
		}
		x.news = false
	}
	if h.n == 0 {
		h.out = max(h.out, in[0])
		return h.out, false
	}
	wm := min(h.first().wm, in[0])
	if wm <= h.out {
		// Whoever says less than its input holds something back, and is waited for
		// also while the input is idle. What was said before stays said.
		return min(h.out, in[0]-1), false
	}
	// The next elements came after a watermark that consumers hear of now: those that are ready follow.
	h.out = wm
	if !x.asked && x.ready() {
		x.asked = true
		x.env.Go(func(context.Context) {}, func(error) { x.asked, x.news = false, true })
	}
	return h.out, wm == in[0]
}

// ready reports whether some element may go on once its watermark is heard.
func (x *instance[I, R, O, F]) ready() bool {
	h := x.held
	for i := h.head; i < len(h.items) && h.items[i].wm == h.first().wm; i++ {
		if h.items[i].ready() {
			return true
		}
		if !x.Unordered {
			return false
		}
	}
	return false
}

// release lets ready elements go on, in order, up to the first that is not ready,
// or, unordered, up to the first watermark that has to wait; in any case only up to one that
// consumers have not heard of yet. It reports whether it had to stop because the
// outputs are full.
func (x *instance[I, R, O, F]) release(c *exec.Ctx, in exec.Time) (more bool) {
	h := x.held
	defer h.tidy()
	for h.n > 0 && min(h.first().wm, in) <= x.heard {
		wm, waits := h.first().wm, false
		for i := h.head; i < len(h.items) && h.items[i].wm == wm; i++ {
			it := &h.items[i]
			switch {
			case it.gone:
			case !it.ready():
				if waits = true; !x.Unordered {
					return false
				}
			case c.Full || c.Err != nil:
				return c.Err == nil
			default:
				x.emit(c, it)
				h.leave(it)
			}
		}
		if waits {
			return false
		}
		h.tidy()
	}
	return false
}

func (x *instance[I, R, O, F]) emit(c *exec.Ctx, it *item[I, R]) {
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	it.at(c)
	c.Op = x.op
	r := it.val
	if it.call != nil {
		r = it.call.Val
	}
	if it.call != nil && it.call.Err != nil {
		x.bad.N++
		x.failed(c, x.Failed(it.v, it.call))
	} else {
		x.good.N++
		x.down(c, x.Result(it.v, r))
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
}

// restored begins the calls of the elements that wait.
func (x *instance[I, R, O, F]) restored(c *exec.Ctx) {
	x.held.sort()
	x.heard = x.held.out
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	for i := range x.held.items {
		it := &x.held.items[i]
		it.at(c)
		c.Op = x.op
		it.val, it.call = x.Resolve(it.v)
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
	x.news = true
}
