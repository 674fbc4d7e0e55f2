package pcoll

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
)

// A Kind says what an element does to its collection. Collections hold inserts
// only, unless windowing.Retracting was asked for: then results that are
// corrected come with an element that takes the former one back.
type Kind = exec.Kind

// The kinds of change. An UpdateBefore or a Delete is a withdrawal: it takes back
// an element that came before it, and has that element's value, time, window
// and pane.
const (
	Insert       = exec.Insert       // a new element
	UpdateBefore = exec.UpdateBefore // takes back an element that the next one of its key and window replaces
	UpdateAfter  = exec.UpdateAfter  // the element in the place of the one taken back before
	Delete       = exec.Delete       // takes back an element that nothing replaces
)

// Kind returns what the element does to the collection.
func (c *Context) Kind() Kind { return c.element().Kind }

// RefuseWithdrawals records a mistake if elements of an input may be
// withdrawals. It is for transforms that would take one for an element.
func RefuseWithdrawals(b *Builder, input *graph.Collection) {
	if input.Retracts && !b.bad {
		b.Errorf("elements of the input may be withdrawals of earlier ones, which %s cannot take back; "+
			"let windows give one pane only in front of it, as windowing.Trigger(triggers.Never{}) does, or use it before the first grouping with "+
			"windowing.Retracting()", b.node.Kind)
	}
}
