package lookup

import (
	"fmt"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/penstock-dev/penstock/internal/async"
)

// cache is an async.Cache in ristretto. The hash is ristretto's key: two keys of one
// hash take each other's place, and the entry says whose it is. Ages are left to the
// reader, whose clock may be a script's; ristretto knows the machine's only.
type cache[K comparable, V any] struct {
	c *ristretto.Cache[uint64, async.Entry[K, V]]
}

func newCache[K comparable, V any](entries int64) (async.Cache[K, V], error) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, async.Entry[K, V]]{
		NumCounters:        10 * entries, // as its documentation says
		MaxCost:            entries,
		BufferItems:        64,
		IgnoreInternalCost: true, // entries are counted, not bytes
	})
	if err != nil {
		return nil, fmt.Errorf("a cache of %d entries: %w", entries, err)
	}
	return cache[K, V]{c}, nil
}

func (c cache[K, V]) Get(hash uint64) (async.Entry[K, V], bool) { return c.c.Get(hash) }

// Put does not fail: what ristretto has no time or place for is fetched again.
func (c cache[K, V]) Put(hash uint64, e async.Entry[K, V]) { c.c.Set(hash, e, 1) }

func (c cache[K, V]) Settle() { c.c.Wait() }
func (c cache[K, V]) Close()  { c.c.Close() }
