package kafkawire

import (
	"encoding/binary"
	"iter"
)

// Record is one record, as a view into a chunk or a decompression buffer: everything in it is valid until the next call on the BatchReader
// it came from. Copy what is kept.
type Record struct {
	// Offset in the partition.
	Offset int64
	// Timestamp in milliseconds since 1970. Under LogAppendTime the batch's maximum, as Kafka has it; -1 when the producer gave none.
	Timestamp int64
	// Key and Value: nil is Kafka's null (a Value of nil is a tombstone), an empty slice is zero bytes.
	Key, Value []byte
	// Headers in the order the producer gave them.
	Headers Headers
}

// Header is a record's header. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Headers is the undecoded list of a record's headers. It was checked with the record, so that reading it cannot fail.
type Headers struct {
	raw []byte
	n   int
}

// Len is the number of headers.
func (h Headers) Len() int { return h.n }

// All gives keys and values, as views with the record's life.
func (h Headers) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		b := h.raw
		for range h.n {
			var key, value []byte
			key, b = nullableBytes(b)
			value, b = nullableBytes(b)
			if !yield(key, value) {
				return
			}
		}
	}
}

// Append copies the headers behind dst.
func (h Headers) Append(dst []Header) []Header {
	for key, value := range h.All() {
		if value != nil {
			value = append(make([]byte, 0, len(value)), value...)
		}
		dst = append(dst, Header{Key: string(key), Value: value})
	}
	return dst
}

// nullableBytes splits a varint-prefixed field off bytes that checkHeaders has accepted.
func nullableBytes(b []byte) (field, rest []byte) {
	n, k := binary.Varint(b)
	b = b[k:]
	if n < 0 {
		return nil, b
	}
	return b[:n:n], b[n:]
}

// checkHeaders reports whether b is exactly n headers.
func checkHeaders(b []byte, n int) bool {
	for range n {
		for field := range 2 {
			size, k := binary.Varint(b)
			if k <= 0 || size > int64(len(b)-k) || size < -1 || (size < 0 && field == 0) {
				return false
			}
			b = b[k+int(max(size, 0)):]
		}
	}
	return len(b) == 0
}
