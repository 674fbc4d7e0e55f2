package kafka

import (
	"iter"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
)

// A Header is a named value that a record carries. A nil Value is Kafka's null.
type Header = connector.Header

// A Record is what a decoder gets: a view that is valid for the call. Copy what
// is kept of Key, Value and Headers; [String], [Bytes] and [MessageOf] do.
type Record struct {
	// Key and Value. nil is Kafka's null (a nil Value is a tombstone), an empty slice is zero bytes.
	Key, Value []byte
	// Topic, Partition and Offset say where the record is.
	Topic     string
	Partition int32
	Offset    int64
	// Timestamp in milliseconds since 1970: the producer's, or the broker's under
	// LogAppendTime; negative if the producer gave none.
	Timestamp int64

	headers kafkawire.Headers
	scratch any // of the decoder, kept from record to record
}

// Tombstone reports whether the value is null.
func (r *Record) Tombstone() bool { return r.Value == nil }

// Time returns the timestamp, zero if the record has none.
func (r *Record) Time() time.Time {
	if r.Timestamp < 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.Timestamp)
}

// Header returns the value of the last header of a name, which is the one that
// counts in Kafka, as a view valid for the call.
func (r *Record) Header(name string) (value []byte, ok bool) {
	for k, v := range r.headers.All() {
		if string(k) == name {
			value, ok = v, true
		}
	}
	return value, ok
}

// AllHeaders gives names and values in order, as views valid for the call.
func (r *Record) AllHeaders() iter.Seq2[[]byte, []byte] { return r.headers.All() }

// Headers copies the headers; nil if there are none.
func (r *Record) Headers() []Header {
	if r.headers.Len() == 0 {
		return nil
	}
	out := make([]Header, 0, r.headers.Len())
	for k, v := range r.headers.All() {
		out = append(out, Header{Name: string(k), Value: clone(v)})
	}
	return out
}

// clone copies b, keeping null and empty apart.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}
