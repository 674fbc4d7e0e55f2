package kafkawire

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// FetcherConfig says how much a Fetcher reads ahead and how long it tries. The zero value is usable.
type FetcherConfig struct {
	Isolation Isolation
	// Budget is how many bytes all partitions together may hold, from the moment they are asked for until Chunk.Release. Each partition
	// may use an equal share, so that one that is not consumed does not stop the others. A single batch larger than a share is fetched all
	// the same when the partition holds nothing else, so the most that is held is Budget plus one such batch a partition. Default 64 MiB.
	Budget int
	// PartitionMaxBytes is the most to ask for from one partition at a time. Default 1 MiB.
	PartitionMaxBytes int
	// FetchMaxBytes is the most to ask for from one broker at a time. Default 16 MiB.
	FetchMaxBytes int
	// MinBytes and MaxWait say when a broker answers: with so many bytes, or after so long. Defaults 1 byte and 250 ms.
	MinBytes int
	MaxWait  time.Duration
	// RetryBudget is how long a partition may fail without an answer before its reader gets the error. Default 60 s.
	RetryBudget time.Duration
	// Rack is this client's location, for the broker's statistics. Optional.
	Rack   string
	Limits Limits
}

func (c FetcherConfig) withDefaults() FetcherConfig {
	orDefault(&c.Budget, 64<<20)
	orDefault(&c.PartitionMaxBytes, 1<<20)
	orDefault(&c.FetchMaxBytes, 16<<20)
	orDefault(&c.MinBytes, 1)
	orDefault(&c.MaxWait, 250*time.Millisecond)
	orDefault(&c.RetryBudget, time.Minute)
	c.Limits = c.Limits.withDefaults()
	return c
}

// firstWait is a broker's first MaxWait after it was given a partition. It doubles up to FetcherConfig.MaxWait.
const firstWait = 5 * time.Millisecond

// pausedWait is a broker's MaxWait while one of its partitions is left out because it holds its share: a broker that waits for the others'
// next record would keep it from going on.
const pausedWait = 5 * time.Millisecond

// Fetcher reads ahead in many partitions: one goroutine for each broker that leads any of them, and one that finds leaders. The goroutines
// are its own and end with Close.
//
// A partition whose leader moved, whose broker is away or whose epoch is fenced is looked up again with back-off, and reading goes on where
// it was. What a retry cannot mend is given to the partition's reader, after the chunks fetched before.
type Fetcher struct {
	client *Client
	cfg    FetcherConfig
	mem    *bufferPool
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	lookup chan struct{} // wakes the goroutine that finds leaders

	mu    sync.Mutex
	parts map[TopicPartition]*Partition
	nodes map[int32]*fetchNode
}

// NewFetcher starts a Fetcher on c.
func NewFetcher(c *Client, cfg FetcherConfig) *Fetcher {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	f := &Fetcher{
		client: c,
		cfg:    cfg,
		mem:    newBufferPool(cfg.Budget),
		ctx:    ctx,
		cancel: cancel,
		lookup: make(chan struct{}, 1),
		parts:  map[TopicPartition]*Partition{},
		nodes:  map[int32]*fetchNode{},
	}
	f.wg.Add(1)
	go f.findLeaders()
	return f
}

// Close ends the goroutines, breaking off requests under way, and waits for them until ctx ends. Chunks that were handed out stay valid.
func (f *Fetcher) Close(ctx context.Context) error {
	f.cancel()
	done := make(chan struct{})
	go func() { // ends with the last goroutine of the fetcher
		f.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("kafkawire: closing a fetcher: %w", ctx.Err())
	}
	f.mu.Lock()
	var wakes []func()
	for _, p := range f.parts {
		wakes = p.stop(ErrClosed, wakes)
	}
	f.mu.Unlock()
	callAll(wakes)
	return nil
}

// Held is the number of bytes in all chunks that were fetched and not released.
func (f *Fetcher) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.parts {
		n += p.held
	}
	return n
}

// Start is a position to read from. LeaderEpoch is the epoch of the record before it, as a checkpoint has it, or -1.
type Start struct {
	Offset      int64
	LeaderEpoch int32
}

// Add begins to fetch a partition. wake is called when Next may have something new: a chunk after there was none, an error, or a change in
// State; it is called from the fetcher's goroutines without its lock, must not block, and may be nil.
func (f *Fetcher) Add(tp TopicPartition, start Start, wake func()) (*Partition, error) {
	if start.Offset < 0 {
		return nil, fmt.Errorf("kafkawire: fetch %v from offset %d; resolve Earliest and Latest with ListOffsets first", tp, start.Offset)
	}
	if wake == nil {
		wake = func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if _, ok := f.parts[tp]; ok {
		return nil, fmt.Errorf("kafkawire: %v is being fetched already; remove it first, or Seek", tp)
	}
	p := &Partition{tp: tp, f: f, wake: wake, leader: anyNode, next: start.Offset, lastEpoch: start.LeaderEpoch}
	f.parts[tp] = p
	f.wantLeader()
	return p, nil
}

// wantLeader wakes the goroutine that finds leaders.
func (f *Fetcher) wantLeader() {
	select {
	case f.lookup <- struct{}{}:
	default:
	}
}

// assign gives p to the goroutine of its leader, starting one if need be. The lock is held.
func (f *Fetcher) assign(p *Partition, leader, epoch int32) {
	p.leader, p.leaderEpoch, p.rangeError = leader, epoch, false
	n := f.nodes[leader]
	if n == nil {
		n = &fetchNode{f: f, id: leader, wake: make(chan struct{}, 1)}
		f.nodes[leader] = n
		f.wg.Add(1)
		go n.run()
	}
	n.order = append(n.order, p)
	n.patience = firstWait // more partitions may follow, and would wait for this one's next record
	n.signal()
}

// share is how many bytes a partition may hold. The lock is held.
func (f *Fetcher) share() int { return f.cfg.Budget / max(1, len(f.parts)) }

// allowance is how many bytes to ask for from p now. The lock is held.
func (f *Fetcher) allowance(p *Partition) (n int, ok bool) {
	share := f.share()
	n = min(f.cfg.PartitionMaxBytes, max(share/2, 1))
	if p.held == 0 {
		return max(n, p.need), true
	}
	return n, p.need == 0 && p.held+n <= share
}

func callAll(fs []func()) {
	for _, f := range fs {
		f()
	}
}

// findLeaders is the goroutine that looks up the leaders of partitions that have none, and the log's range for those that are out of it.
func (f *Fetcher) findLeaders() {
	defer f.wg.Done()
	for {
		due, wait := f.due(time.Now())
		if len(due) > 0 {
			callAll(f.findLeadersOf(due))
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-f.ctx.Done():
			timer.Stop()
			return
		case <-f.lookup:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// due gives the partitions to look up now, or how long to wait for the first.
func (f *Fetcher) due(now time.Time) (due []*Partition, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = time.Hour
	if f.ctx.Err() != nil {
		return nil, wait
	}
	for _, p := range f.parts {
		if p.leader != anyNode || p.err != nil {
			continue
		}
		if left := p.retryAt.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		due = append(due, p)
	}
	return due, wait
}

func (f *Fetcher) findLeadersOf(due []*Partition) (wakes []func()) {
	topics := map[string]struct{}{}
	for _, p := range due {
		topics[p.tp.Topic] = struct{}{}
	}
	names := make([]string, 0, len(topics))
	for t := range topics {
		names = append(names, t)
	}
	m, err := f.client.metadataOnce(f.ctx, names)
	if err != nil {
		f.client.afterFailure(err)
	}
	now := time.Now()
	for _, p := range due {
		var outOfRange error
		if err == nil && p.outOfRange() {
			outOfRange = f.checkRange(p)
		}
		f.mu.Lock()
		switch {
		case p.removed || p.leader != anyNode || p.err != nil:
		case err != nil:
			wakes = p.fail(err, now, wakes)
		case outOfRange != nil:
			wakes = p.failRange(outOfRange, now, wakes)
		default:
			if meta, code := m.partition(p.tp); code != CodeNone {
				wakes = p.fail(f.client.failed("fetch", anyNode, p.tp, code), now, wakes)
			} else {
				f.assign(p, meta.Leader, meta.LeaderEpoch)
			}
		}
		f.mu.Unlock()
	}
	return wakes
}

// checkRange asks for the log's range, since the answer that says "out of range" does not hold it. It gives nil if the position is within
// it now, which happens while a new leader catches up.
func (f *Fetcher) checkRange(p *Partition) error {
	f.mu.Lock()
	position := p.next
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(f.ctx, 2*f.client.cfg.RequestTimeout)
	defer cancel()
	tps := []TopicPartition{p.tp}
	start, err := f.client.StartOffsets(ctx, tps)
	if err != nil {
		return err
	}
	end, err := f.client.EndOffsets(ctx, tps, ReadUncommitted)
	if err != nil {
		return err
	}
	if from, to := start[p.tp].Offset, end[p.tp].Offset; position < from || position > to {
		return &OffsetOutOfRangeError{Topic: p.tp.Topic, Partition: p.tp.Partition, Position: position, LogStart: from, End: to}
	}
	return nil
}
