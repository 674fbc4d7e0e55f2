package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local/internal/plan"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func self(i int64) int64                                         { return i }
func plus(i int64) int64                                         { return i + 1 }
func odd(i int64) bool                                           { return i%2 == 1 }
func last(i int64) int64                                         { return i % 10 }
func at(i int64) time.Time                                       { return time.UnixMilli(i) }
func size[K comparable](e pcoll.KV[K, pcoll.Group[int64]]) int64 { return int64(e.Value.Len()) }

func numbers(p *pcoll.Pipeline) pcoll.PCollection[int64] {
	return transforms.GenerateSequence(p, 0, 100, transforms.SequenceTime(at))
}

func end[T any](in pcoll.PCollection[T]) {
	transforms.ForEach(in, func(*pcoll.Context, T) error { return nil })
}

func minutes(in pcoll.PCollection[int64]) pcoll.PCollection[int64] {
	return windowing.Into(in, windowing.Fixed(time.Minute))
}

// graphs are shapes of pipelines.
var graphs = map[string]func(p *pcoll.Pipeline){
	"linear": func(p *pcoll.Pipeline) {
		end(transforms.Map(transforms.Filter(numbers(p), odd), plus))
	},
	"two_groupings": func(p *pcoll.Pipeline) {
		sums := transforms.CombinePerKey(transforms.KeyBy(minutes(numbers(p)), last), combine.Sum[int64]())
		groups := transforms.GroupByKey(transforms.KeyBy(transforms.Values(sums), last))
		end(transforms.Map(groups, size[int64]))
	},
	"diamond": func(p *pcoll.Pipeline) { // ways of different length meet
		in := numbers(p)
		groups := transforms.GroupByKey(transforms.KeyBy(in, last))
		sizes := transforms.Map(groups, size[int64])
		end(transforms.Flatten(transforms.Map(in, plus), sizes, transforms.Reshuffle(sizes)))
	},
	"gather": func(p *pcoll.Pipeline) { // a default is made in one place
		once := transforms.Count(numbers(p))
		end(transforms.Flatten(once, transforms.Count(once)))
	},
	"twice": func(p *pcoll.Pipeline) { // a collection is two inputs of one transform
		in := numbers(p)
		end(transforms.Flatten(in, in))
		end(transforms.Flatten(transforms.Reshuffle(in), in))
	},
	"apart": func(p *pcoll.Pipeline) {
		end(numbers(p))
		end(transforms.Reshuffle(transforms.Create(p, "a")))
	},
}

// TestGoldens compares plans with testdata. go test -rewrite writes them.
func TestGoldens(t *testing.T) {
	for name, build := range graphs {
		p := pcoll.New(name)
		build(p)
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		g := pcoll.Graph(p)
		got := "graph\n" + g.String()
		for _, o := range []plan.Options{{Workers: 3}, {Workers: 3, NoLift: true}, {Workers: 1}} {
			got += fmt.Sprintf("\nplan for %d workers, lifting %v\n%v", o.Workers, !o.NoLift, plan.New(g, o))
		}
		file := filepath.Join("testdata", name+".golden")
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}

// TestLaws checks plans of random graphs.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pcoll.New("random")
		draw(t, p)
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		g := pcoll.Graph(p)
		o := plan.Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), NoLift: rapid.Bool().Draw(t, "nolift")}
		pl := plan.New(g, o)
		stages(t, pl)
		edges(t, g, pl)
		if again := plan.New(g, o).String(); again != pl.String() {
			t.Fatalf("two plans of one graph differ:\n%v\n%s", pl, again)
		}
	})
}

// draw applies random transforms to random collections.
func draw(t *rapid.T, p *pcoll.Pipeline) {
	cols := []pcoll.PCollection[int64]{numbers(p)}
	pick := func() pcoll.PCollection[int64] { return rapid.SampledFrom(cols).Draw(t, "in") }
	for range rapid.IntRange(1, 14).Draw(t, "transforms") {
		switch rapid.IntRange(0, 7).Draw(t, "transform") {
		case 0:
			cols = append(cols, numbers(p))
		case 1:
			cols = append(cols, transforms.Map(pick(), plus))
		case 2:
			cols = append(cols, transforms.Flatten(pick(), pick(), pick()))
		case 3:
			cols = append(cols, transforms.Reshuffle(pick()))
		case 4:
			cols = append(cols, transforms.Map(transforms.GroupByKey(transforms.KeyBy(pick(), last)), size[int64]))
		case 5:
			cols = append(cols, transforms.Values(transforms.CombinePerKey(transforms.KeyBy(pick(), self), combine.Sum[int64]())))
		case 6:
			cols = append(cols, transforms.Count(pick()))
		case 7:
			end(pick())
		}
	}
}

// stages checks that every operator is in one stage, that what is fused is
// wired within it, and that stages have no cycle.
func stages(t *rapid.T, pl *plan.Plan) {
	seen := map[*plan.Op]bool{}
	for i, s := range pl.Stages {
		if s.ID != i || len(s.Ops) == 0 {
			t.Fatalf("stage %d has number %d and %d operators", i, s.ID, len(s.Ops))
		}
		for k, op := range s.Ops {
			if seen[op] || op.Stage != s || pl.Ops[op.Number] != op {
				t.Fatalf("%s (%s) has no one place", op.Name(), op.Part)
			}
			seen[op] = true
			for _, in := range op.Ins {
				if (in.From == nil) == (in.Channel == nil) {
					t.Fatalf("an input of %s comes from nowhere, or from two places", op.Name())
				}
				if in.From != nil && !slices.Contains(s.Ops[:k], in.From) {
					t.Fatalf("%s is fused with %s, which does not come before it", op.Name(), in.From.Name())
				}
			}
		}
	}
	if len(seen) != len(pl.Ops) {
		t.Fatalf("%d operators in stages of %d", len(seen), len(pl.Ops))
	}
	state := map[*plan.Stage]int{}
	var visit func(s *plan.Stage)
	visit = func(s *plan.Stage) {
		if state[s] == 1 {
			t.Fatalf("stage %d leads to itself", s.ID)
		}
		if state[s] == 0 {
			state[s] = 1
			for _, c := range s.Out {
				visit(c.To.Op.Stage)
			}
			state[s] = 2
		}
	}
	for _, s := range pl.Stages {
		visit(s)
	}
}

// edges checks that each input of the graph is wired once, from the right
// output, over the exchange that it asks for.
func edges(t *rapid.T, g *graph.Graph, pl *plan.Plan) {
	heads, tails := map[*graph.Node]*plan.Op{}, map[*graph.Node]*plan.Op{}
	for _, op := range pl.Ops {
		if op.Part != "merge" {
			heads[op.Node] = op
		}
		if op.Part != "combine" {
			tails[op.Node] = op
		}
	}
	wired := map[plan.Target]int{}
	for _, op := range pl.Ops {
		for i, out := range op.Outs {
			for _, to := range out.Local {
				wired[to]++
				if in := to.Op.Ins[to.Input]; in.From != op {
					t.Fatalf("output %d of %s leads to %s, which has another producer", i, op.Name(), to.Op.Name())
				}
			}
			for _, c := range out.Channels {
				wired[c.To]++
				if c.From != op || c.To.Op.Ins[c.To.Input].Channel != c || c.To.Op.Stage == op.Stage ||
					!slices.Contains(op.Stage.Out, c) || !slices.Contains(c.To.Op.Stage.In, c) || pl.Channels[c.ID] != c {
					t.Fatalf("channel %d from %s to %s is not at both ends", c.ID, op.Name(), c.To.Op.Name())
				}
			}
		}
	}
	for _, n := range g.Nodes {
		for i, in := range n.Inputs {
			head, from := heads[n], tails[in.Col.From]
			exchange, x := in.Exchange, graph.Forward
			if c := head.Ins[i].Channel; c != nil {
				x = c.Exchange
			}
			if head.Part == "combine" || pl.Workers == 1 {
				exchange = graph.Forward
			}
			out := from.Outs[in.Col.Out]
			to := plan.Target{Op: head, Input: i}
			direct := slices.Contains(out.Local, to) || slices.ContainsFunc(out.Channels, func(c *plan.Channel) bool { return c.To == to })
			if wired[to] != 1 || !direct || x != exchange {
				t.Fatalf("input %d of %s: wired %d times over %v, from its producer: %v", i, n.Name, wired[to], x, direct)
			}
		}
		if heads[n] != tails[n] {
			for i, in := range tails[n].Ins {
				if in.Channel == nil || in.Channel.From != heads[n] || in.Channel.Exchange != graph.Keyed || wired[plan.Target{Op: tails[n], Input: i}] != 1 {
					t.Fatalf("the halves of %s are not joined by exchanges", n.Name)
				}
			}
		}
	}
}

// TestParts: how many workers a channel leads to.
func TestParts(t *testing.T) {
	for x, want := range map[graph.Exchange]int{graph.Forward: 1, graph.Gather: 1, graph.Keyed: 5, graph.Spread: 5} {
		if got := (&plan.Channel{Exchange: x}).Parts(5); got != want {
			t.Errorf("%v leads to %d of 5 workers, want %d", x, got, want)
		}
	}
}
