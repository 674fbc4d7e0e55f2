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
// # Retraction
//
// A window of a retracting strategy says at most one thing at a time: the result
// of its elements as of its last pane. It takes back what it said before it says
// something else, so that whoever adds up inserts and subtracts withdrawals has,
// in the end, what all input at once would have given. No Beam runner has this
// mode; these are our rules.
//
//   - A withdrawal is what it takes back, once more: the same value, time, window
//     and pane, so also the index of that pane. Only its kind differs. A function of
//     any of these gives for it what it gave before.
//   - A pane with a result where nothing stands is an [exec.Insert]: the first, and
//     the first after a delete. Else it is an [exec.UpdateBefore] of what stands and
//     then an [exec.UpdateAfter], both in one call.
//   - A pane that would say again what stands is not emitted, nor counted, unless
//     it is the on-time pane, or the last where that is always wanted: they tell
//     that a window is complete, and are an update of a result by itself. Equal is what is encoded equally.
//   - Where nothing is left of a window's elements, its trigger fires an
//     [exec.Delete] of what stands. That is no pane and is not counted. A window in
//     which nothing stands and nothing is says nothing, not even on time.
//   - A window that merges into another withdraws what it said with a Delete, from
//     the window that it was, at the end of the turn that merges it and before
//     anything else of the key. Later would be too late: what follows may let that window expire.
//     If the result of the merge was there before it goes on and withdraws
//     nothing. Where the merge closes the result, nothing replaces what the
//     others said, and it stays.
//   - What a window said last stays when it expires or closes.
//
// Elements may be withdrawals themselves. One counts as an element for triggers
// and holds, and takes an equal one out of its window ([Config].Retract). Windows that
// merge take none: they would have to part again. It is late, and dropped, like
// an element; if its element was dropped then so is it, as windows never come
// back. One that came in time may be dropped where its element was not only
// behind a function that moves elements into windows that expire before the one they
// came from; it is counted. One that finds no element to take out fails the
// run: some function gave a withdrawal another result than its element.
//
// A withdrawal never overtakes what it takes back. Both are said by one worker, the
// owner of the key that says them. Every exchange that users can ask for routes
// by the element alone (its key, or the hash of its encoding), so both take the
// same way, and a way is one queue for each pair of workers, in order. Where equal
// elements came on several ways, as through a Flatten, each way brings
// at any time no more withdrawals than elements, and so do all together; which
// of equal elements is taken out makes no difference. The one exchange that routes
// by batch (graph.Spread) is not behind any transform, and combining before the exchange, which
// sends along two ways, is off in this mode.
//
// It costs for each key and window the encoded result of its last pane, until the
// window expires or closes. Encoded, because the combiner may give another
// result for the same accumulator (of a sample, of a map's order), before and
// after a restore.
//
// # State
//
// All that a form knows between turns is in the stores that it registered with
// [exec.Env.Keep]; indexes over them are rebuilt by Restored.
package panes
