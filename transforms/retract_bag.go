package transforms

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// A bag is the accumulator of values of which any may be taken back: all of
// them, in the order in which they came, with the hashes of their encodings.
// Taking one out costs a pass over the hashes.
type bag[V any] struct {
	values []V
	hashes []uint64
}

// bagged is a combiner over bags, whose result extract makes of the values. Two
// values are equal if their encodings are.
type bagged[V, Out any] struct {
	coder   coders.Coder[V]
	hash    func(string) uint64
	extract func([]V) Out
	buf     *[]byte // of this worker
}

// bagOf returns the combiner that gives what c does, over bags.
func bagOf[V, Acc, Out any](b *pcoll.Builder, c combine.Combiner[V, Acc, Out]) bagged[V, Out] {
	return newBag(b, func(values []V) Out {
		acc := c.Create()
		for _, v := range values {
			acc = c.Add(acc, v)
		}
		return c.Extract(acc)
	})
}

// newBag returns a combiner over bags.
func newBag[V, Out any](b *pcoll.Builder, extract func([]V) Out) bagged[V, Out] {
	coder, err := coders.For[V]()
	if err != nil {
		b.Errorf("values that may be taken back are compared by their encoding: %w", err)
	}
	hash, err := coders.ForKey[string]()
	if err != nil {
		b.Errorf("%w", err)
		return bagged[V, Out]{}
	}
	return bagged[V, Out]{coder, hash.Hash, extract, new([]byte)}
}

// forWorker returns the combiner with a buffer of its own.
func (g bagged[V, Out]) forWorker() combine.Combiner[V, bag[V], Out] {
	g.buf = new([]byte)
	return g
}

// Create returns an empty bag.
func (bagged[V, Out]) Create() bag[V] { return bag[V]{} }

// Add puts v in. A value that has no encoding cannot be taken out either; it
// fails where it is taken out, or was before, where it was sent.
func (g bagged[V, Out]) Add(acc bag[V], v V) bag[V] {
	_, hash, _ := g.encode(v)
	return bag[V]{append(acc.values, v), append(acc.hashes, hash)}
}

// encode returns the encoding of v, valid until the next call, and its hash.
func (g bagged[V, Out]) encode(v V) (enc []byte, hash uint64, err error) {
	*g.buf, err = g.coder.Append((*g.buf)[:0], v)
	return *g.buf, g.hashOf(*g.buf), err
}

// hashOf returns the hash of an encoding.
func (g bagged[V, Out]) hashOf(enc []byte) uint64 {
	return g.hash(unsafe.String(unsafe.SliceData(enc), len(enc))) // which keeps nothing of it
}

// Merge puts the values of both in one bag.
func (bagged[V, Out]) Merge(acc, other bag[V]) bag[V] {
	return bag[V]{append(acc.values, other.values...), append(acc.hashes, other.hashes...)}
}

// Extract makes the result. It is called where nothing is made of the bag's
// memory but an encoding.
func (g bagged[V, Out]) Extract(acc bag[V]) Out { return g.extract(acc.values) }

// take takes a value equal to v out of the bag, and reports whether it had one.
func (g bagged[V, Out]) take(acc bag[V], v V) (bag[V], bool) {
	enc, hash, err := g.encode(v)
	if err != nil {
		return acc, false
	}
	enc = slices.Clone(enc)
	for i := range acc.hashes {
		if acc.hashes[i] != hash {
			continue
		}
		if other, _, err := g.encode(acc.values[i]); err != nil || string(other) != string(enc) {
			continue
		}
		return bag[V]{slices.Delete(acc.values, i, i+1), slices.Delete(acc.hashes, i, i+1)}, true
	}
	return acc, false
}

// AccCoder returns the coder of bags.
func (g bagged[V, Out]) AccCoder() (coders.Coder[bag[V]], error) {
	if g.coder == nil {
		return nil, errors.New("values of a bag have no coder")
	}
	return bagCoder[V, Out]{g}, nil
}

// bagCoder encodes a bag as the number of its values and each value's length and encoding.
type bagCoder[V, Out any] struct{ g bagged[V, Out] }

// Append appends the bag.
func (k bagCoder[V, Out]) Append(dst []byte, acc bag[V]) ([]byte, error) {
	out := binary.AppendUvarint(dst, uint64(len(acc.values)))
	for i, v := range acc.values {
		enc, _, err := k.g.encode(v)
		if err != nil {
			return dst, fmt.Errorf("value %d of a bag: %w", i, err)
		}
		out = append(binary.AppendUvarint(out, uint64(len(enc))), enc...)
	}
	return out, nil
}

// Decode reads a bag.
func (k bagCoder[V, Out]) Decode(src []byte) (acc bag[V], rest []byte, err error) {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > uint64(len(src)-size) {
		return acc, nil, errors.New("transforms: the number of values of a bag is damaged")
	}
	src = src[size:]
	for i := range n {
		long, size := binary.Uvarint(src)
		if size <= 0 || long > uint64(len(src)-size) {
			return bag[V]{}, nil, fmt.Errorf("transforms: value %d of a bag is cut off", i)
		}
		enc := src[size : size+int(long)]
		v, left, err := k.g.coder.Decode(enc)
		if err != nil || len(left) > 0 {
			return bag[V]{}, nil, fmt.Errorf("transforms: value %d of a bag has %d bytes too many: %w", i, len(left), err)
		}
		acc.values, acc.hashes = append(acc.values, v), append(acc.hashes, k.g.hashOf(enc))
		src = src[size+int(long):]
	}
	return acc, src, nil
}
