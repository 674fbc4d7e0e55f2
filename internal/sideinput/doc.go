// Package sideinput is what side inputs are made of, for package side, which gives
// them types, and package transforms, whose operators have them.
//
// A [Source] is a collection made ready to be read as a whole: its elements are
// gathered by window, on one worker, by its own windowing and trigger, and each
// pane is broadcast to the workers of the operators that read it. There a
// [Gate] stands in front of the operator's main input. It holds back elements
// whose windows are not ready yet, and shows the operator, for each element
// that it lets through, the [Content] of the side windows that the element's
// window maps to.
//
// # Windows
//
// A main window maps to the earliest side window that contains its last
// millisecond; a global side input is the same for all. A sliding side input
// with gaps may have no window there: then it is empty.
//
// # Readiness
//
// A side window is ready when a pane of it has come, or when the side's
// watermark has passed the time at which its trigger must have fired if there
// was anything to fire: the end of the window for triggers of the watermark,
// its expiry for others. Then it is empty until a pane comes. A signal is ready
// when the window has expired, whatever came.
//
// Later panes replace earlier ones. What came in a turn counts from the end of
// the turn on, so that results do not depend on which input of the operator was
// heard first.
//
// # Time
//
// Elements that wait hold the main watermark at their event times, at the latest
// at the end of their windows, but not behind where it was when they came; the
// watermarks of side inputs hold nothing, nor do they move the main one while that input is idle. A side window is forgotten when the
// main watermark, so held, has passed its end by more than the main input's
// allowed lateness: no main window that maps to it accepts elements any more.
// An element whose window has expired by the main watermark in front of the gate is dropped
// therefore, and counted, unless all side inputs are in the global window. What
// waits on a worker does not count for that: which elements are late is not to depend on how
// many workers there are. (Where no exchange is in front, the main watermark
// is that of the operators on the same worker, and what is late by it is.)
//
// # State
//
// Contents are the same on every worker and belong to no key (exec.Replicated).
// Elements that wait are kept by key group where the main input is keyed, and
// by one of the worker's groups otherwise.
package sideinput
