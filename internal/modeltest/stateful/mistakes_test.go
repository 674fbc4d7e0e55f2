//lint:file-ignore U1000 unexported fields are there to be refused

package stateful_test

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// process is the method of functions that are wrong otherwise.
type process struct{}

func (process) Process(*pcoll.Context, pair, pcoll.Emit[string]) error { return nil }

type onTimer struct{}

func (onTimer) OnTimer(*pcoll.Context, string, timers.Firing, pcoll.Emit[string]) error { return nil }

type secret struct{ balance int }

type (
	unnamed struct {
		process
		Sum state.Value[int]
	}
	unnamedTimer struct {
		process
		onTimer
		End timers.EventTime
	}
	twins struct {
		process
		A state.Value[int] `state:"x"`
		B state.Bag[int]   `state:"x"`
	}
	twinTimers struct {
		process
		onTimer
		A timers.EventTime      `timer:"x"`
		B timers.ProcessingTime `timer:"x"`
	}
	hidden struct {
		process
		sum state.Value[int] `state:"sum"`
	}
	hiddenTimer struct {
		process
		onTimer
		end timers.EventTime `timer:"end"`
	}
	pointed struct {
		process
		Sum *state.Value[int] `state:"sum"`
	}
	untold struct {
		process
		End timers.EventTime `timer:"end"`
	}
	untimed struct {
		process
		onTimer
	}
	wrongTag struct {
		process
		Sum int `state:"sum"`
	}
	wrongTimerTag struct {
		process
		Sum state.Value[int] `state:"sum" timer:"sum"`
	}
	wrongTimer struct {
		process
		End timers.EventTime `timer:"end"`
	}
	wrongEnd    struct{ process }
	secretValue struct {
		process
		V state.Value[secret] `state:"v"`
	}
	secretBag struct {
		process
		V state.Bag[secret] `state:"v"`
	}
	secretList struct {
		process
		V state.OrderedList[func()] `state:"v"`
	}
	secretMap struct {
		process
		V state.Map[string, secret] `state:"v"`
	}
	secretMulti struct {
		process
		V state.Multimap[string, chan int] `state:"v"`
	}
	floatMap struct {
		process
		V state.Map[float64, int] `state:"v"`
	}
	floatMulti struct {
		process
		V state.Multimap[float64, int] `state:"v"`
	}
	pointerSet struct {
		process
		V state.Set[*int] `state:"v"`
	}
	secretCombining struct {
		process
		V state.Combining[int, secret, int] `state:"v"`
	}
	noCombiner struct {
		process
		V state.Combining[int, int, int] `state:"v"`
	}
	ttl struct {
		process
		V state.Value[int] `state:"v"`
	}
)

func (*wrongTimer) OnTimer(*pcoll.Context, int, timers.Firing, pcoll.Emit[string]) error { return nil }
func (*wrongEnd) OnWindowExpiration(*pcoll.Context, pcoll.Emit[string]) error            { return nil }

type secretly struct{}

func (secretly) Create() secret             { return secret{} }
func (secretly) Add(a secret, _ int) secret { return a }
func (secretly) Merge(a, _ secret) secret   { return a }
func (secretly) Extract(secret) int         { return 0 }

type (
	stateInParDo struct {
		process
		Sum state.Value[int] `state:"sum"`
	}
	timerInParDo struct {
		process
		End timers.EventTime `timer:"end"`
	}
)

type byFloat struct{}

func (byFloat) Process(*pcoll.Context, pcoll.KV[float64, int], pcoll.Emit[int]) error { return nil }

type opaque struct{}

func (opaque) Process(*pcoll.Context, pcoll.KV[string, func()], pcoll.Emit[int]) error { return nil }

func TestStatefulMistakes(t *testing.T) {
	apply := func(fn StatefulFn[string, int, string], opts ...pcoll.Option) func(*pcoll.Pipeline) {
		return func(p *pcoll.Pipeline) { StatefulParDo(Create[pair](p), fn, opts...) }
	}
	for name, tc := range map[string]struct {
		build func(*pcoll.Pipeline)
		want  string
	}{
		"state without a name": {apply(&unnamed{}),
			"unnamed.Sum is state without a name to store it under; give the field a tag, such as `state:\"sum\"`"},
		"timer without a name": {apply(&unnamedTimer{}),
			"unnamedTimer.End is a timer without a name to store it under; give the field a tag, such as `timer:\"end\"`"},
		"states of one name": {apply(&twins{}), "twins.A and B have the same name, `state:\"x\"`; give each a name of its own"},
		"timers of one name": {apply(&twinTimers{}), "twinTimers.A and B have the same name, `timer:\"x\"`"},
		"unexported state":   {apply(&hidden{}), "hidden.sum is state and must be exported"},
		"unexported timer":   {apply(&hiddenTimer{}), "hiddenTimer.end is a timer and must be exported"},
		"pointer to state":   {apply(&pointed{}), "pointed.Sum is a *state.Value[int]; make the field a state.Value[int], not a pointer"},
		"state in a copy":    {apply(ttl{}), "ttl.V is state, which cannot be bound in a copy; give StatefulParDo a pointer"},
		"no OnTimer": {apply(&untold{}),
			"untold has timers and no OnTimer to fire them; give it the method OnTimer(*pcoll.Context, string, timers.Firing, pcoll.Emit[string]) error"},
		"OnTimer of another key": {apply(&wrongTimer{}),
			"wrongTimer.OnTimer is a func(*pcoll.Context, int, timers.Firing, pcoll.Emit[string]) error, which is not called; want OnTimer(*pcoll.Context, string,"},
		"no timer": {apply(&untimed{}), "untimed.OnTimer is never called: no field is a timer"},
		"OnWindowExpiration of another type": {apply(&wrongEnd{}),
			"wrongEnd.OnWindowExpiration is a func(*pcoll.Context, pcoll.Emit[string]) error, which is not called"},
		"tag of what is no state": {apply(&wrongTag{}),
			"wrongTag.Sum has the tag `state:\"sum\"` and is a int, which is not state; use a type of package state, or remove the tag"},
		"tag of what is no timer":    {apply(&wrongTimerTag{}), "which is not a timer; use a type of package timers"},
		"value without a coder":      {apply(&secretValue{}), "state \"v\", stateful_test.secretValue.V: coders: cannot encode"},
		"bag without a coder":        {apply(&secretBag{}), "balance"},
		"list without a coder":       {apply(&secretList{}), "func()"},
		"map value without a coder":  {apply(&secretMap{}), "balance"},
		"multimap without a coder":   {apply(&secretMulti{}), "chan int"},
		"map key not canonical":      {apply(&floatMap{}), "float64 has no canonical encoding"},
		"multimap key not canonical": {apply(&floatMulti{}), "float64 has no canonical encoding"},
		"set element not canonical":  {apply(&pointerSet{}), "*int has no canonical encoding"},
		"combining without a coder":  {apply(&secretCombining{V: state.Combined[int, secret, int](secretly{})}), "balance"},
		"no combiner": {apply(&noCombiner{}),
			"state \"v\", stateful_test.noCombiner.V: the field has no combiner; give it one, as in state.Combined(combine.Sum[int64]())"},
		"time to live": {apply(&ttl{V: state.Value[int]{TTL: state.AfterEventTime(-time.Second)}}), "the time to live -1s cannot be"},
		"fine time to live": {apply(&ttl{V: state.Value[int]{TTL: state.AfterProcessingTime(time.Microsecond)}}),
			"the time to live 1µs cannot be"},
		"nil":    {apply(nil), "the DoFn is nil"},
		"option": {apply(&ttl{}, NoDefault()), "NoDefault does not apply to StatefulParDo"},
		"state in ParDo": {func(p *pcoll.Pipeline) { ParDo(Create[pair](p), &stateInParDo{}) },
			"stateInParDo.Sum is state, which belongs to a key; make the input pairs with KeyBy and use StatefulParDo"},
		"timer in ParDo": {func(p *pcoll.Pipeline) { ParDo(Create[pair](p), &timerInParDo{}) },
			"timerInParDo.End is a timer, which belongs to a key"},
		"sorted ParDo": {func(p *pcoll.Pipeline) { ParDo(Create[pair](p), process{}, TimeSorted()) }, "TimeSorted does not apply to ParDo"},
		"key not canonical": {func(p *pcoll.Pipeline) { StatefulParDo(Create[pcoll.KV[float64, int]](p), byFloat{}) },
			"float64 has no canonical encoding"},
		"value of input": {func(p *pcoll.Pipeline) { StatefulParDo(Create[pcoll.KV[string, func()]](p), opaque{}) }, "func()"},
		"merging windows": {func(p *pcoll.Pipeline) {
			StatefulParDo(windowing.Into(Create[pair](p), windowing.Sessions(time.Minute)), &ttl{})
		}, "state belongs to a window, and windows of sessions(1m0s) may merge; use windows that do not, such as windowing.Fixed"},
		"withdrawals": {func(p *pcoll.Pipeline) {
			in := windowing.Into(Create[pair](p), windowing.Fixed(time.Minute), windowing.Retracting(), windowing.AllowedLateness(0),
				windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1)}))
			StatefulParDo(CombinePerKey(in, combine.Sum[int]()), &ttl{})
		}, "the input may hold withdrawals, which a function with state does not undo"},
		"used twice": {func(p *pcoll.Pipeline) {
			fn := &ttl{}
			StatefulParDo(Create[pair](p), fn, pcoll.Named("One"))
			StatefulParDo(Create[pair](p), fn)
		}, "this *stateful_test.ttl is already used by One"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("mistakes")
			tc.build(p)
			err := p.Err()
			switch {
			case err == nil:
				t.Fatal("no error")
			case !strings.Contains(err.Error(), tc.want):
				t.Errorf("got %v, want %q", err, tc.want)
			case !strings.Contains(err.Error(), "mistakes_test.go:"):
				t.Errorf("the error is not located: %v", err)
			}
		})
	}
}

func TestTimeToLiveIsPrinted(t *testing.T) {
	for ttl, want := range map[state.TTL]string{{}: "forever", state.AfterEventTime(time.Second): "1s of event time",
		state.AfterProcessingTime(time.Minute): "1m0s of processing time"} {
		if got := ttl.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
