package modeltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
)

// A Runner is a way to run a pipeline.
type Runner struct {
	Name string
	Run  func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error)
}

// quiet takes what runners log.
var quiet = slog.New(slog.DiscardHandler)

// Direct returns the direct runner, the reference.
func Direct(opts ...direct.Option) Runner {
	return Runner{"direct", func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
		return direct.Run(ctx, p, append(slices.Clip(opts), direct.Logger(quiet))...)
	}}
}

// A Local is a configuration of the local runner.
type Local struct {
	Workers, Queue, Batch int // 0: the default
	NoLift, General       bool
}

// Runner returns the local runner with this configuration.
func (l Local) Runner() Runner {
	return Runner{fmt.Sprintf("local%+v", l), func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
		opts := []local.Option{local.Workers(l.Workers), local.Logger(quiet), local.Lifting(!l.NoLift), local.Aligned(!l.General)}
		if l.Queue > 0 {
			opts = append(opts, local.QueueBatches(l.Queue))
		}
		if l.Batch > 0 {
			opts = append(opts, local.BatchSize(l.Batch))
		}
		return local.Run(ctx, p, opts...)
	}}
}

// seen is what a run showed.
type seen struct {
	lines, counts []string
}

// Check runs the spec on the reference and on each of the others, and reports
// the first that shows something else, or a law that does not hold.
func (s *Spec) Check(ctx context.Context, reference Runner, others ...Runner) error {
	want, err := s.run(ctx, reference)
	if err != nil {
		return fmt.Errorf("%s: %w\n%v", reference.Name, err, s)
	}
	for _, r := range others {
		got, err := s.run(ctx, r)
		if got != nil {
			err = errors.Join(err, differ("elements", want.lines, got.lines))
			if !s.loose() {
				err = errors.Join(err, differ("counters", want.counts, got.counts))
			}
		}
		if err != nil {
			return fmt.Errorf("%s and %s: %w\n%v", reference.Name, r.Name, err, s)
		}
	}
	return nil
}

func (s *Spec) run(ctx context.Context, r Runner) (*seen, error) {
	rec := &record{}
	p, err := s.build(rec)
	if err != nil {
		return nil, fmt.Errorf("the pipeline cannot be built: %w", err)
	}
	res, err := r.Run(ctx, p)
	if err != nil {
		return nil, err
	}
	x := &seen{lines: rec.lines()}
	for _, t := range res.Transforms {
		line := fmt.Sprintf("%s: %d elements, %d dropped late, %d dropped closed, watermark %v", t.Name, t.Elements, t.DroppedLate, t.DroppedClosed, t.Watermark)
		for _, name := range slices.Sorted(maps.Keys(t.Internal)) {
			if n := t.Internal[name]; n != 0 {
				line += fmt.Sprintf(", %d %s", n, name)
			}
		}
		x.counts = append(x.counts, line)
	}
	return x, rec.laws(res)
}

// SameContents runs both specs on a runner and reports what differs, whatever
// event of the script it came with.
func (s *Spec) SameContents(ctx context.Context, other *Spec, r Runner) error {
	a, err := s.run(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w\n%v", r.Name, err, s)
	}
	b, err := other.run(ctx, r)
	if err == nil {
		err = differ("elements", timeless(a.lines), timeless(b.lines))
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%v\nand\n%v", r.Name, err, s, other)
	}
	return nil
}

// timeless returns lines without the number of the event.
func timeless(lines []string) (out []string) {
	for _, l := range lines {
		name, rest, _ := strings.Cut(l, ", event ")
		_, rest, _ = strings.Cut(rest, ": ")
		out = append(out, name+": "+rest)
	}
	return out
}

// maxShown is how many differences are told: the smallest case has few.
const maxShown = 60

// differ says which lines of want are missing in got and which are too many; nil if none.
func differ(what string, want, got []string) error {
	left := map[string]int{}
	for _, l := range want {
		left[l]++
	}
	for _, l := range got {
		left[l]--
	}
	var b strings.Builder
	shown, more := 0, 0
	for _, l := range slices.Sorted(maps.Keys(left)) {
		sign, n := "-", left[l]
		if n < 0 {
			sign, n = "+", -n
		}
		for range n {
			if shown++; shown > maxShown {
				more++
				continue
			}
			fmt.Fprintf(&b, "\n  %s %s", sign, l)
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	if shown == 0 {
		return nil
	}
	return fmt.Errorf("other %s (- the first, + the second):%s", what, b.String())
}
