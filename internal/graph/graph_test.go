package graph_test

import (
	"reflect"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// TestGraph builds one by hand: numbers, producers, consumers, and how it prints.
func TestGraph(t *testing.T) {
	var g graph.Graph
	c := g.NewCollection(reflect.TypeFor[int](), exec.NewEdge[int]())
	read := &graph.Node{Name: "Read", Structure: graph.Source, Outputs: []*graph.Collection{c}}
	g.Add(read)
	a, b := g.NewCollection(reflect.TypeFor[string](), exec.NewEdge[string]()), g.NewCollection(reflect.TypeFor[bool](), exec.NewEdge[bool]())
	a.Bounded = false
	w := *strategy.Default()
	w.Fn = strategy.FixedWindows{Size: 60_000}
	b.Strategy, b.Pending = &w, true
	split := &graph.Node{Name: "Split", KeyCoder: 1, Inputs: []graph.Input{{Col: c, Exchange: graph.Keyed}, {Col: c}}, Outputs: []*graph.Collection{a, b}}
	g.Add(split)
	write := &graph.Node{Name: "Write", Inputs: []graph.Input{{Col: b, Exchange: graph.Spread}, {Col: a, Exchange: graph.Gather}}}
	g.Add(write)

	want := "Read -> c0:int\n" +
		"Split c0(keyed) c0 -> c1:string unbounded, c2:bool in fixed(1m0s) (pending)\n" +
		"Write c2(spread) c1(gather)\n"
	if got := g.String(); got != want {
		t.Errorf("prints\n%swant\n%s", got, want)
	}
	if read.ID != 0 || write.ID != 2 || b.From != split || b.Out != 1 || c.From != read || !c.Bounded || c.Strategy == nil {
		t.Errorf("numbers or producers: %+v, %+v", b, c)
	}
	uses := g.Consumers()
	twice := []graph.Use{{Node: split, Input: 0}, {Node: split, Input: 1}}
	if !reflect.DeepEqual(uses[c], twice) || !reflect.DeepEqual(uses[a], []graph.Use{{Node: write, Input: 1}}) {
		t.Errorf("consumers %v", uses)
	}
	if read.Stateful() || !split.Stateful() {
		t.Error("a node is stateful that has a key, no other")
	}
}
