package transforms

import (
	"reflect"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
)

// The kinds of field that belong to a key and window, and their tags.
var (
	stateFields = &fieldKind{"state", reflect.TypeFor[state.Field]()}
	timerFields = &fieldKind{"a timer", reflect.TypeFor[timers.Field]()}
)

const (
	stateTag = "state"
	timerTag = "timer"
)

// timerField is a timer of a function.
type timerField struct {
	name  string
	event bool
}

// declareState derives what is needed to store the state fields of fn and
// returns their names.
func declareState(b *pcoll.Builder, fn any, fields boundFields) (names []string) {
	names = named(b, fn, fields, stateFields, stateTag)
	for i, f := range fields[stateFields] {
		field := reflect.ValueOf(fn).Elem().FieldByIndex(f.Index).Addr().Interface().(state.Field)
		if err := state.Declare(field); err != nil {
			b.Errorf("state %q, %s.%s: %w", names[i], structOf(fn), f.Name, err)
		}
	}
	return names
}

// declareTimers returns the timers of fn.
func declareTimers(b *pcoll.Builder, fn any, fields boundFields) (all []timerField) {
	names := named(b, fn, fields, timerFields, timerTag)
	for i, f := range fields[timerFields] {
		event := timers.IsEvent(reflect.New(f.Type).Interface().(timers.Field))
		all = append(all, timerField{names[i], event})
	}
	return all
}

// named returns the names that the fields of a kind are stored under.
func named(b *pcoll.Builder, fn any, fields boundFields, k *fieldKind, tag string) (names []string) {
	first := map[string]string{}
	for _, f := range fields[k] {
		name := f.Tag.Get(tag)
		switch other := first[name]; {
		case name == "":
			b.Errorf("%s.%s is %s without a name to store it under; give the field a tag, such as `%s:%q`", structOf(fn), f.Name, k.what, tag, lower(f.Name))
		case other != "":
			b.Errorf("%s.%s and %s have the same name, `%s:%q`; give each a name of its own", structOf(fn), other, f.Name, tag, name)
		default:
			first[name] = f.Name
		}
		names = append(names, name)
	}
	return names
}

// lower returns a field's name with a small letter first.
func lower(name string) string { return string(name[0]|0x20) + name[1:] }

// checkTags reports tags of fields that they mean nothing for.
func checkTags(b *pcoll.Builder, fn any, fields boundFields) {
	t := structOf(fn)
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		for tag, k := range map[string]*fieldKind{stateTag: stateFields, timerTag: timerFields} {
			if _, ok := f.Tag.Lookup(tag); ok && !k.holds(f.Type) {
				b.Errorf("%s.%s has the tag `%s` and is a %v, which is not %s; use a type of package %s, or remove the tag",
					t, f.Name, f.Tag, f.Type, k.what, packageOf[tag])
			}
		}
	}
}

var packageOf = map[string]string{stateTag: "state", timerTag: "timers"}

// holds reports whether fields of type t, or what they point to, are of the kind.
func (k *fieldKind) holds(t reflect.Type) bool {
	return t.Implements(k.typ) || reflect.PointerTo(t).Implements(k.typ)
}

// structOf returns the type that fn is or points to.
func structOf(fn any) reflect.Type {
	t := reflect.TypeOf(fn)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// refuseState reports state and timers of a function without keys.
func refuseState(b *pcoll.Builder, fn any, fields boundFields) {
	for _, k := range []*fieldKind{stateFields, timerFields} {
		for _, f := range fields[k] {
			b.Errorf("%s.%s is %s, which belongs to a key; make the input pairs with KeyBy and use StatefulParDo", structOf(fn), f.Name, k.what)
		}
	}
}
