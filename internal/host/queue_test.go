package host_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
)

// TestQueueModel holds a queue to a list: order, what counts as data, when it is full.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		q := host.NewQueue[int](limit, host.NewSignal(), host.NewSignal())
		type entry struct {
			m    int
			data bool
		}
		var model []entry
		count := func() (n int) {
			for _, e := range model {
				if e.data {
					n++
				}
			}
			return n
		}
		next := 0
		odd := func(last int) bool { return last%2 == 1 }
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				e := entry{next, rapid.Bool().Draw(t, "data")}
				next++
				model = append(model, e)
				if full := q.Push(e.m, e.data); full != (count() >= limit) {
					t.Fatalf("Push reports full %v with %d of %d", full, count(), limit)
				}
			},
			"replace": func(*rapid.T) {
				if n := len(model); n > 0 && !model[n-1].data && odd(model[n-1].m) {
					model = model[:n-1]
				}
				model = append(model, entry{next, false})
				q.Replace(next, odd)
				next++
			},
			"pop": func(t *rapid.T) {
				m, ok := q.Pop()
				if ok != (len(model) > 0) || ok && m != model[0].m {
					t.Fatalf("Pop gives %d, %v; want %v", m, ok, model)
				}
				if ok {
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				if q.Full() != (count() >= limit) {
					t.Fatalf("Full is %v with %d of %d", q.Full(), count(), limit)
				}
			},
		})
	})
}

// TestRecycledIsBounded: what is given back beyond the limit is let go.
func TestRecycledIsBounded(t *testing.T) {
	q := host.NewQueue[int](3, nil, host.NewSignal())
	for i := range 1000 {
		q.Recycle(i)
	}
	n := 0
	for {
		if _, ok := q.Free(); !ok {
			break
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d messages kept for reuse, want 3", n)
	}
}

// TestNoWakeIsLost runs producers and a consumer that park whenever they cannot
// go on. A lost wake would leave all of them parked, which the bubble reports.
func TestNoWakeIsLost(t *testing.T) {
	for _, limit := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			const producers, each = 4, 5000
			consumer := host.NewSignal()
			var queues []*host.Queue[int]
			var wg sync.WaitGroup
			for range producers {
				own := host.NewSignal()
				q := host.NewQueue[int](limit, own, consumer)
				queues = append(queues, q)
				wg.Go(func() {
					for i := range each {
						for q.Full() {
							own.Wait(t.Context(), 0, exec.Idle)
						}
						q.Push(i, true)
						if i%7 == 0 {
							q.Push(-1, false)
						}
					}
				})
			}
			got := make([]int, producers)
			for done := 0; done < producers; {
				idle := true
				for k, q := range queues {
					m, ok := q.Pop()
					if !ok {
						continue
					}
					idle = false
					if m < 0 {
						continue
					}
					if m != got[k] {
						t.Fatalf("message %d of producer %d, want %d", m, k, got[k])
					}
					if got[k]++; got[k] == each {
						done++
					}
				}
				if idle {
					consumer.Wait(t.Context(), 0, exec.Idle)
				}
			}
			wg.Wait()
		})
	}
}

// TestOverrunWakesAtTheLimit: a producer that pushed beyond the limit is woken
// once there is room, not before.
func TestOverrunWakesAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		producer := host.NewSignal()
		q := host.NewQueue[int](2, producer, host.NewSignal())
		for i := range 5 {
			q.Push(i, true)
		}
		woken := false
		go func() {
			producer.Wait(t.Context(), 0, exec.Idle)
			woken = true
		}()
		for left := 4; left >= 1; left-- {
			q.Pop()
			synctest.Wait()
			if want := left < 2; woken != want {
				t.Fatalf("with %d messages left of a limit of 2, woken is %v", left, woken)
			}
		}
	})
}

func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := host.NewSignal()
		s.Wake()
		s.Wake()
		s.Wait(t.Context(), 0, exec.Idle) // a wake before the wait counts, once
		s.Wait(t.Context(), 1000, 1500)   // past 1500 is 501 ms later
		if d := time.Since(start); d != 501*time.Millisecond {
			t.Errorf("waited %v, want 501ms", d)
		}
		s.Wait(t.Context(), 1000, 500) // long past
		if d := time.Since(start); d != 501*time.Millisecond {
			t.Errorf("waited %v for what is past", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Wait(ctx, 0, exec.Idle)
		s.Wait(ctx, exec.MinTime, exec.MaxTime) // as far as it gets: no overflow
	})
}
