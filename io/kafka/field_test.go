package kafka

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// These tests are named for field cases: what went wrong for users of other systems.

// partitionAt is an event: of a partition, at a second.
type partitionAt struct {
	Partition int32
	At        int64 // seconds after 1970
}

func decodePartition(r *Record) (partitionAt, error) {
	return partitionAt{r.Partition, r.Timestamp / 1000}, nil
}

func (e partitionAt) partition() int32 { return e.Partition }

// counted is a pane of a count per partition in windows of 10 seconds.
type counted struct {
	Partition int32
	Window    int64 // its start, in seconds
	N         int64
}

func countPerPartition(in pcoll.PCollection[partitionAt]) *bag[counted] {
	counts := transforms.CountPerKey(transforms.KeyBy(windowing.Into(in, windowing.Fixed(10*time.Second)), partitionAt.partition))
	b := &bag[counted]{added: make(chan struct{}, 1)}
	transforms.ForEach(counts, func(c *pcoll.Context, e pcoll.KV[int32, int64]) error {
		b.add(counted{e.Key, int64(c.Window().Start) / 1000, e.Value})
		return nil
	}, pcoll.Named("Counts"))
	return b
}

// countAll is countPerPartition without the partition.
func countAll(in pcoll.PCollection[partitionAt]) *bag[counted] {
	counts := transforms.Count(windowing.Into(in, windowing.Fixed(10*time.Second)), transforms.NoDefault())
	b := &bag[counted]{added: make(chan struct{}, 1)}
	transforms.ForEach(counts, func(c *pcoll.Context, n int64) error {
		b.add(counted{0, int64(c.Window().Start) / 1000, n})
		return nil
	}, pcoll.Named("Counts"))
	return b
}

// TestF01SlowSink holds a partition with unread records back while the sink blocks for longer than the idle timeout.
func TestF01SlowSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 2)
		b.produce(slices.Concat(numbered(0, 500), numbered(1, 100))...)
		p := pcoll.New("F01")
		src := Source[partitionAt]{Brokers: b.ListenAddrs(), Dial: b.dial, Topics: []string{topic}, Decode: decodePartition, Idle: time.Second, Stop: AtEnd()}
		events := Read(p, src)
		got := countPerPartition(events)
		blocked := false
		transforms.ForEach(events, func(*pcoll.Context, partitionAt) error {
			if !blocked {
				blocked = true
				time.Sleep(3 * time.Second) // of the bubble's clock
			}
			return nil
		}, pcoll.Named("SlowSink"))
		res, err := local.Run(limited(t), p, local.Workers(1))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.all()); n != 50+10 {
			t.Errorf("%d windows, want 60", n)
		}
		for _, c := range got.all() {
			if c.N != 10 {
				t.Errorf("partition %d, window [%d,%d): %d, want 10", c.Partition, c.Window, c.Window+10, c.N)
			}
		}
		if n := res.Dropped(); n != 0 {
			t.Errorf("%d elements were dropped as late", n)
		}
	})
}

// TestF05RecordFarAhead reads a record stamped a day ahead, which must not make later ones late.
func TestF05RecordFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 1)
		base := time.Now().Unix()/10*10 - 100 // so that the clock is at about 105
		times := []int64{100, 101, 102, 86500, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112}
		for _, s := range times {
			b.produce(record(0, (base+s-5)*1000, "x"))
		}
		p := pcoll.New("F05")
		events := Read(p, Source[partitionAt]{Brokers: b.ListenAddrs(), Dial: b.dial, Topics: []string{topic}, Decode: decodePartition,
			EventTime: func(e partitionAt) time.Time { return time.Unix(e.At+5, 0) },
			Disorder:  5 * time.Second, MaxFuture: time.Minute, Stop: AtEnd()}, pcoll.Named("Read"))
		got := countPerPartition(events)
		res, err := local.Run(limited(t), p)
		if err != nil {
			t.Fatal(err)
		}
		want := []counted{{0, base + 100, 10}, {0, base + 110, 3}, {0, base + 86500, 1}}
		if diff := cmp.Diff(want, got.all()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		read, _ := res.Transform("Read")
		if n := read.Internal["futureTimestamps"]; n != 1 || res.Dropped() != 0 {
			t.Errorf("futureTimestamps %d, want 1; dropped %d, want 0", n, res.Dropped())
		}
	})
}

// TestF18OffsetsLost goes on at a position whose records retention has deleted.
func TestF18OffsetsLost(t *testing.T) {
	b := broker(t, 1)
	b.produce(numbered(0, 600)...)
	if err := b.DeleteRecords(topic, 0, 500); err != nil {
		t.Fatal(err)
	}
	at := position{offset: 100, epoch: -1, stop: 600}
	for _, c := range []struct {
		policy    LostOffsets
		want      []string
		lost      int64
		errorSays []string
	}{
		{policy: FailOnLost, errorSays: []string{topic + "/0", "[100,500)", "OnLostOffsets"}},
		{policy: EarliestOnLost, want: values(numbered(0, 600))[500:], lost: 400},
		{policy: LatestOnLost, lost: 500},
	} {
		t.Run(fmt.Sprint("policy ", c.policy), func(t *testing.T) {
			cfg := b.source()
			cfg.OnLostOffsets = c.policy
			x := open(t, implement(t, cfg), topic+"/0", at)
			got, err := x.rest()
			if (err != nil) != (c.errorSays != nil) {
				t.Fatalf("error %v, want one: %v", err, c.errorSays != nil)
			}
			for _, s := range c.errorSays {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("read %d records %.100q, want %d", len(got), got, len(c.want))
			}
			if x.counts["lostOffsets"] != c.lost {
				t.Errorf("lostOffsets %d, want %d", x.counts["lostOffsets"], c.lost)
			}
			var gone *kafkawire.OffsetOutOfRangeError
			if err != nil && !errors.As(err, &gone) {
				t.Errorf("error %T does not hold the range", err)
			}
		})
	}
}

// TestF18EarliestMoves deletes records between listing and reading: nothing was promised but the first record there is.
func TestF18EarliestMoves(t *testing.T) {
	b := broker(t, 1)
	b.produce(numbered(0, 20)...)
	s := implement(t, b.source())
	at := list(t, s)[topic+"/0"]
	if err := b.DeleteRecords(topic, 0, 5); err != nil {
		t.Fatal(err)
	}
	x := open(t, s, topic+"/0", at)
	got, err := x.rest()
	if want := values(numbered(0, 20))[5:]; err != nil || !slices.Equal(got, want) || x.counts["lostOffsets"] != 0 {
		t.Errorf("read %q, error %v, lostOffsets %d; want %q, nil, 0", got, err, x.counts["lostOffsets"], want)
	}
}

// TestF27EndIsMarker ends a bounded read at transaction markers, which are never delivered.
func TestF27EndIsMarker(t *testing.T) {
	b := broker(t, 1)
	b.transaction("c", kgo.TryCommit, numbered(0, 3)...)
	b.transaction("a", kgo.TryAbort, record(0, 0, "aborted-1"), record(0, 0, "aborted-2"))
	s := implement(t, b.source())
	at := list(t, s)[topic+"/0"]
	if at.stop != 7 {
		t.Fatalf("the read is to stop at %d, want 7", at.stop)
	}
	x := open(t, s, topic+"/0", at)
	got, err := x.rest()
	if want := values(numbered(0, 3)); err != nil || !slices.Equal(got, want) {
		t.Errorf("read %q, error %v; want %q", got, err, want)
	}
	if p := x.position(); p.offset != 7 {
		t.Errorf("position %d, want 7", p.offset)
	}

	p := pcoll.New("F27")
	passert.Equals(t, Read(p, b.source()), got...)
	ptest.Run(t, p)
}

// TestF27ReadUncommitted shows what was aborted only to those who ask for it.
func TestF27ReadUncommitted(t *testing.T) {
	b := broker(t, 1)
	b.transaction("a", kgo.TryAbort, numbered(0, 2)...)
	cfg := b.source()
	cfg.ReadUncommitted = true
	p := pcoll.New("uncommitted")
	passert.Equals(t, Read(p, cfg), values(numbered(0, 2))...)
	ptest.Run(t, p)
}

// TestF28EmptyPartitions fires windows although two of three partitions never delivered a record.
func TestF28EmptyPartitions(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("per key, workers ", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { emptyPartitions(t, workers, countPerPartition, 1) })
		})
		t.Run(fmt.Sprint("without key, workers ", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { emptyPartitions(t, workers, countAll, 0) })
		})
	}
}

// emptyPartitions runs the case with one of two ways to count; active is the key of partition 1.
func emptyPartitions(t *testing.T, workers int, count func(pcoll.PCollection[partitionAt]) *bag[counted], active int32) {
	b := virtual(t, 3)
	for _, s := range []int64{1, 5, 12, 25} {
		b.produce(record(0, s*1000, "x"))
	}
	p := pcoll.New("F28")
	src := Source[partitionAt]{Brokers: b.ListenAddrs(), Dial: b.dial, Topics: []string{topic}, Decode: decodePartition, Idle: 2 * time.Second}
	got := count(Read(p, src))
	began := time.Now()
	job := start(t, p, workers)
	got.until(t, 2)
	if d := time.Since(began); d < 2*time.Second || d > 4*time.Second {
		t.Errorf("the first windows fired after %v, want about 2 s", d)
	}
	time.Sleep(10 * time.Second) // of the bubble's clock
	b.produce(record(1, 30_000, "x"), record(1, 40_000, "x"))
	// P1 is active again and holds the watermark, at 40; the others are idle.
	all := got.until(t, 4)
	job.Cancel()
	res, _ := job.Wait()
	want := []counted{{0, 0, 2}, {0, 10, 1}, {0, 20, 1}, {active, 30, 1}}
	slices.SortFunc(all, func(a, b counted) int { return int(a.Window - b.Window) })
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if n := res.Dropped(); n != 0 {
		t.Errorf("%d elements were dropped as late", n)
	}
}

// timed is an element with an event time that may be missing.
type timed struct {
	ID int       `json:"id"`
	At time.Time `json:"at"`
}

func (e timed) time() time.Time { return e.At }

// TestF30NoEventTime rejects a record without event time, with that reason.
func TestF30NoEventTime(t *testing.T) {
	b := broker(t, 1)
	for i, s := range []string{"1970-01-01T00:00:10Z", "1970-01-01T00:00:20Z", "", "1970-01-01T00:00:40Z", "1970-01-01T00:00:50Z"} {
		text := fmt.Sprintf(`{"id":%d,"at":%q}`, i, s)
		if s == "" {
			text = fmt.Sprintf(`{"id":%d}`, i)
		}
		b.produce(record(0, 1000, text))
	}
	src := Source[timed]{Brokers: b.ListenAddrs(), Topics: []string{topic}, Decode: JSON[timed], EventTime: timed.time, Stop: AtEnd()}
	p := pcoll.New("F30")
	rows, rejects := TryRead(p, src, pcoll.Named("Read"))
	counts := transforms.Count(windowing.Into(rows, windowing.Fixed(time.Minute)))
	passert.Windows(t, counts, passert.Holds(passert.Window(time.Unix(0, 0), time.Unix(60, 0)), int64(4)))
	passert.That(t, rejects, func(got []passert.Element[connector.Reject]) error {
		if len(got) != 1 || got[0].Value.Offset != 2 || !strings.Contains(got[0].Value.Reason, "no event time") {
			return fmt.Errorf("rejects %+v, want offset 2 for having no event time", got)
		}
		return nil
	})
	for name, res := range ptest.Run(t, p) {
		if read, _ := res.Transform("Read"); read.Internal["rejected"] != 1 {
			t.Errorf("on %s %d rejects are counted, want 1", name, read.Internal["rejected"])
		}
	}

	p = pcoll.New("F30-fails")
	Read(p, src)
	ptest.Fails(t, p, "topic events, partition 0, offset 2", "no event time", "TryRead")
}

// TestF30NoTimestamp rejects a record whose producer gave no timestamp, where that is the event time.
func TestF30NoTimestamp(t *testing.T) {
	b := broker(t, 1)
	client, err := kafkawire.Open(limited(t), kafkawire.Config{Brokers: b.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := kafkawire.NewProducer(limited(t), client, kafkawire.ProducerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	tp := kafkawire.TopicPartition{Topic: topic}
	if err := producer.Write(limited(t), tp, &kafkawire.OutRecord{Timestamp: -1, Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := producer.Close(limited(t)); err != nil {
		t.Fatal(err)
	}
	p := pcoll.New("no-timestamp")
	Read(p, b.source())
	ptest.Fails(t, p, "offset 0", "no timestamp", "EventTime")
}

// TestF39Undecodable meets a broken record, under both policies.
func TestF39Undecodable(t *testing.T) {
	b := broker(t, 1)
	for i := range 10 {
		r := record(0, int64(i), fmt.Sprintf(`{"id":%d}`, i))
		r.Key, r.Headers = []byte("key"), []kgo.RecordHeader{{Key: "h", Value: []byte("v")}, {Key: "null"}}
		if i == 5 {
			r.Value = []byte(`{"id":5`)
		}
		b.produce(r)
	}
	src := Source[timed]{Brokers: b.ListenAddrs(), Topics: []string{topic}, Decode: JSON[timed], Stop: AtEnd()}
	p := pcoll.New("F39-fail")
	Read(p, src)
	ptest.Fails(t, p, "kafka.Read", "topic events, partition 0, offset 5", "JSON")

	p = pcoll.New("F39-dead-letter")
	rows, rejects := TryRead(p, src)
	passert.Equals(t, transforms.Map(rows, func(e timed) int { return e.ID }), 0, 1, 2, 3, 4, 6, 7, 8, 9)
	passert.That(t, rejects, func(got []passert.Element[connector.Reject]) error {
		if len(got) != 1 {
			return fmt.Errorf("%d rejects, want 1", len(got))
		}
		r := got[0].Value
		if !strings.Contains(r.Reason, "JSON") {
			t.Errorf("reason %q does not say that it was no JSON", r.Reason)
		}
		r.Reason = ""
		want := connector.Reject{Source: "topic events, partition 0, offset 5", Topic: topic, Offset: 5, Key: []byte("key"), Value: []byte(`{"id":5`),
			Headers: []Header{{Name: "h", Value: []byte("v")}, {Name: "null"}}, Time: time.UnixMilli(5)}
		if diff := cmp.Diff(want, r); diff != "" {
			return fmt.Errorf("reject (-want +got):\n%s", diff)
		}
		return nil
	})
	ptest.Run(t, p)

	// The position passes the record that was rejected.
	x := open(t, implement(t, src), topic+"/0", position{offset: 0, epoch: -1, stop: 10})
	if _, err := x.rest(); err != nil || x.position().offset != 10 {
		t.Errorf("position %d, error %v; want 10", x.position().offset, err)
	}
}

// TestF45NewPartition reads what was written to a new partition before it was found, although reading starts at the end.
func TestF45NewPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 1)
		b.produce(record(0, 100_000, "before"))
		src := b.source()
		src.Stop, src.Start, src.Discover = nil, Latest(), 10*time.Second
		p := pcoll.New("F45")
		got := collect(Read(p, src))
		job := start(t, p, 2)
		time.Sleep(time.Second) // of the bubble's clock: partitions were listed, and will be at 10 s
		b.produce(record(0, 100_000, "after"))
		got.until(t, 1)
		admin := kadm.NewClient(b.client())
		if res, err := admin.CreatePartitions(limited(t), 1, topic); err != nil || res.Error() != nil {
			t.Fatal(err, res.Error())
		}
		b.produce(numbered(1, 5)...)
		all := got.until(t, 6)
		job.Cancel()
		if _, err := job.Wait(); err == nil {
			t.Error("the cancelled run gave no error")
		}
		slices.Sort(all)
		if want := append([]string{"after"}, values(numbered(1, 5))...); !slices.Equal(all, want) {
			t.Errorf("read %q, want %q", all, want)
		}
	})
}

// TestF48Tombstones keeps null, empty and JSON's null apart.
func TestF48Tombstones(t *testing.T) {
	b := broker(t, 1)
	records := []*kgo.Record{record(0, 1, ""), record(0, 2, ""), record(0, 3, "null"), record(0, 4, `{"x":1}`)}
	for i, r := range records {
		r.Key = []byte{byte('a' + i)}
	}
	records[0].Value = nil
	b.produce(records...)
	type row struct {
		X int `json:"x"`
	}
	src := Source[row]{Brokers: b.ListenAddrs(), Topics: []string{topic}, Decode: JSON[row], Stop: AtEnd()}
	p := pcoll.New("F48")
	rows, rejects := TryRead(p, src)
	passert.Equals(t, rows, row{}, row{1})
	passert.Equals(t, transforms.Map(rejects, func(r connector.Reject) string {
		return fmt.Sprintf("%s null=%v tombstone=%v empty=%v", r.Key, r.Value == nil, strings.Contains(r.Reason, "tombstone"), strings.Contains(r.Reason, "empty"))
	}), "a null=true tombstone=true empty=false", "b null=false tombstone=false empty=true")
	ptest.Run(t, p)

	p = pcoll.New("F48-messages")
	msgs, bad := TryRead(p, Source[Message[row]]{Brokers: b.ListenAddrs(), Topics: []string{topic}, Decode: MessageOf(JSON[row]), Stop: AtEnd()})
	passert.Equals(t, transforms.Map(msgs, func(m Message[row]) string {
		return fmt.Sprintf("%s %v %d at %s/%d/%d %v", m.Key, m.Tombstone, m.Value.X, m.Topic, m.Partition, m.Offset, m.Timestamp.UnixMilli())
	}), "a true 0 at events/0/0 1", "c false 0 at events/0/2 3", "d false 1 at events/0/3 4")
	passert.Equals(t, transforms.Map(bad, func(r connector.Reject) int64 { return r.Offset }), 1)
	ptest.Run(t, p)
}

// TestF48Copy copies a topic: null stays null and empty stays empty.
func TestF48Copy(t *testing.T) {
	b := broker(t, 1)
	const copied = "copy"
	if err := b.CreateTopic(copied, 1, nil); err != nil {
		t.Fatal(err)
	}
	records := []*kgo.Record{record(0, 1, ""), record(0, 2, ""), record(0, 3, "null")}
	records[0].Key, records[0].Value = []byte("a"), nil
	records[1].Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}
	records[2].Key = []byte{}
	b.produce(records...)
	p := pcoll.New("copy")
	msgs := Read(p, Source[Message[[]byte]]{Brokers: b.ListenAddrs(), Topics: []string{topic}, Decode: MessageOf(Bytes), Stop: AtEnd()})
	Write(msgs, Sink[Message[[]byte]]{Brokers: b.ListenAddrs(), Topic: copied, Value: MessageValue(BytesValue),
		Key:       func(m Message[[]byte]) []byte { return m.Key },
		Headers:   func(m Message[[]byte]) []Header { return m.Headers },
		Timestamp: func(m Message[[]byte]) time.Time { return m.Timestamp }})
	if _, err := local.Run(limited(t), p, local.Workers(2)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range b.contents(copied) {
		got = append(got, fmt.Sprintf("%#v %#v %d %v", r.Key, r.Value, r.Timestamp.UnixMilli(), r.Headers))
	}
	var want []string
	for _, r := range records {
		headers := slices.Clone(r.Headers)
		want = append(want, fmt.Sprintf("%#v %#v %d %v", r.Key, r.Value, r.Timestamp.UnixMilli(), headers))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copied (-want +got):\n%s", diff)
	}
}
