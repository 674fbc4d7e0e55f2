package combine

import (
	"fmt"
	"reflect"
	"time"

	"github.com/penstock-dev/penstock/coders"
)

// This file finds out what a combiner says by its optional methods. It is for
// transforms and for combiners that are made of others.

// CheckOf reports what is wrong with c, or nil.
func CheckOf[In, Acc, Out any](c Combiner[In, Acc, Out]) error {
	if c == nil {
		return fmt.Errorf("the combiner is nil")
	}
	if k, ok := any(c).(Checker); ok {
		return k.Check()
	}
	return nil
}

// CoderOf returns the coder of c's accumulators.
func CoderOf[In, Acc, Out any](c Combiner[In, Acc, Out]) (coders.Coder[Acc], error) {
	k, ok := any(c).(AccCoder[Acc])
	if !ok {
		return coders.For[Acc]()
	}
	coder, err := k.AccCoder()
	if err == nil && coder == nil {
		err = fmt.Errorf("AccCoder of %T returned no coder", c)
	}
	return coder, err
}

// CopierOf returns the function that copies c's accumulators; nil says that
// assignment does.
func CopierOf[In, Acc, Out any](c Combiner[In, Acc, Out]) (func(Acc) Acc, error) {
	switch k := any(c).(type) {
	case interface {
		copier() (func(Acc) Acc, error)
	}:
		return k.copier()
	case Cloner[Acc]:
		return k.Clone, nil
	}
	if !mutable(reflect.TypeFor[Acc]()) {
		return nil, nil
	}
	coder, err := CoderOf(c)
	if err != nil {
		return nil, err
	}
	return func(acc Acc) Acc {
		buf, err := coder.Append(nil, acc)
		if err == nil {
			acc, _, err = coder.Decode(buf)
		}
		if err != nil {
			panic(fmt.Errorf("combine: accumulator %T cannot be copied: %w", acc, err))
		}
		return acc
	}, nil
}

// RetracterOf returns the function that takes an element out of an accumulator
// of c; nil says that there is none.
func RetracterOf[In, Acc, Out any](c Combiner[In, Acc, Out]) func(Acc, In) Acc {
	switch k := any(c).(type) {
	case interface{ retracter() func(Acc, In) Acc }:
		return k.retracter()
	case Retracter[In, Acc]:
		return k.Retract
	}
	return nil
}

// mutable reports whether two values of t that were assigned may share memory
// that one of them could change. Strings cannot be changed.
func mutable(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Time]() {
		return false
	}
	switch t.Kind() {
	case reflect.String:
		return false
	case reflect.Array:
		return t.Len() > 0 && mutable(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if mutable(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128
}
