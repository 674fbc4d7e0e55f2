package transforms_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	. "github.com/penstock-dev/penstock/transforms"
)

// witness writes down what happens to it.
type witness struct {
	Log  *[]string
	Fail string // name of the method that is to fail
	Odd  Output[int]

	seen int
}

var (
	_ DoFn[int, string]      = (*witness)(nil)
	_ Setupper               = (*witness)(nil)
	_ BundleStarter          = (*witness)(nil)
	_ BundleFinisher[string] = (*witness)(nil)
	_ Teardowner             = (*witness)(nil)
)

func (w *witness) call(method string) error {
	*w.Log = append(*w.Log, fmt.Sprintf("%s(%d)", method, w.seen))
	if w.Fail == method {
		return errors.New("as told")
	}
	return nil
}

func (w *witness) Setup(*pcoll.Context) error       { return w.call("Setup") }
func (w *witness) StartBundle(*pcoll.Context) error { return w.call("StartBundle") }
func (w *witness) Teardown() error                  { return w.call("Teardown") }

func (w *witness) Process(c *pcoll.Context, n int, emit pcoll.Emit[string]) error {
	w.seen++
	if n%2 != 0 {
		w.Odd.Emit(c, n)
	} else {
		emit(c, fmt.Sprint(n))
	}
	return w.call("Process")
}

func (w *witness) FinishBundle(c *pcoll.Context, emit pcoll.Emit[string]) error {
	minute := pcoll.Window{Start: 0, End: 60000}
	emit.In(c, minute, time.UnixMilli(1000), fmt.Sprint("seen ", w.seen))
	w.Odd.In(c, minute, time.UnixMilli(1000), -w.seen)
	return w.call("FinishBundle")
}

func TestLifecycle(t *testing.T) {
	p := pcoll.New("test")
	var log []string
	fn := &witness{Log: &log}
	ParDo(ints(p), fn)
	first := open(t, p, "ParDo", 0)
	feed(first, 1, 2)
	first.inst.Turn(first.c)
	first.inst.Turn(first.c) // no bundle has begun
	feed(first, 4)
	first.inst.Turn(first.c)
	second := feed(open(t, p, "ParDo", 1), 6)
	second.inst.Turn(second.c)
	for _, u := range []*unit{first, second} {
		if err := u.inst.Close(); err != nil {
			t.Error(err)
		}
	}
	first.gives("1: 1", "0: 2", "0: seen 2", "1: -2", "0: 4", "0: seen 3", "1: -3")
	second.gives("0: 6", "0: seen 1", "1: -1") // a worker has a copy of its own
	first.counts(exec.Elements, 3)
	want := "Setup(0) StartBundle(0) Process(1) Process(2) FinishBundle(2) StartBundle(2) Process(3) FinishBundle(3) " +
		"Setup(0) StartBundle(0) Process(1) FinishBundle(1) Teardown(3) Teardown(1)"
	if got := strings.Join(log, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if fn.seen != 0 {
		t.Errorf("the program's own value was changed: %+v", fn)
	}
}

func TestLifecycleFailures(t *testing.T) {
	for _, c := range []struct{ method, want, called string }{
		{"StartBundle", "StartBundle: as told", "Setup(0) StartBundle(0)"},
		{"Process", "as told", "Setup(0) StartBundle(0) Process(1)"},
		{"FinishBundle", "FinishBundle: as told", "Setup(0) StartBundle(0) Process(1) FinishBundle(1)"},
	} {
		p := pcoll.New("test")
		var log []string
		ParDo(ints(p), &witness{Log: &log, Fail: c.method})
		u := feed(open(t, p, "ParDo", 0), 2)
		u.inst.Turn(u.c)
		u.fails(c.want)
		if got := strings.Join(log, " "); got != c.called {
			t.Errorf("%s: called %s, want %s", c.method, got, c.called)
		}
	}
	var log []string
	p := pcoll.New("test")
	ParDo(ints(p), &witness{Log: &log, Fail: "Teardown"})
	if err := open(t, p, "ParDo", 0).inst.Close(); err == nil || err.Error() != "calling Teardown: as told" {
		t.Errorf("Close returns %v", err)
	}
	p = pcoll.New("test")
	ParDo(ints(p), &witness{Log: &log, Fail: "Setup"})
	node := pcoll.Graph(p).Nodes[1]
	env := host.NewOp(host.Place{Name: "ParDo", Count: 1, Context: t.Context(), Log: quiet})
	sinks := []any{exec.Input[string](nil), exec.Input[int](nil)}
	if _, err := node.Op.New(env, sinks); err == nil || err.Error() != "calling Setup: as told" {
		t.Errorf("New returns %v", err)
	}
}

// process makes a DoFn of a function.
type process struct {
	Do  func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error
	End func(c *pcoll.Context, emit pcoll.Emit[int]) error
}

func (p *process) Process(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
	return p.Do(c, n, emit)
}

func (p *process) FinishBundle(c *pcoll.Context, emit pcoll.Emit[int]) error {
	if p.End == nil {
		return nil
	}
	return p.End(c, emit)
}

func TestEmit(t *testing.T) {
	sec := func(n int) time.Time { return time.Unix(int64(n), 0) }
	const minute = " in [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)"
	for _, c := range []struct {
		name string
		fn   process
		opts []pcoll.Option
		want []string
		fail string
	}{
		{name: "later", fn: process{Do: func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
			emit.At(c, sec(5), n)
			emit(c, n+1) // the element's time is back
			return nil
		}}, want: []string{"0: 8 at 1970-01-01T00:00:05Z" + minute, "0: 9"}},
		{name: "earlier", fn: process{Do: func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
			emit.At(c, sec(0), n)
			return nil
		}}, fail: "output time 1970-01-01T00:00:00Z is before the input's time 1970-01-01T00:00:01Z by more than the allowed skew of 0 ms"},
		{name: "earlier, allowed", opts: []pcoll.Option{AllowedSkew(time.Second)},
			fn: process{Do: func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
				emit.At(c, sec(0), n)
				return nil
			}}, want: []string{"0: 8 at 1970-01-01T00:00:00Z" + minute}},
		{name: "another window", fn: process{Do: func(c *pcoll.Context, n int, emit pcoll.Emit[int]) error {
			emit.In(c, pcoll.Window{Start: 60000, End: 120000}, sec(61), n)
			return nil
		}}, want: []string{"0: 8 at 1970-01-01T00:01:01Z in [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z)"}},
		{name: "nowhere", fn: process{Do: func(*pcoll.Context, int, pcoll.Emit[int]) error { return nil },
			End: func(c *pcoll.Context, emit pcoll.Emit[int]) error { emit(c, 1); return nil }},
			fail: "an element was emitted where none is being processed; give it a time and a window with emit.In"},
		{name: "no window", fn: process{Do: func(*pcoll.Context, int, pcoll.Emit[int]) error { return nil },
			End: func(c *pcoll.Context, emit pcoll.Emit[int]) error { emit.At(c, sec(1), 1); return nil }},
			fail: "give it a time and a window with emit.In"},
	} {
		p := pcoll.New("test")
		ParDo(ints(p), &c.fn, c.opts...)
		u := feed(open(t, p, "ParDo", 0), 8)
		u.inst.Turn(u.c)
		if c.fail != "" {
			u.fails(c.fail)
			continue
		}
		if u.c.Err != nil {
			t.Errorf("%s: %v", c.name, u.c.Err)
		}
		u.gives(c.want...)
	}
}

// TestContext covers what a function can learn about its element and its worker.
func TestContext(t *testing.T) {
	p := pcoll.New("test")
	var got []string
	ParDo(ints(p), &process{Do: func(c *pcoll.Context, n int, _ pcoll.Emit[int]) error {
		i, of := c.Worker()
		got = append(got, fmt.Sprint(c.EventTime(), c.Window(), c.Pane().Index, c.Pane().Timing, i, of, c.Context().Err()))
		pcoll.Counter(c, "odd").Add(int64(n % 2))
		return nil
	}})
	u := feed(open(t, p, "ParDo", 1), 3)
	u.counts("user:odd", 1)
	want := "1970-01-01 00:00:01 +0000 UTC [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z) 3 EARLY 1 2 <nil>"
	if !slices.Equal(got, []string{want}) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// stray emits to an output that is not its own.
type stray struct {
	idle
	Out  Output[int]
	Orig *stray
}

func (s *stray) Process(c *pcoll.Context, n int, _ pcoll.Emit[int]) error {
	s.Orig.Out.Emit(c, n)
	return nil
}

func TestOutputOfAnother(t *testing.T) {
	p := pcoll.New("test")
	fn := &stray{}
	fn.Orig = fn
	ParDo(ints(p), fn)
	feed(open(t, p, "ParDo", 0), 1).fails("an Output[int] was emitted to that is not a field of the worker's own DoFn")
}

// nested has an output in an embedded struct, and one of its own with a time.
type nested struct {
	base
	Mine Output[string]
}

func (n *nested) Process(c *pcoll.Context, v int, emit pcoll.Emit[int]) error {
	n.Late.Emit(c, v)
	n.Mine.At(c, time.Unix(2, 0), "at 2")
	return nil
}

func TestEmbeddedOutput(t *testing.T) {
	p := pcoll.New("test")
	fn := &nested{}
	ParDo(ints(p), fn)
	if Map(fn.Late.Collection(), double).Pipeline() != p {
		t.Error("the output's collection is of no pipeline")
	}
	feed(open(t, p, "ParDo", 0), 4).gives("1: 4", "2: at 2 at 1970-01-01T00:00:02Z in [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)")
}
