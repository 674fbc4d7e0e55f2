package transforms

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
)

// PeriodicImpulse makes an unbounded collection of instants, one every period:
// each comes when processing time has reached it, and is its own event time. It
// drives what is to be looked up again and again, such as side inputs that change slowly.
//
// Instants begin when the source is first opened, or at [ImpulseFrom]: those
// that have passed by then come at once. After a restart from stored state they
// go on where they were. [ImpulseUntil] ends them.
func PeriodicImpulse(p *pcoll.Pipeline, period time.Duration, opts ...pcoll.Option) pcoll.PCollection[time.Time] {
	b := pcoll.NewBuilder(p, "PeriodicImpulse", opts...)
	t := ticks{from: unset, until: connector.Time(1<<63 - 1), period: period.Milliseconds()}
	for _, at := range pcoll.Taken[impulseFrom](b) {
		t.from = takeInstant(b, "begin", time.Time(at))
	}
	for _, at := range pcoll.Taken[impulseUntil](b) {
		t.until = takeInstant(b, "end", time.Time(at))
	}
	if period < time.Millisecond || period%time.Millisecond != 0 {
		b.Errorf("instants cannot be %v apart; give whole milliseconds, at least one", period)
	}
	out, _ := connector.Add(b, t, false)
	return out
}

// ImpulseFrom gives a [PeriodicImpulse] its first instant.
func ImpulseFrom(t time.Time) pcoll.Option { return pcoll.Extra("ImpulseFrom", impulseFrom(t)) }

// ImpulseUntil ends a [PeriodicImpulse] before t.
func ImpulseUntil(t time.Time) pcoll.Option { return pcoll.Extra("ImpulseUntil", impulseUntil(t)) }

type (
	impulseFrom  time.Time
	impulseUntil time.Time
)

func takeInstant(b *pcoll.Builder, what string, t time.Time) connector.Time {
	if t.IsZero() {
		b.Errorf("instants cannot %s at the zero time.Time; leave the option out, or give a time", what)
	}
	return connector.TimeOf(t)
}

// unset says that instants begin when the source is opened.
const unset connector.Time = -1 << 63

// ticks is the source of PeriodicImpulse: one split, whose position is the next instant.
type ticks struct {
	from, until connector.Time
	period      int64 // ms
}

func (ticks) Progress() connector.Progress { return connector.Progress{Idle: -1, MaxFuture: -1} }

func (ticks) Splits(context.Context) ([]connector.Split, error) {
	return []connector.Split{{ID: "ticks"}}, nil
}

func (t ticks) Open(_ context.Context, env connector.Env, _ connector.Split, from connector.Position) (connector.Reader[time.Time], error) {
	r := &tickReader{ticks: t, env: env, next: t.from}
	switch {
	case from != nil:
		next, n := binary.Varint(from)
		if n <= 0 || n != len(from) {
			return nil, fmt.Errorf("transforms: stored position %x is not an instant; was the pipeline changed?", []byte(from))
		}
		r.next = connector.Time(next)
	case t.from == unset:
		r.next = env.Now()
	}
	return r, nil
}

type tickReader struct {
	ticks
	env  connector.Env
	next connector.Time
}

func (r *tickReader) Read(b *connector.Batch[time.Time]) (connector.Status, error) {
	now := r.env.Now()
	for ; r.next < r.until && r.next <= now; r.next = r.next.Add(r.period) {
		if b.Room() == 0 {
			return connector.Ready, nil
		}
		b.Add(r.next, r.next.Time())
	}
	if r.next >= r.until {
		return connector.Ended, nil
	}
	r.env.WakeAt(r.next - 1) // past that is when it has come
	return connector.Waiting, nil
}

// Position is the next instant.
func (r *tickReader) Position() connector.Position {
	return binary.AppendVarint(nil, int64(r.next))
}

// Watermark is the next instant: none before it will follow.
func (r *tickReader) Watermark() connector.Time { return r.next }

// Close does nothing.
func (*tickReader) Close() error { return nil }
