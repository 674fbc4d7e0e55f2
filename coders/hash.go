package coders

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The hash's constants: the first 256 bits of π's fraction, and 2^64 over the
// golden ratio. They are part of its definition: state written by one version
// is found by the next only if they never change.
const (
	pi0    = 0x243f6a8885a308d3
	pi1    = 0x13198a2e03707344
	pi2    = 0xa4093822299f31d0
	pi3    = 0x082efa98ec4e6c89
	golden = 0x9e3779b97f4a7c15
)

// mix folds the 128-bit product of a and b: high half xor low half.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashWord is the hash of a bool or an integer, extended to 64 bits. A single
// mix leaves output bits that one input bit decides alone; two leave none.
func hashWord(x uint64) uint64 { return mix(mix(x^pi0, golden)^pi1, golden) }

// hashBytes is the hash of the n bytes at p.
func hashBytes(p unsafe.Pointer, n int) uint64 {
	seed, size := uint64(pi2), uint64(n)
	var a, b uint64
	switch {
	case n > 16:
		for ; n > 16; n -= 16 {
			seed = mix(load64(p)^pi1, load64(unsafe.Add(p, 8))^seed)
			p = unsafe.Add(p, 16)
		}
		a, b = load64(unsafe.Add(p, n-16)), load64(unsafe.Add(p, n-8))
	case n >= 8:
		a, b = load64(p), load64(unsafe.Add(p, n-8))
	case n >= 4:
		a, b = load32(p), load32(unsafe.Add(p, n-4))
	case n > 0:
		a = uint64(load8(p)) | uint64(load8(unsafe.Add(p, n/2)))<<8 | uint64(load8(unsafe.Add(p, n-1)))<<16
	}
	hi, lo := bits.Mul64(a^pi1, b^seed)
	return mix(lo^pi0^size, hi^pi3)
}

// combine is the hash of h, that of the parts so far, and part, that of the
// next one.
func combine(h, part uint64) uint64 { return mix(h^pi0, part^pi1) }

// noParts is the hash of a struct or array before its first part.
const noParts uint64 = pi3

func load8(p unsafe.Pointer) byte    { return *(*byte)(p) }
func load32(p unsafe.Pointer) uint64 { return uint64(binary.LittleEndian.Uint32((*[4]byte)(p)[:])) }
func load64(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }

func hashString(s string) uint64 { return hashBytes(unsafe.Pointer(unsafe.StringData(s)), len(s)) }
