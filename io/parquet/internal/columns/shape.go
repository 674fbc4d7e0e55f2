package columns

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shape is the columns that a struct type T stands for. It is made once, where T is known, and
// may be shared.
type Shape[T any] struct {
	fields []*field
	typ    reflect.Type
}

// form is what a field is to Parquet.
type form uint8

const (
	scalar form = iota
	group
	list
)

// field is a field of T, or of a struct within it, or the element of a list.
type field struct {
	goPath string // as in Order.Items[].Price
	column string
	at     []string // path of the column and, last, the field's Go name: how the library addresses tags
	offset uintptr
	typ    reflect.Type // of the value, behind the pointer
	ptr    bool         // the field is a *typ
	form   form
	fields []*field // of a group
	elem   *field   // of a list

	tag      reflect.StructTag
	optional bool // the tag says so
	listTag  bool
	encoded  bool // the tag chooses an encoding
	note     annotation
	unit     unit // of a time; milliseconds unless the tag names one
	scale    int
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// ShapeOf derives the columns of T, which must be a struct. The rules are in the package's
// documentation. All that is wrong is reported at once.
func ShapeOf[T any]() (*Shape[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct || t == timeType {
		return nil, fmt.Errorf("parquet: %s: not a struct; rows are structs whose fields are columns: wrap it in one", t)
	}
	b := &shapeBuilder{}
	s := &Shape[T]{typ: t, fields: b.fields(t, t.Name(), nil)}
	if len(s.fields) == 0 && len(b.errs) == 0 {
		b.fail(t.String(), "it has no exported field, so no column")
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	return s, nil
}

type shapeBuilder struct {
	within []reflect.Type // structs around the field at hand
	errs   []error
}

func (b *shapeBuilder) fail(where, format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf("parquet: field %s: %s", where, fmt.Sprintf(format, args...)))
}

func (b *shapeBuilder) fields(t reflect.Type, path string, at []string) []*field {
	if slices.Contains(b.within, t) {
		b.fail(path, "%s contains itself; columns cannot nest without end: tag it parquet:\"-\"", t)
		return nil
	}
	b.within = append(b.within, t)
	defer func() { b.within = b.within[:len(b.within)-1] }()
	fields := b.collect(t, path, at, 0, nil)
	named := map[string]*field{}
	for _, f := range fields {
		if other := named[f.column]; other != nil {
			b.fail(f.goPath, "column %q is also that of field %s; tag one of them parquet:\"name\"", f.column, other.goPath)
		}
		named[f.column] = f
	}
	return fields
}

// collect appends the fields of t; those of embedded structs stand beside its own.
func (b *shapeBuilder) collect(t reflect.Type, path string, at []string, offset uintptr, fields []*field) []*field {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("parquet")
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" && tag != "-," {
			continue
		}
		where := path + "." + sf.Name
		if sf.Anonymous {
			if sf.Type.Kind() != reflect.Struct {
				b.fail(where, "embedded %s: only structs can be embedded; name the field or tag it parquet:\"-\"", sf.Type)
				continue
			}
			fields = b.collect(sf.Type, where, at, offset+sf.Offset, fields)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		if name == "" {
			name = protoName(sf.Tag)
		}
		if name == "" {
			name = sf.Name
		}
		f := &field{goPath: where, column: name, offset: offset + sf.Offset, tag: sf.Tag,
			at: append(slices.Clone(at), sf.Name)}
		if err := f.options(options); err != nil {
			b.fail(where, "%s", err)
			continue
		}
		if b.resolve(f, sf.Type, append(slices.Clone(at), name)) {
			fields = append(fields, f)
		}
	}
	return fields
}

// protoName returns the column's name in generated protobuf structs, as the library has it.
func protoName(tag reflect.StructTag) string {
	for part := range strings.SplitSeq(tag.Get("protobuf"), ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			return name
		}
	}
	return ""
}

// resolve finds out what a field of type t is.
func (b *shapeBuilder) resolve(f *field, t reflect.Type, at []string) bool {
	if t.Kind() == reflect.Pointer {
		f.ptr = true
		t = t.Elem()
	}
	f.typ = t
	switch {
	case t == timeType || t == durationType || isScalar(t):
		f.form = scalar
		if f.unit == 0 { // as the library has it
			if f.unit = millis; t == durationType {
				f.unit = nanos
			}
		}
	case t.Kind() == reflect.Struct:
		f.form = group
		if f.fields = b.fields(t, f.goPath, at); len(f.fields) == 0 {
			b.fail(f.goPath, "%s has no exported field, so no column; tag it parquet:\"-\"", t)
			return false
		}
	case t.Kind() == reflect.Slice && !f.ptr:
		f.form = list
		f.elem = &field{goPath: f.goPath + "[]", optional: f.optional && !f.listTag}
		if f.listTag {
			at = append(at, "list", "element")
			_, options, _ := strings.Cut(f.tag.Get("parquet-element"), ",")
			if err := f.elem.options(options); err != nil {
				b.fail(f.elem.goPath, "%s", err)
				return false
			}
		} else {
			f.elem.note, f.elem.unit, f.elem.scale = f.note, f.unit, f.scale
		}
		return b.resolve(f.elem, t.Elem(), at)
	case t.Kind() == reflect.Map:
		b.fail(f.goPath, "%s: maps are not supported; use a slice of structs, or tag it parquet:\"-\"", t)
		return false
	default:
		b.fail(f.goPath, "%s has no column type; tag it parquet:\"-\"", t)
		return false
	}
	return true
}

func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Array:
		return t.Elem().Kind() == reflect.Uint8 && t.Len() > 0
	}
	return false
}

// options reads what follows the name in a tag.
func (f *field) options(options string) error {
	for option := range strings.SplitSeq(options, ",") {
		name, args, _ := strings.Cut(strings.TrimSpace(option), "(")
		args = strings.TrimSuffix(args, ")")
		switch name {
		case "optional":
			f.optional = true
		case "list":
			f.listTag = true
		case "date":
			f.note = asDate
		case "timestamp", "time":
			f.note = asTimestamp
			if name == "time" {
				f.note = asTime
			}
			u, _, _ := strings.Cut(args, ":")
			if f.unit = map[string]unit{"millisecond": millis, "microsecond": micros, "nanosecond": nanos}[u]; f.unit == 0 && u != "" {
				return fmt.Errorf("tag %s: unknown unit of time; use millisecond, microsecond or nanosecond", option)
			}
		case "decimal":
			scale, _, _ := strings.Cut(args, ":")
			f.note = asDecimal
			var err error
			if f.scale, err = strconv.Atoi(scale); err != nil {
				return fmt.Errorf("tag %s: it must be decimal(scale:precision)", option)
			}
		case "plain", "dict", "delta", "split":
			f.encoded = true
		case "", "snappy", "gzip", "brotli", "lz4", "zstd", "uncompressed", "id", "enum", "json", "string", "bytes", "uuid", "int", "uint":
		default:
			return fmt.Errorf("tag %s is not supported", option)
		}
	}
	return nil
}

// eachScalar visits the scalars of the fields.
func eachScalar(fields []*field, visit func(*field)) {
	for _, f := range fields {
		for f.form == list {
			f = f.elem
		}
		if f.form == group {
			eachScalar(f.fields, visit)
		} else {
			visit(f)
		}
	}
}
