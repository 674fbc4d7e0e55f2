package kafkawire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func newProducer(t testing.TB, c *Client, cfg ProducerConfig) *Producer {
	t.Helper()
	p, err := NewProducer(testContext(t), c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t testing.TB, p *Producer, tp TopicPartition, recs ...OutRecord) {
	t.Helper()
	for i := range recs {
		if err := p.Write(testContext(t), tp, &recs[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// consume reads n records of a topic with franz-go.
func consume(t testing.TB, k *kfake.Cluster, topic string, n int) map[int32][]seen {
	t.Helper()
	kc := franz(t, k, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	ctx := testContext(t)
	out := map[int32][]seen{}
	for got := 0; got < n; {
		fetches := kc.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", got, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			rec := Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			s := copyRecord(&rec)
			for _, h := range r.Headers {
				s.headers += fmt.Sprintf("%s=%s;", h.Key, show(h.Value))
			}
			out[r.Partition] = append(out[r.Partition], s)
			got++
		})
	}
	return out
}

// TestProduceToFranz: franz-go reads what we wrote, all codecs, null and empty, headers, several brokers.
func TestProduceToFranz(t *testing.T) {
	for _, codec := range allCodecs {
		t.Run(codec.String(), func(t *testing.T) {
			k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(5, "t"))
			p := newProducer(t, open(t, k), ProducerConfig{Compression: codec, MaxBatchBytes: 5000})
			want := map[int32][]seen{}
			const n = 3000
			for i := range n {
				part := int32(i % 5)
				r := OutRecord{Timestamp: int64(5000 - i), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i)}
				headers := ""
				switch i % 3 {
				case 0:
					r.Key, r.Headers = nil, []Header{{"a", []byte("b")}, {"n", nil}}
					headers = `a="b";n=null;`
				case 1:
					r.Value, r.Key = nil, []byte{}
				}
				write(t, p, TopicPartition{"t", part}, r)
				s := copyRecord(&Record{Offset: int64(len(want[part])), Timestamp: r.Timestamp, Key: r.Key, Value: r.Value})
				s.headers = headers
				want[part] = append(want[part], s)
			}
			if err := p.Close(testContext(t)); err != nil {
				t.Fatal(err)
			}
			if p.Acked() != n {
				t.Errorf("%d records acknowledged", p.Acked())
			}
			if diff := cmp.Diff(want, consume(t, k, "t", n), cmp.AllowUnexported(seen{})); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// TestProduceSurvivesFailures: every answer that a retry mends, connections that break before and after the broker has stored the batch, and
// a leader that moves. Each record is there once, in order.
func TestProduceSurvivesFailures(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	p := newProducer(t, open(t, k), ProducerConfig{Linger: -1})
	ctx, tp := testContext(t), TopicPartition{"t", 0}
	n := 0
	flush := func() {
		t.Helper()
		for range 3 {
			write(t, p, tp, OutRecord{Value: fmt.Append(nil, n)})
			n++
		}
		if err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	for _, e := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.NotEnoughReplicas, kerr.UnknownTopicOrPartition, kerr.UnknownServerError,
		kerr.CorruptMessage, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, // the last two are answered after the append
	} {
		h := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: e, Count: 2})
		flush()
		if h.Hits() != 2 {
			t.Errorf("%v: %d attempts were refused", e, h.Hits())
		}
	}
	for _, lose := range []func(){
		func() { // the request is lost
			k.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
				return nil, errors.New("connection breaks"), true
			})
		},
		func() { // the answer says that it is a duplicate
			k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.RequestTimedOut})
			k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.DuplicateSequenceNumber, When: func(kmsg.Request) bool { return true }})
		},
		func() {
			if err := k.MoveTopicPartition("t", 0, (k.LeaderFor("t", 0)+1)%3); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: kerr.LeaderNotAvailable, Count: 2})
			if err := k.MoveTopicPartition("t", 0, (k.LeaderFor("t", 0)+1)%3); err != nil {
				t.Fatal(err)
			}
		},
	} {
		lose()
		flush()
	}
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	got := consume(t, k, "t", n)[0]
	for i, s := range got {
		if s.value != fmt.Sprintf("%q", fmt.Sprint(i)) || s.offset != int64(i) {
			t.Fatalf("offset %d holds %s, want %d", s.offset, s.value, i)
		}
	}
	if len(got) != n || k.PartitionInfo("t", 0).HighWatermark != int64(n) {
		t.Fatalf("%d records, high watermark %d, want %d", len(got), k.PartitionInfo("t", 0).HighWatermark, n)
	}
}

// TestProduceOneInFlight: no partition has two requests at the broker at a time, and sequences go on across batches.
func TestProduceOneInFlight(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(4, "t"))
	var mu sync.Mutex
	next := map[int32]int32{}
	bad := ""
	k.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		req := r.(*kmsg.ProduceRequest)
		for _, p := range req.Topics[0].Partitions {
			var b kmsg.RecordBatch
			if err := b.ReadFrom(p.Records); err != nil {
				bad = err.Error()
			}
			if b.FirstSequence != next[p.Partition] || req.Acks != -1 || b.ProducerEpoch != 0 {
				bad = fmt.Sprintf("partition %d: sequence %d, want %d; acks %d", p.Partition, b.FirstSequence, next[p.Partition], req.Acks)
			}
			next[p.Partition] += b.NumRecords
		}
		return nil, nil, false
	})
	p := newProducer(t, open(t, k), ProducerConfig{MaxBatchBytes: 500, MaxRequestBytes: 1000, MaxBufferedBytes: 4000})
	var writers sync.WaitGroup
	for part := range int32(4) {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for range 500 {
				if err := p.Write(context.Background(), TopicPartition{"t", part}, &OutRecord{Value: []byte("0123456789")}); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	writers.Wait()
	if err := p.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if bad != "" || len(next) != 4 || next[0] != 500 || next[3] != 500 {
		t.Fatalf("%s; %v", bad, next)
	}
}

// TestRetrySendsTheSameBytes: also when more was written meanwhile.
func TestRetrySendsTheSameBytes(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c := open(t, k)
	p := newProducer(t, c, ProducerConfig{Linger: -1, Compression: Zstd})
	tp := TopicPartition{"t", 0}
	sent := make(chan string, 10)
	tries := 0
	k.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req := r.(*kmsg.ProduceRequest)
		sent <- string(req.Topics[0].Partitions[0].Records)
		if tries++; tries == 3 {
			k.DropControl()
			return nil, nil, false
		}
		k.KeepControl()
		return nil, errors.New("connection breaks"), true
	})
	write(t, p, tp, OutRecord{Value: []byte("first")})
	first := <-sent
	write(t, p, tp, OutRecord{Value: []byte("second")})
	if err := p.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again := <-sent; again != first {
			t.Fatalf("sent %q, then %q", first, again)
		}
	}
	if got := consume(t, k, "t", 2)[0]; got[0].value != `"first"` || got[1].value != `"second"` {
		t.Fatalf("%+v", got)
	}
}

// TestProduceRefused: what no retry mends names the record and ends the producer.
func TestProduceRefused(t *testing.T) {
	ahead := time.Date(2300, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()
	recs := []OutRecord{
		{Timestamp: 1000, Key: []byte("fine"), Value: []byte("x")},
		{Timestamp: ahead, Key: []byte("early bird"), Value: []byte("y")},
		{Timestamp: 1000, Key: []byte("elephant"), Value: make([]byte, 500)},
	}
	for _, c := range []struct {
		err   *kerr.Error
		named int32 // record that the broker names, -1 for none
		want  []string
	}{
		{kerr.InvalidTimestamp, -1, []string{"produce t/0", "INVALID_TIMESTAMP (32)", `"early bird"`, "2300-01-02T03:04:05Z", "message.timestamp.after.max.ms"}},
		{kerr.InvalidTimestamp, 1, []string{`"early bird"`, "says the broker"}},
		{kerr.MessageTooLarge, -1, []string{"MESSAGE_TOO_LARGE (10)", `"elephant"`, "value of 500 bytes", "max.message.bytes"}},
		{kerr.InvalidRecord, 0, []string{"INVALID_RECORD (87)", `"fine"`, "says the broker"}},
		{kerr.OutOfOrderSequenceNumber, -1, []string{"(45)", "producer id", "another instance"}},
		{kerr.ProducerFenced, -1, []string{"(90)", "producer id"}},
		{kerr.TopicAuthorizationFailed, -1, []string{"(29)", "grant this user"}},
	} {
		t.Run(fmt.Sprint(c.err.Message, c.named), func(t *testing.T) {
			k := cluster(t, kfake.SeedTopics(1, "t"))
			attempts := 0
			k.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
				k.KeepControl()
				attempts++
				resp := r.ResponseKind().(*kmsg.ProduceResponse)
				p := kmsg.NewProduceResponseTopicPartition()
				p.ErrorCode = c.err.Code
				if c.named >= 0 {
					says := "says the broker"
					p.ErrorRecords = []kmsg.ProduceResponseTopicPartitionErrorRecord{{RelativeOffset: c.named, ErrorMessage: &says}}
				}
				resp.Topics = []kmsg.ProduceResponseTopic{{Topic: "t", Partitions: []kmsg.ProduceResponseTopicPartition{p}}}
				return resp, nil, true
			})
			p := newProducer(t, open(t, k), ProducerConfig{Compression: LZ4, Linger: time.Minute})
			write(t, p, TopicPartition{"t", 0}, recs...)
			err := p.Flush(testContext(t))
			var refused *ProduceError
			if !errors.As(err, &refused) || !errors.Is(err, Code(c.err.Code)) || refused.Producer != p.ID() {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
			if again := p.Write(testContext(t), TopicPartition{"t", 0}, &recs[0]); again != err {
				t.Errorf("the next write says %v", again)
			}
			if again := p.Close(testContext(t)); again != err {
				t.Errorf("Close says %v", again)
			}
			if attempts != 1 {
				t.Errorf("%d attempts", attempts)
			}
		})
	}
}

func TestProducerGivesUp(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c := open(t, k)
	p := newProducer(t, c, ProducerConfig{RetryBudget: 50 * time.Millisecond})
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	write(t, p, TopicPartition{"t", 0}, OutRecord{Value: []byte("x")})
	if err := p.Flush(testContext(t)); !errors.Is(err, CodeNotEnoughReplicas) || !strings.Contains(err.Error(), "produce t/0: broker 0 (127") {
		t.Errorf("got %v", err)
	}
	p = newProducer(t, c, ProducerConfig{})
	write(t, p, TopicPartition{"nowhere", 0}, OutRecord{Value: []byte("x")})
	if err := p.Close(testContext(t)); !errors.Is(err, CodeUnknownTopic) || !strings.Contains(err.Error(), "produce nowhere/0") {
		t.Errorf("got %v", err)
	}
}

// TestFlushDeadline: the error says what is being retried; the producer goes on.
func TestFlushDeadline(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	p := newProducer(t, open(t, k), ProducerConfig{})
	h := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	write(t, p, TopicPartition{"t", 0}, OutRecord{Value: []byte("x")})
	ctx, cancel := context.WithCancel(testContext(t))
	go func() { // ends with the second attempt: the first one's failure is known then
		defer cancel()
		h.Wait(ctx, 2)
	}()
	err := p.Flush(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 batches not acknowledged (retrying after: kafkawire: produce t/0") {
		t.Errorf("got %v", err)
	}
	h.Remove()
	if err := p.Close(testContext(t)); err != nil || p.Acked() != 1 {
		t.Errorf("got %v, %d acknowledged", err, p.Acked())
	}
	if err := p.Write(testContext(t), TopicPartition{"t", 0}, &OutRecord{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := p.Close(testContext(t)); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestWriteBlocks: backpressure is in bytes and ends with the context.
func TestWriteBlocks(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	p := newProducer(t, open(t, k), ProducerConfig{MaxBufferedBytes: 1000, MaxBatchBytes: 300})
	h := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	ctx, cancel := context.WithCancel(testContext(t))
	go func() {
		defer cancel()
		h.Wait(ctx, 3)
	}()
	n := 0
	var err error
	for err == nil {
		if err = p.Write(ctx, TopicPartition{"t", 0}, &OutRecord{Value: make([]byte, 100)}); err == nil {
			n++
		}
	}
	if !errors.Is(err, context.Canceled) || n == 0 || n > 10 {
		t.Fatalf("%d records written, %v", n, err)
	}
	h.Remove()
	if err := p.Close(testContext(t)); err != nil || p.Acked() != int64(n) {
		t.Fatalf("%d of %d acknowledged, %v", p.Acked(), n, err)
	}
}

// TestTooLargeRecordHarmsNoOther: Write says so, the rest goes out.
func TestTooLargeRecordHarmsNoOther(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	p := newProducer(t, open(t, k), ProducerConfig{MaxBatchBytes: 1000})
	tp := TopicPartition{"t", 0}
	for i := range 3 {
		var tooLarge *RecordTooLargeError
		err := p.Write(testContext(t), tp, &OutRecord{Value: make([]byte, 2000)})
		if !errors.As(err, &tooLarge) || !strings.Contains(err.Error(), "write to t/0") {
			t.Fatalf("got %v", err)
		}
		write(t, p, tp, OutRecord{Value: fmt.Append(nil, i)})
	}
	if err := p.Close(testContext(t)); err != nil || p.Acked() != 3 {
		t.Fatalf("%d acknowledged, %v", p.Acked(), err)
	}
}

func TestNextSequence(t *testing.T) {
	for _, c := range []struct {
		s    int32
		n    int
		want int32
	}{{0, 5, 5}, {math.MaxInt32 - 1, 1, math.MaxInt32}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 1, 5, 3}} {
		if got := nextSequence(c.s, c.n); got != c.want {
			t.Errorf("%d after %d is %d, want %d", c.n, c.s, got, c.want)
		}
	}
}

// TestKeyPartition: franz-go implements the Java clients' partitioner too.
func TestKeyPartition(t *testing.T) {
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for i := range 1000 {
		key := []byte(strings.Repeat("k", i%9) + fmt.Sprint(i*7919))
		if got, want := KeyPartition(key, 17), int32(theirs.Partition(&kgo.Record{Key: key}, 17)); got != want {
			t.Fatalf("key %q: partition %d, want %d", key, got, want)
		}
	}
}

// TestEmptyKeyPartition: an empty key is a key.
func TestEmptyKeyPartition(t *testing.T) {
	if got := murmur2(nil); got != 275646681 {
		t.Errorf("murmur2 of nothing is %d", got)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, codec := range allCodecs {
		b.Run(codec.String(), func(b *testing.B) {
			const n = 5000
			recs := make([]OutRecord, n)
			for i := range recs {
				recs[i] = OutRecord{Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "key-%08d", i*7919%n), Value: fmt.Appendf(nil,
					`{"ad":%d,"user":%d,"at":%d,"kind":"click","page":"/products/%d/details"}`, i%100, i*7919%10007, 1700000000000+i, i%977)}
			}
			c, err := NewCompressor(codec)
			if err != nil {
				b.Fatal(err)
			}
			var builder BatchBuilder
			b.ReportAllocs()
			for b.Loop() {
				builder.Reset(1 << 20)
				for i := range recs {
					if ok, err := builder.Append(&recs[i]); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
				if _, err := builder.Finish(NoProducer, c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}
