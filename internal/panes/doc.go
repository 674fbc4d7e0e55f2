// Package panes decides what a grouping emits and when: it holds the whole of
// Beam's semantics of windows, triggers, panes, lateness and watermark holds.
//
// It is pure: no goroutine, clock or I/O. An aggregation operator makes one of
// two forms with the same methods, which give the same panes:
//
//   - [General] takes any window function, trigger, mode and timestamp combiner.
//   - [Aligned] takes windows that do not merge and triggers driven by the
//     watermark (see [CanAlign]); closing a window is one sweep over a table.
//
// A form is called by one worker, in this order:
//
//	New → (Restored) → { Element… | Partial… → Turn → Advance }…
//
// Everything between two calls of Turn is one bundle: triggers are evaluated
// at its end, not for each element. A bundle is an instant: processing time is
// read once for all of it.
//
// # Time
//
// An element is late for a window whose expiry (maximum timestamp plus allowed
// lateness) is before the watermark given to the last Advance. Timing and holds
// of a pane use the output watermark of its own key: the least of the input
// watermark and the holds of that key over all its windows. It moves after
// input for the key and when the input watermark moves, never because the clock
// did, and within one Advance it is what it was before it. What a key gets
// does therefore not depend on which other keys the worker has.
//
// # State
//
// All that a form knows between turns is in the stores that it registered with
// [exec.Env.Keep]; indexes over them are rebuilt by Restored.
package panes
