package coders

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"
	"unsafe"
)

// For returns the coder of T, derived from its structure as the package
// documentation says, or registered. It is derived once; later calls share it.
//
// A type that cannot be encoded is an error that names the path to the part at
// fault and says how to mend it.
func For[T any]() (Coder[T], error) {
	t := reflect.TypeFor[T]()
	c, err := codecOf(t)
	if err != nil {
		return nil, report("cannot encode", typeName(t), "", err)
	}
	return &derived[T]{c}, nil
}

// derived is the Coder around a codec.
type derived[T any] struct{ c *codec }

func (d *derived[T]) Append(dst []byte, v T) ([]byte, error) {
	out, err := d.c.append(dst, noescape(unsafe.Pointer(&v)), 0)
	if err != nil {
		return dst, report("cannot encode", typeName(reflect.TypeFor[T]()), "", err)
	}
	return out, nil
}

func (d *derived[T]) Decode(src []byte) (v T, rest []byte, err error) {
	rest, err = d.c.decode(src, noescape(unsafe.Pointer(&v)), 0)
	if err != nil {
		var zero T
		const remedy = "the bytes are damaged, or were written for another type or version of it"
		return zero, src, report("cannot decode", typeName(reflect.TypeFor[T]()), remedy, err)
	}
	return v, rest, nil
}

// known holds the codecs of all types met so far, derived and registered.
var known = struct {
	sync.Mutex
	codecs map[reflect.Type]*codec
}{codecs: map[reflect.Type]*codec{}}

func codecOf(t reflect.Type) (*codec, error) {
	known.Lock()
	defer known.Unlock()
	if c := known.codecs[t]; c != nil {
		return c, nil
	}
	d := deriver{known: known.codecs, fresh: map[reflect.Type]*codec{}}
	c, err := d.derive(t)
	if err != nil {
		return nil, err
	}
	for t, c := range d.fresh {
		known.codecs[t] = c
	}
	return c, nil
}

// Register makes For use c wherever a T occurs: at the top, in fields, elements
// and map values. It is for types whose structure cannot be encoded, or not as
// wanted; T may be an interface. Its encoding must take at least one byte and tell its own end.
//
// Call it when the program starts, before pipelines are built: a type that has
// already been derived or registered is refused, because values may have been
// written. Registered types cannot be keys, as nothing says that their
// encodings are canonical.
func Register[T any](c Coder[T]) error {
	t := reflect.TypeFor[T]()
	if c == nil {
		return fmt.Errorf("coders: cannot register %s: the coder is nil", fullName(t))
	}
	known.Lock()
	defer known.Unlock()
	if old := known.codecs[t]; old != nil {
		if old.registered {
			return fmt.Errorf("coders: cannot register %s: it has a coder already; register each type once", fullName(t))
		}
		return fmt.Errorf("coders: cannot register %s: its coder was derived before; register it first thing in main", fullName(t))
	}
	known.codecs[t] = registeredCodec(t, c)
	return nil
}

func registeredCodec[T any](t reflect.Type, c Coder[T]) *codec {
	k := t.Kind()
	return &codec{
		min:        1,
		registered: true,
		nullable:   k == reflect.Pointer || k == reflect.Slice || k == reflect.Map,
		app: func(dst []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			out, err := c.Append(dst, *(*T)(p))
			if err == nil && len(out) <= len(dst) {
				err = fmt.Errorf("the registered coder of %s wrote nothing; an encoding takes at least one byte", fullName(t))
			}
			return out, err
		},
		dec: func(src []byte, p unsafe.Pointer, _ int) ([]byte, error) {
			v, rest, err := c.Decode(src)
			if err != nil {
				return nil, err
			}
			*(*T)(p) = v
			return rest, nil
		},
	}
}

func isRegistered(t reflect.Type) bool {
	known.Lock()
	defer known.Unlock()
	c := known.codecs[t]
	return c != nil && c.registered
}

// A deriver makes the codecs of a type and of all that it is made of.
type deriver struct {
	known map[reflect.Type]*codec
	fresh map[reflect.Type]*codec // made by this derivation, complete or in progress
	order []reflect.Type          // keys of fresh in the order they were begun
	open  []*codec                // in progress, outermost first
}

// derive returns the codec of t. If t is in progress, the result is not
// complete yet, and t and all that is in progress below it are recursive.
func (d *deriver) derive(t reflect.Type) (*codec, error) {
	if c := d.known[t]; c != nil {
		return c, nil
	}
	if c := d.fresh[t]; c != nil {
		for i := len(d.open) - 1; i >= 0; i-- {
			if d.open[i] == c {
				for _, inner := range d.open[i:] {
					inner.cyclic = true
				}
				break
			}
		}
		return c, nil
	}
	c := new(codec)
	begun := len(d.order)
	d.fresh[t] = c
	d.order = append(d.order, t)
	d.open = append(d.open, c)
	c.min = 1 // for those who ask while it is in progress
	err := d.fill(t, c)
	d.open = d.open[:len(d.open)-1]
	if err == nil {
		return c, nil
	}
	// What was made below t may refer to what failed: forget it all.
	for _, inner := range d.order[begun+1:] {
		delete(d.fresh, inner)
	}
	d.order = d.order[:begun+1]
	if marshals(t) {
		if err = d.marshaler(t, c); err == nil {
			return c, nil
		}
	}
	delete(d.fresh, t)
	d.order = d.order[:begun]
	return nil, err
}

var timeType = reflect.TypeFor[time.Time]()

// scalars are the kinds whose codec is an op; the second number is the least
// size of an encoding.
var scalars = map[reflect.Kind]struct {
	op  op
	min int
}{
	reflect.Bool: {opBool, 1},
	reflect.Int8: {opByte, 1}, reflect.Uint8: {opByte, 1},
	reflect.Int16: {op16, 2}, reflect.Uint16: {op16, 2},
	reflect.Int32: {opInt32, 1}, reflect.Uint32: {opUint32, 1},
	reflect.Int64: {op64, 1}, reflect.Uint64: {op64, 1},
	reflect.Int: {opInt, 1}, reflect.Uint: {opUint, 1},
	reflect.Float32: {opFloat32, 4}, reflect.Float64: {opFloat64, 8},
	reflect.String: {opString, 1},
}

func (d *deriver) fill(t reflect.Type, c *codec) error {
	if t == timeType {
		c.op, c.min = opTime, len(timeHead)+2
		return nil
	}
	if s, ok := scalars[t.Kind()]; ok {
		c.op, c.min = s.op, s.min
		return nil
	}
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128:
		complexNumber(t, c)
		return nil
	case reflect.Slice:
		return d.slice(t, c)
	case reflect.Array:
		return d.array(t, c)
	case reflect.Map:
		return d.mapping(t, c)
	case reflect.Pointer:
		return d.pointer(t, c)
	case reflect.Struct:
		return d.structure(t, c)
	}
	return unencodable(t)
}

func (d *deriver) structure(t reflect.Type, c *codec) error {
	if isMessage(t) {
		return fmt.Errorf("protobuf message; hold it by pointer and call protocoder.Register[*%s]() when the program starts", fullName(t))
	}
	c.min = 0 // fields add to it
	shape, err := shapeOf(t)
	switch {
	case err != nil:
	case shape == ShapeKV:
		err = d.pair(t, c)
	case shape == ShapeIterable:
		err = d.iterableStruct(t, c)
	default:
		err = d.row(t, c)
	}
	return err
}

// isMessage reports whether *t is a protobuf message, by the one method that
// only messages have; naming their interface would need protobuf.
func isMessage(t reflect.Type) bool {
	_, ok := reflect.PointerTo(t).MethodByName("ProtoReflect")
	return ok
}

// shapeOf asks a Shaper for its shape; 0 means a row.
func shapeOf(t reflect.Type) (Shape, error) {
	shaper := reflect.TypeFor[Shaper]()
	if !t.Implements(shaper) || promoted(t, shaper) {
		return 0, nil
	}
	switch s := reflect.Zero(t).Interface().(Shaper).CoderShape(); s {
	case ShapeKV, ShapeIterable:
		return s, nil
	default:
		return 0, fmt.Errorf("CoderShape says %d, which is no shape; return ShapeKV or ShapeIterable", s)
	}
}

// promoted reports whether t may have the methods of iface only through an
// embedded field.
func promoted(t, iface reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(iface) || reflect.PointerTo(f.Type).Implements(iface)) {
			return true
		}
	}
	return false
}

func unencodable(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Interface:
		return fmt.Errorf("%s is an interface; name a concrete type or register a coder with coders.Register", fullName(t))
	case reflect.Uintptr, reflect.UnsafePointer:
		return fmt.Errorf("%s is an address, which means nothing in another process; leave it out of the element", fullName(t))
	}
	return fmt.Errorf("%s cannot be encoded; leave it out of the element, or keep it in the function that needs it", fullName(t))
}

// pointer is the codec of pointers: beam:coder:nullable:v1, one byte that says
// whether a value follows.
func (d *deriver) pointer(t reflect.Type, c *codec) error {
	elem, err := d.derive(t.Elem())
	if err != nil {
		return err
	}
	typ := t.Elem()
	value := func(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
		v := reflect.New(typ).UnsafePointer()
		src, err := elem.decode(src, v, depth)
		*(*unsafe.Pointer)(p) = v
		return src, err
	}
	c.nullable = true
	c.present = &codec{
		app: func(dst []byte, p unsafe.Pointer, depth int) ([]byte, error) {
			return elem.append(dst, *(*unsafe.Pointer)(p), depth)
		},
		dec: value,
	}
	c.app = func(dst []byte, p unsafe.Pointer, depth int) ([]byte, error) {
		if null(p) {
			return append(dst, 0), nil
		}
		return elem.append(append(dst, 1), *(*unsafe.Pointer)(p), depth)
	}
	c.dec = func(src []byte, p unsafe.Pointer, depth int) ([]byte, error) {
		if len(src) == 0 {
			return nil, short(1, 0)
		}
		switch src[0] {
		case 0:
			return src[1:], nil
		case 1:
			return value(src[1:], p, depth)
		}
		return nil, errors.New("whether a pointer is nil is said by 0 or 1, got another byte")
	}
	return nil
}
