// Package show prints values in one canonical way: two values that mean the
// same print the same, so that what is printed can be compared and sorted.
//
// Pointers print what they point to, maps in the order of their keys, groups as
// multisets, times in UTC. A nil slice or map is an empty one, since most coders
// make no difference.
package show

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
)

// Value prints v.
func Value[T any](v T) string {
	p := printer{}
	p.value(reflect.ValueOf(&v).Elem(), 0)
	return p.b.String()
}

// Key returns the canonical form of the key of v, if T is a pair of key and value.
func Key[T any](v T) (key string, ok bool) {
	x := reflect.ValueOf(&v).Elem()
	if shapeOf(x) != coders.ShapeKV {
		return "", false
	}
	p := printer{}
	p.value(x.Field(0), 0)
	return p.b.String(), true
}

// maxDepth ends the printing of values that contain themselves.
const maxDepth = 100

type printer struct{ b strings.Builder }

func shapeOf(v reflect.Value) coders.Shape {
	if v.Kind() != reflect.Struct || !v.CanInterface() {
		return 0
	}
	if s, ok := v.Interface().(coders.Shaper); ok {
		return s.CoderShape()
	}
	return 0
}

func (p *printer) value(v reflect.Value, depth int) {
	if depth > maxDepth {
		p.b.WriteString("…")
		return
	}
	if v.IsValid() && !v.CanInterface() && v.CanAddr() { // an unexported field
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	if p.known(v, depth) {
		return
	}
	switch v.Kind() {
	case reflect.Invalid:
		p.b.WriteString("nil")
	case reflect.Bool:
		p.b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.b.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		p.float(v.Float(), v.Type().Bits())
	case reflect.Complex64, reflect.Complex128:
		p.b.WriteString(strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits()))
	case reflect.String:
		p.b.WriteString(strconv.Quote(v.String()))
	case reflect.Pointer, reflect.Interface:
		p.pointer(v, depth)
	case reflect.Slice, reflect.Array:
		p.list(v, depth)
	case reflect.Map:
		p.mapping(v, depth)
	case reflect.Struct:
		p.structure(v, depth)
	default: // channels, functions: equal only to themselves
		fmt.Fprintf(&p.b, "%v(%#x)", v.Type(), v.Pointer())
	}
}

// known prints the types that have a form of their own.
func (p *printer) known(v reflect.Value, depth int) bool {
	if !v.IsValid() || !v.CanInterface() {
		return false
	}
	switch x := v.Interface().(type) {
	case time.Time:
		p.b.WriteString(x.UTC().Format(time.RFC3339Nano))
		return true
	case time.Duration, exec.Time, exec.Window, exec.Kind, exec.Timing:
		fmt.Fprint(&p.b, x)
		return true
	case []byte:
		p.b.WriteString(strconv.Quote(string(x)))
		return true
	}
	switch shapeOf(v) {
	case coders.ShapeKV:
		p.value(v.Field(0), depth+1)
		p.b.WriteString(": ")
		p.value(v.Field(1), depth+1)
		return true
	case coders.ShapeIterable:
		p.group(v.Field(0), depth)
		return true
	}
	return false
}

func (p *printer) float(f float64, bits int) {
	switch {
	case f == 0: // -0 is 0
		p.b.WriteString("0")
	case math.IsNaN(f):
		p.b.WriteString("NaN")
	default:
		p.b.WriteString(strconv.FormatFloat(f, 'g', -1, bits))
	}
}

func (p *printer) pointer(v reflect.Value, depth int) {
	if v.IsNil() {
		p.b.WriteString("nil")
		return
	}
	if v.Kind() == reflect.Interface {
		fmt.Fprintf(&p.b, "%v %s", v.Elem().Type(), p.apart(v.Elem(), depth))
		return
	}
	p.b.WriteByte('&')
	p.value(v.Elem(), depth+1)
}

func (p *printer) list(v reflect.Value, depth int) {
	p.b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			p.b.WriteByte(' ')
		}
		p.value(v.Index(i), depth+1)
	}
	p.b.WriteByte(']')
}

// group prints the elements of a slice in canonical order.
func (p *printer) group(v reflect.Value, depth int) {
	if !v.CanInterface() && v.CanAddr() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	items := make([]string, v.Len())
	for i := range items {
		items[i] = p.apart(v.Index(i), depth)
	}
	slices.Sort(items)
	fmt.Fprintf(&p.b, "{%s}", strings.Join(items, ", "))
}

func (p *printer) mapping(v reflect.Value, depth int) {
	var items []string
	for it := v.MapRange(); it.Next(); {
		items = append(items, p.apart(it.Key(), depth)+": "+p.apart(it.Value(), depth))
	}
	slices.Sort(items)
	fmt.Fprintf(&p.b, "map{%s}", strings.Join(items, ", "))
}

// apart prints v for itself.
func (p *printer) apart(v reflect.Value, depth int) string {
	q := printer{}
	if v.CanInterface() && !v.CanAddr() { // make what it holds reachable
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		v = c
	}
	q.value(v, depth+1)
	return q.b.String()
}

// structure prints the fields by name, or the type's own form if it hides fields and has one.
func (p *printer) structure(v reflect.Value, depth int) {
	t := v.Type()
	if s, ok := stringer(v); ok && hides(t) {
		fmt.Fprintf(&p.b, "%s(%s)", t.Name(), s)
		return
	}
	p.b.WriteString(t.Name() + "{")
	for i := range t.NumField() {
		if i > 0 {
			p.b.WriteByte(' ')
		}
		p.b.WriteString(t.Field(i).Name + ":")
		p.value(v.Field(i), depth+1)
	}
	p.b.WriteByte('}')
}

func stringer(v reflect.Value) (string, bool) {
	if !v.CanInterface() {
		return "", false
	}
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String(), true
	}
	if v.CanAddr() {
		if s, ok := v.Addr().Interface().(fmt.Stringer); ok {
			return s.String(), true
		}
	}
	return "", false
}

func hides(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return true
		}
	}
	return false
}
