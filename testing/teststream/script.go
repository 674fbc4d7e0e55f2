package teststream

import (
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Script is the total order of the events of several streams and their common
// clock. The zero value is an empty script.
type Script struct {
	mu       sync.Mutex
	streams  int
	steps    []step
	mistakes []mistake
	bound    map[*pcoll.Pipeline]*binding
}

// step says whom an event concerns: a stream, or the clock.
type step struct {
	stream int
	clock  int64
	at     string // file:line of the call
}

// anyStream stands for the clock in place of a stream.
const anyStream = -1

type mistake struct {
	stream int
	err    error
}

// binding is what a script is in one pipeline.
type binding struct {
	roots  map[int]exec.Op // by stream
	users  []user          // in the order of Source
	script *exec.Script
}

type user struct {
	stream  int
	builder *pcoll.Builder
}

// ProcessingTime advances the clock by d: whole milliseconds, at least one.
func (s *Script) ProcessingTime(d time.Duration) *Script {
	ms := d.Milliseconds()
	i := s.add(anyStream, ms)
	if ms < 1 || d%time.Millisecond != 0 {
		s.mistake(anyStream, i, fmt.Errorf("the clock cannot advance by %v; give whole milliseconds, at least one", d))
	}
	return s
}

func (s *Script) newStream() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
	return s.streams - 1
}

// add appends an event and returns its number.
func (s *Script) add(stream int, clock int64) int {
	at := caller()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step{stream, clock, at})
	return len(s.steps) - 1
}

// mistake records what is wrong with an event, also in the pipelines that read the script already.
func (s *Script) mistake(stream, number int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := mistake{stream, fmt.Errorf("event %d of the script (%s): %w", number, s.steps[number].at, err)}
	s.mistakes = append(s.mistakes, m)
	for _, bd := range s.bound {
		for i, u := range bd.users {
			bd.tell(i, u, m)
		}
	}
}

// tell reports m to the source of its stream; mistakes with the clock go to the first.
func (bd *binding) tell(i int, u user, m mistake) {
	if m.stream == u.stream || m.stream == anyStream && i == 0 {
		u.builder.Errorf("%w", m.err)
	}
}

// bind makes op the source of a stream in p.
func (s *Script) bind(p *pcoll.Pipeline, stream int, op exec.Op, b *pcoll.Builder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bd := s.bound[p]
	if bd == nil {
		if s.bound == nil {
			s.bound = map[*pcoll.Pipeline]*binding{}
		}
		bd = &binding{roots: map[int]exec.Op{}}
		s.bound[p] = bd
	}
	if bd.roots[stream] != nil {
		b.Errorf("the stream is a source of this pipeline already; use the collection that Source returned before")
		return
	}
	bd.roots[stream] = op
	bd.users = append(bd.users, user{stream, b})
	for _, m := range s.mistakes {
		bd.tell(len(bd.users)-1, bd.users[len(bd.users)-1], m)
	}
}

// in returns the events as they are in p: the same value until events are
// appended. The last one is the end, which concerns all streams.
func (s *Script) in(p *pcoll.Pipeline) *exec.Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	bd := s.bound[p]
	if bd.script != nil && len(bd.script.Events) == len(s.steps)+1 {
		return bd.script
	}
	bd.script = &exec.Script{}
	for _, st := range s.steps {
		e := exec.Event{Clock: st.clock}
		if st.stream != anyStream {
			e.Root = bd.roots[st.stream]
		}
		bd.script.Events = append(bd.script.Events, e)
	}
	bd.script.Events = append(bd.script.Events, exec.Event{})
	return bd.script
}

// unread returns the place of an event whose stream is no source of p, or "".
func (s *Script) unread(p *pcoll.Pipeline) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.steps {
		if st.stream != anyStream && s.bound[p].roots[st.stream] == nil {
			return st.at
		}
	}
	return ""
}

// length returns the number of events without the end.
func (s *Script) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}
