package panes

import (
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// CanAlign reports whether NewAligned takes the strategy.
func CanAlign(s *strategy.Strategy) bool { return false }

// Aligned is the form for windows that do not merge with triggers driven by the watermark.
type Aligned[K comparable, V, Acc any] struct{ cfg Config[K, V, Acc] }

// NewAligned returns an empty form that keeps its state in env under names
// that start with name. The strategy must satisfy CanAlign.
func NewAligned[K comparable, V, Acc any](env exec.Env, name string, cfg Config[K, V, Acc]) *Aligned[K, V, Acc] {
	return &Aligned[K, V, Acc]{cfg: cfg}
}

func (a *Aligned[K, V, Acc]) Element(c *exec.Ctx, key K, v V)            {}
func (a *Aligned[K, V, Acc]) Partial(c *exec.Ctx, key K, p Partial[Acc]) {}
func (a *Aligned[K, V, Acc]) Turn(c *exec.Ctx)                           {}
func (a *Aligned[K, V, Acc]) Advance(c *exec.Ctx, wm exec.Time) (out exec.Time, more bool) {
	return wm, false
}
func (a *Aligned[K, V, Acc]) Restored(c *exec.Ctx) {}
