package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
)

// position is a place in a partition. It holds where to stop, so that a read
// which goes on later stops where it would have.
type position struct {
	offset int64
	epoch  int32 // of the record before offset, -1 if unknown
	stop   int64 // noStop: never
	// first says that nothing was read yet and reading begins at the first record,
	// wherever retention has moved it by then.
	first bool
}

const noStop = -1

func (p position) encode() connector.Position {
	b := make([]byte, 0, 24)
	if p.first {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendVarint(b, p.offset)
	b = binary.AppendVarint(b, int64(p.epoch))
	return binary.AppendVarint(b, p.stop)
}

func decodePosition(b []byte) (p position, err error) {
	bad := func() (position, error) { return position{}, fmt.Errorf("position %x is damaged", b) }
	if len(b) == 0 || b[0] > 1 {
		return bad()
	}
	rest, fields := b[1:], [3]int64{}
	for i := range fields {
		v, n := binary.Varint(rest)
		if n <= 0 {
			return bad()
		}
		fields[i], rest = v, rest[n:]
	}
	p = position{offset: fields[0], epoch: int32(fields[1]), stop: fields[2], first: b[0] == 1}
	if len(rest) > 0 || p.offset < 0 || int64(p.epoch) != fields[1] || p.epoch < -1 || p.stop < noStop {
		return bad()
	}
	return p, nil
}

// splitOf parses the ID of a split. A topic's name holds no slash.
func splitOf(id string) (kafkawire.TopicPartition, error) {
	topic, number, ok := strings.Cut(id, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || n < 0 || topic == "" {
		return kafkawire.TopicPartition{}, fmt.Errorf("kafka: split %q; want topic/partition", id)
	}
	return kafkawire.TopicPartition{Topic: topic, Partition: int32(n)}, nil
}

// Splits lists the partitions. The first listing of a run resolves Start and Stop;
// what a later one finds begins at its first record.
func (s *source[T]) Splits(ctx context.Context) ([]connector.Split, error) {
	run := s.runs.of(ctx)
	run.listing.Lock()
	defer run.listing.Unlock()
	later := run.splits != nil
	client, err := s.access.open(ctx, later)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	parts, err := client.Partitions(ctx, s.cfg.Topics...)
	if err != nil {
		return nil, fmt.Errorf("kafka: list the partitions of %s: %w", strings.Join(s.cfg.Topics, ", "), err)
	}
	var fresh []kafkawire.TopicPartition
	for _, topic := range slices.Sorted(maps.Keys(parts)) {
		for _, n := range parts[topic] {
			if tp := (kafkawire.TopicPartition{Topic: topic, Partition: n}); !run.known[tp] {
				fresh = append(fresh, tp)
			}
		}
	}
	if len(fresh) == 0 {
		return run.splits, nil
	}
	splits, err := s.resolve(ctx, client, fresh, later)
	if err != nil {
		return nil, err
	}
	for _, tp := range fresh {
		run.known[tp] = true
	}
	run.splits = append(run.splits[:len(run.splits):len(run.splits)], splits...)
	return run.splits, nil
}

// resolve makes splits of partitions: where they begin and where they stop.
func (s *source[T]) resolve(ctx context.Context, client *kafkawire.Client, tps []kafkawire.TopicPartition, later bool) ([]connector.Split, error) {
	from := s.from
	if later {
		from = place{kind: earliest}
	}
	starts, err := s.starts(ctx, client, tps, from)
	if err != nil {
		return nil, fmt.Errorf("kafka: resolve Start: %w", err)
	}
	stops, err := s.stops(ctx, client, tps)
	if err != nil {
		return nil, fmt.Errorf("kafka: resolve Stop: %w", err)
	}
	splits := make([]connector.Split, len(tps))
	for i, tp := range tps {
		at := starts[tp]
		at.stop = noStop
		if stops != nil {
			at.stop = stops[tp]
			splits[i].Size = max(1, at.stop-at.offset)
		}
		splits[i].ID, splits[i].Start = tp.String(), at.encode()
	}
	return splits, nil
}

func (s *source[T]) isolation() kafkawire.Isolation {
	if s.cfg.ReadUncommitted {
		return kafkawire.ReadUncommitted
	}
	return kafkawire.ReadCommitted
}

// starts says where to begin in each partition.
func (s *source[T]) starts(
	ctx context.Context, client *kafkawire.Client, tps []kafkawire.TopicPartition, from place,
) (map[kafkawire.TopicPartition]position, error) {
	out := map[kafkawire.TopicPartition]position{}
	var chosen map[kafkawire.TopicPartition]kafkawire.Offset
	var err error
	switch from.kind {
	case latest:
		chosen, err = client.EndOffsets(ctx, tps, s.isolation())
	case atTime:
		chosen, err = client.OffsetsAt(ctx, tps, millis(from.at), s.isolation())
	case atOffsets:
		if err = checkExist(from, tps); err == nil {
			chosen = named(from, tps)
		}
	case committed:
		if err = s.committed(ctx, client, tps, out); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	for tp, o := range chosen {
		out[tp] = position{offset: o.Offset, epoch: -1}
	}
	var rest []kafkawire.TopicPartition
	for _, tp := range tps {
		if _, ok := out[tp]; !ok {
			rest = append(rest, tp)
		}
	}
	if len(rest) == 0 {
		return out, nil
	}
	first, err := client.StartOffsets(ctx, rest)
	for tp, o := range first {
		out[tp] = position{offset: o.Offset, epoch: -1, first: true}
	}
	return out, err
}

func (s *source[T]) committed(
	ctx context.Context, client *kafkawire.Client, tps []kafkawire.TopicPartition, out map[kafkawire.TopicPartition]position,
) error {
	commits, err := client.CommittedOffsets(ctx, s.cfg.Group, tps)
	if err != nil {
		return err
	}
	if len(commits) == 0 {
		return fmt.Errorf("group %q has committed no offset of %s; check Group, or start at Earliest or Latest",
			s.cfg.Group, strings.Join(s.cfg.Topics, ", "))
	}
	for tp, c := range commits {
		out[tp] = position{offset: c.Offset, epoch: c.LeaderEpoch}
	}
	return nil
}

// stops says where to stop in each partition; nil: nowhere.
func (s *source[T]) stops(
	ctx context.Context, client *kafkawire.Client, tps []kafkawire.TopicPartition,
) (map[kafkawire.TopicPartition]int64, error) {
	var at map[kafkawire.TopicPartition]kafkawire.Offset
	var err error
	switch s.to.kind {
	case never:
		return nil, nil
	case latest:
		at, err = client.EndOffsets(ctx, tps, s.isolation())
	case atTime:
		at, err = client.OffsetsAt(ctx, tps, millis(s.to.at), s.isolation())
	case atOffsets:
		at, err = named(s.to, tps), checkExist(s.to, tps)
		for _, tp := range tps {
			if _, ok := at[tp]; !ok && err == nil {
				err = fmt.Errorf("AtOffsets gives no offset for %v; name each partition, with 0 for those not to be read", tp)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	out := make(map[kafkawire.TopicPartition]int64, len(at))
	for tp, o := range at {
		out[tp] = o.Offset
	}
	return out, nil
}

// millis rounds up: records at or after t have at least this timestamp.
func millis(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// named gives the offsets of the partitions that p names.
func named(p place, tps []kafkawire.TopicPartition) map[kafkawire.TopicPartition]kafkawire.Offset {
	out := map[kafkawire.TopicPartition]kafkawire.Offset{}
	for _, tp := range tps {
		if o, ok := p.offsets()[tp.Topic][tp.Partition]; ok {
			out[tp] = kafkawire.Offset{Offset: o, LeaderEpoch: -1}
		}
	}
	return out
}

// checkExist refuses partitions that p names and the topic does not have.
func checkExist(p place, tps []kafkawire.TopicPartition) error {
	for topic, parts := range p.offsets() {
		for n := range parts {
			if tp := (kafkawire.TopicPartition{Topic: topic, Partition: n}); !slices.Contains(tps, tp) {
				return fmt.Errorf("AtOffsets names %v, which does not exist", tp)
			}
		}
	}
	return nil
}
