package coders

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// sliceHeader is how a slice lies in memory.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// An iterable is the codec of slices: beam:coder:iterable:v1.
type iterable struct {
	elem   *codec
	typ    reflect.Type // of the slice
	size   uintptr      // of an element
	noscan bool         // elements hold no pointers
	self   *codec
	zero   bool // no elements come back as a nil slice
}

// unknownCount begins an iterable that comes in chunks, each with a count of
// its own, the last one 0. Other SDKs write it for what they do not hold in
// memory; it is read but never written.
const unknownCount = math.MaxUint32

func (d *deriver) slice(t reflect.Type, c *codec) error {
	elem, err := d.derive(t.Elem())
	if err != nil {
		return within("[]", err)
	}
	c.nullable = true
	if elem.op == opByte && t.Elem().Kind() == reflect.Uint8 {
		c.op, c.min = opBytes, 1
		return nil
	}
	s := &iterable{elem: elem, typ: t, size: t.Elem().Size(), noscan: pointerFree(t.Elem()), self: c}
	c.min, c.app, c.dec = 4, s.append, s.decode
	return nil
}

// iterableStruct is the codec of a struct that is an iterable by its shape.
func (d *deriver) iterableStruct(t reflect.Type, c *codec) error {
	if t.NumField() != 1 || t.Field(0).Type.Kind() != reflect.Slice {
		return fmt.Errorf("CoderShape says ShapeIterable, which needs exactly one field, a slice")
	}
	st := t.Field(0).Type // at offset 0
	elem, err := d.derive(st.Elem())
	if err != nil {
		return within("[]", err)
	}
	// Bytes are elements here, not one bytes value: the method asked for an iterable.
	// Without elements it is the struct's zero value, as its slice is its own affair.
	s := &iterable{elem: elem, typ: st, size: st.Elem().Size(), noscan: pointerFree(st.Elem()), self: c, zero: true}
	c.min, c.app, c.dec = 4, s.append, s.decode
	return nil
}

func (s *iterable) append(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
	h := (*sliceHeader)(p)
	if h.len > math.MaxInt32 {
		return dst, tooMany(h.len)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.len))
	for i := range h.len {
		if dst, err = s.elem.append(dst, unsafe.Add(h.data, uintptr(i)*s.size), depth); err != nil {
			return dst, withinIndex(i, err)
		}
	}
	return dst, nil
}

func tooMany(n int) error {
	return fmt.Errorf("%d elements, but Beam counts them in 31 bits; split the value", n)
}

// decodeCount reads a count of elements of at least elemMin bytes each.
func decodeCount(src []byte, elemMin int) (n int, rest []byte, err error) {
	if len(src) < 4 {
		return 0, nil, short(4, len(src))
	}
	u := binary.BigEndian.Uint32(src)
	if u == unknownCount {
		return -1, src[4:], nil
	}
	return bounded(uint64(u), src[4:], elemMin)
}

func bounded(u uint64, src []byte, elemMin int) (int, []byte, error) {
	if u > uint64(len(src)/elemMin) {
		return 0, nil, fmt.Errorf("%d elements were announced and %d bytes are left", u, len(src))
	}
	return int(u), src, nil
}

func (s *iterable) decode(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	n, src, err := decodeCount(src, s.elem.min)
	if err != nil {
		return nil, err
	}
	h := (*sliceHeader)(p)
	if !s.zero {
		*h = s.alloc(0) // not nil
	}
	if n < 0 {
		return s.decodeChunks(src, h, depth)
	}
	return s.decodeN(src, h, n, depth)
}

func (s *iterable) decodeChunks(src []byte, h *sliceHeader, depth int) ([]byte, error) {
	for {
		u, rest, err := uvarint(src)
		if err != nil {
			return nil, err
		}
		if u == 0 {
			return rest, nil
		}
		if int64(u) < 0 {
			return nil, fmt.Errorf("the rest of the iterable is in the runner's state, which this coder cannot read")
		}
		n, rest, err := bounded(u, rest, s.elem.min)
		if err != nil {
			return nil, err
		}
		if src, err = s.decodeN(rest, h, n, depth); err != nil {
			return nil, err
		}
	}
}

// decodeN appends n elements. Room for all is made at once where the type
// bounds it by the length of src; in a recursive type each level could claim as much
// again, so room grows with what was really there.
func (s *iterable) decodeN(src []byte, h *sliceHeader, n, depth int) (_ []byte, err error) {
	for i := range n {
		if h.len == h.cap {
			room := h.len + n - i
			if s.self.cyclic {
				room = min(room, max(4, 2*h.len))
			}
			s.grow(h, room)
		}
		q := unsafe.Add(h.data, uintptr(h.len)*s.size)
		h.len++
		if src, err = s.elem.decode(src, q, depth); err != nil {
			return nil, withinIndex(h.len-1, err)
		}
	}
	return src, nil
}

func (s *iterable) grow(h *sliceHeader, room int) {
	if h.len == 0 {
		*h = s.alloc(room)
		return
	}
	old, more := *h, s.alloc(room)
	more.len = old.len
	reflect.Copy(reflect.NewAt(s.typ, unsafe.Pointer(&more)).Elem(), reflect.NewAt(s.typ, unsafe.Pointer(&old)).Elem())
	*h = more
}

// alloc returns an empty slice, not nil, with room for n elements, all zero.
func (s *iterable) alloc(n int) sliceHeader {
	if s.noscan && s.size%8 == 0 { // spares the header that reflect allocates
		words := make([]uint64, uintptr(n)*s.size/8)
		return sliceHeader{unsafe.Pointer(unsafe.SliceData(words)), 0, n}
	}
	if s.elem.op == opString {
		strings := make([]string, n)
		return sliceHeader{unsafe.Pointer(unsafe.SliceData(strings)), 0, n}
	}
	return sliceHeader{reflect.MakeSlice(s.typ, n, n).UnsafePointer(), 0, n}
}

// pointerFree reports whether values of t hold no pointers, conservatively.
func pointerFree(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return pointerFree(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !pointerFree(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}

// array is the codec of arrays: bytes for an array of bytes, as Beam's
// fixed_bytes, and an iterable otherwise. The length must be the type's.
func (d *deriver) array(t reflect.Type, c *codec) error {
	elem, err := d.derive(t.Elem())
	if err != nil {
		return within("[]", err)
	}
	n, size := t.Len(), t.Elem().Size()
	if n > math.MaxInt32 {
		return tooMany(n)
	}
	if elem.op == opByte && t.Elem().Kind() == reflect.Uint8 {
		byteArray(n, c)
		return nil
	}
	c.min = 4 + n*elem.min
	c.app = func(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		for i := range n {
			if dst, err = elem.append(dst, unsafe.Add(p, uintptr(i)*size), depth); err != nil {
				return dst, withinIndex(i, err)
			}
		}
		return dst, nil
	}
	c.dec = func(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
		got, src, err := decodeCount(src, elem.min)
		if err != nil {
			return nil, err
		}
		if got != n {
			return nil, fmt.Errorf("%d elements, but the array has %d", got, n)
		}
		for i := range n {
			if src, err = elem.decode(src, unsafe.Add(p, uintptr(i)*size), depth); err != nil {
				return nil, withinIndex(i, err)
			}
		}
		return src, nil
	}
	return nil
}

func byteArray(n int, c *codec) {
	prefix := binary.AppendUvarint(nil, uint64(n))
	c.min = len(prefix) + n
	c.app = func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
		return append(append(dst, prefix...), unsafe.Slice((*byte)(p), n)...), nil
	}
	c.dec = func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
		b, rest, err := prefixed(src)
		if err != nil {
			return nil, err
		}
		if len(b) != n {
			return nil, fmt.Errorf("%d bytes, but the array has %d", len(b), n)
		}
		copy(unsafe.Slice((*byte)(p), n), b)
		return rest, nil
	}
}
