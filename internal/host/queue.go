package host

import (
	"context"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

// A Signal parks one worker until somebody wakes it. A wake that comes before
// the wait is not lost.
type Signal struct{ ch chan struct{} }

// NewSignal returns a signal.
func NewSignal() *Signal { return &Signal{make(chan struct{}, 1)} }

// Wake ends the current or the next Wait. Any goroutine may call it.
func (s *Signal) Wake() {
	select {
	case s.ch <- struct{}{}:
	default:
	}
}

// Wait parks until Wake, until clock time is past at (Idle: no limit), or until
// ctx is done. The limit is meaningful for the wall clock only.
func (s *Signal) Wait(ctx context.Context, now, at exec.Time) {
	var due <-chan time.Time
	if at != exec.Idle {
		d := time.Duration(min(at.Add(1)-now, 1<<40)) * time.Millisecond
		if d <= 0 {
			return
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-s.ch:
	case <-due:
	case <-ctx.Done():
	}
}

// A Queue passes messages from one producer to one consumer. Its limit counts
// messages that were pushed as data: a push beyond it succeeds and reports that
// the queue is full, and control messages always fit.
type Queue[M any] struct {
	mu       sync.Mutex
	buf      []entry[M]
	head     int
	data     int // data messages in buf
	limit    int
	free     []M
	consumer *Signal
	producer *Signal // woken when a full queue has room again
}

type entry[M any] struct {
	m    M
	data bool
}

// NewQueue returns an empty queue that wakes the two ends.
func NewQueue[M any](limit int, producer, consumer *Signal) *Queue[M] {
	return &Queue[M]{limit: limit, producer: producer, consumer: consumer}
}

// Push appends m. data says whether it counts; full whether there is no room for more data.
func (q *Queue[M]) Push(m M, data bool) (full bool) {
	q.mu.Lock()
	q.buf = append(q.buf, entry[M]{m, data})
	if data {
		q.data++
	}
	full = q.data >= q.limit
	q.mu.Unlock()
	q.consumer.Wake()
	return full
}

// Replace puts a control message m in the place of the last message, if there is
// one and same says that m supersedes it; else it appends m. A producer that only
// has news of itself to tell thereby needs no room, however long its consumer is busy.
func (q *Queue[M]) Replace(m M, same func(last M) bool) {
	q.mu.Lock()
	if n := len(q.buf); n > q.head && !q.buf[n-1].data && same(q.buf[n-1].m) {
		q.buf[n-1].m = m
	} else {
		q.buf = append(q.buf, entry[M]{m, false})
	}
	q.mu.Unlock()
	q.consumer.Wake()
}

// Pop takes the first message.
func (q *Queue[M]) Pop() (m M, ok bool) {
	q.mu.Lock()
	if q.head == len(q.buf) {
		q.mu.Unlock()
		return m, false
	}
	e := q.buf[q.head]
	q.buf[q.head] = entry[M]{}
	q.head++
	if q.head == len(q.buf) {
		q.buf, q.head = q.buf[:0], 0
	} else if q.head > 64 && q.head > len(q.buf)/2 {
		n := copy(q.buf, q.buf[q.head:])
		clear(q.buf[n:])
		q.buf, q.head = q.buf[:n], 0
	}
	wake := false
	if e.data {
		wake = q.data == q.limit
		q.data--
	}
	q.mu.Unlock()
	if wake && q.producer != nil {
		q.producer.Wake()
	}
	return e.m, true
}

// Full reports whether there is no room for more data.
func (q *Queue[M]) Full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.data >= q.limit
}

// Recycle gives m back to the producer.
func (q *Queue[M]) Recycle(m M) {
	q.mu.Lock()
	if len(q.free) < q.limit {
		q.free = append(q.free, m)
	}
	q.mu.Unlock()
}

// Free takes a message that was given back.
func (q *Queue[M]) Free() (m M, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.free)
	if n == 0 {
		return m, false
	}
	m = q.free[n-1]
	q.free = q.free[:n-1]
	return m, true
}
