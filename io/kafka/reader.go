package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
)

// reader reads one partition. Fetching goes on in the goroutines of its hub.
type reader[T any] struct {
	src   *source[T]
	env   connector.Env
	tp    kafkawire.TopicPartition
	at    position // up to date between two calls of Read
	stop  int64    // MaxInt64: never
	hub   *hub
	part  *kafkawire.Partition // nil until the hub is connected
	batch *kafkawire.BatchReader
	chunk *kafkawire.Chunk // being read, nil between two
	wire  kafkawire.Record
	rec   Record
	ended bool
	err   error
	left  bool // the hub
}

// Open implements connector.Source. It does not wait for a broker: what goes
// wrong is the error of a Read.
func (s *source[T]) Open(ctx context.Context, env connector.Env, split connector.Split, from connector.Position) (connector.Reader[T], error) {
	tp, err := splitOf(split.ID)
	if err != nil {
		return nil, err
	}
	if from == nil {
		from = split.Start
	}
	at, err := decodePosition(from)
	if err != nil {
		return nil, fmt.Errorf("kafka: %s: %w", split.ID, err)
	}
	r := &reader[T]{src: s, env: env, tp: tp, at: at, stop: math.MaxInt64}
	r.rec.Topic, r.rec.Partition = tp.Topic, tp.Partition
	if at.stop != noStop {
		r.stop = at.stop
	}
	if r.ended = at.offset >= r.stop; r.ended {
		r.left = true
		return r, nil
	}
	r.hub = s.runs.of(ctx).join(ctx, env.Worker, &s.access, kafkawire.FetcherConfig{
		Isolation:   s.isolation(),
		Budget:      s.cfg.budget(env.Workers),
		MaxWait:     s.cfg.MaxFetchWait,
		RetryBudget: s.cfg.RetryTimeout,
	})
	r.batch = r.hub.decoder.NewReader(tp, s.isolation())
	r.connect()
	return r, nil
}

// connect begins to fetch once the hub is connected.
func (r *reader[T]) connect() {
	wake := r.env.Wake
	r.part, r.err = r.hub.add(r.tp, r.at, wake)
	if r.err != nil {
		r.err = fmt.Errorf("kafka: read %v: %w", r.tp, r.err)
	}
}

// Read implements connector.Reader.
func (r *reader[T]) Read(b *connector.Batch[T]) (connector.Status, error) {
	for b.Room() > 0 {
		if r.ended {
			return connector.Ended, nil
		}
		if r.chunk == nil {
			ok, err := r.next()
			if r.ended {
				continue
			}
			if err != nil || !ok {
				return connector.Waiting, err
			}
		}
		if err := r.fill(b); err != nil {
			r.err = err
			r.release()
			return connector.Waiting, err
		}
	}
	if r.ended {
		return connector.Ended, nil
	}
	return connector.Ready, nil
}

// next takes the next chunk. ok is false when there is none yet.
func (r *reader[T]) next() (ok bool, err error) {
	if r.part == nil && r.err == nil {
		r.connect()
	}
	if r.err != nil || r.part == nil {
		return false, r.err
	}
	r.chunk, err = r.part.Next()
	if err != nil {
		if err = r.recover(err); err != nil {
			r.err = fmt.Errorf("kafka: read %v at offset %d: %w", r.tp, r.at.offset, err)
		}
		return false, r.err
	}
	if r.chunk == nil {
		return false, nil
	}
	r.env.Count("fetchedBytes", int64(len(r.chunk.Records)))
	r.batch.Reset(r.at.offset, r.chunk.Records, r.chunk.Aborted)
	return true, nil
}

// fill appends records of the chunk until the batch is full or the chunk at its end.
func (r *reader[T]) fill(b *connector.Batch[T]) error {
	decode, eventTime, rec := r.src.cfg.Decode, r.src.cfg.EventTime, &r.rec
	for room := b.Room(); room > 0; room-- {
		ok, err := r.batch.Next(&r.wire)
		if err != nil {
			return fmt.Errorf("kafka: read %v: %w", r.tp, err)
		}
		if !ok || r.wire.Offset >= r.stop {
			r.release()
			break
		}
		rec.Key, rec.Value, rec.headers = r.wire.Key, r.wire.Value, r.wire.Headers
		rec.Offset, rec.Timestamp = r.wire.Offset, r.wire.Timestamp
		v, err := decode(rec)
		if err != nil {
			r.reject(b, err.Error())
			continue
		}
		t := connector.Time(rec.Timestamp)
		if eventTime != nil {
			at := eventTime(v)
			if at.IsZero() {
				r.reject(b, "no event time: EventTime gives the zero time")
				continue
			}
			t = connector.TimeOf(at)
		} else if t < 0 {
			r.reject(b, "no event time: the record has no timestamp; give Source.EventTime")
			continue
		}
		b.Add(t, v)
	}
	r.at.offset, r.at.epoch, r.at.first = r.batch.Position(), r.batch.LeaderEpoch(), false
	if r.at.offset >= r.stop {
		r.at.offset, r.ended = r.stop, true
		r.release()
	}
	return nil
}

// release gives the chunk back, once no view into it is needed.
func (r *reader[T]) release() {
	if r.chunk != nil {
		r.chunk.Release()
		r.chunk = nil
	}
}

// reject appends the record in hand to the rejects.
func (r *reader[T]) reject(b *connector.Batch[T], reason string) {
	rec := &r.rec
	b.Rejects = append(b.Rejects, connector.Reject{
		Source: fmt.Sprintf("topic %s, partition %d, offset %d", rec.Topic, rec.Partition, rec.Offset),
		Reason: reason,
		Key:    clone(rec.Key), Value: clone(rec.Value), Headers: rec.Headers(),
		Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset, Time: rec.Time(),
	})
}

// recover goes on after records are gone, if it may; else it returns the error.
func (r *reader[T]) recover(err error) error {
	var gone *kafkawire.OffsetOutOfRangeError
	var cut *kafkawire.TruncatedError
	policy := r.src.cfg.OnLostOffsets
	to, epoch, lost := int64(0), int32(-1), int64(0)
	switch {
	case errors.As(err, &gone) && r.at.first && gone.Position < gone.LogStart:
		// Nothing was promised but the first record that is there.
		r.at.offset = gone.LogStart
		r.ended = r.at.offset >= r.stop
		return r.part.Seek(kafkawire.Start{Offset: gone.LogStart, LeaderEpoch: -1})
	case gone == nil && !errors.As(err, &cut):
		return err
	case policy == FailOnLost:
		return fmt.Errorf("%w: set Source.OnLostOffsets", err)
	case cut != nil:
		to, epoch, lost = cut.EndOffset, cut.EndEpoch, cut.Position-cut.EndOffset
	case policy == EarliestOnLost:
		to, lost = gone.LogStart, gone.Lost()
	default:
		to, lost = gone.End, max(0, gone.End-gone.Position)
	}
	r.env.Count("lostOffsets", min(lost, max(0, r.stop-r.at.offset)))
	r.env.Log.Warn("records at the position are gone: going on elsewhere, by Source.OnLostOffsets", "topic", r.tp.Topic,
		"partition", r.tp.Partition, "position", r.at.offset, "continue", to, "lost", lost)
	r.at.offset, r.at.epoch = min(to, r.stop), epoch
	if r.ended = to >= r.stop; r.ended {
		return nil
	}
	return r.part.Seek(kafkawire.Start{Offset: to, LeaderEpoch: epoch})
}

// Position implements connector.Reader.
func (r *reader[T]) Position() connector.Position { return r.at.encode() }

// CaughtUp implements connector.Idler: the broker's last answer was that the log
// ends at our position, and no transaction is open there.
func (r *reader[T]) CaughtUp() bool {
	return !r.ended && r.err == nil && r.chunk == nil && r.part != nil && r.part.State().CaughtUp(r.at.offset)
}

// Close implements connector.Reader.
func (r *reader[T]) Close() error {
	r.release()
	if r.part != nil {
		r.part.Remove()
	}
	if r.left {
		return nil
	}
	r.left = true
	return r.hub.leave()
}
