package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
	"github.com/penstock-dev/penstock/transforms"
)

// A State says what a function with state does. Every element is kept in a bag,
// a sum and a list by time. Unless Ordered is set, nothing that it emits depends on
// the order in which the elements of one bundle come.
type State struct {
	Sorted  bool // TimeSorted
	Ordered bool // elements come in an order that is the same everywhere
	Each    bool // emits each element, if Ordered with what is kept
	Event   When // an event-time timer is set
	Clock   When // a processing-time timer is set
	Delay   int64
	Output  Output // of timers
	Again   int    // how many firings set their timer once more
	Cross   bool   // firings of either timer set the other one
	Drain   Drain  // what a firing clears
	Expiry  bool   // has OnWindowExpiration
	TTL     int64  // of the bag, in ms, or 0
	Clocked bool   // the TTL is of processing time
}

// When says which timers each element sets.
type When uint8

// The timers that are set.
const (
	Never   When = iota
	ByElem       // one for each element, after its time; or some time from now
	ByFirst      // one after the first time in the list
	AtEnd        // one at the end of the window
	FromNow      // one some time after now
	whens
)

// String says when.
func (w When) String() string {
	return [...]string{"never", "each element's", "after the first", "at the end", "from now"}[w]
}

// Output says which output time timers have.
type Output uint8

// The output times.
const (
	ByItself Output = iota // the default
	OfElem                 // that of the element
	OfWindow               // the end of the window
	NoHold
	outputs
)

// String says which.
func (o Output) String() string {
	return [...]string{"default", "that of the element", "end of window", "none"}[o]
}

// Drain says what a firing clears.
type Drain uint8

// What is cleared.
const (
	Nothing Drain = iota
	All
	Before // the time that the timer was set to
	drains
)

// String says what.
func (d Drain) String() string { return [...]string{"nothing", "all", "what is before"}[d] }

// String prints all that is not its zero value.
func (s *State) String() string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Sorted, "TimeSorted")
	add(s.Each, "emits each element")
	add(s.Ordered, "order matters")
	add(s.Event != Never, "event-time timer %v", s.Event)
	add(s.Clock != Never, "processing-time timer %v", s.Clock)
	add(s.timed(), "delay %d ms, output time %v, clears %v", s.Delay, s.Output, s.Drain)
	add(s.timed() && s.Again > 0, "%d times again", s.Again)
	add(s.timed() && s.Cross, "setting the other timer")
	add(s.TTL > 0 && !s.Clocked, "TTL %d ms of event time", s.TTL)
	add(s.TTL > 0 && s.Clocked, "TTL %d ms of processing time", s.TTL)
	add(s.Expiry, "OnWindowExpiration")
	return strings.Join(parts, ", ")
}

func (s *State) timed() bool { return s.Event != Never || s.Clock != Never }

// keeps reports whether what is in the bag leaves it in what is emitted, and in no other way.
func (s *State) keeps() bool { return s.Expiry && s.TTL == 0 && (s.Drain == All || !s.timed()) }

// keeper is the function with state.
type keeper struct {
	Fired state.Value[int]                         `state:"fired"`
	Last  state.Value[int64]                       `state:"last"`
	Bag   state.Bag[string]                        `state:"bag"`
	Sum   state.Combining[string, counted, result] `state:"sum"`
	List  state.OrderedList[string]                `state:"list"`
	Event timers.EventTime                         `timer:"event"`
	Clock timers.ProcessingTime                    `timer:"clock"`
	how   State
	in    *strategy.Strategy
}

// teller is a keeper that is told of expiry.
type teller keeper

type kept = pcoll.KV[string, result]

// newKeeper returns the function for elements windowed by s.
func newKeeper(how State, s *strategy.Strategy) transforms.StatefulFn[string, string, kept] {
	f := &keeper{how: how, in: s, Sum: state.Combined(count{})}
	switch ttl := time.Duration(how.TTL) * time.Millisecond; {
	case ttl == 0:
	case how.Clocked:
		f.Bag.TTL = state.AfterProcessingTime(ttl)
	default:
		f.Bag.TTL = state.AfterEventTime(ttl)
	}
	if how.Expiry {
		return (*teller)(f)
	}
	return f
}

// limit returns t, or the window's expiry if that is earlier.
func (f *keeper) limit(c *pcoll.Context, t exec.Time) time.Time {
	return min(t, f.in.Expiry(c.Window())).Time()
}

var errDisorder = errors.New("an element came behind a later one")

func (f *keeper) Process(c *pcoll.Context, e row, emit pcoll.Emit[kept]) error {
	t := exec.TimeOf(c.EventTime())
	if f.how.Sorted {
		if last, ok := f.Last.Lookup(c); ok && last > int64(t) {
			return errDisorder
		}
		f.Last.Set(c, int64(t))
	}
	f.Bag.Add(c, e.Value)
	f.Sum.Add(c, e.Value)
	f.List.Add(c, c.EventTime(), e.Value)
	if f.how.Each {
		text := "each " + e.Value
		if f.how.Ordered {
			text += " after " + f.digest(c).Text
		}
		emit(c, pcoll.Pair(e.Key, result{Text: brief(text)}))
	}
	f.set(c, t, fmt.Sprint(e.Value, "@", t)) // equal elements set it equally
	return nil
}

// set sets the timers of an element.
func (f *keeper) set(c *pcoll.Context, t exec.Time, tag string) {
	delay := time.Duration(f.how.Delay) * time.Millisecond
	first := t
	for at := range f.List.All(c) {
		first = exec.TimeOf(at)
		break
	}
	end := c.Window().Max()
	held := first
	if c.Window() == pcoll.Global { // where times are further apart than any skew
		held = end
	}
	switch f.how.Event {
	case ByElem:
		f.Event.Set(c, f.limit(c, t.Add(f.how.Delay)), f.options(c, t, timers.Tag(tag))...)
	case ByFirst:
		f.Event.Set(c, f.limit(c, first.Add(f.how.Delay)), f.options(c, held)...)
	case AtEnd:
		f.Event.Set(c, f.limit(c, end), f.options(c, end)...)
	case FromNow:
		f.Event.SetAfter(c, delay, f.options(c, end)...)
	}
	switch f.how.Clock {
	case ByElem:
		f.Clock.SetAfter(c, delay, f.clockOptions(c, t, timers.Tag(tag))...)
	case ByFirst:
		f.Clock.SetAfter(c, delay, f.clockOptions(c, held)...)
	case AtEnd, FromNow:
		f.Clock.SetAfter(c, delay, f.clockOptions(c, end)...)
	}
}

// options returns those of a setting for something of time t.
func (f *keeper) options(c *pcoll.Context, t exec.Time, opts ...timers.Option) []timers.Option {
	switch f.how.Output {
	case OfElem:
		opts = append(opts, timers.OutputAt(f.limit(c, t)))
	case OfWindow:
		opts = append(opts, timers.OutputAt(c.Window().Max().Time()))
	case NoHold:
		opts = append(opts, timers.NoHold())
	}
	return opts
}

// clockOptions is options for a timer whose default is the time of the element.
func (f *keeper) clockOptions(c *pcoll.Context, t exec.Time, opts ...timers.Option) []timers.Option {
	if f.how.Output == ByItself {
		return append(opts, timers.OutputAt(f.limit(c, t)))
	}
	return f.options(c, t, opts...)
}

// OnTimer emits what is kept.
func (f *keeper) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[kept]) error {
	n := f.Fired.Get(c) + 1
	f.Fired.Set(c, n)
	r := f.digest(c)
	event := f.Event.Fired(t)
	at := exec.TimeOf(t.At)
	if event {
		r.Text = fmt.Sprintf("firing %d %s at %d: %s", n, t.Tag, at, r.Text)
	} else {
		r.Text = fmt.Sprintf("firing %d %s by the clock: %s", n, t.Tag, r.Text)
	}
	r.Text = brief(r.Text)
	if f.how.Output == NoHold {
		emit.In(c, c.Window(), c.Window().Max().Time(), pcoll.Pair(key, r))
	} else {
		emit(c, pcoll.Pair(key, r))
	}
	f.drain(c, t.At, event)
	delay := time.Duration(1+f.how.Delay) * time.Millisecond
	end := c.Window().Max()
	var tag []timers.Option
	if t.Tag != "" {
		tag = append(tag, timers.Tag(t.Tag))
	}
	if !event { // the clock says nothing of event time
		at = c.Window().Start
	}
	again := n <= f.how.Again
	if event && again || !event && f.how.Cross && n <= 6 {
		f.Event.Set(c, f.limit(c, at.Add(delay.Milliseconds())), f.clockOptions(c, end, tag...)...)
	}
	if !event && again || event && f.how.Cross && n <= 6 {
		f.Clock.SetAfter(c, delay, f.clockOptions(c, end, tag...)...)
	}
	return nil
}

// drain clears what a firing clears.
func (f *keeper) drain(c *pcoll.Context, at time.Time, event bool) {
	switch {
	case f.how.Drain == All:
		f.Bag.Clear(c)
		f.Sum.Clear(c)
		f.List.Clear(c)
	case f.how.Drain == Before && event:
		f.List.ClearRange(c, time.Time{}, at)
		f.Sum.Clear(c)
	}
}

// digest says what is kept; N is how many elements are in the bag.
func (f *keeper) digest(c *pcoll.Context) result {
	bag := slices.Collect(f.Bag.All(c))
	var list []string
	for t, v := range f.List.All(c) {
		list = append(list, fmt.Sprintf("%d:%s", exec.TimeOf(t), v))
	}
	if !f.how.Ordered {
		slices.Sort(bag)
		slices.Sort(list)
	}
	return result{brief(fmt.Sprintf("%s %s %s", brief(strings.Join(bag, " ")), f.Sum.Get(c).Text, brief(strings.Join(list, " ")))), len(bag)}
}

func (f *teller) Process(c *pcoll.Context, e row, emit pcoll.Emit[kept]) error {
	return (*keeper)(f).Process(c, e, emit)
}

func (f *teller) OnTimer(c *pcoll.Context, key string, t timers.Firing, emit pcoll.Emit[kept]) error {
	return (*keeper)(f).OnTimer(c, key, t, emit)
}

// OnWindowExpiration emits what is left.
func (f *teller) OnWindowExpiration(c *pcoll.Context, key string, emit pcoll.Emit[kept]) error {
	r := (*keeper)(f).digest(c)
	r.Text = brief(fmt.Sprintf("expired after %d: %s", f.Fired.Get(c), r.Text))
	emit(c, pcoll.Pair(key, r))
	return nil
}
