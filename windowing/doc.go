// Package windowing divides collections into windows of event time and says
// when the panes of a window fire and what they hold.
//
//	perMinute := windowing.Into(clicks, windowing.Fixed(time.Minute))
//
//	windowed := windowing.Into(orders, windowing.Fixed(time.Minute),
//		windowing.Trigger(triggers.AfterWatermark{
//			Early: triggers.AfterProcessingTime(10 * time.Second),
//			Late:  triggers.AfterCount(1),
//		}),
//		windowing.AllowedLateness(time.Hour),
//		windowing.Accumulating())
//
// [Calendar] makes days, weeks, months and years of a time zone, [SessionsBy]
// sessions whose gap the element says, [Custom] and [CustomOf] the windows of a
// function of one's own.
//
// Windows take effect at the next grouping (GroupByKey, CombinePerKey and what
// is made of them). Until then an element is passed on once, however many
// windows it is in; only a function that can look at its window (a ParDo, a
// sink) or changes the event time gets it once for each window.
//
// # Late data
//
// An element is late when the watermark has passed its time, and is dropped by a
// grouping only when the watermark is also past the end of its window plus the
// allowed lateness. The "WithLate" transforms return what was dropped; every
// result counts it.
//
// # Defaults
//
// Without options a window has one pane, when the watermark passes its end, and
// allows no lateness. What must be said, because a default would be wrong for
// someone: the lateness, once a trigger is named (0 is an answer); and
// [Accumulating], [Discarding] or [Retracting], once a window can have more than one pane. An
// on-time pane is fired even when it is empty, a closing pane only when it is
// not: these are the defaults of Beam's Java SDK.
//
// Applied to a collection that is windowed already, [Into] keeps what its
// options do not name, and allowed lateness never gets less.
package windowing
