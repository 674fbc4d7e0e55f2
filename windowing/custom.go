package windowing

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// An Assigner is a window function of one's own; see [Custom]. It is a value
// that never changes, such as a struct of parameters: any number of workers
// call it at once, and collections can be flattened if their Assigners are equal
// under ==.
type Assigner interface {
	// String prints the function with its parameters, as in shifts(8h0m0s). It
	// stands in plans and errors, and with stored state.
	String() string
	// Assign appends the windows of an element stamped t to dst and returns it: any number
	// of them, each once. What lies outside the global window is cut off; a
	// window that holds nothing fails the run. The same t must always give the
	// same windows.
	Assign(dst []pcoll.Window, t pcoll.Time) []pcoll.Window
}

// An AssignerOf is a window function that looks at the element; see
// [CustomOf]. It follows the rules of an [Assigner].
type AssignerOf[T any] interface {
	// String prints the function with its parameters.
	String() string
	// Assign appends the windows of element v stamped t to dst and returns it.
	Assign(dst []pcoll.Window, t pcoll.Time, v T) []pcoll.Window
}

// A Merger is an [Assigner] or [AssignerOf] whose windows may become one, for
// each key for itself. A grouping asks it once for each key and bundle, after
// the windows of the bundle's elements have been added.
type Merger interface {
	// Merge is given the open windows of a key, each once, by their end and then
	// their start, and returns those that become one. Windows it does not name
	// stay. It must not depend on anything else.
	Merge(windows []pcoll.Window) []Merged
}

// Merged says that the windows From become Into. Each window is in one Merged at
// most. Into contains all of From; it is one of them, or a window that the key
// does not have. Anything else fails the run.
type Merged = strategy.Merged

// MergeOverlapping returns what merges where all windows that share an instant
// become one, as sessions do. Windows that only touch stay apart.
func MergeOverlapping(windows []pcoll.Window) (merged []Merged) {
	ws := slices.Clone(windows)
	slices.SortFunc(ws, func(a, b pcoll.Window) int { return cmp.Compare(a.Start, b.Start) })
	for i := 0; i < len(ws); {
		m := Merged{Into: ws[i], From: []pcoll.Window{ws[i]}}
		for i++; i < len(ws) && ws[i].Overlaps(m.Into); i++ {
			m.Into, m.From = m.Into.Span(ws[i]), append(m.From, ws[i])
		}
		if len(m.From) > 1 {
			merged = append(merged, m)
		}
	}
	return merged
}

// Custom returns the windows of a. They merge if a is also a [Merger].
func Custom(a Assigner) Fn {
	if bad := checkUser(a, "Assigner"); bad != "" {
		return Fn{bad: bad}
	}
	return Fn{fn: strategy.Custom{User: a}}
}

// A FnOf assigns elements of type T to windows by what they hold. Unlike those
// of a [Fn], its windows are assigned where [Into] is applied, since what
// follows may change the element.
type FnOf[T any] struct {
	fn  strategy.WindowFn
	by  AssignerOf[T]
	bad string
}

// String prints the function.
func (f FnOf[T]) String() string { return Fn{fn: f.fn, bad: f.bad}.String() }

// CustomOf returns the windows that a gives each element. They merge if a is
// also a [Merger].
func CustomOf[T any](a AssignerOf[T]) FnOf[T] {
	if bad := checkUser(a, "AssignerOf"); bad != "" {
		return FnOf[T]{bad: bad}
	}
	return FnOf[T]{fn: strategy.Custom{User: a}, by: a}
}

func checkUser(a fmt.Stringer, what string) (bad string) {
	switch v := reflect.ValueOf(a); {
	case !v.IsValid():
		return fmt.Sprintf("the window function is a nil %s; give a value", what)
	case !v.Comparable():
		return fmt.Sprintf("window function %T cannot be compared with others; make it a struct of comparable fields, or a pointer", a)
	}
	return ""
}

// SessionsBy returns [Sessions] of which each element has a gap of its own: an
// element v stamped t opens [t, t+gap(v)), and windows of a key that overlap become
// one. A gap is rounded down to whole milliseconds; one that is less than a
// millisecond fails the run.
func SessionsBy[T any](gap func(T) time.Duration) FnOf[T] {
	if gap == nil {
		return FnOf[T]{bad: "session windows have no function for the gap; give one, or use Sessions"}
	}
	s := &sessionsBy[T]{gap}
	return FnOf[T]{fn: strategy.ElementSessions{By: s}, by: s}
}

type sessionsBy[T any] struct{ gap func(T) time.Duration }

func (s *sessionsBy[T]) String() string {
	return fmt.Sprintf("sessions(gap by %v)", reflect.TypeFor[T]())
}

func (s *sessionsBy[T]) Assign(dst []pcoll.Window, t pcoll.Time, v T) []pcoll.Window {
	w := pcoll.Window{}
	w.Start, w.End = t, t.Add(s.gap(v).Milliseconds()) // an empty window is an error
	return append(dst, w)
}

// intoOfOp puts elements into windows that they name, once for each.
type intoOfOp[T any] struct {
	by AssignerOf[T]
}

func (o intoOfOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	down, op := outs[0].(exec.Input[T]), env.Op()
	n, none := env.Counter(exec.Emitted(0)), env.Counter(exec.NoWindow)
	var buf []exec.Window
	return exec.Instance{In: []any{exec.Input[T](func(c *exec.Ctx, v T) {
		c.Op = op
		t := strategy.Within(c.Time)
		buf = o.by.Assign(buf[:0], t, v)
		if err := strategy.CutAll(o.by, buf, t); err != nil {
			c.Fail(err)
			return
		}
		n.N += int64(len(buf))
		if len(buf) == 0 {
			none.N++
		}
		w := c.Window
		for _, c.Window = range buf {
			down(c, v)
		}
		c.Window = w
	})}}, nil
}
