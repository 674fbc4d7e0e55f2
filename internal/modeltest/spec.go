package modeltest

import (
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Spec is a pipeline and what its sources deliver.
type Spec struct {
	// Streams is how many streams there are, 1 or 2.
	Streams int
	// Bounded makes one bounded source of the elements of all events, in place of streams.
	Bounded bool
	Keys    int // of the elements
	Steps   []Step
	Events  []Event
}

// StepKind is the kind of a Step.
type StepKind uint8

// The kinds of step. All but the groupings change or move elements one by one.
const (
	Window    StepKind = iota // windowing.Into by Strategy
	Rewindow                  // the same without its windows, which stay
	Group                     // GroupByKey
	Concat                    // CombinePerKey into a list: accumulators have pointers
	Count                     // CombinePerKey into a number
	ConcatAll                 // Combine: one key for all
	Map                       // changes the value
	Filter                    // drops a third of the values
	Rekey                     // gives keys by value: other elements meet
	Repeat                    // emits a third of the values twice
	Shuffle                   // Reshuffle
	Split                     // Partition, Reshuffle of one part, Flatten
	Double                    // Flatten of a collection with itself
	Look                      // ParDo that puts window and pane into the value
	Shift                     // ParDo that moves event times by By ms, also back
	Join                      // Flatten with the second stream, both windowed by Strategy
	stepKinds
)

var stepNames = [stepKinds]string{"Into", "Into(Same)", "GroupByKeyWithLate", "CombinePerKeyWithLate(concat)", "CombinePerKeyWithLate(count)",
	"CombineWithLate(concat)", "MapValues", "Filter", "KeyBy(value)", "FlatMap", "Reshuffle", "Partition+Reshuffle+Flatten", "Flatten(in, in)",
	"ParDo(window, pane)", "ParDo(time)", "Flatten(in, stream 1)"}

// A Step is one transform, or a few, behind the others.
type Step struct {
	Kind     StepKind
	Strategy *strategy.Strategy // of Window, Rewindow and Join
	By       int64              // of Shift
	// Late is how what a grouping drops is windowed and grouped again, or nil: then it is only looked at.
	Late *strategy.Strategy
}

func (k StepKind) groups() bool { return k >= Group && k <= ConcatAll }

// An Event is one event of the script: elements, an advance of the clock, or a watermark.
type Event struct {
	Stream int
	Elems  []Elem
	// Burst is a number of elements that follow from Base: many keys and times.
	Burst     int
	Base      exec.Time
	Clock     int64     // ms
	Watermark exec.Time // if it has neither
}

// An Elem is an element. Its value is unique in the Spec.
type Elem struct {
	Key  int
	Time exec.Time
	ID   int
}

// elems returns the elements of the event with those of a burst.
func (e Event) elems(keys int) []Elem {
	all := e.Elems
	for i := range e.Burst {
		id := 1000*(1+int(e.Base-exec.MinTime)%7) + i
		all = append(all, Elem{Key: i * 7 % keys, Time: e.Base + exec.Time(i*13%70-40), ID: id})
	}
	return all
}

// String prints the pipeline step by step, then the script event by event.
func (s *Spec) String() string {
	var b strings.Builder
	switch {
	case s.Bounded:
		fmt.Fprintf(&b, "in = a bounded source, keys k0 to k%d\n", s.Keys-1)
	case s.joins() || s.Streams == 1:
		fmt.Fprintf(&b, "in = stream 0, keys k0 to k%d\n", s.Keys-1)
	default:
		fmt.Fprintf(&b, "in = Flatten(stream 0, stream 1), keys k0 to k%d\n", s.Keys-1)
	}
	for i, st := range s.Steps {
		fmt.Fprintf(&b, "%d: %s", i, stepNames[st.Kind])
		if st.Strategy != nil {
			fmt.Fprintf(&b, " [%v]", st.Strategy)
		}
		if st.By != 0 {
			fmt.Fprintf(&b, " by %d ms", st.By)
		}
		if st.Late != nil {
			fmt.Fprintf(&b, ", late output to Into [%v], GroupByKeyWithLate", st.Late)
		}
		b.WriteByte('\n')
	}
	b.WriteString("script:\n")
	for i, e := range s.Events {
		fmt.Fprintf(&b, "%d: %v\n", i, e)
	}
	return b.String()
}

// String prints the event; elements as key=value@time.
func (e Event) String() string {
	switch {
	case e.Clock > 0:
		return fmt.Sprintf("clock +%d ms", e.Clock)
	case len(e.Elems)+e.Burst == 0:
		return fmt.Sprintf("stream %d: watermark %d", e.Stream, e.Watermark)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "stream %d: elements", e.Stream)
	for _, x := range e.Elems {
		fmt.Fprintf(&b, " k%d=%d@%d", x.Key, x.ID, x.Time)
	}
	if e.Burst > 0 {
		fmt.Fprintf(&b, " and a burst of %d about %d", e.Burst, e.Base)
	}
	return b.String()
}

// joins reports whether the second stream comes in only behind some steps.
func (s *Spec) joins() bool {
	for _, st := range s.Steps {
		if st.Kind == Join {
			return s.Streams > 1 && !s.Bounded
		}
	}
	return false
}
