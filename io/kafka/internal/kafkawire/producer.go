package kafkawire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// ProducerConfig says how a Producer batches and how long it tries. The zero value is usable.
type ProducerConfig struct {
	Compression Compression
	// MaxBatchBytes is the largest batch, before compression. Default 1,000,000, a little under Kafka's default for the largest message.
	MaxBatchBytes int
	// MaxRequestBytes is the most to send to one broker at a time. Default 16 MiB.
	MaxRequestBytes int
	// MaxBufferedBytes is how much may wait for acknowledgement, before compression; Write blocks beyond it. Default 32 MiB.
	MaxBufferedBytes int
	// Linger is how long a record waits for others to share its batch. Default 5 ms; negative means not at all.
	Linger time.Duration
	// RetryBudget is how long a partition may fail before the producer does. A broker that is killed is back after about 15 s, so less
	// than that makes a restart an error. Default 2 minutes.
	RetryBudget time.Duration
}

func (c ProducerConfig) withDefaults() ProducerConfig {
	orDefault(&c.MaxBatchBytes, 1_000_000)
	orDefault(&c.MaxRequestBytes, 16<<20)
	orDefault(&c.MaxBufferedBytes, 32<<20)
	orDefault(&c.RetryBudget, 2*time.Minute)
	if c.Linger == 0 {
		c.Linger = 5 * time.Millisecond
	}
	c.Linger = max(c.Linger, 0)
	return c
}

// Producer is an idempotent producer: what Write takes is appended once and in order to each partition, across retries, broker restarts
// and moving leaders, as long as this Producer lives (KIP-98). One batch is in flight per partition, and a retry sends the same bytes again.
//
// Its first failure is final: everything after it could leave a gap, so Write, Flush and Close give that error from then on. Its goroutines
// (one for each broker written to, one that finds leaders) are its own and end with Close. Methods may be called from several goroutines;
// records of one goroutine keep their order in each partition.
type Producer struct {
	client *Client
	cfg    ProducerConfig
	id     int64
	epoch  int16
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	lookup chan struct{} // wakes the goroutine that finds leaders

	mu       sync.Mutex
	parts    map[TopicPartition]*outPartition
	nodes    map[int32]*produceNode
	free     []*outBatch
	buffered int // bytes in batches that are not acknowledged
	unacked  int // those batches
	acked    int64
	flushing int           // Flush calls that wait
	changed  chan struct{} // closed and replaced when something was acknowledged or failed
	err      error         // final
	closed   bool
}

// outPartition is a partition that was written to. Guarded by the producer's lock.
type outPartition struct {
	tp       TopicPartition
	leader   int32 // anyNode: to be looked up
	sequence int32 // of the next batch
	queue    []*outBatch
	inFlight bool // the first of the queue is being sent

	failSince time.Time
	attempt   int
	retryAt   time.Time
	lastErr   error
}

// outBatch is a batch on its way.
type outBatch struct {
	part    *outPartition
	builder BatchBuilder
	sealed  bool   // takes no more records
	bytes   []byte // what is sent, nil before the first attempt
	meta    BatchMeta
	born    time.Time
	counted int // bytes of it in Producer.buffered
}

// NewProducer gets a producer id from the cluster and starts a Producer.
func NewProducer(ctx context.Context, c *Client, cfg ProducerConfig) (*Producer, error) {
	cfg = cfg.withDefaults()
	if _, err := NewCompressor(cfg.Compression); err != nil {
		return nil, err
	}
	id, epoch, err := c.initProducerID(ctx)
	if err != nil {
		return nil, err
	}
	p := &Producer{
		client: c, cfg: cfg, id: id, epoch: epoch,
		lookup: make(chan struct{}, 1), changed: make(chan struct{}),
		parts: map[TopicPartition]*outPartition{}, nodes: map[int32]*produceNode{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Add(1)
	go p.findLeaders()
	return p, nil
}

// ID is the producer id, for logs.
func (p *Producer) ID() int64 { return p.id }

// Acked is the number of records acknowledged so far.
func (p *Producer) Acked() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acked
}

// Write adds a record to its partition's batch, copying it, and blocks while MaxBufferedBytes are waiting. nil does not mean that the record
// is stored: Flush does. A record that is too large is a *RecordTooLargeError and harms no other.
func (p *Producer) Write(ctx context.Context, tp TopicPartition, rec *OutRecord) error {
	p.mu.Lock()
	for p.err == nil && !p.closed && p.buffered >= p.cfg.MaxBufferedBytes {
		if err := p.waitChange(ctx); err != nil {
			p.mu.Unlock()
			return err
		}
	}
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.closed {
		return ErrClosed
	}
	part := p.parts[tp]
	if part == nil {
		part = &outPartition{tp: tp, leader: anyNode}
		p.parts[tp] = part
		p.wantLeader()
	}
	for {
		b := part.open()
		if b == nil {
			b = p.newBatch(part)
		}
		ok, err := b.builder.Append(rec)
		if err != nil {
			if b.builder.Len() == 0 {
				p.discard(b)
			}
			return fmt.Errorf("kafkawire: write to %v: %w", tp, err)
		}
		if !ok {
			b.sealed = true
			p.signal(part)
			continue
		}
		p.buffered += b.builder.Size() - b.counted
		b.counted = b.builder.Size()
		if b.builder.Len() == 1 {
			p.signal(part) // its linger begins
		}
		return nil
	}
}

// open is the batch that takes records, nil if there is none.
func (part *outPartition) open() *outBatch {
	if n := len(part.queue); n > 0 && !part.queue[n-1].sealed {
		return part.queue[n-1]
	}
	return nil
}

func (p *Producer) newBatch(part *outPartition) *outBatch {
	var b *outBatch
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	} else {
		b = &outBatch{}
	}
	b.part, b.sealed, b.bytes, b.born, b.counted = part, false, nil, time.Now(), 0
	b.builder.Reset(p.cfg.MaxBatchBytes)
	part.queue = append(part.queue, b)
	p.unacked++
	return b
}

// discard takes back the partition's last batch, which is empty.
func (p *Producer) discard(b *outBatch) {
	b.part.queue = b.part.queue[:len(b.part.queue)-1]
	p.unacked--
	p.free = append(p.free, b)
}

// waitChange gives up the lock until something was acknowledged or failed.
func (p *Producer) waitChange(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// broadcast wakes everybody in waitChange. The lock is held.
func (p *Producer) broadcast() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// signal tells the goroutine that sends to the partition's leader that there may be something to do. The lock is held.
func (p *Producer) signal(part *outPartition) {
	if n := p.nodes[part.leader]; n != nil {
		n.signal()
		return
	}
	p.wantLeader()
}

func (p *Producer) wantLeader() {
	select {
	case p.lookup <- struct{}{}:
	default:
	}
}

// Push sends what waits without lingering, and does not wait for it. Its error is the producer's end.
func (p *Producer) Push() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.parts {
		if b := part.open(); b != nil && b.builder.Len() > 0 {
			b.sealed = true
			p.signal(part)
		}
	}
	return p.err
}

// Flush sends what waits without lingering and returns when everything written is acknowledged: it is stored on all in-sync replicas.
// Records that other goroutines write meanwhile are waited for too.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushing++
	defer func() { p.flushing-- }()
	for _, n := range p.nodes {
		n.signal()
	}
	for p.err == nil && p.unacked > 0 {
		if p.closed {
			return ErrClosed
		}
		if err := p.waitChange(ctx); err != nil {
			return fmt.Errorf("kafkawire: flush with %d batches not acknowledged%s: %w", p.unacked, p.failing(), err)
		}
	}
	return p.err
}

// failing says what is being retried, for an error that is about the wait.
func (p *Producer) failing() string {
	for _, part := range p.parts {
		if part.lastErr != nil {
			return fmt.Sprintf(" (retrying after: %v)", part.lastErr)
		}
	}
	return ""
}

// Close flushes and ends the goroutines. When ctx ends first, or the producer has failed, what is not acknowledged is given up and the error
// says so; a broker may still store what was on its way.
func (p *Producer) Close(ctx context.Context) error {
	err := p.Flush(ctx)
	p.mu.Lock()
	p.closed = true
	p.broadcast()
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait() // requests under way are broken off, so this does not wait for a broker
	if errors.Is(err, ErrClosed) {
		return nil // closed before
	}
	return err
}

// fail makes err the producer's end. The lock is held.
func (p *Producer) fail(err error) {
	if p.err == nil {
		p.err = err
		p.cancel()
	}
	p.broadcast()
}

// acknowledge takes the first batch of a partition out. The lock is held.
func (p *Producer) acknowledge(part *outPartition) {
	b := part.queue[0]
	part.queue = slices.Delete(part.queue, 0, 1)
	part.inFlight = false
	part.failSince, part.attempt, part.retryAt, part.lastErr = time.Time{}, 0, time.Time{}, nil
	p.buffered -= b.counted
	p.unacked--
	p.acked += int64(b.builder.Len())
	if len(p.free) < 64 {
		p.free = append(p.free, b)
	}
	p.broadcast()
}

// retryLater notes a failure of the partition's first batch: it is sent again after a delay, or the producer ends. The lock is held.
func (p *Producer) retryLater(part *outPartition, err error, now time.Time) {
	part.inFlight = false
	part.lastErr = err
	if part.failSince.IsZero() {
		part.failSince = now
	}
	budget := p.cfg.RetryBudget
	if errors.Is(err, CodeUnknownTopic) && part.sequence == 0 {
		budget = min(budget, p.client.cfg.UnknownTopicBudget) // nothing was ever written there
	}
	part.retryAt = now.Add(p.client.cfg.Backoff.delay(part.attempt))
	part.attempt++
	final := permanent(err) && !errors.Is(err, CodeCorruptMessage) // that one was damaged on the way: our checksum was right
	if final || part.retryAt.Sub(part.failSince) > budget {
		p.fail(err)
		return
	}
	p.detach(part)
	p.wantLeader()
}

// detach takes a partition from its leader's goroutine. The lock is held.
func (p *Producer) detach(part *outPartition) {
	if n := p.nodes[part.leader]; n != nil {
		n.order = slices.DeleteFunc(n.order, func(other *outPartition) bool { return other == part })
		n.signal()
	}
	part.leader = anyNode
}

// assign gives a partition to the goroutine of its leader, starting one if need be. The lock is held.
func (p *Producer) assign(part *outPartition, leader int32) {
	part.leader = leader
	n := p.nodes[leader]
	if n == nil {
		n = &produceNode{p: p, id: leader, wake: make(chan struct{}, 1)}
		p.nodes[leader] = n
		p.wg.Add(1)
		go n.run()
	}
	n.order = append(n.order, part)
	n.signal()
}

// findLeaders is the goroutine that looks up the leaders of partitions that have none.
func (p *Producer) findLeaders() {
	defer p.wg.Done()
	for {
		due, wait := p.due(time.Now())
		if len(due) > 0 {
			p.findLeadersOf(due)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-p.ctx.Done():
			timer.Stop()
			return
		case <-p.lookup:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (p *Producer) due(now time.Time) (due []*outPartition, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = time.Hour
	if p.ctx.Err() != nil {
		return nil, wait
	}
	for _, part := range p.parts {
		if part.leader != anyNode {
			continue
		}
		if left := part.retryAt.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		due = append(due, part)
	}
	return due, wait
}

func (p *Producer) findLeadersOf(due []*outPartition) {
	topics := make([]string, 0, len(due))
	for _, part := range due {
		topics = append(topics, part.tp.Topic)
	}
	slices.Sort(topics)
	m, err := p.client.metadataOnce(p.ctx, slices.Compact(topics))
	if p.ctx.Err() != nil {
		return
	}
	if err != nil {
		p.client.afterFailure(err)
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range due {
		if err != nil {
			p.retryLater(part, err, now)
			continue
		}
		meta, code := m.partition(part.tp)
		if code != CodeNone {
			p.retryLater(part, p.client.failed("produce", anyNode, part.tp, code), now)
			continue
		}
		p.assign(part, meta.Leader)
	}
}

// nextSequence is the sequence number n records after s: it wraps to 0 behind the largest (KIP-98).
func nextSequence(s int32, n int) int32 {
	return int32((int64(s) + int64(n)) & math.MaxInt32)
}
