package strategy

import (
	"fmt"
	"slices"
	"strings"
)

// TriggerKind is the kind of a trigger node.
type TriggerKind uint8

// The kinds of trigger. Their rules are in internal/panes.
const (
	OnDefault TriggerKind = iota
	OnAlways
	OnNever
	OnCount            // N elements
	OnProcessingTime   // Delay ms after the first element of the pane, then aligned
	OnSynchronizedTime // continuation of OnProcessingTime
	OnWatermark        // Subs: early, late; either may be nil
	OnRepeatedly       // Subs: one
	OnAny              // Subs: one or more
	OnAll              // Subs: one or more
	OnEach             // Subs: one or more
	OnOrFinally        // Subs: main, until
)

// A Trigger is a node of a trigger expression. It is immutable.
type Trigger struct {
	Kind TriggerKind
	N    int64 // OnCount
	// Delay is in ms; AlignPeriod > 0 rounds the target up to AlignOffset + k*AlignPeriod.
	Delay, AlignPeriod, AlignOffset int64
	Subs                            []*Trigger
}

var triggerNames = [...]string{"Default", "Always", "Never", "AfterCount", "AfterProcessingTime",
	"AfterSynchronizedProcessingTime", "AfterWatermark", "Repeatedly", "AfterAny", "AfterAll", "AfterEach", "OrFinally"}

// String prints the trigger in call syntax, as in AfterWatermark(early=AfterCount(2)).
func (t *Trigger) String() string {
	if t == nil {
		return "none"
	}
	var args []string
	switch t.Kind {
	case OnCount:
		args = append(args, fmt.Sprint(t.N))
	case OnProcessingTime:
		args = append(args, Millis(t.Delay))
		if t.AlignPeriod > 0 {
			args = append(args, fmt.Sprintf("align=%s+%s", Millis(t.AlignPeriod), Millis(t.AlignOffset)))
		}
	case OnWatermark:
		for i, name := range []string{"early=", "late="} {
			if s := t.sub(i); s != nil {
				args = append(args, name+s.String())
			}
		}
	default:
		for _, s := range t.Subs {
			args = append(args, s.String())
		}
	}
	if len(args) == 0 {
		return triggerNames[t.Kind]
	}
	return triggerNames[t.Kind] + "(" + strings.Join(args, ", ") + ")"
}

func (t *Trigger) sub(i int) *Trigger {
	if i < len(t.Subs) {
		return t.Subs[i]
	}
	return nil
}

// Early returns the early trigger of an OnWatermark, or nil.
func (t *Trigger) Early() *Trigger { return t.sub(0) }

// Late returns the late trigger of an OnWatermark, or nil.
func (t *Trigger) Late() *Trigger { return t.sub(1) }

// Equal reports whether both are the same expression.
func (t *Trigger) Equal(o *Trigger) bool {
	if t == nil || o == nil {
		return t == o
	}
	same := t.Kind == o.Kind && t.N == o.N && t.Delay == o.Delay && t.AlignPeriod == o.AlignPeriod && t.AlignOffset == o.AlignOffset
	if same && t.Kind == OnWatermark { // where an absent sub is a nil one
		return t.Early().Equal(o.Early()) && t.Late().Equal(o.Late())
	}
	return same && slices.EqualFunc(t.Subs, o.Subs, (*Trigger).Equal)
}

// Check reports what is wrong with the expression, or nil.
func (t *Trigger) Check() error {
	if t == nil {
		return fmt.Errorf("trigger is nil")
	}
	switch t.Kind {
	case OnCount:
		if t.N < 1 {
			return fmt.Errorf("AfterCount(%d) never waits for an element; want a count of at least 1", t.N)
		}
	case OnProcessingTime:
		if t.Delay < 0 || t.AlignPeriod < 0 {
			return fmt.Errorf("AfterProcessingTime needs a delay and a period of at least 0, got %s", t)
		}
	case OnAny, OnAll, OnEach:
		if len(t.Subs) == 0 {
			return fmt.Errorf("%s has no trigger inside", triggerNames[t.Kind])
		}
	case OnRepeatedly:
		if len(t.Subs) != 1 {
			return fmt.Errorf("%s takes 1 trigger, got %d", triggerNames[t.Kind], len(t.Subs))
		}
	case OnOrFinally:
		if len(t.Subs) != 2 {
			return fmt.Errorf("%s takes 2 triggers, got %d", triggerNames[t.Kind], len(t.Subs))
		}
	case OnWatermark:
		if len(t.Subs) > 2 {
			return fmt.Errorf("%s takes at most an early and a late trigger, got %d", triggerNames[t.Kind], len(t.Subs))
		}
	}
	for _, s := range t.Subs {
		if s == nil && t.Kind == OnWatermark {
			continue
		}
		if s == nil {
			return fmt.Errorf("%s holds a nil trigger", triggerNames[t.Kind])
		}
		if err := s.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Continuation returns the trigger of a grouping's output: it passes panes on
// as they come instead of waiting a second time (Beam's getContinuationTrigger).
func (t *Trigger) Continuation() *Trigger {
	conts := make([]*Trigger, len(t.Subs))
	for i, s := range t.Subs {
		if s != nil {
			conts[i] = s.Continuation()
		}
	}
	switch t.Kind {
	case OnCount:
		return &Trigger{Kind: OnCount, N: 1}
	case OnProcessingTime, OnSynchronizedTime:
		return &Trigger{Kind: OnSynchronizedTime}
	case OnEach:
		return &Trigger{Kind: OnRepeatedly, Subs: []*Trigger{{Kind: OnAny, Subs: conts}}}
	case OnOrFinally:
		return &Trigger{Kind: OnRepeatedly, Subs: []*Trigger{{Kind: OnOrFinally, Subs: conts}}}
	case OnWatermark, OnRepeatedly, OnAny, OnAll:
		return &Trigger{Kind: t.Kind, Subs: conts}
	}
	return t
}

// MayFinish reports whether the trigger can finish, after which a window drops
// what still comes.
func (t *Trigger) MayFinish() bool {
	switch t.Kind {
	case OnDefault, OnAlways, OnRepeatedly:
		return false
	case OnWatermark:
		return t.Late() == nil
	case OnEach:
		return !slices.ContainsFunc(t.Subs, func(s *Trigger) bool { return !s.MayFinish() })
	}
	return true // AfterAny and AfterAll finish when they fire, whatever is inside
}

// Unsafe reports whether grouping with this trigger and lateness may drop data
// because the trigger finishes: any that may, except Never, AfterWatermark
// without late firings at lateness 0, and AfterWatermark with late firings
// (Beam's GroupByKey.applicableTo).
func (s *Strategy) Unsafe() bool {
	t := s.Trigger
	if t.Kind == OnNever || (t.Kind == OnWatermark && (t.Late() != nil || s.Lateness == 0)) {
		return false
	}
	return t.MayFinish()
}

// UsesProcessingTime reports whether any part of the trigger looks at the processing clock.
func (t *Trigger) UsesProcessingTime() bool {
	if t == nil {
		return false
	}
	return t.Kind == OnProcessingTime || t.Kind == OnSynchronizedTime || slices.ContainsFunc(t.Subs, (*Trigger).UsesProcessingTime)
}
