// Package sim runs a pipeline on the local engine in one goroutine, on a
// virtual clock, with everything that production leaves to chance decided by a
// seed: which task runs next and for how many steps. The same seed gives the
// same run, so a failure that a test finds can be looked at again.
//
// Sources that need goroutines of their own to make progress cannot be simulated.
package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/engine"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
)

// Config says how a pipeline is simulated.
type Config struct {
	Seed         uint64
	Workers      int
	BatchRows    int // 0: the default of production
	QueueBatches int // 0: the default of production
	NoLift       bool
	General      bool // general forms only
}

// Run runs p to its end.
func Run(ctx context.Context, p *pcoll.Pipeline, c Config) (*pcoll.Result, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	g := pcoll.Graph(p)
	script, err := g.Script()
	if err != nil {
		return nil, err
	}
	s := &sim{rng: rand.New(rand.NewPCG(c.Seed, 1)), clock: &host.Manual{}, script: script}
	pl := plan.New(g, plan.Options{Workers: c.Workers, NoLift: c.NoLift})
	eng, err := engine.New(pl, engine.Options{Clock: s.clock, Context: ctx, Log: slog.New(slog.DiscardHandler), Aligned: !c.General,
		Spawn:    func(f func()) { s.beside = append(s.beside, f) },
		Scripted: script != nil, QueueBatches: c.QueueBatches, BatchRows: c.BatchRows, OnTurn: func(int) { s.acks++ }})
	if err != nil {
		return nil, err
	}
	s.eng = eng
	if err = s.deal(ctx); err == nil {
		err = s.loop(ctx)
	}
	if err == nil {
		err = eng.Commit()
	}
	if cerr := eng.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		err = fmt.Errorf("sim: seed %d: %w", c.Seed, eng.Locate(err))
	}
	return eng.Result(g), err
}

type sim struct {
	eng    *engine.Engine
	rng    *rand.Rand
	clock  *host.Manual
	script *exec.Script
	turn   int // next to begin
	acks   int // tasks that ended the turn that is under way
	await  int
	beside []func() // work of operators that has not been done yet
}

func (s *sim) deal(ctx context.Context) error {
	for _, o := range s.eng.Plan.Ops {
		sp, ok := o.Op.(exec.Splitter)
		if !ok {
			continue
		}
		splits, err := sp.Splits(ctx)
		if err != nil {
			return err
		}
		s.eng.Assign(o.Number, splits, make([]int64, s.eng.Plan.Workers), true)
	}
	return nil
}

// maxSteps is how often a task is stepped before another is chosen.
const maxSteps = 8

// loop steps tasks in seeded order until all are done.
func (s *sim) loop(ctx context.Context) error {
	done := map[*engine.Task]bool{}
	for len(done) < len(s.eng.Tasks) {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress := false
		for _, i := range s.rng.Perm(len(s.eng.Tasks)) {
			t := s.eng.Tasks[i]
			if done[t] {
				continue
			}
			for range 1 + s.rng.IntN(maxSteps) {
				st := t.Step()
				switch st {
				case engine.Failed:
					return t.Err()
				case engine.Done:
					done[t] = true
				}
				if st != engine.Running {
					break
				}
				progress = true
			}
		}
		if s.rng.IntN(2) == 0 && s.work() {
			progress = true
		}
		if !progress && len(done) < len(s.eng.Tasks) && !s.work() && !s.next() {
			return fmt.Errorf("no task can make progress: %d of %d are done", len(done), len(s.eng.Tasks))
		}
	}
	return nil
}

// work does some work that an operator wants done beside its task, if there is any.
func (s *sim) work() bool {
	if len(s.beside) == 0 {
		return false
	}
	i, last := s.rng.IntN(len(s.beside)), len(s.beside)-1
	f := s.beside[i]
	s.beside[i] = s.beside[last]
	s.beside = s.beside[:last]
	f()
	return true
}

// next is called when all tasks are parked: it plays the next event of the
// script, or moves the clock to when the first of them wants to run.
func (s *sim) next() bool {
	if s.script != nil {
		return s.play()
	}
	at := exec.Idle
	for _, t := range s.eng.Tasks {
		at = min(at, t.WakeAt())
	}
	if at == exec.Idle {
		return false
	}
	s.clock.Advance(max(1, int64(at-s.clock.Now())+1))
	return true
}

func (s *sim) play() bool {
	if s.acks < s.await || s.turn > len(s.script.Events)+1 {
		return false
	}
	m := s.eng.Turn(s.script, s.turn)
	if i := s.turn - 1; i >= 0 && i < len(s.script.Events) {
		s.clock.Advance(s.script.Events[i].Clock)
	}
	s.turn++
	s.acks, s.await = 0, s.eng.Begin(m)
	return true
}
