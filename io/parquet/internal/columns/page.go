package columns

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxPage is the largest page that is read, in bytes when decompressed. Pages are a
	// megabyte by custom.
	maxPage = 1 << 30
	// maxPageEntries bounds the entries of a page: a run of a few bytes can claim any number.
	maxPageEntries = 1 << 27
	// maxHeader is the longest page header, which may hold the least and the greatest value.
	maxHeader   = 16 << 20
	firstHeader = 512
)

// page is a data page made ready: its levels as a byte an entry, its values still encoded.
type page struct {
	enc     format.Encoding
	entries int    // nulls included
	defined int    // values in body
	rep     []byte // nil when nothing repeats
	def     []byte // nil when every entry is defined
	body    []byte
}

// pageReader reads the pages of one column chunk in order. It is the counterpart of the
// library's FilePages; that one allocates whatever a damaged page asks for, and hands out the
// rest of a recycled buffer as values where a page is short.
type pageReader struct {
	src    io.ReaderAt
	off    int64
	end    int64 // no page reaches beyond
	left   int64 // entries in the pages to come
	codec  compress.Codec
	id     format.CompressionCodec
	maxRep uint8
	maxDef uint8

	head    []byte     // read ahead from off
	next    pageHeader // at off, when peeked
	peeked  bool
	headLen int

	stored, body, rep, def []byte // reused from page to page
}

func newPageReader(f *File, group int, leaf *node) *pageReader {
	m := &f.meta.RowGroups[group].Columns[leaf.leaf].MetaData
	return &pageReader{
		src: f.src, off: chunkStart(m), end: f.body, left: m.NumValues,
		codec: parquet.LookupCompressionCodec(m.Codec), id: m.Codec,
		maxRep: leaf.maxRep, maxDef: leaf.maxDef,
	}
}

// peek returns the header of the next page; io.EOF after the last.
func (r *pageReader) peek() (*pageHeader, error) {
	if r.peeked {
		return &r.next, nil
	}
	if r.left == 0 {
		return nil, io.EOF
	}
	for want := int64(firstHeader); ; want *= 4 {
		want = min(want, r.end-r.off, maxHeader)
		r.head = resize(r.head, int(want))
		if err := readFull(r.src, r.head, r.off); err != nil {
			return nil, err
		}
		h, n, err := parsePageHeader(r.head)
		if err == errThriftShort && want < r.end-r.off && want < maxHeader {
			continue
		}
		if err == nil {
			err = r.check(&h, int64(n))
		}
		if err != nil {
			return nil, fmt.Errorf("page at %d: %w", r.off, err)
		}
		r.next, r.headLen, r.peeked = h, n, true
		return &r.next, nil
	}
}

// check compares a header with what the file can hold.
func (r *pageReader) check(h *pageHeader, length int64) error {
	if h.stored < 0 || h.stored > r.end-r.off-length {
		return fmt.Errorf("claims %d bytes, %d are left in the file", h.stored, r.end-r.off-length)
	}
	if h.size < 0 || h.size > maxPage {
		return fmt.Errorf("claims %d bytes when decompressed; at most %d are read", h.size, maxPage)
	}
	switch h.kind {
	case format.IndexPage:
		return nil
	case format.DictionaryPage:
		if !h.described || h.values < 0 || h.values > h.size*8 {
			return fmt.Errorf("claims a dictionary of %d values in %d bytes", h.values, h.size)
		}
		return nil
	case format.DataPage, format.DataPageV2:
	default:
		return fmt.Errorf("unknown kind of page %d", h.kind)
	}
	if !h.described || h.values < 0 || h.values > r.left {
		return fmt.Errorf("claims %d values, %d are left in the column", h.values, r.left)
	}
	if h.values > maxPageEntries {
		return fmt.Errorf("holds %d values; at most %d are read", h.values, maxPageEntries)
	}
	if h.kind == format.DataPageV2 && (h.repLen < 0 || h.defLen < 0 || h.repLen+h.defLen > h.stored || h.repLen+h.defLen > h.size) {
		return fmt.Errorf("claims levels of %d and %d bytes in a page of %d", h.repLen, h.defLen, h.stored)
	}
	return nil
}

// pass goes on to the page after the peeked one.
func (r *pageReader) pass() {
	if r.next.kind != format.DictionaryPage && r.next.kind != format.IndexPage {
		r.left -= r.next.values
	}
	r.off += int64(r.headLen) + r.next.stored
	r.peeked = false
}

// fetch reads the bytes of the peeked page and verifies their checksum where there is one.
func (r *pageReader) fetch() ([]byte, error) {
	h := &r.next
	r.stored = resize(r.stored, int(h.stored))
	n := copy(r.stored, r.head[r.headLen:])
	if n < len(r.stored) {
		if err := readFull(r.src, r.stored[n:], r.off+int64(r.headLen)+int64(n)); err != nil {
			return nil, err
		}
	}
	if h.hasCRC {
		if sum := crc32.ChecksumIEEE(r.stored); sum != h.crc {
			return nil, fmt.Errorf("page at %d: damaged: checksum %#08x, header says %#08x", r.off, sum, h.crc)
		}
	}
	return r.stored, nil
}

// dictionary decodes the peeked dictionary page: its values, PLAIN, and their number.
func (r *pageReader) dictionary() (body []byte, n int, err error) {
	stored, err := r.fetch()
	if err != nil {
		return nil, 0, err
	}
	h := &r.next
	//lint:ignore SA1019 files written before it was deprecated have it
	if h.enc != format.Plain && h.enc != format.PlainDictionary {
		return nil, 0, fmt.Errorf("page at %d: a dictionary encoded as %s", r.off, h.enc)
	}
	if body, err = r.decompress(stored, int(h.size)); err != nil {
		return nil, 0, fmt.Errorf("page at %d: %w", r.off, err)
	}
	return body, int(h.values), nil
}

// data decodes the peeked data page. What it returns is valid until the next call.
func (r *pageReader) data() (p page, err error) {
	stored, err := r.fetch()
	if err != nil {
		return p, err
	}
	h := &r.next
	p = page{enc: h.enc, entries: int(h.values)}
	if h.kind == format.DataPage {
		err = r.dataV1(&p, stored)
	} else {
		err = r.dataV2(&p, stored)
	}
	if err != nil {
		return p, fmt.Errorf("page at %d: %w", r.off, err)
	}
	p.defined = p.entries
	if p.def != nil {
		if p.defined = bytes.Count(p.def, []byte{r.maxDef}); p.defined == p.entries {
			p.def = nil
		}
	}
	return p, nil
}

func (r *pageReader) dataV1(p *page, stored []byte) error {
	body, err := r.decompress(stored, int(r.next.size))
	if err != nil {
		return err
	}
	if r.maxRep > 0 {
		if r.rep, body, err = levelsV1(r.rep, body, r.next.repEnc, r.maxRep, p.entries); err != nil {
			return fmt.Errorf("repetition levels: %w", err)
		}
		p.rep = r.rep
	}
	if r.maxDef > 0 {
		if r.def, body, err = levelsV1(r.def, body, r.next.defEnc, r.maxDef, p.entries); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
		p.def = r.def
	}
	p.body = body
	return nil
}

// dataV2 differs: levels come first and are not compressed, and their lengths stand in the header.
func (r *pageReader) dataV2(p *page, stored []byte) (err error) {
	h := &r.next
	levels := h.repLen + h.defLen
	if r.maxRep > 0 {
		if r.rep, err = levels8(r.rep, stored[:h.repLen], r.maxRep, p.entries); err != nil {
			return fmt.Errorf("repetition levels: %w", err)
		}
		p.rep = r.rep
	}
	if r.maxDef > 0 {
		if r.def, err = levels8(r.def, stored[h.repLen:levels], r.maxDef, p.entries); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
		p.def = r.def
	}
	p.body = stored[levels:]
	if !h.raw {
		p.body, err = r.decompress(p.body, int(h.size-levels))
	}
	return err
}

// levelsV1 decodes the levels at the start of a v1 page's body and returns what follows them.
func levelsV1(dst, body []byte, enc format.Encoding, top uint8, n int) (levels, rest []byte, err error) {
	if enc != format.RLE {
		return dst, nil, fmt.Errorf("encoding %s is not supported", enc)
	}
	if len(body) < 4 {
		return dst, nil, errRunsShort
	}
	length := int64(binary.LittleEndian.Uint32(body))
	body = body[4:]
	if length > int64(len(body)) {
		return dst, nil, errRunsShort
	}
	levels, err = levels8(dst, body[:length], top, n)
	return levels, body[length:], err
}

// levels8 decodes n levels, at most top each.
func levels8(dst, src []byte, top uint8, n int) ([]byte, error) {
	width := uint(bits.Len8(top))
	r, err := checkRuns(src, width, n)
	if err != nil {
		return dst, err
	}
	if r.count < n {
		return dst, fmt.Errorf("%d of %d: %w", r.count, n, errRunsShort)
	}
	dst, err = (&rle.Encoding{BitWidth: int(width)}).DecodeLevels(resize(dst, r.count), src[:r.used])
	if err != nil {
		return dst, err
	}
	dst = dst[:n]
	if top&(top+1) != 0 { // the width allows more than top
		for _, level := range dst {
			if level > top {
				return dst, fmt.Errorf("level %d where the schema allows %d", level, top)
			}
		}
	}
	return dst, nil
}

var errSize = errors.New("damaged: it does not decompress to the size in its header")

// decompress returns the size bytes that src stands for, in a buffer of the reader.
func (r *pageReader) decompress(src []byte, size int) ([]byte, error) {
	if r.id == format.Uncompressed {
		if len(src) != size {
			return nil, fmt.Errorf("damaged: %d bytes stored for %d, without compression", len(src), size)
		}
		return src, nil
	}
	if size == 0 {
		return nil, nil
	}
	// How much a byte can stand for, at most. It keeps a damaged size from being allocated.
	bound := 64<<10 + 256*len(src)
	switch r.id {
	case format.Snappy:
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(size) || size > bound {
			return nil, errSize // the codec would allocate what its own header says
		}
	case format.Lz4Raw:
		if size > bound {
			return nil, errSize
		}
		r.body = resize(r.body, size)
		return r.body, decodeLZ4(r.body, src)
	case format.Zstd:
		if n, ok := zstdSize(src); ok && n > uint64(size) {
			return nil, errSize
		}
	}
	// Short of size only where the data is very regular; then the codec lets it grow.
	out, err := r.codec.Decode(resize(r.body, min(size, bound)), src)
	if err != nil {
		return nil, fmt.Errorf("damaged: %s: %w", r.codec, err)
	}
	if r.body = out; len(out) != size {
		return nil, errSize
	}
	return out, nil
}

// zstdSize returns the size that a zstd frame says its content has, if it says so (RFC 8878,
// section 3.1.1.1). The codec allocates it at once.
func zstdSize(src []byte) (uint64, bool) {
	if len(src) < 5 || binary.LittleEndian.Uint32(src) != 0xFD2FB528 {
		return 0, false
	}
	flags := src[4]
	single := flags>>5&1 == 1
	at := 5 + []int{0, 1, 2, 4}[flags&3] // after the dictionary's id
	if !single {
		at++ // and the window's descriptor
	}
	size := 1 << (flags >> 6)
	if size == 1 && !single {
		return 0, false
	}
	if len(src) < at+size {
		return 0, false
	}
	var word [8]byte
	copy(word[:], src[at:at+size])
	n := binary.LittleEndian.Uint64(word[:])
	if size == 2 {
		n += 256
	}
	return n, true
}
