package pcoll_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
)

// emitting returns a context with an Emit whose elements are printed.
func emitting(t *testing.T, skew int64) (c *pcoll.Context, x *exec.Ctx, emit pcoll.Emit[string], got *[]string) {
	env := host.NewOp(host.Place{Name: "Emit", Count: 1, Context: t.Context(), Clock: &host.Manual{}, Log: slog.New(slog.DiscardHandler)})
	got = new([]string)
	x = exec.NewCtx(t.Context())
	x.Time, x.Window, x.Pane, x.Op = 5000, pcoll.Window{Start: 0, End: 10_000}, pcoll.Pane{Index: 2}, 1
	emit = pcoll.EmitTo(exec.Input[string](func(c *exec.Ctx, v string) {
		c.Op = 77 // as user code downstream does
		*got = append(*got, fmt.Sprintf("%s@%d in [%d,%d) pane %d", v, c.Time, c.Window.Start, c.Window.End, c.Pane.Index))
	}), env.Counter(exec.Emitted(0)))
	return pcoll.NewContext(env, skew), x, emit, got
}

func TestEmit(t *testing.T) {
	const second = int64(1000)
	other := pcoll.Window{Start: 20_000, End: 30_000}
	at := func(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }
	for name, c := range map[string]struct {
		skew int64
		free bool
		emit func(*pcoll.Context, pcoll.Emit[string])
		want string // printed, or a part of the error
	}{
		"plain":               {0, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e(c, "v") }, "v@5000 in [0,10000) pane 2"},
		"later":               {0, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(7), "v") }, "v@7000 in [0,10000) pane 2"},
		"same time":           {0, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(5), "v") }, "v@5000 in [0,10000) pane 2"},
		"earlier":             {0, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(4.999), "v") }, "by more than the allowed skew of 0 ms"},
		"within the skew":     {second, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(4), "v") }, "v@4000 in [0,10000) pane 2"},
		"beyond the skew":     {second, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(3.999), "v") }, "output time 1970-01-01T00:00:03.999Z"},
		"any skew":            {1<<63 - 1, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(-1e12), "v") }, "v@-1000000000000000 in"},
		"no time":             {1<<63 - 1, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, time.Time{}, "v") }, "zero time.Time"},
		"another window":      {0, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.In(c, other, at(25), "v") }, "v@25000 in [20000,30000) pane 2"},
		"no time in a window": {0, false, func(c *pcoll.Context, e pcoll.Emit[string]) { e.In(c, other, time.Time{}, "v") }, "zero time.Time"},
		"free":                {0, true, func(c *pcoll.Context, e pcoll.Emit[string]) { e(c, "v") }, "give it a time and a window with emit.In"},
		"free at":             {0, true, func(c *pcoll.Context, e pcoll.Emit[string]) { e.At(c, at(9), "v") }, "give it a time and a window with emit.In"},
		"free in":             {0, true, func(c *pcoll.Context, e pcoll.Emit[string]) { e.In(c, other, at(25), "v") }, "v@25000 in [20000,30000) pane 2"},
	} {
		pc, x, emit, got := emitting(t, c.skew)
		before := *x
		bound := pc.Bind(x)
		if c.free {
			bound = pc.BindFree(x)
		}
		c.emit(bound, emit)
		have := strings.Join(*got, " ")
		if x.Err != nil {
			have = x.Err.Error()
		}
		if !strings.Contains(have, c.want) {
			t.Errorf("%s: got %q, want %q", name, have, c.want)
		}
		if x.Time != before.Time || x.Window != before.Window || x.Pane != before.Pane || x.Op != before.Op {
			t.Errorf("%s: the context is left at %v, %v, operator %d", name, x.Time, x.Window, x.Op)
		}
		if _, free := bound.Exec(); free != c.free {
			t.Errorf("%s: free is %v afterwards", name, free)
		}
	}
}

func TestContext(t *testing.T) {
	pc, x, _, _ := emitting(t, 0)
	c := pc.Bind(x)
	if !c.EventTime().Equal(time.Unix(5, 0)) || c.Window() != x.Window || c.Pane().Index != 2 || c.Context() != t.Context() || c.Log() == nil {
		t.Errorf("%v %v %v", c.EventTime(), c.Window(), c.Pane())
	}
	if i, n := c.Worker(); i != 0 || n != 1 {
		t.Errorf("worker %d of %d", i, n)
	}
	pcoll.Counter(c, "seen").Add(3)
	pcoll.Counter(c, "seen").Add(4)
	pcoll.Distribution(c, "size").Update(9)
	if n := pcoll.Counter(c, "seen").N; n != 7 || pcoll.Distribution(c, "size").Count != 1 {
		t.Errorf("counted %d", n)
	}
}

func TestGroup(t *testing.T) {
	vals := []int{3, 1, 2}
	g := pcoll.GroupOf(vals...)
	for range 2 { // any number of times
		if got := slices.Collect(g.All()); !slices.Equal(got, vals) || g.Len() != 3 || g.String() != "[3 1 2]" {
			t.Errorf("%v, %d, %v", got, g.Len(), g)
		}
	}
	var zero pcoll.Group[int]
	if zero.Len() != 0 || slices.Collect(zero.All()) != nil {
		t.Error("the zero group is not empty")
	}
	for _, n := range []int{0, 1, 100} {
		c, err := coders.For[pcoll.KV[string, pcoll.Group[int]]]()
		if err != nil {
			t.Fatal(err)
		}
		kv := pcoll.Pair("k", pcoll.GroupOf(make([]int, n)...))
		enc, err := c.Append(nil, kv)
		if err != nil {
			t.Fatal(err)
		}
		back, rest, err := c.Decode(enc)
		if err != nil || len(rest) > 0 || back.Key != "k" || back.Value.Len() != n {
			t.Errorf("%v, %v", back, err)
		}
	}
}

// TestResult sums what operators count, and follows what enters them from what
// their producers emitted.
func TestResult(t *testing.T) {
	p := pcoll.New("result")
	src, _ := node(p, "Read")
	b := pcoll.NewBuilder(p, "Filter")
	kept := pcoll.To[int](b, pcoll.From(b, src))
	b.Add(nil)
	sink := pcoll.NewBuilder(p, "Write")
	pcoll.From(sink, kept)
	pcoll.From(sink, src)
	sink.Add(nil)
	counted := map[string]pcoll.Counted{
		"Read": {Counters: map[string]int64{exec.Elements: 100, "rejected": 3}, Watermark: 9},
		"Filter": {Counters: map[string]int64{exec.Emitted(0): 40, exec.DroppedLate: 5, exec.DroppedClosed: 1, exec.Received: 8, "user:odd": 2},
			Distributions: map[string]exec.Distribution{"user:size": {Count: 4, Sum: 10, Min: 1, Max: 7}}, ByWorker: []int64{5, 3}},
		"Write": {Counters: map[string]int64{"user:odd": 5}},
	}
	r := pcoll.NewResult(pcoll.Graph(p), func(n *graph.Node) pcoll.Counted { return counted[n.Name] })
	read, _ := r.Transform("Read")
	filter, _ := r.Transform("Filter")
	write, _ := r.Transform("Write")
	if read.Elements != 100 || filter.Elements != 100 || write.Elements != 140 {
		t.Errorf("elements %d, %d, %d; want 100, 100, 140", read.Elements, filter.Elements, write.Elements)
	}
	if !maps.Equal(read.Internal, map[string]int64{"rejected": 3}) || filter.Internal != nil || !maps.Equal(filter.Counters, map[string]int64{"odd": 2}) {
		t.Errorf("counters %v, %v, %v", read.Internal, filter.Internal, filter.Counters)
	}
	if read.Watermark != 9 || !slices.Equal(filter.ByWorker, []int64{5, 3}) || r.Counter("odd") != 7 || r.Counter("even") != 0 || r.Dropped() != 6 {
		t.Errorf("watermark %v, by worker %v, %d, %d dropped", read.Watermark, filter.ByWorker, r.Counter("odd"), r.Dropped())
	}
	if d := filter.Distributions["size"]; d.Mean() != 2.5 || (pcoll.DistributionResult{}).Mean() != 0 {
		t.Errorf("%+v", d)
	}
	if _, ok := r.Transform("None"); ok {
		t.Error("there is a transform None")
	}
	want := "Read: 100 elements\nFilter: 100 elements, 5 dropped late, 1 dropped closed\nWrite: 140 elements\n"
	if got := r.String(); got != want {
		t.Errorf("prints\n%swant\n%s", got, want)
	}
}
