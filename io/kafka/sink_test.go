package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/connector/connectortest"
	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
)

// sink of strings at b, to be changed.
func (b *fakeBroker) sink() Sink[string] {
	return Sink[string]{Brokers: b.ListenAddrs(), Dial: b.dial, Topic: topic, Value: StringValue}
}

// a pen is an open writer and its counters.
type pen[T any] struct {
	connector.Writer[T]
	t      *testing.T
	counts map[string]int64
}

func write[T any](t *testing.T, cfg Sink[T]) *pen[T] {
	t.Helper()
	x := &pen[T]{t: t, counts: map[string]int64{}}
	env := connectortest.Env(func() {})
	env.Count = func(name string, n int64) { x.counts[name] += n }
	env.Now = func() connector.Time { return 777_000 }
	w, err := newSink(cfg, func(format string, args ...any) { t.Helper(); t.Fatal(fmt.Errorf(format, args...)) }).Open(limited(t), env)
	if err != nil {
		t.Fatal(err)
	}
	x.Writer = w
	t.Cleanup(func() { w.Close() })
	return x
}

func (x *pen[T]) put(at connector.Time, v T) {
	x.t.Helper()
	if err := x.Write(connector.Element{Time: at}, v); err != nil {
		x.t.Fatal(err)
	}
}

func (x *pen[T]) prepare() {
	x.t.Helper()
	if handle, err := x.Prepare(1); err != nil || handle != nil {
		x.t.Fatalf("Prepare: handle %x, error %v", handle, err)
	}
}

// TestRecordFields writes every part of a record and reads it with another implementation.
func TestRecordFields(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		t.Run(codec.String(), func(t *testing.T) {
			b := broker(t, 1)
			cfg := b.sink()
			cfg.Compression = codec
			cfg.Key = func(s string) []byte {
				if s == "no key" {
					return nil
				}
				return []byte("key of " + s)
			}
			cfg.Headers = func(s string) []Header {
				if s == "no headers" {
					return nil
				}
				return []Header{{Name: "a", Value: []byte(s)}, {Name: "null"}}
			}
			cfg.Timestamp = func(s string) time.Time {
				if s == "no time" {
					return time.Time{}
				}
				return time.Unix(5, 0)
			}
			cfg.Value = func(s string) ([]byte, error) {
				switch s {
				case "tombstone":
					return nil, nil
				case "empty":
					return []byte{}, nil
				}
				return []byte(strings.Repeat(s, 50)), nil
			}
			w := write(t, cfg)
			var want, got []string
			for _, s := range []string{"plain", "no key", "no headers", "no time", "tombstone", "empty"} {
				w.put(42_000, s)
				value, _ := cfg.Value(s)
				ts := cfg.Timestamp(s)
				if s == "no time" {
					ts = time.Unix(42, 0)
				}
				want = append(want, fmt.Sprintf("%#v %#v %v %v", cfg.Key(s), value, cfg.Headers(s), ts.UnixMilli()))
			}
			w.prepare()
			for _, r := range b.contents(topic) {
				var headers []Header
				for _, h := range r.Headers {
					headers = append(headers, Header{Name: h.Key, Value: h.Value})
				}
				got = append(got, fmt.Sprintf("%#v %#v %v %v", r.Key, r.Value, headers, r.Timestamp.UnixMilli()))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if w.counts["writtenBytes"] == 0 {
				t.Error("no bytes are counted")
			}
		})
	}
}

// TestTimestampWithoutTime stamps elements at the ends of time with the clock.
func TestTimestampWithoutTime(t *testing.T) {
	b := broker(t, 1)
	w := write(t, b.sink())
	for _, at := range []connector.Time{connector.MinTime, -1, 9223371950454775, 1 << 62} {
		w.put(at, fmt.Sprint(at))
	}
	w.put(0, "0")
	w.prepare()
	for _, r := range b.contents(topic) {
		want := int64(777_000)
		if string(r.Value) == "0" {
			want = 0
		}
		if r.Timestamp.UnixMilli() != want {
			t.Errorf("an element at %s is stamped %d, want %d", r.Value, r.Timestamp.UnixMilli(), want)
		}
	}
}

// TestPartitions chooses partitions by function, by key as Kafka's Java clients do, and in turn.
func TestPartitions(t *testing.T) {
	const n = 5
	elems := make([]string, 400)
	for i := range elems {
		elems[i] = fmt.Sprint("key-", i)
	}
	key := func(s string) []byte { return []byte(s) }
	placed := func(t *testing.T, change func(*Sink[string])) map[string]int32 {
		b := broker(t, n)
		cfg := b.sink()
		change(&cfg)
		w := write(t, cfg)
		for _, s := range elems {
			w.put(0, s)
		}
		w.prepare()
		out := map[string]int32{}
		for _, r := range b.contents(topic) {
			out[string(r.Value[:min(len(r.Value), 8)])] = r.Partition
		}
		return out
	}
	t.Run("function", func(t *testing.T) {
		got := placed(t, func(s *Sink[string]) { s.Partition = func(v string, n int) int { return len(v) % n } })
		for v, p := range got {
			if want := int32(len(v) % n); p != want {
				t.Errorf("%s is in partition %d, want %d", v, p, want)
			}
		}
	})
	t.Run("key", func(t *testing.T) {
		got := placed(t, func(s *Sink[string]) { s.Key = key })
		java := kgo.StickyKeyPartitioner(nil).ForTopic(topic) // the same hash, written by others
		for _, v := range elems {
			if want := int32(java.Partition(&kgo.Record{Key: key(v)}, n)); got[v] != want {
				t.Errorf("%s is in partition %d, want %d", v, got[v], want)
			}
		}
	})
	t.Run("in turn", func(t *testing.T) {
		got := placed(t, func(s *Sink[string]) {
			s.Value = func(v string) ([]byte, error) { return []byte(fmt.Sprintf("%-8s%1000s", v, "")), nil }
		})
		per := map[int32]int{}
		for _, p := range got {
			per[p]++
		}
		if len(per) != n {
			t.Errorf("records are in partitions %v, want all %d", per, n)
		}
	})
}

// TestWriteRefuses locates what cannot be written.
func TestWriteRefuses(t *testing.T) {
	b := broker(t, 2)
	for _, c := range []struct {
		name   string
		change func(*Sink[string])
		want   []string
	}{
		{"value", func(s *Sink[string]) { s.Value = func(string) ([]byte, error) { return nil, errors.New("no idea") } }, []string{"no idea"}},
		{"partition", func(s *Sink[string]) { s.Partition = func(string, int) int { return 2 } }, []string{"function Partition gives 2", "0 to 1"}},
		{"negative partition", func(s *Sink[string]) { s.Partition = func(string, int) int { return -1 } }, []string{"Partition gives -1"}},
		{"timestamp", func(s *Sink[string]) { s.Timestamp = func(string) time.Time { return time.Unix(-5, 0) } }, []string{"before 1970"}},
		{"size", func(s *Sink[string]) { s.BatchBytes = 70 }, []string{"BatchBytes", "max.message.bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := b.sink()
			cfg.Key = func(s string) []byte { return []byte(s) }
			c.change(&cfg)
			err := write(t, cfg).Write(connector.Element{}, "some element")
			for _, s := range append(c.want, topic, "some element") {
				if err == nil || !strings.Contains(err.Error(), s) {
					t.Errorf("error %v, want one that says %q", err, s)
				}
			}
		})
	}
}

// TestTimestampRefused names the record whose timestamp a broker does not take.
func TestTimestampRefused(t *testing.T) {
	b := broker(t, 1)
	b.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		res := req.ResponseKind().(*kmsg.ProduceResponse)
		res.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: []kmsg.ProduceResponseTopicPartition{{
			ErrorCode: int16(kafkawire.CodeInvalidTimestamp), BaseOffset: -1,
			ErrorRecords: []kmsg.ProduceResponseTopicPartitionErrorRecord{{RelativeOffset: 1}}}}}}
		return res, nil, true
	})
	cfg := b.sink()
	cfg.Key = func(s string) []byte { return []byte(s) }
	cfg.Linger = time.Hour
	p := pcoll.New("refused")
	Write(transforms.Create(p, "good", "future"), cfg, pcoll.Named("Out"))
	_, err := local.Run(limited(t), p, local.Workers(1))
	for _, want := range []string{"Out", topic + "/0", "future", "message.timestamp.after.max.ms"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

// TestFlushDoesNotWait sends what lingers, and returns before it is acknowledged.
func TestFlushDoesNotWait(t *testing.T) {
	b := broker(t, 1)
	reached, answer := make(chan struct{}), make(chan struct{})
	b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.SleepControl(func() {
			close(reached)
			<-answer
		})
		return nil, nil, false
	})
	cfg := b.sink()
	cfg.Linger = time.Hour
	w := write(t, cfg)
	w.put(0, "x")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached: // the broker has it, and did not answer
	case <-limited(t).Done():
		t.Error("the broker was sent nothing")
	}
	close(answer)
	w.prepare()
	if got := values(b.contents(topic)); !slices.Equal(got, []string{"x"}) {
		t.Errorf("the topic holds %q, want x", got)
	}
}

// TestWriteWaits holds an element back while too many bytes are on their way.
func TestWriteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 1)
		slow := func(kmsg.Request) (kmsg.Response, error, bool) {
			b.KeepControl()
			b.SleepControl(func() { time.Sleep(time.Second) }) // of the bubble's clock
			return nil, nil, false
		}
		b.ControlKey(int16(kmsg.Produce), slow)
		cfg := b.sink()
		cfg.MaxBufferedBytes = 10_000
		cfg.BatchBytes = 5000
		w := write(t, cfg)
		began := time.Now()
		for range 20 {
			w.put(0, strings.Repeat("x", 4000))
		}
		if d := time.Since(began); d < 10*time.Second {
			t.Errorf("20 batches were taken in %v although the broker takes a second for each and two may wait", d)
		}
		w.prepare()
		if n := len(b.contents(topic)); n != 20 {
			t.Errorf("the topic holds %d records, want 20", n)
		}
	})
}

// TestBrokerAway fails the run when a broker stays away for longer than DeliveryTimeout.
func TestBrokerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := virtual(t, 1)
		cfg := b.sink()
		cfg.DeliveryTimeout = 30 * time.Second
		w := write(t, cfg)
		b.Close()
		began := time.Now()
		w.put(0, "x")
		_, err := w.Prepare(1)
		if err == nil || !strings.Contains(err.Error(), "localhost:9092") {
			t.Errorf("error %v, want one that names the broker", err)
		}
		if d := time.Since(began); d < 20*time.Second || d > time.Minute {
			t.Errorf("it took %v to give up, want about 30 s", d)
		}
	})
}

// TestTwoWorkersWrite writes each element once, from several workers.
func TestTwoWorkersWrite(t *testing.T) {
	b := broker(t, 3)
	p := pcoll.New("write")
	nums := transforms.Map(transforms.GenerateSequence(p, 0, 5000), func(i int64) string { return fmt.Sprintf("%04d", i) })
	Write(transforms.Reshuffle(nums), b.sink())
	if _, err := local.Run(limited(t), p, local.Workers(2)); err != nil {
		t.Fatal(err)
	}
	got := values(b.contents(topic))
	slices.Sort(got)
	if len(got) != 5000 || len(slices.Compact(got)) != 5000 {
		t.Errorf("the topic holds %d records, %d of them distinct; want 5000", len(got), len(slices.Compact(got)))
	}
}

// TestSecured reads and writes over TLS with SASL, and refuses wrong passwords and certificates.
func TestSecured(t *testing.T) {
	certificate, pool := selfSigned(t)
	for _, mechanism := range []string{Plain, ScramSHA256, ScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			b := &fakeBroker{t: t}
			b.start(1, kfake.EnableSASL(), kfake.Superuser(mechanism, "ann", "secret"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}))
			trust := &tls.Config{RootCAs: pool}
			out := b.sink()
			out.TLS, out.SASL = trust, &SASL{mechanism, "ann", "secret"}
			w := write(t, out)
			w.put(1000, "hidden")
			w.prepare()
			in := b.source()
			in.TLS, in.SASL, in.ConnectTimeout = trust, out.SASL, 3*time.Second
			p := pcoll.New("secured")
			got := collect(Read(p, in))
			if _, err := local.Run(limited(t), p); err != nil {
				t.Fatal(err)
			}
			if all := got.all(); !slices.Equal(all, []string{"hidden"}) {
				t.Errorf("read %q", all)
			}
			for what, change := range map[string]func(*Source[string]){
				"SASL":        func(s *Source[string]) { s.SASL = &SASL{mechanism, "ann", "wrong"} },
				"certificate": func(s *Source[string]) { s.TLS = &tls.Config{} },
			} {
				cfg := in
				change(&cfg)
				_, err := implement(t, cfg).Splits(limited(t))
				if err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "wrong") {
					t.Errorf("error %v, want one that says %s and not the password", err, what)
				}
			}
		})
	}
	if s := fmt.Sprintf("%v %+v %#v", SASL{Plain, "ann", "secret"}, SASL{Plain, "ann", "secret"}, &SASL{Plain, "ann", "secret"}); strings.Contains(s, "secret") {
		t.Errorf("a password is printed: %s", s)
	}
}

// TestMistakes are found when the pipeline is built, all at once and with the place.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Source[string])
		want   []string
	}{
		{"nothing", func(s *Source[string]) { *s = Source[string]{} }, []string{"Brokers is empty", "Topics is empty", "Decode is nil"}},
		{"address", func(s *Source[string]) { s.Brokers = []string{"broker", ":1", "b:"} }, []string{`"broker"; want host:port`, `":1"`, `"b:"`}},
		{"topic", func(s *Source[string]) { s.Topics = []string{"a b", "", ".."} }, []string{`"a b"`, "empty", `".."`}},
		{"twice", func(s *Source[string]) { s.Topics = []string{"a", "a"} }, []string{"twice"}},
		{"group", func(s *Source[string]) { s.Group = "g" }, []string{`Group is "g"`}},
		{"no group", func(s *Source[string]) { s.Start = Committed() }, []string{`Group is ""`}},
		{"disorder", func(s *Source[string]) { s.Disorder = -1 }, []string{"disorder"}},
		{"durations", func(s *Source[string]) { s.RetryTimeout, s.MaxFetchWait, s.ConnectTimeout = -1, -1, -1 },
			[]string{"RetryTimeout", "MaxFetchWait", "ConnectTimeout"}},
		{"bytes", func(s *Source[string]) { s.MaxBufferedBytes = -1 }, []string{"MaxBufferedBytes"}},
		{"policy", func(s *Source[string]) { s.OnLostOffsets = 3 }, []string{"OnLostOffsets is 3"}},
		{"offsets", func(s *Source[string]) {
			s.Start = AtOffsets(map[string]map[int32]int64{"other": {0: 1}, "a": {0: -1}})
			s.Stop = AtOffsets(map[string]map[int32]int64{"a": {-1: 1}})
		}, []string{`Start: AtOffsets names topic "other"`, "offset -1 for partition 0", "partition -1"}},
		{"SASL", func(s *Source[string]) { s.SASL = &SASL{Mechanism: "KERBEROS"} }, []string{`"KERBEROS"`, "no User"}},
		{"client id", func(s *Source[string]) { s.ClientID = strings.Repeat("x", 250) }, []string{"ClientID has 250 bytes"}},
	} {
		t.Run("source "+c.name, func(t *testing.T) {
			p := pcoll.New("mistakes")
			cfg := Source[string]{Brokers: []string{"b:9092"}, Topics: []string{"a"}, Decode: String}
			if c.change(&cfg); p.Err() != nil {
				t.Fatal(p.Err())
			}
			Write(Read(p, cfg), Sink[string]{Brokers: []string{"b:9092"}, Topic: "a", Value: StringValue}) // inert
			says(t, p.Err(), append(c.want, "kafka.Read", "sink_test.go:"))
		})
	}
	for _, c := range []struct {
		name   string
		change func(*Sink[string])
		want   []string
	}{
		{"nothing", func(s *Sink[string]) { *s = Sink[string]{} }, []string{"Brokers is empty", "topic's name is empty", "Value is nil"}},
		{"compression", func(s *Sink[string]) { s.Compression = 9 }, []string{"Compression is 9"}},
		{"limits", func(s *Sink[string]) { s.DeliveryTimeout, s.BatchBytes = -1, -1 }, []string{"DeliveryTimeout", "BatchBytes"}},
	} {
		t.Run("sink "+c.name, func(t *testing.T) {
			p := pcoll.New("mistakes")
			cfg := Sink[string]{Brokers: []string{"b:9092"}, Topic: "a", Value: StringValue}
			c.change(&cfg)
			Write(transforms.Create(p, "x"), cfg)
			says(t, p.Err(), append(c.want, "kafka.Write", "sink_test.go:"))
		})
	}
	good := pcoll.New("good")
	rows := Read(good, Source[string]{Brokers: []string{"b:9092"}, Topics: []string{"a"}, Decode: String})
	Write(rows, Sink[string]{Brokers: []string{"b:9092"}, Topic: "a", Value: StringValue})
	if err := good.Err(); err != nil {
		t.Errorf("a good pipeline: %v", err)
	}
}

func says(t *testing.T, err error, want []string) {
	t.Helper()
	for _, s := range want {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("error %v, want one that says %q", err, s)
		}
	}
}

// TestWriteFails fails the run of every runner when the topic is missing.
func TestWriteFails(t *testing.T) {
	b := broker(t, 1)
	cfg := b.sink()
	cfg.Partition = func(string, int) int { return 7 }
	p := pcoll.New("fails")
	Write(transforms.Create(p, "x"), cfg, pcoll.Named("Out"))
	ptest.Fails(t, p, "Out", "Partition gives 7")
}
