// Package state holds values that outlive the processing of one element.
//
// State belongs to a key and a window: each has its own, and none sees that of
// another. It is declared as fields of the function given to
// transforms.StatefulParDo, tagged with the name that it is stored under, so
// that renaming the field keeps the data:
//
//	type dedup struct {
//		Seen state.Value[bool] `state:"seen"`
//	}
//
//	func (d *dedup) Process(c *pcoll.Context, e pcoll.KV[string, Click], emit pcoll.Emit[Click]) error {
//		if !d.Seen.Get(c) {
//			d.Seen.Set(c, true)
//			emit(c, e.Value)
//		}
//		return nil
//	}
//
// There is [Value], [Bag], [Map], [Multimap], [Set], [Combining] and
// [OrderedList]. What they hold must have a coder (package coders), which is
// derived while the pipeline is built; keys of maps and elements of sets must
// have a canonical one.
//
// # Reads and writes
//
// A read sees every write before it, also those of the same call. Neither
// returns an error: a failure fails the run, as does the use of a field outside
// the methods Process, OnTimer and OnWindowExpiration of the worker's own
// function, and nothing wrong is kept.
//
// What a read returns must not be changed, unless it is written back at once: a
// slice, map or pointer is the one that is stored. Neither may what was written
// be changed later. An iteration goes over what was there when it began,
// whatever is written meanwhile; it must come to its end within the call that began it.
//
// # When state goes away
//
// The state of a key and window is gone once the watermark has passed the
// window's end and allowed lateness; in the global window of an unbounded
// stream it stays until it is cleared or its [TTL] ends it. Nothing that was
// cleared takes up memory.
package state
