package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// stateful is a function with state and timers, and every method that one can have.
type stateful struct {
	page
	Sum   state.Value[int]      `state:"sum"`
	Event timers.EventTime      `timer:"event"`
	Clock timers.ProcessingTime `timer:"clock"`
}

var (
	_ StatefulFn[string, int, int] = (*stateful)(nil)
	_ TimerFn[string, int]         = (*stateful)(nil)
	_ ExpirationFn[string, int]    = (*stateful)(nil)
	_ BundleFinisher[int]          = (*stateful)(nil)
)

func (f *stateful) Process(c *pcoll.Context, e pair, emit pcoll.Emit[int]) error {
	f.Sum.Set(c, f.Sum.Get(c)+e.Value)
	if e.Value == 3 {
		f.Event.Set(c, sec(4))
	}
	if e.Value == 4 {
		f.Clock.SetAfter(c, time.Second)
	}
	emit(c, f.Sum.Get(c))
	return f.call("Process")
}

func (f *stateful) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[int]) error {
	emit(c, f.Sum.Get(c))
	if f.Clock.Fired(t) {
		return f.call("OnTimer by the clock")
	}
	return f.call("OnTimer")
}

func (f *stateful) OnWindowExpiration(c *pcoll.Context, key string, emit pcoll.Emit[int]) error {
	return f.call("OnWindowExpiration")
}

func (f *stateful) FinishBundle(c *pcoll.Context, emit pcoll.Emit[int]) error {
	return f.call("FinishBundle")
}

// reading is a DoFn with a side input, for whose elements it waits.
type reading struct {
	elementwise
	View side.Singleton[int]
}

func (f *reading) Process(c *pcoll.Context, e pair, emit pcoll.Emit[int]) error {
	emit(c, f.View.Get())
	return f.elementwise.Process(c, e, emit)
}

// A subject is a DoFn applied to pairs: it gives its diary.
type subject struct {
	name    string
	methods []string
	apply   func(in pcoll.PCollection[pair], p page) pcoll.PCollection[int]
}

var trouble = pcoll.Named("Trouble")

var subjects = []subject{
	{"ParDo", []string{"Setup", "StartBundle", "Process", "FinishBundle", "Teardown"},
		func(in pcoll.PCollection[pair], p page) pcoll.PCollection[int] {
			fn := &elementwise{page: p}
			main := ParDo(in, fn, trouble)
			return Flatten(main, fn.Odd.Collection())
		}},
	{"ParDo behind an exchange", []string{"Setup", "StartBundle", "Process", "FinishBundle", "Teardown"},
		func(in pcoll.PCollection[pair], p page) pcoll.PCollection[int] {
			return ParDo(Reshuffle(in), &elementwise{page: p}, trouble)
		}},
	{"ParDo with a side input", []string{"Setup", "StartBundle", "Process", "FinishBundle", "Teardown"},
		func(in pcoll.PCollection[pair], p page) pcoll.PCollection[int] {
			return ParDo(in, &reading{elementwise: elementwise{page: p}, View: side.AsSingleton(Create(in.Pipeline(), 7))}, trouble)
		}},
	{"StatefulParDo", []string{"Setup", "StartBundle", "Process", "OnTimer", "OnTimer by the clock", "OnWindowExpiration", "FinishBundle", "Teardown"},
		func(in pcoll.PCollection[pair], p page) pcoll.PCollection[int] {
			return StatefulParDo(windowing.Into(in, windowing.Fixed(10*time.Second)), &stateful{page: p}, trouble)
		}},
}

// TestEachInstanceIsCalledInOrder: Setup, bundles of something with their begin
// and end, Teardown; whatever a DoFn has, on each instance by itself.
func TestEachInstanceIsCalledInOrder(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, run runFunc) {
				p, d := pcoll.New("order"), &diary{}
				s.apply(keyed(p), page{Diary: d})
				if err := run(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				d.check(t, "", true)
				if d.used() == 0 {
					t.Errorf("no instance had an element: %v", d.calls)
				}
				for i, calls := range d.calls {
					if n := count(calls, "StartBundle"); n != count(calls, "FinishBundle") {
						t.Errorf("instance %d: %d bundles begin, not as many end: %v", i, n, calls)
					}
				}
			})
		})
	}
}

func count(calls []string, name string) (n int) {
	for _, c := range calls {
		if c == name {
			n++
		}
	}
	return n
}

// TestFailuresAreToldAndAllIsReleased: an error or a panic in any method ends
// the run; its instance is torn down, once, and called no more; so are those of
// the transforms around it. A Setup that fails has to release by itself what it had.
func TestFailuresAreToldAndAllIsReleased(t *testing.T) {
	for _, s := range subjects {
		for _, at := range s.methods {
			for way, how := range ways {
				t.Run(s.name+"/"+at+"/"+way, func(t *testing.T) {
					onEach(t, func(t *testing.T, run runFunc) {
						p := pcoll.New("trouble")
						before, d, behind := &diary{}, &diary{}, &diary{}
						in := ParDo(keyed(p), &healthy{page{Diary: before}}, pcoll.Named("Before"))
						out := s.apply(in, page{Diary: d, At: at, How: how})
						ParDo(KeyBy(out, func(int) string { return "k" }), &healthy{page{Diary: behind}}, pcoll.Named("Behind"))
						texts := []string{": Trouble: "}
						switch {
						case way == "panic":
							texts = append(texts, "panic: as told", "diary_test.go:")
						case at == "OnTimer by the clock":
							texts = append(texts, "timer \"clock\": as told")
						case at == "OnTimer":
							texts = append(texts, "timer \"", "as told")
						case at != "Process":
							texts = append(texts, at+": as told")
						}
						if at == "Process" {
							texts = append(texts, "element time 1970-01-01T00:00:01Z")
						}
						failsWith(t, run(t.Context(), p), texts...)
						d.check(t, at, false)
						before.checkReleased(t)
						behind.checkReleased(t)
					})
				})
			}
		}
	}
}

// checkReleased only looks at the ends of the pages: what was set up is torn
// down, last and once. There is nothing in a diary that was never opened.
func (d *diary) checkReleased(t *testing.T) {
	t.Helper()
	for i, calls := range d.calls {
		if slices.Index(calls, "Teardown") != len(calls)-1 || calls[0] != "Setup" {
			t.Errorf("instance %d of a transform behind: calls %s", i, strings.Join(calls, " "))
		}
	}
}
