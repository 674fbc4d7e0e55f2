package panestest

import (
	"encoding/binary"
	"errors"

	"github.com/penstock-dev/penstock/coders"
)

// Int64s encodes an int64 as a varint.
type Int64s struct{}

// Append appends v.
func (Int64s) Append(dst []byte, v int64) ([]byte, error) { return binary.AppendVarint(dst, v), nil }

// Decode reads a varint.
func (Int64s) Decode(src []byte) (int64, []byte, error) {
	v, n := binary.Varint(src)
	if n <= 0 {
		return 0, nil, errors.New("panestest: varint is cut off")
	}
	return v, src[n:], nil
}

// Lists encodes a slice with its length before it.
type Lists[V any] struct{ Elem coders.Coder[V] }

// Append appends v.
func (l Lists[V]) Append(dst []byte, v []V) (_ []byte, err error) {
	b := binary.AppendUvarint(dst, uint64(len(v)))
	for _, x := range v {
		if b, err = l.Elem.Append(b, x); err != nil {
			return dst, err
		}
	}
	return b, nil
}

// Decode reads a slice.
func (l Lists[V]) Decode(src []byte) (v []V, rest []byte, err error) {
	n, k := binary.Uvarint(src)
	if k <= 0 || n > uint64(len(src)) {
		return nil, nil, errors.New("panestest: list is cut off")
	}
	src = src[k:]
	for range n {
		var x V
		if x, src, err = l.Elem.Decode(src); err != nil {
			return nil, nil, err
		}
		v = append(v, x)
	}
	return v, src, nil
}

// Int64Keys are keys of type int64 with a hash that spreads them over all key groups.
func Int64Keys() *coders.Key[int64] {
	return &coders.Key[int64]{Coder: Int64s{}, Hash: func(v int64) uint64 {
		h := (uint64(v) ^ uint64(v)>>32) * 0xd6e8feb86659fd93
		h = (h ^ h>>32) * 0xd6e8feb86659fd93
		return h ^ h>>32
	}}
}

// Collect is a folder that keeps all elements.
type Collect[V any] struct{}

// Create returns an empty list.
func (Collect[V]) Create() []V { return nil }

// Add appends v.
func (Collect[V]) Add(acc []V, v V) []V { return append(acc, v) }

// Merge appends the elements of other.
func (Collect[V]) Merge(acc, other []V) []V { return append(acc, other...) }
