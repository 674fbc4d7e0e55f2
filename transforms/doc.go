// Package transforms holds the transforms that pipelines are made of.
//
// Every transform is a function of its input collection, so that the compiler
// checks each edge of the pipeline and infers every type parameter:
//
//	big := transforms.Filter(orders, Order.IsBig)
//	byUser := transforms.KeyBy(big, Order.UserID)
//	totals := transforms.CombinePerKey(byUser, combine.On(Order.Cents, combine.Sum[int64]()))
//
// Functions that look at time, window or pane of an element, or need a
// lifecycle or several outputs implement [DoFn] and run in [ParDo].
//
// # What there is
//
//   - of elements, one by one: [Map], [FlatMap], [Filter], [TryMap], [KeyBy],
//     [MapValues], [Keys], [Values], [Partition], [WithTimestamps], [ParDo], [ForEach]; with
//     a side input (package side) [MapSide], [FilterSide]; calling a service [AsyncMap], and Enrich of package lookup
//   - of groups: [GroupByKey], [CombinePerKey], [Combine] and their short forms
//     ([CountPerKey], [Sum], [MeanPerKey], [Top] …), [Latest], [Sample], [Distinct]; combiners are in
//     packages combine and sketch
//   - of several collections: [Flatten], [CoGroupByKey2] to 4, [Join] and its outer
//     forms per window, [IntervalJoin] and its outer forms by time, [Union], [Intersect], [Except]
//   - with state and timers of one's own: [StatefulParDo] (packages state and timers);
//     made of it [Deduplicate], [GroupIntoBatches]
//   - of order and flow: [Reshuffle], [WaitOn], [Reify]
//   - sources: [Create], [GenerateSequence], [PeriodicImpulse]; connectors are under io
//
// Whatever drops elements that come too late has a twin named …WithLate, which
// returns them.
//
// # What functions may do
//
// A function given to a transform is called by any number of workers at once,
// each element by one of them. It must not change its argument, which other
// transforms may share, nor change what it returned or emitted. When it panics,
// or returns an error, the run fails with the transform's name, the element's
// time and window, and the stack; [TryMap] puts failures into a collection instead.
//
// # Time and windows
//
// Unless it says otherwise, a transform gives its results the event time,
// windows and pane of the element they come from. Groupings and combinations
// work per window: see package windowing for when their results come.
//
// # Names
//
// Every transform takes pcoll.Named. Without it a transform is named after its
// kind and numbered; see pcoll.Named for when that is not enough.
package transforms
