package panes

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// mergeAll merges the key's open windows and those of its waiting elements, and
// reports whether it could.
func (g *General[K, V, Acc]) mergeAll(c *exec.Ctx, ks *keyState[Acc]) bool {
	if g.own == nil {
		g.merge(ks)
		return true
	}
	if err := g.mergeBy(g.own, ks); err != nil {
		c.Fail(fmt.Errorf("window function %v: %w", g.s.Fn, err))
		return false
	}
	return true
}

// mergeBy is merge by the rules of a user. It leaves the outcome in g.scratch.into.
func (g *General[K, V, Acc]) mergeBy(m strategy.Merger, ks *keyState[Acc]) error {
	if g.scratch.into == nil {
		g.scratch.into = map[exec.Window]exec.Window{}
	}
	into, all := g.scratch.into, g.scratch.windows[:0]
	clear(into)
	see := func(w exec.Window) {
		if _, seen := into[w]; !seen {
			into[w] = w
			all = append(all, w)
		}
	}
	for i := range ks.wins {
		if ks.wins[i].flags&isOpen != 0 {
			see(ks.wins[i].w)
		}
	}
	for n := ks.head; n != 0; n = g.bundle.waiting[n-1].next {
		see(g.bundle.waiting[n-1].w)
	}
	g.scratch.windows = all
	slices.SortFunc(all, exec.Window.Compare)
	merged := m.Merge(slices.Clone(all)) // which is the user's to keep
	if err := checkMerged(merged, into); err != nil {
		return err
	}
	for _, x := range merged {
		if len(x.From) == 0 || len(x.From) == 1 && x.From[0] == x.Into {
			continue
		}
		spans := g.scratch.spans[:0]
		for _, w := range x.From {
			spans = append(spans, span{w, -1})
			if i, ok := find(ks.wins, w); ok && ks.wins[i].flags&isOpen != 0 {
				spans[len(spans)-1].at = i
			}
		}
		g.scratch.spans = spans
		g.mergeInto(ks, x.Into, spans)
		g.tidy(ks)
	}
	return nil
}

// checkMerged holds what a user's function returned to the rules of
// strategy.Merger, which are those of Beam's MergeContext, and notes in into
// what each window merged into.
func checkMerged(merged []strategy.Merged, into map[exec.Window]exec.Window) error {
	taken := map[exec.Window]bool{}
	for _, x := range merged {
		if _, old := into[x.Into]; old && !slices.Contains(x.From, x.Into) {
			return fmt.Errorf("it merges %v into %v, which is there already and not one of them; name it among them, or merge into a new window", x.From, x.Into)
		}
		for _, w := range x.From {
			_, known := into[w]
			switch {
			case !known:
				return fmt.Errorf("it merges %v, which is none of the windows that it was given", w)
			case taken[w]:
				return fmt.Errorf("it merges %v twice; a window goes into one other", w)
			case w.Start < x.Into.Start || w.End > x.Into.End:
				return fmt.Errorf("it merges %v into %v, which does not hold it", w, x.Into)
			}
			taken[w] = true
		}
	}
	made := map[exec.Window]bool{}
	for _, x := range merged {
		if made[x.Into] {
			return fmt.Errorf("it merges into %v twice; say it once, with all that go into it", x.Into)
		}
		made[x.Into] = true
		for _, w := range x.From {
			into[w] = x.Into
		}
	}
	return nil
}
