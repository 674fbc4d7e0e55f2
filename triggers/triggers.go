// Package triggers says when the panes of a window fire.
//
//	windowing.Trigger(triggers.AfterWatermark{
//		Early: triggers.AfterProcessingTime(30 * time.Second),
//		Late:  triggers.AfterCount(1),
//	})
//
// Triggers are plain values: they print as they are written, compare with
// [Equal], and can be built up and handed around. Their meaning is Beam's, as
// its Java SDK executes them.
//
// # Bundles
//
// A trigger is asked at the end of a bundle of elements, not after each
// element: AfterCount(2) and a bundle of five give one pane of five.
//
// # Finishing
//
// A trigger that is not [Repeatedly], [Default] or [Always] finishes when it has
// fired, and a window whose trigger has finished drops what still comes.
// Grouping therefore refuses triggers that may finish, unless
// windowing.AllowUnsafeTrigger says that this is meant. Safe are [Never],
// [AfterWatermark] with Late, and without Late when no lateness is allowed.
// What a trigger that has not finished has left over is emitted, as the last pane,
// when the window expires.
//
// # Behind a grouping
//
// The results of a grouping carry the continuation of its trigger, so that a
// second grouping passes panes on as they come: AfterCount(n) becomes
// AfterCount(1), AfterProcessingTime fires at once, AfterEach becomes
// Repeatedly(AfterAny(…)).
package triggers

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Trigger decides when the panes of a window fire. The set of triggers is
// closed; its members are the types of this package.
type Trigger interface {
	fmt.Stringer
	// node returns the trigger as the engine knows it and notes in b what is wrong with it.
	node(b *builder) *strategy.Trigger
}

// Default fires when the watermark passes the end of the window, and then once
// for each bundle that holds late elements, for as long as lateness is allowed.
// It never finishes. It is the trigger of collections that name none.
type Default struct{}

// Always fires after each bundle.
type Always struct{}

// Never fires nothing until the window expires; then comes its only pane.
type Never struct{}

// AfterCount fires when at least that many elements, 1 or more, have come since
// it last fired.
type AfterCount int64

// AfterProcessingTime fires when the processing clock is past the arrival of
// the first element of the pane by more than the duration: whole milliseconds, not negative.
type AfterProcessingTime time.Duration

// AlignedTo puts the firing off to the next multiple of period, counted from
// the Unix epoch: AfterProcessingTime(0).AlignedTo(time.Minute) fires at full minutes.
func (t AfterProcessingTime) AlignedTo(period time.Duration) AfterAlignedTime {
	return AfterAlignedTime{Delay: time.Duration(t), Period: period}
}

// AfterAlignedTime is [AfterProcessingTime] of Delay, rounded up to Offset plus
// a multiple of Period after the Unix epoch. An instant that is one already stays.
type AfterAlignedTime struct{ Delay, Period, Offset time.Duration }

// AfterWatermark fires when the watermark passes the end of the window: the
// on-time pane. Early, if not nil, fires panes before it, Late panes behind it,
// each as often as its trigger becomes ready. Without Late it finishes at the
// end of the window.
type AfterWatermark struct{ Early, Late Trigger }

// Repeatedly fires whenever T does, for ever.
type Repeatedly struct{ T Trigger }

// AfterAny fires when one of its triggers is ready, and finishes.
type AfterAny []Trigger

// AfterAll fires when all of its triggers are ready, and finishes.
type AfterAll []Trigger

// AfterEach fires its triggers one after the other: the second begins when the
// first has finished. It finishes with the last.
type AfterEach []Trigger

// OrFinally fires as Main does until Until is ready; that fires too, and it
// finishes. It also finishes when Main does.
type OrFinally struct{ Main, Until Trigger }

// Equal reports whether a and b are the same expression. (Triggers that hold
// lists cannot be compared with ==.)
func Equal(a, b Trigger) bool { return expression(a).Equal(expression(b)) }

func expression(t Trigger) *strategy.Trigger { return new(builder).sub(t) }

// String prints the trigger: Default.
func (t Default) String() string { return expression(t).String() }

// String prints the trigger: Always.
func (t Always) String() string { return expression(t).String() }

// String prints the trigger: Never.
func (t Never) String() string { return expression(t).String() }

// String prints the trigger, as in AfterCount(2).
func (t AfterCount) String() string { return expression(t).String() }

// String prints the trigger, as in AfterProcessingTime(30s).
func (t AfterProcessingTime) String() string { return expression(t).String() }

// String prints the trigger, as in AfterProcessingTime(0s, align=1m0s+0s).
func (t AfterAlignedTime) String() string { return expression(t).String() }

// String prints the trigger, as in AfterWatermark(late=AfterCount(1)).
func (t AfterWatermark) String() string { return expression(t).String() }

// String prints the trigger, as in Repeatedly(AfterCount(1)).
func (t Repeatedly) String() string { return expression(t).String() }

// String prints the trigger, as in AfterAny(AfterCount(5), Never).
func (t AfterAny) String() string { return expression(t).String() }

// String prints the trigger, as in AfterAll(AfterCount(5), Never).
func (t AfterAll) String() string { return expression(t).String() }

// String prints the trigger, as in AfterEach(AfterCount(5), AfterCount(1)).
func (t AfterEach) String() string { return expression(t).String() }

// String prints the trigger, as in OrFinally(Always, AfterCount(5)).
func (t OrFinally) String() string { return expression(t).String() }
