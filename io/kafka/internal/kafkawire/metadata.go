package kafkawire

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"time"
)

// Broker is a member of the cluster.
type Broker struct {
	ID   int32
	Host string
	Port int32
	Rack string
}

// Addr is host:port.
func (b Broker) Addr() string { return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) }

// Metadata is the cluster as one broker saw it at one moment.
type Metadata struct {
	Brokers    []Broker
	Controller int32
	Topics     []TopicMetadata
}

// TopicMetadata describes a topic. Code is not zero when the broker had none to give.
type TopicMetadata struct {
	Name       string
	Code       Code
	Partitions []PartitionMetadata // by ascending ID
}

// PartitionMetadata describes a partition. Leader is -1 while there is none; LeaderEpoch is -1 when unknown.
type PartitionMetadata struct {
	ID          int32
	Code        Code
	Leader      int32
	LeaderEpoch int32
}

// Metadata asks the cluster, not a cache, about topics; nil asks about all of them, an empty slice about none. Topics that do not exist are
// in the answer with their Code: this call does not fail for them. It never creates topics.
func (c *Client) Metadata(ctx context.Context, topics []string) (*Metadata, error) {
	var m *Metadata
	err := c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) (err error) {
		m, err = c.metadataOnce(ctx, topics)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (c *Client) metadataOnce(ctx context.Context, topics []string) (*Metadata, error) {
	m := &Metadata{}
	err := c.call(ctx, metadataAPI, anyNode, func(e *encoder) {
		if topics == nil {
			e.int32(-1)
		} else {
			e.arrayLen(len(topics))
			for _, t := range topics {
				e.string(t)
			}
		}
		e.bool(false) // allow auto topic creation
		e.bool(false) // cluster authorized operations
		e.bool(false) // topic authorized operations
	}, m.decode)
	if err != nil {
		return nil, c.failed("metadata", anyNode, noPartition, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.brokers)
	for _, b := range m.Brokers {
		c.brokers[b.ID] = b
	}
	return m, nil
}

func (m *Metadata) decode(d *decoder) {
	d.int32() // throttle
	for n := d.arrayLen(12); n > 0 && d.err == nil; n-- {
		m.Brokers = append(m.Brokers, Broker{ID: d.int32(), Host: d.string(), Port: d.int32(), Rack: d.string()})
	}
	_ = d.string() // cluster id
	m.Controller = d.int32()
	for n := d.arrayLen(13); n > 0 && d.err == nil; n-- {
		t := TopicMetadata{Code: Code(d.int16()), Name: d.string()}
		d.bool() // internal
		for k := d.arrayLen(26); k > 0 && d.err == nil; k-- {
			p := PartitionMetadata{Code: Code(d.int16()), ID: d.int32(), Leader: d.int32(), LeaderEpoch: d.int32()}
			for range 3 { // replicas, in-sync and offline replicas
				d.skip(4 * d.arrayLen(4))
			}
			t.Partitions = append(t.Partitions, p)
		}
		d.int32() // authorized operations
		slices.SortFunc(t.Partitions, func(a, b PartitionMetadata) int { return int(a.ID) - int(b.ID) })
		m.Topics = append(m.Topics, t)
	}
	d.int32() // cluster authorized operations
}

// topic finds a topic by name.
func (m *Metadata) topic(name string) (*TopicMetadata, bool) {
	for i := range m.Topics {
		if m.Topics[i].Name == name {
			return &m.Topics[i], true
		}
	}
	return nil, false
}

// partition finds a partition, with the code that says why it cannot be used.
func (m *Metadata) partition(tp TopicPartition) (PartitionMetadata, Code) {
	t, ok := m.topic(tp.Topic)
	if !ok {
		return PartitionMetadata{}, CodeUnknownTopic
	}
	if t.Code != CodeNone {
		return PartitionMetadata{}, t.Code
	}
	i, ok := slices.BinarySearchFunc(t.Partitions, tp.Partition, func(p PartitionMetadata, id int32) int { return int(p.ID) - int(id) })
	if !ok {
		return PartitionMetadata{}, CodeUnknownTopic
	}
	p := t.Partitions[i]
	// A missing replica (9) is the broker's way to say that a follower is down; the leader serves all the same.
	if p.Code != CodeNone && p.Code != CodeReplicaNotAvailable {
		return p, p.Code
	}
	if p.Leader < 0 {
		return p, CodeLeaderNotAvailable
	}
	return p, CodeNone
}

// Partitions gives the partition ids of existing topics, ascending. A topic that does not exist within Config.UnknownTopicBudget is a
// *RequestError with CodeUnknownTopic that names it.
func (c *Client) Partitions(ctx context.Context, topics ...string) (map[string][]int32, error) {
	out := map[string][]int32{}
	err := c.retryTopics(ctx, func(ctx context.Context) error {
		m, err := c.metadataOnce(ctx, topics)
		if err != nil {
			return err
		}
		for _, name := range topics {
			t, ok := m.topic(name)
			if !ok {
				t = &TopicMetadata{Code: CodeUnknownTopic}
			}
			if t.Code != CodeNone {
				return c.failed("metadata", anyNode, TopicPartition{name, -1}, t.Code)
			}
			ids := make([]int32, len(t.Partitions))
			for i, p := range t.Partitions {
				ids[i] = p.ID
			}
			out[name] = ids
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// retryTopics is retry with the shorter budget for topics that do not exist.
func (c *Client) retryTopics(ctx context.Context, f func(context.Context) error) error {
	start := time.Now()
	var gone error
	err := c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) error {
		err := f(ctx)
		if errors.Is(err, CodeUnknownTopic) && time.Since(start) >= c.cfg.UnknownTopicBudget {
			gone = err
			return nil
		}
		return err
	})
	if gone != nil {
		return gone
	}
	return err
}
