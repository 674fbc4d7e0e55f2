package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/teststream"
	. "github.com/penstock-dev/penstock/transforms"
)

type pair = pcoll.KV[string, int]

func sec(n int) time.Time { return time.Unix(int64(n), 0) }

// errTold is what goes wrong. It must be found in the error of the run.
var errTold = errors.New("as told")

// ways are how it goes wrong.
var ways = map[string]func() error{
	"error": func() error { return errTold },
	"panic": func() error { panic(errTold) },
}

// diary holds the calls of each instance of a DoFn, in their order.
type diary struct {
	sync.Mutex
	calls [][]string
}

// open begins the page of an instance, whose number it returns.
func (d *diary) open() int {
	d.Lock()
	defer d.Unlock()
	d.calls = append(d.calls, nil)
	return len(d.calls) - 1
}

func (d *diary) add(id int, call string) {
	d.Lock()
	defer d.Unlock()
	d.calls[id] = append(d.calls[id], call)
}

// page is the part of a DoFn that writes a diary and fails when its time comes.
type page struct {
	Diary *diary
	At    string       // the method that fails; empty for none
	How   func() error // of At
	id    int
}

func (p *page) call(name string) error {
	p.Diary.add(p.id, name)
	if name == p.At {
		return p.How()
	}
	return nil
}

func (p *page) Setup(*pcoll.Context) error {
	p.id = p.Diary.open()
	return p.call("Setup")
}
func (p *page) StartBundle(*pcoll.Context) error { return p.call("StartBundle") }
func (p *page) Teardown() error                  { return p.call("Teardown") }

// The calls of a whole run, of a run that another failed, and of an instance
// that failed itself in some method.
const (
	calls  = "( Process| OnTimer| OnTimer by the clock| OnWindowExpiration)"
	bundle = "( StartBundle" + calls + "+ FinishBundle)"
)

var (
	wholeRun    = regexp.MustCompile("^Setup" + bundle + "* Teardown$")
	cutShort    = regexp.MustCompile("^Setup" + bundle + "*( StartBundle" + calls + "*)? Teardown$")
	failsItself = regexp.MustCompile("^Setup" + bundle + "*( StartBundle" + calls + "*( FinishBundle)?)?( Teardown)?$")
)

// check compares each instance's calls with what they may be. Where method at is
// to fail, an instance that got there is called no more but for its Teardown.
func (d *diary) check(t *testing.T, at string, whole bool) {
	t.Helper()
	failed := 0
	for i, calls := range d.calls {
		got := strings.Join(calls, " ")
		first := slices.Index(calls, at)
		switch {
		case at == "" || first < 0:
			if want := map[bool]*regexp.Regexp{true: wholeRun, false: cutShort}[whole || at == "Teardown"]; !want.MatchString(got) {
				t.Errorf("instance %d: calls %s, want %v", i, got, want)
			}
			continue
		case !failsItself.MatchString(got):
			t.Errorf("instance %d: calls %s, want %v", i, got, failsItself)
		}
		failed++
		after := strings.Join(calls[first+1:], " ")
		if want := map[bool]string{true: "", false: "Teardown"}[at == "Teardown"]; after != want {
			t.Errorf("instance %d: calls %s: after the failure %q, want %q", i, got, after, want)
		}
	}
	if at != "" && failed == 0 {
		t.Errorf("%s was called on no instance: %v", at, d.calls)
	}
	if len(d.calls) == 0 {
		t.Error("nothing was called")
	}
}

// used returns how many instances had an element.
func (d *diary) used() (n int) {
	for _, calls := range d.calls {
		if slices.Contains(calls, "Process") {
			n++
		}
	}
	return n
}

// elementwise is a DoFn with every method that one can have, and an output.
type elementwise struct {
	page
	Odd Output[int]
}

var (
	_ DoFn[pair, int]     = (*elementwise)(nil)
	_ Setupper            = (*elementwise)(nil)
	_ BundleStarter       = (*elementwise)(nil)
	_ BundleFinisher[int] = (*elementwise)(nil)
	_ Teardowner          = (*elementwise)(nil)
)

func (f *elementwise) Process(c *pcoll.Context, e pair, emit pcoll.Emit[int]) error {
	if e.Value%2 == 1 {
		f.Odd.Emit(c, e.Value)
	} else {
		emit(c, e.Value)
	}
	return f.call("Process")
}

func (f *elementwise) FinishBundle(c *pcoll.Context, emit pcoll.Emit[int]) error {
	emit.In(c, pcoll.Global, sec(9), 100)
	return f.call("FinishBundle")
}

// healthy is a DoFn to stand beside one that fails.
type healthy struct{ page }

func (f *healthy) Process(c *pcoll.Context, e pair, emit pcoll.Emit[pair]) error {
	emit(c, e)
	return f.call("Process")
}

func (f *healthy) FinishBundle(*pcoll.Context, pcoll.Emit[pair]) error { return f.call("FinishBundle") }

// runFunc runs a pipeline to its end.
type runFunc func(ctx context.Context, p *pcoll.Pipeline) error

// runners are the ways to run, by name. A test builds a new pipeline for each, so
// that a diary tells of one run.
var runners = map[string]runFunc{
	"direct":  func(ctx context.Context, p *pcoll.Pipeline) error { _, err := direct.Run(ctx, p); return err },
	"local-1": onWorkers(1), "local-2": onWorkers(2), "local-5": onWorkers(5),
}

func onWorkers(n int) runFunc {
	return func(ctx context.Context, p *pcoll.Pipeline) error {
		_, err := local.Run(ctx, p, local.Workers(n), local.Logger(slog.New(slog.DiscardHandler)))
		return err
	}
}

// onEach calls do for each runner.
func onEach(t *testing.T, do func(t *testing.T, run runFunc)) {
	for _, name := range slices.Sorted(maps.Keys(runners)) {
		t.Run(name, func(t *testing.T) { do(t, runners[name]) })
	}
}

// failsWith checks the error of a run.
func failsWith(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, errTold) {
		t.Errorf("the cause is not in the error: %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
}

// keyed is a script of two bundles of many keys.
func keyed(p *pcoll.Pipeline) pcoll.PCollection[pair] {
	var one, two []pair
	for i := range 20 {
		one, two = append(one, pcoll.Pair(fmt.Sprint("k", i), i)), append(two, pcoll.Pair(fmt.Sprint("k", i), 20+i))
	}
	return teststream.New[pair]().Elements(sec(1), one...).Elements(sec(2), two...).Watermark(sec(5)).
		ProcessingTime(time.Minute).Source(p)
}
