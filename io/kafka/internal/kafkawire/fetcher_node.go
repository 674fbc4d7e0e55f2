package kafkawire

import (
	"fmt"
	"slices"
	"time"
)

// fetchNode is the goroutine that fetches from one broker, and what it needs. It ends with the fetcher, or when the broker leads none of
// the fetcher's partitions any more.
type fetchNode struct {
	f    *Fetcher
	id   int32
	wake chan struct{}

	// Guarded by the fetcher's lock.
	order    []*Partition // those that got records last come last
	patience time.Duration

	// The goroutine's own.
	request  FetchRequest
	response FetchResponse
	asked    []askedPartition
	served   []*Partition
	wakes    []func()
}

// askedPartition is a partition of the request under way, as it was when it was sent.
type askedPartition struct {
	part       *Partition
	generation int
}

func (n *fetchNode) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *fetchNode) run() {
	defer n.f.wg.Done()
	ctx := n.f.ctx
	for ctx.Err() == nil {
		if n.prepare() {
			return
		}
		if len(n.request.Partitions) == 0 {
			select {
			case <-n.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := n.f.client.FetchInto(ctx, &n.request, &n.response, n.f.mem, n.f.cfg.Limits)
		if ctx.Err() != nil {
			n.response.drop(n.f.mem)
			return
		}
		if err != nil {
			n.f.client.afterFailure(err)
		}
		n.deliver(err)
		if n.response.Throttle > 0 {
			// KIP-219: the broker has answered and expects a pause. It would not read from the connection meanwhile.
			_ = sleep(ctx, min(n.response.Throttle, n.f.client.cfg.RequestTimeout))
		}
	}
}

// prepare fills the request with the partitions that may hold more. done says that the broker leads none and the goroutine is to end.
func (n *fetchNode) prepare() (done bool) {
	f := n.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(n.order) == 0 {
		delete(f.nodes, n.id)
		return true
	}
	wait := min(f.cfg.MaxWait, n.patience)
	n.patience = min(f.cfg.MaxWait, 2*n.patience)
	n.request = FetchRequest{
		Node: n.id, MaxWait: wait, MinBytes: int32(f.cfg.MinBytes), MaxBytes: int32(f.cfg.FetchMaxBytes),
		Isolation: f.cfg.Isolation, Rack: f.cfg.Rack, Partitions: n.request.Partitions[:0],
	}
	n.asked = n.asked[:0]
	for _, p := range n.order {
		size, ok := f.allowance(p)
		if !ok {
			n.request.MaxWait = min(n.request.MaxWait, pausedWait)
			continue
		}
		n.request.Partitions = append(n.request.Partitions, FetchPartition{
			TopicPartition: p.tp, Offset: p.next, LeaderEpoch: p.leaderEpoch, LastEpoch: p.lastEpoch, MaxBytes: int32(size),
		})
		n.asked = append(n.asked, askedPartition{p, p.generation})
	}
	return false
}

// deliver hands the answers to the partitions.
func (n *fetchNode) deliver(err error) {
	f := n.f
	now := time.Now()
	f.mu.Lock()
	n.wakes = n.wakes[:0]
	if err != nil {
		for _, a := range n.asked {
			if a.current() {
				n.wakes = a.part.fail(err, now, n.wakes)
			}
		}
	}
	for i := range n.response.Partitions {
		fetched := &n.response.Partitions[i]
		a := n.asked[fetched.Asked]
		if !a.current() {
			if fetched.Records != nil {
				f.mem.Put(fetched.Records)
			}
			continue
		}
		n.wakes = a.part.receive(fetched, now, n.wakes)
	}
	n.response.Partitions = n.response.Partitions[:0]
	n.rotate()
	f.mu.Unlock()
	callAll(n.wakes)
	clear(n.wakes)
}

func (a askedPartition) current() bool { return a.part.generation == a.generation && a.part.err == nil }

// rotate moves the partitions that got records behind the others: the broker fills its answer from the front, so each has its turn.
func (n *fetchNode) rotate() {
	n.served = n.served[:0]
	kept := n.order[:0]
	for _, p := range n.order {
		if p.served {
			p.served = false
			n.served = append(n.served, p)
			continue
		}
		kept = append(kept, p)
	}
	n.order = append(kept, n.served...)
}

// receive takes one partition's answer. The fetcher's lock is held.
func (p *Partition) receive(in *FetchedPartition, now time.Time, wakes []func()) []func() {
	mem := p.f.mem
	if in.Code != CodeNone || in.Truncated {
		if in.Records != nil {
			mem.Put(in.Records)
		}
		return p.refused(in, now, wakes)
	}
	p.recovered()
	p.answered = true
	p.state.HighWatermark, p.state.LastStable, p.state.LogStart = in.HighWatermark, in.LastStable, in.LogStart
	p.state.Answered = now
	if len(in.Records) > 0 {
		p.served = true
	}
	from := p.next
	used, reason := p.advance(in.Records)
	switch {
	case used > 0:
		wakes = p.enqueue(in, from, used, wakes)
	case in.Records != nil:
		mem.Put(in.Records)
	}
	if reason != "" {
		return p.stop(&MalformedError{Topic: p.tp.Topic, Partition: p.tp.Partition, Offset: p.next, Reason: reason}, wakes)
	}
	return p.noteEnd(used > 0, now, wakes)
}

// advance walks over the headers of whole batches and moves next behind them. used is how many bytes they take.
func (p *Partition) advance(records []byte) (used int, reason string) {
	limit := p.f.cfg.Limits.MaxBatchBytes
	p.need = 0
	from := p.next
	for used < len(records) {
		h, complete, reason := peekBatch(records[used:], limit)
		if reason != "" {
			return used, reason
		}
		if !complete {
			if used == 0 {
				p.need = max(h.size, 2*len(records)) // not even one: ask for all of it
			}
			break
		}
		used += h.size
		p.next, p.lastEpoch = max(p.next, h.next()), h.leaderEpoch
	}
	if used > 0 && p.next == from {
		return used, fmt.Sprintf("all batches of the answer end before position %d", from)
	}
	return used, ""
}

func (p *Partition) enqueue(in *FetchedPartition, from int64, used int, wakes []func()) []func() {
	c := &Chunk{
		TopicPartition: p.tp, FetchOffset: from, Next: p.next, Records: in.Records[:used], Aborted: slices.Clone(in.Aborted),
		HighWatermark: in.HighWatermark, LastStable: in.LastStable, LogStart: in.LogStart, part: p, buf: in.Records,
	}
	p.held += cap(in.Records)
	p.queue = append(p.queue, c)
	if len(p.queue) == 1 {
		wakes = append(wakes, p.wake)
	}
	return wakes
}

// noteEnd keeps the series of answers that showed the log's end.
func (p *Partition) noteEnd(records bool, now time.Time, wakes []func()) []func() {
	s := &p.state
	if p.next != s.HighWatermark || p.next != s.LastStable || p.need > 0 {
		s.EndSince, s.EndAt = time.Time{}, time.Time{}
		return wakes
	}
	if records || s.EndSince.IsZero() {
		s.EndSince = now
		if !records {
			wakes = append(wakes, p.wake)
		}
	}
	s.EndAt = now
	return wakes
}

// refused handles a partition that the broker did not serve.
func (p *Partition) refused(in *FetchedPartition, now time.Time, wakes []func()) []func() {
	switch {
	case in.Truncated:
		return p.stop(&TruncatedError{
			Topic: p.tp.Topic, Partition: p.tp.Partition, Position: p.next, LeaderEpoch: p.lastEpoch,
			EndEpoch: in.DivergingEpoch, EndOffset: in.DivergingEnd,
		}, wakes)
	case in.Code == CodeOffsetOutOfRange:
		p.rangeError = true
		p.state.EndSince, p.state.EndAt = time.Time{}, time.Time{}
		wakes = p.fail(retriableRange{p.failure(in.Code)}, now, wakes)
		if p.attempt == 1 {
			p.retryAt = now // the first look at the log's range need not wait
		}
		return wakes
	}
	return p.fail(p.failure(in.Code), now, wakes)
}

func (p *Partition) failure(code Code) error { return p.f.client.failed("fetch", p.leader, p.tp, code) }

// retriableRange is OFFSET_OUT_OF_RANGE until the log's range has been looked at: a leader that was just elected may say it for a moment. It
// does not unwrap, so that the code in it is not taken for final.
type retriableRange struct{ error }
