package kafkawire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// OutRecord is a record to write. The offset is the broker's to give.
type OutRecord struct {
	// Timestamp in milliseconds since 1970.
	Timestamp int64
	// Key and Value: nil is Kafka's null (a nil Value is a tombstone), an empty slice is zero bytes.
	Key, Value []byte
	Headers    []Header
}

// RecordTooLargeError is a record that does not fit into a batch of its own.
type RecordTooLargeError struct {
	Size, Max int // bytes, uncompressed, with the batch's header
}

// Error says which limit to raise.
func (e *RecordTooLargeError) Error() string {
	return fmt.Sprintf("kafkawire: a record takes %d bytes, more than a batch of %d may hold; raise MaxBatchBytes and the topic's "+
		"max.message.bytes, or write smaller records", e.Size, e.Max)
}

// BatchMeta is what the idempotent and the transactional producer put into a batch. The zero value is not valid: without a producer use
// NoProducer.
type BatchMeta struct {
	ProducerID    int64
	ProducerEpoch int16
	Sequence      int32 // of the batch's first record
	Transactional bool
}

// NoProducer marks a batch that the broker does not check for duplicates.
var NoProducer = BatchMeta{ProducerID: -1, ProducerEpoch: -1, Sequence: -1}

// BatchBuilder encodes records into a batch, in a buffer that is reused from batch to batch.
//
// The order of calls: Reset, Append until it says full, Finish.
type BatchBuilder struct {
	max        int
	buf        []byte // header, then records
	compressed []byte // the same, compressed
	n          int32
	firstTime  int64
	maxTime    int64
}

// Reset begins a batch of at most maxBytes, uncompressed and with its header.
func (b *BatchBuilder) Reset(maxBytes int) {
	b.max, b.n = maxBytes, 0
	if cap(b.buf) < batchHeader {
		b.buf = make([]byte, 0, min(maxBytes, 16<<10)+batchHeader)
	}
	b.buf = b.buf[:batchHeader]
}

// Len is the number of records in the batch.
func (b *BatchBuilder) Len() int { return int(b.n) }

// Size is the batch's size so far, uncompressed, in bytes.
func (b *BatchBuilder) Size() int { return len(b.buf) }

// Append adds a record. ok is false when it does not fit any more: finish the batch and append to the next. A record too large for an empty
// batch is a *RecordTooLargeError.
func (b *BatchBuilder) Append(rec *OutRecord) (ok bool, err error) {
	if b.n == 0 {
		b.firstTime, b.maxTime = rec.Timestamp, rec.Timestamp
	}
	timeDelta := rec.Timestamp - b.firstTime
	size := 1 + varintSize(timeDelta) + varintSize(int64(b.n)) + bytesSize(rec.Key) + bytesSize(rec.Value) +
		varintSize(int64(len(rec.Headers)))
	for i := range rec.Headers {
		h := &rec.Headers[i]
		size += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	total := len(b.buf) + varintSize(int64(size)) + size
	if total > b.max || total > math.MaxInt32 {
		if b.n == 0 {
			return false, &RecordTooLargeError{Size: total, Max: b.max}
		}
		return false, nil
	}
	if b.n == math.MaxInt32 {
		return false, nil
	}
	if total > cap(b.buf) {
		b.buf = grow(b.buf, total-len(b.buf))
	}
	out := binary.AppendVarint(b.buf, int64(size))
	out = append(out, 0) // attributes
	out = binary.AppendVarint(out, timeDelta)
	out = binary.AppendVarint(out, int64(b.n))
	out = appendNullable(out, rec.Key)
	out = appendNullable(out, rec.Value)
	out = binary.AppendVarint(out, int64(len(rec.Headers)))
	for i := range rec.Headers {
		h := &rec.Headers[i]
		out = binary.AppendVarint(out, int64(len(h.Key)))
		out = append(out, h.Key...)
		out = appendNullable(out, h.Value)
	}
	b.buf = out
	b.n++
	b.maxTime = max(b.maxTime, rec.Timestamp)
	return true, nil
}

func appendNullable(b, field []byte) []byte {
	if field == nil {
		return append(b, 1) // varint of -1
	}
	b = binary.AppendVarint(b, int64(len(field)))
	return append(b, field...)
}

func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// Finish compresses the records and completes the batch, which must hold at least one record. The bytes are valid until the builder's next
// Reset. c may be nil for no compression. A batch that compression would make larger stays uncompressed.
func (b *BatchBuilder) Finish(meta BatchMeta, c *Compressor) ([]byte, error) {
	if b.n == 0 {
		return nil, errors.New("kafkawire: a batch without records cannot be written")
	}
	out, codec := b.buf, None
	if c != nil && c.codec != None {
		compressed, err := c.compress(b.buf[batchHeader:])
		if err != nil {
			return nil, fmt.Errorf("kafkawire: compressing a batch with %v: %w", c.codec, err)
		}
		if len(compressed) < len(b.buf) {
			b.compressed = append(b.compressed[:0], compressed...)
			out, codec = b.compressed, c.codec
		}
	}
	attributes := uint16(codec)
	if meta.Transactional {
		attributes |= attrTransaction
	}
	binary.BigEndian.PutUint64(out, 0)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-batchPrefix))
	binary.BigEndian.PutUint32(out[12:], math.MaxUint32) // leader epoch: the broker's to fill in
	out[16] = batchFormatMagic
	binary.BigEndian.PutUint16(out[21:], attributes)
	binary.BigEndian.PutUint32(out[23:], uint32(b.n-1))
	binary.BigEndian.PutUint64(out[27:], uint64(b.firstTime))
	binary.BigEndian.PutUint64(out[35:], uint64(b.maxTime))
	binary.BigEndian.PutUint64(out[43:], uint64(meta.ProducerID))
	binary.BigEndian.PutUint16(out[51:], uint16(meta.ProducerEpoch))
	binary.BigEndian.PutUint32(out[53:], uint32(meta.Sequence))
	binary.BigEndian.PutUint32(out[57:], uint32(b.n))
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], castagnoli))
	return out, nil
}

// Compressor compresses batches with one codec, reusing its memory. It belongs to one goroutine at a time.
type Compressor struct {
	codec Compression
	out   bytes.Buffer // header space, then the compressed records
	block []byte
	gzip  *gzip.Writer
	lz4   *lz4.Writer
	zstd  *zstd.Encoder
}

// NewCompressor makes a compressor. Levels are the codecs' defaults, except zstd's, which is its fastest: on short JSON records it is three
// times as fast as the default and compresses no worse.
func NewCompressor(codec Compression) (*Compressor, error) {
	c := &Compressor{codec: codec}
	var err error
	switch codec {
	case None, Snappy:
	case Gzip:
		c.gzip = gzip.NewWriter(&c.out)
	case LZ4:
		// Kafka's reader takes independent blocks of 64 KiB; the batch has its own checksum.
		c.lz4 = lz4.NewWriter(&c.out)
		err = c.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1))
	case Zstd:
		c.zstd, err = zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedFastest))
	default:
		err = fmt.Errorf("kafkawire: %v; use none, gzip, snappy, lz4 or zstd", codec)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

var headerSpace [batchHeader]byte

// compress gives the compressed records behind room for a batch header, valid until the next call.
func (c *Compressor) compress(records []byte) ([]byte, error) {
	c.out.Reset()
	c.out.Write(headerSpace[:])
	switch c.codec {
	case Gzip:
		c.gzip.Reset(&c.out)
		if _, err := c.gzip.Write(records); err != nil {
			return nil, err
		}
		if err := c.gzip.Close(); err != nil {
			return nil, err
		}
	case LZ4:
		c.lz4.Reset(&c.out)
		if _, err := c.lz4.Write(records); err != nil {
			return nil, err
		}
		if err := c.lz4.Close(); err != nil {
			return nil, err
		}
	case Snappy:
		c.snappy(records)
	case Zstd:
		c.block = c.zstd.EncodeAll(records, append(c.block[:0], headerSpace[:]...))
		return c.block, nil
	}
	return c.out.Bytes(), nil
}

// xerialBlock is the size of a block before compression: what the framing's author uses.
const xerialBlock = 32 << 10

// snappy writes the xerial framing, which every client reads.
func (c *Compressor) snappy(records []byte) {
	c.out.Write(xerialMagic)
	c.out.Write([]byte{0, 0, 0, 1, 0, 0, 0, 1}) // version, oldest compatible version
	for len(records) > 0 {
		n := min(len(records), xerialBlock)
		if need := s2.MaxEncodedLen(n); cap(c.block) < need {
			c.block = make([]byte, need)
		}
		block := s2.EncodeSnappy(c.block[:cap(c.block)], records[:n])
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(block)))
		c.out.Write(size[:])
		c.out.Write(block)
		records = records[n:]
	}
}
