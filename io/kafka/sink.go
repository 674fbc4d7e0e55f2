package kafka

import (
	"crypto/tls"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
)

// A Sink says where and how to write. Brokers, Topic and Value are required. Its
// functions run on all workers at the same time.
type Sink[T any] struct {
	// Brokers are addresses, host:port. One that answers is enough to find the others.
	Brokers []string
	// Topic must exist. The number of its partitions is read when a run starts.
	Topic string
	// Key is the record's key; nil, the function or its result: no key.
	Key func(T) []byte
	// Value is the record's value: [JSONValue], [StringValue], [BytesValue], [MessageValue] or a function
	// of your own. A nil result is Kafka's null, a tombstone; an empty one is
	// zero bytes. An error fails the run. Key and value are copied before the next call.
	Value func(T) ([]byte, error)
	// Timestamp is the record's timestamp. nil, or the zero time: the element's
	// event time, and the clock's where that is no time since 1970 (at the ends of
	// time). Kafka refuses timestamps more than an hour ahead unless the topic's
	// message.timestamp.after.max.ms allows them, and deletes old ones by retention.ms.
	Timestamp func(T) time.Time
	// Headers are the record's headers.
	Headers func(T) []Header
	// Partition chooses the partition, from 0 to n-1. nil: the key's murmur2 hash, as
	// Kafka's Java clients have it; without a key one partition after the other, each for some records.
	Partition func(v T, n int) int
	// Compression of batches.
	Compression Compression

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
	// DeliveryTimeout is how long a partition may refuse its records, or its broker be away, before the run fails. Default 2 minutes.
	DeliveryTimeout time.Duration
	// Linger is how long a record waits for others to share its batch. Default 5 ms; negative: not at all.
	Linger time.Duration
	// BatchBytes is the largest batch, before compression. Default 1,000,000.
	BatchBytes int
	// MaxBufferedBytes is how much each worker may have on its way, before compression;
	// beyond it, it waits for acknowledgements. Default 32 MiB.
	MaxBufferedBytes int
}

// Write adds a sink to a pipeline: each element becomes a record. It writes at
// least once; see the package documentation.
func Write[T any](in pcoll.PCollection[T], sink Sink[T], opts ...pcoll.Option) {
	b := pcoll.NewBuilder(in.Pipeline(), "kafka.Write", opts...)
	connector.AddSink(b, in, newSink(sink, b.Errorf))
}

const defaultDelivery = 2 * time.Minute

// newSink fills in the defaults and reports mistakes.
func newSink[T any](cfg Sink[T], report func(format string, args ...any)) *sink[T] {
	if err := checkTopic(cfg.Topic); err != nil {
		report("Topic: %w", err)
	}
	if cfg.Value == nil {
		report("Value is nil; use kafka.JSONValue, kafka.StringValue, kafka.BytesValue, kafka.MessageValue or a function of your own")
	}
	if cfg.Compression < None || cfg.Compression > Zstd {
		report("Compression is %d; want None, Gzip, Snappy, LZ4 or Zstd", cfg.Compression)
	}
	notNegative(report, "DeliveryTimeout", cfg.DeliveryTimeout)
	if cfg.BatchBytes < 0 || cfg.MaxBufferedBytes < 0 {
		report("BatchBytes is %d and MaxBufferedBytes %d; neither may be negative", cfg.BatchBytes, cfg.MaxBufferedBytes)
	}
	if cfg.DeliveryTimeout == 0 {
		cfg.DeliveryTimeout = defaultDelivery
	}
	s := &sink[T]{cfg, access{cfg.Brokers, cfg.ClientID, cfg.TLS, cfg.SASL, cfg.Dial, cfg.ConnectTimeout, cfg.DeliveryTimeout}}
	s.access.check(report)
	return s
}

// sink implements connector.Sink.
type sink[T any] struct {
	cfg    Sink[T]
	access access
}

// Accepts implements connector.Sink.
func (s *sink[T]) Accepts() connector.Changes { return connector.Appends }
