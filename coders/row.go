package coders

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// A row is the codec of a struct: beam:coder:row:v1.
type row struct {
	fields []rowField
	head   []byte // the header when no field is null: number of fields, empty bitmap
	nulls  bool   // some field may be null
}

type rowField struct {
	c        *codec
	off      uintptr
	nullable bool
	name     string
}

// fieldsOf returns the fields that make the value of a struct: all but blank
// ones. One that could not be read by name is an error, never left out.
func fieldsOf(t reflect.Type) ([]reflect.StructField, error) {
	var out []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		// The exported fields of an embedded unexported struct are promoted.
		if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
			return nil, within("."+f.Name, &unexported{holder: t, field: f})
		}
		out = append(out, f)
	}
	return out, nil
}

// unexported is why a struct has no derived encoding; a marshaler mends it.
type unexported struct {
	holder reflect.Type
	field  reflect.StructField
}

func (e *unexported) Error() string {
	return fmt.Sprintf("unexported field of type %s; export it or implement encoding.BinaryMarshaler and BinaryUnmarshaler on %s",
		fullName(e.field.Type), typeName(e.holder))
}

func (d *deriver) row(t reflect.Type, c *codec) error {
	fields, err := fieldsOf(t)
	if err != nil {
		return err
	}
	r := &row{head: append(binary.AppendUvarint(nil, uint64(len(fields))), 0)}
	c.min = len(r.head)
	for _, f := range fields {
		fc, err := d.derive(f.Type)
		if err != nil {
			return within("."+f.Name, err)
		}
		rf := rowField{c: fc, off: f.Offset, name: f.Name}
		if k := f.Type.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
			rf.nullable, r.nulls = true, true
			if fc.present != nil {
				rf.c = fc.present
			}
		} else {
			c.min += fc.min
		}
		r.fields = append(r.fields, rf)
	}
	c.app, c.dec = r.append, r.decode
	return nil
}

// null reports whether the pointer, slice or map at p is nil: each begins with
// the pointer that says so.
func null(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil }

func (r *row) append(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
	if r.nulls {
		dst = r.appendHead(dst, p)
	} else {
		dst = append(dst, r.head...)
	}
	for i := range r.fields {
		f := &r.fields[i]
		q := unsafe.Add(p, f.off)
		if f.nullable && null(q) {
			continue
		}
		if dst, err = f.c.append(dst, q, depth); err != nil {
			return dst, within("."+f.name, err)
		}
	}
	return dst, nil
}

// appendHead writes the number of fields and the bitmap of nulls, least
// significant bit first, without zero bytes at its end, as Java does.
func (r *row) appendHead(dst []byte, p unsafe.Pointer) []byte {
	last := -1
	for i := range r.fields {
		if f := &r.fields[i]; f.nullable && null(unsafe.Add(p, f.off)) {
			last = i
		}
	}
	if last < 0 {
		return append(dst, r.head...)
	}
	dst = append(dst, r.head[:len(r.head)-1]...)
	size := last/8 + 1
	dst = binary.AppendUvarint(dst, uint64(size))
	at := len(dst)
	for range size {
		dst = append(dst, 0)
	}
	for i := range last + 1 {
		if f := &r.fields[i]; f.nullable && null(unsafe.Add(p, f.off)) {
			dst[at+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

func (r *row) decode(src []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
	bitmap, src, err := r.decodeHead(src)
	if err != nil {
		return nil, err
	}
	for i := range r.fields {
		f := &r.fields[i]
		if i/8 < len(bitmap) && bitmap[i/8]>>(i%8)&1 != 0 {
			if !f.nullable {
				return nil, within("."+f.name, errors.New("null, but the field cannot hold it"))
			}
			continue
		}
		if src, err = f.c.decode(src, unsafe.Add(p, f.off), depth); err != nil {
			return nil, within("."+f.name, err)
		}
	}
	return src, nil
}

func (r *row) decodeHead(src []byte) (bitmap, rest []byte, err error) {
	if n := len(r.head); len(src) >= n && string(src[:n]) == string(r.head) {
		return nil, src[n:], nil
	}
	n, src, err := uvarint(src)
	if err != nil {
		return nil, nil, err
	}
	if n != uint64(len(r.fields)) {
		return nil, nil, fmt.Errorf("a row of %d fields, but the type has %d", n, len(r.fields))
	}
	bitmap, src, err = prefixed(src)
	if err != nil {
		return nil, nil, fmt.Errorf("bitmap of nulls: %w", err)
	}
	for i, b := range bitmap {
		if extra := (i+1)*8 - len(r.fields); extra >= 8 && b != 0 || extra > 0 && extra < 8 && b>>(8-extra) != 0 {
			return nil, nil, errors.New("the bitmap of nulls names fields that the type does not have")
		}
	}
	return bitmap, src, nil
}

// pair is the codec of a KV: its two fields and nothing else.
func (d *deriver) pair(t reflect.Type, c *codec) error {
	if t.NumField() != 2 || !t.Field(0).IsExported() || !t.Field(1).IsExported() {
		return fmt.Errorf("CoderShape says ShapeKV, which needs exactly two exported fields")
	}
	var side [2]rowField
	for i := range side {
		f := t.Field(i)
		fc, err := d.derive(f.Type)
		if err != nil {
			return within("."+f.Name, err)
		}
		side[i] = rowField{c: fc, off: f.Offset, name: f.Name}
		c.min += fc.min
	}
	c.app = func(dst []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
		for i := range side {
			if dst, err = side[i].c.append(dst, unsafe.Add(p, side[i].off), depth); err != nil {
				return dst, within("."+side[i].name, err)
			}
		}
		return dst, nil
	}
	c.dec = func(src []byte, p unsafe.Pointer, depth int) (_ []byte, err error) {
		for i := range side {
			if src, err = side[i].c.decode(src, unsafe.Add(p, side[i].off), depth); err != nil {
				return nil, within("."+side[i].name, err)
			}
		}
		return src, nil
	}
	return nil
}
