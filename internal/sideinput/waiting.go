package sideinput

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
)

// waiting keeps main elements until their windows are ready, by window and in
// the order of arrival.
type waiting[T any] struct {
	edge   exec.Edge // of the main input: elements are kept as they travel
	route  func(T) uint64
	home   int // key group of all elements, without a route
	queues map[exec.Window]*queue[T]
	list   []exec.Window // ascending by end
}

// queue is the elements of a window.
type queue[T any] struct {
	items []item[T]
	head  int       // those before have been let through
	least exec.Time // of where they hold the watermark
}

type item[T any] struct {
	v     T
	time  exec.Time
	pane  exec.Pane
	kind  exec.Kind
	group int
	hold  exec.Time // of the watermark
}

// add keeps an element that came at watermark wm. If it is late it does not hold the
// watermark behind that: where it still could depends on what else waits on the worker.
func (s *waiting[T]) add(c *exec.Ctx, v T, wm exec.Time) {
	s.put(c, v, max(wm, min(c.Time, c.Window.Max()))) // a time that was given after the window may lie behind it
}

func (s *waiting[T]) put(c *exec.Ctx, v T, hold exec.Time) {
	q := s.queues[c.Window]
	if q == nil {
		q = &queue[T]{least: exec.Idle}
		s.queues[c.Window] = q
		i, _ := slices.BinarySearchFunc(s.list, c.Window, exec.Window.Compare)
		s.list = slices.Insert(s.list, i, c.Window)
	}
	group := s.home
	if s.route != nil {
		group = exec.GroupOf(s.route(v))
	}
	q.items = append(q.items, item[T]{v, c.Time, c.Pane, c.Kind, group, hold})
	q.least = min(q.least, hold)
}

// least returns where the elements hold the watermark, or Idle.
func (s *waiting[T]) least() exec.Time {
	t := exec.Idle
	for _, w := range s.list {
		t = min(t, s.queues[w].least)
	}
	return t
}

// release lets the elements of w through to next until the outputs are full. It
// reports whether all went.
func (s *waiting[T]) release(c *exec.Ctx, w exec.Window, next func(*exec.Ctx, T)) (all bool) {
	q := s.queues[w]
	t0, w0, p0, k0 := c.Time, c.Window, c.Pane, c.Kind
	for ; q.head < len(q.items) && !c.Full && c.Err == nil; q.head++ {
		it := &q.items[q.head]
		c.Time, c.Window, c.Pane, c.Kind = it.time, w, it.pane, it.kind
		next(c, it.v)
		*it = item[T]{}
	}
	c.Time, c.Window, c.Pane, c.Kind = t0, w0, p0, k0
	if q.head < len(q.items) {
		return false
	}
	delete(s.queues, w)
	if i, ok := slices.BinarySearchFunc(s.list, w, exec.Window.Compare); ok {
		s.list = slices.Delete(s.list, i, i+1)
	}
	return true
}

// Snapshot writes the elements of a group as batches of the edge, each behind
// its length, and then the holds of its elements.
func (s *waiting[T]) Snapshot(dst []byte, group int) ([]byte, error) {
	var out batches
	wr := s.edge.Writer(nil, 1, &out)
	in := wr.In.(exec.Input[T])
	var c exec.Ctx
	var holds []exec.Time
	for _, w := range s.list {
		q := s.queues[w]
		for i := q.head; i < len(q.items); i++ {
			if it := &q.items[i]; it.group == group {
				c.Time, c.Window, c.Pane, c.Kind = it.time, w, it.pane, it.kind
				in(&c, it.v)
				holds = append(holds, it.hold)
			}
		}
	}
	wr.Flush(&c)
	var buf []byte
	for _, b := range out {
		var err error
		if buf, err = s.edge.Encode(buf[:0], b, 0); err != nil {
			return nil, fmt.Errorf("elements that wait for a side input: %w", err)
		}
		dst = binary.AppendUvarint(dst, uint64(len(buf)))
		dst = append(dst, buf...)
		for _, h := range holds[:b.Len()] {
			dst = binary.AppendVarint(dst, int64(h))
		}
		holds = holds[b.Len():]
	}
	return dst, nil
}

// Restore adds the elements that Snapshot wrote.
func (s *waiting[T]) Restore(src []byte) error {
	var holds []exec.Time // of the elements to come
	feed := s.edge.Feeder(exec.Input[T](func(c *exec.Ctx, v T) {
		s.put(c, v, holds[0])
		holds = holds[1:]
	}))
	var c exec.Ctx
	for len(src) > 0 {
		n, k := binary.Uvarint(src)
		if k <= 0 || n > uint64(len(src)-k) {
			return errors.New("sideinput: stored elements that wait are cut off")
		}
		b, err := s.edge.Decode(src[k : k+int(n)])
		if err != nil {
			return fmt.Errorf("sideinput: stored elements that wait: %w", err)
		}
		src = src[k+int(n):]
		for range b.Len() {
			h, k := binary.Varint(src)
			if k <= 0 {
				return errors.New("sideinput: stored elements that wait are cut off")
			}
			holds, src = append(holds, exec.Time(h)), src[k:]
		}
		feed(&c, b, 0, b.Len())
	}
	return nil
}

// batches collects what a Writer sends.
type batches []exec.Batch

// Send keeps a batch.
func (b *batches) Send(_ int, x exec.Batch) bool { *b = append(*b, x); return false }

// Free returns nothing: all batches are kept.
func (b *batches) Free(int) exec.Batch { return nil }
