package kafkawire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// source is a partition with its reader, as a connector would hold it.
type source struct {
	t      testing.TB
	part   *Partition
	reader *BatchReader
	woken  chan struct{}
}

func newFetcher(t testing.TB, c *Client, cfg FetcherConfig) *Fetcher {
	f := NewFetcher(c, cfg)
	t.Cleanup(func() {
		if err := f.Close(testContext(t)); err != nil {
			t.Error(err)
		}
	})
	return f
}

func read(t testing.TB, f *Fetcher, tp TopicPartition, from int64) *source {
	t.Helper()
	s := &source{t: t, woken: make(chan struct{}, 1)}
	var err error
	s.part, err = f.Add(tp, Start{from, -1}, func() {
		select {
		case s.woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.reader = NewDecoder(Limits{}).NewReader(tp, f.cfg.Isolation)
	s.reader.Reset(from, nil, nil)
	return s
}

// await waits for wakes until ok says that it has what it needs.
func (s *source) await(ok func() bool) {
	s.t.Helper()
	ctx := testContext(s.t)
	for !ok() {
		select {
		case <-s.woken:
		case <-ctx.Done():
			s.t.Fatalf("waited in vain: %+v", s.part.State())
		}
	}
}

func (s *source) chunk() *Chunk {
	s.t.Helper()
	var c *Chunk
	s.await(func() bool {
		var err error
		if c, err = s.part.Next(); err != nil {
			s.t.Fatal(err)
		}
		return c != nil
	})
	return c
}

// until reads until the position is at least to.
func (s *source) until(to int64) (out []seen) {
	s.t.Helper()
	for s.reader.Position() < to {
		c := s.chunk()
		s.reader.Reset(c.FetchOffset, c.Records, c.Aborted)
		out = append(out, readAll(s.t, s.reader)...)
		if s.reader.Position() != c.Next {
			s.t.Fatalf("position %d behind a chunk that ends at %d", s.reader.Position(), c.Next)
		}
		c.Release()
	}
	return out
}

func (s *source) error() error {
	s.t.Helper()
	var err error
	s.await(func() bool {
		var c *Chunk
		if c, err = s.part.Next(); c != nil {
			s.t.Fatalf("a chunk from %d to %d instead of an error", c.FetchOffset, c.Next)
		}
		return err != nil
	})
	return err
}

// TestFetchFromFranz reads what franz-go wrote: all codecs, headers, null and empty, several partitions and brokers.
func TestFetchFromFranz(t *testing.T) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(),
		"zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(5, "t", "u"))
			kc := franz(t, k, kgo.ProducerBatchCompression(codec))
			want := map[TopicPartition][]seen{}
			var recs []*kgo.Record
			for i := range 1000 {
				tp := TopicPartition{[]string{"t", "u"}[i%2], int32(i % 5)}
				r := &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Timestamp: time.UnixMilli(int64(10_000 - i)), Value: fmt.Appendf(nil, "value %d", i)}
				switch i % 4 {
				case 0:
					r.Key, r.Headers = []byte("k"), []kgo.RecordHeader{{Key: "h", Value: fmt.Appendf(nil, "%d", i)}, {Key: "n"}}
				case 1:
					r.Key, r.Value = []byte{}, nil
				case 2:
					r.Value = []byte{}
				}
				recs = append(recs, r)
				s := copyRecord(&Record{Offset: int64(len(want[tp])), Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value})
				if r.Headers != nil {
					s.headers = fmt.Sprintf("h=%q;n=null;", fmt.Sprint(i))
				}
				want[tp] = append(want[tp], s)
			}
			produceSync(t, kc, recs...)
			f := newFetcher(t, open(t, k), FetcherConfig{Isolation: ReadCommitted})
			sources := map[TopicPartition]*source{}
			for tp := range want {
				sources[tp] = read(t, f, tp, 0)
			}
			for tp, s := range sources {
				if diff := cmp.Diff(want[tp], s.until(int64(len(want[tp]))), cmp.AllowUnexported(seen{})); diff != "" {
					t.Fatalf("%v: %s", tp, diff)
				}
			}
		})
	}
}

// TestF27TransactionMarkers: the log of field case F27. Three records, and the position is the end all the same.
func TestF27TransactionMarkers(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	kc := franz(t, k, kgo.TransactionalID("x"))
	ctx := testContext(t)
	transaction := func(n int, end kgo.TransactionEndTry) {
		if err := kc.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			produceSync(t, kc, &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "%v %d", end, i)})
		}
		if err := kc.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	transaction(3, kgo.TryCommit)
	transaction(2, kgo.TryAbort)
	c := open(t, k)
	tp := TopicPartition{"t", 0}
	end, err := c.EndOffsets(ctx, []TopicPartition{tp}, ReadCommitted)
	if err != nil || end[tp].Offset != 7 {
		t.Fatal(end, err)
	}
	f := newFetcher(t, c, FetcherConfig{Isolation: ReadCommitted})
	s := read(t, f, tp, 0)
	got := s.until(7)
	if len(got) != 3 || got[2].offset != 2 || got[2].value != `"true 2"` || s.reader.Position() != 7 {
		t.Fatalf("position %d, records %+v", s.reader.Position(), got)
	}
	s.await(func() bool { return s.part.State().CaughtUp(7) })
	all := newFetcher(t, c, FetcherConfig{})
	if got := read(t, all, tp, 0).until(7); len(got) != 5 {
		t.Fatalf("read uncommitted gives %+v", got)
	}
}

// TestOpenTransactionIsNotIdle: nothing can be read, but there is something.
func TestOpenTransactionIsNotIdle(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	kc := franz(t, k, kgo.TransactionalID("x"))
	f := newFetcher(t, open(t, k), FetcherConfig{Isolation: ReadCommitted, MaxWait: 5 * time.Millisecond})
	s := read(t, f, TopicPartition{"t", 0}, 0)
	s.await(func() bool { return s.part.State().CaughtUp(0) })
	if err := kc.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produceSync(t, kc, &kgo.Record{Topic: "t", Value: []byte("x")})
	answered := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	if err := answered.Wait(testContext(t), 3); err != nil { // the second of these was sent, the first answered, with the record in the log
		t.Fatal(err)
	}
	if st := s.part.State(); st.CaughtUp(0) || st.HighWatermark != 1 || st.LastStable != 0 {
		t.Fatalf("open transaction: %+v", st)
	}
	if err := kc.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := s.until(2); len(got) != 1 {
		t.Fatalf("got %+v", got)
	}
	s.await(func() bool { return s.part.State().CaughtUp(2) })
}

// TestCaughtUp: the time without anything unread runs from the first answer that showed the end to the last.
func TestCaughtUp(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(2, "t"))
	kc := franz(t, k)
	f := newFetcher(t, open(t, k), FetcherConfig{MaxWait: time.Millisecond})
	s := read(t, f, TopicPartition{"t", 1}, 0)
	if st := s.part.State(); st.HighWatermark != -1 || st.CaughtUp(0) {
		t.Fatalf("before the first answer: %+v", st)
	}
	s.await(func() bool { return s.part.State().CaughtUp(0) })
	first := s.part.State()
	fetches := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	if err := fetches.Wait(testContext(t), 3); err != nil {
		t.Fatal(err)
	}
	later := s.part.State()
	if later.EndSince != first.EndSince || !later.EndAt.After(first.EndAt) {
		t.Fatalf("the series was broken: %+v then %+v", first, later)
	}
	produceSync(t, kc, &kgo.Record{Topic: "t", Partition: 1, Value: []byte("x")})
	c := s.chunk()
	if st := s.part.State(); st.CaughtUp(0) || !st.EndSince.After(first.EndSince) {
		t.Fatalf("a chunk was not read yet: %+v", st)
	}
	s.reader.Reset(c.FetchOffset, c.Records, c.Aborted)
	readAll(t, s.reader)
	c.Release()
	if !s.part.State().CaughtUp(s.reader.Position()) {
		t.Fatalf("%+v", s.part.State())
	}
}

func TestOffsetOutOfRange(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	kc := franz(t, k)
	for range 20 {
		produceSync(t, kc, &kgo.Record{Topic: "t", Value: []byte("x")})
	}
	if err := k.DeleteRecords("t", 0, 8); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(t, open(t, k), FetcherConfig{})
	s := read(t, f, TopicPartition{"t", 0}, 3)
	err := s.error()
	var out *OffsetOutOfRangeError
	if !errors.As(err, &out) || *out != (OffsetOutOfRangeError{"t", 0, 3, 8, 20}) || out.Lost() != 5 || !errors.Is(err, CodeOffsetOutOfRange) {
		t.Fatalf("got %#v", err)
	}
	if !strings.Contains(err.Error(), "t/0: offsets [3,8) were deleted by retention (the log is [8,20))") {
		t.Errorf("got %v", err)
	}
	if s.part.State().Failing == nil {
		t.Error("the state does not show it")
	}
	if err := s.part.Seek(Start{out.LogStart, -1}); err != nil {
		t.Fatal(err)
	}
	s.reader.Reset(out.LogStart, nil, nil)
	if got := s.until(20); len(got) != 12 || got[0].offset != 8 {
		t.Fatalf("after Seek: %+v", got)
	}
	if err := s.part.Seek(Start{21, -1}); err != nil {
		t.Fatal(err)
	}
	err = s.error()
	if !errors.As(err, &out) || out.Lost() != 0 || !strings.Contains(err.Error(), "position 21 is beyond the end of the log [8,20)") {
		t.Fatalf("beyond the end: %v", err)
	}
	if err := s.part.Seek(Start{-1, -1}); err == nil {
		t.Error("a negative offset was taken")
	}
}

// TestF43ReadAheadInBytes: records of 100 KB, readers that do not read. What is held stays within the budget, and everything arrives.
func TestF43ReadAheadInBytes(t *testing.T) {
	const partitions, records, size, budget = 4, 16, 100_000, 1 << 20
	k := cluster(t, kfake.NumBrokers(2), kfake.SeedTopics(partitions, "t"))
	kc := franz(t, k, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range partitions * records {
		produceSync(t, kc, &kgo.Record{Topic: "t", Partition: int32(i % partitions), Value: make([]byte, size)})
	}
	f := newFetcher(t, open(t, k), FetcherConfig{Budget: budget, MaxWait: time.Millisecond})
	var sources []*source
	for p := range int32(partitions) {
		sources = append(sources, read(t, f, TopicPartition{"t", p}, 0))
	}
	for _, s := range sources { // everybody has something, though nobody reads
		s.await(func() bool { return s.part.State().Held > 0 })
	}
	most := 0
	for i := range partitions * records {
		s := sources[i%partitions]
		c := s.chunk()
		held := f.Held()
		most = max(most, held)
		if held > budget {
			t.Fatalf("%d bytes held, budget %d", held, budget)
		}
		if s.part.State().CaughtUp(s.reader.Position()) {
			t.Fatal("a partition with unread records looks idle")
		}
		s.reader.Reset(c.FetchOffset, c.Records, c.Aborted)
		if n := len(readAll(t, s.reader)); n != 1 {
			t.Fatalf("%d records in a chunk", n)
		}
		c.Release()
		c.Release() // does nothing
	}
	if most < budget/4 {
		t.Errorf("at most %d bytes were read ahead", most)
	}
	if f.Held() != 0 {
		t.Errorf("%d bytes held at the end", f.Held())
	}
}

// TestBatchLargerThanShare: one batch larger than all limits comes all the same.
func TestBatchLargerThanShare(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(3, "t"))
	kc := franz(t, k, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(3) {
		for range 3 {
			produceSync(t, kc, &kgo.Record{Topic: "t", Partition: p, Value: make([]byte, 300_000)})
		}
	}
	f := newFetcher(t, open(t, k), FetcherConfig{Budget: 64 << 10, PartitionMaxBytes: 1000, FetchMaxBytes: 2000, MaxWait: time.Millisecond})
	for p := range int32(3) {
		if got := read(t, f, TopicPartition{"t", p}, 0).until(3); len(got) != 3 {
			t.Fatalf("partition %d: %d records", p, len(got))
		}
	}
}

// TestSlowPartitionDoesNotStopOthers: one partition's chunks are never taken.
func TestSlowPartitionDoesNotStopOthers(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(2, "t"))
	kc := franz(t, k, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range 100 {
		produceSync(t, kc, &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: make([]byte, 10_000)})
	}
	f := newFetcher(t, open(t, k), FetcherConfig{Budget: 100_000})
	slow := read(t, f, TopicPartition{"t", 0}, 0)
	if got := read(t, f, TopicPartition{"t", 1}, 0).until(50); len(got) != 50 {
		t.Fatalf("%d records", len(got))
	}
	if st := slow.part.State(); st.Next == 0 || st.Next >= 50 {
		t.Fatalf("the slow one is at %d", st.Next)
	}
	if got := slow.until(50); len(got) != 50 {
		t.Fatalf("%d records", len(got))
	}
}

func TestFetcherFollowsLeader(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	kc := franz(t, k)
	f := newFetcher(t, open(t, k), FetcherConfig{})
	s := read(t, f, TopicPartition{"t", 0}, 0)
	for i := range 9 {
		if err := k.MoveTopicPartition("t", 0, int32(i%3)); err != nil {
			t.Fatal(err)
		}
		produceSync(t, kc, &kgo.Record{Topic: "t", Value: fmt.Append(nil, i)})
		if got := s.until(int64(i + 1)); len(got) != 1 || got[0].value != fmt.Sprintf("%q", fmt.Sprint(i)) {
			t.Fatalf("move %d: %+v", i, got)
		}
	}
}

// TestFetcherSurvivesFailures: connections that break and every answer that a retry mends.
func TestFetcherSurvivesFailures(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "t"))
	kc := franz(t, k)
	f := newFetcher(t, open(t, k), FetcherConfig{MaxWait: time.Millisecond})
	s := read(t, f, TopicPartition{"t", 0}, 0)
	errs := []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable, kerr.KafkaStorageError,
		kerr.UnknownTopicOrPartition, kerr.ReplicaNotAvailable, kerr.UnknownServerError, kerr.OffsetOutOfRange,
	}
	for i, e := range errs {
		h := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: e, Count: 2})
		if err := h.Wait(testContext(t), 2); err != nil {
			t.Fatal(e, err)
		}
		broken := make(chan struct{})
		k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			close(broken)
			return nil, errors.New("connection breaks"), true
		})
		<-broken
		produceSync(t, kc, &kgo.Record{Topic: "t", Value: fmt.Append(nil, i)})
		if got := s.until(int64(i + 1)); len(got) != 1 {
			t.Fatalf("after %v: %+v", e, got)
		}
	}
	if st := s.part.State(); st.Failing != nil {
		t.Errorf("still failing: %v", st.Failing)
	}
}

// TestFetcherGivesUp: what lasts longer than the budget, or cannot be mended, reaches the reader with place and remedy.
func TestFetcherGivesUp(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t", "secret"))
	f := newFetcher(t, open(t, k), FetcherConfig{RetryBudget: 50 * time.Millisecond, MaxWait: time.Millisecond})
	k.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "secret", Err: kerr.TopicAuthorizationFailed, Count: -1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Err: kerr.KafkaStorageError, Count: -1},
	)
	for _, c := range []struct {
		topic string
		code  Code
		want  string
	}{
		{"secret", CodeTopicAuthorization, "fetch secret/0: broker 0 (127.0.0.1"},
		{"t", CodeStorageError, "fetch t/0: broker 0 (127.0.0.1"},
		{"missing", CodeUnknownTopic, "fetch missing/0"},
	} {
		s := read(t, f, TopicPartition{c.topic, 0}, 0)
		if err := s.error(); !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.topic, err)
		}
		if st := s.part.State(); st.CaughtUp(0) || st.Failing == nil {
			t.Errorf("%s: %+v", c.topic, st)
		}
	}
}

// TestFetcherMalformed: damage in the log is found at its offset, behind what was good.
func TestFetcherMalformed(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	good := built(t, 0, NoProducer, None, values(3)...)
	bad := built(t, 3, NoProducer, None, values(3)...)
	bad[16] = 1
	k.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := r.ResponseKind().(*kmsg.FetchResponse)
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset = 6, 6
		p.RecordBatches = slices.Concat(good, bad)
		resp.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{p}}}
		return resp, nil, true
	})
	f := newFetcher(t, open(t, k), FetcherConfig{})
	s := read(t, f, TopicPartition{"t", 0}, 0)
	if got := s.until(3); len(got) != 3 {
		t.Fatalf("got %+v", got)
	}
	var m *MalformedError
	if err := s.error(); !errors.As(err, &m) || m.Offset != 3 || !strings.Contains(err.Error(), "t/0") {
		t.Fatalf("got %v", err)
	}
}

// TestTruncatedLog: KIP-595's diverging epoch.
func TestTruncatedLog(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	k.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := r.ResponseKind().(*kmsg.FetchResponse)
		p := kmsg.NewFetchResponseTopicPartition()
		if asked := r.(*kmsg.FetchRequest).Topics[0].Partitions[0]; asked.LastFetchedEpoch == 7 && asked.FetchOffset == 50 {
			p.DivergingEpoch = kmsg.FetchResponseTopicPartitionDivergingEpoch{Epoch: 6, EndOffset: 44}
		}
		resp.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{p}}}
		return resp, nil, true
	})
	f := newFetcher(t, open(t, k), FetcherConfig{})
	s := &source{t: t, woken: make(chan struct{}, 1)}
	var err error
	if s.part, err = f.Add(TopicPartition{"t", 0}, Start{50, 7}, func() { s.woken <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	var out *TruncatedError
	if err := s.error(); !errors.As(err, &out) || *out != (TruncatedError{"t", 0, 50, 7, 6, 44}) {
		t.Fatalf("got %v", err)
	}
}

// TestNewPartitionIsFetchedAtOnce: a partition that is added while the broker waits for another's records does not wait with it.
func TestNewPartitionIsFetchedAtOnce(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(2, "t"))
	kc := franz(t, k)
	produceSync(t, kc, &kgo.Record{Topic: "t", Partition: 1, Value: []byte("x")})
	f := newFetcher(t, open(t, k), FetcherConfig{MaxWait: 10 * time.Second})
	for i, p := range []int32{0, 1} {
		s := read(t, f, TopicPartition{"t", p}, 0)
		if got := s.until(int64(i)); len(got) != i {
			t.Fatal(got)
		}
	}
}

func TestFetcherRemoveAndClose(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(2, "t"))
	kc := franz(t, k)
	produceSync(t, kc, &kgo.Record{Topic: "t", Partition: 1, Value: []byte("x")})
	f := newFetcher(t, open(t, k), FetcherConfig{MaxWait: 20 * time.Second})
	idle, s := read(t, f, TopicPartition{"t", 0}, 0), read(t, f, TopicPartition{"t", 1}, 0)
	if _, err := f.Add(TopicPartition{"t", 1}, Start{0, -1}, nil); err == nil || !strings.Contains(err.Error(), "t/1 is being fetched") {
		t.Fatalf("added twice: %v", err)
	}
	if _, err := f.Add(TopicPartition{"t", 5}, Start{Offset: Earliest}, nil); err == nil {
		t.Fatal("a negative offset was taken")
	}
	c := s.chunk()
	s.part.Remove()
	s.part.Remove()
	if _, err := s.part.Next(); !errors.Is(err, ErrClosed) {
		t.Fatalf("after Remove: %v", err)
	}
	if _, err := f.Add(TopicPartition{"t", 1}, Start{0, -1}, nil); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := f.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Close waited %v for a broker", d)
	}
	if err := idle.error(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := idle.part.Seek(Start{0, -1}); !errors.Is(err, ErrClosed) {
		t.Errorf("Seek after Close: %v", err)
	}
	if _, err := f.Add(TopicPartition{"t", 0}, Start{0, -1}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Add after Close: %v", err)
	}
	s.reader.Reset(c.FetchOffset, c.Records, c.Aborted)
	if got := readAll(t, s.reader); len(got) != 1 {
		t.Errorf("a chunk taken before Remove: %+v", got)
	}
	c.Release()
	if f.mem.out != 0 {
		t.Errorf("%d bytes were never given back", f.mem.out)
	}
}

// TestManyPartitions: more partitions than brokers by far, all served.
func TestManyPartitions(t *testing.T) {
	const partitions = 100
	k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(partitions, "t"))
	kc := franz(t, k)
	var recs []*kgo.Record
	for i := range partitions * 20 {
		recs = append(recs, &kgo.Record{Topic: "t", Partition: int32(i % partitions), Value: make([]byte, 1000)})
	}
	produceSync(t, kc, recs...)
	f := newFetcher(t, open(t, k), FetcherConfig{Budget: 1 << 20})
	var sources []*source
	for p := range int32(partitions) {
		sources = append(sources, read(t, f, TopicPartition{"t", p}, 0))
	}
	for _, s := range sources {
		if got := s.until(20); len(got) != 20 {
			t.Fatalf("%v: %d records", s.part.TopicPartition(), len(got))
		}
	}
}

// TestFetchIntoDeadline: a broker that never answers costs the request's time, and every buffer comes back.
func TestFetchIntoDeadline(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c := open(t, k)
	if _, err := c.Metadata(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	c.cfg.RequestTimeout = 50 * time.Millisecond
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, true })
	req := &FetchRequest{MaxBytes: 1000, Partitions: []FetchPartition{{TopicPartition{"t", 0}, 0, -1, -1, 1000}}}
	err := c.FetchInto(context.Background(), req, &FetchResponse{}, newBufferPool(0), Limits{})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "broker 0 (127.0.0.1") ||
		!strings.Contains(err.Error(), "no answer to Fetch in time") {
		t.Fatalf("got %v", err)
	}
}
