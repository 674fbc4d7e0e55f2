package coders

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// complexNumber is the codec of complex numbers: real and imaginary part, each
// as the float it is. Beam has none.
func complexNumber(t reflect.Type, c *codec) {
	if t.Kind() == reflect.Complex64 {
		c.min = 8
		c.app = func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			v := *(*complex64)(p)
			dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(real(v)))
			return binary.BigEndian.AppendUint32(dst, math.Float32bits(imag(v))), nil
		}
		c.dec = func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			if len(src) < 8 {
				return nil, short(8, len(src))
			}
			bits := binary.BigEndian.Uint32
			*(*complex64)(p) = complex(math.Float32frombits(bits(src)), math.Float32frombits(bits(src[4:])))
			return src[8:], nil
		}
		return
	}
	c.min = 16
	c.app = func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
		v := *(*complex128)(p)
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(real(v)))
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(imag(v))), nil
	}
	c.dec = func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
		if len(src) < 16 {
			return nil, short(16, len(src))
		}
		bits := binary.BigEndian.Uint64
		*(*complex128)(p) = complex(math.Float64frombits(bits(src)), math.Float64frombits(bits(src[8:])))
		return src[16:], nil
	}
}
