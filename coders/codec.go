package coders

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unsafe"
)

// maxDepth bounds how deep values of a recursive type may nest, so that
// neither cyclic values nor damaged bytes can exhaust the stack.
const maxDepth = 10_000

// A codec encodes and decodes the values of one type, which it reads and
// writes through a pointer. It is complete before any Coder sees it; during
// derivation of a recursive type others already hold its address.
type codec struct {
	op  op // a scalar that the switches below handle, or opCall
	app func(dst []byte, p unsafe.Pointer, depth int) ([]byte, error)
	dec func(src []byte, p unsafe.Pointer, depth int) ([]byte, error) // p points to a zero value

	// min is the least number of bytes an encoding takes: at least 1, so that
	// a count of elements is bounded by the bytes that are there.
	min int

	// Pointers, slices and maps are null in a row's bitmap when they are nil;
	// present then encodes those that are not, without an indicator of its own.
	nullable bool
	present  *codec

	cyclic     bool // the type contains itself; depth and allocation need care
	registered bool // a coder the user gave
}

type op uint8

const (
	opCall op = iota
	opBool
	opByte
	op16
	opInt32
	opUint32
	op64
	opInt
	opUint
	opFloat32
	opFloat64
	opString
	opBytes
	opTime
)

// append appends the encoding of the value at p.
func (c *codec) append(dst []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	switch c.op {
	case opBool, opByte: // a Go bool is the byte 0 or 1
		return append(dst, *(*byte)(p)), nil
	case op16:
		return binary.BigEndian.AppendUint16(dst, *(*uint16)(p)), nil
	case opInt32, opUint32: // negative numbers take five bytes, as in Java's VarIntCoder
		return binary.AppendUvarint(dst, uint64(*(*uint32)(p))), nil
	case op64:
		return binary.AppendUvarint(dst, *(*uint64)(p)), nil
	case opInt:
		return binary.AppendUvarint(dst, uint64(*(*int)(p))), nil
	case opUint:
		return binary.AppendUvarint(dst, uint64(*(*uint)(p))), nil
	case opFloat32:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(*(*float32)(p))), nil
	case opFloat64:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(*(*float64)(p))), nil
	case opString:
		s := *(*string)(p)
		return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
	case opBytes:
		b := *(*[]byte)(p)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...), nil
	case opTime:
		t := (*time.Time)(p)
		dst = append(dst, timeHead...)
		dst = binary.AppendUvarint(dst, uint64(t.Unix()))
		return binary.AppendUvarint(dst, uint64(t.Nanosecond())), nil
	}
	if c.cyclic {
		if depth++; depth > maxDepth {
			return dst, fmt.Errorf("the value nests more than %d deep; break the cycle that its pointers form", maxDepth)
		}
	}
	return c.app(dst, p, depth)
}

// decode reads a value from the front of src into the zero value at p.
func (c *codec) decode(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	switch c.op {
	case opCall:
		if c.cyclic {
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("the value nests more than %d deep", maxDepth)
			}
		}
		return c.dec(src, p, depth)
	case opString:
		b, rest, err := prefixed(src)
		if err != nil {
			return nil, err
		}
		*(*string)(p) = string(b)
		return rest, nil
	case opBytes:
		b, rest, err := prefixed(src)
		if err != nil {
			return nil, err
		}
		*(*[]byte)(p) = append(make([]byte, 0, len(b)), b...)
		return rest, nil
	case opTime:
		return decodeTime(src, p)
	case opBool, opByte, op16, opFloat32, opFloat64:
		return c.decodeFixed(src, p)
	}
	return c.decodeInt(src, p)
}

func (c *codec) decodeFixed(src []byte, p unsafe.Pointer) ([]byte, error) {
	if len(src) < c.min {
		return nil, short(c.min, len(src))
	}
	switch c.op {
	case opBool:
		if src[0] > 1 {
			return nil, fmt.Errorf("a bool is 0 or 1, got %d", src[0])
		}
		*(*bool)(p) = src[0] == 1
	case opByte:
		*(*byte)(p) = src[0]
	case op16:
		*(*uint16)(p) = binary.BigEndian.Uint16(src)
	case opFloat32:
		*(*float32)(p) = math.Float32frombits(binary.BigEndian.Uint32(src))
	case opFloat64:
		*(*float64)(p) = math.Float64frombits(binary.BigEndian.Uint64(src))
	}
	return src[c.min:], nil
}

func (c *codec) decodeInt(src []byte, p unsafe.Pointer) ([]byte, error) {
	u, rest, err := uvarint(src)
	if err != nil {
		return nil, err
	}
	fits := true
	switch c.op {
	case op64:
		*(*uint64)(p) = u
	case opInt: // 32 bits wide on some architectures
		i := int(u)
		*(*int)(p), fits = i, uint64(int64(i)) == u
	case opUint:
		i := uint(u)
		*(*uint)(p), fits = i, uint64(i) == u
	case opInt32: // other SDKs write negative numbers sign-extended
		*(*int32)(p), fits = int32(u), u <= math.MaxUint32 || int64(u) < 0 && int64(u) >= math.MinInt32
	case opUint32:
		*(*uint32)(p), fits = uint32(u), u <= math.MaxUint32
	}
	if !fits {
		return nil, fmt.Errorf("the integer %d is out of range", int64(u))
	}
	return rest, nil
}

// timeHead begins the row that a time.Time is: two fields, no nulls.
const timeHead = "\x02\x00"

func decodeTime(src []byte, p unsafe.Pointer) ([]byte, error) {
	if len(src) < len(timeHead) || string(src[:len(timeHead)]) != timeHead {
		return nil, fmt.Errorf("a time begins with % x, got % x", timeHead, src[:min(len(src), len(timeHead))])
	}
	sec, src, err := uvarint(src[len(timeHead):])
	if err != nil {
		return nil, err
	}
	nsec, src, err := uvarint(src)
	if err != nil {
		return nil, err
	}
	if nsec >= uint64(time.Second) {
		return nil, fmt.Errorf("%d nanoseconds are not below one second", nsec)
	}
	*(*time.Time)(p) = time.Unix(int64(sec), int64(nsec)).UTC()
	return src, nil
}

// uvarint reads Beam's variable-length integer: seven bits a byte, least
// significant first. Encodings longer than needed are accepted, as in Beam.
func uvarint(src []byte) (uint64, []byte, error) {
	if len(src) > 0 && src[0] < 0x80 { // most lengths
		return uint64(src[0]), src[1:], nil
	}
	u, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, nil, badVarint(n)
	}
	return u, src[n:], nil
}

func badVarint(n int) error {
	if n < 0 {
		return fmt.Errorf("a variable-length integer takes more than 64 bits")
	}
	return fmt.Errorf("the bytes end within a variable-length integer")
}

// prefixed reads a length and that many bytes, which it does not copy.
func prefixed(src []byte) (b, rest []byte, err error) {
	n, src, err := uvarint(src)
	if err != nil {
		return nil, nil, err
	}
	if n > uint64(len(src)) {
		return nil, nil, fmt.Errorf("%d bytes were announced and %d are left", n, len(src))
	}
	return src[:n], src[n:], nil
}

func short(want, have int) error {
	return fmt.Errorf("%d bytes are needed and %d are left", want, have)
}

// noescape hides from escape analysis that the pointer goes on to a function
// value; without it each value would be moved to the heap to be encoded. No
// codec keeps the pointer it is given.
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
