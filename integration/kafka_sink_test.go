//go:build integration

package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/io/kafka"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
)

// TestKafkaRoundTrip writes with each compression; another client and our source read the same.
func TestKafkaRoundTrip(t *testing.T) {
	for codec := kafka.None; codec <= kafka.Zstd; codec++ {
		t.Run(codec.String(), func(t *testing.T) {
			addrs := brokers(t)
			client, ctx := dial(t, addrs)
			topic := lettered(ctx, t, client, 3)
			const n = 2000
			p := pcoll.New("write")
			lines := transforms.Map(transforms.GenerateSequence(p, 0, n), func(i int64) string { return fmt.Sprint("line ", i) })
			kafka.Write(lines, kafka.Sink[string]{Brokers: addrs, Topic: topic, Compression: codec,
				Key:       func(s string) []byte { return []byte(s[len(s)-1:]) },
				Headers:   func(s string) []kafka.Header { return []kafka.Header{{Name: "line", Value: []byte(s)}, {Name: "none"}} },
				Timestamp: func(s string) time.Time { return time.UnixMilli(int64(len(s))) },
				Value: func(s string) ([]byte, error) {
					switch s {
					case "line 0":
						return nil, nil
					case "line 1":
						return []byte{}, nil
					}
					return []byte(s), nil
				}})
			if _, err := local.Run(ctx, p, local.Workers(2)); err != nil {
				t.Fatal(err)
			}
			var want []string
			of := make(map[string]int32)
			for _, r := range consume(t, addrs, topic, n) {
				line := string(r.Headers[0].Value)
				want = append(want, line)
				if p, ok := of[string(r.Key)]; ok && p != r.Partition {
					t.Errorf("key %s is in partitions %d and %d", r.Key, p, r.Partition)
				}
				of[string(r.Key)] = r.Partition
				value := []byte(line)
				switch line {
				case "line 0":
					value = nil
				case "line 1":
					value = []byte{}
				}
				got := fmt.Sprintf("%#v %d %v", r.Value, r.Timestamp.UnixMilli(), r.Headers[1].Value == nil)
				if got != fmt.Sprintf("%#v %d true", value, len(line)) {
					t.Errorf("%s came back as %s", line, got)
				}
			}
			p = pcoll.New("read")
			read := kafka.Read(p, kafka.Source[kafka.Message[string]]{
				Brokers: addrs, Topics: []string{topic}, Decode: kafka.MessageOf(kafka.String), Stop: kafka.AtEnd()})
			passert.Equals(t, transforms.Map(read, func(m kafka.Message[string]) string { return string(m.Headers[0].Value) }), want...)
			ptest.Run(t, p)
		})
	}
}

// TestKafkaRefusesFuture names the record that the broker refuses for its timestamp.
func TestKafkaRefusesFuture(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs)
	topic := lettered(ctx, t, client, 1)
	p := pcoll.New("future")
	kafka.Write(transforms.Create(p, "now", "tomorrow"), kafka.Sink[string]{Brokers: addrs, Topic: topic, Value: kafka.StringValue, Linger: time.Minute,
		Key: func(s string) []byte { return []byte(s) },
		Timestamp: func(s string) time.Time {
			if s == "tomorrow" {
				return time.Now().Add(24 * time.Hour)
			}
			return time.Now()
		}})
	_, err := local.Run(ctx, p, local.Workers(1))
	for _, want := range []string{topic + "/0", "tomorrow", "message.timestamp.after.max.ms"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

// TestF48Copy copies tombstones and empty values through a pipeline.
func TestF48Copy(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs)
	from, to := lettered(ctx, t, client, 1), "F48-copy"
	createTopic(ctx, t, client, to, 1)
	sent := records(from)
	send(ctx, t, client, sent...)
	type message = kafka.Message[[]byte]
	p := pcoll.New("copy")
	kafka.Write(kafka.Read(p, kafka.Source[message]{Brokers: addrs, Topics: []string{from}, Decode: kafka.MessageOf(kafka.Bytes), Stop: kafka.AtEnd()}),
		kafka.Sink[message]{Brokers: addrs, Topic: to, Value: kafka.MessageValue(kafka.BytesValue),
			Key:       func(m message) []byte { return m.Key },
			Headers:   func(m message) []kafka.Header { return m.Headers },
			Timestamp: func(m message) time.Time { return m.Timestamp }})
	if _, err := local.Run(ctx, p, local.Workers(1)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines(sent), lines(consume(t, addrs, to, len(sent)))); diff != "" {
		t.Errorf("copied (-want +got):\n%s", diff)
	}
}

// TestKafkaSinkSurvivesCrash kills the broker while a pipeline writes: nothing is lost, and each partition keeps its order.
func TestKafkaSinkSurvivesCrash(t *testing.T) {
	b := crashing(t)
	addrs := []string{b.Addr()}
	client, ctx := dial(t, addrs)
	const n, topic = 60_000, "crash"
	createTopic(ctx, t, client, topic, 3)
	p := pcoll.New("write")
	g := newGate()
	nums := transforms.Map(transforms.GenerateSequence(p, 0, n), func(i int64) int64 { g.pass(n / 2); return i })
	kafka.Write(nums, kafka.Sink[int64]{Brokers: addrs, Topic: topic, MaxBufferedBytes: 256 << 10, BatchBytes: 16 << 10,
		Value:     func(i int64) ([]byte, error) { return []byte(strconv.FormatInt(i, 10)), nil },
		Partition: func(i int64, n int) int { return int(i) % n }})
	job, err := local.Start(ctx, p, local.Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	<-g.reached
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	close(g.open) // it goes on writing while the broker is away
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	got := &seen{come: make(chan struct{}, 1)}
	last := map[int32]int{0: -1, 1: -1, 2: -1}
	for _, r := range consume(t, addrs, topic, n) {
		v, err := strconv.Atoi(string(r.Value))
		if err != nil {
			t.Fatal(err)
		}
		if v <= last[r.Partition] {
			t.Fatalf("partition %d has %d behind %d", r.Partition, v, last[r.Partition])
		}
		last[r.Partition] = v
		got.add(v)
	}
	got.once(t, n)
	if offsets := slices.Sorted(slices.Values([]int{last[0], last[1], last[2]})); !slices.Equal(offsets, []int{n - 3, n - 2, n - 1}) {
		t.Errorf("the partitions end with %v", offsets)
	}
}
