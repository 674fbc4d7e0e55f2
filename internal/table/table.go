// Package table holds the flat typed tables in which operators keep their
// state: an index apart from dense entries, split by key group.
//
// A [Table] belongs to one worker, which alone uses it; it takes no lock and
// allocates only to grow. [Windows] is a set of tables, one for each window.
// Both are stores in the sense of exec.Store: they can be written and read back
// by key group, through the coders they were made with.
package table

import (
	"fmt"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
)

// An Entry is a key with its value.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
}

const (
	minSlots = 16
	// splitAt is the number of entries at which a table of one segment becomes
	// one of a segment for each key group: from then on growing moves a 128th of
	// the entries at a time.
	splitAt = 1 << 14
)

// A Table maps keys to values; see [New]. Keys are compared with ==, so keys
// that need it must be normalized before (coders.Key).
type Table[K comparable, V any] struct {
	shift uint8 // of a hash, to the number of its segment: 64 with one segment, 57 with one for each key group
	n     int
	segs  []segment[K, V]
	key   *coders.Key[K]
	val   coders.Coder[V]
}

// A segment is an open-addressing index over dense entries. A slot holds the
// number of its entry plus one in its low 24 bits, or is 0, and above that eight
// bits of the hash, so that a probe that meets another key hardly ever looks at
// its entry. At most half of the slots are taken. The hashes lie apart from the
// entries, which a look-up touches, since only growing and deleting need them.
type segment[K comparable, V any] struct {
	slots []uint32
	ent   []Entry[K, V]
	hash  []uint64 // beside ent
}

const (
	number = 1<<24 - 1 // bits of a slot
	// maxSegment is the most entries that a segment holds: two billion keys on a
	// worker, more than memory does.
	maxSegment = number - 1
)

// tag returns the bits of the hash that a slot holds: neither those that chose
// the segment nor those that chose the slot, in any table of reasonable size.
func tag(hash uint64) uint32 { return uint32(hash>>24) &^ number }

// New returns an empty table. Without a value coder it cannot be snapshot.
func New[K comparable, V any](key *coders.Key[K], val coders.Coder[V]) *Table[K, V] {
	return &Table[K, V]{shift: 64, segs: make([]segment[K, V], 1), key: key, val: val}
}

// Len returns the number of entries.
func (t *Table[K, V]) Len() int { return t.n }

// At returns the value of k, whose hash is given, after adding a zero value if
// there was none. The pointer is valid until the next At, Delete or Reset.
func (t *Table[K, V]) At(hash uint64, k K) (v *V, fresh bool) {
	s := &t.segs[hash>>t.shift] // a shift by 64 gives 0
	if mask := uint64(len(s.slots)) - 1; len(s.slots) > 0 {
		want := tag(hash)
		for i := hash & mask; ; i = (i + 1) & mask {
			slot := s.slots[i]
			if slot == 0 {
				break
			}
			if slot&^number == want {
				if e := &s.ent[slot&number-1]; e.Key == k {
					return &e.Value, false
				}
			}
		}
	}
	return t.add(s, hash, k), true
}

// Find returns the value of k, or nil. The pointer is valid as that of At.
func (t *Table[K, V]) Find(hash uint64, k K) *V {
	s := &t.segs[hash>>t.shift]
	if i, ok := s.slot(hash, k); ok {
		return &s.ent[s.slots[i]&number-1].Value
	}
	return nil
}

// slot returns the slot that holds k.
func (s *segment[K, V]) slot(hash uint64, k K) (uint64, bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(s.slots)) - 1
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := s.slots[i]
		if slot == 0 {
			return 0, false
		}
		if slot&^number == tag(hash) && s.ent[slot&number-1].Key == k {
			return i, true
		}
	}
}

func (t *Table[K, V]) add(s *segment[K, V], hash uint64, k K) *V {
	if t.shift == 64 && len(s.ent) >= splitAt {
		t.split()
		s = &t.segs[hash>>t.shift]
	}
	t.n++
	return s.add(hash, Entry[K, V]{Key: k})
}

func (s *segment[K, V]) add(hash uint64, e Entry[K, V]) *V {
	if 2*(len(s.ent)+1) > len(s.slots) {
		s.grow()
	}
	if len(s.ent) == maxSegment {
		panic("table: more than 16 million keys in a key group; give the pipeline more key groups")
	}
	s.ent, s.hash = append(s.ent, e), append(s.hash, hash)
	s.link(hash, uint32(len(s.ent)))
	return &s.ent[len(s.ent)-1].Value
}

func (s *segment[K, V]) link(hash uint64, n uint32) {
	mask := uint64(len(s.slots)) - 1
	i := hash & mask
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = tag(hash) | n
}

func (s *segment[K, V]) grow() {
	s.slots = make([]uint32, max(minSlots, 2*len(s.slots)))
	for n, h := range s.hash {
		s.link(h, uint32(n+1))
	}
}

// split goes from one segment to one for each key group.
func (t *Table[K, V]) split() {
	old := t.segs[0]
	t.shift, t.segs = 64-7, make([]segment[K, V], exec.KeyGroups)
	for i, h := range old.hash {
		t.segs[h>>t.shift].add(h, old.ent[i])
	}
}

// Delete removes k and reports whether it was there. The last entry of the
// segment takes its place.
func (t *Table[K, V]) Delete(hash uint64, k K) bool {
	s := &t.segs[hash>>t.shift]
	i, ok := s.slot(hash, k)
	if !ok {
		return false
	}
	n, last := s.slots[i]&number, uint32(len(s.ent))
	if n != last {
		moved, h := s.ent[last-1], s.hash[last-1]
		j, _ := s.slot(h, moved.Key)
		s.slots[j], s.ent[n-1], s.hash[n-1] = tag(h)|n, moved, h
	}
	s.ent[last-1] = Entry[K, V]{}
	s.ent, s.hash = s.ent[:last-1], s.hash[:last-1]
	s.unlink(i)
	t.n--
	return true
}

// unlink empties slot i and moves back what was displaced by it, so that no
// probe ends early. Entries have their final numbers.
func (s *segment[K, V]) unlink(i uint64) {
	mask := uint64(len(s.slots)) - 1
	for j := (i + 1) & mask; s.slots[j] != 0; j = (j + 1) & mask {
		home := s.hash[s.slots[j]&number-1] & mask
		if (j-home)&mask >= (j-i)&mask {
			s.slots[i], i = s.slots[j], j
		}
	}
	s.slots[i] = 0
}

// Reset removes all entries and keeps the memory.
func (t *Table[K, V]) Reset() {
	for i := range t.segs {
		s := &t.segs[i]
		clear(s.slots)
		clear(s.ent) // lets go of what the entries point to
		s.ent, s.hash = s.ent[:0], s.hash[:0]
	}
	t.n = 0
}

// Chunks returns the number of chunks that the entries lie in: 1 for a small
// table, one for each key group otherwise.
func (t *Table[K, V]) Chunks() int { return len(t.segs) }

// Chunk returns the entries of chunk i, in the order in which they were added
// unless some were deleted. Values may be changed in place. It is valid until
// the next At, Delete or Reset.
func (t *Table[K, V]) Chunk(i int) []Entry[K, V] { return t.segs[i].ent }

// Snapshot appends the entries of a key group, each as key and value.
func (t *Table[K, V]) Snapshot(dst []byte, group int) (_ []byte, err error) {
	s := &t.segs[0]
	if len(t.segs) > 1 {
		s = &t.segs[group]
	}
	for i := range s.ent {
		e := &s.ent[i]
		if exec.GroupOf(s.hash[i]) != group {
			continue
		}
		if dst, err = t.key.Coder.Append(dst, e.Key); err != nil {
			return nil, fmt.Errorf("table: key %v: %w", e.Key, err)
		}
		if dst, err = t.val.Append(dst, e.Value); err != nil {
			return nil, fmt.Errorf("table: value of key %v: %w", e.Key, err)
		}
	}
	return dst, nil
}

// Restore adds entries that Snapshot wrote. A key that is there already is an error.
func (t *Table[K, V]) Restore(src []byte) error {
	for len(src) > 0 {
		k, rest, err := t.key.Coder.Decode(src)
		if err != nil {
			return fmt.Errorf("table: stored key: %w", err)
		}
		v, rest, err := t.val.Decode(rest)
		if err != nil {
			return fmt.Errorf("table: stored value of key %v: %w", k, err)
		}
		if t.key.Normalize != nil {
			k = t.key.Normalize(k)
		}
		p, fresh := t.At(t.key.Hash(k), k)
		if !fresh {
			return fmt.Errorf("table: key %v is stored twice", k)
		}
		*p, src = v, rest
	}
	return nil
}
