package engine

import "github.com/penstock-dev/penstock/internal/exec"

// A script runs as a sequence of turns: turn 0 reads the bounded sources, turn
// i+1 is event i, a last one ends the script. A marker of the turn follows its
// elements and watermarks through all queues; a task that has it from all its
// producers, and from the driver if it has roots, ends the turn of its operators
// and passes the marker on. When every task has done so the pipeline is
// quiescent.

// Turn returns the command that begins turn i of a script.
func (e *Engine) Turn(s *exec.Script, i int) Command {
	switch {
	case i == 0:
		return Command{Event: -1}
	case i > len(s.Events):
		return Command{Turn: i, Event: -1, Last: true}
	}
	m := Command{Turn: i, Event: i - 1}
	if ev := s.Events[i-1]; ev.Clock == 0 {
		m.Roots = e.roots(ev.Root)
	}
	return m
}

// Begin gives a turn's command to the tasks that wait for it and returns how
// many tasks will end the turn.
func (e *Engine) Begin(m Command) (ending int) {
	for _, t := range e.Tasks {
		if t.roots {
			t.Mail.Push(m, false)
		}
		if t.turns {
			ending++
		}
	}
	return ending
}

// spread finds the tasks that turn markers come to. They do not come to a
// worker that a gathering leaves out, nor to one that only such workers feed.
func (e *Engine) spread() {
	for changed := true; changed; {
		changed = false
		for _, t := range e.Tasks {
			turns := t.roots
			for _, q := range t.queues {
				turns = turns || q.from.turns
			}
			changed = changed || turns != t.turns
			t.turns = turns
		}
	}
}

// roots returns the numbers of the roots with this operator, or of all for nil.
func (e *Engine) roots(op exec.Op) (numbers []int32) {
	for _, o := range e.Plan.Ops {
		if len(o.Ins) == 0 && (op == nil || o.Op == op) {
			numbers = append(numbers, o.Number)
		}
	}
	return numbers
}

// aligned reports whether the marker of the next turn has come from everywhere.
func (t *Task) aligned() bool {
	next := t.turn + 1
	if !t.turns || t.roots && t.commanded != next {
		return false
	}
	ended := !t.roots
	for _, q := range t.queues {
		if q.turn != next && !q.ended {
			return false
		}
		ended = ended && q.ended
	}
	for _, o := range t.ops {
		if o.root == awake || o.root == dormant { // bounded sources are read whole in turn 0
			return false
		}
	}
	return !ended // when all producers have ended there is no marker, and nothing to end
}

// endTurn passes the marker on and lets the queues go.
func (t *Task) endTurn() {
	t.flush()
	if t.lastPass {
		return // not a turn of the script
	}
	t.turn++
	for _, q := range t.queues {
		q.turn = -1
	}
	for _, o := range t.outs {
		o.control(message{kind: turn, turn: t.turn})
	}
	if t.eng.opt.OnTurn != nil {
		t.eng.opt.OnTurn(t.turn)
	}
}
