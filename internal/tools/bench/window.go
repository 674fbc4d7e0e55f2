package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// event is what the windowed sums read.
type event[K comparable] struct {
	K K
	T int64 // ms
	V int64
}

// userID is a named string, as keys usually are.
type userID string

const (
	events   = 1 << 21
	keys     = 10_000
	windowMS = 60_000
	perMS    = 100_000.0 / windowMS // events a millisecond: 100,000 a minute
)

// windows compares a sum per key and minute.
func windows() []comparison {
	ints := generate(func(i uint64) int64 { return int64(i) })
	ids := make([]userID, keys)
	for i := range ids {
		ids[i] = userID(fmt.Sprintf("user-%011d", i))
	}
	strs := generate(func(i uint64) userID { return ids[i] })
	return []comparison{
		windowed("window-int-1", ints, 1, 1.3, intHash),
		windowed("window-string-1", strs, 1, 1.3, stringHash),
		windowed("window-int-2", ints, 2, 1.4, intHash),
		windowed("window-string-2", strs, 2, 1.4, stringHash),
	}
}

func generate[K comparable](key func(uint64) K) []event[K] {
	es := make([]event[K], events)
	x := uint64(1)
	for i := range es {
		x = x*6364136223846793005 + 1442695040888963407
		es[i] = event[K]{key(x >> 33 % keys), int64(float64(i) / perMS), 1 + int64(x>>60)}
	}
	return es
}

func windowed[K comparable](name string, es []event[K], workers int, goal float64, hash func(K) uint64) comparison {
	c := comparison{name: name, n: events, goal: goal, noAllocs: true,
		hand:   func() uint64 { return naive(es) },
		beside: []variant{{"current window cached", func() uint64 { return cached(es) }}},
		pen: func() uint64 {
			p := pcoll.New(name)
			in := slice(p, es, 1, func(e *event[K]) exec.Time { return exec.Time(e.T) })
			w := windowing.Into(in, windowing.Fixed(time.Minute))
			byKey := transforms.KeyBy(w, func(e event[K]) K { return e.K })
			sums := transforms.CombinePerKey(byKey, combine.On(func(e event[K]) int64 { return e.V }, combine.Sum[int64]()))
			out := transforms.Map(sums, func(s pcoll.KV[K, int64]) uint64 { return uint64(s.Value) * uint64(s.Value) })
			return run(p, sum(out), workers)
		}}
	if workers > 1 {
		c.hand = func() uint64 { return partitioned(es, workers, hash) }
		c.beside = nil
	}
	return c
}

// naive keeps the maps of all windows, as one writes it first.
func naive[K comparable](es []event[K]) uint64 {
	m := map[int64]map[K]int64{}
	for i := range es {
		w := es[i].T / windowMS
		keys := m[w]
		if keys == nil {
			keys = map[K]int64{}
			m[w] = keys
		}
		keys[es[i].K] += es[i].V
	}
	var s uint64
	for _, keys := range m {
		s += squares(keys)
	}
	return s
}

// cached keeps the map of the current window at hand and drops closed ones.
func cached[K comparable](es []event[K]) (s uint64) {
	last, keys := int64(-1), map[K]int64{}
	for i := range es {
		if w := es[i].T / windowMS; w != last {
			s += squares(keys)
			clear(keys)
			last = w
		}
		keys[es[i].K] += es[i].V
	}
	return s + squares(keys)
}

func squares[K comparable](m map[K]int64) (s uint64) {
	for _, v := range m {
		s += uint64(v) * uint64(v)
	}
	return s
}

// partitioned is the naive idiom on several goroutines: each input goroutine
// hashes its share into batches of 1024 for the owners of the keys.
func partitioned[K comparable](es []event[K], n int, hash func(K) uint64) uint64 {
	const size = 1024
	queues := make([]chan []event[K], n)
	free := make(chan []event[K], 16*n)
	for i := range queues {
		queues[i] = make(chan []event[K], 8)
	}
	var senders, owners sync.WaitGroup
	sums := make([]uint64, n)
	for i := range n {
		owners.Go(func() {
			m := map[int64]map[K]int64{}
			for b := range queues[i] {
				for j := range b {
					w := b[j].T / windowMS
					keys := m[w]
					if keys == nil {
						keys = map[K]int64{}
						m[w] = keys
					}
					keys[b[j].K] += b[j].V
				}
				select {
				case free <- b[:0]:
				default:
				}
			}
			for _, keys := range m {
				sums[i] += squares(keys)
			}
		})
		share := es[i*len(es)/n : (i+1)*len(es)/n]
		senders.Go(func() { send(share, queues, free, hash, size) })
	}
	senders.Wait()
	for _, q := range queues {
		close(q)
	}
	owners.Wait()
	var s uint64
	for _, v := range sums {
		s += v
	}
	return s
}

func send[K comparable](es []event[K], queues []chan []event[K], free chan []event[K], hash func(K) uint64, size int) {
	bufs := make([][]event[K], len(queues))
	fresh := func() []event[K] {
		select {
		case b := <-free:
			return b
		default:
			return make([]event[K], 0, size)
		}
	}
	for i := range bufs {
		bufs[i] = fresh()
	}
	for i := range es {
		p := int(hash(es[i].K) % uint64(len(queues)))
		bufs[p] = append(bufs[p], es[i])
		if len(bufs[p]) == size {
			queues[p] <- bufs[p]
			bufs[p] = fresh()
		}
	}
	for p, b := range bufs {
		queues[p] <- b
	}
}

func intHash(k int64) uint64 { return uint64(k) * 0x9E3779B97F4A7C15 >> 32 }

// stringHash is FNV-1a, the standard library's hash for this purpose.
func stringHash(k userID) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(k) {
		h = (h ^ uint64(k[i])) * 1099511628211
	}
	return h
}
