package async

import (
	"context"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
)

// Found is what was found for a key: a value, or that there is none.
type Found[V any] struct {
	Val V
	OK  bool
}

// Entry is what a cache keeps of a key.
type Entry[K comparable, V any] struct {
	Key   K
	Found Found[V]
	Until exec.Time // processing time from which it does not count
}

// A Cache keeps entries by the hash of their key. It may forget any, at any
// time. One worker uses it.
type Cache[K comparable, V any] interface {
	// Get returns the entry that was put last under a hash, if it is there.
	Get(hash uint64) (Entry[K, V], bool)
	// Put keeps e, perhaps.
	Put(hash uint64, e Entry[K, V])
	// Settle returns when all that was Put can be got.
	Settle()
	// Close releases the cache.
	Close()
}

// Lookup finds what belongs to an element by a key, through a cache.
type Lookup[E any, K comparable, V any] struct {
	Key      *coders.Key[K]
	Of       func(E) K
	Fetch    func(ctx context.Context, k K) (V, bool, error)
	TTL      int64 // ms
	Negative int64 // ms, of keys that were not found; 0: they are not kept
	Cache    func() (Cache[K, V], error)
}

// Open is the Op.Open of elements that are looked up.
func (l *Lookup[E, K, V]) Open(env exec.Env, start func(*Call[Found[V]])) (Resolver[E, Found[V]], error) {
	cache, err := l.Cache()
	if err != nil {
		return Resolver[E, Found[V]]{}, err
	}
	x := &looking[E, K, V]{Lookup: l, env: env, start: start, cache: cache, flying: map[K]*Call[Found[V]]{},
		hits: env.Counter("user:cacheHits"), negative: env.Counter("user:cacheNegativeHits"),
		misses: env.Counter("user:cacheMisses"), shared: env.Counter("user:cacheShared")}
	return Resolver[E, Found[V]]{Resolve: x.resolve, Turn: x.turn, Close: func() error { cache.Close(); return nil }}, nil
}

// looking is a Lookup on one worker.
type looking[E any, K comparable, V any] struct {
	*Lookup[E, K, V]
	env    exec.Env
	start  func(*Call[Found[V]])
	cache  Cache[K, V]
	put    bool                  // something was, since the cache settled
	flying map[K]*Call[Found[V]] // calls under way or waiting, which elements share

	hits, negative, misses, shared *exec.Counter
}

func (x *looking[E, K, V]) resolve(v E) (Found[V], *Call[Found[V]]) {
	k := x.Of(v)
	if x.Key.Normalize != nil {
		k = x.Key.Normalize(k)
	}
	hash := x.Key.Hash(k)
	if e, ok := x.cache.Get(hash); ok && e.Key == k && x.env.Now() < e.Until {
		if !e.Found.OK {
			x.negative.N++
		}
		x.hits.N++
		return e.Found, nil
	}
	if c := x.flying[k]; c != nil {
		x.shared.N++
		return Found[V]{}, c
	}
	x.misses.N++
	c := &Call[Found[V]]{
		Do: func(ctx context.Context) (f Found[V], err error) {
			f.Val, f.OK, err = x.Fetch(ctx, k)
			return f, err
		},
		Then: func(c *Call[Found[V]]) { x.fetched(hash, k, c) },
	}
	x.flying[k] = c
	x.start(c)
	return Found[V]{}, c
}

// fetched keeps what a call brought.
func (x *looking[E, K, V]) fetched(hash uint64, k K, c *Call[Found[V]]) {
	delete(x.flying, k)
	ttl := x.TTL
	if c.OK() && !c.Val.OK {
		ttl = x.Negative
	}
	if c.OK() && ttl > 0 {
		x.put = true
		x.cache.Put(hash, Entry[K, V]{Key: k, Found: c.Val, Until: x.env.Now().Add(ttl)})
	}
}

// turn lets elements of the next turn see what was fetched in this one.
func (x *looking[E, K, V]) turn() {
	if x.put {
		x.cache.Settle()
		x.put = false
	}
}
