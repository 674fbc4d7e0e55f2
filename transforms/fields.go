package transforms

import (
	"reflect"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
)

// A fieldKind is a kind of field that means something to the transform of a
// DoFn: the transform finds such fields while the pipeline is built, and binds
// them in the copy that each worker has.
type fieldKind struct {
	what string       // "an output"
	typ  reflect.Type // interface that a pointer to such a field implements
}

// The kinds of field. A pointer to a field implements at most one of them.
var (
	outputFields = &fieldKind{"an output", reflect.TypeFor[outputField]()}
	sideFields   = &fieldKind{"a side input", reflect.TypeFor[side.Bindable]()}
)

// boundFields is where the fields of each kind are in the struct of a DoFn, in
// the order of their declaration. It is the only reflection over a DoFn's
// fields, and happens while the pipeline is built.
type boundFields map[*fieldKind][]reflect.StructField

// findFields returns the fields of fn that are of the kinds given, and reports
// those that could not be bound.
func findFields(b *pcoll.Builder, fn any, kinds ...*fieldKind) boundFields {
	v := reflect.ValueOf(fn)
	byPointer := v.Kind() == reflect.Pointer
	if byPointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	t, found := v.Type(), boundFields{}
	for _, f := range reflect.VisibleFields(t) {
		for _, k := range kinds {
			pointer := f.Type.Kind() == reflect.Pointer && f.Type.Implements(k.typ)
			if !pointer && !reflect.PointerTo(f.Type).Implements(k.typ) {
				continue
			}
			name := t.String() + "." + f.Name
			switch {
			case pointer:
				b.Errorf("%s is a %v; make the field a %v, not a pointer", name, f.Type, f.Type.Elem())
			case !f.IsExported():
				b.Errorf("%s is %s and must be exported", name, k.what)
			case !byPointer:
				b.Errorf("%s is %s, which cannot be bound in a copy; give %s a pointer, &%v{…}", name, k.what, b.Node().Kind, t)
			case throughPointer(t, f.Index):
				b.Errorf("%s is %s behind an embedded pointer, which workers would share; embed the struct itself", name, k.what)
			default:
				found[k] = append(found[k], f)
			}
		}
	}
	return found
}

// throughPointer reports whether the way to a field leads through a pointer.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// fieldsAt returns the addresses of the fields of kind k in a DoFn's struct.
func fieldsAt[F any](fields boundFields, k *fieldKind, of reflect.Value) (at []F) {
	for _, f := range fields[k] {
		at = append(at, of.FieldByIndex(f.Index).Addr().Interface().(F))
	}
	return at
}
