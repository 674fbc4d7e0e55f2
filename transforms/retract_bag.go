package transforms

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes"
	"github.com/penstock-dev/penstock/pcoll"
)

// regroupOp is the operator of a grouping that keeps the values of each key and
// window, so that any can be taken back, and makes the result of what is left.
// Values are kept encoded, one behind the other: without a pointer each, and in
// code that does not multiply with their types.
type regroupOp[K comparable, V, Out any] struct {
	grouping[K, V, bag, Out]
	value coders.Coder[V]
	out   coders.Coder[Out]
	hash  func(string) uint64
	fold  func(bag) (Out, error)
}

// New makes the operator's instance: one output, one input of KV[K, V].
func (o *regroupOp[K, V, Out]) New(env exec.Env, outs []any) (exec.Instance, error) {
	op, n := env.Op(), env.Counter(exec.Elements)
	f := panes.NewGeneral(env, "panes", panes.Config[K, []byte, bag]{
		Strategy: o.strategy, Assign: o.assign, Fold: bagFold{o.hash}, Key: o.key, Acc: bagCoder{o.hash},
		Encode: func(acc bag) ([]byte, error) {
			out, err := o.fold(acc)
			if err != nil {
				return nil, err
			}
			return o.out.Append(nil, out)
		},
		Say:     sayTo[K](env, outs, o.out),
		Retract: bagFold{o.hash}.take,
		Show: func(enc []byte) string {
			v, _, err := o.value.Decode(enc)
			if err != nil {
				return fmt.Sprintf("%x", enc)
			}
			return fmt.Sprintf("%+v", v)
		}})
	var buf []byte
	in := exec.Input[pcoll.KV[K, V]](func(c *exec.Ctx, e pcoll.KV[K, V]) {
		n.N++
		c.Op = op
		var err error
		if buf, err = o.value.Append(buf[:0], e.Value); err != nil {
			c.Fail(fmt.Errorf("value %+v of key %v cannot be encoded: %w", e.Value, e.Key, err))
			return
		}
		f.Element(c, e.Key, buf)
	})
	return exec.Instance{In: []any{in}, Turn: f.Turn, Restored: f.Restored, Advance: advance(f.Advance)}, nil
}

// A bag is an accumulator of encoded values of which any may be taken out: all of
// them, in the order in which they came, where each ends, and their hashes.
// Taking one out costs a pass over the hashes.
type bag struct {
	data   []byte
	ends   []int
	hashes []uint64
}

// at returns the encoding of value i.
func (b bag) at(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]]
}

// order returns the numbers of all values in an order that follows from the
// values alone. A result that depends on the order, as a group does, is then the same
// in whatever order they came, and what stands is not said again because a value
// was taken out and put in.
func (b bag) order() []int {
	all := make([]int, len(b.ends))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.hashes[i], b.hashes[j]), bytes.Compare(b.at(i), b.at(j)))
	})
	return all
}

// bagFold puts encoded values into bags.
type bagFold struct{ hash func(string) uint64 }

// Create returns an empty bag.
func (bagFold) Create() bag { return bag{} }

// Add puts a value in.
func (f bagFold) Add(b bag, enc []byte) bag {
	b.data = append(b.data, enc...)
	b.ends = append(b.ends, len(b.data))
	b.hashes = append(b.hashes, f.hashOf(enc))
	return b
}

// hashOf returns the hash of an encoding.
func (f bagFold) hashOf(enc []byte) uint64 {
	return f.hash(unsafe.String(unsafe.SliceData(enc), len(enc))) // which keeps nothing of it
}

// Merge puts the values of other in, too.
func (bagFold) Merge(b, other bag) bag {
	base := len(b.data)
	b.data = append(b.data, other.data...)
	for _, end := range other.ends {
		b.ends = append(b.ends, base+end)
	}
	b.hashes = append(b.hashes, other.hashes...)
	return b
}

// take takes a value out and reports whether there was one.
func (f bagFold) take(b bag, enc []byte) (bag, bool) {
	hash := f.hashOf(enc)
	for i, h := range b.hashes {
		if h != hash || string(b.at(i)) != string(enc) {
			continue
		}
		b.data = slices.Delete(b.data, b.ends[i]-len(enc), b.ends[i])
		b.ends, b.hashes = slices.Delete(b.ends, i, i+1), slices.Delete(b.hashes, i, i+1)
		for j := i; j < len(b.ends); j++ {
			b.ends[j] -= len(enc)
		}
		return b, true
	}
	return b, false
}

// bagCoder encodes a bag as the number of its values, and each one's length and encoding.
type bagCoder struct{ hash func(string) uint64 }

// Append appends the bag.
func (bagCoder) Append(dst []byte, b bag) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(len(b.ends)))
	for i := range b.ends {
		enc := b.at(i)
		dst = append(binary.AppendUvarint(dst, uint64(len(enc))), enc...)
	}
	return dst, nil
}

// Decode reads a bag.
func (k bagCoder) Decode(src []byte) (b bag, rest []byte, err error) {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > uint64(len(src)-size) {
		return b, nil, errors.New("transforms: the number of values of a bag is damaged")
	}
	src = src[size:]
	for i := range n {
		long, size := binary.Uvarint(src)
		if size <= 0 || long > uint64(len(src)-size) {
			return bag{}, nil, fmt.Errorf("transforms: value %d of a bag is cut off", i)
		}
		src = src[size:]
		b = bagFold(k).Add(b, src[:long])
		src = src[long:]
	}
	return b, src, nil
}
