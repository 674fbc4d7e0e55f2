// Package pipeline runs conformance vectors as users would run them: through
// the public API and a TestStream, on the direct runner and on the local runner
// with several numbers of workers. It only translates steps into events of a
// script.
//
// A step that is an event of the script (input, watermark, clock) is preceded
// by a mark: an element of the same stream that carries the step's number and is
// filtered out in front of the grouping. A script promises that an event is
// delivered when all that the one before caused is done; so a pane belongs to
// the step whose mark was seen last, and one that came too late would be found
// with the wrong step.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/modeltest/surface"
	"github.com/penstock-dev/penstock/internal/tools/conformance/vectors"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
)

// runner is a way to run a pipeline.
type runner struct {
	name string
	run  func(*pcoll.Pipeline) (*pcoll.Result, error)
}

func runners() []runner {
	quiet := slog.New(slog.DiscardHandler)
	rs := []runner{{"direct runner", func(p *pcoll.Pipeline) (*pcoll.Result, error) {
		return direct.Run(context.Background(), p, direct.Logger(quiet))
	}}}
	for _, n := range []int{1, 2, 5} {
		rs = append(rs, runner{fmt.Sprintf("local runner, workers %d", n), func(p *pcoll.Pipeline) (*pcoll.Result, error) {
			return local.Run(context.Background(), p, local.Workers(n), local.Logger(quiet))
		}})
	}
	return rs
}

// Check runs a case on each runner and returns what any of them did wrong.
func Check(c *vectors.Case) (err error) {
	for _, r := range runners() {
		outcomes, bad := play(c, r)
		if bad == nil {
			bad = vectors.Judge(c, outcomes)
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, bad))
		}
	}
	return err
}

// play returns the outcome of each step.
func play(c *vectors.Case, r runner) ([]vectors.Outcome, error) {
	whole, err := run(c, len(c.Steps), r)
	if err != nil {
		return nil, err
	}
	for i, s := range c.Steps {
		if s.Kind != vectors.DroppedLate && s.Kind != vectors.DroppedClosed {
			continue
		}
		// The counters of a result are those at the end: of a script that ends here.
		until := whole
		if hasInput(c.Steps[i:]) {
			if until, err = run(c, i, r); err != nil {
				return nil, err
			}
		}
		o := &whole.outcomes[i]
		o.DroppedLate, o.DroppedClosed = until.late, until.closed
		if n := whole.dropped(i); n != o.DroppedLate+o.DroppedClosed {
			return nil, fmt.Errorf("step %d: %d elements in the late output, but %d and %d counted as late and closed", i, n, o.DroppedLate, o.DroppedClosed)
		}
	}
	return whole.outcomes, nil
}

func hasInput(steps []vectors.Step) bool {
	for _, s := range steps {
		if s.Kind == vectors.Input {
			return true
		}
	}
	return false
}

// An item is an element of the stream: a mark, or one of the case's elements.
type item struct {
	Mark bool
	Step int // that a mark begins
	JSON string
}

// run builds the pipeline of the first n steps and runs it.
func run(c *vectors.Case, n int, r runner) (*record, error) {
	rec := &record{outcomes: make([]vectors.Outcome, n), drops: make([]int64, n)}
	p := pcoll.New(c.Name)
	stream, err := script(c.Steps[:n])
	if err != nil {
		return nil, err
	}
	src := stream.Source(p)
	// A script is finite, and says so where construction asks whether the global
	// window would ever end; there is no public way to accept one that does not.
	pcoll.Col(src).Bounded = true
	marks, items := transforms.Partition(src, func(e item) bool { return e.Mark }, pcoll.Named("Marks"))
	transforms.ForEach(marks, func(_ *pcoll.Context, m item) error { rec.begin(m.Step); return nil })
	// All elements are of one key. It is the case's name, so that in turn each worker is its owner.
	keyed := transforms.KeyBy(items, func(item) string { return c.Name })
	windowed, err := surface.Into(transforms.MapValues(keyed, func(e item) string { return e.JSON }), c.Strategy)
	if err != nil {
		return nil, err
	}
	groups, late := transforms.GroupByKeyWithLate(windowed, pcoll.Named("Group"))
	transforms.ForEach(groups, func(c *pcoll.Context, g pcoll.KV[string, pcoll.Group[string]]) error {
		e := vectors.Emitted{Window: c.Window(), Time: exec.TimeOf(c.EventTime()), Pane: c.Pane()}
		for v := range g.Value.All() {
			e.Values = append(e.Values, v)
		}
		rec.pane(e)
		return nil
	})
	transforms.ForEach(late, func(*pcoll.Context, pcoll.KV[string, string]) error { rec.drop(); return nil })
	res, err := r.run(p)
	if err != nil {
		return nil, err
	}
	g, ok := res.Transform("Group")
	if !ok {
		return nil, errors.New("the grouping is missing in the result")
	}
	rec.late, rec.closed = g.DroppedLate, g.DroppedClosed
	return rec, nil
}

// maxClock is the most, in ms, that a time.Duration can advance the clock by.
const maxClock = math.MaxInt64 / int64(time.Millisecond)

// script returns the steps as a stream.
func script(steps []vectors.Step) (*teststream.Stream[item], error) {
	s := teststream.New[item]()
	mark := func(step int) { s.Elements(time.UnixMilli(0), item{Mark: true, Step: step}) }
	last := -1 // event
	for i, step := range steps {
		if step.Kind <= vectors.Clock {
			last = i
		}
	}
	wm, clock := exec.MinTime, exec.Time(0)
	for i, step := range steps {
		if step.Kind > vectors.Clock {
			continue
		}
		mark(i)
		switch step.Kind {
		case vectors.Input:
			elems := make([]teststream.Timestamped[item], len(step.Elements))
			for k, e := range step.Elements {
				elems[k] = teststream.At(e.Time.Time(), item{JSON: e.Value})
			}
			s.Bundle(elems...)
		case vectors.Watermark:
			if i == last && step.Time == exec.MaxTime {
				return s, nil // the end of the script is what moves the watermark there
			}
			// Elsewhere the end is the last moment before it, when all windows are over too.
			if to := min(step.Time, exec.MaxTime-1); to > wm {
				wm = to
				s.Watermark(wm.Time())
			}
		case vectors.Clock:
			by := int64(step.Time - clock)
			if by > maxClock {
				return nil, fmt.Errorf("step %d: the clock cannot advance by %d ms at once", i, by)
			}
			if by > 0 {
				s.ProcessingTime(time.Duration(by) * time.Millisecond)
				clock = step.Time
			}
		}
	}
	mark(len(steps)) // what the end of the script brings is of no step
	return s, nil
}

// record is what a run did, by step. Workers report to it.
type record struct {
	mu       sync.Mutex
	step     int // whose mark came last
	outcomes []vectors.Outcome
	drops    []int64 // elements of the late output

	late, closed int64 // of the result
}

func (r *record) begin(step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

func (r *record) pane(e vectors.Emitted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step < len(r.outcomes) {
		o := &r.outcomes[r.step]
		o.Panes = append(o.Panes, e)
	}
}

func (r *record) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step < len(r.drops) {
		r.drops[r.step]++
	}
}

// dropped returns how many elements the late output had before step i.
func (r *record) dropped(i int) (n int64) {
	for _, d := range r.drops[:i] {
		n += d
	}
	return n
}
