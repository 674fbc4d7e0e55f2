// Package vectors reads conformance vectors and judges what an implementation
// did with them. It knows the two forms of file that the project's conformance
// README describes (scenarios, and Apache Beam's trigger transcripts) and holds
// no rule of windows, triggers or panes: it turns JSON into a [Case], an
// executor turns a Case into an [Outcome] for each step, and [Judge] compares.
package vectors

import (
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Case is a script for one key and what it must lead to.
type Case struct {
	Name     string
	Strategy *strategy.Strategy
	Steps    []Step

	// Unit is the length of the file's unit of time in ms; times of panes are
	// compared in whole units, rounded down. All times in a Case are in ms.
	Unit int64
	// Error is a message that judging the case must fail with, or empty.
	Error string
	// Skip says why the case does not apply, or is empty.
	Skip string
}

// Kind is the kind of a step.
type Kind uint8

// The kinds of step.
const (
	Input         Kind = iota // one bundle of elements
	Watermark                 // the input watermark moves to Time
	Clock                     // processing time moves to Time
	Expect                    // Panes are due, no others
	DroppedLate               // Count elements were dropped so far because of lateness
	DroppedClosed             // Count elements were dropped so far because a trigger had finished
)

// A Step is one event of the script or one expectation.
type Step struct {
	Kind     Kind
	Elements []Element
	Time     exec.Time
	Panes    []Pane
	Count    int64
}

// An Element is a timestamp with a value, which is JSON in compact form.
type Element struct {
	Time  exec.Time
	Value string
}

// A Pane is a pane as a file describes it. What is nil is not checked.
type Pane struct {
	Window         *exec.Window
	Values         *[]string // a multiset
	Time           *exec.Time
	Timing         *exec.Timing
	NotTiming      []exec.Timing // that it must not have
	First, Last    *bool
	Index          *int64
	NonSpeculative *int64
}

// An Emitted is a pane as an implementation made it.
type Emitted struct {
	Window exec.Window
	Values []string
	Time   exec.Time
	Pane   exec.Pane
}

// An Outcome is what a step did: the panes that it produced and the drop
// counters after it.
type Outcome struct {
	Panes                      []Emitted
	DroppedLate, DroppedClosed int64
}

// String prints the pane with what is checked of it.
func (p Pane) String() string {
	var s []string
	add := func(name string, v any) { s = append(s, fmt.Sprintf("%s %v", name, v)) }
	if p.Window != nil {
		add("window", window(*p.Window))
	}
	if p.Values != nil {
		add("values", *p.Values)
	}
	if p.Time != nil {
		add("at", instant(*p.Time))
	}
	if p.Timing != nil {
		add("timing", *p.Timing)
	}
	for _, t := range p.NotTiming {
		add("timing not", t)
	}
	if p.First != nil {
		add("first", *p.First)
	}
	if p.Last != nil {
		add("last", *p.Last)
	}
	if p.Index != nil {
		add("index", *p.Index)
	}
	if p.NonSpeculative != nil {
		add("nonspeculative", *p.NonSpeculative)
	}
	return "{" + strings.Join(s, ", ") + "}"
}

// String prints the pane whole.
func (e Emitted) String() string {
	return fmt.Sprintf("{window %v, values %v, at %v, timing %v, first %v, last %v, index %d, nonspeculative %d}", window(e.Window),
		e.Values, instant(e.Time), e.Pane.Timing, e.Pane.First, e.Pane.Last, e.Pane.Index, e.Pane.NonSpeculative)
}

// window and instant print times as the numbers that the files have.
func window(w exec.Window) string {
	if w == exec.Global {
		return "global"
	}
	return fmt.Sprintf("[%d, %d)", w.Start, w.End)
}

func instant(t exec.Time) string {
	if t == exec.EndOfGlobal {
		return "EOG"
	}
	return fmt.Sprint(int64(t))
}
