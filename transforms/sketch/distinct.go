package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/axiomhq/hyperloglog"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// Distinct estimates how many different elements there are, by HyperLogLog. T
// is a key: it must have a canonical encoding (see coders.ForKey).
//
// The standard error of the estimate is 1.04/√2^precision: 0.8 % with a precision
// of 14. An accumulator takes up to 2^precision bytes, and few for few elements,
// whose number is all but exact. precision is 4 to 18.
func Distinct[T comparable](precision int) combine.Combiner[T, DistinctAcc, int64] {
	key, err := coders.ForKey[T]()
	if err == nil && (precision < 4 || precision > 18) {
		err = fmt.Errorf("sketch.Distinct with a precision of %d; want 4 to 18", precision)
	}
	return distinct[T]{key, uint8(precision), err}
}

// DistinctAcc is the accumulator of [Distinct].
type DistinctAcc struct{ sketch *hyperloglog.Sketch } // nil: no element

type distinct[T comparable] struct {
	key       *coders.Key[T]
	precision uint8
	err       error
}

func (d distinct[T]) Check() error { return d.err }

func (distinct[T]) Create() (none DistinctAcc) { return none }

func (d distinct[T]) Add(a DistinctAcc, v T) DistinctAcc {
	if a.sketch == nil {
		s, err := hyperloglog.NewSketch(d.precision, true)
		if err != nil {
			panic(fmt.Sprintf("sketch: a precision that Check accepts is refused: %v", err))
		}
		a.sketch = s
	}
	if d.key.Normalize != nil {
		v = d.key.Normalize(v)
	}
	a.sketch.InsertHash(d.key.Hash(v))
	return a
}

func (d distinct[T]) Merge(a, b DistinctAcc) DistinctAcc {
	switch {
	case b.sketch == nil:
		return a
	case a.sketch == nil:
		return d.Clone(b)
	}
	if err := a.sketch.Merge(b.sketch); err != nil {
		panic(fmt.Sprintf("sketch: accumulators of one combiner cannot be merged: %v", err))
	}
	return a
}

// Extract estimates on a copy: an estimate tidies the sketch up.
func (d distinct[T]) Extract(a DistinctAcc) int64 {
	if a.sketch == nil {
		return 0
	}
	return int64(a.sketch.Clone().Estimate())
}

func (distinct[T]) Clone(a DistinctAcc) DistinctAcc {
	if a.sketch != nil {
		a.sketch = a.sketch.Clone()
	}
	return a
}

// AccCoder returns the coder of accumulators of this precision.
func (d distinct[T]) AccCoder() (coders.Coder[DistinctAcc], error) {
	return distinctCoder(d.precision), nil
}

// distinctCoder encodes a sketch behind its length, which is 0 without one. A
// sketch of another precision is refused.
type distinctCoder uint8

func (distinctCoder) Append(dst []byte, a DistinctAcc) ([]byte, error) {
	if a.sketch == nil {
		return append(dst, 0), nil
	}
	b, err := a.sketch.Clone().MarshalBinary()
	if err != nil {
		return dst, fmt.Errorf("sketch: %w", err)
	}
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...), nil
}

func (p distinctCoder) Decode(src []byte) (a DistinctAcc, rest []byte, err error) {
	n, k := binary.Uvarint(src)
	if k <= 0 || n > uint64(len(src)-k) {
		return a, src, errors.New("sketch: the accumulator of Distinct is cut off")
	}
	if n == 0 {
		return a, src[k:], nil
	}
	body := src[k : k+int(n)]
	s := new(hyperloglog.Sketch)
	if err := s.UnmarshalBinary(body); err != nil {
		return a, src, fmt.Errorf("sketch: the accumulator of Distinct is damaged: %w", err)
	}
	if body[1] != byte(p) {
		return a, src, fmt.Errorf("sketch: an accumulator of Distinct has precision %d, want %d: was the pipeline changed?", body[1], p)
	}
	return DistinctAcc{s}, src[k+int(n):], nil
}
