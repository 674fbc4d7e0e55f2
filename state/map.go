package state

import (
	"iter"
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Map holds a value for each of its own keys, within the state of one key and window. The
// keys need a canonical encoding (coders.ForKey).
//
// Entries come in the order in which their keys were first put, unless some were deleted.
type Map[K comparable, V any] struct {
	// TTL ends each entry some time after it was last put.
	TTL TTL

	key *coders.Key[K]
	val coders.Coder[V]
	b   *mappings[K, V]
}

// Get returns the value of k: the zero V if there is none.
func (m *Map[K, V]) Get(c *pcoll.Context, k K) V {
	v, _ := m.Lookup(c, k)
	return v
}

// Lookup returns the value of k and whether there is one.
func (m *Map[K, V]) Lookup(c *pcoll.Context, k K) (value V, ok bool) {
	if p, _, i := m.b.lookup(c, k); i >= 0 {
		return p.list[i].val, true
	}
	return value, false
}

// Put makes v the value of k.
func (m *Map[K, V]) Put(c *pcoll.Context, k K, v V) {
	if p, k, i := m.b.lookup(c, k); p != nil {
		m.b.put(p, k, i, v)
	}
}

// PutIfAbsent makes v the value of k unless there is one, and returns the value
// that k has then, and whether it is v that was put.
func (m *Map[K, V]) PutIfAbsent(c *pcoll.Context, k K, v V) (value V, put bool) {
	p, k, i := m.b.lookup(c, k)
	switch {
	case p == nil:
		return value, false
	case i >= 0:
		return p.list[i].val, false
	}
	m.b.put(p, k, i, v)
	return v, true
}

// Delete removes k and its value.
func (m *Map[K, V]) Delete(c *pcoll.Context, k K) {
	if p, _, i := m.b.lookup(c, k); i >= 0 {
		p.remove(i)
	}
}

// All iterates over keys and values.
func (m *Map[K, V]) All(c *pcoll.Context) iter.Seq2[K, V] { return m.b.all(c) }

// Len returns the number of keys.
func (m *Map[K, V]) Len(c *pcoll.Context) int { return m.b.count(c) }

// Clear removes everything.
func (m *Map[K, V]) Clear(c *pcoll.Context) { m.b.clear(c) }

func (m *Map[K, V]) declare() (err error) {
	m.key, m.val, err = declareMapping[K, V](m.TTL)
	return err
}

func (m *Map[K, V]) bind(s *Scope) Column {
	m.b = &mappings[K, V]{bound: bound[mapping[K, V]]{scope: s, ttl: m.TTL}, key: m.key, val: m.val}
	return m.b
}

// A Multimap holds any number of values for each of its own keys, within the state of one
// key and window. The values of a key come in the order in which they were put; keys as
// in a [Map].
type Multimap[K comparable, V any] struct {
	// TTL ends all values of a key some time after one was last put.
	TTL TTL

	key *coders.Key[K]
	val coders.Coder[[]V]
	b   *mappings[K, []V]
}

// Get iterates over the values of k.
func (m *Multimap[K, V]) Get(c *pcoll.Context, k K) iter.Seq[V] {
	p, _, i := m.b.lookup(c, k)
	if i < 0 {
		return func(func(V) bool) {}
	}
	return slices.Values(p.list[i].val)
}

// Put adds v to the values of k.
func (m *Multimap[K, V]) Put(c *pcoll.Context, k K, v V) {
	p, k, i := m.b.lookup(c, k)
	if p == nil {
		return
	}
	var vals []V
	if i >= 0 {
		vals = p.list[i].val
	}
	m.b.put(p, k, i, append(vals, v)) // behind what an iteration reads
}

// Has reports whether k has any value.
func (m *Multimap[K, V]) Has(c *pcoll.Context, k K) bool {
	_, _, i := m.b.lookup(c, k)
	return i >= 0
}

// Delete removes all values of k.
func (m *Multimap[K, V]) Delete(c *pcoll.Context, k K) {
	if p, _, i := m.b.lookup(c, k); i >= 0 {
		p.remove(i)
	}
}

// Keys iterates over the keys that have a value.
func (m *Multimap[K, V]) Keys(c *pcoll.Context) iter.Seq[K] {
	all := m.b.all(c)
	return func(yield func(K) bool) {
		for k := range all {
			if !yield(k) {
				return
			}
		}
	}
}

// All iterates over keys and values; a key comes once for each of its values.
func (m *Multimap[K, V]) All(c *pcoll.Context) iter.Seq2[K, V] {
	all := m.b.all(c)
	return func(yield func(K, V) bool) {
		for k, vals := range all {
			for _, v := range vals {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// Len returns the number of keys.
func (m *Multimap[K, V]) Len(c *pcoll.Context) int { return m.b.count(c) }

// Clear removes everything.
func (m *Multimap[K, V]) Clear(c *pcoll.Context) { m.b.clear(c) }

func (m *Multimap[K, V]) declare() (err error) {
	m.key, m.val, err = declareMapping[K, []V](m.TTL)
	return err
}

func (m *Multimap[K, V]) bind(s *Scope) Column {
	m.b = &mappings[K, []V]{bound: bound[mapping[K, []V]]{scope: s, ttl: m.TTL}, key: m.key, val: m.val}
	return m.b
}

// A Set holds elements once, within the state of one key and window. They need a canonical
// encoding (coders.ForKey), and come as the keys of a [Map] do.
type Set[T comparable] struct {
	// TTL ends each element some time after it was last added.
	TTL TTL

	key *coders.Key[T]
	val coders.Coder[struct{}]
	b   *mappings[T, struct{}]
}

// Add adds v and reports whether it was not there.
func (s *Set[T]) Add(c *pcoll.Context, v T) (added bool) {
	p, v, i := s.b.lookup(c, v)
	if p == nil {
		return false
	}
	if i < 0 || !s.TTL.none() { // to stamp it anew
		s.b.put(p, v, i, struct{}{})
	}
	return i < 0
}

// Contains reports whether v is there.
func (s *Set[T]) Contains(c *pcoll.Context, v T) bool {
	_, _, i := s.b.lookup(c, v)
	return i >= 0
}

// Delete removes v.
func (s *Set[T]) Delete(c *pcoll.Context, v T) {
	if p, _, i := s.b.lookup(c, v); i >= 0 {
		p.remove(i)
	}
}

// All iterates over the elements.
func (s *Set[T]) All(c *pcoll.Context) iter.Seq[T] {
	all := s.b.all(c)
	return func(yield func(T) bool) {
		for v := range all {
			if !yield(v) {
				return
			}
		}
	}
}

// Len returns the number of elements.
func (s *Set[T]) Len(c *pcoll.Context) int { return s.b.count(c) }

// Clear removes everything.
func (s *Set[T]) Clear(c *pcoll.Context) { s.b.clear(c) }

func (s *Set[T]) declare() (err error) {
	s.key, s.val, err = declareMapping[T, struct{}](s.TTL)
	return err
}

func (s *Set[T]) bind(scope *Scope) Column {
	s.b = &mappings[T, struct{}]{bound: bound[mapping[T, struct{}]]{scope: scope, ttl: s.TTL}, key: s.key, val: s.val}
	return s.b
}
