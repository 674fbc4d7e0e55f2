package columns

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// slabSize is how many bytes of values share an allocation. A program that keeps one short
// string of a file for ever keeps this much of it, not a page or a dictionary.
const slabSize = 8 << 10

// slab copies values out of page buffers, many to an allocation.
type slab struct{ free []byte }

// room returns n fresh bytes without room to append.
func (s *slab) room(n int) []byte {
	if n > len(s.free) {
		if n > slabSize/4 {
			return make([]byte, n)
		}
		s.free = make([]byte, slabSize)
	}
	b := s.free[:n:n]
	s.free = s.free[n:]
	return b
}

// blobs decodes byte arrays of any encoding, one after the other.
type blobs struct {
	size int // of a FIXED_LEN_BYTE_ARRAY, else 0
	slab slab

	data   []byte // values, or what is left of them, yet to take
	n      int    // values yet to take
	form   format.Encoding
	suffix []int32 // lengths, of the delta encodings
	prefix []int32 // bytes shared with the value before, of DELTA_BYTE_ARRAY
	last   []byte
	split  []byte // scratch
}

func (b *blobs) load(enc format.Encoding, body []byte, n int) (err error) {
	b.form, b.data, b.n, b.last = enc, body, n, nil
	switch enc {
	case format.Plain:
		need := n * 4 // a length each
		if b.size > 0 {
			need = n * b.size
		}
		if len(body) < need {
			return fmt.Errorf("damaged: %d bytes for %d values", len(body), n)
		}
		return nil
	case format.ByteStreamSplit:
		if b.size == 0 {
			return errEncoding(enc)
		}
		if len(body) != n*b.size {
			return fmt.Errorf("damaged: %d bytes for %d values", len(body), n)
		}
		b.split = resize(b.split, len(body))
		unsplit(b.split, body, b.size)
		b.form, b.data = format.Plain, b.split
		return nil
	case format.DeltaLengthByteArray:
		b.suffix, b.data, err = lengths(b.suffix, body, n)
		return err
	case format.DeltaByteArray:
		if b.prefix, b.data, err = lengths(b.prefix, body, n); err != nil {
			return err
		}
		b.suffix, b.data, err = lengths(b.suffix, b.data, n)
		return err
	}
	return errEncoding(enc)
}

// lengths decodes n lengths at the start of body and returns what follows them.
func lengths(dst []int32, body []byte, n int) ([]int32, []byte, error) {
	used, err := checkDelta(body, n)
	if err == nil {
		dst, err = parquet.DeltaBinaryPacked.DecodeInt32(resize(dst, n), body[:used])
	}
	if err == nil && len(dst) < n {
		err = errRunsShort
	}
	if err != nil {
		return dst, nil, fmt.Errorf("damaged: lengths: %w", err)
	}
	return dst[:n], body[used:], nil
}

// next returns the next value. It is valid until the one after; skipping it copies nothing.
func (b *blobs) next() ([]byte, error) {
	if b.n == 0 {
		return nil, errShortPage
	}
	b.n--
	prefix, n := 0, b.size
	switch b.form {
	case format.Plain:
		if n == 0 {
			if len(b.data) < 4 {
				return nil, errShortPage
			}
			size := binary.LittleEndian.Uint32(b.data)
			if b.data = b.data[4:]; size > math.MaxInt32 {
				return nil, errShortPage
			}
			n = int(size)
		}
	case format.DeltaByteArray:
		prefix, b.prefix = int(b.prefix[0]), b.prefix[1:]
		fallthrough
	default:
		n, b.suffix = int(b.suffix[0]), b.suffix[1:]
	}
	if n < 0 || n > len(b.data) || prefix < 0 || prefix > len(b.last) {
		return nil, errShortPage
	}
	v := b.data[:n:n]
	b.data = b.data[n:]
	if b.form == format.DeltaByteArray {
		if b.size > 0 && prefix+n != b.size {
			return nil, errShortPage
		}
		b.last = append(b.last[:prefix], v...)
		v = b.last
	}
	return v, nil
}

var errShortPage = fmt.Errorf("damaged: a value reaches beyond its page")

func (b *blobs) skip(n int) {
	for range n {
		if _, err := b.next(); err != nil {
			return // the next take meets the same end
		}
	}
}

// texts decodes byte arrays into strings.
type texts struct{ blobs }

func (t *texts) take(n int, buf []string) ([]string, error) {
	for i := range buf[:n] {
		v, err := t.next()
		if err != nil {
			return nil, err
		}
		buf[i] = t.slab.text(v)
	}
	return buf[:n], nil
}

func (s *slab) text(v []byte) string {
	if len(v) == 0 {
		return ""
	}
	b := s.room(len(v))
	copy(b, v)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// chunks decodes byte arrays into byte slices. An empty value is empty, not nil.
type chunks struct{ blobs }

func (t *chunks) take(n int, buf [][]byte) ([][]byte, error) {
	for i := range buf[:n] {
		v, err := t.next()
		if err != nil {
			return nil, err
		}
		buf[i] = t.slab.room(len(v))
		copy(buf[i], v)
	}
	return buf[:n], nil
}

// byteSlices is a column of byte slices. Rows must not share the memory of a dictionary's value, as
// strings do: who changes a row's bytes would change other rows.
type byteSlices struct {
	column[[]byte]
	own slab
}

func newByteSlices(size int) values {
	c := &byteSlices{}
	c.plain, c.buf = &chunks{blobs{size: size}}, make([][]byte, blockSize)
	return c
}

func (c *byteSlices) put(dst unsafe.Pointer, stride uintptr, n int) error {
	if err := c.column.put(dst, stride, n); err != nil || !c.indexed {
		return err
	}
	for i := range uintptr(n) {
		p := (*[]byte)(unsafe.Add(dst, i*stride))
		v := c.own.room(len(*p))
		copy(v, *p)
		*p = v
	}
	return nil
}

// arrays is a column of [N]byte, whatever N: its values are copied by their length.
type arrays struct {
	blobs
	dict    []byte
	hasDict bool
	indexed bool
	index   []int32
	at      int
}

func newArrays(size int) values { return &arrays{blobs: blobs{size: size}} }

func (c *arrays) alloc(n int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]byte, n*c.size)))
}

func (c *arrays) dictionary(body []byte, n int) error {
	if c.hasDict || len(body) < n*c.size {
		return fmt.Errorf("damaged: a second dictionary, or %d bytes for %d values", len(body), n)
	}
	c.dict, c.hasDict = append([]byte(nil), body[:n*c.size]...), true
	return nil
}

func (c *arrays) load(p *page) (err error) {
	//lint:ignore SA1019 files written before it was deprecated have it
	c.indexed = p.enc == format.RLEDictionary || p.enc == format.PlainDictionary
	if !c.indexed {
		return c.blobs.load(p.enc, p.body, p.defined)
	}
	if !c.hasDict {
		return errDictionary
	}
	c.at = 0
	c.index, err = indexes(c.index, p.body, p.defined)
	return err
}

func (c *arrays) put(dst unsafe.Pointer, stride uintptr, n int) error {
	for i := range uintptr(n) {
		var v []byte
		if c.indexed {
			ix := int(uint32(c.index[c.at]))
			c.at++
			if ix >= len(c.dict)/c.size {
				return errIndex
			}
			v = c.dict[ix*c.size : (ix+1)*c.size]
		} else {
			var err error
			if v, err = c.next(); err != nil {
				return err
			}
		}
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*stride)), c.size), v)
	}
	return nil
}

func (c *arrays) skip(n int) {
	if c.indexed {
		c.at += n
	} else {
		c.blobs.skip(n)
	}
}
