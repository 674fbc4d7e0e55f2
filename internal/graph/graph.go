// Package graph is the untyped form of a pipeline: what every runner reads and
// no user sees. It is plain data; the typed parts are the operators (exec.Op)
// and edges (exec.Edge) that hang on it, both made where the types were known.
package graph

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Collection is the typed output of one node.
type Collection struct {
	ID       int
	Elem     reflect.Type
	Edge     exec.Edge
	Strategy *strategy.Strategy // never nil
	// Pending says that elements do not yet carry the windows of Strategy.Fn:
	// whoever looks at windows assigns them from the element's time.
	Pending bool
	Bounded bool
	// Retracts says that elements may be withdrawals (exec.Kind): results of a
	// grouping in retracting mode, and whatever follows from them.
	Retracts bool
	From     *Node // producer
	Out      int   // which output of it
}

// String prints the collection's number, type and windowing.
func (c *Collection) String() string {
	s := fmt.Sprintf("c%d:%v", c.ID, c.Elem)
	if w := c.Strategy.String(); w != "global" {
		s += " in " + w
		if c.Pending {
			s += " (pending)"
		}
	}
	if !c.Bounded {
		s += " unbounded"
	}
	if c.Retracts {
		s += " retracting"
	}
	return s
}

// Exchange says how elements get from the workers of one node to those of the next.
type Exchange uint8

// The kinds of exchange.
const (
	Forward   Exchange = iota // stay on the worker
	Keyed                     // to the owner of the key group of Route
	Spread                    // evenly, batch by batch
	Gather                    // all to worker 0
	Broadcast                 // all to every worker
)

// String returns the name of the exchange.
func (e Exchange) String() string {
	return [...]string{"forward", "keyed", "spread", "gather", "broadcast"}[e]
}

// An Input is a collection that a node consumes.
type Input struct {
	Col      *Collection
	Exchange Exchange
	Route    any // func(T) uint64, of Keyed
	// Side is the windowing of a side input, by which main windows are mapped to
	// its windows; nil of a main input. Elements of a side input are panes.
	Side *strategy.Strategy
}

// Structure says what a node means, for what must look into nodes: planners,
// and runners that translate instead of executing Op.
type Structure uint8

// The structures. An Opaque node is known by its Op alone.
const (
	Opaque Structure = iota
	Source
	Sink
	WindowInto
	GroupByKey
	CombinePerKey
	Flatten
	Reshuffle
	ParDo
	StatefulParDo
)

// A Node is a transform applied to collections.
type Node struct {
	ID        int
	Kind      string // "Map", "CombinePerKey"
	Name      string // unique path, "Enrich/Map"
	Named     bool   // the user chose the last part of Name
	Structure Structure
	Inputs    []Input
	Outputs   []*Collection
	Op        exec.Op

	// Of a grouping.
	Strategy *strategy.Strategy // in force at the input
	KeyCoder any                // *coders.Key[K]
	AccCoder any                // coders.Coder[Acc]

	File string // where user code applied the transform
	Line int
}

// Stateful reports whether the node keeps state by key.
func (n *Node) Stateful() bool { return n.KeyCoder != nil }

// A Graph lists nodes in topological order.
type Graph struct {
	Nodes []*Node
	Cols  []*Collection
}

// NewCollection adds a collection.
func (g *Graph) NewCollection(elem reflect.Type, edge exec.Edge) *Collection {
	c := &Collection{ID: len(g.Cols), Elem: elem, Edge: edge, Strategy: strategy.Default(), Bounded: true}
	g.Cols = append(g.Cols, c)
	return c
}

// Add appends a node, whose inputs are in the graph already.
func (g *Graph) Add(n *Node) {
	n.ID = len(g.Nodes)
	for i, c := range n.Outputs {
		c.From, c.Out = n, i
	}
	g.Nodes = append(g.Nodes, n)
}

// Consumers returns for each collection the nodes and input numbers that read it.
func (g *Graph) Consumers() map[*Collection][]Use {
	uses := map[*Collection][]Use{}
	for _, n := range g.Nodes {
		for i, in := range n.Inputs {
			uses[in.Col] = append(uses[in.Col], Use{n, i})
		}
	}
	return uses
}

// Script returns the script that drives the graph's TestStreams, or nil if it
// has none. A graph that follows a script has no unbounded source beside it.
func (g *Graph) Script() (script *exec.Script, err error) {
	var first *Node
	for _, n := range g.Nodes {
		s, ok := n.Op.(exec.Scripted)
		switch {
		case !ok:
		case first == nil:
			first, script = n, s.Script()
		case s.Script() != script:
			return nil, fmt.Errorf("%s and %s follow different scripts, whose events have no order among them; "+
				"make both streams of one teststream.Script", first.Name, n.Name)
		}
	}
	for _, n := range g.Nodes {
		if _, ok := n.Op.(exec.Scripted); script != nil && len(n.Inputs) == 0 && !ok && !n.bounded() {
			return nil, fmt.Errorf("%s is unbounded and %s follows a script, which starts when all other sources have ended; "+
				"script both, or read a bounded source", n.Name, first.Name)
		}
	}
	return script, nil
}

// bounded reports whether all outputs are.
func (n *Node) bounded() bool {
	return !slices.ContainsFunc(n.Outputs, func(c *Collection) bool { return !c.Bounded })
}

// A Use is one consumption of a collection.
type Use struct {
	Node  *Node
	Input int
}

// String prints one node a line; it is what golden tests compare.
func (g *Graph) String() string {
	var b strings.Builder
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "%s", n.Name)
		for _, in := range n.Inputs {
			fmt.Fprintf(&b, " c%d", in.Col.ID)
			if in.Exchange != Forward {
				fmt.Fprintf(&b, "(%v)", in.Exchange)
			}
		}
		for i, o := range n.Outputs {
			if i == 0 {
				b.WriteString(" ->")
			} else {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, " %v", o)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
