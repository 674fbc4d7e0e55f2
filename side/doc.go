// Package side makes whole collections readable while the elements of another
// one are processed: rates beside orders, limits beside payments.
//
// A view is made of a collection and either stored in an exported field of a
// DoFn or given to transforms.MapSide and transforms.FilterSide:
//
//	type convert struct {
//		Rates side.Map[string, float64]
//	}
//
//	func (f *convert) Process(c *pcoll.Context, o Order, emit pcoll.Emit[float64]) error {
//		rate, ok := f.Rates.Lookup(o.Currency)
//		…
//	}
//
//	transforms.ParDo(orders, &convert{Rates: side.AsMap(rates)})
//
// The collection is gathered on one worker and sent to all: it has to fit into
// the memory of each process. Join large collections by key instead.
//
// # What an element sees
//
// A view has a content for each window. An element sees that of the window
// which its own maps to: the side window that contains the last millisecond of
// the element's window, the earliest if there are several. A view in the global
// window is the same for all; one whose windows merge, or one that is windowed
// beside an input that is not, is refused when the pipeline is built.
//
// An element waits, without holding up those behind it, until every view is
// ready for it: a pane of the side window has fired, or its trigger had its time,
// and the view is empty. In a bounded pipeline that means that all of the collection
// has been read.
//
// # Panes
//
// What a view holds is the last pane of the window: with windowing.Accumulating
// all elements so far, with windowing.Discarding those since the pane before.
// A pane that would hold nothing new changes nothing. Elements see the same
// until they have been processed; the next one may see a later pane.
//
// A view that changes slowly is made of a stream in the global window, fired
// for each element and discarded:
//
//	latest := side.AsSingleton(windowing.Into(updates, windowing.Global(), windowing.Discarding(),
//		windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(1)})))
//
// Results of an aggregation that fires early with windowing.Accumulating come
// again and again, refined: to see the last ones only, re-window them with
// windowing.Same and windowing.Discarding.
//
// # Limits
//
// The content of a side window is forgotten once the watermark of the main
// input has passed it by more than the main input's allowed lateness. An element
// that comes later still is dropped, and counted as dropped late, unless all
// views are in the global window.
//
// What a view returns is shared by all workers and must not be changed. Views
// are read while an element is processed, on the goroutine that processes it:
// reading one before or after panics. A mistake in reading, such as a singleton of two elements,
// fails the run with the element's time and window.
package side
