package transforms

import (
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
)

// GroupIntoBatches gathers the values of each key and window into batches of n,
// for calls that are cheaper in bulk. n = 0 sets no number; then [BatchBytes] must limit a batch.
//
// A batch comes out as soon as it has n values; before one is added that would
// make it larger than [BatchBytes], and once it is as large as that; when
// [BatchWait] has passed since its first value came; and, whatever it holds, when
// its window expires: at its end and the allowed lateness. Its event time is the
// least of its values', and holds the watermark until then. Which values are
// together depends on the order in which they come.
//
// Elements of windows that have expired are dropped as late and counted. The
// windows must not merge.
func GroupIntoBatches[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], n int, opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]] {
	out, _ := groupIntoBatches(pcoll.NewBuilder(in.Pipeline(), "GroupIntoBatches", opts...), in, n, false)
	return out
}

// GroupIntoBatchesWithLate is [GroupIntoBatches] that also returns what it drops
// because its window had expired. Such elements keep their time and are in the global window.
func GroupIntoBatchesWithLate[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], n int, opts ...pcoll.Option) (
	batches pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]], late pcoll.PCollection[pcoll.KV[K, V]]) {
	return groupIntoBatches(pcoll.NewBuilder(in.Pipeline(), "GroupIntoBatches", opts...), in, n, true)
}

// GroupIntoShardedBatches is [GroupIntoBatches] for keys with more values than
// one worker can take: the values of each key are dealt to so many shards, which
// belong to workers of their own and each fill a batch at a time.
func GroupIntoShardedBatches[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]], n, shards int,
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]] {
	b := pcoll.NewBuilder(in.Pipeline(), "GroupIntoShardedBatches", opts...)
	if shards < 1 {
		b.Errorf("%d shards take nothing; want at least 1", shards)
	}
	dealt := applyTo[pcoll.KV[K, V], pcoll.KV[sharded[K], V]](b.Part("Deal"), in, false, dealOp[K, V]{func(K) int { return shards }})
	batches, _ := groupIntoBatches(b, dealt, n, false)
	type A = pcoll.KV[sharded[K], pcoll.Group[V]]
	type B = pcoll.KV[K, pcoll.Group[V]]
	return applyTo[A, B](b.Part("Join"), batches, false, mapOp[A, B]{func(e A) B { return B{Key: e.Key.Key, Value: e.Value} }})
}

// BatchBytes limits the size of a batch: the bytes of its values in their
// encoding, or by [BatchSizeOf]. A single value that is larger is a batch of its own.
func BatchBytes(n int64) pcoll.Option { return pcoll.Extra("BatchBytes", batchBytes(n)) }

// BatchSizeOf gives the size of a value for [BatchBytes], in any unit.
func BatchSizeOf[V any](size func(V) int64) pcoll.Option {
	return pcoll.Extra("BatchSizeOf", batchSizeOf[V](size))
}

// BatchWait lets a batch wait for d after its first value came, by the clock.
func BatchWait(d time.Duration) pcoll.Option { return pcoll.Extra("BatchWait", batchWait(d)) }

type (
	batchBytes         int64
	batchSizeOf[V any] func(V) int64
	batchWait          time.Duration
)

func groupIntoBatches[K comparable, V any](b *pcoll.Builder, in pcoll.PCollection[pcoll.KV[K, V]], n int, late bool) (
	out pcoll.PCollection[pcoll.KV[K, pcoll.Group[V]]], dropped pcoll.PCollection[pcoll.KV[K, V]]) {
	o := &batchOp[K, V]{late: late}
	takeLimits(b, o, n)
	like, key := byKeyAndWindow(b, in)
	o.strategy, o.key = like.Strategy, key
	var err error
	if o.state, err = coders.For[batch[V]](); err != nil && !b.Bad() {
		b.Errorf("%w", err)
	}
	out = pcoll.To[pcoll.KV[K, pcoll.Group[V]]](b, like)
	if late {
		dropped = pcoll.To[pcoll.KV[K, V]](b, pcoll.Unwindowed(like.Bounded))
	}
	b.Add(o)
	return out, dropped
}

// takeLimits sets the limits of o by the options, or reports what is wrong with them.
func takeLimits[K comparable, V any](b *pcoll.Builder, o *batchOp[K, V], n int) {
	o.count, o.wait = n, -1
	for _, l := range pcoll.Taken[batchBytes](b) {
		o.bytes = int64(l)
		if l < 1 {
			b.Errorf("a batch of %d bytes holds nothing; want at least 1", l)
		}
	}
	for _, f := range pcoll.Taken[batchSizeOf[V]](b) {
		checkFunc(b, f == nil)
		if o.bytes == 0 {
			b.Errorf("BatchSizeOf measures for BatchBytes, which is not given; give a limit, or leave it out")
		}
		o.sizeOf = f
	}
	for _, d := range pcoll.Taken[batchWait](b) {
		if d := time.Duration(d); d < 0 || d%time.Millisecond != 0 {
			b.Errorf("a batch cannot wait for %v; give whole milliseconds", d)
		}
		o.wait = time.Duration(d).Milliseconds()
	}
	if n < 0 || n == 0 && o.bytes == 0 {
		b.Errorf("batches of %d values would never be full; give a number of at least 1, or limit them with BatchBytes", n)
	}
}

// sharded is one of several parts of a key.
type sharded[K comparable] struct {
	Key   K
	Shard int64
}

// dealOp gives each element one of the shards of its key, in turn.
type dealOp[K comparable, V any] struct{ shards func(K) int }

func (o dealOp[K, V]) New(env exec.Env, outs []any) (exec.Instance, error) {
	shards, down, op := o.shards, outs[0].(exec.Input[pcoll.KV[sharded[K], V]]), env.Op()
	worker, _ := env.Worker() // workers start with different shards
	dealt := new(tally)
	env.Keep("dealt", dealt)
	return one(exec.Input[pcoll.KV[K, V]](func(c *exec.Ctx, e pcoll.KV[K, V]) {
		c.Op = op
		dealt.n++
		k := sharded[K]{Key: e.Key}
		if n := shards(e.Key); n > 1 {
			k.Shard = int64((dealt.n + uint64(worker)) % uint64(n))
		}
		down(c, pcoll.KV[sharded[K], V]{Key: k, Value: e.Value})
	}))
}
