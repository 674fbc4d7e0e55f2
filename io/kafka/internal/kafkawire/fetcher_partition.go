package kafkawire

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Chunk is the bytes of whole record batches of one partition. Its reader gives it back with Release.
type Chunk struct {
	TopicPartition
	// FetchOffset is the position it was fetched for; the first batch may begin before it.
	FetchOffset int64
	// Next is the position behind its last batch.
	Next int64
	// Records are the batches, for BatchReader.Reset together with FetchOffset and Aborted.
	Records []byte
	Aborted []AbortedTxn
	// HighWatermark, LastStable and LogStart are the log's as of this fetch.
	HighWatermark, LastStable, LogStart int64

	part *Partition
	buf  []byte
}

// Release gives the chunk's memory back for the next fetch. Neither the chunk nor any view into it may be used after that. Further calls do
// nothing.
func (c *Chunk) Release() {
	f := c.part.f
	f.mu.Lock()
	defer f.mu.Unlock()
	c.release()
}

// release is Release with the lock held.
func (c *Chunk) release() {
	if c.buf == nil {
		return
	}
	p := c.part
	p.held -= cap(c.buf)
	p.f.mem.Put(c.buf)
	c.buf, c.Records = nil, nil
	if n := p.f.nodes[p.leader]; n != nil {
		n.signal()
	}
}

// PartitionState is what the last answer about a partition said.
type PartitionState struct {
	// Next is the offset that is fetched next: behind all chunks fetched so far.
	Next int64
	// HighWatermark, LastStable and LogStart of the last answer, -1 before the first.
	HighWatermark, LastStable, LogStart int64
	// Answered is when the last answer came that was not an error, zero before the first.
	Answered time.Time
	// EndSince and EndAt are the first and the last of the unbroken series of answers that showed Next == LastStable == HighWatermark, and
	// nothing new in between: nothing was unread from EndSince to EndAt. Both are zero when the last answer showed anything else: records,
	// an open transaction, an error.
	EndSince, EndAt time.Time
	// Failing is why the partition cannot be fetched at the moment, nil when it can. It is being retried.
	Failing error
	// Held is the number of bytes in chunks that were fetched and not released.
	Held int
}

// CaughtUp reports whether a reader at position has read everything there is: the last answer showed the log's end there, and no transaction
// is open.
func (s PartitionState) CaughtUp(position int64) bool {
	return !s.EndAt.IsZero() && position == s.Next && s.Failing == nil
}

// Partition is one partition of a Fetcher. Next, Seek and Remove belong to one reader; State may be called from anywhere.
type Partition struct {
	tp   TopicPartition
	f    *Fetcher
	wake func()

	// Guarded by the fetcher's lock.
	leader      int32 // anyNode: to be looked up
	leaderEpoch int32
	next        int64 // offset to fetch next
	lastEpoch   int32 // leader epoch of the record before next, -1 if unknown
	generation  int   // raised by Seek: answers to older requests are dropped
	need        int   // size of the next batch, when a fetch was too small for it
	queue       []*Chunk
	held        int
	state       PartitionState
	answered    bool  // state holds the log's offsets
	err         error // given to the reader behind the queue
	removed     bool
	rangeError  bool // the broker said that next is out of range

	failSince time.Time
	attempt   int
	retryAt   time.Time
	served    bool // got records in the answer being delivered
}

// TopicPartition is which partition it is.
func (p *Partition) TopicPartition() TopicPartition { return p.tp }

// Next gives the next chunk, or nil when there is none yet; wake is called when there is. An error, given after the chunks fetched before
// it, ends the partition until Seek: *OffsetOutOfRangeError, *TruncatedError, *MalformedError, or a *RequestError that retries did not mend.
func (p *Partition) Next() (*Chunk, error) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if len(p.queue) > 0 {
		c := p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		return c, nil
	}
	return nil, p.err
}

// State gives what is known about the partition.
func (p *Partition) State() PartitionState {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	s := p.state
	s.Next, s.Held = p.next, p.held
	if !p.answered {
		s.HighWatermark, s.LastStable, s.LogStart = -1, -1, -1
	}
	if p.err != nil {
		s.Failing = p.err
	}
	return s
}

// Seek goes on at another position: chunks not yet taken are dropped, an error is cleared.
func (p *Partition) Seek(start Start) error {
	if start.Offset < 0 {
		return fmt.Errorf("kafkawire: seek %v to offset %d; resolve Earliest and Latest with ListOffsets first", p.tp, start.Offset)
	}
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if errors.Is(p.err, ErrClosed) {
		return ErrClosed
	}
	p.dropQueue()
	p.generation++
	p.next, p.lastEpoch, p.need = start.Offset, start.LeaderEpoch, 0
	p.err, p.rangeError = nil, false
	p.state = PartitionState{}
	p.answered = false
	p.recovered()
	if n := p.f.nodes[p.leader]; n != nil {
		n.signal()
		return nil
	}
	p.f.wantLeader()
	return nil
}

// Remove ends fetching. Chunks not yet taken are dropped; those taken stay valid until released.
func (p *Partition) Remove() {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if p.removed {
		return
	}
	p.removed = true
	p.err = ErrClosed
	p.generation++
	p.dropQueue()
	p.detach()
	delete(p.f.parts, p.tp)
}

// The methods below need the fetcher's lock.

func (p *Partition) dropQueue() {
	for _, c := range p.queue {
		c.release()
	}
	clear(p.queue)
	p.queue = p.queue[:0]
}

// detach takes p from its leader's goroutine.
func (p *Partition) detach() {
	if n := p.f.nodes[p.leader]; n != nil {
		n.order = slices.DeleteFunc(n.order, func(other *Partition) bool { return other == p })
		n.signal()
	}
	p.leader = anyNode
}

// stop ends the partition with an error for its reader.
func (p *Partition) stop(err error, wakes []func()) []func() {
	p.detach()
	if p.err == nil || errors.Is(err, ErrClosed) {
		p.err = err
	}
	p.state.EndSince, p.state.EndAt = time.Time{}, time.Time{}
	return append(wakes, p.wake)
}

// fail notes a failure: the partition is looked up again after a delay, or ends if that cannot help or went on for too long.
func (p *Partition) fail(err error, now time.Time, wakes []func()) []func() {
	if p.f.ctx.Err() != nil {
		return wakes // closing: the failure is ours
	}
	if p.failSince.IsZero() {
		p.failSince = now
	}
	budget := p.f.cfg.RetryBudget
	if errors.Is(err, CodeUnknownTopic) && !p.answered {
		budget = min(budget, p.f.client.cfg.UnknownTopicBudget)
	}
	p.retryAt = now.Add(p.f.client.cfg.Backoff.delay(p.attempt))
	p.attempt++
	if permanent(err) || p.retryAt.Sub(p.failSince) > budget {
		return p.stop(err, wakes)
	}
	p.state.Failing = err
	p.state.EndSince, p.state.EndAt = time.Time{}, time.Time{}
	p.detach()
	p.f.wantLeader()
	return append(wakes, p.wake)
}

// failRange ends the partition when its position is really out of range; a failure to find that out is retried.
func (p *Partition) failRange(err error, now time.Time, wakes []func()) []func() {
	var out *OffsetOutOfRangeError
	if errors.As(err, &out) {
		return p.stop(err, wakes)
	}
	return p.fail(err, now, wakes)
}

// recovered forgets earlier failures.
func (p *Partition) recovered() {
	p.failSince, p.retryAt, p.attempt = time.Time{}, time.Time{}, 0
	p.state.Failing = nil
}

// outOfRange reports whether the log's range must be asked for. It takes the lock itself.
func (p *Partition) outOfRange() bool {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	return p.rangeError
}
