package panes

import (
	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Folder accumulates the elements of a pane. Add and Merge may change and
// return their first argument; they must not keep or change the second.
type Folder[V, Acc any] interface {
	// Create returns the accumulator of no element.
	Create() Acc
	// Add returns acc with v in it.
	Add(acc Acc, v V) Acc
	// Merge returns acc with all of other in it.
	Merge(acc, other Acc) Acc
}

// A Partial stands for N elements of one key and window that were combined
// before they came here. Min and Max are the least and greatest of their event
// times.
type Partial[Acc any] struct {
	Acc      Acc
	N        int64
	Min, Max exec.Time
}

// Config says what a form groups and what it calls.
type Config[K comparable, V, Acc any] struct {
	Strategy *strategy.Strategy
	// Assign is set where windows are still to be assigned, from c.Time by
	// Strategy.Fn. Otherwise c.Window is the element's one window.
	Assign bool
	Fold   Folder[V, Acc]
	Key    *coders.Key[K]
	// Acc encodes accumulators in snapshots; without it there can be none.
	Acc coders.Coder[Acc]
	// Copy returns an accumulator that shares nothing with its argument; nil
	// where assignment does that. It is called for panes of accumulators that
	// the form goes on folding into: where panes accumulate and more may come.
	Copy func(Acc) Acc

	// Emit is called for each pane, with c.Time, c.Window, c.Pane and c.Kind
	// set to the pane's. The accumulator is the callee's to keep and change.
	Emit func(c *exec.Ctx, key K, acc Acc)
	// Of retracting panes, in place of Emit. Encode returns the result of an
	// accumulator, encoded. Say is called to emit the result that said encodes, or,
	// where c.Kind is a withdrawal, to take it back; said stays as it is.
	Encode func(acc Acc) ([]byte, error)
	Say    func(c *exec.Ctx, key K, said []byte)
	// Retract undoes an Add of an element equal to v. It returns false if it knows
	// that acc has none. It is nil where no element is a withdrawal.
	Retract func(acc Acc, v V) (Acc, bool)
	// Show prints an element for an error; nil where fmt does.
	Show func(v V) string

	// Drop is called for each element and window that is dropped, if set:
	// c.Time is the element's, c.Window the window. closed says that the
	// window's trigger had finished; otherwise the window had expired. The form
	// has counted it in exec.DroppedClosed or exec.DroppedLate of its Env.
	Drop func(c *exec.Ctx, key K, v V, closed bool)
	// DropPartial is the same for partials. A partial counts as N elements.
	DropPartial func(c *exec.Ctx, key K, p Partial[Acc], closed bool)
}

// form is what both forms have in common; operators use the concrete types.
type form[K comparable, V, Acc any] interface {
	// Element adds v. With Assign it goes to the windows of c.Time, otherwise
	// to c.Window.
	Element(c *exec.Ctx, key K, v V)
	// Partial adds elements that were combined before. c.Window is their
	// window, whatever Assign says.
	Partial(c *exec.Ctx, key K, p Partial[Acc])
	// Turn ends a bundle.
	Turn(c *exec.Ctx)
	// Advance fires what is due at watermark wm and processing time Env.Now.
	Advance(c *exec.Ctx, wm exec.Time) (out exec.Time, more bool)
	// Restored rebuilds the indexes over restored stores.
	Restored(c *exec.Ctx)
}
