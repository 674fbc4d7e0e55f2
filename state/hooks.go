package state

// This file is how transforms.StatefulParDo finds state fields, binds them and
// keeps what they hold. Its signatures name internal types, so that other
// modules cannot use it by accident.

import (
	"encoding/binary"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A Scope is what the state fields of one function on one worker look into: the
// key and window that is being processed.
type Scope struct {
	Slot  int32            // number of the key and window on this worker; -1 while none is being processed
	Call  uint64           // changes with each call of a method of the function
	Event exec.Time        // what AfterEventTime goes by
	Now   func() exec.Time // processing time
}

// A Field is a pointer to a state field.
type Field interface {
	// declare derives the coders; it is called once, while the pipeline is built.
	declare() error
	bind(*Scope) Column
}

// Declare prepares a field of the value that the user holds, from which workers'
// copies are made. Its error says what cannot be stored.
func Declare(f Field) error { return f.declare() }

// Bind ties a field of a worker's copy to a scope and returns what it holds, of all keys.
func Bind(f Field, s *Scope) Column { return f.bind(s) }

// A Column is what one state field of a worker holds, by slot.
type Column interface {
	// Has reports whether the slot holds anything.
	Has(slot int32) bool
	// Drop empties the slot.
	Drop(slot int32)
	// Append appends the encoding of a slot that holds something.
	Append(dst []byte, slot int32) ([]byte, error)
	// Decode reads it back into an empty slot.
	Decode(src []byte, slot int32) (rest []byte, err error)
	// TTL returns the time to live in ms, or 0, and whether it is of event time.
	TTL() (ms int64, event bool)
	// Sweep removes what has ended at time now of the TTL's clock and returns the time
	// at which the next part of the slot will have, or Idle.
	Sweep(slot int32, now exec.Time) exec.Time
}

// TTL returns the time to live of the column.
func (b *bound[C]) TTL() (ms int64, event bool) { return b.ttl.ms(), b.ttl.event }

// Drop empties the slot.
func (b *bound[C]) Drop(slot int32) {
	if p := b.cells.find(slot); p != nil {
		var zero C
		*p = zero
	}
}

// ends returns the time at which what has the given stamp has ended.
func (b *bound[C]) ends(stamp exec.Time) exec.Time {
	if stamp == exec.Idle {
		return exec.Idle
	}
	return stamp.Add(b.ttl.ms()).Add(1)
}

// takeStamp reads a time.
func takeStamp(src []byte) (exec.Time, []byte, bool) {
	v, n := binary.Varint(src)
	if n <= 0 {
		return 0, src, false
	}
	return exec.Time(v), src[n:], true
}

// takeCount reads a number of entries, each of which takes a byte at least.
func takeCount(src []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(src)
	if n <= 0 || v > uint64(len(src)-n) {
		return 0, src, false
	}
	return v, src[n:], true
}
