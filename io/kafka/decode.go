package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/goccy/go-json"
)

// ErrTombstone is why [JSON], [String] and [Bytes] refuse a record whose value is null.
var ErrTombstone = errors.New("the value is null (a tombstone) and means that its key was deleted; decode with kafka.MessageOf to see tombstones")

// JSON decodes the value as JSON. A null value is refused with [ErrTombstone]
// before it is decoded, zero bytes and anything behind the JSON text are errors,
// and the JSON text null gives the zero T, as encoding/json has it. If T is a
// [Message], its Value is what is decoded, and tombstones are shown.
func JSON[T any](r *Record) (T, error) {
	// The decoder needs a T on the heap: one for all records.
	p, ok := r.scratch.(*T)
	if !ok {
		p = new(T)
		r.scratch = p
	}
	var err error
	if m, ok := any(p).(jsonMessage); ok {
		err = m.decodeJSON(r)
	} else {
		err = unmarshal(r, p)
	}
	v := *p
	*p = *new(T) // the next record must not write into what this one points to
	return v, err
}

// unmarshal decodes the value into what p points to. Whatever is wrong with the bytes is an error.
func unmarshal(r *Record, p any) (err error) {
	switch {
	case r.Value == nil:
		return ErrTombstone
	case len(r.Value) == 0:
		return errors.New("decode JSON: the value is empty; want a JSON text")
	}
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("decode JSON: the decoder panicked: %v", x)
		}
	}()
	if err := json.Unmarshal(r.Value, p); err != nil {
		return fmt.Errorf("decode JSON: %w", err)
	}
	return nil
}

// String copies the value. A null value is refused with [ErrTombstone].
func String(r *Record) (string, error) {
	if r.Value == nil {
		return "", ErrTombstone
	}
	return string(r.Value), nil
}

// Bytes copies the value. A null value is refused with [ErrTombstone].
func Bytes(r *Record) ([]byte, error) {
	if r.Value == nil {
		return nil, ErrTombstone
	}
	return clone(r.Value), nil
}

// A Message is a record whole: with key, headers and origin, and with tombstones.
// [MessageOf] decodes it.
type Message[V any] struct {
	Key       []byte // nil if the record has none
	Value     V      // zero for a tombstone
	Tombstone bool   // the value is null: the key was deleted
	Headers   []Header
	Topic     string
	Partition int32
	Offset    int64
	Timestamp time.Time // zero if the record has none
}

// MessageOf returns the decoder of messages whose values decode decodes. It is
// not called for tombstones.
func MessageOf[V any](decode func(*Record) (V, error)) func(*Record) (Message[V], error) {
	return func(r *Record) (m Message[V], err error) {
		if r.Value == nil {
			m.Tombstone = true
		} else if m.Value, err = decode(r); err != nil {
			return m, err
		}
		m.describe(r)
		return m, nil
	}
}

func (m *Message[V]) describe(r *Record) {
	m.Key, m.Headers = clone(r.Key), r.Headers()
	m.Topic, m.Partition, m.Offset, m.Timestamp = r.Topic, r.Partition, r.Offset, r.Time()
}

// jsonMessage is what every *Message is to JSON.
type jsonMessage interface{ decodeJSON(r *Record) error }

func (m *Message[V]) decodeJSON(r *Record) error {
	if m.Tombstone = r.Value == nil; !m.Tombstone {
		if err := unmarshal(r, &m.Value); err != nil {
			return err
		}
	}
	m.describe(r)
	return nil
}

// JSONValue encodes v as JSON, for Sink.Value.
func JSONValue[T any](v T) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T as JSON: %w", v, err)
	}
	return b, nil
}

// StringValue is v's bytes, for Sink.Value.
func StringValue(v string) ([]byte, error) { return []byte(v), nil }

// BytesValue is v itself, for Sink.Value. nil is zero bytes, not a tombstone.
func BytesValue(v []byte) ([]byte, error) {
	if v == nil {
		return []byte{}, nil
	}
	return v, nil
}

// MessageValue is for Sink.Value: it writes tombstones as tombstones and other
// messages' values as encode encodes them.
func MessageValue[V any](encode func(V) ([]byte, error)) func(Message[V]) ([]byte, error) {
	return func(m Message[V]) ([]byte, error) {
		if m.Tombstone {
			return nil, nil
		}
		b, err := encode(m.Value)
		if b == nil && err == nil {
			b = []byte{}
		}
		return b, err
	}
}
