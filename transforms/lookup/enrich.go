package lookup

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/async"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
)

// Enrich looks up what belongs to the key of each element, and emits what merge
// makes of the element and the value. found is false, and the value zero, where
// fetch found nothing: elements are never dropped.
//
// fetch is called as [transforms.AsyncMap] calls its function, by all its options:
// many calls at once, in order or not, with a timeout and further attempts. merge is called by the worker.
//
// What was found is kept, by default for a minute ([TTL]) and up to 10,000 keys
// ([Entries]), in a cache of each worker, and serves the elements that follow on that worker.
// That nothing was found is kept only if [NegativeTTL] says so, an error never.
// While a key is fetched, elements that need it wait for that one call, and share its failure. The cache is empty after
// a restart. A key must have a canonical encoding (see coders.ForKey), and is
// compared by it. Values that are kept are handed to merge for many elements: it must not change them.
//
// The counters of the result say how elements were served: "cacheHits", of
// them "cacheNegativeHits" by the knowledge that there is nothing, "cacheMisses" that began a
// call, "cacheShared" that waited for a call of others; and "calls" and "retries".
//
// A failure of fetch fails the run with the element; [TryEnrich] puts failed
// elements into a collection instead.
//
// Under a TestStream entries grow old by its clock.
func Enrich[E any, K comparable, V, O any](in pcoll.PCollection[E], key func(E) K, fetch func(ctx context.Context, key K) (value V, found bool, err error),
	merge func(e E, value V, found bool) O, opts ...pcoll.Option) pcoll.PCollection[O] {
	b := pcoll.NewBuilder(in.Pipeline(), "Enrich", opts...)
	op := newOp(b, key, fetch, merge)
	like := async.Input(b, in)
	op.Edge = like.Edge
	out := pcoll.To[O](b, like)
	b.Add(op)
	return out
}

// TryEnrich is [Enrich] that also returns the elements for which fetch failed for
// good. They keep time and window. A panic still fails the run.
func TryEnrich[E any, K comparable, V, O any](in pcoll.PCollection[E], key func(E) K, fetch func(ctx context.Context, key K) (value V, found bool, err error),
	merge func(e E, value V, found bool) O, opts ...pcoll.Option) (pcoll.PCollection[O], pcoll.PCollection[transforms.FailedCall[E]]) {
	b := pcoll.NewBuilder(in.Pipeline(), "TryEnrich", opts...)
	op := newOp(b, key, fetch, merge)
	op.Failed = func(v E, c *async.Call[async.Found[V]]) transforms.FailedCall[E] {
		return transforms.FailedCall[E]{Input: v, Error: c.Err.Error(), Attempts: int64(c.Attempts)}
	}
	like := async.Input(b, in)
	op.Edge = like.Edge
	out, failed := pcoll.To[O](b, like), pcoll.To[transforms.FailedCall[E]](b, like)
	b.Add(op)
	return out, failed
}

// Defaults of the cache.
const (
	defaultTTL     = time.Minute
	defaultEntries = 10_000
	maxEntries     = 1 << 28
)

// TTL keeps values for d after their call ended, by the clock: an element is served
// with what was true at most so long ago.
func TTL(d time.Duration) pcoll.Option { return pcoll.Extra("TTL", ttl(d)) }

// NegativeTTL keeps the knowledge that nothing was found for d: short, where what is
// missing may be added. Without it such a key is fetched each time.
func NegativeTTL(d time.Duration) pcoll.Option { return pcoll.Extra("NegativeTTL", negativeTTL(d)) }

// Entries bounds the keys that the cache of each worker keeps. Which of more are
// kept is ristretto's choice: those in frequent use, so that a new key may not be kept at all.
func Entries(n int) pcoll.Option { return pcoll.Extra("Entries", entries(n)) }

type (
	ttl         time.Duration
	negativeTTL time.Duration
	entries     int
)

func newOp[E any, K comparable, V, O any](b *pcoll.Builder, key func(E) K, fetch func(context.Context, K) (V, bool, error),
	merge func(E, V, bool) O) *async.Op[E, async.Found[V], O, transforms.FailedCall[E]] {
	if key == nil || fetch == nil || merge == nil {
		b.Errorf("a function is nil; give one for the key, one that fetches and one that merges")
	}
	l := &async.Lookup[E, K, V]{Of: key, Fetch: fetch, TTL: defaultTTL.Milliseconds()}
	for _, d := range pcoll.Taken[ttl](b) {
		l.TTL = milliseconds(b, time.Duration(d))
	}
	for _, d := range pcoll.Taken[negativeTTL](b) {
		l.Negative = milliseconds(b, time.Duration(d))
	}
	n := defaultEntries
	for _, e := range pcoll.Taken[entries](b) {
		if n = int(e); n < 1 || n > maxEntries {
			b.Errorf("a cache of %d entries cannot be; want 1 to %d", n, maxEntries)
		}
	}
	l.Cache = func() (async.Cache[K, V], error) { return newCache[K, V](int64(n)) }
	var err error
	if l.Key, err = coders.ForKey[K](); err != nil {
		b.Errorf("%w", err)
	}
	return &async.Op[E, async.Found[V], O, transforms.FailedCall[E]]{
		Settings: async.Take(b),
		Remedy:   "TryEnrich gives failed elements as a collection, AsyncRetry tries again",
		Open:     l.Open,
		Result:   func(v E, f async.Found[V]) O { return merge(v, f.Val, f.OK) },
	}
}

func milliseconds(b *pcoll.Builder, d time.Duration) int64 {
	if d < time.Millisecond || d%time.Millisecond != 0 {
		b.Errorf("entries cannot be kept for %v; give whole milliseconds, at least one", d)
	}
	return d.Milliseconds()
}
