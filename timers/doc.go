// Package timers calls a function back for a key and window at a given time.
//
// Timers are declared as tagged fields of the function given to
// transforms.StatefulParDo, like state. A function that has timer fields must
// have the method OnTimer:
//
//	type expiring struct {
//		Last state.Value[Txn]  `state:"last"`
//		Quiet timers.EventTime `timer:"quiet"`
//	}
//
//	func (f *expiring) Process(c *pcoll.Context, e pcoll.KV[string, Txn], emit pcoll.Emit[Txn]) error {
//		f.Last.Set(c, e.Value)
//		f.Quiet.Set(c, c.EventTime().Add(time.Hour)) // replaces the last setting
//		return nil
//	}
//
//	func (f *expiring) OnTimer(c *pcoll.Context, card string, t timers.Firing, emit pcoll.Emit[Txn]) error {
//		emit(c, f.Last.Get(c))
//		return nil
//	}
//
// # Settings
//
// A timer belongs to the key and window in which it is set, and has one setting
// at a time for each [Tag]; without Tag there is one. Setting it again replaces the
// setting, [EventTime.Clear] removes it, also where it is due already and has not yet fired.
// A timer fires once for a setting.
//
// An [EventTime] timer is due when the watermark is past the time it is set to,
// a [ProcessingTime] timer when the clock is: neither at that very instant. The
// timers of a key fire in the order of the times they are set to. A timer that is set in
// OnTimer and already due fires before any later one.
//
// Nothing fires for a window that has expired. An event-time timer cannot be set
// past that moment; processing-time timers that are still set then are forgotten. That
// is also so at the end of a bounded input, when all windows expire.
//
// # Output times
//
// Each setting has an output time: the event time of what OnTimer emits, which
// the context gives as EventTime. Unless [OutputAt] says otherwise, it is the time an event-time
// timer is set to, and for a processing-time timer the event time of the element (or
// timer) that sets it. Until the timer fires or is cleared, the watermark
// downstream is held there, so that the output is not late. With [NoHold] the
// timer has no output time and holds nothing; OnTimer must then emit with In, at an explicit time.
package timers
