//go:build integration

// These tests need a real Apache Kafka; `make integration` starts one and names it in PENSTOCK_KAFKA_BROKERS. They cover what kfake does
// not do: timestamps that the broker sets or refuses, limits of a topic, deletion, compaction, and the exact bytes that a Java broker takes.

package kafkawire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func realBrokers(t testing.TB) []string {
	t.Helper()
	list := os.Getenv("PENSTOCK_KAFKA_BROKERS")
	if list == "" {
		t.Fatal("PENSTOCK_KAFKA_BROKERS is empty: run these tests by make integration, or name your own broker as host:port")
	}
	return strings.Split(list, ",")
}

func openReal(t testing.TB) *Client {
	t.Helper()
	c, err := Open(testContext(t), Config{Brokers: realBrokers(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// newTopic makes a topic of this run.
func newTopic(t testing.TB, c *Client, partitions int32, configs ...string) string {
	t.Helper()
	all := map[string]string{"retention.ms": "-1"}
	for i := 0; i < len(configs); i += 2 {
		all[configs[i]] = configs[i+1]
	}
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "."), time.Now().UnixNano())
	if err := c.CreateTopics(testContext(t), TopicSpec{Name: name, Partitions: partitions, Replicas: 1, Configs: all}); err != nil {
		t.Fatal(err)
	}
	return name
}

func franzReal(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{kgo.SeedBrokers(realBrokers(t)...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)
	kc, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	return kc
}

// TestRealRoundTrip: a Java broker takes our batches in every codec and gives back what was written, over several fetches.
func TestRealRoundTrip(t *testing.T) {
	c := openReal(t)
	for _, codec := range allCodecs {
		t.Run(codec.String(), func(t *testing.T) {
			topic := newTopic(t, c, 3)
			p := newProducer(t, c, ProducerConfig{Compression: codec, MaxBatchBytes: 20_000})
			want := map[TopicPartition][]seen{}
			for i := range 6000 {
				tp := TopicPartition{topic, int32(i % 3)}
				r := OutRecord{Timestamp: int64(100_000 - i), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i)}
				s := seen{}
				switch i % 4 {
				case 0:
					r.Key, r.Headers = nil, []Header{{"a", []byte("b")}, {"n", nil}}
					s.headers = `a="b";n=null;`
				case 1:
					r.Value, r.Key = nil, []byte{}
				}
				write(t, p, tp, r)
				s.offset, s.timestamp, s.key, s.value = int64(len(want[tp])), r.Timestamp, show(r.Key), show(r.Value)
				want[tp] = append(want[tp], s)
			}
			if err := p.Close(testContext(t)); err != nil {
				t.Fatal(err)
			}
			f := newFetcher(t, c, FetcherConfig{Isolation: ReadCommitted, PartitionMaxBytes: 50_000})
			for tp, recs := range want {
				s := read(t, f, tp, 0)
				if diff := cmp.Diff(recs, s.until(2000), cmp.AllowUnexported(seen{})); diff != "" {
					t.Fatal(diff)
				}
				if s.reader.LeaderEpoch() < 0 {
					t.Error("no leader epoch")
				}
				s.await(func() bool { return s.part.State().CaughtUp(2000) })
				// A checkpoint's offset and epoch are taken as a start.
				s.part.Remove()
				again := &source{t: t, woken: make(chan struct{}, 10)}
				var err error
				if again.part, err = f.Add(tp, Start{1500, s.reader.LeaderEpoch()}, func() { again.woken <- struct{}{} }); err != nil {
					t.Fatal(err)
				}
				again.reader = NewDecoder(Limits{}).NewReader(tp, ReadCommitted)
				if got := again.until(2000); len(got) != 500 {
					t.Fatalf("%d records from 1500", len(got))
				}
			}
		})
	}
}

func TestRealLogAppendTime(t *testing.T) {
	c := openReal(t)
	tp := TopicPartition{newTopic(t, c, 1, "message.timestamp.type", "LogAppendTime"), 0}
	for _, codec := range allCodecs {
		p := newProducer(t, c, ProducerConfig{Compression: codec})
		write(t, p, tp, values(10)...)
		if err := p.Close(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFetcher(t, c, FetcherConfig{})
	for _, s := range read(t, f, tp, 0).until(50) {
		if age := time.Since(time.UnixMilli(s.timestamp)); age < -time.Minute || age > time.Hour {
			t.Fatalf("offset %d has timestamp %d", s.offset, s.timestamp)
		}
	}
}

func TestRealTransactions(t *testing.T) {
	c, ctx := openReal(t), testContext(t)
	topic := newTopic(t, c, 1)
	kc := franzReal(t, kgo.TransactionalID(topic))
	want := []string{}
	for i := range 12 {
		if err := kc.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			produceSync(t, kc, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%d.%d", i, j)})
			if i%3 == 0 {
				want = append(want, fmt.Sprintf("\"%d.%d\"", i, j))
			}
		}
		if err := kc.EndTransaction(ctx, i%3 == 0); err != nil {
			t.Fatal(err)
		}
	}
	tp := TopicPartition{topic, 0}
	// A broker answers EndTxn before it has written the markers.
	for stable := int64(0); stable != 12*4; {
		end, err := c.EndOffsets(ctx, []TopicPartition{tp}, ReadCommitted)
		if err != nil || end[tp].Offset > 12*4 {
			t.Fatalf("stable offset %d on the way to %d: %v", end[tp].Offset, 12*4, err)
		}
		stable = end[tp].Offset
	}
	for _, limit := range []int{0, 200} { // at once, and in small chunks
		f := newFetcher(t, c, FetcherConfig{Isolation: ReadCommitted, PartitionMaxBytes: limit})
		s := read(t, f, tp, 0)
		var got []string
		for _, r := range s.until(48) {
			got = append(got, r.value)
		}
		if !slices.Equal(got, want) || s.reader.Position() != 48 {
			t.Errorf("position %d, got %v, want %v", s.reader.Position(), got, want)
		}
		s.await(func() bool { return s.part.State().CaughtUp(48) })
	}
}

func TestRealRetention(t *testing.T) {
	c, ctx := openReal(t), testContext(t)
	tp := TopicPartition{newTopic(t, c, 1), 0}
	p := newProducer(t, c, ProducerConfig{MaxBatchBytes: 1000})
	write(t, p, tp, values(600)...)
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	adm := kadm.NewClient(franzReal(t))
	at := kadm.Offsets{}
	at.Add(kadm.Offset{Topic: tp.Topic, Partition: 0, At: 500, LeaderEpoch: -1})
	if _, err := adm.DeleteRecords(ctx, at); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(t, c, FetcherConfig{})
	s := read(t, f, tp, 100) // field case F18
	var out *OffsetOutOfRangeError
	if err := s.error(); !errors.As(err, &out) || *out != (OffsetOutOfRangeError{tp.Topic, 0, 100, 500, 600}) {
		t.Fatalf("got %v", err)
	}
	if err := s.part.Seek(Start{out.LogStart, -1}); err != nil {
		t.Fatal(err)
	}
	s.reader.Reset(500, nil, nil)
	if got := s.until(600); len(got) != 100 || got[0].offset != 500 {
		t.Fatalf("%d records", len(got))
	}
}

func TestRealRefusals(t *testing.T) {
	c := openReal(t)
	topic := newTopic(t, c, 1, "max.message.bytes", "2000")
	tp := TopicPartition{topic, 0}
	late := time.Now().Add(48 * time.Hour).UnixMilli()
	for name, k := range map[string]struct {
		recs []OutRecord
		code Code
		want string
	}{
		"too far ahead": {[]OutRecord{{Timestamp: 5, Key: []byte("a")}, {Timestamp: late, Key: []byte("b")}}, CodeInvalidTimestamp, `key "b"`},
		"too large":     {[]OutRecord{{Key: []byte("a")}, {Key: []byte("b"), Value: make([]byte, 3000)}}, CodeMessageTooLarge, `key "b"`},
	} {
		p := newProducer(t, c, ProducerConfig{Linger: 50 * time.Millisecond})
		write(t, p, tp, k.recs...)
		if err := p.Close(testContext(t)); !errors.Is(err, k.code) || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	end, err := c.EndOffsets(testContext(t), []TopicPartition{tp}, ReadUncommitted)
	if err != nil || end[tp].Offset != 0 {
		t.Errorf("something was stored: %v, %v", end, err)
	}
}

func TestRealOffsets(t *testing.T) {
	c, ctx := openReal(t), testContext(t)
	topic := newTopic(t, c, 2)
	tps := []TopicPartition{{topic, 0}, {topic, 1}}
	p := newProducer(t, c, ProducerConfig{})
	write(t, p, tps[0], values(10)...)
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]int64{0: 0, 1004: 4, 1009: 9, 1010: 10} {
		got, err := c.OffsetsAt(ctx, tps, at, ReadCommitted)
		if err != nil || got[tps[0]].Offset != want || got[tps[1]].Offset != 0 {
			t.Errorf("at %d: %v, %v", at, got, err)
		}
	}
	if got, err := c.CommittedOffsets(ctx, topic, tps); err != nil || len(got) != 0 {
		t.Errorf("nothing was committed: %v, %v", got, err)
	}
	commit := map[TopicPartition]Committed{tps[0]: {Offset: 7, LeaderEpoch: -1, Metadata: "m"}}
	if err := c.CommitOffsets(ctx, topic, commit); err != nil {
		t.Fatal(err)
	}
	if got, err := c.CommittedOffsets(ctx, topic, tps); err != nil || len(got) != 1 || got[tps[0]] != commit[tps[0]] {
		t.Errorf("got %v, %v", got, err)
	}
	if err := c.CreateTopics(ctx, TopicSpec{Name: topic, Partitions: 1, Replicas: 1}); !errors.Is(err, CodeTopicExists) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Partitions(ctx, topic+"-missing"); !errors.Is(err, CodeUnknownTopic) {
		t.Errorf("got %v", err)
	}
}

// TestRealJavaCodecs: the broker compresses by itself, with the Java libraries, what we sent uncompressed.
func TestRealJavaCodecs(t *testing.T) {
	c := openReal(t)
	for _, codec := range allCodecs[1:] {
		tp := TopicPartition{newTopic(t, c, 1, "compression.type", codec.String()), 0}
		p := newProducer(t, c, ProducerConfig{})
		var recs []OutRecord
		for range 20 {
			recs = append(recs, values(2000)...)
		}
		write(t, p, tp, recs...)
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		f := newFetcher(t, c, FetcherConfig{})
		s := read(t, f, tp, 0)
		raw := s.chunk()
		if got := Compression(raw.Records[22] & attrCompression); got != codec {
			t.Errorf("the broker stored %v, want %v", got, codec)
		}
		s.reader.Reset(raw.FetchOffset, raw.Records, raw.Aborted)
		got := readAll(t, s.reader)
		raw.Release()
		got = append(got, s.until(int64(len(recs)))...)
		if len(got) != len(recs) || got[len(got)-1].value != `"value 1999"` {
			t.Errorf("%v: %d records of %d", codec, len(got), len(recs))
		}
	}
}
