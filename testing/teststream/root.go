package teststream

import (
	"encoding/binary"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// rootOp is a stream as the source of one pipeline.
type rootOp[T any] struct {
	stream   *Stream[T]
	pipeline *pcoll.Pipeline
}

// Script returns the events of all streams of the script in this pipeline.
func (o *rootOp[T]) Script() *exec.Script { return o.stream.script.in(o.pipeline) }

func (o *rootOp[T]) of() *Script { return o.stream.script }

func (o *rootOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	if at := o.stream.script.unread(o.pipeline); at != "" {
		return exec.Instance{}, fmt.Errorf("the script has an event (%s) of a stream that is no source of this pipeline; call its Source, "+
			"or leave it out of the script", at)
	}
	worker, _ := env.Worker()
	r := &root[T]{env: env, events: o.stream.events, end: o.stream.script.length(), emits: worker == 0,
		down: outs[0].(exec.Input[T]), elements: env.Counter(exec.Elements), wm: exec.MinTime}
	env.Keep("watermark", r)
	return exec.Instance{
		Step:    r.step,
		Advance: func(*exec.Ctx, []exec.Time) (exec.Time, bool) { return r.wm, false },
	}, nil
}

// root is a stream on one worker. All workers follow the watermark; the first
// one emits.
type root[T any] struct {
	env      exec.Env
	events   map[int]event[T]
	end      int
	emits    bool
	down     exec.Input[T]
	elements *exec.Counter
	wm       exec.Time
}

func (r *root[T]) step(c *exec.Ctx, i int) {
	e, ok := r.events[i]
	switch {
	case i >= r.end:
		r.wm = exec.MaxTime
	case !ok: // of another stream
	case e.elems == nil:
		r.wm = max(r.wm, e.watermark)
	case r.emits:
		r.emit(c, e.elems)
	}
}

func (r *root[T]) emit(c *exec.Ctx, elems []Timestamped[T]) {
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	c.Op = r.env.Op()
	for _, e := range elems {
		if c.Err != nil {
			break
		}
		c.Time, c.Window, c.Pane, c.Kind = e.time, exec.Global, exec.NoFiring, exec.Insert
		r.down(c, e.v)
		r.elements.N++
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
}

// Snapshot appends the watermark. A source belongs to no key group: it goes with group 0.
func (r *root[T]) Snapshot(dst []byte, group int) ([]byte, error) {
	if group != 0 {
		return dst, nil
	}
	return binary.AppendVarint(dst, int64(r.wm)), nil
}

// Restore reads what Snapshot wrote.
func (r *root[T]) Restore(src []byte) error {
	wm, n := binary.Varint(src)
	if n <= 0 || n != len(src) {
		return fmt.Errorf("teststream: the stored watermark has %d bytes and is damaged", len(src))
	}
	r.wm = exec.Clamp(exec.Time(wm))
	return nil
}
