package coders

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// located is an error with the path to what it is about, built from the inside
// out while the error is returned.
type located struct {
	path  string // ".Lines[3].SKU"
	cause error
}

func (e *located) Error() string { return strings.TrimPrefix(e.path, ".") + ": " + e.cause.Error() }
func (e *located) Unwrap() error { return e.cause }

// longPath is where a path is cut: from there on only its inner end is told.
const longPath = 200

// within puts step (".Field", "[3]", "[key]") in front of the error's path.
func within(step string, err error) error {
	l, ok := err.(*located)
	switch {
	case !ok:
		return &located{step, err}
	case len(l.path) < longPath:
		return &located{step + l.path, l.cause}
	case !strings.HasPrefix(l.path, cut):
		return &located{cut + l.path, l.cause}
	}
	return err // thousands of levels deep in a recursive type
}

const cut = "…"

func withinIndex(i int, err error) error { return within(fmt.Sprintf("[%d]", i), err) }

// report makes the error that users see from one that codecs return.
// did is what failed, root the type that it was asked for.
func report(did, root, remedy string, err error) error {
	path := root
	if l, ok := errors.AsType[*located](err); ok {
		path, err = root+l.path, l.cause
	}
	if remedy != "" {
		return fmt.Errorf("coders: %s %s: %w; %s", did, path, err, remedy)
	}
	return fmt.Errorf("coders: %s %s: %w", did, path, err)
}

// typeName is the type's name as it reads in an error: Order, KV[string,Order].
func typeName(t reflect.Type) string {
	if t.Name() != "" {
		return unqualified(t.Name(), true)
	}
	return unqualified(t.String(), false)
}

// fullName keeps the packages' names, without their paths: shop.Order.
func fullName(t reflect.Type) string { return unqualified(t.String(), false) }

// unqualified drops the import path, and with all the package too, of every
// identifier in s.
func unqualified(s string, all bool) string {
	var out strings.Builder
	word := 0
	flush := func(end int) {
		w := s[word:end]
		w = w[strings.LastIndexByte(w, '/')+1:]
		if all {
			w = w[strings.LastIndexByte(w, '.')+1:]
		}
		out.WriteString(w)
	}
	for i := range len(s) {
		if strings.IndexByte("[]*(){},; ", s[i]) >= 0 {
			flush(i)
			out.WriteByte(s[i])
			word = i + 1
		}
	}
	flush(len(s))
	return out.String()
}
