package state

import (
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// An OrderedList is a collection in the order of time. Each element is added with a
// time, rounded down to a millisecond; elements of the same time stay in the order in which
// they were added.
//
// Ranges are half-open, [from, to). A zero from or to leaves that end open.
type OrderedList[T any] struct {
	// TTL ends each element some time after it was added, whatever the time it was added with.
	TTL TTL

	coder coders.Coder[T]
	b     *lists[T]
}

// Add adds v at time t.
func (l *OrderedList[T]) Add(c *pcoll.Context, t time.Time, v T) {
	p := l.b.cell(c)
	if p == nil {
		return
	}
	e := timed[T]{exec.TimeOf(t), l.TTL.now(l.b.scope), v}
	n := len(p.list)
	if n == 0 || p.list[n-1].at <= e.at { // in order: nothing that is being read moves
		p.list = append(p.list, e)
		return
	}
	p.own()
	p.list = slices.Insert(p.list, first(p.list, e.at+1), e)
}

// All iterates over times and elements.
func (l *OrderedList[T]) All(c *pcoll.Context) iter.Seq2[time.Time, T] {
	return l.Range(c, time.Time{}, time.Time{})
}

// Range iterates over times and elements in [from, to).
func (l *OrderedList[T]) Range(c *pcoll.Context, from, to time.Time) iter.Seq2[time.Time, T] {
	p := l.b.cell(c)
	if p == nil {
		return func(func(time.Time, T) bool) {}
	}
	i, j := bounds(p.list, from, to)
	list, call, now := p.share()[i:j], l.b.scope.Call, l.TTL.now(l.b.scope)
	return func(yield func(time.Time, T) bool) {
		for i := range list {
			if !l.b.iterating(c, call) || l.TTL.alive(list[i].stamp, now) && !yield(list[i].at.Time(), list[i].v) {
				return
			}
		}
	}
}

// Len returns the number of elements.
func (l *OrderedList[T]) Len(c *pcoll.Context) (n int) {
	p := l.b.cell(c)
	if p == nil {
		return 0
	}
	if l.TTL.none() {
		return len(p.list)
	}
	now := l.TTL.now(l.b.scope)
	for i := range p.list {
		if l.TTL.alive(p.list[i].stamp, now) {
			n++
		}
	}
	return n
}

// Clear empties the list.
func (l *OrderedList[T]) Clear(c *pcoll.Context) {
	if p := l.b.cell(c); p != nil {
		*p = entries[timed[T]]{}
	}
}

// ClearRange removes the elements in [from, to).
func (l *OrderedList[T]) ClearRange(c *pcoll.Context, from, to time.Time) {
	p := l.b.cell(c)
	if p == nil {
		return
	}
	switch i, j := bounds(p.list, from, to); {
	case i == j:
	case j-i == len(p.list):
		*p = entries[timed[T]]{}
	default:
		p.own()
		p.list = slices.Delete(p.list, i, j)
	}
}

// bounds returns where the elements in [from, to) lie.
func bounds[T any](list []timed[T], from, to time.Time) (i, j int) {
	j = len(list)
	if !from.IsZero() {
		i = first(list, ceil(from))
	}
	if !to.IsZero() {
		j = max(i, first(list, ceil(to)))
	}
	return i, j
}

// ceil returns t rounded up to a millisecond: elements have whole ones.
func ceil(t time.Time) exec.Time {
	at := exec.TimeOf(t)
	if at > exec.MinTime && at < exec.MaxTime && at.Time().Before(t) {
		at++
	}
	return at
}

// first returns the index of the first element at or after t.
func first[T any](list []timed[T], t exec.Time) int {
	i, _ := slices.BinarySearchFunc(list, t, func(e timed[T], t exec.Time) int {
		if e.at < t {
			return -1
		}
		return 1
	})
	return i
}

func (l *OrderedList[T]) declare() (err error) {
	if err = l.TTL.check(); err == nil {
		l.coder, err = coders.For[T]()
	}
	return err
}

func (l *OrderedList[T]) bind(s *Scope) Column {
	l.b = &lists[T]{bound: bound[entries[timed[T]]]{scope: s, ttl: l.TTL}, coder: l.coder}
	return l.b
}

// timed is an element with its time and when it was written.
type timed[T any] struct {
	at, stamp exec.Time
	v         T
}

// lists is the column of an OrderedList.
type lists[T any] struct {
	bound[entries[timed[T]]]
	coder coders.Coder[T]
}

func (b *lists[T]) cell(c *pcoll.Context) *entries[timed[T]] {
	if b == nil {
		return (*bound[entries[timed[T]]])(nil).enter(c)
	}
	return b.enter(c)
}

func (b *lists[T]) Has(slot int32) bool {
	p := b.cells.find(slot)
	return p != nil && len(p.list) > 0
}

func (b *lists[T]) Append(dst []byte, slot int32) (_ []byte, err error) {
	p := b.cells.at(slot)
	dst = binary.AppendUvarint(dst, uint64(len(p.list)))
	for i := range p.list {
		dst = binary.AppendVarint(dst, int64(p.list[i].at))
		dst = binary.AppendVarint(dst, int64(p.list[i].stamp))
		if dst, err = b.coder.Append(dst, p.list[i].v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (b *lists[T]) Decode(src []byte, slot int32) ([]byte, error) {
	n, src, ok := takeCount(src)
	if !ok {
		return nil, cut("ordered list")
	}
	p := b.cells.at(slot)
	for range n {
		var e timed[T]
		var err error
		if e.at, src, ok = takeStamp(src); ok {
			e.stamp, src, ok = takeStamp(src)
		}
		if !ok || len(p.list) > 0 && e.at < p.list[len(p.list)-1].at {
			return nil, cut("ordered list")
		}
		if e.v, src, err = b.coder.Decode(src); err != nil {
			return nil, err
		}
		p.list = append(p.list, e)
	}
	return src, nil
}

func (b *lists[T]) Sweep(slot int32, now exec.Time) exec.Time {
	return b.ends(sweep(b.cells.at(slot), b.ttl, now, func(e *timed[T]) exec.Time { return e.stamp }))
}
