package state

import (
	"encoding/binary"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Value is a single value.
type Value[T any] struct {
	// TTL ends the value some time after it was last set.
	TTL TTL

	coder coders.Coder[T]
	b     *values[T]
}

// Get returns the value: the zero T if none is set.
func (v *Value[T]) Get(c *pcoll.Context) T {
	x, _ := v.Lookup(c)
	return x
}

// Lookup returns the value and whether one is set.
func (v *Value[T]) Lookup(c *pcoll.Context) (value T, ok bool) {
	if p := v.b.cell(c); p != nil && p.set && v.TTL.alive(p.stamp, v.TTL.now(v.b.scope)) {
		return p.v, true
	}
	return value, false
}

// Set replaces the value.
func (v *Value[T]) Set(c *pcoll.Context, to T) {
	if p := v.b.cell(c); p != nil {
		*p = one[T]{v: to, set: true, stamp: v.TTL.now(v.b.scope)}
	}
}

// Clear forgets the value.
func (v *Value[T]) Clear(c *pcoll.Context) {
	if p := v.b.cell(c); p != nil {
		*p = one[T]{}
	}
}

func (v *Value[T]) declare() (err error) {
	if err = v.TTL.check(); err == nil {
		v.coder, err = coders.For[T]()
	}
	return err
}

func (v *Value[T]) bind(s *Scope) Column {
	v.b = &values[T]{bound: bound[one[T]]{scope: s, ttl: v.TTL}, coder: v.coder}
	return v.b
}

// one is a value that may be set.
type one[T any] struct {
	v     T
	set   bool
	stamp exec.Time
}

// values is the column of single values: of a Value, or accumulators.
type values[T any] struct {
	bound[one[T]]
	coder coders.Coder[T]
}

// cell is enter of a column that there may not be.
func (b *values[T]) cell(c *pcoll.Context) *one[T] {
	if b == nil {
		return (*bound[one[T]])(nil).enter(c)
	}
	return b.enter(c)
}

func (b *values[T]) Has(slot int32) bool {
	p := b.cells.find(slot)
	return p != nil && p.set
}

func (b *values[T]) Append(dst []byte, slot int32) ([]byte, error) {
	p := b.cells.at(slot)
	return b.coder.Append(binary.AppendVarint(dst, int64(p.stamp)), p.v)
}

func (b *values[T]) Decode(src []byte, slot int32) (rest []byte, err error) {
	stamp, rest, ok := takeStamp(src)
	if !ok {
		return nil, cut("value")
	}
	p := b.cells.at(slot)
	p.v, rest, err = b.coder.Decode(rest)
	p.set, p.stamp = err == nil, stamp
	return rest, err
}

func (b *values[T]) Sweep(slot int32, now exec.Time) exec.Time {
	p := b.cells.at(slot)
	switch {
	case !p.set:
		return exec.Idle
	case !b.ttl.alive(p.stamp, now):
		*p = one[T]{}
		return exec.Idle
	}
	return b.ends(p.stamp)
}
