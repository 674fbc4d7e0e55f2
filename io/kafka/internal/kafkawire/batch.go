package kafkawire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// Layout of a record batch, format 2 (Kafka 0.11 and later):
//
//	 0 base offset          8    23 last offset delta  4
//	 8 batch length         4    27 base timestamp     8
//	12 leader epoch         4    35 max timestamp      8
//	16 magic                1    43 producer id        8
//	17 CRC-32C of the rest  4    51 producer epoch     2
//	21 attributes           2    53 base sequence      4
//	                             57 number of records  4
//	                             61 records
const (
	batchPrefix      = 12 // base offset and length: what the length does not count
	batchHeader      = 61
	minBatchLength   = batchHeader - batchPrefix
	minRecordLength  = 7 // length, attributes, two deltas, key, value, header count: one byte each
	attrCompression  = 0x07
	attrLogAppend    = 0x08
	attrTransaction  = 0x10
	attrControl      = 0x20
	controlAbort     = 0
	batchFormatMagic = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AbortedTxn is an entry of a fetch response's list of aborted transactions: from FirstOffset the producer's records are aborted, until its
// abort marker.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
}

// batch is the header of a record batch whose bytes are complete.
type batch struct {
	base        int64
	leaderEpoch int32
	magic       int8
	attributes  uint16
	lastDelta   int32
	baseTime    int64
	maxTime     int64
	producerID  int64
	numRecords  int32
	size        int // with the prefix
}

// next is the position behind the batch: offsets that compaction removed from its end belong to it.
func (b *batch) next() int64 { return b.base + int64(b.lastDelta) + 1 }

// peekBatch reads the header of the batch at the start of b. complete is false when b ends inside the batch, which is how the last batch of
// a response usually ends; the header's length is in size if as much was there, 0 if not. reason is not empty when the header cannot be
// one.
func peekBatch(b []byte, maxBytes int) (h batch, complete bool, reason string) {
	if len(b) < batchPrefix {
		return h, false, ""
	}
	h.base = int64(binary.BigEndian.Uint64(b))
	length := int(int32(binary.BigEndian.Uint32(b[8:])))
	if h.base < 0 {
		return h, false, fmt.Sprintf("base offset %d", h.base)
	}
	if len(b) > 16 {
		if h.magic = int8(b[16]); h.magic != batchFormatMagic {
			return h, false, fmt.Sprintf("message format %d, only 2 (Kafka 0.11 and later) is read", h.magic)
		}
	}
	if length < minBatchLength || length > maxBytes {
		return h, false, fmt.Sprintf("length %d is not in [%d,%d]", length, minBatchLength, maxBytes)
	}
	h.size = batchPrefix + length
	if len(b) < h.size {
		return h, false, ""
	}
	h.leaderEpoch = int32(binary.BigEndian.Uint32(b[12:]))
	h.attributes = binary.BigEndian.Uint16(b[21:])
	h.lastDelta = int32(binary.BigEndian.Uint32(b[23:]))
	h.baseTime = int64(binary.BigEndian.Uint64(b[27:]))
	h.maxTime = int64(binary.BigEndian.Uint64(b[35:]))
	h.producerID = int64(binary.BigEndian.Uint64(b[43:]))
	h.numRecords = int32(binary.BigEndian.Uint32(b[57:]))
	if h.lastDelta < 0 || h.base > math.MaxInt64-int64(h.lastDelta)-1 {
		return h, false, fmt.Sprintf("last offset delta %d", h.lastDelta)
	}
	if h.numRecords < 0 || int64(h.numRecords) > int64(h.lastDelta)+1 {
		return h, false, fmt.Sprintf("%d records in %d offsets", h.numRecords, int64(h.lastDelta)+1)
	}
	return h, true, ""
}

// BatchReader turns the bytes of fetched record sets into records, in place: no allocation per record, reused buffers for decompression. It
// belongs to one goroutine.
//
// It skips what a reader at its position and isolation level does not see: records before the position (a batch may begin earlier), control
// batches, and under ReadCommitted the records of aborted transactions; all of them move Position. A last batch that is cut off is normal
// and ends the chunk.
type BatchReader struct {
	dec       *Decoder
	topic     string
	partition int32
	committed bool

	position int64 // where reading goes on
	epoch    int32 // leader epoch of the last batch begun, -1 before the first
	rest     []byte
	first    bool // no batch of the chunk was begun yet

	// The batch being read.
	records   []byte // what is left of its records, uncompressed
	remaining int32  // records left
	base      int64
	lastDelta int64
	prevDelta int64
	baseTime  int64
	logTime   int64 // the timestamp of all records if logAppend
	logAppend bool
	end       int64 // its next()
	scratch   []byte

	aborted   []AbortedTxn       // sorted by first offset
	reached   int                // how many of them have begun
	abortedBy map[int64]struct{} // producers inside an aborted transaction
	failed    error
}

// NewReader makes a reader for one partition. All readers of a Decoder must be used by one goroutine at a time.
func (d *Decoder) NewReader(tp TopicPartition, iso Isolation) *BatchReader {
	return &BatchReader{
		dec: d, topic: tp.Topic, partition: tp.Partition, committed: iso == ReadCommitted, epoch: -1, abortedBy: map[int64]struct{}{},
	}
}

// Reset begins a chunk: records are the bytes of a record set fetched for position, aborted the list that came with it, in any order. Both
// must stay unchanged while the chunk is read.
func (r *BatchReader) Reset(position int64, records []byte, aborted []AbortedTxn) {
	r.endBatch()
	r.position, r.rest, r.first, r.failed = position, records, true, nil
	r.end = position
	// The list covers everything aborted in the chunk, also what began before it: nothing is carried over from the last one.
	clear(r.abortedBy)
	r.reached = 0
	r.aborted = append(r.aborted[:0], aborted...)
	slices.SortFunc(r.aborted, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
}

// Position is the offset to go on from: behind the last record given, and at a batch's end behind the whole batch. It is what to store in a
// checkpoint and to compare with an end offset.
func (r *BatchReader) Position() int64 { return r.position }

// LeaderEpoch is the leader epoch of the batch that Position was read from, -1 before the first. It belongs beside the position in a
// checkpoint, so that a truncated log is noticed on restore.
func (r *BatchReader) LeaderEpoch() int32 { return r.epoch }

// Next reads the next record into rec. ok is false at the end of the chunk. A *MalformedError says where the data is damaged; it is given
// again by every further call.
func (r *BatchReader) Next(rec *Record) (ok bool, err error) {
	for {
		if r.remaining > 0 {
			if reason := r.decode(rec); reason != "" {
				return false, r.fail(r.base, reason)
			}
			if rec.Offset < r.position {
				continue
			}
			if r.position = rec.Offset + 1; r.remaining == 0 {
				r.position = r.end
			}
			return true, nil
		}
		if more, err := r.nextBatch(); err != nil || !more {
			return false, err
		}
	}
}

// decode reads one record of the batch. reason is empty unless it is malformed.
func (r *BatchReader) decode(rec *Record) (reason string) {
	b := r.records
	size, k := varint(b)
	if k <= 0 || size < minRecordLength-1 || size > int64(len(b)-k) {
		return fmt.Sprintf("record length %d with %d bytes left", size, len(b))
	}
	r.records = b[k+int(size):]
	b = b[k : k+int(size) : k+int(size)]
	b = b[1:] // attributes: unused
	timeDelta, k := varint(b)
	if k <= 0 {
		return "timestamp delta"
	}
	b = b[k:]
	offsetDelta, k := varint(b)
	if k <= 0 || offsetDelta <= r.prevDelta || offsetDelta > r.lastDelta {
		return fmt.Sprintf("offset delta %d after %d, last %d", offsetDelta, r.prevDelta, r.lastDelta)
	}
	b = b[k:]
	r.prevDelta = offsetDelta
	n, k := varint(b)
	if k <= 0 || n < -1 || n > int64(len(b)-k) {
		return fmt.Sprintf("key of %d bytes with %d left", n, len(b))
	}
	b = b[k:]
	rec.Key = nil
	if n >= 0 {
		rec.Key = b[:n:n]
		b = b[n:]
	}
	n, k = varint(b)
	if k <= 0 || n < -1 || n > int64(len(b)-k) {
		return fmt.Sprintf("value of %d bytes with %d left", n, len(b))
	}
	b = b[k:]
	rec.Value = nil
	if n >= 0 {
		rec.Value = b[:n:n]
		b = b[n:]
	}
	rec.Headers = Headers{}
	if len(b) != 1 || b[0] != 0 {
		n, k = varint(b)
		if k <= 0 || n < 0 || n > int64(len(b)-k)/2 || !checkHeaders(b[k:], int(n)) {
			return fmt.Sprintf("%d headers in %d bytes", n, len(b))
		}
		rec.Headers = Headers{raw: b[k:], n: int(n)}
	}
	rec.Offset = r.base + offsetDelta
	rec.Timestamp = r.logTime
	if !r.logAppend {
		rec.Timestamp = r.baseTime + timeDelta
	}
	if r.remaining--; r.remaining == 0 && len(r.records) != 0 {
		return fmt.Sprintf("%d bytes behind the last record", len(r.records))
	}
	return ""
}

// varint is binary.Varint with the one- and two-byte cases, which nearly all are, in line.
func varint(b []byte) (int64, int) {
	if len(b) > 1 {
		if c := b[0]; c < 0x80 {
			return int64(c>>1) ^ -int64(c&1), 1
		} else if d := b[1]; d < 0x80 {
			u := uint64(c&0x7f) | uint64(d)<<7
			return int64(u>>1) ^ -int64(u&1), 2
		}
	}
	return binary.Varint(b)
}

// nextBatch ends the batch that was read and begins the next that has something to give. more is false at the end of the chunk.
func (r *BatchReader) nextBatch() (more bool, err error) {
	if r.failed != nil {
		return false, r.failed
	}
	r.endBatch()
	h, complete, reason := peekBatch(r.rest, r.dec.limits.MaxBatchBytes)
	if reason != "" {
		return false, r.fail(r.position, reason)
	}
	if !complete {
		r.rest = nil
		return false, nil
	}
	raw := r.rest[:h.size]
	if sum := crc32.Checksum(raw[21:], castagnoli); sum != binary.BigEndian.Uint32(raw[17:]) {
		return false, r.fail(h.base, fmt.Sprintf("CRC-32C is %08x, the batch says %08x", sum, binary.BigEndian.Uint32(raw[17:])))
	}
	if !r.first && h.base < r.end {
		return false, r.fail(h.base, fmt.Sprintf("it begins before the end %d of the batch before it", r.end))
	}
	r.rest, r.first, r.end, r.epoch = r.rest[h.size:], false, h.next(), h.leaderEpoch
	visible, reason := r.visible(&h, raw)
	if reason != "" {
		return false, r.fail(h.base, reason)
	}
	if !visible || h.next() <= r.position || h.numRecords == 0 {
		return true, nil // the next call of endBatch moves the position behind it
	}
	if reason := r.begin(&h, raw[batchHeader:]); reason != "" {
		return false, r.fail(h.base, reason)
	}
	return true, nil
}

// begin decompresses a batch and makes its records the ones to read.
func (r *BatchReader) begin(h *batch, records []byte) (reason string) {
	if codec := Compression(h.attributes & attrCompression); codec != None {
		r.scratch = r.dec.takeScratch()
		out, err := r.dec.decompress(codec, r.scratch, records)
		if err != nil {
			return fmt.Sprintf("%v: %v", codec, err)
		}
		r.scratch, records = out, out
	}
	if int64(h.numRecords)*minRecordLength > int64(len(records)) {
		return fmt.Sprintf("%d records in %d bytes", h.numRecords, len(records))
	}
	r.records, r.remaining = records, h.numRecords
	r.base, r.lastDelta, r.prevDelta = h.base, int64(h.lastDelta), -1
	r.baseTime, r.logTime, r.logAppend = h.baseTime, h.maxTime, h.attributes&attrLogAppend != 0
	return ""
}

// visible applies the rules of transactions (KIP-98): control batches are never seen; an abort marker ends a producer's aborted
// transaction, a commit marker ends nothing; producers are matched by id alone, since markers may carry a newer epoch (KIP-890).
func (r *BatchReader) visible(h *batch, raw []byte) (visible bool, reason string) {
	for ; r.reached < len(r.aborted) && r.aborted[r.reached].FirstOffset < h.next(); r.reached++ {
		r.abortedBy[r.aborted[r.reached].ProducerID] = struct{}{}
	}
	if h.attributes&attrControl != 0 {
		kind, reason := controlKind(h, raw)
		if reason != "" {
			return false, reason
		}
		if kind == controlAbort {
			delete(r.abortedBy, h.producerID)
		}
		return false, ""
	}
	if r.committed && h.attributes&attrTransaction != 0 {
		_, aborted := r.abortedBy[h.producerID]
		return !aborted, ""
	}
	return true, ""
}

// controlKind reads the type of a control batch's only record: 0 abort, 1 commit, others are the cluster's own. -1: it has no record.
func controlKind(h *batch, raw []byte) (kind int16, reason string) {
	if h.numRecords == 0 {
		return -1, "" // compaction may leave an empty batch
	}
	b := raw[batchHeader:]
	for _, field := range [...]string{"length", "attributes", "timestamp delta", "offset delta", "key length"} {
		if field == "attributes" {
			if len(b) == 0 {
				return 0, "control record without attributes"
			}
			b = b[1:]
			continue
		}
		n, k := varint(b)
		if k <= 0 || (field == "key length" && (n < 4 || n > int64(len(b)-k))) {
			return 0, "control record with a bad " + field
		}
		b = b[k:]
	}
	return int16(binary.BigEndian.Uint16(b[2:])), ""
}

// endBatch leaves the batch under way: the position moves behind it if it was read to its end, its scratch buffer goes back.
func (r *BatchReader) endBatch() {
	if r.remaining == 0 && r.failed == nil {
		r.position = max(r.position, r.end)
	}
	r.records, r.remaining = nil, 0
	if r.scratch != nil {
		r.dec.putScratch(r.scratch)
		r.scratch = nil
	}
}

func (r *BatchReader) fail(offset int64, reason string) error {
	r.failed = &MalformedError{Topic: r.topic, Partition: r.partition, Offset: offset, Reason: reason}
	r.endBatch()
	return r.failed
}
