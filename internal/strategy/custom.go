package strategy

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
)

// An Assigner is a window function that a user defines.
type Assigner interface {
	fmt.Stringer
	// Assign appends the windows of an element stamped t to dst.
	Assign(dst []exec.Window, t exec.Time) []exec.Window
}

// A Merger decides which windows of a key become one.
type Merger interface {
	// Merge is given the windows of a key, each once, in the order of
	// exec.Window.Compare, and returns those that merge. The others stay.
	Merge(windows []exec.Window) []Merged
}

// Merged says that the windows From become Into, which holds them all and is
// one of them or new.
type Merged struct {
	Into exec.Window
	From []exec.Window
}

// A Custom is a window function that a user defines. User is comparable. It is
// an Assigner, or assigns by element, and then where Into is applied; its
// windows merge if it is a Merger.
type Custom struct{ User fmt.Stringer }

// String is that of the user's function.
func (f Custom) String() string { return f.User.String() }

// Assign appends the windows of t. It panics where the user's function gives
// a window without an instant, like any function of a user that cannot go on.
func (f Custom) Assign(dst []exec.Window, t exec.Time) []exec.Window {
	n, t := len(dst), Within(t)
	dst = f.User.(Assigner).Assign(dst, t)
	if err := CutAll(f.User, dst[n:], t); err != nil {
		panic(err)
	}
	return dst
}

// CutAll limits windows that a user's function gave an element stamped t to
// the global window, and reports one that holds no instant, or is there twice.
func CutAll(user fmt.Stringer, ws []exec.Window, t exec.Time) error {
	for i, w := range ws {
		if i > 0 && w.Compare(ws[i-1]) <= 0 && slices.Contains(ws[:i], w) {
			return fmt.Errorf("window function %v put an element stamped %v into window %v twice, where it would count twice; append each window once", user, t, w)
		}
	}
	for i, w := range ws {
		ws[i] = exec.Window{Start: max(w.Start, exec.MinTime), End: min(w.End, exec.EndOfGlobal+1)}
		if ws[i].Start >= ws[i].End {
			return fmt.Errorf("window function %v put an element stamped %v into window %v, which holds no instant; a window ends after it starts", user, t, w)
		}
	}
	return nil
}

// Merging reports whether the user's windows merge.
func (f Custom) Merging() bool { return f.Merger() != nil }

// Merger returns what merges the windows, or nil.
func (f Custom) Merger() Merger {
	m, _ := f.User.(Merger)
	return m
}

// Compatible reports whether o is the same function with the same parameters.
func (f Custom) Compatible(o WindowFn) bool { return o == WindowFn(f) }

// ElementSessions are sessions of which each element has a gap of its own. They
// are assigned where Into is applied, by what By stands for.
type ElementSessions struct{ By fmt.Stringer }

// String is that of By.
func (f ElementSessions) String() string { return f.By.String() }

// Assign is not for these windows: they come with the element.
func (f ElementSessions) Assign([]exec.Window, exec.Time) []exec.Window {
	panic("strategy: windows by element are assigned where Into is applied")
}

// Merging is true.
func (ElementSessions) Merging() bool { return true }

// Compatible reports whether o is sessions, of any gap.
func (ElementSessions) Compatible(o WindowFn) bool { return isSessions(o) }

func isSessions(f WindowFn) bool {
	switch f.(type) {
	case SessionWindows, ElementSessions:
		return true
	}
	return false
}
