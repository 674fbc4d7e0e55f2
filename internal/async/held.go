package async

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
)

// item is an element that waits for its result.
type item[I, R any] struct {
	v      I
	time   exec.Time
	window exec.Window
	pane   exec.Pane
	kind   exec.Kind
	wm     exec.Time // input watermark when it came
	call   *Call[R]  // nil: val is the result
	val    R
	gone   bool // it has gone on
}

func (i *item[I, R]) ready() bool { return i.call == nil || i.call.ended }

// held are the elements that wait, in the order in which they came, and the
// input watermark. It is the operator's store.
type held[I, R any] struct {
	edge  exec.Edge
	home  int // key group of all elements: they belong to the worker and to no key
	wm    exec.Time
	out   exec.Time // output watermark, as it was said last
	read  bool      // wm and out were restored
	items []item[I, R]
	head  int // those before have gone on
	n     int // that have not
}

// homeOf returns the first key group of worker i of n.
func homeOf(i, n int) int { return min((i*exec.KeyGroups+n-1)/n, exec.KeyGroups-1) }

func newHeld[I, R any](env exec.Env, edge exec.Edge) *held[I, R] {
	return &held[I, R]{edge: edge, home: homeOf(env.Worker()), wm: exec.MinTime, out: exec.MinTime}
}

// add appends an element. Watermarks of elements never go back, also where
// a restored worker knows less than its elements had seen.
func (h *held[I, R]) add(c *exec.Ctx, v I, wm exec.Time) *item[I, R] {
	if h.n > 0 {
		wm = max(wm, h.items[len(h.items)-1].wm)
	}
	h.items = append(h.items, item[I, R]{v: v, time: c.Time, window: c.Window, pane: c.Pane, kind: c.Kind, wm: wm})
	h.n++
	return &h.items[len(h.items)-1]
}

// first returns the element that has waited longest; there is one.
func (h *held[I, R]) first() *item[I, R] { return &h.items[h.head] }

// leave lets go of an element that has gone on, until tidy.
func (h *held[I, R]) leave(it *item[I, R]) {
	*it = item[I, R]{wm: it.wm, gone: true}
	h.n--
}

// tidy moves first to the next element that waits.
func (h *held[I, R]) tidy() {
	for h.head < len(h.items) && h.items[h.head].gone {
		h.head++
	}
	switch {
	case h.n == 0:
		h.items, h.head = h.items[:0], 0
	case h.head > 64 && h.head > len(h.items)/2:
		n := copy(h.items, h.items[h.head:])
		clear(h.items[n:])
		h.items, h.head = h.items[:n], 0
	}
}

// at makes c describe the element.
func (i *item[I, R]) at(c *exec.Ctx) {
	c.Time, c.Window, c.Pane, c.Kind = i.time, i.window, i.pane, i.kind
}

// Snapshot writes, with the group of the worker, two watermarks, input and output,
// each followed by 0, and the elements that wait as batches of the edge, each behind
// the watermark it came after and its length.
func (h *held[I, R]) Snapshot(dst []byte, group int) ([]byte, error) {
	if group != h.home {
		return dst, nil
	}
	for _, wm := range []exec.Time{h.wm, h.out} {
		dst = binary.AppendVarint(dst, int64(wm))
		dst = append(dst, 0)
	}
	var c exec.Ctx
	for i := h.head; i < len(h.items); {
		var out batches
		wm := h.items[i].wm
		wr := h.edge.Writer(nil, 1, &out)
		in := wr.In.(exec.Input[I])
		for ; i < len(h.items) && h.items[i].wm == wm; i++ {
			if it := &h.items[i]; !it.gone {
				it.at(&c)
				in(&c, it.v)
			}
		}
		wr.Flush(&c)
		for _, b := range out {
			buf, err := h.edge.Encode(nil, b, 0)
			if err != nil {
				return nil, fmt.Errorf("elements that wait for a call: %w", err)
			}
			dst = binary.AppendVarint(dst, int64(wm))
			dst = binary.AppendUvarint(dst, uint64(len(buf)))
			dst = append(dst, buf...)
		}
	}
	return dst, nil
}

// Restore adds the elements that Snapshot wrote, and takes over the least of
// the watermarks of former workers.
func (h *held[I, R]) Restore(src []byte) error {
	var c exec.Ctx
	var marks []exec.Time
	for len(src) > 0 {
		wm, k := binary.Varint(src)
		if k <= 0 {
			return errCut
		}
		src = src[k:]
		n, k := binary.Uvarint(src)
		if k <= 0 || n > uint64(len(src)-k) {
			return errCut
		}
		body := src[k : k+int(n)]
		src = src[k+int(n):]
		if n == 0 {
			if marks = append(marks, exec.Time(wm)); len(marks) == 2 {
				if !h.read {
					h.wm, h.out, h.read = marks[0], marks[1], true
				}
				h.wm, h.out, marks = min(h.wm, marks[0]), min(h.out, marks[1]), nil
			}
			continue
		}
		b, err := h.edge.Decode(body)
		if err != nil {
			return fmt.Errorf("async: stored elements that wait: %w", err)
		}
		feed := h.edge.Feeder(exec.Input[I](func(c *exec.Ctx, v I) { h.add(c, v, exec.MinTime).wm = exec.Time(wm) }))
		feed(&c, b, 0, b.Len())
	}
	return nil
}

// sort puts together what was restored of several workers, who may have been at
// different watermarks.
func (h *held[I, R]) sort() {
	for i := range h.items {
		h.items[i].wm = min(h.items[i].wm, h.wm)
	}
	slices.SortStableFunc(h.items, func(a, b item[I, R]) int { return int(min(max(a.wm-b.wm, -1), 1)) })
}

var errCut = errors.New("async: stored elements that wait are cut off")

// batches collects what a Writer sends.
type batches []exec.Batch

// Send keeps a batch.
func (b *batches) Send(_ int, x exec.Batch) bool { *b = append(*b, x); return false }

// Free returns nothing: all batches are kept.
func (b *batches) Free(int) exec.Batch { return nil }
