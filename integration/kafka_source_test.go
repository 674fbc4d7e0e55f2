//go:build integration

package integration

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/internal/tools/broker/kafkabroker"
	"github.com/penstock-dev/penstock/io/kafka"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// lettered makes a topic of this test with its own name.
func lettered(ctx context.Context, t *testing.T, client *kgo.Client, partitions int32) string {
	t.Helper()
	name := strings.ReplaceAll(t.Name(), "/", ".")
	createTopic(ctx, t, client, name, partitions)
	return name
}

// numbered are n records in turn over the partitions, with a millisecond of time between them, holding 0 to n-1.
func numbered(topic string, partitions, n int) (out []*kgo.Record) {
	for i := range n {
		out = append(out, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Timestamp: time.UnixMilli(int64(i)), Value: []byte(strconv.Itoa(i))})
	}
	return out
}

func number(r *kafka.Record) (int, error) { return strconv.Atoi(string(r.Value)) }

func send(ctx context.Context, t *testing.T, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func manual() kgo.Opt { return kgo.RecordPartitioner(kgo.ManualPartitioner()) }

// a seen counts how often each number came, from any worker.
type seen struct {
	mu    sync.Mutex
	times map[int]int
	n     atomic.Int64
	come  chan struct{}
}

func (s *seen) add(v int) {
	s.mu.Lock()
	if s.times == nil {
		s.times = map[int]int{}
	}
	s.times[v]++
	s.mu.Unlock()
	s.n.Add(1)
	select {
	case s.come <- struct{}{}:
	default:
	}
}

func watch(in pcoll.PCollection[int], before func(v int)) *seen {
	s := &seen{come: make(chan struct{}, 1)}
	transforms.ForEach(in, func(_ *pcoll.Context, v int) error {
		before(v)
		s.add(v)
		return nil
	})
	return s
}

// until waits until n numbers came.
func (s *seen) until(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for s.n.Load() < int64(n) {
		select {
		case <-s.come:
		case <-ctx.Done():
			t.Fatalf("%d elements came, want %d", s.n.Load(), n)
		}
	}
}

// once checks that each number from 0 to n-1 came exactly once.
func (s *seen) once(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	lost, again := 0, 0
	for i := range n {
		switch c := s.times[i]; {
		case c == 0:
			lost++
		case c > 1:
			again++
		}
	}
	if lost > 0 || again > 0 || len(s.times) != n {
		t.Errorf("of %d numbers %d were lost, %d came more than once, and there are %d different ones", n, lost, again, len(s.times))
	}
}

// TestKafkaReadsOtherClients reads what another client wrote, with each compression.
func TestKafkaReadsOtherClients(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		t.Run(name, func(t *testing.T) {
			addrs := brokers(t)
			client, ctx := dial(t, addrs, manual(), kgo.ProducerBatchCompression(codec))
			topic := lettered(ctx, t, client, 3)
			const n = 3000
			send(ctx, t, client, numbered(topic, 3, n)...)
			p := pcoll.New("read")
			got := watch(kafka.Read(p, kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Stop: kafka.AtEnd()}), func(int) {})
			if _, err := local.Run(ctx, p, local.Workers(2)); err != nil {
				t.Fatal(err)
			}
			got.once(t, n)
		})
	}
}

// TestF27EndIsMarker ends where the log does, at the marker of an aborted transaction.
func TestF27EndIsMarker(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs, manual(), kgo.TransactionalID("F27"))
	topic := lettered(ctx, t, client, 1)
	for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		send(ctx, t, client, numbered(topic, 1, 3-i)...)
		if err := client.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	src := kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Stop: kafka.AtEnd()}
	p := pcoll.New("committed")
	passert.Equals(t, kafka.Read(p, src), 0, 1, 2)
	ptest.Run(t, p)
	src.ReadUncommitted = true
	p = pcoll.New("uncommitted")
	passert.Equals(t, kafka.Read(p, src), 0, 1, 2, 0, 1)
	ptest.Run(t, p)
}

// TestF18OffsetsLost starts at an offset that was deleted.
func TestF18OffsetsLost(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs, manual())
	topic := lettered(ctx, t, client, 1)
	send(ctx, t, client, numbered(topic, 1, 600)...)
	del := kadm.Offsets{}
	del.Add(kadm.Offset{Topic: topic, At: 500})
	if res, err := kadm.NewClient(client).DeleteRecords(ctx, del); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	src := kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Stop: kafka.AtEnd(),
		Start: kafka.AtOffsets(map[string]map[int32]int64{topic: {0: 100}})}
	p := pcoll.New("fail")
	kafka.Read(p, src)
	ptest.Fails(t, p, topic+"/0", "[100,500)", "OnLostOffsets")

	src.OnLostOffsets = kafka.EarliestOnLost
	p = pcoll.New("earliest")
	passert.Equals(t, transforms.Count(kafka.Read(p, src, pcoll.Named("Read"))), int64(100))
	quiet := slog.New(slog.DiscardHandler) // each run warns
	for name, res := range ptest.Run(t, p, ptest.Local(local.Logger(quiet)), ptest.Direct(direct.Logger(quiet))) {
		if read, _ := res.Transform("Read"); read.Internal["lostOffsets"] != 400 {
			t.Errorf("on %s lostOffsets is %d, want 400", name, read.Internal["lostOffsets"])
		}
	}
	src.OnLostOffsets = kafka.LatestOnLost
	p = pcoll.New("latest")
	passert.Empty(t, kafka.Read(p, src))
	ptest.Run(t, p, ptest.Local(local.Logger(quiet)), ptest.Direct(direct.Logger(quiet)))
}

// TestF28EmptyPartitions fires windows although two of three partitions are empty.
func TestF28EmptyPartitions(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs, manual())
	topic := lettered(ctx, t, client, 3)
	at := func(partition int32, s int64) *kgo.Record {
		return &kgo.Record{Topic: topic, Partition: partition, Timestamp: time.Unix(s, 0), Value: []byte("1")}
	}
	send(ctx, t, client, at(0, 1), at(0, 5), at(0, 12), at(0, 25))
	p := pcoll.New("F28")
	events := kafka.Read(p, kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Idle: 300 * time.Millisecond})
	counts := transforms.Count(windowing.Into(events, windowing.Fixed(10*time.Second)), transforms.NoDefault())
	var mu sync.Mutex
	var got []string
	fired := &seen{come: make(chan struct{}, 1)}
	transforms.ForEach(counts, func(c *pcoll.Context, n int64) error {
		mu.Lock()
		got = append(got, fmt.Sprintf("%d: %d", c.Window().Start/1000, n))
		mu.Unlock()
		fired.add(len(got))
		return nil
	}, pcoll.Named("Fired"))
	job, err := local.Start(ctx, p, local.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	fired.until(ctx, t, 2)
	send(ctx, t, client, at(1, 30), at(1, 40))
	fired.until(ctx, t, 4)
	job.Cancel()
	res, _ := job.Wait()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"0: 2", "10: 1", "20: 1", "30: 1"}, got); diff != "" || res.Dropped() != 0 {
		t.Errorf("%d dropped; windows (-want +got):\n%s", res.Dropped(), diff)
	}
}

// TestF45NewPartition reads a partition that is added while the job runs, from its first record.
func TestF45NewPartition(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs, manual())
	topic := lettered(ctx, t, client, 1)
	send(ctx, t, client, &kgo.Record{Topic: topic, Value: []byte("-1")})
	p := pcoll.New("F45")
	got := watch(kafka.Read(p, kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Start: kafka.Latest(),
		Discover: 500 * time.Millisecond}), func(int) {})
	job, err := local.Start(ctx, p, local.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer job.Cancel()
	// Where the end was when the job looked cannot be known from outside: write until it reads.
	for i := 100; got.n.Load() == 0; i++ {
		send(ctx, t, client, &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(i))})
	}
	if res, err := kadm.NewClient(client).CreatePartitions(ctx, 1, topic); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	other, _ := dial(t, addrs, manual()) // knows both partitions
	for i := range 5 {
		send(ctx, t, other, &kgo.Record{Topic: topic, Partition: 1, Value: []byte(strconv.Itoa(i))})
	}
	for all := false; !all; {
		got.mu.Lock()
		all = got.times[0]+got.times[1]+got.times[2]+got.times[3]+got.times[4] == 5
		got.mu.Unlock()
		if !all {
			got.until(ctx, t, int(got.n.Load())+1)
		}
	}
	if got.times[-1] != 0 {
		t.Error("what was there before the start was read")
	}
}

// TestKafkaStarts starts at a group's commits, at a time, and reads the broker's timestamps.
func TestKafkaStarts(t *testing.T) {
	addrs := brokers(t)
	client, ctx := dial(t, addrs, manual())
	topic := lettered(ctx, t, client, 1)
	send(ctx, t, client, numbered(topic, 1, 10)...)
	commit := kadm.Offsets{}
	commit.Add(kadm.Offset{Topic: topic, At: 7, LeaderEpoch: -1})
	group := "group-of-" + topic
	if err := kadm.NewClient(client).CommitAllOffsets(ctx, group, commit); err != nil {
		t.Fatal(err)
	}
	src := kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Stop: kafka.AtEnd(), Start: kafka.Committed(), Group: group}
	p := pcoll.New("committed")
	passert.Equals(t, kafka.Read(p, src), 7, 8, 9)
	ptest.Run(t, p)
	src.Start, src.Stop, src.Group = kafka.AtTime(time.UnixMilli(2)), kafka.AtTime(time.UnixMilli(4)), ""
	p = pcoll.New("times")
	passert.Equals(t, kafka.Read(p, src), 2, 3)
	ptest.Run(t, p)
	src.Start, src.Stop = kafka.AtTime(time.UnixMilli(1000)), kafka.AtEnd()
	p = pcoll.New("late")
	passert.Empty(t, kafka.Read(p, src))
	ptest.Run(t, p)
}

// crashing is a broker of this test's own.
func crashing(t *testing.T) *kafkabroker.Broker {
	t.Helper()
	b, err := kafkabroker.Start(t.Context(), kafkabroker.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func restart(t *testing.T, b *kafkabroker.Broker) {
	t.Helper()
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// gate lets numbers pass up to some point, and holds the others back until it is opened.
type gate struct {
	reached, open chan struct{}
	passed        atomic.Int64
	once          sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

// pass waits, from the n-th call on, for the gate to open.
func (g *gate) pass(n int64) {
	if g.passed.Add(1) >= n {
		g.once.Do(func() { close(g.reached) })
		<-g.open
	}
}

// TestKafkaSourceSurvivesCrash kills the broker while a topic is read: nothing is lost and nothing comes twice.
func TestKafkaSourceSurvivesCrash(t *testing.T) {
	b := crashing(t)
	addrs := []string{b.Addr()}
	client, ctx := dial(t, addrs, manual())
	const n, topic = 60_000, "crash"
	createTopic(ctx, t, client, topic, 3)
	send(ctx, t, client, numbered(topic, 3, n)...)
	p := pcoll.New("read")
	g := newGate()
	got := watch(kafka.Read(p, kafka.Source[int]{Brokers: addrs, Topics: []string{topic}, Decode: number, Stop: kafka.AtEnd(),
		MaxBufferedBytes: 64 << 10}), func(int) { g.pass(n / 4) })
	job, err := local.Start(ctx, p, local.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	<-g.reached
	restart(t, b)
	close(g.open)
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	got.once(t, n)
}
