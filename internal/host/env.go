// Package host is the one place where the engine meets the machine: it
// implements exec.Env, the clock, parking and waking of workers, and
// goroutines. Everything else in the engine gets these from here, so that a
// test can put its own in their place.
package host

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A Clock tells processing time.
type Clock interface {
	// Now returns processing time; it never goes back.
	Now() exec.Time
}

// Wall is the machine's clock.
type Wall struct{}

// Now returns the wall time.
func (Wall) Now() exec.Time { return exec.TimeOf(time.Now()) }

// Manual is a clock that stands still until it is moved.
type Manual struct{ now atomic.Int64 }

// Now returns the time it was moved to.
func (m *Manual) Now() exec.Time { return exec.Time(m.now.Load()) }

// Advance moves the clock by ms.
func (m *Manual) Advance(ms int64) { m.now.Add(ms) }

// Place says where an operator runs.
type Place struct {
	Number  int32  // of the operator
	Name    string // of the transform
	Index   int    // of the worker
	Count   int    // of workers
	Context context.Context
	Clock   Clock
	Aligned bool // aligned forms are wanted
	Wake    func()
	Spawn   func(f func()) // runs f beside the worker; nil where no operator has work there
	Log     *slog.Logger
}

// Op is the exec.Env of one operator on one worker.
type Op struct {
	place   Place
	log     *slog.Logger
	wakeAt  exec.Time
	stores  map[string]exec.Store
	metrics Metrics
	woken   atomic.Bool

	// Work beside the worker.
	running  int // begun and not collected
	mu       sync.Mutex
	returned []func()
}

// NewOp returns the environment of an operator.
func NewOp(p Place) *Op {
	return &Op{place: p, wakeAt: exec.Idle, stores: map[string]exec.Store{}, log: p.Log.With("transform", p.Name, "worker", p.Index)}
}

// Name returns the transform's name.
func (o *Op) Name() string { return o.place.Name }

// Stores returns what the operator keeps, by name.
func (o *Op) Stores() map[string]exec.Store { return o.stores }

// Op returns the operator's number.
func (o *Op) Op() int32 { return o.place.Number }

// Worker returns the worker's number and how many there are.
func (o *Op) Worker() (int, int) { return o.place.Index, o.place.Count }

// Context is done when the run ends.
func (o *Op) Context() context.Context { return o.place.Context }

// Now returns processing time.
func (o *Op) Now() exec.Time { return o.place.Clock.Now() }

// WakeAt asks for an Advance once processing time is past t.
func (o *Op) WakeAt(t exec.Time) { o.wakeAt = min(o.wakeAt, t) }

// NextWake returns the earliest time asked for with WakeAt, or Idle.
func (o *Op) NextWake() exec.Time { return o.wakeAt }

// TakeWake reports whether a time asked for has passed, and forgets it then.
func (o *Op) TakeWake(now exec.Time) bool {
	if now <= o.wakeAt {
		return false
	}
	o.wakeAt = exec.Idle
	return true
}

// Waker returns the function that wakes the worker to poll this operator.
func (o *Op) Waker() func() {
	return func() {
		o.woken.Store(true) // before the wake, so that whoever it wakes sees it
		o.place.Wake()
	}
}

// TakeWoken reports whether the function that Waker returns was called, and
// forgets it: a worker with several roots has to know which of them to poll.
func (o *Op) TakeWoken() bool { return o.woken.Swap(false) }

// Go has work run beside the worker.
func (o *Op) Go(work func(ctx context.Context), done func(err error)) {
	o.running++
	o.place.Spawn(func() {
		err := ErrExit // unless it returns
		defer func() {
			o.mu.Lock()
			o.returned = append(o.returned, func() { done(err) })
			o.mu.Unlock()
			o.place.Wake()
		}()
		err = Recover(func() { work(o.place.Context) })
	})
}

// Pause waits for ms milliseconds of the machine's clock, and not at all where that is not the run's.
func (o *Op) Pause(ctx context.Context, ms int64) error {
	if _, ok := o.place.Clock.(Wall); !ok {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Running returns how much work of Go was begun and is not collected.
func (o *Op) Running() int { return o.running }

// Returned reports whether there is work to collect.
func (o *Op) Returned() bool {
	if o.running == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.returned) > 0
}

// Collect calls done for all work that has returned.
func (o *Op) Collect() {
	if o.running == 0 {
		return
	}
	o.mu.Lock()
	all := o.returned
	o.returned = nil
	o.mu.Unlock()
	o.running -= len(all)
	for _, done := range all {
		done()
	}
}

// Keep registers a store. A second one of the same name is a bug of the operator.
func (o *Op) Keep(name string, s exec.Store) {
	if o.stores[name] != nil {
		panic(fmt.Sprintf("host: operator %s keeps two stores named %q", o.place.Name, name))
	}
	o.stores[name] = s
}

// Aligned reports whether aligned forms are wanted.
func (o *Op) Aligned() bool { return o.place.Aligned }

// Counter returns a counter.
func (o *Op) Counter(name string) *exec.Counter { return o.metrics.counter(name) }

// Distribution returns a distribution.
func (o *Op) Distribution(name string) *exec.Distribution { return o.metrics.dist(name) }

// Log returns the logger.
func (o *Op) Log() *slog.Logger { return o.log }

// Metrics returns the metrics of the operator on this worker.
func (o *Op) Metrics() *Metrics { return &o.metrics }

// Metrics are the counters and distributions of one operator on one worker. The
// worker changes the live values without a lock and publishes copies.
type Metrics struct {
	live  map[string]*exec.Counter
	dists map[string]*exec.Distribution

	mu        sync.Mutex
	counts    map[string]int64
	summaries map[string]exec.Distribution
	watermark exec.Time
}

func (m *Metrics) counter(name string) *exec.Counter {
	if m.live == nil {
		m.live = map[string]*exec.Counter{}
	}
	c := m.live[name]
	if c == nil {
		c = &exec.Counter{}
		m.live[name] = c
	}
	return c
}

func (m *Metrics) dist(name string) *exec.Distribution {
	if m.dists == nil {
		m.dists = map[string]*exec.Distribution{}
	}
	d := m.dists[name]
	if d == nil {
		d = &exec.Distribution{}
		m.dists[name] = d
	}
	return d
}

// Publish makes the values as they are now visible to Read. Only the worker calls it.
func (m *Metrics) Publish(watermark exec.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts, m.summaries = map[string]int64{}, map[string]exec.Distribution{}
	}
	for name, c := range m.live {
		m.counts[name] = c.N
	}
	for name, d := range m.dists {
		m.summaries[name] = *d
	}
	m.watermark = watermark
}

// AddTo adds the published values to counts and dists and returns the
// published watermark. Any goroutine may call it.
func (m *Metrics) AddTo(counts map[string]int64, dists map[string]exec.Distribution) exec.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, n := range m.counts {
		counts[name] += n
	}
	for name, d := range m.summaries {
		dists[name] = merge(dists[name], d)
	}
	if m.counts == nil {
		return exec.MinTime
	}
	return m.watermark
}

func merge(a, b exec.Distribution) exec.Distribution {
	switch {
	case a.Count == 0:
		return b
	case b.Count == 0:
		return a
	}
	return exec.Distribution{Count: a.Count + b.Count, Sum: a.Sum + b.Sum, Min: min(a.Min, b.Min), Max: max(a.Max, b.Max)}
}
