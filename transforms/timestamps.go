package transforms

import (
	"fmt"
	"math"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// WithTimestamps gives each element the event time that at returns for it,
// rounded down to a millisecond. Windows that elements have already stay: give
// times first, then windows.
//
// The zero time.Time says that an element has no event time, and fails the run:
// filter such elements out before, or give them one. A time before the one that
// the element has could be late behind the watermark, and fails the run too,
// unless by at most [AllowedSkew]. Elements of Create are at the start of time
// and can be given any.
func WithTimestamps[T any](in pcoll.PCollection[T], at func(T) time.Time, opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(in.Pipeline(), "WithTimestamps", opts...)
	skew := takeSkew(b)
	like := pcoll.FromWindowed(b, in)
	checkFunc(b, at == nil)
	out := pcoll.To[T](b, like)
	b.Add(timestampOp[T]{at, skew})
	return out
}

// AllowedSkew lets [WithTimestamps], and the outputs of a [DoFn], go back in
// time behind their input by up to d, in whole milliseconds; by any time if d is
// the longest there is, math.MaxInt64. What goes back may be late where it is
// grouped: allow as much lateness there.
func AllowedSkew(d time.Duration) pcoll.Option { return pcoll.Extra("AllowedSkew", allowedSkew(d)) }

type allowedSkew time.Duration

// takeSkew returns the allowed skew in ms.
func takeSkew(b *pcoll.Builder) (ms int64) {
	for _, s := range pcoll.Taken[allowedSkew](b) {
		d := time.Duration(s)
		if d == math.MaxInt64 {
			ms = math.MaxInt64
			continue
		}
		if d < 0 || d%time.Millisecond != 0 {
			b.Errorf("allowed skew %v cannot be; want a whole number of milliseconds, not negative, or math.MaxInt64 for any", d)
		}
		ms = d.Milliseconds()
	}
	return ms
}

type timestampOp[T any] struct {
	at   func(T) time.Time
	skew int64
}

func (o timestampOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	at, skew, down, op := o.at, o.skew, outs[0].(exec.Input[T]), env.Op()
	return one(exec.Input[T](func(c *exec.Ctx, v T) {
		c.Op = op
		was, tt := c.Time, at(v)
		t := exec.TimeOf(tt)
		switch {
		case tt.IsZero():
			c.Fail(fmt.Errorf("element %+v has no event time: the function returned the zero time.Time; filter such elements out, or give them a time", v))
			return
		case t < was.Add(-skew):
			c.Fail(fmt.Errorf("new event time %v is before the element's %v by more than the allowed skew of %d ms;"+
				" give a time that is not, or use transforms.AllowedSkew", t, was, skew))
			return
		}
		c.Time = t
		down(c, v)
		c.Time = was
	}))
}
