package local

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/runners/local/internal/engine"
)

// discover lists a source's splits and gives the new ones to workers, once or
// at the source's interval.
func (j *Job) discover(root int32, name string, s exec.Splitter) {
	known := map[string]bool{}
	loads := make([]int64, j.eng.Plan.Workers)
	for first := true; ; first = false {
		splits, err := s.Splits(j.ctx)
		if err != nil {
			if j.ctx.Err() == nil {
				j.cancel(fmt.Errorf("%s: %w", name, err))
			}
			return
		}
		splits = slices.DeleteFunc(splits, func(s exec.Split) bool {
			seen := known[s.ID]
			known[s.ID] = true
			return seen
		})
		j.assign(root, splits, loads, first)
		if s.Rediscover() <= 0 {
			return
		}
		select {
		case <-time.After(time.Duration(s.Rediscover()) * time.Millisecond):
		case <-j.ctx.Done():
			return
		}
	}
}

// assign gives each split to the least loaded worker, the largest first. The
// first time every worker gets a command, so that it knows when it has none.
func (j *Job) assign(root int32, splits []exec.Split, loads []int64, first bool) {
	slices.SortStableFunc(splits, func(a, b exec.Split) int { return cmp.Compare(b.Size, a.Size) })
	byWorker := make([][]exec.Split, len(loads))
	for _, s := range splits {
		w := slices.Index(loads, slices.Min(loads))
		loads[w] += max(s.Size, 1)
		byWorker[w] = append(byWorker[w], s)
	}
	for _, t := range j.eng.Tasks {
		if t.Has(root) && (first || len(byWorker[t.Worker]) > 0) {
			t.Mail.Push(engine.Command{Assign: true, Root: root, Splits: byWorker[t.Worker]}, false)
		}
	}
}

// scriptOf returns the script that drives the graph's roots, or nil.
func scriptOf(g *graph.Graph) (script *exec.Script, err error) {
	var name string
	for _, n := range g.Nodes {
		s, ok := n.Op.(exec.Scripted)
		switch {
		case !ok:
		case script == nil:
			script, name = s.Script(), n.Name
		case script != s.Script():
			return nil, fmt.Errorf("local: %s and %s are TestStreams of two scripts; make them views of one, so that their events have an order", name, n.Name)
		}
	}
	for _, n := range g.Nodes {
		if _, ok := n.Op.(exec.Scripted); script != nil && len(n.Inputs) == 0 && !ok && !n.Outputs[0].Bounded {
			return nil, fmt.Errorf("local: %s is unbounded and cannot be read whole before the script of %s begins", n.Name, name)
		}
	}
	return script, nil
}

// play sends the events of the script, each when the one before has passed through all tasks.
func (j *Job) play() {
	if !j.turnOver(engine.Command{Turn: 0, Event: -1}) {
		return
	}
	for i, e := range j.script.Events {
		if e.Clock > 0 {
			j.manual.Advance(e.Clock)
		}
		m := engine.Command{Turn: i + 1, Event: i}
		if e.Root != nil {
			m.Roots = j.eng.Roots(e.Root)
		} else if e.Clock == 0 {
			m.Roots = j.eng.Roots(nil)
		}
		if !j.turnOver(m) {
			return
		}
	}
	j.turnOver(engine.Command{Turn: len(j.script.Events) + 1, Event: -1, Last: true})
}

// turnOver begins a turn and waits until all tasks have ended it.
func (j *Job) turnOver(m engine.Command) bool {
	wait := 0
	for _, t := range j.eng.Tasks {
		if t.TakesTurns() {
			wait++
		}
	}
	for _, t := range j.eng.Tasks {
		if t.HasRoots() {
			t.Mail.Push(m, false)
		}
	}
	for ; wait > 0; wait-- {
		select {
		case <-j.turns:
		case <-j.ctx.Done():
			return false
		}
	}
	return true
}

// onTurn is called by tasks; the channel has room for all.
func (j *Job) onTurn(turn int) { j.turns <- turn }
