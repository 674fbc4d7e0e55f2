package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

// quantilesCoder encodes least and greatest number, how many are zero, and the
// bins of the positive and of the negative numbers: how many there are, and of
// each its index, as the difference to the one before, and its count. Nothing
// but a byte stands for no sketch. The module's own decoder lets errors pass.
type quantilesCoder struct {
	index    mapping.IndexMapping
	min, max int // indices that there can be
}

func (c quantilesCoder) Append(dst []byte, a QuantilesAcc) ([]byte, error) {
	if a.sketch == nil {
		return append(dst, 0), nil
	}
	dst = append(dst, 1)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(a.min))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(a.max))
	dst = binary.AppendUvarint(dst, uint64(a.sketch.GetZeroCount()))
	for _, s := range []store.Store{a.sketch.GetPositiveValueStore(), a.sketch.GetNegativeValueStore()} {
		bins := binsOf(s)
		dst = binary.AppendUvarint(dst, uint64(len(bins)))
		last := 0
		for _, b := range bins {
			dst = binary.AppendVarint(dst, int64(b.index-last))
			dst = binary.AppendUvarint(dst, b.count)
			last = b.index
		}
	}
	return dst, nil
}

type bin struct {
	index int
	count uint64
}

// binsOf returns the bins of a store in order, each once.
func binsOf(s store.Store) (bins []bin) {
	s.ForEach(func(index int, count float64) bool {
		bins = append(bins, bin{index, uint64(count)})
		return false
	})
	slices.SortFunc(bins, func(a, b bin) int { return a.index - b.index })
	return bins
}

var errQuantilesCut = errors.New("sketch: the accumulator of Quantiles is cut off")

func (c quantilesCoder) Decode(src []byte) (a QuantilesAcc, rest []byte, err error) {
	if len(src) == 0 {
		return a, src, errQuantilesCut
	}
	if src[0] == 0 {
		return a, src[1:], nil
	}
	if src[0] != 1 {
		return a, src, fmt.Errorf("sketch: the accumulator of Quantiles begins with byte %d, want 0 or 1", src[0])
	}
	r := reader{src: src[1:]}
	lo, hi := math.Float64frombits(r.fixed()), math.Float64frombits(r.fixed())
	a = QuantilesAcc{ddsketch.NewDDSketchFromStoreProvider(c.index, store.DefaultProvider), lo, hi}
	if zeros := r.uvarint(); r.err == nil && zeros > 0 {
		r.err = a.sketch.AddWithCount(0, float64(zeros))
	}
	for _, s := range []store.Store{a.sketch.GetPositiveValueStore(), a.sketch.GetNegativeValueStore()} {
		c.bins(&r, s)
	}
	if r.err == nil && a.sketch.IsEmpty() {
		r.err = errors.New("sketch: the accumulator of Quantiles holds no number")
	}
	if r.err != nil {
		return QuantilesAcc{}, src, r.err
	}
	return a, r.src, nil
}

// bins reads the bins of a store.
func (c quantilesCoder) bins(r *reader, s store.Store) {
	index := int64(0)
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		index += r.varint()
		count := r.uvarint()
		switch {
		case r.err != nil:
		case index < int64(c.min) || index > int64(c.max):
			r.err = fmt.Errorf("sketch: an accumulator of Quantiles has bin %d, want %d to %d: was the accuracy changed?", index, c.min, c.max)
		default:
			s.AddWithCount(int(index), float64(count))
		}
	}
}

// reader reads numbers; an error is sticky.
type reader struct {
	src []byte
	err error
}

func (r *reader) fixed() uint64 {
	if r.err != nil || len(r.src) < 8 {
		r.err = errQuantilesCut
		return 0
	}
	v := binary.BigEndian.Uint64(r.src)
	r.src = r.src[8:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if !r.take(n) {
		return 0
	}
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.src)
	if !r.take(n) {
		return 0
	}
	return v
}

// take goes on behind n bytes; n is not positive if the number is cut off.
func (r *reader) take(n int) bool {
	if r.err == nil && n <= 0 {
		r.err = errQuantilesCut
	}
	if r.err != nil {
		return false
	}
	r.src = r.src[n:]
	return true
}
