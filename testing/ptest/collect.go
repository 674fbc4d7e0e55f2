package ptest

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/gather"
	"github.com/penstock-dev/penstock/testing/internal/show"
	"github.com/penstock-dev/penstock/testing/passert"
)

// Collected is what a collection held in each run.
type Collected[T any] struct {
	mu    sync.Mutex
	elems map[string][]passert.Element[T]
}

// Collect records the elements of col in each run of its pipeline.
func Collect[T any](col pcoll.PCollection[T]) *Collected[T] {
	b := pcoll.NewBuilder(col.Pipeline(), "ptest.Collect")
	c := &Collected[T]{elems: map[string][]passert.Element[T]{}}
	gather.Add(b, col, func(ctx context.Context, elems []passert.Element[T]) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.elems[gather.NameOf(ctx)] = elems
	})
	return c
}

// On returns the elements of the last run on the runner of that name, in the
// order in which they came; nil if there was none. A run that [Run] did not
// start has the name "".
func (c *Collected[T]) On(runner string) []passert.Element[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elems[runner]
}

// SamePanes builds a pipeline, runs it with [Run] and checks that the collection
// that build returns held the same elements on all runners, with the same times, windows,
// panes and kinds of change, in any order. It returns the elements of the
// direct runner. Without a script two runners agree in contents, not in how panes were cut: use a
// test stream as the source, or [SameElements].
func SamePanes[T any](t testing.TB, build func(*pcoll.Pipeline) pcoll.PCollection[T], opts ...Option) []passert.Element[T] {
	t.Helper()
	return same(t, build, passert.Describe[T], opts)
}

// SameElements is [SamePanes] for the values alone.
func SameElements[T any](t testing.TB, build func(*pcoll.Pipeline) pcoll.PCollection[T], opts ...Option) []passert.Element[T] {
	t.Helper()
	return same(t, build, func(e passert.Element[T]) string { return show.Value(e.Value) }, opts)
}

func same[T any](t testing.TB, build func(*pcoll.Pipeline) pcoll.PCollection[T], line func(passert.Element[T]) string, opts []Option) []passert.Element[T] {
	t.Helper()
	p := pcoll.New(strings.ReplaceAll(filepath.ToSlash(t.Name()), "/", "-"))
	c := Collect(build(p))
	results := Run(t, p, opts...)
	if results["direct"] == nil {
		return nil // and t has failed
	}
	lines := func(name string) (out []string) {
		for _, e := range c.On(name) {
			out = append(out, line(e))
		}
		slices.Sort(out)
		return out
	}
	want := lines("direct")
	for name := range results {
		if got := lines(name); !slices.Equal(want, got) {
			t.Errorf("ptest: %s gives other elements than the direct runner (-direct +%s):\n%s", name, name, cmp.Diff(want, got))
		}
	}
	return c.On("direct")
}
