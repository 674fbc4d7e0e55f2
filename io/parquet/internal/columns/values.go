package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// blockSize is how many values are converted at a time, in a buffer that stays in the cache.
const blockSize = 256

// values is a column's values on their way from pages to struct fields, whatever their type. The
// values of a page are taken in order.
type values interface {
	// dictionary takes the n values of a dictionary page, PLAIN in body.
	dictionary(body []byte, n int) error
	// load takes a data page. The page's body must stay until its values are taken.
	load(p *page) error
	// put stores the next n values at dst, dst+stride, dst+2*stride, …
	put(dst unsafe.Pointer, stride uintptr, n int) error
	// skip passes over the next n values.
	skip(n int)
	// alloc returns room for n values, zeroed.
	alloc(n int) unsafe.Pointer
}

// decoder yields the values of a page that is not dictionary encoded. G is the type of the field.
type decoder[G any] interface {
	load(enc format.Encoding, body []byte, n int) error
	// take returns the next n values, in buf or in place. They are valid until the next call.
	take(n int, buf []G) ([]G, error)
	skip(n int)
}

var (
	errIndex      = errors.New("damaged: an index beyond the dictionary")
	errDictionary = errors.New("damaged: a page needs a dictionary and the column has none")
)

// column is values of one type.
type column[G any] struct {
	plain   decoder[G]
	dict    []G // of the chunk; nil until there is one
	indexed bool
	index   []int32 // of the page, when indexed
	at      int     // in index
	buf     []G
}

func newColumn[G any](d decoder[G]) values {
	return &column[G]{plain: d, buf: make([]G, blockSize)}
}

func (c *column[G]) alloc(n int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]G, n)))
}

func (c *column[G]) dictionary(body []byte, n int) error {
	if c.dict != nil {
		return errors.New("damaged: a second dictionary")
	}
	if err := c.plain.load(format.Plain, body, n); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	dict := make([]G, 0, n)
	for len(dict) < n {
		block, err := c.plain.take(min(blockSize, n-len(dict)), c.buf)
		if err != nil {
			return fmt.Errorf("dictionary: %w", err)
		}
		dict = append(dict, block...)
	}
	c.dict = dict
	return nil
}

func (c *column[G]) load(p *page) error {
	//lint:ignore SA1019 files written before it was deprecated have it
	c.indexed = p.enc == format.RLEDictionary || p.enc == format.PlainDictionary
	if !c.indexed {
		return c.plain.load(p.enc, p.body, p.defined)
	}
	if c.dict == nil {
		return errDictionary
	}
	c.at = 0
	var err error
	c.index, err = indexes(c.index, p.body, p.defined)
	return err
}

// indexes decodes n indexes into a dictionary: a byte for their width, then runs.
func indexes(dst []int32, body []byte, n int) ([]int32, error) {
	width := uint(0)
	if len(body) > 0 {
		if width = uint(body[0]); width > 32 {
			return dst, fmt.Errorf("damaged: indexes of %d bits", width)
		}
	}
	if width == 0 { // the dictionary has one value; writers differ in what they write then
		dst = resize(dst, n)
		clear(dst)
		return dst, nil
	}
	r, err := checkRuns(body[1:], width, n)
	if err == nil && r.count < n {
		err = errRunsShort
	}
	if err != nil {
		return dst, fmt.Errorf("damaged: indexes: %w", err)
	}
	dst, err = parquet.RLEDictionary.DecodeInt32(resize(dst, r.count), body[:1+r.used])
	if err != nil || len(dst) < n {
		return dst, fmt.Errorf("damaged: indexes: %w", errors.Join(err, errRunsShort))
	}
	return dst[:n], nil
}

func (c *column[G]) put(dst unsafe.Pointer, stride uintptr, n int) error {
	off := uintptr(0)
	if c.indexed {
		dict := c.dict
		for _, ix := range c.index[c.at : c.at+n] {
			if uint(uint32(ix)) >= uint(len(dict)) {
				return errIndex
			}
			*(*G)(unsafe.Add(dst, off)) = dict[uint32(ix)]
			off += stride
		}
		c.at += n
		return nil
	}
	for n > 0 {
		block, err := c.plain.take(min(n, blockSize), c.buf)
		if err != nil {
			return err
		}
		for i := range block {
			*(*G)(unsafe.Add(dst, off)) = block[i]
			off += stride
		}
		n -= len(block)
	}
	return nil
}

func (c *column[G]) skip(n int) {
	if c.indexed {
		c.at += n
	} else {
		c.plain.skip(n)
	}
}

// fixed decodes values of a fixed width: P is the physical type, and conv makes fields of them.
type fixed[P, G any] struct {
	conv    func(dst []G, src []P) error // nil when P and G are represented alike
	vals    []P
	at      int
	scratch []byte
}

func (f *fixed[P, G]) load(enc format.Encoding, body []byte, n int) error {
	size := int(unsafe.Sizeof(*new(P)))
	f.at = 0
	if n == 0 {
		f.vals = nil // there may not be a byte to point to
		return nil
	}
	switch enc {
	case format.Plain:
		if len(body) < n*size {
			return fmt.Errorf("damaged: %d bytes for %d values of %d", len(body), n, size)
		}
	case format.ByteStreamSplit:
		if len(body) != n*size || (size != 4 && size != 8) {
			return fmt.Errorf("damaged: %d bytes for %d values of %d", len(body), n, size)
		}
		f.scratch = resize(f.scratch, len(body))
		unsplit(f.scratch, body, size)
		body = f.scratch
	case format.DeltaBinaryPacked:
		var err error
		if body, err = f.delta(body, n, size); err != nil {
			return err
		}
	default:
		return errEncoding(enc)
	}
	f.vals = unsafe.Slice((*P)(unsafe.Pointer(unsafe.SliceData(body))), n)
	return nil
}

func (f *fixed[P, G]) delta(body []byte, n, size int) ([]byte, error) {
	used, err := checkDelta(body, n)
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	f.scratch = resize(f.scratch, n*size)
	room := unsafe.Pointer(unsafe.SliceData(f.scratch))
	got := 0
	switch size {
	case 4:
		var out []int32
		out, err = parquet.DeltaBinaryPacked.DecodeInt32(unsafe.Slice((*int32)(room), n), body[:used])
		got, room = len(out), unsafe.Pointer(unsafe.SliceData(out))
	case 8:
		var out []int64
		out, err = parquet.DeltaBinaryPacked.DecodeInt64(unsafe.Slice((*int64)(room), n), body[:used])
		got, room = len(out), unsafe.Pointer(unsafe.SliceData(out))
	default:
		return nil, errEncoding(format.DeltaBinaryPacked)
	}
	if err == nil && got < n {
		err = errRunsShort
	}
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return unsafe.Slice((*byte)(room), n*size), nil
}

func (f *fixed[P, G]) take(n int, buf []G) ([]G, error) {
	src := f.vals[f.at : f.at+n]
	f.at += n
	if f.conv == nil {
		return unsafe.Slice((*G)(unsafe.Pointer(unsafe.SliceData(src))), n), nil
	}
	return buf[:n], f.conv(buf[:n], src)
}

func (f *fixed[P, G]) skip(n int) { f.at += n }

// unsplit undoes BYTE_STREAM_SPLIT: the first bytes of all values, then the second, …
func unsplit(dst, src []byte, size int) {
	n := len(src) / size
	for k := range size {
		for i, b := range src[k*n : (k+1)*n] {
			dst[i*size+k] = b
		}
	}
}

func errEncoding(enc format.Encoding) error {
	return fmt.Errorf("encoding %s is not supported for a column of this type", enc)
}

// flags decodes booleans, of a bit each.
type flags struct {
	bits    []byte
	at, n   int
	scratch []byte
}

func (f *flags) load(enc format.Encoding, body []byte, n int) error {
	f.at, f.n = 0, n
	switch enc {
	case format.Plain:
		f.bits = body
	case format.RLE:
		if len(body) < 4 {
			return fmt.Errorf("damaged: %w", errRunsShort)
		}
		r, err := checkRuns(body[4:], 1, n)
		if err != nil {
			return fmt.Errorf("damaged: %w", err)
		}
		if f.bits, err = unrunBits(f.scratch, body[4:4+r.used], n); err != nil {
			return err
		}
		f.scratch = f.bits
	default:
		return errEncoding(enc)
	}
	if len(f.bits)*8 < n {
		return fmt.Errorf("damaged: %d bytes for %d bits", len(f.bits), n)
	}
	return nil
}

// unrunBits expands runs of single bits that checkRuns has seen. The library's decoder takes a
// run's length for a multiple of eight, which other writers do not keep to.
func unrunBits(dst, src []byte, n int) ([]byte, error) {
	dst = resize(dst, (n+runSlack)/8+1)
	clear(dst)
	at := 0
	for i := 0; i < len(src); {
		header, k := binary.Uvarint(src[i:])
		i += k
		count := int(header >> 1)
		if header&1 != 0 {
			for _, b := range src[i : i+count] {
				dst[at/8] |= b << (at % 8)
				if at%8 != 0 {
					dst[at/8+1] |= b >> (8 - at%8)
				}
				at += 8
			}
			i += count
			continue
		}
		if src[i]&1 != 0 {
			for j := at; j < at+count; j++ {
				dst[j/8] |= 1 << (j % 8)
			}
		}
		at += count
		i++
	}
	if at < n {
		return dst, fmt.Errorf("damaged: %w", errRunsShort)
	}
	return dst, nil
}

func (f *flags) take(n int, buf []bool) ([]bool, error) {
	for i := range buf[:n] {
		at := f.at + i
		buf[i] = f.bits[at>>3]>>(at&7)&1 != 0
	}
	f.at += n
	return buf[:n], nil
}

func (f *flags) skip(n int) { f.at += n }
