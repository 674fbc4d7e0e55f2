package transforms

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
)

// This file stores what a function with state keeps: under a name for each
// state and timer field, so that fields can come and go, and of each key and
// window what it has there.

// keep registers the stores.
func (s *keeping[K, V, Out]) keep() {
	s.env.Keep("watermark", &s.marks)
	for i, name := range s.spec.states {
		col := s.columns[i]
		s.env.Keep("state/"+name, &partStore[K, V, Out]{s, part{col.Has, col.Append, col.Decode}})
	}
	for i, f := range s.spec.timers {
		s.env.Keep("timer/"+f.name, &partStore[K, V, Out]{s, s.timerPart(i)})
	}
	if s.spec.sorted {
		s.env.Keep("waiting", &partStore[K, V, Out]{s, part{
			func(slot int32) bool { return len(s.cells.at(slot).waiting) > 0 }, s.appendWaiting, s.decodeWaiting}})
	}
	if s.onExpiry != nil { // a key that has nothing is still to be told of
		s.env.Keep("keys", &partStore[K, V, Out]{s, part{has: func(int32) bool { return true },
			append: func(dst []byte, _ int32) ([]byte, error) { return dst, nil }}})
	}
}

// restored makes the agendas of the restored cells.
func (s *keeping[K, V, Out]) restored(*exec.Ctx) {
	s.events, s.clocks, s.holds = s.events[:0], s.clocks[:0], s.holds[:0]
	s.told = s.marks.past
	for _, w := range s.index.List() {
		t := s.index.Find(w)
		for i := range t.Chunks() {
			chunk := t.Chunk(i)
			for j := range chunk {
				s.schedule(chunk[j].Value)
			}
		}
	}
	if len(s.clocks) > 0 {
		s.env.WakeAt(s.clocks[0].at)
	}
}

// schedule puts a cell onto the agendas. What may have ended is swept at once.
func (s *keeping[K, V, Out]) schedule(slot int32) {
	x := s.cells.at(slot)
	slices.SortFunc(x.event, timer.compare)
	slices.SortFunc(x.clock, timer.compare)
	x.events, x.clocks, x.held, x.sweeps = exec.Idle, exec.Idle, exec.Idle, [2]exec.Time{exec.Idle, exec.Idle}
	for _, i := range s.mortal {
		if _, event := s.columns[i].TTL(); !s.columns[i].Has(slot) {
			continue
		} else if event {
			x.sweeps[0] = exec.MinTime
		} else {
			x.sweeps[1] = exec.MinTime
		}
	}
	s.dueEvent(slot, x, s.nextEvent(x))
	s.dueClock(slot, x, s.nextClock(x))
	s.hold(slot, x, s.nextHold(x))
}

// Snapshot writes the same for each group: whoever owns it later needs it. An
// operator that started again at the beginning of time would take elements of expired windows.
func (m *marks) Snapshot(dst []byte, _ int) ([]byte, error) {
	return binary.AppendVarint(binary.AppendVarint(dst, int64(m.in)), int64(m.past)), nil
}

// Restore takes the greatest of what the former owners of the groups knew.
func (m *marks) Restore(src []byte) error {
	for len(src) > 0 {
		for _, at := range []*exec.Time{&m.in, &m.past} {
			v, n := binary.Varint(src)
			if n <= 0 {
				return errCut
			}
			*at, src = max(*at, exec.Time(v)), src[n:]
		}
	}
	return nil
}

var errCut = errors.New("transforms: stored state is cut off or damaged; restore from another checkpoint")

// A part is what a slot has under one name.
type part struct {
	has    func(slot int32) bool
	append func(dst []byte, slot int32) ([]byte, error)
	decode func(src []byte, slot int32) (rest []byte, err error) // into a slot that has nothing; nil if there is nothing to read
}

// partStore keeps a part of all slots.
type partStore[K comparable, V, Out any] struct {
	s *keeping[K, V, Out]
	part
}

// header is the size of what precedes the entries of a window: its start and end, and
// their length in bytes.
const header = 8 + 8 + 4

// Snapshot appends the entries of a key group, window by window: key and part.
func (p *partStore[K, V, Out]) Snapshot(dst []byte, group int) (_ []byte, err error) {
	for _, w := range p.s.index.List() {
		head := len(dst)
		dst = binary.BigEndian.AppendUint64(dst, uint64(w.Start))
		dst = binary.BigEndian.AppendUint64(dst, uint64(w.End))
		dst = append(dst, 0, 0, 0, 0)
		t := p.s.index.Find(w)
		chunk := 0
		if t.Chunks() > 1 {
			chunk = group
		}
		for _, e := range t.Chunk(chunk) {
			if exec.GroupOf(p.s.cells.at(e.Value).hash) != group || !p.has(e.Value) {
				continue
			}
			if dst, err = p.s.spec.key.Coder.Append(dst, e.Key); err == nil {
				dst, err = p.append(dst, e.Value)
			}
			if err != nil {
				return nil, fmt.Errorf("key %+v, window %v: %w", e.Key, w, err)
			}
		}
		switch n := len(dst) - head - header; {
		case n == 0:
			dst = dst[:head]
		case n > 1<<32-1:
			return nil, fmt.Errorf("transforms: window %v, key group %d: %d bytes of state exceed the limit of 4 GiB; use smaller windows", w, group, n)
		default:
			binary.BigEndian.PutUint32(dst[head+header-4:], uint32(n))
		}
	}
	return dst, nil
}

// Restore adds entries that Snapshot wrote.
func (p *partStore[K, V, Out]) Restore(src []byte) error {
	for len(src) > 0 {
		if len(src) < header {
			return errCut
		}
		w := exec.Window{Start: exec.Time(binary.BigEndian.Uint64(src)), End: exec.Time(binary.BigEndian.Uint64(src[8:]))}
		n := binary.BigEndian.Uint32(src[16:])
		if src = src[header:]; uint64(n) > uint64(len(src)) {
			return errCut
		}
		if err := p.restoreWindow(w, src[:n]); err != nil {
			return fmt.Errorf("window %v: %w", w, err)
		}
		src = src[n:]
	}
	return nil
}

func (p *partStore[K, V, Out]) restoreWindow(w exec.Window, src []byte) error {
	for len(src) > 0 {
		k, rest, err := p.s.spec.key.Coder.Decode(src)
		if err != nil {
			return fmt.Errorf("stored key: %w", err)
		}
		slot := p.s.slotOf(k, w)
		switch {
		case p.decode == nil:
			src = rest
			continue
		case p.has(slot):
			return fmt.Errorf("key %+v is stored twice; restore from another checkpoint", k)
		}
		if src, err = p.decode(rest, slot); err != nil {
			return fmt.Errorf("key %+v: %w", k, err)
		}
	}
	return nil
}

// timerPart is the settings of timer field i.
func (s *keeping[K, V, Out]) timerPart(i int) part {
	list := func(slot int32) *[]timer {
		if s.spec.timers[i].event {
			return &s.cells.at(slot).event
		}
		return &s.cells.at(slot).clock
	}
	own := func(t timer) bool { return t.field == i }
	return part{
		has: func(slot int32) bool { return slices.ContainsFunc(*list(slot), own) },
		append: func(dst []byte, slot int32) ([]byte, error) {
			at, n := len(dst), 0
			dst = append(dst, 0, 0, 0, 0)
			for _, t := range *list(slot) {
				if own(t) {
					dst = appendTimer(dst, t)
					n++
				}
			}
			binary.BigEndian.PutUint32(dst[at:], uint32(n))
			return dst, nil
		},
		decode: func(src []byte, slot int32) ([]byte, error) {
			if len(src) < 4 {
				return nil, errCut
			}
			n := binary.BigEndian.Uint32(src)
			src = src[4:]
			for range n {
				t := timer{field: i}
				var ok bool
				if src, ok = decodeTimer(src, &t); !ok {
					return nil, errCut
				}
				*list(slot) = append(*list(slot), t) // in order within the field
			}
			return src, nil
		},
	}
}

// appendTimer writes a timer but its field: when it fires, its output time (one bit
// more says whether there is none) and how far behind that it holds, and its tag.
func appendTimer(dst []byte, t timer) []byte {
	dst = binary.AppendVarint(dst, int64(t.at))
	if t.noHold {
		dst = append(dst, 1)
	} else {
		dst = binary.AppendVarint(append(dst, 0), int64(t.out))
		dst = binary.AppendVarint(dst, int64(t.hold-t.out))
	}
	return append(binary.AppendUvarint(dst, uint64(len(t.tag))), t.tag...)
}

func decodeTimer(src []byte, t *timer) (rest []byte, ok bool) {
	at, n := binary.Varint(src)
	if n <= 0 || len(src) == n {
		return nil, false
	}
	t.at, t.noHold = exec.Time(at), src[n] != 0
	src = src[n+1:]
	if !t.noHold {
		out, n := binary.Varint(src)
		if n <= 0 {
			return nil, false
		}
		src = src[n:]
		behind, n := binary.Varint(src)
		if n <= 0 {
			return nil, false
		}
		t.out, t.hold, src = exec.Time(out), exec.Time(out+behind), src[n:]
	}
	size, n := binary.Uvarint(src)
	if n <= 0 || size > uint64(len(src)-n) {
		return nil, false
	}
	t.tag = string(src[n : n+int(size)])
	return src[n+int(size):], true
}

// appendWaiting writes the waiting elements of a slot.
func (s *keeping[K, V, Out]) appendWaiting(dst []byte, slot int32) (_ []byte, err error) {
	list := s.cells.at(slot).waiting
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, e := range list {
		dst = binary.AppendVarint(dst, int64(e.time))
		dst = binary.AppendVarint(dst, int64(e.hold-e.time))
		dst = binary.AppendVarint(dst, e.pane.Index)
		dst = binary.AppendVarint(dst, e.pane.NonSpeculative)
		dst = append(dst, byte(e.pane.Timing), bit(e.pane.First)|bit(e.pane.Last)<<1, byte(e.kind))
		if dst, err = s.spec.val.Append(dst, e.v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (s *keeping[K, V, Out]) decodeWaiting(src []byte, slot int32) (_ []byte, err error) {
	count, n := binary.Uvarint(src)
	if n <= 0 || count > uint64(len(src)) {
		return nil, errCut
	}
	src = src[n:]
	x := s.cells.at(slot)
	for range count {
		var e waiting[V]
		var f [4]int64
		for i := range f {
			if f[i], n = binary.Varint(src); n <= 0 {
				return nil, errCut
			}
			src = src[n:]
		}
		if len(src) < 3 || src[2] > byte(exec.Delete) || len(x.waiting) > 0 && exec.Time(f[0]) < x.waiting[len(x.waiting)-1].time {
			return nil, errCut
		}
		e.time, e.hold = exec.Time(f[0]), exec.Time(f[0]+f[1])
		e.pane = exec.Pane{Index: f[2], NonSpeculative: f[3], Timing: exec.Timing(src[0] & 3), First: src[1]&1 != 0, Last: src[1]&2 != 0}
		e.kind = exec.Kind(src[2])
		if e.v, src, err = s.spec.val.Decode(src[3:]); err != nil {
			return nil, err
		}
		x.waiting = append(x.waiting, e)
	}
	return src, nil
}
