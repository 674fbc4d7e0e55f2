package graph

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/strategy"
)

// Warnings lists what is not wrong but surely not meant: a trigger, lateness or
// mode for windows that no grouping, state or side input behind them looks at.
func (g *Graph) Warnings() (warnings []string) {
	uses := g.Consumers()
	for _, n := range g.Nodes {
		if n.Structure != WindowInto {
			continue
		}
		was, is := n.Inputs[0].Col.Strategy, n.Outputs[0].Strategy
		if sameFiring(was, is) || looked(uses, n.Outputs[0], map[*Collection]bool{}) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s:%d: %s: the windows' trigger, lateness and accumulation have no effect: "+
			"no grouping, state or side input follows; remove them, or group what is windowed", n.File, n.Line, n.Name))
	}
	return warnings
}

// sameFiring reports whether two strategies differ in their windows at most.
func sameFiring(a, b *strategy.Strategy) bool {
	x := *b
	x.Fn, x.Merged = a.Fn, a.Merged
	return x.Equal(a)
}

// looked reports whether some node behind c looks at its strategy, up to where it is replaced.
func looked(uses map[*Collection][]Use, c *Collection, seen map[*Collection]bool) bool {
	if seen[c] {
		return false
	}
	seen[c] = true
	for _, u := range uses[c] {
		in := u.Node.Inputs[u.Input]
		switch {
		case u.Node.Structure == WindowInto:
			if !sameFiring(u.Node.Outputs[0].Strategy, c.Strategy) {
				continue
			}
		case u.Node.Strategy != nil, u.Node.Stateful(), in.Side != nil:
			return true
		}
		for _, o := range u.Node.Outputs {
			if looked(uses, o, seen) {
				return true
			}
		}
	}
	return false
}
