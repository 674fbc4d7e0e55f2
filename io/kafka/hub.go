package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
)

// runs keeps what belongs to a run of the pipeline apart from other runs of it.
// A run is known by its context, which listing and readers share.
type runs struct {
	mu     sync.Mutex
	active map[context.Context]*run
}

// run is a source in one run.
type run struct {
	listing sync.Mutex // held while Splits lists
	known   map[kafkawire.TopicPartition]bool
	splits  []connector.Split

	mu   sync.Mutex
	hubs map[int]*hub // by worker
}

func (rs *runs) of(ctx context.Context) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.active[ctx]
	if r == nil {
		r = &run{known: map[kafkawire.TopicPartition]bool{}, hubs: map[int]*hub{}}
		if rs.active == nil {
			rs.active = map[context.Context]*run{}
		}
		rs.active[ctx] = r
		context.AfterFunc(ctx, func() {
			rs.mu.Lock()
			defer rs.mu.Unlock()
			delete(rs.active, ctx)
		})
	}
	return r
}

// hub is the connection of one worker: what its readers share. It connects in a
// goroutine, so that the worker does not wait, and closes with the last reader.
type hub struct {
	run     *run
	worker  int
	readers int                // guarded by run.mu
	decoder *kafkawire.Decoder // the worker's
	cancel  context.CancelFunc
	done    chan struct{} // closed when connect has ended

	mu      sync.Mutex
	client  *kafkawire.Client
	fetcher *kafkawire.Fetcher
	err     error
	waiting []func() // wakes of those who asked before there was a fetcher
}

// join returns the hub of a worker, and connects it if it is the first to ask.
func (r *run) join(ctx context.Context, worker int, a *access, cfg kafkawire.FetcherConfig) *hub {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hubs[worker]
	if h == nil {
		h = &hub{run: r, worker: worker, decoder: kafkawire.NewDecoder(cfg.Limits), done: make(chan struct{})}
		r.hubs[worker] = h
		ctx, h.cancel = context.WithCancel(ctx)
		go h.connect(ctx, a, cfg) // ended by leave
	}
	h.readers++
	return h
}

func (h *hub) connect(ctx context.Context, a *access, cfg kafkawire.FetcherConfig) {
	defer close(h.done)
	client, err := a.open(ctx, false)
	h.mu.Lock()
	if h.err = err; err == nil {
		h.client, h.fetcher = client, kafkawire.NewFetcher(client, cfg)
	}
	waiting := h.waiting
	h.waiting = nil
	h.mu.Unlock()
	for _, wake := range waiting {
		wake()
	}
}

// add begins to fetch a partition. It returns nil while the hub is connecting, and calls wake afterwards.
func (h *hub) add(tp kafkawire.TopicPartition, at position, wake func()) (*kafkawire.Partition, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	if h.fetcher == nil {
		h.waiting = append(h.waiting, wake)
		return nil, nil
	}
	return h.fetcher.Add(tp, kafkawire.Start{Offset: at.offset, LeaderEpoch: at.epoch}, wake)
}

// closeTimeout bounds the wait for goroutines whose requests have been broken off.
const closeTimeout = 10 * time.Second

// leave is called by each reader once. The last one closes the connection.
func (h *hub) leave() error {
	h.run.mu.Lock()
	h.readers--
	last := h.readers == 0
	if last {
		delete(h.run.hubs, h.worker)
	}
	h.run.mu.Unlock()
	if !last {
		return nil
	}
	h.cancel()
	<-h.done
	if h.fetcher == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := errors.Join(h.fetcher.Close(ctx), h.client.Close()); err != nil {
		return fmt.Errorf("kafka: close the connection: %w", err)
	}
	return nil
}
