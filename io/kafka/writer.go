package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
)

// writer writes the elements of one worker.
type writer[T any] struct {
	cfg        *Sink[T]
	ctx        context.Context
	env        connector.Env
	client     *kafkawire.Client
	producer   *kafkawire.Producer
	partitions int32
	rec        kafkawire.OutRecord
	headers    []kafkawire.Header
	bytes      int64 // since the last report
	sticky     int32 // partition of records without key
	stuck      int   // bytes written to it
	closed     bool
}

// stickyBytes is how much goes to one partition before the next has its turn: enough to fill batches.
const stickyBytes = 64 << 10

// Open implements connector.Sink.
func (s *sink[T]) Open(ctx context.Context, env connector.Env) (connector.Writer[T], error) {
	client, err := s.access.open(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("kafka: write to topic %s: %w", s.cfg.Topic, err)
	}
	w := &writer[T]{cfg: &s.cfg, ctx: ctx, env: env, client: client}
	if err := w.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("kafka: write to topic %s: %w", s.cfg.Topic, err), client.Close())
	}
	w.sticky = int32(env.Worker) % w.partitions
	return w, nil
}

func (w *writer[T]) begin() error {
	parts, err := w.client.Partitions(w.ctx, w.cfg.Topic)
	if err != nil {
		return err
	}
	if w.partitions = int32(len(parts[w.cfg.Topic])); w.partitions == 0 {
		return errors.New("the topic has no partitions")
	}
	w.producer, err = kafkawire.NewProducer(w.ctx, w.client, kafkawire.ProducerConfig{
		Compression:      kafkawire.Compression(w.cfg.Compression),
		MaxBatchBytes:    w.cfg.BatchBytes,
		MaxBufferedBytes: w.cfg.MaxBufferedBytes,
		Linger:           w.cfg.Linger,
		RetryBudget:      w.cfg.DeliveryTimeout,
	})
	return err
}

// Write implements connector.Writer. It waits while too much is on its way.
func (w *writer[T]) Write(e connector.Element, v T) error {
	rec := &w.rec
	var err error
	rec.Key = nil
	if w.cfg.Key != nil {
		rec.Key = w.cfg.Key(v)
	}
	if rec.Value, err = w.cfg.Value(v); err != nil {
		return fmt.Errorf("kafka: write to topic %s: key %q: %w", w.cfg.Topic, rec.Key, err)
	}
	if rec.Timestamp, err = w.timestamp(e, v); err != nil {
		return fmt.Errorf("kafka: write to topic %s: key %q: %w", w.cfg.Topic, rec.Key, err)
	}
	size := len(rec.Key) + len(rec.Value)
	rec.Headers = nil
	if w.cfg.Headers != nil {
		w.headers = w.headers[:0]
		for _, h := range w.cfg.Headers(v) {
			w.headers = append(w.headers, kafkawire.Header{Key: h.Name, Value: h.Value})
			size += len(h.Name) + len(h.Value)
		}
		rec.Headers = w.headers
	}
	part, err := w.partition(v, size)
	if err != nil {
		return fmt.Errorf("kafka: write to topic %s: key %q: %w", w.cfg.Topic, rec.Key, err)
	}
	if err := w.producer.Write(w.ctx, kafkawire.TopicPartition{Topic: w.cfg.Topic, Partition: part}, rec); err != nil {
		return fmt.Errorf("kafka: key %q: %w", rec.Key, err)
	}
	w.bytes += int64(size)
	return nil
}

// timestamp is the record's, in milliseconds since 1970.
func (w *writer[T]) timestamp(e connector.Element, v T) (int64, error) {
	if w.cfg.Timestamp != nil {
		if t := w.cfg.Timestamp(v); !t.IsZero() {
			ms := t.UnixMilli()
			if ms < 0 {
				return 0, fmt.Errorf("timestamp %v is before 1970, which Kafka does not have", t)
			}
			return ms, nil
		}
	}
	if e.Time >= 0 && e.Time < endOfTimes {
		return int64(e.Time), nil
	}
	return int64(w.env.Now()), nil
}

// endOfTimes is where event times are no times any more: results of the global window are there.
var endOfTimes = connector.TimeOf(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))

// partition chooses where the record goes.
func (w *writer[T]) partition(v T, size int) (int32, error) {
	switch {
	case w.cfg.Partition != nil:
		n := w.cfg.Partition(v, int(w.partitions))
		if n < 0 || n >= int(w.partitions) {
			return 0, fmt.Errorf("function Partition gives %d; want 0 to %d", n, w.partitions-1)
		}
		return int32(n), nil
	case w.rec.Key != nil:
		return kafkawire.KeyPartition(w.rec.Key, w.partitions), nil
	}
	if w.stuck += size; w.stuck > stickyBytes {
		w.stuck, w.sticky = 0, (w.sticky+1)%w.partitions
	}
	return w.sticky, nil
}

// report passes on what was counted.
func (w *writer[T]) report() {
	w.env.Count("writtenBytes", w.bytes)
	w.bytes = 0
}

// Flush implements connector.Writer.
func (w *writer[T]) Flush() error {
	w.report()
	if err := w.producer.Push(); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	return nil
}

// Prepare implements connector.Writer: what was written is acknowledged. There
// is nothing left to commit, so that there is no handle.
func (w *writer[T]) Prepare(int64) ([]byte, error) {
	w.report()
	if err := w.producer.Flush(w.ctx); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return nil, nil
}

// Commit implements connector.Writer.
func (w *writer[T]) Commit([]byte) error { return nil }

// Close implements connector.Writer. It does not wait for what was not prepared.
func (w *writer[T]) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// What was not prepared is given up: its error is the run's, or nobody's.
	_ = w.producer.Close(ctx)
	if err := w.client.Close(); err != nil {
		return fmt.Errorf("kafka: close the connection: %w", err)
	}
	return nil
}
