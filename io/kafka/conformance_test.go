package kafka

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/connector/connectortest"
)

// transaction writes records in a transaction.
func (b *fakeBroker) transaction(id string, end kgo.TransactionEndTry, records ...*kgo.Record) {
	b.t.Helper()
	c := b.client(kgo.TransactionalID(id))
	if err := c.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	produce(b.t, c, records...)
	if err := c.EndTransaction(limited(b.t), end); err != nil {
		b.t.Fatal(err)
	}
	c.Close()
}

func TestSourceConformance(t *testing.T) {
	b := broker(t, 7)
	var want []string
	for i, codec := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	} {
		c := b.client(kgo.ProducerBatchCompression(codec))
		for _, part := range slices.Collect(slices.Chunk(numbered(int32(i), 50), 9)) { // several batches
			produce(t, c, part...)
			want = append(want, values(part)...)
		}
	}
	b.transaction("a", kgo.TryCommit, record(5, 1, "committed-1"), record(5, 1, "committed-2"))
	b.transaction("b", kgo.TryAbort, record(5, 1, "aborted"))
	want = append(want, "committed-1", "committed-2")
	// Partition 6 is empty.
	connectortest.Source(t, implement(t, b.source()), want)
}

func TestSinkConformance(t *testing.T) {
	b := broker(t, 3)
	n := 0
	elems := make([]string, 30)
	for i := range elems {
		elems[i] = fmt.Sprint("element ", i)
	}
	connectortest.Sink(t, connectortest.AtOnce, func(t *testing.T) (connector.Sink[string], func() []string) {
		n++
		name := fmt.Sprint("sink-", n)
		if err := b.CreateTopic(name, 3, nil); err != nil {
			t.Fatal(err)
		}
		s := newSink(Sink[string]{Brokers: b.ListenAddrs(), Topic: name, Value: StringValue, Key: func(s string) []byte { return []byte(s) }},
			func(format string, args ...any) { t.Fatal(fmt.Errorf(format, args...)) })
		return s, func() []string { return values(b.contents(name)) }
	}, elems)
}

// contents reads what a topic holds, with another implementation than ours, ordered by partition.
func (b *fakeBroker) contents(name string) (out []*kgo.Record) {
	b.t.Helper()
	return contents(b.t, limited(b.t), b.client(kgo.ConsumeTopics(name), kgo.FetchIsolationLevel(kgo.ReadCommitted())), name)
}

func contents(t *testing.T, ctx context.Context, c *kgo.Client, name string) (out []*kgo.Record) {
	t.Helper()
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	left := int64(0)
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	for int64(len(out)) < left {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s: %v after %d of %d records", name, err, len(out), left)
		}
		out = append(out, fetches.Records()...)
	}
	slices.SortStableFunc(out, func(a, b *kgo.Record) int { return int(a.Partition - b.Partition) })
	return out
}
