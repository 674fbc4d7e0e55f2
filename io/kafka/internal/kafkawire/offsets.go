package kafkawire

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Isolation says which records of transactions a reader sees.
type Isolation int8

// The isolation levels of the protocol.
const (
	ReadUncommitted Isolation = 0 // everything, also what was or will be aborted
	ReadCommitted   Isolation = 1 // committed transactions only, up to the last stable offset
)

// The timestamps that ListOffsets understands as places, not times.
const (
	Latest   int64 = -1 // the end: high watermark, or last stable offset under ReadCommitted
	Earliest int64 = -2 // the log's start
)

// Offset is an answer of ListOffsets.
type Offset struct {
	Offset      int64 // -1: no record at or after the time that was asked for
	LeaderEpoch int32 // epoch of the record there, -1 when unknown
	Timestamp   int64 // of the record found, milliseconds; -1 for Earliest and Latest
}

// ListOffsets asks the leaders for offsets: at holds, for each partition, Earliest, Latest, or a time in milliseconds since 1970, for which
// the answer is the first offset whose record is at or after it. It follows leaders that move and gives an answer for every partition or an
// error.
func (c *Client) ListOffsets(ctx context.Context, at map[TopicPartition]int64, iso Isolation) (map[TopicPartition]Offset, error) {
	out := make(map[TopicPartition]Offset, len(at))
	err := c.retryTopics(ctx, func(ctx context.Context) error {
		byLeader, err := c.groupByLeader(ctx, at, out)
		if err != nil {
			return err
		}
		var first error
		for _, node := range slices.Sorted(maps.Keys(byLeader)) {
			if err := c.listOffsetsOnce(ctx, node, byLeader[node], at, iso, out); err != nil && (first == nil || permanent(err)) {
				first = err
			}
		}
		return first
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// EndOffsets is where each partition ends now: the place to stop for a bounded read.
func (c *Client) EndOffsets(ctx context.Context, tps []TopicPartition, iso Isolation) (map[TopicPartition]Offset, error) {
	return c.listAll(ctx, tps, Latest, iso)
}

// StartOffsets is where each partition's log begins.
func (c *Client) StartOffsets(ctx context.Context, tps []TopicPartition) (map[TopicPartition]Offset, error) {
	return c.listAll(ctx, tps, Earliest, ReadUncommitted)
}

// OffsetsAt gives for each partition the first offset whose record's timestamp is at or after millis, and the end offset where there is no
// such record.
func (c *Client) OffsetsAt(ctx context.Context, tps []TopicPartition, millis int64, iso Isolation) (map[TopicPartition]Offset, error) {
	// Negative times are the protocol's special places; a record cannot be found before 1970.
	out, err := c.listAll(ctx, tps, max(millis, 0), iso)
	if err != nil {
		return nil, err
	}
	var past []TopicPartition
	for tp, o := range out {
		if o.Offset < 0 {
			past = append(past, tp)
		}
	}
	if len(past) == 0 {
		return out, nil
	}
	ends, err := c.EndOffsets(ctx, past, iso)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, ends)
	return out, nil
}

func (c *Client) listAll(ctx context.Context, tps []TopicPartition, at int64, iso Isolation) (map[TopicPartition]Offset, error) {
	want := make(map[TopicPartition]int64, len(tps))
	for _, tp := range tps {
		want[tp] = at
	}
	return c.ListOffsets(ctx, want, iso)
}

// leaderPartition is a partition with the epoch under which its leader is addressed.
type leaderPartition struct {
	TopicPartition
	epoch int32
}

// groupByLeader finds the leaders of the partitions in at that are not yet in done.
func (c *Client) groupByLeader(
	ctx context.Context, at map[TopicPartition]int64, done map[TopicPartition]Offset,
) (map[int32][]leaderPartition, error) {
	topics := map[string]struct{}{}
	for tp := range at {
		if _, ok := done[tp]; !ok {
			topics[tp.Topic] = struct{}{}
		}
	}
	if len(topics) == 0 {
		return nil, nil
	}
	m, err := c.metadataOnce(ctx, slices.Sorted(maps.Keys(topics)))
	if err != nil {
		return nil, err
	}
	byLeader := map[int32][]leaderPartition{}
	for tp := range at {
		if _, ok := done[tp]; ok {
			continue
		}
		p, code := m.partition(tp)
		if code != CodeNone {
			return nil, c.failed("metadata", anyNode, tp, code)
		}
		byLeader[p.Leader] = append(byLeader[p.Leader], leaderPartition{tp, p.LeaderEpoch})
	}
	return byLeader, nil
}

func (c *Client) listOffsetsOnce(
	ctx context.Context, node int32, parts []leaderPartition, at map[TopicPartition]int64, iso Isolation, out map[TopicPartition]Offset,
) error {
	slices.SortFunc(parts, func(a, b leaderPartition) int { return strings.Compare(a.Topic, b.Topic) })
	var refused error
	err := c.call(ctx, listOffsetsAPI, node, func(e *encoder) {
		e.int32(-1) // a consumer
		e.int8(int8(iso))
		encodeByTopic(e, parts, func(p leaderPartition) string { return p.Topic }, func(p leaderPartition) {
			e.int32(p.Partition)
			e.int32(p.epoch)
			e.int64(at[p.TopicPartition])
		})
	}, func(d *decoder) {
		d.int32() // throttle
		for n := d.arrayLen(6); n > 0 && d.err == nil; n-- {
			topic := d.string()
			for k := d.arrayLen(26); k > 0 && d.err == nil; k-- {
				tp, code := TopicPartition{topic, d.int32()}, Code(d.int16())
				o := Offset{Timestamp: d.int64(), Offset: d.int64(), LeaderEpoch: d.int32()}
				if _, asked := at[tp]; !asked {
					d.fail(fmt.Errorf("an offset for %v, which was not asked for", tp))
				} else if code != CodeNone {
					refused = c.failed("list offsets", node, tp, code)
				} else if d.err == nil {
					out[tp] = o
				}
			}
		}
	})
	if err != nil {
		return c.failed("list offsets", node, parts[0].TopicPartition, err)
	}
	if refused == nil {
		for _, p := range parts {
			if _, ok := out[p.TopicPartition]; !ok {
				return c.failed("list offsets", node, p.TopicPartition, CodeUnknownServerError)
			}
		}
	}
	return refused
}

// encodeByTopic writes items, which are sorted by topic, as the protocol's array of topics with an array of partitions each.
func encodeByTopic[T any](e *encoder, items []T, topic func(T) string, write func(T)) {
	topics := 0
	for i := range items {
		if i == 0 || topic(items[i]) != topic(items[i-1]) {
			topics++
		}
	}
	e.arrayLen(topics)
	for i := 0; i < len(items); {
		j := i
		for j < len(items) && topic(items[j]) == topic(items[i]) {
			j++
		}
		e.string(topic(items[i]))
		e.arrayLen(j - i)
		for ; i < j; i++ {
			write(items[i])
		}
	}
}
