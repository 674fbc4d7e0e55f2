package state

import (
	"encoding/binary"
	"iter"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// mapping is what Map, Multimap and Set are made of: keys with values, each
// stamped, in the order in which they were added unless some were deleted.
type mapping[K comparable, V any] struct {
	entries[pair[K, V]]
	index map[K]int // of the entries, once there are more than few
}

type pair[K comparable, V any] struct {
	key   K
	val   V
	stamp exec.Time
}

// few is the number of entries up to which looking at each is fast.
const few = 8

// find returns the number of the entry with key k, or -1.
func (m *mapping[K, V]) find(k K) int {
	if m.index != nil {
		if i, ok := m.index[k]; ok {
			return i
		}
		return -1
	}
	for i := range m.list {
		if m.list[i].key == k {
			return i
		}
	}
	return -1
}

func (m *mapping[K, V]) add(e pair[K, V]) {
	m.list = append(m.list, e)
	switch {
	case m.index != nil:
		m.index[e.key] = len(m.list) - 1
	case len(m.list) > few:
		m.reindex()
	}
}

func (m *mapping[K, V]) reindex() {
	m.index = nil
	if len(m.list) > few {
		m.index = make(map[K]int, 2*len(m.list))
		for i := range m.list {
			m.index[m.list[i].key] = i
		}
	}
}

// remove deletes entry i; the last one takes its place.
func (m *mapping[K, V]) remove(i int) {
	last := len(m.list) - 1
	if last == 0 {
		*m = mapping[K, V]{}
		return
	}
	m.own()
	if m.index != nil {
		delete(m.index, m.list[i].key)
		if i != last {
			m.index[m.list[last].key] = i
		}
	}
	m.list[i], m.list[last] = m.list[last], pair[K, V]{}
	m.list = m.list[:last]
}

// mappings is the column of a Map, a Multimap or a Set.
type mappings[K comparable, V any] struct {
	bound[mapping[K, V]]
	key *coders.Key[K]
	val coders.Coder[V]
}

func (b *mappings[K, V]) cell(c *pcoll.Context) *mapping[K, V] {
	if b == nil {
		return (*bound[mapping[K, V]])(nil).enter(c)
	}
	return b.enter(c)
}

// lookup returns the entry of k in the current cell, if it is alive. The cell is
// nil after a failure.
func (b *mappings[K, V]) lookup(c *pcoll.Context, k K) (m *mapping[K, V], key K, i int) {
	if m = b.cell(c); m == nil {
		return nil, k, -1
	}
	if b.key.Normalize != nil {
		k = b.key.Normalize(k)
	}
	i = m.find(k)
	if i >= 0 && !b.ttl.alive(m.list[i].stamp, b.ttl.now(b.scope)) {
		m.remove(i)
		i = -1
	}
	return m, k, i
}

// put makes v the value of k; i is what lookup said of it.
func (b *mappings[K, V]) put(m *mapping[K, V], k K, i int, v V) {
	e := pair[K, V]{k, v, b.ttl.now(b.scope)}
	if i < 0 {
		m.add(e)
		return
	}
	m.own()
	m.list[i] = e
}

// all iterates over the living entries.
func (b *mappings[K, V]) all(c *pcoll.Context) iter.Seq2[K, V] {
	m := b.cell(c)
	if m == nil {
		return func(func(K, V) bool) {}
	}
	list, call, now := m.share(), b.scope.Call, b.ttl.now(b.scope)
	return func(yield func(K, V) bool) {
		for i := range list {
			if !b.iterating(c, call) || b.ttl.alive(list[i].stamp, now) && !yield(list[i].key, list[i].val) {
				return
			}
		}
	}
}

// count returns the number of living entries.
func (b *mappings[K, V]) count(c *pcoll.Context) (n int) {
	m := b.cell(c)
	if m == nil {
		return 0
	}
	if b.ttl.none() {
		return len(m.list)
	}
	now := b.ttl.now(b.scope)
	for i := range m.list {
		if b.ttl.alive(m.list[i].stamp, now) {
			n++
		}
	}
	return n
}

func (b *mappings[K, V]) clear(c *pcoll.Context) {
	if m := b.cell(c); m != nil {
		*m = mapping[K, V]{}
	}
}

func (b *mappings[K, V]) Has(slot int32) bool {
	m := b.cells.find(slot)
	return m != nil && len(m.list) > 0
}

func (b *mappings[K, V]) Append(dst []byte, slot int32) (_ []byte, err error) {
	m := b.cells.at(slot)
	dst = binary.AppendUvarint(dst, uint64(len(m.list)))
	for i := range m.list {
		e := &m.list[i]
		dst = binary.AppendVarint(dst, int64(e.stamp))
		if dst, err = b.key.Coder.Append(dst, e.key); err != nil {
			return nil, err
		}
		if dst, err = b.val.Append(dst, e.val); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (b *mappings[K, V]) Decode(src []byte, slot int32) ([]byte, error) {
	n, src, ok := takeCount(src)
	if !ok {
		return nil, cut("map")
	}
	m := b.cells.at(slot)
	for range n {
		var e pair[K, V]
		var err error
		if e.stamp, src, ok = takeStamp(src); !ok {
			return nil, cut("map")
		}
		if e.key, src, err = b.key.Coder.Decode(src); err != nil {
			return nil, err
		}
		if b.key.Normalize != nil {
			e.key = b.key.Normalize(e.key)
		}
		if e.val, src, err = b.val.Decode(src); err != nil {
			return nil, err
		}
		if m.find(e.key) >= 0 {
			return nil, cut("map")
		}
		m.add(e)
	}
	return src, nil
}

func (b *mappings[K, V]) Sweep(slot int32, now exec.Time) exec.Time {
	m := b.cells.at(slot)
	n := len(m.list)
	least := sweep(&m.entries, b.ttl, now, func(e *pair[K, V]) exec.Time { return e.stamp })
	if len(m.list) != n {
		m.reindex()
	}
	return b.ends(least)
}

// declareMapping derives the coders of keys and values.
func declareMapping[K comparable, V any](ttl TTL) (key *coders.Key[K], val coders.Coder[V], err error) {
	if err = ttl.check(); err == nil {
		key, err = coders.ForKey[K]()
	}
	if err == nil {
		val, err = coders.For[V]()
	}
	return key, val, err
}
