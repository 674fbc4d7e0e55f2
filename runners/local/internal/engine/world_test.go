package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/engine"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// A log is a source of partitions that a test appends to while the pipeline
// runs: what a broker is to a Kafka source. Rows are their event times, in seconds.
type log struct {
	progress connector.Progress
	parts    []*part
}

// part is a partition.
type part struct {
	rows   []int64
	closed bool // no more rows will come
	away   bool // the broker does not answer: what there is cannot be seen
	wake   func()
	read   int // rows that were read
	asked  int // Reads
}

// put appends rows and tells the reader.
func (p *part) put(secs ...int64) {
	p.rows = append(p.rows, secs...)
	if p.wake != nil {
		p.wake()
	}
}

func (p *part) close() {
	p.closed = true
	p.put()
}

func (l *log) Progress() connector.Progress { return l.progress }

func (l *log) Splits(context.Context) (out []connector.Split, err error) {
	for i := range l.parts {
		out = append(out, connector.Split{ID: fmt.Sprint(i), Size: 1, Start: binary.AppendVarint(nil, int64(i))})
	}
	return out, nil
}

func (l *log) Open(_ context.Context, env connector.Env, s connector.Split, _ connector.Position) (connector.Reader[int64], error) {
	i, _ := binary.Varint(s.Start)
	p := l.parts[i]
	p.wake = env.Wake
	return (*partReader)(p), nil
}

// maxRead is how many rows a Read gives, so that there are several.
const maxRead = 100

type partReader part

func (p *partReader) Read(b *connector.Batch[int64]) (connector.Status, error) {
	p.asked++
	for n := 0; n < maxRead && p.read < len(p.rows) && !p.away; n++ {
		b.Add(connector.Time(p.rows[p.read]*1000), p.rows[p.read])
		p.read++
	}
	switch {
	case p.away:
		return connector.Waiting, nil
	case p.read < len(p.rows):
		return connector.Ready, nil
	case p.closed:
		return connector.Ended, nil
	}
	return connector.Waiting, nil
}

func (p *partReader) CaughtUp() bool               { return !p.away && p.read == len(p.rows) }
func (p *partReader) Position() connector.Position { return binary.AppendVarint(nil, int64(p.read)) }
func (p *partReader) Close() error                 { p.wake = nil; return nil }

// A world is an engine that a test drives by hand, in an order that a seed decides.
type world struct {
	t     *testing.T
	eng   *engine.Engine
	clock *host.Manual
	rng   *rand.Rand
	roots map[int32]exec.Splitter
	known map[string]bool
	loads map[int32][]int64
	p     *pcoll.Pipeline
}

// start makes an engine of the pipeline and gives it the splits that there are.
func start(t *testing.T, p *pcoll.Pipeline, workers int, opt engine.Options) *world {
	t.Helper()
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: &host.Manual{}, rng: rand.New(rand.NewPCG(uint64(workers), 7)), p: p,
		roots: map[int32]exec.Splitter{}, known: map[string]bool{}, loads: map[int32][]int64{}}
	w.clock.Advance(105_000)
	opt.Clock, opt.Context, opt.Log, opt.Aligned = w.clock, t.Context(), slog.New(slog.DiscardHandler), true
	var err error
	if w.eng, err = engine.New(plan.New(pcoll.Graph(p), plan.Options{Workers: workers}), opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.eng.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, o := range w.eng.Plan.Ops {
		if s, ok := o.Op.(exec.Splitter); ok {
			w.roots[o.Number], w.loads[o.Number] = s, make([]int64, workers)
		}
	}
	w.discover(true)
	return w
}

// discover lists the splits and assigns those that are new.
func (w *world) discover(first bool) {
	for n, s := range w.roots {
		splits, err := s.Splits(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		splits = slices.DeleteFunc(splits, func(s exec.Split) bool {
			id := fmt.Sprint(n, "/", s.ID)
			seen := w.known[id]
			w.known[id] = true
			return seen
		})
		w.eng.Assign(n, splits, w.loads[n], first)
	}
}

// maxRounds is how often all tasks are stepped before a test is called stuck.
const maxRounds = 100_000

// settle steps all tasks until none has anything to do. It reports whether all are done.
func (w *world) settle() (done bool) {
	w.t.Helper()
	for range maxRounds {
		busy, all := false, true
		for _, i := range w.rng.Perm(len(w.eng.Tasks)) {
			t := w.eng.Tasks[i]
			for range 1 + w.rng.IntN(4) {
				st := t.Step()
				if st == engine.Failed {
					w.t.Fatal(w.eng.Locate(t.Err()))
				}
				all = all && st == engine.Done
				if st != engine.Running {
					break
				}
				busy = true
			}
		}
		if !busy {
			return all
		}
	}
	w.t.Fatalf("not quiet after %d rounds", maxRounds)
	return false
}

// pass lets processing time pass, stopping wherever a task wants to run.
func (w *world) pass(ms int64) {
	w.t.Helper()
	end := w.clock.Now().Add(ms)
	for range maxRounds {
		at := exec.Idle
		for _, t := range w.eng.Tasks {
			at = min(at, t.WakeAt())
		}
		if at >= end {
			w.clock.Advance(int64(end - w.clock.Now()))
			w.settle()
			return
		}
		w.clock.Advance(max(1, int64(at+1-w.clock.Now())))
		w.settle()
	}
	w.t.Fatalf("time does not get past %v", w.clock.Now())
}

// dropped returns how many elements came too late.
func (w *world) dropped() int64 { return w.eng.Result(pcoll.Graph(w.p)).Dropped() }

// seen collects lines.
type seen []string

func (s seen) String() string { return strings.Join(slices.Sorted(slices.Values(s)), ", ") }

// counts counts rows in windows of so many seconds, and tells the panes.
func counts(in pcoll.PCollection[int64], secs int, got *seen) {
	w := windowing.Into(in, windowing.Fixed(time.Duration(secs)*time.Second))
	one := transforms.KeyBy(w, func(int64) string { return "k" })
	transforms.ForEach(transforms.CountPerKey(one), func(c *pcoll.Context, e pcoll.KV[string, int64]) error {
		*got = append(*got, fmt.Sprintf("[%d,%d)=%d %v", c.Window().Start/1000, c.Window().End/1000, e.Value, c.Pane().Timing))
		return nil
	})
}

// each runs a test for some numbers of workers.
func each(t *testing.T, f func(t *testing.T, workers int)) {
	for _, n := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { f(t, n) })
	}
}

// want compares what was seen.
func (s seen) want(t *testing.T, want ...string) {
	t.Helper()
	if w := seen(want).String(); s.String() != w {
		t.Errorf("got  %s\nwant %s", s, w)
	}
}
