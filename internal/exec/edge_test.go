package exec_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
)

// elem is an element with what surrounds it.
type elem struct {
	v string
	t exec.Time
	w exec.Window
	p exec.Pane
	k exec.Kind
}

func (e elem) put(c *exec.Ctx, in exec.Input[string]) {
	c.Time, c.Window, c.Pane, c.Kind = e.t, e.w, e.p, e.k
	in(c, e.v)
}

func see(out *[]elem) exec.Input[string] {
	return func(c *exec.Ctx, v string) { *out = append(*out, elem{v, c.Time, c.Window, c.Pane, c.Kind}) }
}

// anyElem draws elements whose columns are uniform often.
func anyElem() *rapid.Generator[elem] {
	return rapid.Custom(func(t *rapid.T) elem {
		e := elem{rapid.String().Draw(t, "v"), anyTime().Draw(t, "t"), exec.Global, exec.NoFiring, exec.Insert}
		if rapid.IntRange(0, 3).Draw(t, "windowed") == 0 {
			e.w = exec.Window{Start: anyTime().Draw(t, "start"), End: anyTime().Draw(t, "end")}
		}
		if rapid.IntRange(0, 3).Draw(t, "paned") == 0 {
			e.p = exec.Pane{Index: rapid.Int64().Draw(t, "index"), NonSpeculative: rapid.Int64().Draw(t, "non"),
				Timing: exec.Timing(rapid.IntRange(0, 3).Draw(t, "timing")), First: rapid.Bool().Draw(t, "first"), Last: rapid.Bool().Draw(t, "last")}
		}
		if rapid.IntRange(0, 3).Draw(t, "changed") == 0 {
			e.k = exec.Kind(rapid.IntRange(0, 3).Draw(t, "kind"))
		}
		return e
	})
}

// outlet takes what a writer sends, and gives batches back to be used again.
type outlet struct {
	sent    [][]exec.Batch
	free    []exec.Batch
	fullAt  int // a part with so many batches is full; 0: never
	recycle bool
}

func newOutlet(parts int) *outlet { return &outlet{sent: make([][]exec.Batch, parts)} }

func (o *outlet) Send(part int, b exec.Batch) bool {
	o.sent[part] = append(o.sent[part], b)
	return o.fullAt > 0 && len(o.sent[part]) >= o.fullAt
}

func (o *outlet) Free(int) exec.Batch {
	if len(o.free) == 0 {
		return nil
	}
	b := o.free[0]
	o.free = o.free[1:]
	return b
}

// drain feeds all batches of a part.
func (o *outlet) drain(c *exec.Ctx, part int, feed exec.Feeder) {
	for _, b := range o.sent[part] {
		feed(c, b, 0, b.Len())
		if o.recycle {
			o.free = append(o.free, b)
		}
	}
	o.sent[part] = nil
}

// TestFanoutRestoresTheContext between consumers that do what they like with it.
func TestFanoutRestoresTheContext(t *testing.T) {
	edge := exec.NewEdge[string]()
	for n := range 4 {
		var got []elem
		var ins []any
		for range n {
			ins = append(ins, exec.Input[string](func(c *exec.Ctx, v string) {
				see(&got)(c, v)
				c.Time, c.Window, c.Pane, c.Kind = 9, exec.Window{}, exec.Pane{}, exec.Delete
			}))
		}
		c := exec.NewCtx(t.Context())
		e := elem{"x", 5, exec.Window{Start: 0, End: 10}, exec.Pane{Index: 3}, exec.UpdateAfter}
		e.put(c, edge.Fanout(ins).(exec.Input[string]))
		for _, g := range got {
			if g != e {
				t.Errorf("%d consumers: one got %+v", n, g)
			}
		}
		if len(got) != n {
			t.Errorf("%d consumers: %d got the element", n, len(got))
		}
		if n > 1 && (c.Time != 5 || c.Kind != exec.UpdateAfter) {
			t.Errorf("%d consumers: the context is left at %v, %v", n, c.Time, c.Kind)
		}
	}
}

// TestWritersAndFeeders: everything arrives once, as it was sent, in order for
// each consumer, at the owner of its key group, with batches that are used again.
func TestWritersAndFeeders(t *testing.T) {
	hash := func(v string) uint64 { // spreads over groups
		h := uint64(14695981039346656037)
		for i := range len(v) {
			h = (h ^ uint64(v[i])) * 1099511628211
		}
		return h * 0x9e3779b97f4a7c15
	}
	rapid.Check(t, func(t *rapid.T) {
		edge := exec.NewEdge[string]()
		parts := rapid.IntRange(1, 5).Draw(t, "parts")
		keyed := rapid.Bool().Draw(t, "keyed")
		out := newOutlet(parts)
		out.recycle = rapid.Bool().Draw(t, "recycle")
		var route any
		if keyed {
			route = hash
		}
		w := edge.Writer(route, parts, out)
		in := w.In.(exec.Input[string])
		c := exec.NewCtx(context.Background())
		got := make([][]elem, parts)
		feeds := make([]exec.Feeder, parts)
		for p := range parts {
			feeds[p] = edge.Feeder(see(&got[p]))
		}
		var sent []elem
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			es := rapid.SliceOfN(anyElem(), 0, 30).Draw(t, "elements")
			for i := range rapid.SampledFrom([]int{1, 1, 1, 200}).Draw(t, "repeat") {
				for _, e := range es {
					e.v = fmt.Sprint(i, e.v)
					sent = append(sent, e)
					e.put(c, in)
				}
			}
			w.Flush(c)
			before := *c
			for p := range parts {
				out.drain(c, p, feeds[p])
			}
			if c.Time != before.Time || c.Window != before.Window || c.Pane != before.Pane || c.Kind != before.Kind {
				t.Fatal("a feeder leaves the context changed")
			}
		}
		total := 0
		for p, es := range got {
			total += len(es)
			rest := sent
			for _, e := range es {
				if keyed && exec.OwnerOf(exec.GroupOf(hash(e.v)), parts) != p {
					t.Fatalf("%q came to worker %d of %d", e.v, p, parts)
				}
				i := slices.Index(rest, e)
				if i < 0 {
					t.Fatalf("worker %d got %+v, which was not sent after what it got before", p, e)
				}
				rest = rest[i+1:]
			}
		}
		if total != len(sent) {
			t.Fatalf("%d elements arrived of %d", total, len(sent))
		}
	})
}

// TestSpreadTakesTurns: with full batches, and with few elements at a time.
func TestSpreadTakesTurns(t *testing.T) {
	edge := exec.NewEdge[string]()
	c := exec.NewCtx(t.Context())
	for name, each := range map[string]int{"full batches": exec.BatchSize, "few elements": 3} {
		out := newOutlet(4)
		w := edge.Writer(nil, 4, out)
		for range 8 {
			for range each {
				w.In.(exec.Input[string])(c, "x")
			}
			w.Flush(c)
			w.Flush(c) // of nothing
		}
		for p, b := range out.sent {
			if len(b) == 0 {
				t.Errorf("%s: worker %d of 4 got nothing of 8 batches", name, p)
			}
		}
	}
}

// TestFullIsReportedAndHeeded: by the writer, and by the feeder between elements.
func TestFullIsReportedAndHeeded(t *testing.T) {
	edge := exec.NewEdge[string]()
	c := exec.NewCtx(t.Context())
	out := newOutlet(1)
	out.fullAt = 2
	w := edge.Writer(nil, 1, out)
	for i := range 3 * exec.BatchSize {
		if full := i >= 2*exec.BatchSize; c.Full != full {
			t.Fatalf("after %d elements full is %v", i, c.Full)
		}
		w.In.(exec.Input[string])(c, "x")
	}
	batch := out.sent[0][0]
	n := 0
	feed := edge.Feeder(exec.Input[string](func(c *exec.Ctx, _ string) {
		n++
		c.Full = n%10 == 0
		if n == 45 {
			c.Fail(fmt.Errorf("boom"))
		}
	}))
	for _, step := range []struct{ from, max, want int }{
		{0, 1 << 62, 10}, {10, 4, 14}, {14, 0, 14}, {14, int(^uint(0) >> 1), 20}, {20, 100, 30}, {30, 100, 40}, {40, 100, 45}, {45, 100, 45},
	} {
		c.Full = false
		if next := feed(c, batch, step.from, step.max); next != step.want {
			t.Errorf("fed from %d at most %d: next is %d, want %d", step.from, step.max, next, step.want)
		}
	}
	if feed(c, batch, batch.Len(), 5) != batch.Len() {
		t.Error("feeding behind the end moves")
	}
}

// collected returns the elements of a batch.
func collected(edge exec.Edge, b exec.Batch, from int) (got []elem) {
	edge.Feeder(see(&got))(exec.NewCtx(context.Background()), b, from, b.Len()-from)
	return got
}

// packed makes one batch of elements.
func packed(edge exec.Edge, es []elem) exec.Batch {
	out := newOutlet(1)
	w := edge.Writer(nil, 1, out)
	c := exec.NewCtx(context.Background())
	for _, e := range es {
		e.put(c, w.In.(exec.Input[string]))
	}
	w.Flush(c)
	return out.sent[0][0]
}

// TestEncodeDecode: any batch, from any element on, survives.
func TestEncodeDecode(t *testing.T) {
	edge := exec.NewEdge[string]()
	rapid.Check(t, func(t *rapid.T) {
		es := rapid.SliceOfN(anyElem(), 1, 20).Draw(t, "elements")
		from := rapid.IntRange(0, len(es)).Draw(t, "from")
		b := packed(edge, es)
		enc, err := edge.Encode([]byte("before"), b, from)
		if err != nil || string(enc[:6]) != "before" {
			t.Fatal(err)
		}
		back, err := edge.Decode(enc[6:])
		if err != nil {
			t.Fatal(err)
		}
		if got := collected(edge, back, 0); !slices.Equal(got, es[from:]) || back.Len() != len(es)-from {
			t.Fatalf("got  %+v\nwant %+v", got, es[from:])
		}
	})
}

func TestDecodeRefusesDamage(t *testing.T) {
	edge := exec.NewEdge[string]()
	enc, err := edge.Encode(nil, packed(edge, []elem{{v: "abc", t: 5}, {v: "d", t: 6}}), 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range enc {
		if _, err := edge.Decode(enc[:n]); err == nil || !strings.Contains(err.Error(), "batch of string") {
			t.Errorf("cut to %d of %d bytes: error %v", n, len(enc), err)
		}
	}
	for name, src := range map[string][]byte{
		"left over":          append(slices.Clone(enc), 0),
		"more than there is": {255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"flags":              {1, 0, 0, 0, 0, 0, 0x40, 0},
	} {
		if _, err := edge.Decode(src); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzDecode: damaged batches give errors, and what is accepted encodes again as it was.
func FuzzDecode(f *testing.F) {
	edge := exec.NewEdge[string]()
	for _, es := range [][]elem{{{v: "abc", t: 5}}, {{v: "", w: exec.Global}, {v: "x", k: exec.Delete, p: exec.NoFiring}}} {
		enc, err := edge.Encode(nil, packed(edge, es), 0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc)
	}
	f.Add([]byte{255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := edge.Decode(src)
		if err != nil {
			return
		}
		if b.Len() > len(src) {
			t.Fatalf("%d elements of %d bytes", b.Len(), len(src))
		}
		enc, err := edge.Encode(nil, b, 0)
		if err != nil {
			t.Fatal(err)
		}
		again, err := edge.Decode(enc)
		if err != nil || !slices.Equal(collected(edge, again, 0), collected(edge, b, 0)) {
			t.Fatalf("%x decodes as %+v and does not survive: %v", src, collected(edge, b, 0), err)
		}
	})
}

// TestNoCoder: an edge of a type that cannot be encoded carries elements all the
// same, and says why it cannot when it has to.
func TestNoCoder(t *testing.T) {
	edge := exec.NewEdge[chan int]()
	if edge.Check() == nil || edge.Elem() != reflect.TypeFor[chan int]() {
		t.Fatalf("%v: %v", edge.Elem(), edge.Check())
	}
	if _, err := edge.Encode(nil, nil, 0); err == nil {
		t.Error("Encode says nothing")
	}
	if _, err := edge.Decode(nil); err == nil {
		t.Error("Decode says nothing")
	}
	n := 0
	in, verify := edge.Checked(exec.Input[chan int](func(*exec.Ctx, chan int) { n++ }), func(_ *exec.Ctx, err error) { t.Error(err) })
	in.(exec.Input[chan int])(exec.NewCtx(t.Context()), nil)
	if verify(exec.NewCtx(t.Context())); n != 1 {
		t.Error("the element did not arrive")
	}
}

// TestChecked finds elements that do not survive their coder, and who changed them.
func TestChecked(t *testing.T) {
	edge := exec.NewEdge[[]int]()
	for want, c := range map[string]struct{ consume, after func([]int) }{
		"":                                 {},
		"a consumer changed its input":     {consume: func(v []int) { v[0] = 7 }},
		"was changed after it was emitted": {after: func(v []int) { v[0] = 7 }},
	} {
		var got []string
		fail := func(_ *exec.Ctx, err error) { got = append(got, err.Error()) }
		in, verify := edge.Checked(exec.Input[[]int](func(_ *exec.Ctx, v []int) {
			if c.consume != nil {
				c.consume(v)
			}
		}), fail)
		ctx, v := exec.NewCtx(t.Context()), []int{1, 2}
		in.(exec.Input[[]int])(ctx, v)
		if c.after != nil {
			c.after(v)
		}
		verify(ctx)
		verify(ctx) // a turn is judged once
		if all := strings.Join(got, "; "); (want == "") != (all == "") || !strings.Contains(all, want) || len(got) > 1 {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var got []string
	lossy := exec.NewEdgeOf[int](half{})
	in, _ := lossy.Checked(exec.Input[int](func(*exec.Ctx, int) { got = append(got, "arrived") }),
		func(_ *exec.Ctx, err error) { got = append(got, err.Error()) })
	in.(exec.Input[int])(exec.NewCtx(t.Context()), 200)
	in.(exec.Input[int])(exec.NewCtx(t.Context()), 300)
	in.(exec.Input[int])(exec.NewCtx(t.Context()), -1)
	if len(got) != 3 || got[0] != "arrived" || !strings.Contains(got[1], "does not survive its coder: it decodes as 44") ||
		!strings.Contains(got[2], "cannot be encoded") {
		t.Errorf("got %q", got)
	}
}

// half is a coder that keeps the low byte and refuses negative numbers.
type half struct{}

func (half) Append(dst []byte, v int) ([]byte, error) {
	if v < 0 {
		return nil, fmt.Errorf("%d is negative", v)
	}
	return append(dst, byte(v), byte(v>>8)), nil
}

func (half) Decode(src []byte) (int, []byte, error) { return int(src[0]), src[2:], nil }

// TestTap sees elements boxed, before the consumer does.
func TestTap(t *testing.T) {
	edge := exec.NewEdge[string]()
	var got []string
	in := edge.Tap(exec.Input[string](func(_ *exec.Ctx, v string) { got = append(got, "in "+v) }), func(c *exec.Ctx, v any) {
		got = append(got, fmt.Sprint("tap ", v, " ", int64(c.Time)))
	})
	elem{v: "x", t: 5}.put(exec.NewCtx(t.Context()), in.(exec.Input[string]))
	if want := []string{"tap x 5", "in x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWritingAllocatesNothing per element once batches are used again.
func TestWritingAllocatesNothing(t *testing.T) {
	edge := exec.NewEdge[int64]()
	out := newOutlet(2)
	out.recycle = true
	w := edge.Writer(func(v int64) uint64 { return uint64(v) << 57 }, 2, out)
	in := w.In.(exec.Input[int64])
	feed := edge.Feeder(exec.Input[int64](func(*exec.Ctx, int64) {}))
	c := exec.NewCtx(t.Context())
	round := func() {
		for i := range int64(10 * exec.BatchSize) {
			in(c, i)
		}
		w.Flush(c)
		out.drain(c, 0, feed)
		out.drain(c, 1, feed)
	}
	round()
	round()
	if n := testing.AllocsPerRun(10, round); n > 60 {
		t.Errorf("%v allocations for %d elements", n, 10*exec.BatchSize)
	}
}
