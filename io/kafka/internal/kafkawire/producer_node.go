package kafkawire

import (
	"slices"
	"strings"
	"time"
)

// produceNode is the goroutine that sends to one broker, one request at a time, and what it needs. It ends with the producer, or when the
// broker leads none of its partitions any more.
type produceNode struct {
	p     *Producer
	id    int32
	wake  chan struct{}
	order []*outPartition // guarded by the producer's lock; those that were sent come last

	// The goroutine's own.
	request produceRequest
	codec   *Compressor
}

func (n *produceNode) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *produceNode) run() {
	defer n.p.wg.Done()
	ctx := n.p.ctx
	for ctx.Err() == nil {
		wait, done := n.take(time.Now())
		if done {
			return
		}
		if len(n.request.batches) == 0 {
			timer := time.NewTimer(wait)
			select {
			case <-n.wake:
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		err := n.finish()
		if err == nil {
			err = n.p.client.produceOnce(ctx, &n.request)
		}
		if ctx.Err() != nil {
			return
		}
		n.settle(err)
		if n.request.throttle > 0 && err == nil {
			_ = sleep(ctx, min(n.request.throttle, n.p.client.cfg.RequestTimeout))
		}
	}
}

// take chooses the batches of the next request: the first of each partition that has none in flight, if it is full, old enough, or asked
// for by Flush. wait is how long until the first will be old enough.
func (n *produceNode) take(now time.Time) (wait time.Duration, done bool) {
	p := n.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(n.order) == 0 {
		delete(p.nodes, n.id)
		return 0, true
	}
	n.request.node, n.request.batches, n.request.throttle = n.id, n.request.batches[:0], 0
	wait = time.Hour
	size := 0
	kept, taken := n.order[:0], []*outPartition(nil)
	for _, part := range n.order {
		ready, left := part.ready(p, now)
		if ready && size > 0 && size+part.queue[0].builder.Size() > p.cfg.MaxRequestBytes {
			ready, left = false, 0
		}
		if !ready {
			wait = min(wait, left)
			kept = append(kept, part)
			continue
		}
		b := part.queue[0]
		b.sealed = true
		part.inFlight = true
		if b.bytes == nil {
			b.meta = BatchMeta{ProducerID: p.id, ProducerEpoch: p.epoch, Sequence: part.sequence}
			part.sequence = nextSequence(part.sequence, b.builder.Len())
		}
		size += b.builder.Size()
		n.request.batches = append(n.request.batches, b)
		taken = append(taken, part)
	}
	n.order = append(kept, taken...) // those that were left out have their turn first
	return wait, false
}

// ready reports whether the partition's first batch should be sent now, or how long it may wait.
func (part *outPartition) ready(p *Producer, now time.Time) (ready bool, left time.Duration) {
	if part.inFlight || len(part.queue) == 0 || part.queue[0].builder.Len() == 0 {
		return false, time.Hour
	}
	if left = part.retryAt.Sub(now); left > 0 {
		return false, left
	}
	b := part.queue[0]
	if b.sealed || p.flushing > 0 || p.closed || p.buffered >= p.cfg.MaxBufferedBytes {
		return true, 0
	}
	left = b.born.Add(p.cfg.Linger).Sub(now)
	return left <= 0, left
}

// finish compresses the batches that are sent for the first time, without the lock: sealed, they are this goroutine's.
func (n *produceNode) finish() (err error) {
	if n.codec == nil {
		if n.codec, err = NewCompressor(n.p.cfg.Compression); err != nil {
			return err
		}
	}
	for _, b := range n.request.batches {
		if b.bytes == nil {
			if b.bytes, err = b.builder.Finish(b.meta, n.codec); err != nil {
				return err
			}
		}
	}
	sortBatches(n.request.batches)
	return nil
}

func sortBatches(batches []*outBatch) {
	slices.SortStableFunc(batches, func(a, b *outBatch) int { return strings.Compare(a.part.tp.Topic, b.part.tp.Topic) })
}

// settle gives each batch its answer.
func (n *produceNode) settle(err error) {
	p := n.p
	if err != nil {
		err = p.client.failed("produce", n.id, noPartition, err)
		p.client.afterFailure(err)
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, b := range n.request.batches {
		if err != nil {
			p.retryLater(b.part, err, now)
			continue
		}
		res := n.request.results[i]
		switch {
		case !res.answered:
			p.retryLater(b.part, p.client.failed("produce", n.id, b.part.tp, CodeUnknownServerError), now)
		case res.code == CodeNone || res.code == CodeDuplicateSequence: // a duplicate is our own earlier attempt
			p.acknowledge(b.part)
		case res.code.retriable() || res.code == CodeCorruptMessage:
			p.retryLater(b.part, p.client.failed("produce", n.id, b.part.tp, res.code), now)
		default:
			b.part.inFlight = false
			p.fail(b.refusal(res, p.id))
		}
	}
}
