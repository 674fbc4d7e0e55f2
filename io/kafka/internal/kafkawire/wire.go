package kafkawire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errShort is a response that ends, or claims to hold, more than its frame.
var errShort = errors.New("response ends inside a field")

// encoder appends protocol fields to a request. Its zero value is ready.
type encoder struct{ b []byte }

func (e *encoder) int8(v int8)    { e.b = append(e.b, byte(v)) }
func (e *encoder) int16(v int16)  { e.b = binary.BigEndian.AppendUint16(e.b, uint16(v)) }
func (e *encoder) int32(v int32)  { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) int64(v int64)  { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }
func (e *encoder) uvarint(v int)  { e.b = binary.AppendUvarint(e.b, uint64(v)) }
func (e *encoder) arrayLen(n int) { e.int32(int32(n)) }

func (e *encoder) bool(v bool) {
	if v {
		e.int8(1)
		return
	}
	e.int8(0)
}

func (e *encoder) string(s string) {
	e.int16(int16(len(s)))
	e.b = append(e.b, s...)
}

// nullString writes null for the empty string.
func (e *encoder) nullString(s string) {
	if s == "" {
		e.int16(-1)
		return
	}
	e.string(s)
}

func (e *encoder) compactLen(n int) { e.uvarint(n + 1) }

func (e *encoder) compactString(s string) {
	e.compactLen(len(s))
	e.b = append(e.b, s...)
}

// noTags writes an empty tagged-field section.
func (e *encoder) noTags() { e.b = append(e.b, 0) }

// decoder reads protocol fields of one response frame from a connection and never reads beyond it. After the first failure every read
// gives zero values and err stays set, so callers check once per element of an array.
type decoder struct {
	r       io.Reader
	remain  int // bytes of the frame not yet read
	err     error
	scratch []byte
	eight   [8]byte
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// take reads n bytes into the scratch buffer; they are valid until the next call.
func (d *decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > d.remain {
		d.fail(errShort)
		return nil
	}
	if n <= len(d.eight) {
		b := d.eight[:n]
		d.readFull(b)
		return b
	}
	// The scratch buffer grows only as bytes arrive, so a frame that claims more than it sends costs nothing.
	const step = 64 << 10
	d.scratch = d.scratch[:0]
	for len(d.scratch) < n {
		from := len(d.scratch)
		to := min(n, from+step)
		if cap(d.scratch) < to {
			grown := make([]byte, from, max(to, min(n, 2*cap(d.scratch))))
			copy(grown, d.scratch)
			d.scratch = grown
		}
		d.scratch = d.scratch[:to]
		if d.readFull(d.scratch[from:to]); d.err != nil {
			return nil
		}
	}
	return d.scratch
}

func (d *decoder) readFull(b []byte) {
	if d.err != nil {
		return
	}
	n, err := io.ReadFull(d.r, b)
	d.remain -= n
	if err != nil {
		d.fail(fmt.Errorf("reading a response: %w", err))
		clear(b)
	}
}

func (d *decoder) int8() int8 {
	if b := d.take(1); len(b) == 1 {
		return int8(b[0])
	}
	return 0
}

func (d *decoder) int16() int16 {
	if b := d.take(2); len(b) == 2 {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (d *decoder) int32() int32 {
	if b := d.take(4); len(b) == 4 {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool { return d.int8() != 0 }

func (d *decoder) uvarint() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := d.int8()
		if d.err != nil {
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b >= 0 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	d.fail(errors.New("a varint of a response has more than 32 bits"))
	return 0
}

// arrayLen reads the length of an array whose elements take at least elem bytes; null counts as empty.
func (d *decoder) arrayLen(elem int) int { return d.checkLen(int(d.int32()), elem) }

// compactLen is arrayLen for the compact form.
func (d *decoder) compactLen(elem int) int { return d.checkLen(int(d.uvarint())-1, elem) }

func (d *decoder) checkLen(n, elem int) int {
	if d.err != nil || n <= 0 {
		return 0
	}
	if n > d.remain/elem {
		d.fail(errShort)
		return 0
	}
	return n
}

// string reads a string; null reads as empty.
func (d *decoder) string() string {
	n := int(d.int16())
	if n <= 0 {
		return ""
	}
	return string(d.take(n))
}

// compactBytes reads a compact string into the scratch buffer, valid until the next read.
func (d *decoder) compactBytes() []byte {
	n := int(d.uvarint()) - 1
	if n <= 0 {
		return nil
	}
	return d.take(n)
}

// tags reads a tagged-field section. known may be nil; it is called for each field, must read at most size bytes, and what it leaves is
// skipped.
func (d *decoder) tags(known func(tag uint32, size int)) {
	n := d.uvarint()
	for i := uint32(0); i < n && d.err == nil; i++ {
		tag, size := d.uvarint(), int(d.uvarint())
		if size > d.remain {
			d.fail(errShort)
			return
		}
		end := d.remain - size
		if known != nil {
			known(tag, size)
		}
		if d.remain < end {
			d.fail(errors.New("a tagged field of a response is longer than it says"))
			return
		}
		d.skip(d.remain - end)
	}
}

// skip discards n bytes.
func (d *decoder) skip(n int) {
	for n > 0 && d.err == nil {
		k := min(n, 4096)
		d.take(k)
		n -= k
	}
}
