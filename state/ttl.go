package state

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A TTL ends what is in a state field some time after it was last written. It
// is the value of the field's TTL; the zero TTL ends nothing.
//
//	fn := &dedup{Seen: state.Value[bool]{TTL: state.AfterProcessingTime(time.Hour)}}
//
// A Value and a Combining end whole; a Bag and an OrderedList by element, a Map, a
// Multimap and a Set by key. What has ended is not seen by reads any more, and its memory
// is free soon after. It takes no notice of timers: nobody is told.
type TTL struct {
	after time.Duration
	event bool
}

// AfterProcessingTime ends what was written more than d of processing time ago.
func AfterProcessingTime(d time.Duration) TTL { return TTL{after: d} }

// AfterEventTime ends by event time: what was written at a time before t-d is not
// seen at time t. The time is that of the element, timer or window end being
// processed, or the watermark where that has passed it. So elements that are not late have the
// same results over files and live.
func AfterEventTime(d time.Duration) TTL { return TTL{after: d, event: true} }

// String prints the time to live and its clock.
func (t TTL) String() string {
	switch {
	case t == TTL{}:
		return "forever"
	case t.event:
		return t.after.String() + " of event time"
	}
	return t.after.String() + " of processing time"
}

func (t TTL) check() error {
	if t == (TTL{}) || t.after >= time.Millisecond && t.after%time.Millisecond == 0 {
		return nil
	}
	return fmt.Errorf("the time to live %v cannot be; want a whole number of milliseconds, at least one", t.after)
}

func (t TTL) ms() int64 { return t.after.Milliseconds() }

func (t TTL) none() bool { return t.after == 0 }

// now returns the time that stamps what is written, by the TTL's clock.
func (t TTL) now(s *Scope) exec.Time {
	switch {
	case t.none():
		return 0
	case t.event:
		return s.Event
	}
	return s.Now()
}

// alive reports whether what was stamped is still to be seen at time now.
func (t TTL) alive(stamp, now exec.Time) bool { return t.none() || now <= stamp.Add(t.ms()) }
