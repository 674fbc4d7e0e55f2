package columns

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
)

// Plan binds the columns of a file to the fields of T. It is immutable.
type Plan[T any] struct {
	file   *File
	leaves []*binding
	fresh  bool // rows must be zeroed before they are filled
	local  []string
}

// binding is one column on its way into a field.
type binding struct {
	node  *node
	field *field
	make  maker
	steps []step // from the row to the value
	flat  bool   // the steps are one offset
	off   uintptr
	ptr   bool // flat, and the field is a pointer
}

type stepKind uint8

const (
	stepField  stepKind = iota // always there
	stepOption                 // null leaves the zero value, or is an error
	stepPointer
	stepList
)

// step leads from a struct, or an element, one level deeper.
type step struct {
	kind   stepKind
	off    uintptr
	def    uint8 // present from this definition level on
	ok     bool  // of stepOption: null is allowed
	rep    uint8 // of stepList: entries of this repetition level add an element
	empty  uint8 // of stepList: from this definition level on the list is there, though empty
	size   uintptr
	typ    reflect.Type // behind the pointer, or of the slice
	owner  bool         // of stepList: this column makes the elements, others only fill them
	scalar bool         // of stepList: the elements are the values
}

// Bind matches T's fields with f's columns. zone is where timestamps without a zone are; nil
// means that they are read as UTC (see LocalTimes). Everything that does not match is reported.
func Bind[T any](s *Shape[T], f *File, zone *time.Location) (*Plan[T], error) {
	b := &binder{file: f, zone: zone}
	bound := b.fields(s.fields, f.root, nil)
	if bound == 0 && len(b.errs) == 0 {
		b.fail("no field of %s has a column in the file", s.typ)
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	p := &Plan[T]{file: f, leaves: b.leaves, local: b.local}
	covered := uintptr(0)
	for _, l := range b.leaves {
		if l.flatten(); l.flat && !l.ptr && l.node.maxDef == 0 {
			covered += l.field.typ.Size()
		}
	}
	p.fresh = covered < fieldBytes(s.typ)
	return p, nil
}

// fieldBytes returns the size of a struct's fields without padding.
func fieldBytes(t reflect.Type) (n uintptr) {
	if t.Kind() != reflect.Struct || t == timeType {
		return t.Size()
	}
	for i := range t.NumField() {
		n += fieldBytes(t.Field(i).Type)
	}
	return n
}

// LocalTimes returns the columns that are timestamps without a zone: wall clocks. They are fit
// for event times only if a zone was declared.
func (p *Plan[T]) LocalTimes() []string { return slices.Clone(p.local) }

// File returns the file that the plan is for.
func (p *Plan[T]) File() *File { return p.file }

type binder struct {
	file   *File
	zone   *time.Location
	leaves []*binding
	local  []string
	errs   []error
}

func (b *binder) fail(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf("parquet: %s: %s", b.file.name, fmt.Sprintf(format, args...)))
}

// fields binds the fields of a struct to the children of a group. It returns how many are bound.
func (b *binder) fields(fields []*field, g *node, steps []step) int {
	bound := 0
	for _, f := range fields {
		n := child(g, f.column)
		if n == nil {
			if !f.optional {
				b.missing(f, g)
			}
			continue
		}
		if b.value(f, n, slices.Clone(steps), f.offset) {
			bound++
		}
	}
	return bound
}

func child(g *node, name string) *node {
	for _, n := range g.children {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (b *binder) missing(f *field, g *node) {
	where, hint := f.column, ""
	if g.path != "" {
		where = g.path + "." + f.column
	}
	if near := nearest(f.column, g.children); near != "" {
		hint = fmt.Sprintf("; the nearest is %q (names must be equal, case included: tag the field parquet:%q)", near, near)
	}
	b.fail("no column %q for field %s%s; or tag it optional to read it as zero", where, f.goPath, hint)
}

// value binds a field to a node that repeats no more than the field does.
func (b *binder) value(f *field, n *node, steps []step, off uintptr) bool {
	if f.form == list {
		return b.list(f, n, steps, off)
	}
	if n.repeated {
		b.mismatch(f, n, "a slice")
		return false
	}
	s := step{kind: stepField, off: off, def: n.maxDef}
	switch {
	case f.ptr:
		s.kind, s.typ = stepPointer, f.typ
	case n.optional:
		s.kind, s.ok = stepOption, f.optional
	}
	return b.inner(f, n, append(steps, s))
}

// inner binds what is behind the pointer, option or list element.
func (b *binder) inner(f *field, n *node, steps []step) bool {
	if f.form == group {
		if n.leaf >= 0 || n.note == asList || n.note == asMap {
			b.mismatch(f, n, "a group of columns")
			return false
		}
		before := len(b.errs)
		if b.fields(f.fields, n, steps) == 0 {
			if len(b.errs) == before {
				b.fail("no field of %s has a column in group %q", f.goPath, n.path)
			}
			return false
		}
		return true
	}
	if n.leaf < 0 {
		b.mismatch(f, n, goType(f))
		return false
	}
	m, err := bindScalar(n, f, b.zone)
	if err == errType {
		b.mismatch(f, n, goType(f))
		return false
	}
	if err != nil {
		b.fail("column %q: %s", n.path, err)
		return false
	}
	if n.local && n.note == asTimestamp {
		b.local = append(b.local, n.path)
	}
	b.leaves = append(b.leaves, &binding{node: n, field: f, make: m, steps: steps})
	return true
}

// list binds a slice: to a LIST group, in the format's three-level form or the two-level forms
// that older writers use, or to a field that repeats without annotation.
func (b *binder) list(f *field, n *node, steps []step, off uintptr) bool {
	s := step{kind: stepList, off: off, typ: reflect.SliceOf(f.elem.goType()), size: f.elem.goType().Size(), owner: true}
	repeated := n
	if !n.repeated {
		if n.note != asList || len(n.children) != 1 || !n.children[0].repeated {
			b.mismatch(f, n, "a list")
			return false
		}
		if repeated = n.children[0]; n.optional {
			s.empty = n.maxDef
		}
	}
	s.def, s.rep = repeated.maxDef, repeated.maxRep
	elem := repeated
	if !n.repeated && elementIsChild(n, repeated) {
		elem = repeated.children[0]
	}
	first := len(b.leaves)
	if f.elem.form == list && elem == repeated {
		b.mismatch(f.elem, elem, "a list")
		return false
	}
	s.scalar = f.elem.form == scalar && !f.elem.ptr
	ok := false
	if elem == repeated {
		e := step{kind: stepField, def: elem.maxDef}
		if f.elem.ptr {
			e.kind, e.typ = stepPointer, f.elem.typ
		}
		ok = b.inner(f.elem, elem, append(steps, s, e))
	} else {
		ok = b.value(f.elem, elem, append(steps, s), 0)
	}
	for i := first + 1; i < len(b.leaves); i++ {
		b.leaves[i].steps[len(steps)].owner = false
	}
	return ok
}

// elementIsChild tells the three-level form of a list from the two-level ones, by the rules of
// the format's LogicalTypes.md.
func elementIsChild(list, repeated *node) bool {
	return len(repeated.children) == 1 && repeated.name != "array" && repeated.name != list.name+"_tuple"
}

func (f *field) goType() reflect.Type {
	if f.ptr {
		return reflect.PointerTo(f.typ)
	}
	return f.typ
}

func goType(f *field) string {
	t := f.typ.String()
	if f.note == asTimestamp || f.note == asTime {
		t += fmt.Sprintf(" in %s", f.unit)
	}
	return t
}

func (b *binder) mismatch(f *field, n *node, want string) {
	hint := "change the field's type to one that holds every value of the column"
	switch {
	case n.note == asTimestamp:
		hint = fmt.Sprintf("use a time.Time, or an int64 tagged timestamp(%s)", unitNames[n.unit])
	case n.note == asTime:
		hint = "use a time.Duration"
	case n.note == asDate:
		hint = "use a time.Time, or an int32 tagged date"
	case n.note == asDecimal && n.kind != format.ByteArray && n.kind != format.FixedLenByteArray:
		hint = fmt.Sprintf("use an integer tagged decimal(%d:precision)", n.scale)
	case n.note == asMap:
		hint = "maps are not supported"
	}
	b.fail("column %q is %s, field %s wants %s; %s", n.path, n, f.goPath, want, hint)
}

var unitNames = map[unit]string{millis: "millisecond", micros: "microsecond", nanos: "nanosecond"}

// flatten recognises the common case: the value is at a fixed place in the row, and what may be
// missing is the value itself.
func (l *binding) flatten() {
	l.off = 0
	for i, s := range l.steps {
		last := i == len(l.steps)-1
		switch {
		case s.kind == stepField, s.kind == stepOption && last:
		case s.kind == stepPointer && last && l.field.typ.Size() > 0:
			l.ptr = true
		default:
			return
		}
		l.off += s.off
	}
	l.flat = true
}

// nearest returns the name among the nodes that most resembles name, or nothing like it.
func nearest(name string, nodes []*node) string {
	best, least := "", 1+len(name)/2
	for _, n := range nodes {
		d := distance(strings.ToLower(name), strings.ToLower(n.name))
		if d < least {
			best, least = n.name, d
		}
	}
	return best
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	if len(a) > 256 || len(b) > 256 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// sliceHeader is how a slice is represented; stepList grows slices of types known to reflection only.
type sliceHeader struct {
	data unsafe.Pointer
	len  int
	cap  int
}
