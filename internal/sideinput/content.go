package sideinput

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// An Access says whether an element is being processed. All contents of a gate share one.
type Access struct{ c *exec.Ctx }

// A Cell is what a side window holds. Its values are shared by all workers of
// the process and must not be changed.
type Cell[T any] struct {
	Values []T
	// Index is for the view: a form in which the values are found faster. It is
	// derived from them and belongs to the worker.
	Index any
	pane  int64
}

// Content is a side input on one worker: a cell for each window that has one.
type Content[T any] struct {
	at      *Access
	coder   coders.Coder[pcoll.Group[T]]
	cells   map[exec.Window]*Cell[T]
	list    []exec.Window // ascending by end
	arrived []arrival[T]  // in this turn
	cell    *Cell[T]      // of the element being processed
	empty   Cell[T]
}

// arrival is a pane that counts from the end of the turn on.
type arrival[T any] struct {
	w      exec.Window
	pane   int64
	values []T
}

// contentLike is a Content of any type.
type contentLike interface {
	input() any
	apply(past func(exec.Window) bool) (changed bool)
	has(exec.Window) bool
	focus(w exec.Window)
	blur()
	windows() []exec.Window
	drop(exec.Window)
}

// Read returns what the element being processed sees, and its context. It
// panics where no element is being processed: nothing says which window is meant.
func (s *Content[T]) Read() (*Cell[T], *exec.Ctx) {
	if s == nil || s.at.c == nil {
		panic("side: a side input was read where no element is being processed; read it in Process, through the receiver or the argument that holds it")
	}
	return s.cell, s.at.c
}

func (s *Content[T]) input() any {
	return exec.Input[pcoll.Group[T]](func(c *exec.Ctx, g pcoll.Group[T]) {
		s.arrived = append(s.arrived, arrival[T]{c.Window, c.Pane.Index, pcoll.GroupValues(g)})
	})
}

// apply makes the panes of the turn count, except for windows that are past.
func (s *Content[T]) apply(past func(exec.Window) bool) (changed bool) {
	for _, a := range s.arrived {
		if !past(a.w) {
			changed = s.put(a) || changed
		}
	}
	clear(s.arrived)
	s.arrived = s.arrived[:0]
	return changed
}

// put replaces the window's cell unless it is of a later pane.
func (s *Content[T]) put(a arrival[T]) bool {
	old := s.cells[a.w]
	if old != nil && old.pane > a.pane {
		return false
	}
	if old == nil {
		i, _ := slices.BinarySearchFunc(s.list, a.w, exec.Window.Compare)
		s.list = slices.Insert(s.list, i, a.w)
	}
	s.cells[a.w] = &Cell[T]{Values: a.values, pane: a.pane}
	return true
}

func (s *Content[T]) has(w exec.Window) bool { return s.cells[w] != nil }

func (s *Content[T]) focus(w exec.Window) {
	if s.cell = s.cells[w]; s.cell == nil {
		s.cell = &s.empty
	}
}

// blur shows an empty cell.
func (s *Content[T]) blur() { s.cell = &s.empty }

func (s *Content[T]) windows() []exec.Window { return s.list }

func (s *Content[T]) drop(w exec.Window) {
	delete(s.cells, w)
	if i, ok := slices.BinarySearchFunc(s.list, w, exec.Window.Compare); ok {
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// Replicated says that every worker has the same content.
func (s *Content[T]) Replicated() {}

// Snapshot writes all cells with group 0: start and end of the window, number
// of the pane, values. Numbers are varints.
func (s *Content[T]) Snapshot(dst []byte, group int) (_ []byte, err error) {
	if group != 0 {
		return dst, nil
	}
	for _, w := range s.list {
		cell := s.cells[w]
		for _, n := range [...]int64{int64(w.Start), int64(w.End), cell.pane} {
			dst = binary.AppendVarint(dst, n)
		}
		if dst, err = s.coder.Append(dst, pcoll.GroupOf(cell.Values...)); err != nil {
			return nil, fmt.Errorf("side input of window %v: %w", w, err)
		}
	}
	return dst, nil
}

// Restore adds cells; of two of one window, as two workers wrote them, it keeps the later pane.
func (s *Content[T]) Restore(src []byte) error {
	for len(src) > 0 {
		var n [3]int64
		for i := range n {
			v, k := binary.Varint(src)
			if k <= 0 {
				return errors.New("sideinput: stored side input is cut off")
			}
			n[i], src = v, src[k:]
		}
		g, rest, err := s.coder.Decode(src)
		if err != nil {
			return fmt.Errorf("sideinput: stored side input: %w", err)
		}
		s.put(arrival[T]{exec.Window{Start: exec.Time(n[0]), End: exec.Time(n[1])}, n[2], pcoll.GroupValues(g)})
		src = rest
	}
	return nil
}
