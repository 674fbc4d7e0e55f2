package lookup

import (
	"testing"
	"testing/synctest"

	"github.com/penstock-dev/penstock/internal/async"
)

// What was put is there once the cache has settled; a full one keeps no more than
// it may; and closing it ends its goroutines, for which the bubble waits.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := newCache[string, int](100)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		put := func(hash uint64, v int) {
			c.Put(hash, async.Entry[string, int]{Key: "k", Found: async.Found[int]{Val: v, OK: true}, Until: 7})
		}
		for i := range uint64(100) {
			put(i, int(i))
		}
		c.Settle()
		for i := range uint64(100) {
			if e, ok := c.Get(i); !ok || e.Key != "k" || e.Found.Val != int(i) || e.Until != 7 {
				t.Fatalf("hash %d: %+v, %v", i, e, ok)
			}
		}
		put(3, 33)
		c.Settle()
		if e, _ := c.Get(3); e.Found.Val != 33 {
			t.Errorf("a newer entry does not take the older one's place: %+v", e)
		}
		for i := range uint64(1000) {
			put(100+i, 1)
		}
		c.Settle()
		n := 0
		for i := range uint64(1100) {
			if _, ok := c.Get(i); ok {
				n++
			}
		}
		if n == 0 || n > 100 {
			t.Errorf("a cache of 100 entries keeps %d", n)
		}
	})
}

// The smallest cache works too.
func TestCacheOfOne(t *testing.T) {
	c, err := newCache[string, int](1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Put(1, async.Entry[string, int]{Key: "k"})
	c.Settle()
	if e, ok := c.Get(1); !ok || e.Key != "k" {
		t.Errorf("got %+v, %v", e, ok)
	}
}
