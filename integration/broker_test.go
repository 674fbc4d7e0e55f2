//go:build integration

// Package integration tests penstock against a real Apache Kafka. Its tests
// need what `make integration` gives them: PENSTOCK_KAFKA_BROKERS with the
// address of a running broker, and Java for tests that crash one of their own.
// Without it they fail; they never skip.
package integration

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/internal/tools/broker/kafkabroker"
)

// limit bounds each test's talk with a broker.
const limit = 2 * time.Minute

// brokers returns the addresses of the shared broker.
func brokers(t *testing.T) []string {
	t.Helper()
	list := os.Getenv("PENSTOCK_KAFKA_BROKERS")
	if list == "" {
		t.Fatal("PENSTOCK_KAFKA_BROKERS is empty: run these tests by make integration, which starts a broker, or name your own as host:port")
	}
	return strings.Split(list, ",")
}

// dial returns a client of an implementation that is not ours, and a context that bounds its calls.
func dial(t *testing.T, addrs []string, opts ...kgo.Opt) (*kgo.Client, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addrs...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, ctx
}

// createTopic makes a topic that keeps records of any age, and deletes it after the test.
func createTopic(ctx context.Context, t *testing.T, client *kgo.Client, name string, partitions int32) {
	t.Helper()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, partitions, 1, map[string]*string{"retention.ms": kadm.StringPtr("-1")}, name); err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if _, err := admin.DeleteTopic(ctx, name); err != nil {
			t.Errorf("delete topic %s: %v", name, err)
		}
	})
}

// a line is what of a record has to survive a broker.
type line struct {
	Key, Value []byte
	Headers    []kgo.RecordHeader
	Millis     int64
	Offset     int64
}

func lines(records []*kgo.Record) []line {
	out := make([]line, len(records))
	for i, r := range records {
		out[i] = line{r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli(), r.Offset}
	}
	return out
}

// consume reads topic from its start until it has n records.
func consume(t *testing.T, addrs []string, topic string, n int) []*kgo.Record {
	t.Helper()
	client, ctx := dial(t, addrs, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var got []*kgo.Record
	for len(got) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s: %v after %d of %d records", topic, err, len(got), n)
		}
		got = append(got, fetches.Records()...)
	}
	return got
}

// records are a plain one, a tombstone and an empty one, with event times of long ago and out of order.
func records(topic string) []*kgo.Record {
	return []*kgo.Record{
		{Topic: topic, Key: []byte("a"), Value: []byte("1"), Timestamp: time.UnixMilli(2000)},
		{Topic: topic, Key: []byte("b"), Value: nil, Timestamp: time.UnixMilli(1000), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}}},
		{Topic: topic, Key: []byte("c"), Value: []byte{}, Timestamp: time.UnixMilli(3000)},
	}
}

// TestBrokerRoundTrip shows that the broker that make integration starts works as the other tests expect.
func TestBrokerRoundTrip(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs)
	const topic = "broker-round-trip"
	createTopic(ctx, t, client, topic, 1)
	sent := records(topic)
	if err := client.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines(sent), lines(consume(t, addrs, topic, len(sent)))); diff != "" {
		t.Errorf("records came back otherwise (-sent +read):\n%s", diff)
	}
}

// TestBrokerRefusesUnknownTopic checks that a misspelt topic is an error in tests, not a new topic.
func TestBrokerRefusesUnknownTopic(t *testing.T) {
	client, ctx := dial(t, brokers(t), kgo.UnknownTopicRetries(1))
	err := client.ProduceSync(ctx, &kgo.Record{Topic: "no-such-topic", Value: []byte("x")}).FirstErr()
	if err == nil || !strings.Contains(err.Error(), "UNKNOWN_TOPIC") {
		t.Errorf("produce to an unknown topic: %v, want UNKNOWN_TOPIC_OR_PARTITION", err)
	}
}

// TestBrokerKillAndRestart crashes a broker and finds what it had acknowledged.
func TestBrokerKillAndRestart(t *testing.T) {
	b, err := kafkabroker.Start(t.Context(), kafkabroker.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	}()
	addrs := []string{b.Addr()}
	const topic = "survives"
	client, ctx := dial(t, addrs)
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	sent := records(topic)
	for _, r := range sent {
		r.Timestamp = time.Now() // retention is on here
	}
	if err := client.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Kill(); err == nil {
		t.Error("a killed broker could be killed again")
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Addr() != addrs[0] {
		t.Errorf("the broker moved from %s to %s", addrs[0], b.Addr())
	}
	got := consume(t, addrs, topic, len(sent))
	if diff := cmp.Diff(lines(sent), lines(got)); diff != "" {
		t.Errorf("records after the crash (-sent +read):\n%s", diff)
	}
}

// TestBrokerStartFails checks that a broker that cannot start says why, from its log.
func TestBrokerStartFails(t *testing.T) {
	_, err := kafkabroker.Start(t.Context(), kafkabroker.Options{Settings: map[string]string{"num.io.threads": "0"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Errorf("start with a bad setting: %v, want an error that shows it", err)
	}
}
