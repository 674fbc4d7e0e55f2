package side

import (
	"iter"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/sideinput"
	"github.com/penstock-dev/penstock/pcoll"
)

// keyed is a view of pairs that is read by key.
type keyed[K comparable, V any] struct {
	view[pcoll.KV[K, V]]
	key *coders.Key[K]
}

// keyedOf makes a view of pairs. Keys are equal when their encodings are, as
// everywhere: a key type without a canonical encoding is refused.
func keyedOf[K comparable, V any](kind string, in pcoll.PCollection[pcoll.KV[K, V]], opts []pcoll.Option) keyed[K, V] {
	b := pcoll.NewBuilder(in.Pipeline(), kind, opts...)
	key, err := coders.ForKey[K]()
	if err != nil {
		b.Errorf("%w", err)
	}
	return keyed[K, V]{view[pcoll.KV[K, V]]{src: sideinput.NewSource(b, in)}, key}
}

func (s keyed[K, V]) normal(k K) K {
	if s.key.Normalize != nil {
		return s.key.Normalize(k)
	}
	return k
}

// A Map is a view of pairs with one value for each key; see [AsMap].
type Map[K comparable, V any] struct{ keyed[K, V] }

// AsMap views a collection of pairs as a map. Two values for a key in a window
// fail the run when the map is read. K must have a canonical encoding (see coders.ForKey).
func AsMap[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) Map[K, V] {
	return Map[K, V]{keyedOf("AsMap", in, opts)}
}

// index returns where in the values each key is.
func (s Map[K, V]) index() (*sideinput.Cell[pcoll.KV[K, V]], map[K]int) {
	cell, c := s.content.Read()
	at, ok := cell.Index.(map[K]int)
	if ok {
		return cell, at
	}
	at = make(map[K]int, len(cell.Values))
	for i, e := range cell.Values {
		k := s.normal(e.Key)
		if first, twice := at[k]; twice {
			s.fail(c, "key %v has two values in the window, %v and %v; combine them by key before, or use AsMultimap",
				k, cell.Values[first].Value, e.Value)
			return cell, nil
		}
		at[k] = i
	}
	cell.Index = at
	return cell, at
}

// Lookup returns the value of k; ok is false if there is none.
func (s Map[K, V]) Lookup(k K) (v V, ok bool) {
	cell, at := s.index()
	i, ok := at[s.normal(k)]
	if !ok {
		return v, false
	}
	return cell.Values[i].Value, true
}

// All iterates over the pairs, in no defined order.
func (s Map[K, V]) All() iter.Seq2[K, V] {
	cell, at := s.index()
	return func(yield func(K, V) bool) {
		if at == nil {
			return
		}
		for _, e := range cell.Values {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (s Map[K, V]) Len() int {
	_, at := s.index()
	return len(at)
}

// A Multimap is a view of pairs with any number of values for each key; see [AsMultimap].
type Multimap[K comparable, V any] struct{ keyed[K, V] }

// AsMultimap views a collection of pairs as a map of keys to all their values. K
// must have a canonical encoding (see coders.ForKey).
func AsMultimap[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], opts ...pcoll.Option) Multimap[K, V] {
	return Multimap[K, V]{keyedOf("AsMultimap", in, opts)}
}

// byKey is the index of a Multimap: keys in the order of their first values.
type byKey[K comparable, V any] struct {
	keys   []K
	values map[K][]V
}

func (s Multimap[K, V]) index() *byKey[K, V] {
	cell, _ := s.content.Read()
	if x, ok := cell.Index.(*byKey[K, V]); ok {
		return x
	}
	x := &byKey[K, V]{values: map[K][]V{}}
	for _, e := range cell.Values {
		k := s.normal(e.Key)
		if x.values[k] == nil {
			x.keys = append(x.keys, k)
		}
		x.values[k] = append(x.values[k], e.Value)
	}
	cell.Index = x
	return x
}

// Lookup returns the values of k, in no defined order; a key that is not there has none.
func (s Multimap[K, V]) Lookup(k K) pcoll.Group[V] {
	return pcoll.GroupOf(s.index().values[s.normal(k)]...)
}

// All iterates over the keys and their values, in no defined order.
func (s Multimap[K, V]) All() iter.Seq2[K, pcoll.Group[V]] {
	x := s.index()
	return func(yield func(K, pcoll.Group[V]) bool) {
		for _, k := range x.keys {
			if !yield(k, pcoll.GroupOf(x.values[k]...)) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (s Multimap[K, V]) Len() int { return len(s.index().keys) }
