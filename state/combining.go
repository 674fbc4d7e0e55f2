package state

import (
	"errors"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// A Combining is the running result of a combiner: what is kept is one
// accumulator. The combiner is part of the function's configuration:
//
//	fn := &velocity{Spent: state.Combined(combine.Sum[int64]())}
type Combining[In, Acc, Out any] struct {
	Combiner combine.Combiner[In, Acc, Out]
	// TTL ends the accumulator some time after it was last added to.
	TTL TTL

	coder coders.Coder[Acc]
	copy  func(Acc) Acc // nil: assignment copies
	b     *values[Acc]
}

// Combined returns the state of a combiner; it saves spelling the type parameters.
func Combined[In, Acc, Out any](c combine.Combiner[In, Acc, Out]) Combining[In, Acc, Out] {
	return Combining[In, Acc, Out]{Combiner: c}
}

// Add adds v.
func (s *Combining[In, Acc, Out]) Add(c *pcoll.Context, v In) {
	if p := s.b.cell(c); p != nil {
		s.put(p, s.Combiner.Add(s.acc(p), v))
	}
}

// Merge adds all that acc stands for, an accumulator of the same combiner.
func (s *Combining[In, Acc, Out]) Merge(c *pcoll.Context, acc Acc) {
	if p := s.b.cell(c); p != nil {
		s.put(p, s.Combiner.Merge(s.acc(p), acc))
	}
}

// Get returns the result of what was added: of nothing, what the combiner
// extracts from no element.
func (s *Combining[In, Acc, Out]) Get(c *pcoll.Context) (result Out) {
	if p := s.b.cell(c); p != nil {
		return s.Combiner.Extract(s.acc(p))
	}
	return result
}

// Accumulator returns a copy of the accumulator.
func (s *Combining[In, Acc, Out]) Accumulator(c *pcoll.Context) (acc Acc) {
	p := s.b.cell(c)
	if p == nil {
		return acc
	}
	if acc = s.acc(p); s.copy != nil {
		acc = s.copy(acc)
	}
	return acc
}

// Empty reports whether nothing was added.
func (s *Combining[In, Acc, Out]) Empty(c *pcoll.Context) bool {
	p := s.b.cell(c)
	return p == nil || !p.set || !s.TTL.alive(p.stamp, s.TTL.now(s.b.scope))
}

// Clear forgets what was added.
func (s *Combining[In, Acc, Out]) Clear(c *pcoll.Context) {
	if p := s.b.cell(c); p != nil {
		*p = one[Acc]{}
	}
}

// acc returns the accumulator of the cell, or a new one.
func (s *Combining[In, Acc, Out]) acc(p *one[Acc]) Acc {
	if p.set && s.TTL.alive(p.stamp, s.TTL.now(s.b.scope)) {
		return p.v
	}
	return s.Combiner.Create()
}

func (s *Combining[In, Acc, Out]) put(p *one[Acc], acc Acc) {
	*p = one[Acc]{v: acc, set: true, stamp: s.TTL.now(s.b.scope)}
}

var errNoCombiner = errors.New("the field has no combiner; give it one, as in state.Combined(combine.Sum[int64]())")

func (s *Combining[In, Acc, Out]) declare() (err error) {
	if s.Combiner == nil {
		return errNoCombiner
	}
	if err = s.TTL.check(); err == nil {
		err = combine.CheckOf(s.Combiner)
	}
	if err == nil {
		s.coder, err = combine.CoderOf(s.Combiner)
	}
	if err == nil {
		s.copy, err = combine.CopierOf(s.Combiner)
	}
	return err
}

func (s *Combining[In, Acc, Out]) bind(scope *Scope) Column {
	s.b = &values[Acc]{bound: bound[one[Acc]]{scope: scope, ttl: s.TTL}, coder: s.coder}
	return s.b
}
