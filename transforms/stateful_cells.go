package transforms

import (
	"cmp"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A cell is what is kept for a key and window beside its state.
type cell[K comparable, V any] struct {
	key    K
	hash   uint64
	window exec.Window
	gen    uint32 // which use of the slot this is

	event, clock []timer      // that are set, in the order of firing
	waiting      []waiting[V] // in the order of time, if sorted
	sweeps       [2]exec.Time // when state may end, of event time and processing time; exec.Idle: never

	// When the agendas look at the cell; exec.Idle if they do not.
	events, clocks, held exec.Time
}

// timer is one that is set.
type timer struct {
	at, out exec.Time
	hold    exec.Time // where it holds the output watermark: at out, or as soon behind it as it can
	field   int
	tag     string
	noHold  bool // there is no out, nor hold
}

func (t timer) compare(o timer) int {
	return cmp.Or(cmp.Compare(t.at, o.at), cmp.Compare(t.field, o.field), cmp.Compare(t.tag, o.tag))
}

// waiting is an element that waits for its turn.
type waiting[V any] struct {
	time exec.Time
	hold exec.Time // of the output watermark; see timer
	pane exec.Pane
	kind exec.Kind
	v    V
}

// A due is a slot that something is due in at a time.
type due struct {
	at   exec.Time
	slot int32
	gen  uint32
}

// cells are the cells of a worker by slot, in chunks that never move.
type cells[K comparable, V any] struct {
	chunks [][]cell[K, V]
	free   []int32
	used   int // slots in use
	next   int32
}

const cellBits = 8

func (s *cells[K, V]) at(slot int32) *cell[K, V] {
	return &s.chunks[slot>>cellBits][slot&(1<<cellBits-1)]
}

// take returns a slot for a key and window.
func (s *cells[K, V]) take(k K, hash uint64, w exec.Window) (slot int32) {
	s.used++
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		slot = s.next
		s.next++
		if int(slot>>cellBits) == len(s.chunks) {
			s.chunks = append(s.chunks, make([]cell[K, V], 1<<cellBits))
		}
	}
	x := s.at(slot)
	*x = cell[K, V]{key: k, hash: hash, window: w, gen: x.gen, sweeps: [2]exec.Time{exec.Idle, exec.Idle},
		events: exec.Idle, clocks: exec.Idle, held: exec.Idle}
	return slot
}

// put gives a slot back.
func (s *cells[K, V]) put(slot int32) {
	x := s.at(slot)
	*x = cell[K, V]{gen: x.gen + 1}
	s.free = append(s.free, slot)
	s.used--
}

// current returns the cell of d, or nil if its slot has another use now.
func (s *cells[K, V]) current(d due) *cell[K, V] {
	if x := s.at(d.slot); x.gen == d.gen {
		return x
	}
	return nil
}

// An agenda is what is due, earliest first. Entries that their cell does not
// agree with any more are skipped when they come up.
type agenda = heap[due]

// Before orders by time, and then by slot.
func (d due) Before(e due) bool { return d.at < e.at || d.at == e.at && d.slot < e.slot }

// setTimer puts t in its place in list, in place of the setting of the same field and tag.
func setTimer(list []timer, t timer) []timer {
	list = clearTimer(list, t.field, t.tag)
	i, _ := slices.BinarySearchFunc(list, t, timer.compare)
	return slices.Insert(list, i, t)
}

// clearTimer removes a setting.
func clearTimer(list []timer, field int, tag string) []timer {
	for i := range list {
		if list[i].field == field && list[i].tag == tag {
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}
