package coders

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

// ForKey returns what keyed operators need of K: coder, hash and normal form.
//
// K is made of bools, integers, strings, time.Time, and arrays and structs of
// them. Floats, complex numbers, pointers, interfaces and channels have no
// canonical encoding, nor have types with a registered coder or none but their
// own MarshalBinary: they, and types that hold them, are an error that names
// the path to the part at fault and what to use in its place.
func ForKey[K comparable]() (*Key[K], error) {
	t := reflect.TypeFor[K]()
	part, err := keyPartOf(t)
	if err != nil {
		return nil, report("cannot use as a key", typeName(t), "", err)
	}
	coder, err := For[K]()
	if err != nil {
		return nil, err
	}
	k := &Key[K]{Coder: coder, Hash: hasherOf[K](t, &part)}
	if norm := part.normalize; norm != nil {
		k.Normalize = func(k K) K {
			norm(noescape(unsafe.Pointer(&k)))
			return k
		}
	}
	return k, nil
}

// hasherOf returns the hash of part as a function of K; for the kinds that keys
// most often are, one without a further call.
func hasherOf[K comparable](t reflect.Type, part *keyPart) func(K) uint64 {
	switch t.Kind() {
	case reflect.String:
		return func(k K) uint64 { return hashString(*(*string)(unsafe.Pointer(&k))) }
	case reflect.Int64, reflect.Uint64:
		return func(k K) uint64 { return hashWord(*(*uint64)(unsafe.Pointer(&k))) }
	case reflect.Int:
		return func(k K) uint64 { return hashWord(uint64(*(*int)(unsafe.Pointer(&k)))) }
	case reflect.Uint:
		return func(k K) uint64 { return hashWord(uint64(*(*uint)(unsafe.Pointer(&k)))) }
	case reflect.Int32:
		return func(k K) uint64 { return hashWord(uint64(*(*int32)(unsafe.Pointer(&k)))) }
	case reflect.Uint32:
		return func(k K) uint64 { return hashWord(uint64(*(*uint32)(unsafe.Pointer(&k)))) }
	}
	if isByteArray(t) {
		n := t.Len()
		return func(k K) uint64 { return hashBytes(unsafe.Pointer(&k), n) }
	}
	return func(k K) uint64 { return part.hashAt(noescape(unsafe.Pointer(&k))) }
}

// A keyPart hashes and normalizes a key, or a part of one, where it lies.
type keyPart struct {
	kind      reflect.Kind                // of an integer, a bool or a string; else Invalid, and hash is set
	hash      func(unsafe.Pointer) uint64 // of what is neither
	normalize func(unsafe.Pointer)        // nil when there is nothing to do
	off       uintptr                     // in the whole
}

// hashAt is the hash of the value at p. The kinds of most keys go through no
// function value.
func (k *keyPart) hashAt(p unsafe.Pointer) uint64 {
	switch k.kind {
	case reflect.String:
		return hashString(*(*string)(p))
	case reflect.Int64, reflect.Uint64:
		return hashWord(*(*uint64)(p))
	case reflect.Int:
		return hashWord(uint64(*(*int)(p)))
	case reflect.Uint:
		return hashWord(uint64(*(*uint)(p)))
	case reflect.Int32:
		return hashWord(uint64(*(*int32)(p)))
	case reflect.Uint32:
		return hashWord(uint64(*(*uint32)(p)))
	case reflect.Int16:
		return hashWord(uint64(*(*int16)(p)))
	case reflect.Uint16:
		return hashWord(uint64(*(*uint16)(p)))
	case reflect.Int8:
		return hashWord(uint64(*(*int8)(p)))
	case reflect.Uint8, reflect.Bool: // a Go bool is the byte 0 or 1
		return hashWord(uint64(*(*uint8)(p)))
	}
	return k.hash(p)
}

func keyPartOf(t reflect.Type) (keyPart, error) {
	if isRegistered(t) {
		return keyPart{}, fmt.Errorf("%s has a registered coder, and nothing says that equal values give equal bytes; "+
			"use the fields that identify it, or their encoding as a string", fullName(t))
	}
	if t == timeType {
		return keyPart{hash: hashTime, normalize: normalizeTime}, nil
	}
	switch t.Kind() {
	case reflect.Array:
		return arrayKey(t)
	case reflect.Struct:
		return structKey(t)
	case reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return keyPart{kind: t.Kind()}, nil
	}
	return keyPart{}, notCanonical(t)
}

func notCanonical(t reflect.Type) error {
	name := fullName(t)
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%s has no canonical encoding (0 and -0 are equal, NaN is not equal to itself); "+
			"use an integer, such as a number of cents, or a string", name)
	case reflect.Pointer:
		return fmt.Errorf("%s has no canonical encoding (pointers are equal by address, not by content); "+
			"use the value, or the fields that identify it", name)
	case reflect.Interface:
		return fmt.Errorf("%s has no canonical encoding (what an interface holds is not known); use a concrete type", name)
	case reflect.Chan, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%s has no canonical encoding (an address means nothing in another process); leave it out of the key", name)
	}
	return fmt.Errorf("%s is not comparable; use a string or an array", name)
}

func hashTime(p unsafe.Pointer) uint64 {
	t := (*time.Time)(p)
	h := combine(noParts, hashWord(uint64(t.Unix())))
	return combine(h, hashWord(uint64(t.Nanosecond())))
}

// normalizeTime leaves the instant: UTC also strips the monotonic clock
// reading and with it the second form of the wall clock.
func normalizeTime(p unsafe.Pointer) {
	t := (*time.Time)(p)
	*t = t.UTC()
}

func isByteArray(t reflect.Type) bool {
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8
}

func arrayKey(t reflect.Type) (keyPart, error) {
	elem, err := keyPartOf(t.Elem())
	if err != nil {
		return keyPart{}, within("[]", err)
	}
	n, size := t.Len(), t.Elem().Size()
	if isByteArray(t) {
		return keyPart{hash: func(p unsafe.Pointer) uint64 { return hashBytes(p, n) }}, nil
	}
	part := keyPart{hash: func(p unsafe.Pointer) uint64 {
		h := noParts
		for i := range n {
			h = combine(h, elem.hashAt(unsafe.Add(p, uintptr(i)*size)))
		}
		return h
	}}
	if elem.normalize != nil {
		part.normalize = func(p unsafe.Pointer) {
			for i := range n {
				elem.normalize(unsafe.Add(p, uintptr(i)*size))
			}
		}
	}
	return part, nil
}

func structKey(t reflect.Type) (keyPart, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		if marshals(t) {
			err = fmt.Errorf("%s is encoded by its MarshalBinary, and nothing says that equal values give equal bytes; "+
				"use a string or an array of bytes made from it", fullName(t))
		}
		return keyPart{}, err
	}
	parts := make([]keyPart, len(fields))
	var normal []keyPart
	for i, f := range fields {
		if parts[i], err = keyPartOf(f.Type); err != nil {
			return keyPart{}, within("."+f.Name, err)
		}
		parts[i].off = f.Offset
		if parts[i].normalize != nil {
			normal = append(normal, parts[i])
		}
	}
	part := keyPart{hash: func(p unsafe.Pointer) uint64 {
		h := noParts
		for i := range parts {
			h = combine(h, parts[i].hashAt(unsafe.Add(p, parts[i].off)))
		}
		return h
	}}
	if normal != nil {
		part.normalize = func(p unsafe.Pointer) {
			for _, n := range normal {
				n.normalize(unsafe.Add(p, n.off))
			}
		}
	}
	return part, nil
}
