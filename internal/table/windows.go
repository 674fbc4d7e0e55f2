package table

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
)

// Windows is a set of tables, one for each window, kept in order of window end.
// A dropped table's memory serves the next window.
type Windows[K comparable, V any] struct {
	key  *coders.Key[K]
	val  coders.Coder[V]
	byW  map[exec.Window]*Table[K, V]
	list []exec.Window // ascending by end, then start
	free []*Table[K, V]
}

// maxFree bounds the tables that are kept for reuse.
const maxFree = 4

// NewWindows returns an empty set.
func NewWindows[K comparable, V any](key *coders.Key[K], val coders.Coder[V]) *Windows[K, V] {
	return &Windows[K, V]{key: key, val: val, byW: map[exec.Window]*Table[K, V]{}}
}

// Len returns the number of windows.
func (s *Windows[K, V]) Len() int { return len(s.list) }

// List returns the windows, ascending by end. It is valid until the next Open or Drop.
func (s *Windows[K, V]) List() []exec.Window { return s.list }

// Find returns the table of w, or nil.
func (s *Windows[K, V]) Find(w exec.Window) *Table[K, V] { return s.byW[w] }

// Open returns the table of w, making it if needed.
func (s *Windows[K, V]) Open(w exec.Window) *Table[K, V] {
	if t := s.byW[w]; t != nil {
		return t
	}
	var t *Table[K, V]
	if n := len(s.free); n > 0 {
		t, s.free = s.free[n-1], s.free[:n-1]
	} else {
		t = New(s.key, s.val)
	}
	s.byW[w] = t
	i, _ := slices.BinarySearchFunc(s.list, w, exec.Window.Compare)
	s.list = slices.Insert(s.list, i, w)
	return t
}

// Drop removes w with all its entries.
func (s *Windows[K, V]) Drop(w exec.Window) {
	t := s.byW[w]
	if t == nil {
		return
	}
	delete(s.byW, w)
	if i, ok := slices.BinarySearchFunc(s.list, w, exec.Window.Compare); ok {
		s.list = slices.Delete(s.list, i, i+1)
	}
	if len(s.free) < maxFree {
		t.Reset()
		s.free = append(s.free, t)
	}
}

// Snapshot appends the entries of a key group: for each window that has some its
// start, end, and the length and content of its table's snapshot.
func (s *Windows[K, V]) Snapshot(dst []byte, group int) ([]byte, error) {
	for _, w := range s.list {
		head := len(dst)
		dst = binary.BigEndian.AppendUint64(dst, uint64(w.Start))
		dst = binary.BigEndian.AppendUint64(dst, uint64(w.End))
		dst = append(dst, 0, 0, 0, 0)
		body := len(dst)
		var err error
		if dst, err = s.byW[w].Snapshot(dst, group); err != nil {
			return nil, fmt.Errorf("window %v: %w", w, err)
		}
		if len(dst) == body {
			dst = dst[:head]
			continue
		}
		if len(dst)-body > 1<<32-1 {
			return nil, fmt.Errorf("table: window %v, key group %d: %d bytes of state exceed the limit of 4 GiB", w, group, len(dst)-body)
		}
		binary.BigEndian.PutUint32(dst[body-4:], uint32(len(dst)-body))
	}
	return dst, nil
}

// Restore adds entries that Snapshot wrote.
func (s *Windows[K, V]) Restore(src []byte) error {
	for len(src) > 0 {
		if len(src) < 20 {
			return fmt.Errorf("table: stored windows end after %d bytes of a 20-byte header", len(src))
		}
		w := exec.Window{Start: exec.Time(binary.BigEndian.Uint64(src)), End: exec.Time(binary.BigEndian.Uint64(src[8:]))}
		n := binary.BigEndian.Uint32(src[16:])
		if src = src[20:]; uint64(n) > uint64(len(src)) {
			return fmt.Errorf("table: stored window %v announces %d bytes, %d are left", w, n, len(src))
		}
		if err := s.Open(w).Restore(src[:n]); err != nil {
			return fmt.Errorf("window %v: %w", w, err)
		}
		src = src[n:]
	}
	return nil
}
