package kafkawire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression is a codec of record batches, by its number in the protocol.
type Compression int8

// The codecs of the protocol.
const (
	None   Compression = 0
	Gzip   Compression = 1
	Snappy Compression = 2
	LZ4    Compression = 3
	Zstd   Compression = 4
)

// String is Kafka's name for the codec.
func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("compression %d", int8(c))
}

// Limits bounds what is believed of lengths in the data.
type Limits struct {
	// MaxBatchBytes is the largest batch, as stored. Default 128 MiB; Kafka's own default is 1 MiB (message.max.bytes).
	MaxBatchBytes int
	// MaxDecompressedBytes is the largest batch after decompression. Default 256 MiB.
	MaxDecompressedBytes int
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.MaxBatchBytes, 128<<20)
	orDefault(&l.MaxDecompressedBytes, 256<<20)
	return l
}

// keptScratch is the largest scratch buffer that is kept for the next batch.
const keptScratch = 8 << 20

// Decoder holds what BatchReaders share: decompressors and scratch buffers. It and its readers belong to one goroutine at a time, so a
// worker that reads many partitions makes one. Readers need a scratch buffer only while they are inside a compressed batch.
type Decoder struct {
	limits  Limits
	scratch [][]byte
	source  bytes.Reader
	gzip    *gzip.Reader
	lz4     *lz4.Reader
	zstd    *zstd.Decoder
}

// NewDecoder makes a Decoder.
func NewDecoder(limits Limits) *Decoder { return &Decoder{limits: limits.withDefaults()} }

func (d *Decoder) takeScratch() []byte {
	if n := len(d.scratch); n > 0 {
		b := d.scratch[n-1]
		d.scratch = d.scratch[:n-1]
		return b[:0]
	}
	return make([]byte, 0, 64<<10)
}

func (d *Decoder) putScratch(b []byte) {
	if cap(b) <= keptScratch && len(d.scratch) < 16 {
		d.scratch = append(d.scratch, b)
	}
}

var errTooLarge = errors.New("more decompressed bytes than MaxDecompressedBytes allows")

// decompress appends the decompressed src to dst, which is empty and reused.
func (d *Decoder) decompress(codec Compression, dst, src []byte) ([]byte, error) {
	switch codec {
	case Gzip:
		return d.gunzip(dst, src)
	case Snappy:
		return d.unsnappy(dst, src)
	case LZ4:
		return d.unlz4(dst, src)
	case Zstd:
		return d.unzstd(dst, src)
	}
	return dst, errors.New("unknown to this version")
}

func (d *Decoder) gunzip(dst, src []byte) ([]byte, error) {
	d.source.Reset(src)
	if d.gzip == nil {
		r, err := gzip.NewReader(&d.source)
		if err != nil {
			return dst, err
		}
		d.gzip = r
	} else if err := d.gzip.Reset(&d.source); err != nil {
		return dst, err
	}
	return d.readAll(dst, d.gzip)
}

func (d *Decoder) unlz4(dst, src []byte) ([]byte, error) {
	d.source.Reset(src)
	if d.lz4 == nil {
		d.lz4 = lz4.NewReader(&d.source)
	} else {
		d.lz4.Reset(&d.source)
	}
	return d.readAll(dst, d.lz4)
}

// readAll appends r to dst up to the limit.
func (d *Decoder) readAll(dst []byte, r io.Reader) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			if len(dst) > d.limits.MaxDecompressedBytes {
				return dst, errTooLarge
			}
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			if len(dst) > d.limits.MaxDecompressedBytes {
				return dst, errTooLarge
			}
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// The xerial framing of snappy, which Java clients write: a header of 16 bytes, then blocks with a 4-byte length. Other clients write one
// bare block.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

func (d *Decoder) unsnappy(dst, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return d.snappyBlock(dst, src)
	}
	if len(src) < xerialHeader {
		return dst, errors.New("xerial header is cut off")
	}
	for src = src[xerialHeader:]; len(src) > 0; {
		if len(src) < 4 {
			return dst, errors.New("xerial block length is cut off")
		}
		n := int(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > len(src) {
			return dst, fmt.Errorf("xerial block of %d bytes with %d left", n, len(src))
		}
		var err error
		if dst, err = d.snappyBlock(dst, src[:n]); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

func (d *Decoder) snappyBlock(dst, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, err
	}
	if n > d.limits.MaxDecompressedBytes-len(dst) {
		return dst, errTooLarge
	}
	// A snappy element of two bytes or more gives at most 64: a longer claim is refused before memory is taken for it.
	if n > 64*len(src) {
		return dst, fmt.Errorf("%d bytes claimed in a block of %d", n, len(src))
	}
	from := len(dst)
	dst = grow(dst, n)
	out, err := s2.Decode(dst[from:from+n:from+n], src)
	if err != nil {
		return dst[:from], err
	}
	return dst[:from+len(out)], nil
}

// grow makes room for n more bytes; the length stays.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	grown := make([]byte, len(b), max(len(b)+n, 2*cap(b)))
	copy(grown, b)
	return grown
}

func (d *Decoder) unzstd(dst, src []byte) ([]byte, error) {
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(d.limits.MaxDecompressedBytes)))
		if err != nil {
			return dst, err
		}
		d.zstd = z
	}
	// The decoder takes memory for what a frame claims. A block of zstd is at least 4 bytes and gives at most 128 KiB.
	var header zstd.Header
	if err := header.Decode(src); err != nil {
		return dst, err
	}
	if header.HasFCS && header.FrameContentSize > 32<<10*uint64(len(src)) {
		return dst, fmt.Errorf("%d bytes claimed in a frame of %d", header.FrameContentSize, len(src))
	}
	out, err := d.zstd.DecodeAll(src, dst)
	if err != nil {
		return dst, err
	}
	return out, nil
}
