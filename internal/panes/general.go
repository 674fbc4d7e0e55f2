package panes

import "github.com/penstock-dev/penstock/internal/exec"

// General is the form for any strategy.
type General[K comparable, V, Acc any] struct{ cfg Config[K, V, Acc] }

// NewGeneral returns an empty form that keeps its state in env under names that start with name.
func NewGeneral[K comparable, V, Acc any](env exec.Env, name string, cfg Config[K, V, Acc]) *General[K, V, Acc] {
	return &General[K, V, Acc]{cfg: cfg}
}

func (g *General[K, V, Acc]) Element(c *exec.Ctx, key K, v V)            {}
func (g *General[K, V, Acc]) Partial(c *exec.Ctx, key K, p Partial[Acc]) {}
func (g *General[K, V, Acc]) Turn(c *exec.Ctx)                           {}
func (g *General[K, V, Acc]) Advance(c *exec.Ctx, wm exec.Time) (out exec.Time, more bool) {
	return wm, false
}
func (g *General[K, V, Acc]) Restored(c *exec.Ctx) {}
