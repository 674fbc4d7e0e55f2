package coders

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"
)

var (
	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// marshals reports whether t's author gave it a binary form.
func marshals(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshalerType)
}

// marshaler is the codec of types that cannot be derived but implement
// encoding.BinaryMarshaler: its result as length and bytes.
func (d *deriver) marshaler(t reflect.Type, c *codec) error {
	if !reflect.PointerTo(t).Implements(unmarshalerType) {
		return fmt.Errorf("%s has MarshalBinary but no UnmarshalBinary; implement encoding.BinaryUnmarshaler on *%s", fullName(t), typeName(t))
	}
	if promoted(t, marshalerType) {
		return fmt.Errorf("MarshalBinary may be that of an embedded field of %s and leave out the rest; "+
			"name the field instead of embedding it, or register a coder with coders.Register", typeName(t))
	}
	// The methods are the user's and may keep their receiver: they get a value
	// on the heap, never the one the codec was pointed to.
	*c = codec{min: 1, cyclic: c.cyclic}
	c.app = func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
		v := reflect.New(t)
		v.Elem().Set(reflect.NewAt(t, p).Elem())
		b, err := v.Interface().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			return dst, fmt.Errorf("MarshalBinary: %w", err)
		}
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...), nil
	}
	c.dec = func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
		b, rest, err := prefixed(src)
		if err != nil {
			return nil, err
		}
		v := reflect.New(t)
		if err := unmarshal(v.Interface().(encoding.BinaryUnmarshaler), b); err != nil {
			return nil, fmt.Errorf("UnmarshalBinary: %w", err)
		}
		reflect.NewAt(t, p).Elem().Set(v.Elem())
		return rest, nil
	}
	return nil
}

// unmarshal gives the user's method a copy, which it may keep, and turns a
// panic over damaged bytes into an error.
func unmarshal(v encoding.BinaryUnmarshaler, b []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return v.UnmarshalBinary(append([]byte(nil), b...))
}
