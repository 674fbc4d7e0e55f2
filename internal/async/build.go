package async

import (
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

// Input adds in to the inputs of the transform. Its elements become state while
// they wait, so they need a coder, and must not be withdrawals. Windows that are
// still to be assigned stay so: one call serves all windows of an element.
func Input[I any](b *pcoll.Builder, in pcoll.PCollection[I]) *graph.Collection {
	like := pcoll.From(b, in)
	if b.Bad() {
		return like
	}
	pcoll.RefuseWithdrawals(b, like)
	if err := like.Edge.Check(); err != nil {
		b.Errorf("elements are kept while their calls are under way: %w", err)
	}
	return like
}
