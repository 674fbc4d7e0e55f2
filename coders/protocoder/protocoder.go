// Package protocoder encodes protobuf messages as elements of collections. It
// is apart from package coders so that pipelines without messages are built
// without protobuf.
//
// A program registers each message type it uses when it starts, before it
// builds pipelines; from then on coders.For derives types that hold the message:
//
//	func init() {
//		if err := protocoder.Register[*orderpb.Order](); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Encoding
//
// A message is its length, as a variable-length integer, and its wire form:
// beam:coder:length_prefix:v1 around what the protobuf coders of other Beam
// SDKs write. Fields that this version of the message does not know are kept.
// A nil message is an error, except in a field of a struct, where it is null.
//
// Marshaling is deterministic, so one binary writes equal messages alike. But
// protobuf promises that neither across versions of the library nor where
// fields are unknown. A message is therefore never a key: coders.ForKey refuses
// it; take as key the fields that identify it.
package protocoder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/penstock-dev/penstock/coders"
)

// For returns the coder of the message type M, a pointer to a generated struct
// such as *timestamppb.Timestamp.
func For[M proto.Message]() (coders.Coder[M], error) {
	t := reflect.TypeFor[M]()
	typ, err := messageType[M]()
	if err != nil {
		return nil, fmt.Errorf("protocoder: cannot encode %s: %w; name a pointer to a generated message, such as *timestamppb.Timestamp", t, err)
	}
	return coder[M]{typ}, nil
}

// Register makes coders.For use the coder of M wherever an M occurs. Call it
// when the program starts, once for each M, before pipelines are built; too
// late or twice is an error.
func Register[M proto.Message]() error {
	c, err := For[M]()
	if err != nil {
		return err
	}
	return coders.Register(c)
}

// messageType asks a nil M for its type. Only generated messages can tell:
// others, and structs that embed a message, panic or answer for another type.
func messageType[M proto.Message]() (typ protoreflect.MessageType, err error) {
	defer func() {
		if recover() != nil {
			typ, err = nil, errors.New("a nil one does not know its message type")
		}
	}()
	var zero M
	if reflect.TypeFor[M]().Kind() != reflect.Pointer {
		return nil, errors.New("it is not a pointer to a message")
	}
	typ = zero.ProtoReflect().Type()
	if _, ok := typ.New().Interface().(M); !ok {
		return nil, fmt.Errorf("its messages are of type %T", typ.New().Interface())
	}
	return typ, nil
}

type coder[M proto.Message] struct{ typ protoreflect.MessageType }

var (
	marshal   = proto.MarshalOptions{Deterministic: true}
	unmarshal = proto.UnmarshalOptions{NoLazyDecoding: true} // keeps no part of its input
)

func (c coder[M]) Append(dst []byte, m M) ([]byte, error) {
	if !m.ProtoReflect().IsValid() {
		return dst, fmt.Errorf("protocoder: cannot encode %s: the message is nil; leave it out or use an empty one", c.name())
	}
	size := marshal.Size(m)
	head := binary.AppendUvarint(dst, uint64(size))
	out, err := marshal.MarshalAppend(head, m)
	if err != nil {
		return dst, fmt.Errorf("protocoder: cannot encode %s: %w", c.name(), err)
	}
	if len(out)-len(head) != size {
		return dst, fmt.Errorf("protocoder: cannot encode %s: it changed while it was marshaled; do not change elements after they were emitted", c.name())
	}
	return out, nil
}

func (c coder[M]) Decode(src []byte) (m M, rest []byte, err error) {
	n, used := binary.Uvarint(src)
	if used <= 0 || n > uint64(len(src)-used) {
		return m, src, fmt.Errorf("protocoder: cannot decode %s: %d bytes do not hold a length and a message of that length; "+
			"the bytes are damaged or of another type", c.name(), len(src))
	}
	end := used + int(n)
	msg := c.typ.New().Interface().(M)
	if err := unmarshal.Unmarshal(src[used:end], msg); err != nil {
		return m, src, fmt.Errorf("protocoder: cannot decode %s: %w; the bytes are damaged or of another type", c.name(), err)
	}
	return msg, src[end:], nil
}

func (c coder[M]) name() protoreflect.FullName { return c.typ.Descriptor().FullName() }
