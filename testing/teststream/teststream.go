// Package teststream makes sources whose elements, watermark and processing
// clock a test controls step by step:
//
//	orders := teststream.New[Order]().
//		Elements(at(2*time.Second), ann, bob).
//		Watermark(at(70 * time.Second)).
//		ProcessingTime(time.Minute).
//		Source(p)
//
// # What a script promises
//
// Each event is delivered when everything that the one before caused is done,
// and all that one event sends to a transform is one bundle of it, whatever the
// runner and its number of workers: the same script gives the same panes
// everywhere. Elements are not late by themselves: those with a time before
// the watermark are. Elements and watermarks are events of one stream; the
// clock is common to all.
//
// The watermark starts before all time, the clock at the Unix epoch. The end of
// the script moves the watermark of every stream past the end of time, so that all
// windows close. Bounded sources in the same pipeline are read to their end
// before the first event. The collection is unbounded, as that of a real stream: a
// pipeline that is refused over Kafka is refused here.
//
// # Several streams
//
// Streams of one pipeline are views of one [Script], made with [On]. The order
// of the calls on all of them is the order of events:
//
//	var script teststream.Script
//	orders, rates := teststream.On[Order](&script), teststream.On[Rate](&script)
//	rates.Elements(at(0), euro)
//	orders.Elements(at(time.Second), ann)
//	rates.Watermark(at(time.Minute))
package teststream

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Stream is the part of a script that concerns one source. Its methods append
// an event and return the stream; mistakes are reported as construction errors
// of the pipelines that read it, with the line of the event.
type Stream[T any] struct {
	script *Script
	id     int
	events map[int]event[T] // by number in the script; elems is not nil unless it is a watermark
	wm     exec.Time        // of the last Watermark
}

// event is what one event of the script has for a stream.
type event[T any] struct {
	elems     []Timestamped[T]
	watermark exec.Time // of an event without elements
}

// Timestamped is an element and its event time; see [At].
type Timestamped[T any] struct {
	time exec.Time
	v    T
	bad  error
}

// At gives an element of a [Stream.Bundle] its event time. The time must not be
// zero and must lie before the end of time.
func At[T any](t time.Time, v T) Timestamped[T] {
	at, err := instant(t)
	return Timestamped[T]{at, v, err}
}

// New returns the only stream of a script of its own.
func New[T any]() *Stream[T] { return On[T](&Script{}) }

// On adds a stream to a script.
func On[T any](s *Script) *Stream[T] {
	return &Stream[T]{script: s, id: s.newStream(), events: map[int]event[T]{}, wm: exec.MinTime}
}

// Elements delivers elems in one bundle, all with event time at.
func (s *Stream[T]) Elements(at time.Time, elems ...T) *Stream[T] {
	bundle := make([]Timestamped[T], len(elems))
	for i, v := range elems {
		bundle[i] = At(at, v)
	}
	s.add(event[T]{elems: bundle})
	return s
}

// Bundle delivers elements with different event times in one bundle.
func (s *Stream[T]) Bundle(elems ...Timestamped[T]) *Stream[T] {
	s.add(event[T]{elems: append([]Timestamped[T]{}, elems...)})
	return s
}

// Watermark advances the watermark of the stream: no element before it is
// expected any more. It must not go back.
func (s *Stream[T]) Watermark(to time.Time) *Stream[T] {
	at, err := instant(to)
	if err == nil && at < s.wm {
		err = fmt.Errorf("watermark %v lies before %v, which the stream has reached; a watermark never goes back", at, s.wm)
	}
	s.wm = max(s.wm, at)
	i := s.add(event[T]{watermark: at})
	if err != nil {
		s.script.mistake(s.id, i, err)
	}
	return s
}

// ProcessingTime advances the clock of the script, which all its streams share,
// by d: whole milliseconds, at least one.
func (s *Stream[T]) ProcessingTime(d time.Duration) *Stream[T] {
	s.script.ProcessingTime(d)
	return s
}

func (s *Stream[T]) add(e event[T]) (number int) {
	number = s.script.add(s.id, 0)
	for k, x := range e.elems {
		if x.bad != nil {
			s.script.mistake(s.id, number, fmt.Errorf("element %d, %+v: %w", k, x.v, x.bad))
		}
	}
	s.events[number] = e
	return number
}

// Source adds the stream to a pipeline as a source, in the global window. The
// stream may be the source of any number of pipelines, and events may be
// appended until the pipeline runs.
func (s *Stream[T]) Source(p *pcoll.Pipeline, opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(p, "TestStream", opts...)
	out := pcoll.To[T](b, pcoll.Unwindowed(false))
	b.Node().Structure = graph.Source
	for _, n := range pcoll.Graph(p).Nodes {
		if other, ok := n.Op.(interface{ of() *Script }); ok && other.of() != s.script {
			b.Errorf("%s follows another script, whose events have no order among those of this one; make both streams of one Script with On", n.Name)
			break
		}
	}
	op := &rootOp[T]{stream: s, pipeline: p}
	s.script.bind(p, s.id, op, b)
	b.Add(op)
	return out
}

// instant converts t, which must be an event time.
func instant(t time.Time) (exec.Time, error) {
	at := exec.TimeOf(t)
	switch {
	case t.IsZero():
		return at, fmt.Errorf("the zero time.Time is no event time; give a time, such as time.UnixMilli(0)")
	case t.Before(exec.MinTime.Time()):
		return at, fmt.Errorf("time %v is outside what event time can express, which begins at %v", t, exec.MinTime.Time())
	case at >= exec.MaxTime:
		return at, fmt.Errorf("time %v is outside what event time can express; only the end of the script gets there", t)
	}
	return at, nil
}

const library = "github.com/penstock-dev/penstock/testing/teststream."

// caller returns the place of the call into this package.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, library) || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
}
