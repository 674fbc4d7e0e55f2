package state

import (
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// chunkBits makes chunks of 256 cells: growing moves none of those that are there.
const chunkBits = 8

// cells is one cell for each key and window of a worker, by slot. A slot's cell
// is the zero C until something is written.
type cells[C any] struct{ chunks [][]C }

func (s *cells[C]) at(slot int32) *C {
	for int(slot>>chunkBits) >= len(s.chunks) {
		s.chunks = append(s.chunks, make([]C, 1<<chunkBits))
	}
	return &s.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

// find is at for reading what may not be there.
func (s *cells[C]) find(slot int32) *C {
	if int(slot>>chunkBits) >= len(s.chunks) {
		return nil
	}
	return &s.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

// bound is what a handle in a worker's copy of a function is tied to.
type bound[C any] struct {
	scope *Scope
	cells cells[C]
	ttl   TTL
}

var errUnbound = errors.New("a state field was used that is not one of the worker's own function; " +
	"use it through the receiver of Process, OnTimer and OnWindowExpiration, and do not copy state fields")

// enter returns the cell of the key and window being processed, or nil after
// failing the run.
func (b *bound[C]) enter(c *pcoll.Context) *C {
	x, _ := c.Exec()
	switch {
	case b == nil:
		x.Fail(errUnbound)
	case b.scope.Slot < 0:
		x.Fail(errNoKey)
	default:
		return b.cells.at(b.scope.Slot)
	}
	return nil
}

var errNoKey = errors.New("state was used where no key is being processed; " +
	"it belongs to the key and window of Process, OnTimer and OnWindowExpiration")

// iterating checks, before each element of an iteration that began in call number
// call, that the call goes on.
func (b *bound[C]) iterating(c *pcoll.Context, call uint64) bool {
	x, _ := c.Exec()
	if b.scope.Call != call || b.scope.Slot < 0 {
		x.Fail(errors.New("an iteration over state went on after the call that began it had returned; " +
			"take what you need from it before returning"))
		return false
	}
	return x.Err == nil
}

// entries is the content of a cell that holds many. Others may be reading the
// slice while shared is set: then it is copied before a change in place.
type entries[E any] struct {
	list   []E
	shared bool
}

// share returns the entries for reading that goes on while they may change.
func (s *entries[E]) share() []E {
	s.shared = len(s.list) > 0
	return s.list
}

// own makes the entries safe to change in place.
func (s *entries[E]) own() {
	if s.shared {
		s.list, s.shared = append(make([]E, 0, len(s.list)+1), s.list...), false
	}
}

// sweep removes the entries that have ended and returns the least stamp of those left.
func sweep[E any](s *entries[E], ttl TTL, now exec.Time, stamp func(*E) exec.Time) (least exec.Time) {
	least = exec.Idle
	kept := 0
	for i := range s.list {
		if at := stamp(&s.list[i]); ttl.alive(at, now) {
			least = min(least, at)
			kept++
		}
	}
	if kept == len(s.list) {
		return least
	}
	list := make([]E, 0, kept)
	for i := range s.list {
		if ttl.alive(stamp(&s.list[i]), now) {
			list = append(list, s.list[i])
		}
	}
	*s = entries[E]{list: list}
	return least
}

// cut is the error of damaged bytes.
func cut(what string) error {
	return fmt.Errorf("state: stored %s is cut off or damaged; restore from another checkpoint", what)
}
