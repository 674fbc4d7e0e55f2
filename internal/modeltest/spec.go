package modeltest

import (
	"fmt"
	"slices"
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
	CoGroup                   // CoGroupByKey2, of what is called the other one, windowed by Strategy unless it is nil
	CoGroup3                  // CoGroupByKey3, of the other one twice
	InnerJoin                 // of the other one, and so on
	LeftJoin
	RightJoin
	FullJoin
	InnerInterval // of the other one from Lower to Upper, both globally windowed with lateness By; the rows then by Strategy
	LeftInterval
	RightInterval
	FullInterval
	Keep      // StatefulParDo as State says
	List      // MapSide of a list of the other one, in windows Other
	Multimap  // MapSide of the other one by key
	Singleton // MapSide of all of the other one, combined
	Distinct  // of few values
	Latest    // LatestPerKey, of values that tell the time
	Dedup     // Deduplicate by key within By ms
	Batches   // GroupIntoBatches of By elements
	stepKinds
)

var stepNames = [stepKinds]string{"Into", "Into(Same)", "GroupByKeyWithLate", "CombinePerKeyWithLate(concat)", "CombinePerKeyWithLate(count)",
	"CombineWithLate(concat)", "MapValues", "Filter", "KeyBy(value)", "FlatMap", "Reshuffle", "Partition+Reshuffle+Flatten", "Flatten(in, in)",
	"ParDo(window, pane)", "ParDo(time)", "Flatten(in, stream 1)", "CoGroupByKey2(in, other)", "CoGroupByKey3(in, other, other)",
	"Join(in, other)", "LeftJoin(in, other)", "RightJoin(in, other)", "FullJoin(in, other)",
	"IntervalJoin(in, other)", "LeftIntervalJoin(in, other)", "RightIntervalJoin(in, other)", "FullIntervalJoin(in, other)",
	"StatefulParDo", "MapSide(in, AsList(other))", "MapSide(in, AsMultimap(other))", "MapSide(in, AsSingletonOr(Combine(other)))",
	"Distinct", "LatestPerKey(time)", "Deduplicate(key)", "GroupIntoBatches"}

// A Step is one transform, or a few, behind the others.
type Step struct {
	Kind     StepKind
	Strategy *strategy.Strategy // of Window, Rewindow and Join, and of others where it is not nil
	By       int64              // of Shift and others
	Lower    int64              // of interval joins, in ms
	Upper    int64
	Other    *strategy.Strategy // of the other one of side inputs
	State    *State             // of Keep
	// NoLate leaves the late output out, which what takes withdrawals does not have.
	NoLate bool
	// Late is how what a grouping drops is windowed and grouped again, or nil: then it is only looked at.
	Late *strategy.Strategy
}

func (k StepKind) groups() bool    { return k >= Group && k <= ConcatAll }
func (k StepKind) joins() bool     { return k >= CoGroup && k <= FullJoin }
func (k StepKind) intervals() bool { return k >= InnerInterval && k <= FullInterval }
func (k StepKind) views() bool     { return k >= List && k <= Singleton }

// takesOther reports whether the step has a second input: the second stream,
// if there is one and no step before took it, else a branch of the first.
func (k StepKind) takesOther() bool { return k == Join || k.joins() || k.intervals() || k.views() }

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
	case s.otherStep() >= 0 || s.Streams == 1:
		fmt.Fprintf(&b, "in = stream 0, keys k0 to k%d\n", s.Keys-1)
	default:
		fmt.Fprintf(&b, "in = Flatten(stream 0, stream 1), keys k0 to k%d\n", s.Keys-1)
	}
	for i, st := range s.Steps {
		name := stepNames[st.Kind]
		if st.Kind != Join {
			other := "branch"
			if i == s.otherStep() {
				other = "stream 1"
			}
			name = strings.ReplaceAll(name, "other", other)
		}
		fmt.Fprintf(&b, "%d: %s", i, name)
		st.print(&b)
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

// print prints what the step is told.
func (st Step) print(b *strings.Builder) {
	if st.Kind.intervals() {
		fmt.Fprintf(b, " from %d to %d ms, lateness %d ms, then Into", st.Lower, st.Upper, st.By)
	}
	if st.Strategy != nil {
		fmt.Fprintf(b, " [%v]", st.Strategy)
	}
	if st.Other != nil {
		fmt.Fprintf(b, " other [%v]", st.Other)
	}
	if st.State != nil {
		fmt.Fprintf(b, ": %v", st.State)
	}
	switch st.Kind {
	case Shift:
		fmt.Fprintf(b, " by %d ms", st.By)
	case Dedup:
		fmt.Fprintf(b, " within %d ms", st.By)
	case Batches:
		fmt.Fprintf(b, " of %d", st.By)
	}
	if st.NoLate {
		b.WriteString(" without late output")
	}
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

// loose reports whether the last step is an interval join that takes
// withdrawals. A row comes as soon as both elements are there, so an element and its withdrawal
// in one bundle give rows that are taken back at once, or none.
func (s *Spec) loose() bool {
	last := s.Steps[len(s.Steps)-1]
	return last.Kind.intervals() && last.NoLate
}

// otherStep returns the number of the step that takes the second stream, or -1:
// then the streams are one from the start.
func (s *Spec) otherStep() int {
	if s.Streams < 2 || s.Bounded {
		return -1
	}
	return slices.IndexFunc(s.Steps, func(st Step) bool { return st.Kind.takesOther() })
}
