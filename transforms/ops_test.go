package transforms_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	. "github.com/penstock-dev/penstock/transforms"
)

// unit is one operator, taken out of a pipeline, with recorded outputs.
type unit struct {
	t    *testing.T
	node *graph.Node
	env  *host.Op
	inst exec.Instance
	c    *exec.Ctx
	out  []string // output/value at time in window
}

const opNumber = 7 // of the operator under test; downstream ones have another

// open makes an instance of the operator of the transform called name.
func open(t *testing.T, p *pcoll.Pipeline, name string, worker int) *unit {
	t.Helper()
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	u := &unit{t: t, c: exec.NewCtx(context.Background())}
	for _, n := range pcoll.Graph(p).Nodes {
		if n.Name == name {
			u.node = n
		}
	}
	if u.node == nil {
		t.Fatalf("no transform is called %s in\n%v", name, p)
	}
	u.env = host.NewOp(host.Place{Number: opNumber, Name: name, Index: worker, Count: 2, Context: context.Background(),
		Clock: &host.Manual{}, Wake: func() {}, Log: quiet})
	outs := make([]any, len(u.node.Outputs))
	for i, c := range u.node.Outputs {
		outs[i] = c.Edge.Tap(c.Edge.Fanout(nil), func(c *exec.Ctx, v any) {
			u.out = append(u.out, fmt.Sprintf("%d: %+v at %v in %v", i, v, c.Time, c.Window))
			c.Op = opNumber + 1
		})
	}
	inst, err := u.node.Op.New(u.env, outs)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	u.inst = inst
	return u
}

// feed sends elements at 1 s in a window and expects the context to stay as it was.
func feed[T any](u *unit, vs ...T) *unit {
	u.t.Helper()
	c := u.c
	c.Time, c.Window, c.Pane, c.Kind = 1000, exec.Window{Start: 0, End: 60000}, exec.Pane{Index: 3, Timing: exec.Early}, exec.UpdateAfter
	was := *c
	for _, v := range vs {
		u.inst.In[0].(exec.Input[T])(c, v)
	}
	if c.Time != was.Time || c.Window != was.Window || c.Pane != was.Pane || c.Kind != was.Kind {
		u.t.Errorf("%s changed the context from %+v to %+v", u.node.Name, was, *c)
	}
	return u
}

// gives compares the outputs with those wanted; " at …" is left out for elements that kept time and window.
func (u *unit) gives(want ...string) {
	u.t.Helper()
	got := slices.Clone(u.out)
	for i, s := range got {
		got[i] = strings.TrimSuffix(s, " at 1970-01-01T00:00:01Z in [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)")
	}
	if !slices.Equal(got, want) {
		u.t.Errorf("%s gives\n\t%s\nwant\n\t%s", u.node.Name, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (u *unit) fails(want string) {
	u.t.Helper()
	e, ok := errors.AsType[*exec.ElementError](u.c.Err)
	if !ok || !strings.Contains(e.Error(), want) {
		u.t.Errorf("%s fails with %v, want %q", u.node.Name, u.c.Err, want)
		return
	}
	if e.Op != opNumber {
		u.t.Errorf("%s: the failure is attributed to operator %d", u.node.Name, e.Op)
	}
}

func (u *unit) counts(name string, want int64) {
	u.t.Helper()
	if got := u.env.Counter(name).N; got != want {
		u.t.Errorf("%s: counter %s is %d, want %d", u.node.Name, name, got, want)
	}
}

var quiet = slog.New(slog.DiscardHandler)

func ints(p *pcoll.Pipeline) pcoll.PCollection[int]   { return Create[int](p) }
func pairs(p *pcoll.Pipeline) pcoll.PCollection[pair] { return Create[pair](p) }

func TestElementwise(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		feed  func(u *unit)
		want  []string
	}{
		{"Map", func(p *pcoll.Pipeline) { Map(ints(p), double) }, func(u *unit) { feed(u, 1, 2) }, []string{"0: 2", "0: 4"}},
		{"Filter", func(p *pcoll.Pipeline) { Filter(ints(p), even) }, func(u *unit) { feed(u, 1, 2) }, []string{"0: 2"}},
		{"FlatMap", func(p *pcoll.Pipeline) { FlatMap(ints(p), upTo) }, func(u *unit) { feed(u, 2, -1, 0, 1) }, []string{"0: 0", "0: 1", "0: 0"}},
		{"KeyBy", func(p *pcoll.Pipeline) { KeyBy(ints(p), even) }, func(u *unit) { feed(u, 1, 2) },
			[]string{"0: {Key:false Value:1}", "0: {Key:true Value:2}"}},
		{"MapValues", func(p *pcoll.Pipeline) { MapValues(pairs(p), double) }, func(u *unit) { feed(u, pair{Key: "a", Value: 2}) },
			[]string{"0: {Key:a Value:4}"}},
		{"Keys", func(p *pcoll.Pipeline) { Keys(pairs(p)) }, func(u *unit) { feed(u, pair{Key: "a", Value: 2}) }, []string{"0: a"}},
		{"Values", func(p *pcoll.Pipeline) { Values(pairs(p)) }, func(u *unit) { feed(u, pair{Key: "a", Value: 2}) }, []string{"0: 2"}},
		{"Swap", func(p *pcoll.Pipeline) { Swap(pairs(p)) }, func(u *unit) { feed(u, pair{Key: "a", Value: 2}) }, []string{"0: {Key:2 Value:a}"}},
		{"TryMap", func(p *pcoll.Pipeline) { TryMap(ints(p), half) }, func(u *unit) { feed(u, 1, 4) },
			[]string{"1: {Input:1 Error:1 is odd}", "0: 2"}},
		{"Partition", func(p *pcoll.Pipeline) { Partition(ints(p), even) }, func(u *unit) { feed(u, 1, 2) }, []string{"1: 1", "0: 2"}},
		{"PartitionBy", func(p *pcoll.Pipeline) { PartitionBy(ints(p), 3, func(n int) int { return n }) },
			func(u *unit) { feed(u, 1, 2) }, []string{"1: 1", "2: 2"}},
	} {
		p := pcoll.New("test")
		c.build(p)
		u := open(t, p, c.name, 0)
		c.feed(u)
		u.gives(c.want...)
	}
}

func even(n int) bool { return n%2 == 0 }

func half(n int) (int, error) {
	if n%2 != 0 {
		return 0, fmt.Errorf("%d is odd", n)
	}
	return n / 2, nil
}

// upTo yields 0 to n-1; for a negative n it is no sequence at all.
func upTo(n int) iter.Seq[int] {
	if n < 0 {
		return nil
	}
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// TestUserCodeIsLocated covers that panics in user functions can be attributed:
// the context names the operator on every entry to user code, also after an
// emit has come back from downstream.
func TestUserCodeIsLocated(t *testing.T) {
	boom := func() { panic("boom") }
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
	}{
		{"Map", func(p *pcoll.Pipeline) { Map(ints(p), func(int) int { boom(); return 0 }) }},
		{"Filter", func(p *pcoll.Pipeline) { Filter(ints(p), func(int) bool { boom(); return true }) }},
		{"KeyBy", func(p *pcoll.Pipeline) { KeyBy(ints(p), func(int) int { boom(); return 0 }) }},
		{"TryMap", func(p *pcoll.Pipeline) { TryMap(ints(p), func(int) (int, error) { boom(); return 0, nil }) }},
		{"PartitionBy", func(p *pcoll.Pipeline) { PartitionBy(ints(p), 1, func(int) int { boom(); return 0 }) }},
		{"WithTimestamps", func(p *pcoll.Pipeline) { WithTimestamps(ints(p), func(int) time.Time { boom(); return time.Time{} }) }},
		{"FlatMap", func(p *pcoll.Pipeline) {
			FlatMap(ints(p), func(int) iter.Seq[int] { return func(yield func(int) bool) { yield(1); boom() } })
		}},
		{"ParDo", func(p *pcoll.Pipeline) {
			ParDo(ints(p), &breaks{how: func(emit func()) error { emit(); boom(); return nil }})
		}},
	} {
		p := pcoll.New("test")
		c.build(p)
		u := open(t, p, c.name, 0)
		u.c.Op = opNumber + 1
		host.Guard(u.c, func() { u.inst.In[0].(exec.Input[int])(u.c, 1) })
		u.fails("panic: boom")
	}
}

// breaks calls how with its emit.
type breaks struct{ how func(emit func()) error }

func (b *breaks) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	return b.how(func() { emit(c, n) })
}

func TestNoAllocations(t *testing.T) {
	seq := upTo(3) // made once: what the function allocates is its own
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
	}{
		{"Map", func(p *pcoll.Pipeline) { Map(ints(p), double) }},
		{"Filter", func(p *pcoll.Pipeline) { Filter(ints(p), even) }},
		{"FlatMap", func(p *pcoll.Pipeline) { FlatMap(ints(p), func(int) iter.Seq[int] { return seq }) }},
		{"KeyBy", func(p *pcoll.Pipeline) { KeyBy(ints(p), even) }},
		{"TryMap", func(p *pcoll.Pipeline) { TryMap(ints(p), func(n int) (int, error) { return n, nil }) }},
		{"PartitionBy", func(p *pcoll.Pipeline) { PartitionBy(ints(p), 3, func(n int) int { return n }) }},
		{"WithTimestamps", func(p *pcoll.Pipeline) { WithTimestamps(ints(p), func(int) time.Time { return time.UnixMilli(5) }) }},
		{"ParDo", func(p *pcoll.Pipeline) { ParDo(ints(p), &breaks2{}) }},
		{"Reshuffle/Hash", func(p *pcoll.Pipeline) { Reshuffle(ints(p)) }},
	} {
		p := pcoll.New("test")
		c.build(p)
		u := open(t, p, c.name, 0)
		outs := make([]any, len(u.node.Outputs))
		for i, col := range u.node.Outputs {
			outs[i] = col.Edge.Fanout(nil)
		}
		inst, err := u.node.Op.New(u.env, outs)
		if err != nil {
			t.Fatal(err)
		}
		in := inst.In[0].(exec.Input[int])
		if n := testing.AllocsPerRun(100, func() { in(u.c, 2) }); n != 0 {
			t.Errorf("%s allocates %v times an element", c.name, n)
		}
		if u.c.Err != nil {
			t.Error(u.c.Err)
		}
	}
}

type breaks2 struct{ n int }

func (b *breaks2) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	b.n += n
	emit(c, b.n)
	return nil
}

func TestFlatMapStops(t *testing.T) {
	p := pcoll.New("test")
	FlatMap(ints(p), func(int) iter.Seq[int] {
		return func(yield func(int) bool) {
			for yield(0) { // ends only when the run does
			}
		}
	})
	u := open(t, p, "FlatMap", 0)
	u.c.Err = errors.New("the run has failed downstream")
	feed(u, 1)
	u.gives("0: 0")
}

func TestPartitionOutside(t *testing.T) {
	for _, n := range []int{-1, 3} {
		p := pcoll.New("test")
		PartitionBy(ints(p), 3, func(n int) int { return n })
		feed(open(t, p, "PartitionBy", 0), n).fails(fmt.Sprintf("element %d was given partition %d; want 0 to 2", n, n))
	}
}

func TestWithTimestamps(t *testing.T) {
	const in = " in [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)"
	build := func(opts ...pcoll.Option) *unit {
		p := pcoll.New("test")
		WithTimestamps(ints(p), func(n int) time.Time {
			if n == 0 {
				return time.Time{}
			}
			return time.UnixMicro(int64(n))
		}, opts...)
		return open(t, p, "WithTimestamps", 0)
	}
	feed(build(), 1_000_000, 2_000_999).gives("0: 1000000", "0: 2000999 at 1970-01-01T00:00:02Z"+in)
	feed(build(), 999_999).fails("new event time 1970-01-01T00:00:00.999Z is before the element's 1970-01-01T00:00:01Z by more than the allowed skew of 0 ms")
	feed(build(AllowedSkew(time.Millisecond)), 999_000).gives("0: 999000 at 1970-01-01T00:00:00.999Z" + in)
	feed(build(AllowedSkew(time.Millisecond)), 998_999).fails("by more than the allowed skew of 1 ms")
	u := feed(build(AllowedSkew(time.Hour)), 0)
	u.fails("element 0 has no event time: the function returned the zero time.Time")
	u.gives()
}

// TestF30MissingEventTime: a missing event time never becomes year 1.
func TestF30MissingEventTime(t *testing.T) {
	p := pcoll.New("test")
	WithTimestamps(Create(p, 1), func(int) time.Time { return time.Time{} })
	u := open(t, p, "WithTimestamps", 0)
	u.inst.In[0].(exec.Input[int])(u.c, 1) // at the start of time, which is before year 1
	u.fails("has no event time")
}

func TestFlatten(t *testing.T) {
	p := pcoll.New("test")
	Flatten(ints(p), ints(p), ints(p))
	u := open(t, p, "Flatten", 0)
	if len(u.inst.In) != 3 {
		t.Fatalf("%d inputs", len(u.inst.In))
	}
	for i, in := range u.inst.In {
		in.(exec.Input[int])(u.c, i)
	}
	u.gives("0: 0 at -inf in global", "0: 1 at -inf in global", "0: 2 at -inf in global")
}

func TestReshuffle(t *testing.T) {
	p := pcoll.New("test")
	Reshuffle(Create[[]string](p))
	u := feed(open(t, p, "Reshuffle/Hash", 0), []string{"a", "b"}, []string{"ab"}, []string{"a", "b"})
	if u.out[0] != u.out[2] || u.out[0] == u.out[1] {
		t.Errorf("hashes do not tell elements apart by their encoding: %q", u.out)
	}

	p = pcoll.New("test")
	Reshuffle(Create[bad](p))
	feed(open(t, p, "Reshuffle/Hash", 0), bad{}).fails("cannot be encoded: coders: cannot encode bad: MarshalBinary: refuses")
}

// bad is a value whose marshaler fails.
type bad struct {
	x func() //lint:ignore U1000 a field that only the marshaler could encode
}

func (bad) MarshalBinary() ([]byte, error) { return nil, errors.New("refuses") }
func (*bad) UnmarshalBinary([]byte) error  { return nil }

func TestOrDefault(t *testing.T) {
	type all = pcoll.KV[struct{}, int]
	build := func(worker int) *unit {
		p := pcoll.New("test")
		Sum(ints(p))
		return open(t, p, "Sum/Values", worker)
	}
	advance := func(u *unit, w exec.Time) {
		t.Helper()
		if out, more := u.inst.Advance(u.c, []exec.Time{w}); out != w || more {
			t.Errorf("watermark %v becomes %v, more %v", w, out, more)
		}
	}
	u := build(0)
	for _, w := range []exec.Time{exec.MinTime, exec.Idle, exec.EndOfGlobal + 1, exec.MaxTime, exec.MaxTime} {
		advance(u, w)
	}
	u.gives("0: 0 at end-of-global-window in global")

	u = build(1)
	advance(u, exec.MaxTime)
	u.gives() // one worker is enough

	u = feed(build(0), all{Value: 5})
	advance(u, exec.MaxTime)
	u.gives("0: 5")

	// What was seen before a restart counts.
	for group := range exec.KeyGroups {
		snap, err := u.env.Stores()["done"].Snapshot(nil, group)
		if err != nil || (len(snap) > 0) != (group == 0) {
			t.Fatalf("group %d has the snapshot %x, %v", group, snap, err)
		}
		if group > 0 {
			continue
		}
		again := build(0)
		if err := again.env.Stores()["done"].Restore(snap); err != nil {
			t.Fatal(err)
		}
		advance(again, exec.MaxTime)
		again.gives()
	}
}
