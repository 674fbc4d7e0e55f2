package transforms

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock/internal/async"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// AsyncMap applies f to each element, to many at once: it is Map for functions
// that call an outside service and spend their time waiting for it.
//
//	users := transforms.AsyncMap(logins, client.User, transforms.AsyncLimit(50), transforms.AsyncTimeout(time.Second))
//
// Each worker has up to 16 calls of f under way ([AsyncLimit]); while that many more
// elements wait, it is fed no further. The results come in the order of the
// elements on that worker, so that one slow call holds up those behind it;
// [AsyncUnordered] lets them come as they are ready.
//
// Results have the time, window and pane of their elements. Watermarks stay where
// they were among the elements: no element becomes late by waiting for a call, also with
// AsyncUnordered, and none that was late is on time.
//
// The context of f ends when the run does, or the time that [AsyncTimeout] gives
// is over; f must return then, since the run ends when all calls have. An error of f is tried
// again as [AsyncRetry] says, and then fails the run with the element, its time
// and window; [TryAsyncMap] puts failed elements into a collection instead. A panic
// fails the run at once.
//
// f is called for each element at least once: a run that is restored calls it again for
// elements whose results had not gone on. Elements must have a coder, and f is
// not given withdrawals, for which the service might answer otherwise than before.
//
// The counters "calls" and "retries" of the result say how many elements f was called for,
// and how many attempts there were beyond the first of each.
//
// Under a TestStream all calls that an event leads to are done before the next event.
func AsyncMap[I, O any](in pcoll.PCollection[I], f func(ctx context.Context, in I) (O, error), opts ...pcoll.Option) pcoll.PCollection[O] {
	b := pcoll.NewBuilder(in.Pipeline(), "AsyncMap", opts...)
	op := newAsyncOp(b, f)
	like := async.Input(b, in)
	op.Edge = like.Edge
	out := pcoll.To[O](b, like)
	b.Add(op)
	return out
}

// TryAsyncMap is [AsyncMap] that also returns the elements for which f failed
// for good. They keep time and window. A panic still fails the run.
func TryAsyncMap[I, O any](in pcoll.PCollection[I], f func(ctx context.Context, in I) (O, error), opts ...pcoll.Option) (
	pcoll.PCollection[O], pcoll.PCollection[FailedCall[I]]) {
	b := pcoll.NewBuilder(in.Pipeline(), "TryAsyncMap", opts...)
	op := newAsyncOp(b, f)
	op.Failed = func(v I, c *async.Call[O]) FailedCall[I] {
		return FailedCall[I]{Input: v, Error: c.Err.Error(), Attempts: int64(c.Attempts)}
	}
	like := async.Input(b, in)
	op.Edge = like.Edge
	out, failed := pcoll.To[O](b, like), pcoll.To[FailedCall[I]](b, like)
	b.Add(op)
	return out, failed
}

// FailedCall is an element for which a call failed: the error of the last
// attempt, and how many there were.
type FailedCall[I any] struct {
	Input    I
	Error    string
	Attempts int64
}

func newAsyncOp[I, O any](b *pcoll.Builder, f func(context.Context, I) (O, error)) *async.Op[I, O, O, FailedCall[I]] {
	checkFunc(b, f == nil)
	return &async.Op[I, O, O, FailedCall[I]]{
		Settings: async.Take(b),
		Remedy:   "TryAsyncMap gives failed elements as a collection, AsyncRetry tries again",
		Result:   func(_ I, r O) O { return r },
		Open: func(_ exec.Env, start func(*async.Call[O])) (async.Resolver[I, O], error) {
			return async.Resolver[I, O]{Resolve: func(v I) (none O, call *async.Call[O]) {
				call = &async.Call[O]{Do: func(ctx context.Context) (O, error) { return f(ctx, v) }}
				start(call)
				return none, call
			}}, nil
		},
	}
}

// AsyncLimit lets each worker have n calls under way at once; 16 without it.
func AsyncLimit(n int) pcoll.Option { return pcoll.Extra("AsyncLimit", async.Limit(n)) }

// AsyncUnordered lets results come as they are ready. They do not overtake a watermark:
// those of elements that came before one come before those of elements after it.
func AsyncUnordered() pcoll.Option { return pcoll.Extra("AsyncUnordered", async.Unordered{}) }

// AsyncTimeout ends the context of each attempt after d, by the machine's clock
// also under a TestStream. Without it an attempt takes as long as it takes.
func AsyncTimeout(d time.Duration) pcoll.Option {
	return pcoll.Extra("AsyncTimeout", async.Timeout(d))
}

// AsyncRetry makes up to so many attempts, the first included, until one does not
// fail; errors marked with [Permanent] are not tried again. It pauses for first
// after the first attempt, then twice as long each time, up to longest: give both the
// same for equal pauses. Each pause is shorter by up to a half, so that calls which
// failed together do not come back together. An element that pauses counts as a call.
//
// Under a TestStream, whose clock does not move by itself, there is no pause.
func AsyncRetry(attempts int, first, longest time.Duration) pcoll.Option {
	return pcoll.Extra("AsyncRetry", async.Retry{Attempts: attempts, First: first, Max: longest})
}

// Permanent marks an error, which may be wrapped further, as one that
// [AsyncRetry] need not try again: the service has refused, and will again. It
// returns nil for nil.
func Permanent(err error) error { return async.Permanent(err) }
