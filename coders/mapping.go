package coders

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// A mapping is the codec of maps, as in Beam's rows: a big-endian int32 count,
// then key and value in turn, in the order of the encoded keys.
type mapping struct {
	key, value *codec
	typ        reflect.Type
	self       *codec
}

func (d *deriver) mapping(t reflect.Type, c *codec) error {
	if part := byIdentity(t.Key()); part != nil {
		return within("[key]", fmt.Errorf("a key that holds the %s %s would not be found again after decoding; use a key that is compared by value",
			part.Kind(), fullName(part)))
	}
	key, err := d.derive(t.Key())
	if err != nil {
		return within("[key]", err)
	}
	value, err := d.derive(t.Elem())
	if err != nil {
		return within("[value]", err)
	}
	m := &mapping{key: key, value: value, typ: t, self: c}
	c.nullable = true
	c.min, c.app, c.dec = 4, m.append, m.decode
	return nil
}

// byIdentity returns the part of a map key that == compares by identity.
func byIdentity(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.Interface:
		return t
	case reflect.Array:
		return byIdentity(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			// Unexported ones are the business of the type's marshaler.
			if f := t.Field(i); f.IsExported() {
				if part := byIdentity(f.Type); part != nil {
					return part
				}
			}
		}
	}
	return nil
}

// scratch is where entries are encoded before they are put in order.
type scratch struct {
	buf     []byte
	entries []entry
}

// An entry is buf[begin:mid], its key, and buf[mid:end], its value.
type entry struct{ begin, mid, end int }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (m *mapping) append(dst []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	v := reflect.NewAt(m.typ, p).Elem()
	n := v.Len()
	if n > math.MaxInt32 {
		return dst, tooMany(n)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	if n == 0 {
		return dst, nil
	}
	s := scratches.Get().(*scratch)
	defer func() {
		s.buf, s.entries = s.buf[:0], s.entries[:0]
		scratches.Put(s)
	}()
	if err := m.encodeEntries(s, v, depth); err != nil {
		return dst, err
	}
	keyOf := func(e entry) []byte { return s.buf[e.begin:e.mid] }
	slices.SortFunc(s.entries, func(a, b entry) int { return bytes.Compare(keyOf(a), keyOf(b)) })
	for i, e := range s.entries {
		if i > 0 && bytes.Equal(keyOf(s.entries[i-1]), keyOf(e)) {
			return dst, errors.New("two keys of the map have one encoding, such as equal instants in two time zones; normalize keys before they go in")
		}
		dst = append(dst, s.buf[e.begin:e.end]...)
	}
	return dst, nil
}

func (m *mapping) encodeEntries(s *scratch, v reflect.Value, depth int) (err error) {
	key, value := reflect.New(m.typ.Key()), reflect.New(m.typ.Elem())
	for it := v.MapRange(); it.Next(); {
		key.Elem().SetIterKey(it)
		value.Elem().SetIterValue(it)
		e := entry{begin: len(s.buf)}
		if s.buf, err = m.key.append(s.buf, key.UnsafePointer(), depth); err != nil {
			return within("[key]", err)
		}
		e.mid = len(s.buf)
		if s.buf, err = m.value.append(s.buf, value.UnsafePointer(), depth); err != nil {
			return within(fmt.Sprintf("[%v]", key.Elem()), err)
		}
		e.end = len(s.buf)
		s.entries = append(s.entries, e)
	}
	return nil
}

// decode accepts entries in any order: other SDKs do not sort them.
func (m *mapping) decode(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
	n, src, err := decodeCount(src, m.key.min+m.value.min)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, errors.New("a map of unknown size, which Beam does not have")
	}
	room := n
	if m.self.cyclic {
		room = min(n, 4)
	}
	out := reflect.MakeMapWithSize(m.typ, room)
	key, value := reflect.New(m.typ.Key()), reflect.New(m.typ.Elem())
	for range n {
		key.Elem().SetZero()
		value.Elem().SetZero()
		if src, err = m.key.decode(src, key.UnsafePointer(), depth); err != nil {
			return nil, within("[key]", err)
		}
		if src, err = m.value.decode(src, value.UnsafePointer(), depth); err != nil {
			return nil, within(fmt.Sprintf("[%v]", key.Elem()), err)
		}
		out.SetMapIndex(key.Elem(), value.Elem())
	}
	if out.Len() != n {
		return nil, errors.New("a map has the same key twice")
	}
	reflect.NewAt(m.typ, p).Elem().Set(out)
	return src, nil
}
