package kafkawire

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Committed is a group's committed position of a partition.
type Committed struct {
	Offset      int64
	LeaderEpoch int32 // -1 when the committer gave none
	Metadata    string
}

// coordinator finds the broker that keeps a group's offsets.
func (c *Client) coordinator(ctx context.Context, group string) (int32, error) {
	node, code, message := anyNode, CodeNone, ""
	err := c.call(ctx, findCoordinatorAPI, anyNode, func(e *encoder) {
		e.string(group)
		e.int8(0) // a group, not a transactional id
	}, func(d *decoder) {
		d.int32() // throttle
		code, message, node = Code(d.int16()), d.string(), d.int32()
		_, _ = d.string(), d.int32() // address
	})
	if err == nil && code != CodeNone {
		err = code
	}
	if err != nil {
		return anyNode, &RequestError{
			Op: "find coordinator of group " + group, Broker: c.brokerName(anyNode), Partition: -1, Message: message, Err: err,
		}
	}
	return node, nil
}

// CommittedOffsets gives the positions that group has committed for tps. Partitions without a commit are absent. While a transaction that
// commits offsets is open, the positions before it are given.
func (c *Client) CommittedOffsets(ctx context.Context, group string, tps []TopicPartition) (map[TopicPartition]Committed, error) {
	out := make(map[TopicPartition]Committed, len(tps))
	sorted := sortedByTopic(tps)
	err := c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) error {
		clear(out)
		node, err := c.coordinator(ctx, group)
		if err != nil {
			return err
		}
		var refused error
		err = c.call(ctx, offsetFetchAPI, node, func(e *encoder) {
			e.string(group)
			encodeByTopic(e, sorted, topicOf, func(tp TopicPartition) { e.int32(tp.Partition) })
		}, func(d *decoder) {
			refused = c.decodeCommitted(d, group, node, out)
		})
		if err != nil {
			return c.failed("fetch offsets of group "+group, node, noPartition, err)
		}
		return refused
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *Client) decodeCommitted(d *decoder, group string, node int32, out map[TopicPartition]Committed) (refused error) {
	op := "fetch offsets of group " + group
	d.int32() // throttle
	for n := d.arrayLen(6); n > 0 && d.err == nil; n-- {
		topic := d.string()
		for k := d.arrayLen(20); k > 0 && d.err == nil; k-- {
			tp := TopicPartition{topic, d.int32()}
			at := Committed{Offset: d.int64(), LeaderEpoch: d.int32(), Metadata: d.string()}
			switch code := Code(d.int16()); {
			case code == CodeUnknownTopic: // nothing committed for a partition the coordinator does not know
			case code != CodeNone:
				refused = c.failed(op, node, tp, code)
			case at.Offset >= 0 && d.err == nil:
				out[tp] = at
			}
		}
	}
	if code := Code(d.int16()); code != CodeNone && code != CodeGroupNotFound {
		refused = c.failed(op, node, noPartition, code)
	}
	return refused
}

// CommitOffsets stores positions for a group that has no members: monitoring tools then show the job's lag. A job never starts from them
// unless told to. A group with live members refuses with UNKNOWN_MEMBER_ID (25).
func (c *Client) CommitOffsets(ctx context.Context, group string, positions map[TopicPartition]Committed) error {
	if len(positions) == 0 {
		return nil
	}
	sorted := sortedByTopic(slices.Collect(maps.Keys(positions)))
	return c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) error {
		node, err := c.coordinator(ctx, group)
		if err != nil {
			return err
		}
		op := "commit offsets of group " + group
		var refused error
		err = c.call(ctx, offsetCommitAPI, node, func(e *encoder) {
			e.string(group)
			e.int32(-1) // no generation: 0 would be answered 25
			e.string("")
			e.nullString("") // no group instance
			encodeByTopic(e, sorted, topicOf, func(tp TopicPartition) {
				at := positions[tp]
				e.int32(tp.Partition)
				e.int64(at.Offset)
				e.int32(at.LeaderEpoch)
				e.nullString(at.Metadata)
			})
		}, func(d *decoder) {
			d.int32() // throttle
			for n := d.arrayLen(6); n > 0 && d.err == nil; n-- {
				topic := d.string()
				for k := d.arrayLen(6); k > 0 && d.err == nil; k-- {
					tp, code := TopicPartition{topic, d.int32()}, Code(d.int16())
					if code != CodeNone {
						refused = c.failed(op, node, tp, code)
					}
				}
			}
		})
		if err != nil {
			return c.failed(op, node, noPartition, err)
		}
		return refused
	})
}

func topicOf(tp TopicPartition) string { return tp.Topic }

func sortedByTopic(tps []TopicPartition) []TopicPartition {
	return slices.SortedFunc(slices.Values(tps), compareTopicPartition)
}

func compareTopicPartition(a, b TopicPartition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return int(a.Partition) - int(b.Partition)
}

// TopicSpec is a topic to create. Partitions and Replicas of 0 mean the broker's defaults.
type TopicSpec struct {
	Name       string
	Partitions int32
	Replicas   int16
	Configs    map[string]string // for example "retention.ms": "-1", which a topic with old event times needs
}

// CreateTopics creates topics and waits until every partition of them has a leader. A topic that exists is a *RequestError with
// CodeTopicExists; the others are created all the same.
func (c *Client) CreateTopics(ctx context.Context, specs ...TopicSpec) error {
	pending := slices.Clone(specs)
	var first error
	err := c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) error {
		m, err := c.metadataOnce(ctx, []string{})
		if err != nil {
			return err
		}
		codes, err := c.createTopicsOnce(ctx, m.Controller, pending)
		if err != nil {
			return err
		}
		var again error
		pending = slices.DeleteFunc(pending, func(s TopicSpec) bool {
			err := codes[s.Name]
			switch {
			case err == nil:
				return true
			case !permanent(err):
				again = err
				return false
			case first == nil:
				first = err
			}
			return true
		})
		return again
	})
	if err != nil {
		return err
	}
	if first != nil {
		return first
	}
	return c.awaitLeaders(ctx, specs)
}

func (c *Client) createTopicsOnce(ctx context.Context, node int32, specs []TopicSpec) (map[string]error, error) {
	results := map[string]error{}
	for _, s := range specs {
		results[s.Name] = c.failed("create topic", node, TopicPartition{s.Name, -1}, CodeUnknownServerError)
	}
	err := c.call(ctx, createTopicsAPI, node, func(e *encoder) {
		e.arrayLen(len(specs))
		for _, s := range specs {
			e.string(s.Name)
			e.int32(orMinusOne(s.Partitions))
			e.int16(orMinusOne(s.Replicas))
			e.arrayLen(0) // no manual assignment
			e.arrayLen(len(s.Configs))
			for _, k := range slices.Sorted(maps.Keys(s.Configs)) {
				e.string(k)
				e.string(s.Configs[k])
			}
		}
		e.int32(int32(c.cfg.RequestTimeout.Milliseconds()))
		e.bool(false) // really create
	}, func(d *decoder) {
		d.int32() // throttle
		for n := d.arrayLen(6); n > 0 && d.err == nil; n-- {
			name, code, message := d.string(), Code(d.int16()), d.string()
			if _, asked := results[name]; !asked {
				d.fail(fmt.Errorf("an answer for topic %q, which was not asked for", name))
				return
			}
			results[name] = nil
			if code != CodeNone {
				results[name] = &RequestError{
					Op: "create topic", Broker: c.brokerName(node), Topic: name, Partition: -1, Message: message, Err: code,
				}
			}
		}
	})
	if err != nil {
		return nil, c.failed("create topics", node, noPartition, err)
	}
	return results, nil
}

func orMinusOne[T int16 | int32](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// awaitLeaders waits until the topics are known and led everywhere: creation is asynchronous in Kafka.
func (c *Client) awaitLeaders(ctx context.Context, specs []TopicSpec) error {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) error {
		m, err := c.metadataOnce(ctx, names)
		if err != nil {
			return err
		}
		for _, s := range specs {
			t, ok := m.topic(s.Name)
			if !ok || len(t.Partitions) == 0 {
				return c.failed("create topic", anyNode, TopicPartition{s.Name, -1}, CodeUnknownTopic)
			}
			for _, p := range t.Partitions {
				if tp := (TopicPartition{s.Name, p.ID}); p.Leader < 0 {
					return c.failed("create topic", anyNode, tp, CodeLeaderNotAvailable)
				}
			}
		}
		return nil
	})
}
