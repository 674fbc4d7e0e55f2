package kafka

import (
	"crypto/tls"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Source says what to read. Brokers, Topics and Decode are required.
type Source[T any] struct {
	// Brokers are addresses, host:port. One that answers is enough to find the others.
	Brokers []string
	// Topics are read together, each record once. They must exist.
	Topics []string
	// Decode makes a row of a record: [JSON], [String], [Bytes], [MessageOf], or a function of
	// your own over the whole record, which is called for tombstones too. It runs
	// on all workers at the same time. Its error rejects the record.
	Decode func(*Record) (T, error)
	// EventTime is a row's event time. Its zero time says that the row has none, which
	// rejects the record. nil: the record's timestamp.
	EventTime func(T) time.Time

	// Disorder is how far behind the newest event time of its partition a row may
	// lie before it can count as late. 0: partitions are in order.
	Disorder time.Duration
	// Idle is how long a partition must have nothing unread before it stops
	// holding the watermark. 0: 30 seconds; negative: it always holds it.
	Idle time.Duration
	// MaxFuture is how far ahead of the clock a row may be stamped and still move
	// the watermark; one beyond is read and counted in futureTimestamps. 0: 24
	// hours; negative: any distance.
	MaxFuture time.Duration

	// Start is where reading begins; nil: [Earliest].
	Start Start
	// Stop is where it ends; nil: [Never].
	Stop Stop
	// Group is the consumer group whose commits [Committed] reads. Nothing else uses it.
	Group string
	// OnLostOffsets says what to do when records are gone before they were read.
	OnLostOffsets LostOffsets
	// Discover is how often an unbounded source looks for new partitions; 0: every 30 seconds; negative: never.
	Discover time.Duration
	// ReadUncommitted shows records of open and of aborted transactions too.
	ReadUncommitted bool

	// TLS turns TLS on; a missing ServerName is taken from the address.
	TLS *tls.Config
	// SASL turns authentication on.
	SASL *SASL
	// Dial replaces net.Dialer, for proxies and tests.
	Dial Dial
	// ClientID is shown in the brokers' logs and quotas. Default "penstock".
	ClientID string
	// ConnectTimeout bounds the first connection, over all attempts. Default 15 seconds.
	ConnectTimeout time.Duration
	// RetryTimeout is how long a partition may fail, or its broker be away, before the run fails. Default 1 minute.
	RetryTimeout time.Duration
	// MaxFetchWait is how long a broker may wait for new records before it answers that there are none. Default 250 ms.
	MaxFetchWait time.Duration
	// MaxBufferedBytes bounds what all workers together have read ahead, in
	// compressed bytes: each worker has an equal part of it, and one batch more for
	// a partition whose batches are larger than its share. Default 16 MiB for each
	// worker: more is seldom faster, since it does not fit into caches.
	MaxBufferedBytes int
}

// Read adds a source to a pipeline. A record that Decode refuses, or that has
// no event time, fails the run; see [TryRead].
func Read[T any](p *pcoll.Pipeline, src Source[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	rows, _ := add(pcoll.NewBuilder(p, "kafka.Read", opts...), src, false)
	return rows
}

// TryRead adds a source to a pipeline and returns, beside the rows, the records
// that Decode refused or that have no event time: raw, with origin and reason.
func TryRead[T any](p *pcoll.Pipeline, src Source[T], opts ...pcoll.Option) (rows pcoll.PCollection[T], rejects pcoll.PCollection[connector.Reject]) {
	return add(pcoll.NewBuilder(p, "kafka.TryRead", opts...), src, true)
}

func add[T any](b *pcoll.Builder, src Source[T], try bool) (rows pcoll.PCollection[T], rejects pcoll.PCollection[connector.Reject]) {
	return connector.Add(b, newSource(src, b.Errorf), try)
}

const (
	defaultDiscover = 30 * time.Second
	defaultRetry    = time.Minute
	defaultBuffered = 16 << 20 // of a worker
)

// source implements connector.Source.
type source[T any] struct {
	cfg    Source[T]
	access access
	from   place
	to     place
	runs   runs
}

// newSource fills in the defaults and reports mistakes.
func newSource[T any](cfg Source[T], report func(format string, args ...any)) *source[T] {
	s := &source[T]{cfg: cfg, from: place{kind: earliest}, to: place{kind: never}}
	c := &s.cfg
	if c.Start != nil {
		s.from = c.Start.start()
	}
	if c.Stop != nil {
		s.to = c.Stop.stop()
	}
	c.check(report)
	checkOffsets(report, "Start", s.from, c.Topics)
	checkOffsets(report, "Stop", s.to, c.Topics)
	if (s.from.kind == committed) != (c.Group != "") {
		report("Start is Committed and Group is %q; give both or neither: nothing else uses a group", c.Group)
	}
	if c.Discover == 0 {
		c.Discover = defaultDiscover
	}
	if c.RetryTimeout == 0 {
		c.RetryTimeout = defaultRetry
	}
	s.access = access{c.Brokers, c.ClientID, c.TLS, c.SASL, c.Dial, c.ConnectTimeout, c.RetryTimeout}
	s.access.check(report)
	return s
}

func (c *Source[T]) check(report func(format string, args ...any)) {
	if len(c.Topics) == 0 {
		report("Topics is empty; name at least one topic")
	}
	seen := map[string]bool{}
	for _, t := range c.Topics {
		if err := checkTopic(t); err != nil {
			report("Topics: %w", err)
		}
		if seen[t] {
			report("Topics names %q twice; its records would be read once all the same: remove one", t)
		}
		seen[t] = true
	}
	if c.Decode == nil {
		report("Decode is nil; use kafka.JSON, kafka.String, kafka.Bytes, kafka.MessageOf or a function of your own")
	}
	if c.OnLostOffsets < FailOnLost || c.OnLostOffsets > LatestOnLost {
		report("OnLostOffsets is %d; want FailOnLost, EarliestOnLost or LatestOnLost", c.OnLostOffsets)
	}
	notNegative(report, "RetryTimeout", c.RetryTimeout)
	notNegative(report, "MaxFetchWait", c.MaxFetchWait)
	if c.MaxBufferedBytes < 0 {
		report("MaxBufferedBytes is %d; it must not be negative", c.MaxBufferedBytes)
	}
}

// checkOffsets reports places that no partition can have.
func checkOffsets(report func(format string, args ...any), field string, p place, topics []string) {
	known := map[string]bool{}
	for _, t := range topics {
		known[t] = true
	}
	for topic, parts := range p.offsets() {
		if !known[topic] {
			report("%s: AtOffsets names topic %q, which is not in Topics", field, topic)
		}
		for part, offset := range parts {
			if part < 0 || offset < 0 {
				report("%s: AtOffsets gives offset %d for partition %d of topic %q; neither may be negative", field, offset, part, topic)
			}
		}
	}
}

// budget is how many bytes one of some workers may have read ahead.
func (c *Source[T]) budget(workers int) int {
	if c.MaxBufferedBytes == 0 {
		return defaultBuffered
	}
	return max(1, c.MaxBufferedBytes/max(1, workers))
}

// Progress implements connector.Source.
func (s *source[T]) Progress() connector.Progress {
	c := &s.cfg
	p := connector.Progress{Bounded: s.to.kind != never, Disorder: c.Disorder, Idle: c.Idle, MaxFuture: c.MaxFuture}
	if !p.Bounded {
		p.Rediscover = max(0, c.Discover)
	}
	return p
}
