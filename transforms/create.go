package transforms

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
)

// Create makes a collection of the given elements, in the global window and at
// the start of time; [WithTimestamps] gives them another. The elements are
// shared by all runs of the pipeline.
func Create[T any](p *pcoll.Pipeline, elems ...T) pcoll.PCollection[T] {
	return connector.Read(p, "Create", elements[T](elems))
}

// CreateFrom is [Create] of the elements of a slice, which must not change any
// more. It is for slices at hand and for options.
func CreateFrom[T any](p *pcoll.Pipeline, elems []T, opts ...pcoll.Option) pcoll.PCollection[T] {
	return connector.Read(p, "Create", elements[T](elems), opts...)
}

// Impulse makes a collection of one empty element at the start of time: a
// beginning for pipelines that compute their data.
func Impulse(p *pcoll.Pipeline, opts ...pcoll.Option) pcoll.PCollection[struct{}] {
	return connector.Read(p, "Impulse", elements[struct{}]{{}}, opts...)
}

// GenerateSequence makes a collection of the integers from from up to, but
// without, end. They are generated in parallel. [SequenceTime] gives them event
// times; without it they are at the start of time.
func GenerateSequence(p *pcoll.Pipeline, from, end int64, opts ...pcoll.Option) pcoll.PCollection[int64] {
	b := pcoll.NewBuilder(p, "GenerateSequence", opts...)
	s := sequence{from: from, end: end}
	for _, at := range pcoll.Taken[sequenceTime](b) {
		checkFunc(b, at == nil)
		s.at = at
	}
	switch {
	case end < from:
		b.Errorf("the sequence from %d to %d is negative; want an end of at least %d", from, end, from)
	case end-from < 0:
		b.Errorf("the sequence from %d to %d is longer than 2^63-1", from, end)
	}
	out, _ := connector.Add(b, s, false)
	return out
}

// SequenceTime gives the numbers of a [GenerateSequence] event times. Windows
// of the sequence fire when all of it was read: nothing is late.
func SequenceTime(at func(int64) time.Time) pcoll.Option {
	return pcoll.Extra("SequenceTime", sequenceTime(at))
}

type sequenceTime func(int64) time.Time

// Parts of at least minPart elements, and at most maxParts of them, are read in parallel.
const (
	minPart  = 1024
	maxParts = 64
)

// ranges divides [from, end) into splits.
func ranges(from, end int64) []connector.Split {
	n := end - from
	parts := min(max(n/minPart, 1), maxParts)
	splits := make([]connector.Split, 0, parts)
	for i := range parts {
		// Without overflow: the first n%parts splits are longer by one.
		size := n / parts
		if i < n%parts {
			size++
		}
		splits = append(splits, connector.Split{ID: fmt.Sprintf("%d-%d", from, from+size), Size: size})
		from += size
	}
	return splits
}

// A span is a reader's way through one split: [next, end).
type span struct{ next, end int64 }

func openSpan(split connector.Split, from connector.Position) (s span, err error) {
	if _, err := fmt.Sscanf(split.ID, "%d-%d", &s.next, &s.end); err != nil {
		return s, fmt.Errorf("transforms: split %q is not a range: %w", split.ID, err)
	}
	if from == nil {
		return s, nil
	}
	next, n := binary.Varint(from)
	if n <= 0 || next < s.next || next > s.end {
		return s, fmt.Errorf("transforms: stored position %x is not in the range %s; was the pipeline changed?", []byte(from), split.ID)
	}
	s.next = next
	return s, nil
}

// take returns the part of the span that one Read gives, and moves on.
func (s *span) take(room int) (from, end int64, st connector.Status) {
	from = s.next
	s.next += min(int64(room), s.end-s.next)
	if s.next == s.end {
		return from, s.next, connector.Ended
	}
	return from, s.next, connector.Ready
}

// Position is the next number.
func (s *span) Position() connector.Position { return binary.AppendVarint(nil, s.next) }

// Close does nothing.
func (*span) Close() error { return nil }

// elements is the source of Create.
type elements[T any] []T

func (elements[T]) Progress() connector.Progress {
	return connector.Progress{Bounded: true, AtEnd: true, MaxFuture: -1}
}

func (e elements[T]) Splits(context.Context) ([]connector.Split, error) {
	return ranges(0, int64(len(e))), nil
}

func (e elements[T]) Open(_ context.Context, _ connector.Env, split connector.Split, from connector.Position) (connector.Reader[T], error) {
	s, err := openSpan(split, from)
	if err == nil && s.end > int64(len(e)) {
		err = fmt.Errorf("transforms: split %s is beyond the %d elements of Create; was the pipeline changed?", split.ID, len(e))
	}
	return &elementsReader[T]{span: s, elems: e}, err
}

type elementsReader[T any] struct {
	span
	elems []T
}

func (r *elementsReader[T]) Read(b *connector.Batch[T]) (connector.Status, error) {
	from, end, st := r.take(b.Room())
	for _, v := range r.elems[from:end] {
		b.Add(connector.MinTime, v)
	}
	return st, nil
}

// sequence is the source of GenerateSequence.
type sequence struct {
	from, end int64
	at        sequenceTime
}

func (sequence) Progress() connector.Progress {
	return connector.Progress{Bounded: true, AtEnd: true, MaxFuture: -1}
}

func (s sequence) Splits(context.Context) ([]connector.Split, error) {
	return ranges(s.from, s.end), nil
}

func (s sequence) Open(_ context.Context, _ connector.Env, split connector.Split, from connector.Position) (connector.Reader[int64], error) {
	sp, err := openSpan(split, from)
	return &sequenceReader{span: sp, at: s.at}, err
}

type sequenceReader struct {
	span
	at sequenceTime
}

func (r *sequenceReader) Read(b *connector.Batch[int64]) (connector.Status, error) {
	from, end, st := r.take(b.Room())
	vals, times := b.Extend(int(end - from))
	for i := range vals {
		vals[i], times[i] = from+int64(i), connector.MinTime
		if r.at == nil {
			continue
		}
		t := r.at(vals[i])
		if t.IsZero() {
			return st, fmt.Errorf("number %d has no event time: SequenceTime returned the zero time.Time", vals[i])
		}
		times[i] = connector.TimeOf(t)
	}
	return st, nil
}
