package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/connector/connectortest"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
)

// TestPlaces resolves each Start and Stop on a log of [2,12) with a record a second, and on one of [0,3).
func TestPlaces(t *testing.T) {
	b := broker(t, 2)
	b.produce(slices.Concat(numbered(0, 12), numbered(1, 3))...)
	if err := b.DeleteRecords(topic, 0, 2); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(b.client())
	commit := kadm.Offsets{}
	commit.Add(kadm.Offset{Topic: topic, Partition: 0, At: 4, LeaderEpoch: -1})
	if err := admin.CommitAllOffsets(limited(t), "group", commit); err != nil {
		t.Fatal(err)
	}
	// A transaction that stays open holds the end of what is committed.
	open := b.client(kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, open, record(1, 3000, "open"))

	offsets := func(p0, p1 int64) map[string]map[int32]int64 {
		return map[string]map[int32]int64{topic: {0: p0, 1: p1}}
	}
	at := func(offset, stop int64, first bool) position {
		return position{offset: offset, epoch: -1, stop: stop, first: first}
	}
	for _, c := range []struct {
		name        string
		start       Start
		stop        Stop
		uncommitted bool
		p0, p1      position
	}{
		{"defaults", nil, nil, false, at(2, noStop, true), at(0, noStop, true)},
		{"earliest to the end", Earliest(), AtEnd(), false, at(2, 12, true), at(0, 3, true)},
		{"to the uncommitted end", Earliest(), AtEnd(), true, at(2, 12, true), at(0, 4, true)},
		{"latest", Latest(), Never(), false, at(12, noStop, false), at(3, noStop, false)},
		{"latest uncommitted", Latest(), nil, true, at(12, noStop, false), at(4, noStop, false)},
		{"committed", Committed(), AtEnd(), false, at(4, 12, false), at(0, 3, true)},
		{"between times", AtTime(time.Unix(5, 0)), AtTime(time.Unix(8, 1)), false, at(5, 9, false), at(3, 3, false)},
		{"times before everything", AtTime(time.Unix(-9, 0)), AtTime(time.Unix(0, 0)), false, at(2, 2, false), at(0, 0, false)},
		{"a time past the last record is the end", AtTime(time.Unix(99, 0)), AtTime(time.Unix(99, 0)), false, at(12, 12, false), at(3, 3, false)},
		{"between offsets", AtOffsets(offsets(3, 1)), AtOffsets(offsets(7, 2)), false, at(3, 7, false), at(1, 2, false)},
		{"one offset", AtOffsets(map[string]map[int32]int64{topic: {1: 2}}), nil, false, at(2, noStop, true), at(2, noStop, false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := b.source()
			cfg.Start, cfg.Stop, cfg.ReadUncommitted = c.start, c.stop, c.uncommitted
			if c.start == Committed() {
				cfg.Group = "group"
			}
			want := map[string]position{topic + "/0": c.p0, topic + "/1": c.p1}
			if diff := cmp.Diff(want, list(t, implement(t, cfg)), cmp.AllowUnexported(position{})); diff != "" {
				t.Errorf("splits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBoundedRead reads between two places on every runner.
func TestBoundedRead(t *testing.T) {
	b := broker(t, 2)
	b.produce(slices.Concat(numbered(0, 3000), numbered(1, 50))...)
	cfg := b.source()
	cfg.Start = AtOffsets(map[string]map[int32]int64{topic: {0: 10, 1: 20}})
	cfg.Stop = AtOffsets(map[string]map[int32]int64{topic: {0: 2990, 1: 20}})
	p := pcoll.New("bounded")
	passert.Equals(t, Read(p, cfg), values(numbered(0, 3000))[10:2990]...)
	ptest.Run(t, p)
}

// TestStopWaits reads up to an offset that does not exist yet.
func TestStopWaits(t *testing.T) {
	b := broker(t, 1)
	cfg := b.source()
	cfg.Stop = AtOffsets(map[string]map[int32]int64{topic: {0: 4}})
	p := pcoll.New("waits")
	got := collect(Read(p, cfg))
	job := start(t, p, 1)
	b.produce(numbered(0, 2)...)
	got.until(t, 2)
	b.produce(numbered(0, 9)...)
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := len(got.all()); n != 4 {
		t.Errorf("%d records were read, want 4", n)
	}
}

// TestPlacesThatDoNotExist refuses what no partition of the topic can be.
func TestPlacesThatDoNotExist(t *testing.T) {
	b := broker(t, 2)
	at := func(parts map[int32]int64) Place { return AtOffsets(map[string]map[int32]int64{topic: parts}) }
	for _, c := range []struct {
		name   string
		change func(*Source[string])
		want   string
	}{
		{"start of a partition there is not", func(s *Source[string]) { s.Start = at(map[int32]int64{7: 1}) }, "events/7, which does not exist"},
		{"stop of a partition there is not", func(s *Source[string]) { s.Stop = at(map[int32]int64{0: 0, 1: 0, 2: 0}) }, "events/2, which does not exist"},
		{"stop that is missing", func(s *Source[string]) { s.Stop = at(map[int32]int64{0: 1}) }, "no offset for events/1"},
		{"group without commits", func(s *Source[string]) { s.Start, s.Group = Committed(), "nobody" }, `group "nobody" has committed no offset of events`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := b.source()
			c.change(&cfg)
			if _, err := implement(t, cfg).Splits(limited(t)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

// TestPositionRoundTrip encodes positions and refuses what none is.
func TestPositionRoundTrip(t *testing.T) {
	for _, p := range []position{{}, {offset: 1 << 62, epoch: 1 << 30, stop: 1 << 62, first: true}, {epoch: -1, stop: noStop}} {
		if got, err := decodePosition(p.encode()); err != nil || got != p {
			t.Errorf("%+v came back as %+v, %v", p, got, err)
		}
	}
	whole := position{offset: 300, epoch: 5, stop: 400}.encode()
	for n := range whole {
		if _, err := decodePosition(whole[:n]); err == nil {
			t.Errorf("%x was taken for a position", whole[:n])
		}
	}
	for _, bad := range []string{"\x02\x00\x00\x00", "\x00\x01\x00\x00", "\x00\x00\x03\x00", "\x00\x00\x00\x03", "\x00\x00\x00\x00\x00"} {
		if _, err := decodePosition([]byte(bad)); err == nil {
			t.Errorf("%x was taken for a position", bad)
		}
	}
	src := implement(t, Source[string]{Brokers: []string{"localhost:1"}, Topics: []string{topic}, Decode: String})
	for id, pos := range map[string]connector.Position{"events": whole, "events/x": whole, "events/-1": whole, "/1": whole, "events/1": whole[:1]} {
		if _, err := src.Open(t.Context(), connectortest.Env(func() {}), connector.Split{ID: id}, pos); err == nil {
			t.Errorf("split %q at %x could be opened", id, pos)
		}
	}
}

// TestLaterListing keeps what a run was told first, and lets other runs begin anew.
func TestLaterListing(t *testing.T) {
	b := broker(t, 1)
	b.produce(numbered(0, 5)...)
	cfg := b.source()
	cfg.Start, cfg.Stop = Latest(), nil
	s := implement(t, cfg)
	first, end := context.WithCancel(limited(t))
	defer end()
	of := func(ctx context.Context) map[string]connector.Split {
		splits, err := s.Splits(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]connector.Split{}
		for _, sp := range splits {
			out[sp.ID] = sp
		}
		return out
	}
	before := of(first)
	b.produce(numbered(0, 5)...)
	if res, err := kadm.NewClient(b.client()).CreatePartitions(first, 1, topic); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	b.produce(numbered(1, 3)...)
	after, other := of(first), of(limited(t))
	pos := func(splits map[string]connector.Split, id string) position {
		p, err := decodePosition(splits[id].Start)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if len(before) != 1 || len(after) != 2 || len(other) != 2 {
		t.Fatalf("%d, %d and %d splits, want 1, 2 and 2", len(before), len(after), len(other))
	}
	for _, c := range []struct {
		what string
		got  position
		want int64
	}{
		{"known partition, first listing", pos(before, "events/0"), 5},
		{"known partition, second listing", pos(after, "events/0"), 5},
		{"new partition", pos(after, "events/1"), 0},
		{"known partition, other run", pos(other, "events/0"), 10},
		{"new partition, other run", pos(other, "events/1"), 3},
	} {
		if c.got.offset != c.want {
			t.Errorf("%s: offset %d, want %d", c.what, c.got.offset, c.want)
		}
	}
	end()
	synctestFree := func() bool { s.runs.mu.Lock(); defer s.runs.mu.Unlock(); return len(s.runs.active) == 1 }
	for limit := limited(t); !synctestFree(); {
		if limit.Err() != nil {
			t.Fatal("a run that ended is kept")
		}
	}
}

// TestNotIdle is caught up at the end only: not with unread records, an open transaction, or a broker that is away.
func TestNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 1)
		cfg := b.source()
		cfg.Stop = nil
		x := open(t, implement(t, cfg), topic+"/0", position{epoch: -1, stop: noStop})
		caught := func() bool { return x.Reader.(connector.Idler).CaughtUp() }
		if caught() {
			t.Error("caught up before the broker said anything")
		}
		read := func() []string {
			rows, err := x.rest()
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		read()
		if !caught() {
			t.Error("not caught up with an empty partition")
		}
		b.produce(numbered(0, 3)...)
		synctest.Wait()
		if caught() {
			t.Error("caught up with three records unread")
		}
		if got := read(); len(got) != 3 || !caught() {
			t.Errorf("read %q, caught up %v; want three records and true", got, caught())
		}
		tx := b.client(kgo.TransactionalID("t"))
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, tx, record(0, 1, "in transaction"))
		time.Sleep(time.Second) // of the bubble's clock: several answers
		if rows, st, err := x.once(); err != nil || len(rows) > 0 || st != connector.Waiting || caught() {
			t.Errorf("with an open transaction: rows %q, status %v, error %v, caught up %v", rows, st, err, caught())
		}
		if err := tx.EndTransaction(limited(t), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		if got := read(); len(got) != 1 || !caught() {
			t.Errorf("read %q, caught up %v; want the committed record and true", got, caught())
		}
		b.Close()
		time.Sleep(time.Second) // of the bubble's clock
		if caught() {
			t.Error("caught up although the broker is away")
		}
		time.Sleep(2 * time.Minute) // of the bubble's clock: RetryTimeout is a minute
		if _, _, err := x.once(); err == nil || !strings.Contains(err.Error(), topic+"/0") {
			t.Errorf("error %v, want one that names the partition", err)
		}
	})
}

// once calls Read once.
func (x *tap[T]) once() (rows []T, st connector.Status, err error) {
	b := connector.NewBatch[T](100)
	st, err = x.Read(b)
	return b.Values, st, err
}

// TestUnreachable gives up, in bounded time, with the broker's name.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") }
		began := time.Now()
		_, err := implement(t, Source[string]{Brokers: []string{"broker:9092"}, Topics: []string{topic}, Decode: String, Dial: dial}).Splits(t.Context())
		if err == nil || !strings.Contains(err.Error(), "broker:9092") || !strings.Contains(err.Error(), "no route") {
			t.Errorf("error %v, want one that names the broker and the cause", err)
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("it took %v to give up", d)
		}
		_, err = newSink(Sink[string]{Brokers: []string{"broker:9092"}, Topic: topic, Value: StringValue, Dial: dial}, t.Fatalf).
			Open(t.Context(), connectortest.Env(func() {}))
		if err == nil || !strings.Contains(err.Error(), "broker:9092") || !strings.Contains(err.Error(), topic) {
			t.Errorf("error %v, want one that names broker and topic", err)
		}
	})
}

// TestUnknownTopic names the topic that does not exist, reading and writing.
func TestUnknownTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 1)
		cfg := b.source()
		cfg.Topics = []string{topic, "nowhere"}
		if _, err := implement(t, cfg).Splits(limited(t)); err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("error %v, want one that names the topic", err)
		}
		_, err := newSink(Sink[string]{Brokers: b.ListenAddrs(), Dial: b.dial, Topic: "nowhere", Value: StringValue}, t.Fatalf).
			Open(limited(t), connectortest.Env(func() {}))
		if err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("error %v, want one that names the topic", err)
		}
	})
}

// TestConnectionFailsLater gives a reader the failure of the connection that its worker makes.
func TestConnectionFailsLater(t *testing.T) {
	b := broker(t, 1)
	refuse := false
	cfg := b.source()
	cfg.ConnectTimeout = 50 * time.Millisecond
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if refuse {
			return nil, io.ErrClosedPipe
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	s := implement(t, cfg)
	at := list(t, s)[topic+"/0"]
	refuse = true
	at.stop = 1 // something to read
	x := open(t, s, topic+"/0", at)
	if _, err := x.rest(); err == nil || !strings.Contains(err.Error(), topic+"/0") || !strings.Contains(err.Error(), b.ListenAddrs()[0]) {
		t.Errorf("error %v, want one that names partition and broker", err)
	}
}

// TestTruncated goes on where the histories part, if it may.
func TestTruncated(t *testing.T) {
	cut := &kafkawire.TruncatedError{Topic: topic, Position: 9, LeaderEpoch: 3, EndEpoch: 2, EndOffset: 5}
	b := broker(t, 1)
	b.produce(numbered(0, 7)...)
	for _, policy := range []LostOffsets{FailOnLost, EarliestOnLost} {
		cfg := b.source()
		cfg.OnLostOffsets = policy
		x := open(t, implement(t, cfg), topic+"/0", position{offset: 7, epoch: -1, stop: 100})
		if _, err := x.rest(); err != nil {
			t.Fatal(err)
		}
		r := x.Reader.(*reader[string])
		r.at.offset = 9
		err := r.recover(fmt.Errorf("read: %w", cut))
		if policy == FailOnLost {
			if !errors.Is(err, error(cut)) {
				t.Errorf("error %v, want %v", err, cut)
			}
			continue
		}
		got, _, _ := x.once()
		for len(got) == 0 && err == nil {
			x.wait()
			got, _, err = x.once()
		}
		if want := values(numbered(0, 7))[5:]; err != nil || !slices.Equal(got, want) || x.counts["lostOffsets"] != 4 {
			t.Errorf("read %q, error %v, lostOffsets %d; want %q, nil, 4", got, err, x.counts["lostOffsets"], want)
		}
	}
}
