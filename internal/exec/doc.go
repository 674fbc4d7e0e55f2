// Package exec is the runtime contract between operators and runners.
//
// An operator ([Op]) is immutable and typed inside; a runner sees it untyped,
// makes one [Instance] of it for each worker and wires the instances to each
// other with typed [Input] functions, checked once when the plan is built. The
// per-element fields (time, window, pane, change kind) travel in one mutable
// [Ctx] for each worker, so an element that passes from one fused operator to
// the next allocates nothing and is never boxed.
//
// # Who calls what, in which order
//
// Only the worker that owns an Instance calls it, one call at a time:
//
//	New → (Restored) → { Poll | In… → Turn → Advance }… → Finish → Commit → Close
//
// A turn is the unit after which triggers are evaluated (Beam's bundle): some
// elements through In or Poll, then Turn, then Advance with the input
// watermarks as they are then. Within a fused stage the pair Turn, Advance is
// called operator by operator in topological order, so that all one turn sends
// to an operator is one bundle of it, and a downstream operator hears of a
// watermark only after the results that it released.
//
// Operators keep nothing between turns except in stores they registered with
// [Env.Keep]; whatever else they hold must be derivable from those (Restored
// rebuilds it). They use no goroutine, channel, lock, clock, random source or
// file of their own: those come from [Env].
package exec
