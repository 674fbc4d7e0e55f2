package exec

import (
	"encoding/binary"
	"fmt"
)

// Encode writes the number of elements, then each as time, window, pane, kind and value.
func (e *edge[T]) Encode(dst []byte, x Batch, from int) (_ []byte, err error) {
	if e.err != nil {
		return nil, e.err
	}
	b := x.(*batch[T])
	dst = binary.AppendUvarint(dst, uint64(len(b.vals)-from))
	var c Ctx
	for i := from; i < len(b.vals); i++ {
		b.at(&c, i)
		for _, t := range [...]int64{int64(c.Time), int64(c.Window.Start), int64(c.Window.End), c.Pane.Index, c.Pane.NonSpeculative} {
			dst = binary.AppendVarint(dst, t)
		}
		dst = append(dst, byte(c.Pane.Timing)|bit(c.Pane.First)<<2|bit(c.Pane.Last)<<3|byte(c.Kind)<<4)
		if dst, err = e.coder.Append(dst, b.vals[i]); err != nil {
			return nil, fmt.Errorf("element %d of a batch of %v: %w", i, e.Elem(), err)
		}
	}
	return dst, nil
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Decode reads what Encode wrote; all of src must be consumed.
func (e *edge[T]) Decode(src []byte) (Batch, error) {
	if e.err != nil {
		return nil, e.err
	}
	n, k := binary.Uvarint(src)
	if k <= 0 || n > uint64(len(src)) {
		return nil, fmt.Errorf("batch of %v: damaged count", e.Elem())
	}
	src = src[k:]
	b := &batch[T]{}
	for i := range n {
		var f [5]int64
		for j := range f {
			v, k := binary.Varint(src)
			if k <= 0 {
				return nil, fmt.Errorf("batch of %v: element %d: damaged header", e.Elem(), i)
			}
			f[j], src = v, src[k:]
		}
		if len(src) == 0 {
			return nil, fmt.Errorf("batch of %v: element %d is cut off", e.Elem(), i)
		}
		flags := src[0]
		if flags >= 1<<6 {
			return nil, fmt.Errorf("batch of %v: element %d: damaged flags %#x", e.Elem(), i, flags)
		}
		c := Ctx{Time: Time(f[0]), Window: Window{Time(f[1]), Time(f[2])}, Kind: Kind(flags >> 4 & 3),
			Pane: Pane{Index: f[3], NonSpeculative: f[4], Timing: Timing(flags & 3), First: flags&4 != 0, Last: flags&8 != 0}}
		v, rest, err := e.coder.Decode(src[1:])
		if err != nil {
			return nil, fmt.Errorf("batch of %v: element %d: %w", e.Elem(), i, err)
		}
		b.add(&c, v)
		src = rest
	}
	if len(src) > 0 {
		return nil, fmt.Errorf("batch of %v: %d bytes left over", e.Elem(), len(src))
	}
	return b, nil
}
