package direct

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
)

// newEnv returns the environment of n.
func (r *run) newEnv(n *node) exec.Env {
	if r.cfg.unchecked {
		return n.env
	}
	return keeper{n.env, r, n}
}

// keeper is the environment that makes pcoll hand out a context for each call.
type keeper struct {
	*opEnv
	run  *run
	node *node
}

// opEnv is host.Op under a name that leaves its method Op in reach.
type opEnv = host.Op

// ContextKept fails the run.
func (k keeper) ContextKept() {
	k.run.c.Op = int32(k.node.ID)
	k.run.c.Fail(errors.New("a function used its pcoll.Context after the call that received it had returned; " +
		"use the one that each call is given, and take what you need from it before returning"))
}

// checked returns input j of n, wrapped with the checks.
func (r *run) checked(n *node, j int) any {
	down := n.inst.In[j]
	if r.cfg.unchecked {
		return down
	}
	in, producer := n.Inputs[j], n.from[j]
	if in.Exchange == graph.Keyed {
		down = r.routed(n, j, down)
	}
	down, verify := in.Col.Edge.Checked(down, func(c *exec.Ctx, err error) {
		c.Op = int32(producer.ID)
		c.Fail(fmt.Errorf("output read by %s: %w", n.Name, err))
	})
	r.verify = append(r.verify, verify)
	return down
}

// routed wraps keyed input j of n with the check that a key is routed to the same
// worker each time, also after its element has been encoded and decoded.
func (r *run) routed(n *node, j int, down any) any {
	edge := n.Inputs[j].Col.Edge
	route := reflect.ValueOf(n.Inputs[j].Route)
	trip := newTrip(edge)
	observed := edge.Tap(down, func(c *exec.Ctx, v any) {
		hash := routeOf(route, v)
		stable := hash == routeOf(route, v)
		if w, ok := trip.take(c); ok && stable {
			stable = hash == routeOf(route, w)
		}
		if !stable {
			c.Op = int32(n.ID)
			c.Fail(fmt.Errorf("the key of %+v is not the same each time it is encoded, and would be on two workers at once; "+
				"make keys of strings, integers and structs of them", v))
			return
		}
		if r.cfg.observe != nil {
			r.cfg.observe(n.Node, j, exec.GroupOf(hash))
		}
	})
	return edge.Fanout([]any{trip.in, observed})
}

func routeOf(route reflect.Value, v any) uint64 {
	arg := reflect.ValueOf(v)
	if !arg.IsValid() { // a nil interface
		arg = reflect.Zero(route.Type().In(0))
	}
	return route.Call([]reflect.Value{arg})[0].Uint()
}

// A trip sends elements through their coder and back without knowing their type.
type trip struct {
	edge   exec.Edge
	in     any // Input[T], where an element starts
	flush  func(*exec.Ctx)
	feed   exec.Feeder
	batch  exec.Batch
	copied any // what came back
}

func newTrip(edge exec.Edge) *trip {
	t := &trip{edge: edge}
	w := edge.Writer(nil, 1, t)
	t.in, t.flush = w.In, w.Flush
	t.feed = edge.Feeder(edge.Tap(edge.Fanout(nil), func(_ *exec.Ctx, v any) { t.copied = v }))
	return t
}

// Send takes the batch that the element is in.
func (t *trip) Send(_ int, b exec.Batch) bool { t.batch = b; return false }

// Free returns nothing: the batch is still to be read.
func (t *trip) Free(int) exec.Batch { return nil }

// take returns the copy of the element that was put in. ok is false if it cannot
// be encoded or decoded, which the check of the edge reports.
func (t *trip) take(c *exec.Ctx) (v any, ok bool) {
	t.flush(c)
	enc, err := t.edge.Encode(nil, t.batch, 0)
	if err != nil {
		return nil, false
	}
	b, err := t.edge.Decode(enc)
	if err != nil || b.Len() != 1 {
		return nil, false
	}
	t.feed(c, b, 0, 1)
	return t.copied, true
}
