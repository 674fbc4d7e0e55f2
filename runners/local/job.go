package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/engine"
)

// A Job is a pipeline that runs.
//
// Goroutines: one for each task (a stage on a worker), one for each source that
// lists splits, one for a script. All belong to the job, end when its context
// does, and are gone when Wait returns.
type Job struct {
	name   string
	graph  *graph.Graph
	eng    *engine.Engine
	clock  host.Clock
	manual *host.Manual // the clock of a script
	script *exec.Script
	parent context.Context // of the caller
	ctx    context.Context
	cancel context.CancelCauseFunc

	tasks   sync.WaitGroup // goroutines of tasks
	helpers sync.WaitGroup // all others
	beside  host.Crew      // work of operators
	turns   chan int       // turn markers that passed through a task
	loads   []load         // beside eng.Tasks

	mu     sync.Mutex
	waited []error // of sources that were being listed when the job was cancelled

	once   sync.Once
	result *pcoll.Result
	err    error
}

// load is how a task spends its time.
type load struct {
	mu                  sync.Mutex
	busy, idle, blocked time.Duration
}

func (j *Job) run() {
	j.loads = make([]load, len(j.eng.Tasks))
	j.turns = make(chan int, len(j.eng.Tasks))
	for _, o := range j.eng.Plan.Ops {
		if s, ok := o.Op.(exec.Splitter); ok {
			j.helpers.Go(func() { j.discover(o.Number, o.Name(), s) })
		}
	}
	for i, t := range j.eng.Tasks {
		j.tasks.Go(func() { j.drive(t, &j.loads[i]) })
	}
	if j.script != nil {
		j.helpers.Go(j.play)
	}
}

// drive steps a task until it is done, has failed, or the job is cancelled.
func (j *Job) drive(t *engine.Task, l *load) {
	last := time.Now()
	spent := func(d *time.Duration) {
		now := time.Now()
		l.mu.Lock()
		*d += now.Sub(last)
		l.mu.Unlock()
		last = now
	}
	returned := false
	defer func() {
		if !returned { // user code ended the goroutine, and nobody steps the task any more
			j.cancel(t.Err())
		}
	}()
	for j.ctx.Err() == nil {
		switch t.Step() {
		case engine.Parked:
			spent(&l.busy)
			at := t.WakeAt()
			if j.manual != nil {
				at = exec.Idle // only the script moves this clock
			}
			t.Signal.Wait(j.ctx, j.clock.Now(), at)
			spent(&l.idle)
		case engine.Blocked:
			spent(&l.busy)
			t.Signal.Wait(j.ctx, 0, exec.Idle)
			spent(&l.blocked)
		case engine.Done, engine.Failed:
			spent(&l.busy)
			if err := t.Err(); err != nil {
				j.cancel(err)
			}
			returned = true
			return
		}
	}
	returned = true
}

// Wait blocks until the job ends and returns what it did.
func (j *Job) Wait() (*pcoll.Result, error) {
	j.once.Do(j.end)
	return j.result, j.err
}

func (j *Job) end() {
	j.tasks.Wait()
	err := context.Cause(j.ctx)
	if err == nil {
		err = j.eng.Commit()
	}
	j.cancel(nil)
	j.helpers.Wait()
	j.beside.Wait()
	if len(j.waited) > 0 && errors.Is(err, j.parent.Err()) {
		err = fmt.Errorf("cancelled: %w; and: %w", err, errors.Join(j.waited...))
	}
	err = errors.Join(err, j.eng.Close())
	j.result = j.Result()
	if err != nil {
		j.err = fmt.Errorf("local: pipeline %q: %w", j.name, j.eng.Locate(err))
	}
}

// Cancel stops the job without finishing what it was at: nothing is flushed or committed.
func (j *Job) Cancel() { j.cancel(context.Canceled) }

// Result returns what the job has done so far.
func (j *Job) Result() *pcoll.Result { return j.eng.Result(j.graph) }

// A StageLoad says how the workers of a stage spent their time so far.
type StageLoad struct {
	Stage               int
	Transforms          []string
	Busy, Idle, Blocked time.Duration // summed over workers; Blocked is waiting for a consumer
}

// Load returns the load of each stage.
func (j *Job) Load() []StageLoad {
	stages := make([]StageLoad, len(j.eng.Plan.Stages))
	for i, t := range j.eng.Tasks {
		s := &stages[t.Stage.ID]
		s.Stage = t.Stage.ID
		if t.Worker == 0 {
			for _, o := range t.Stage.Ops {
				s.Transforms = append(s.Transforms, o.Name())
			}
		}
		l := &j.loads[i]
		l.mu.Lock()
		s.Busy += l.busy
		s.Idle += l.idle
		s.Blocked += l.blocked
		l.mu.Unlock()
	}
	return stages
}
