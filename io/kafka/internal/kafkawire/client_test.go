package kafkawire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestCodeNames(t *testing.T) {
	for n := int16(-1); int(n) < len(codeNames)-1; n++ {
		want := "NONE"
		if n != 0 {
			want = kerr.TypedErrorForCode(n).Message
		}
		if n == int16(CodeNotLeader) {
			want = "NOT_LEADER_OR_FOLLOWER" // renamed in Kafka 2.6
		}
		if got, _, _ := strings.Cut(Code(n).Error(), " "); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if got := Code(9999).Error(); got != "broker error 9999" {
		t.Error(got)
	}
}

func TestUnreachableBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	addr := c.LocalAddr().String() // nobody listens there, and nobody else can come to
	start := time.Now()
	_, err = Open(testContext(t), Config{
		Brokers: []string{addr}, BootstrapTimeout: 500 * time.Millisecond, Backoff: Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
	})
	if err == nil {
		t.Fatal("opened")
	}
	for _, want := range []string{addr, "connection refused", "check that the address", "TLS (off)", "SASL (off)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestStalledBroker: a broker that accepts and never answers is an error in bounded time.
func TestStalledBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the kernel accepts; nobody reads
	start := time.Now()
	_, err = Open(testContext(t), Config{
		Brokers: []string{l.Addr().String()}, BootstrapTimeout: 300 * time.Millisecond, DialTimeout: 100 * time.Millisecond,
		RequestTimeout: 100 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Fatalf("got %v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestNotKafka: something else listens there.
func TestNotKafka(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // ends when the listener is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	_, err = Open(testContext(t), Config{Brokers: []string{l.Addr().String()}, BootstrapTimeout: 200 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "check that the address is a Kafka listener") {
		t.Fatalf("got %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "no broker addresses"},
		{Config{Brokers: []string{"host"}}, "write host:port"},
		{Config{Brokers: []string{"h:1"}, SASL: &SASL{Mechanism: "GSSAPI"}}, "use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"},
	} {
		if _, err := Open(testContext(t), c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.cfg, err, c.want)
		}
	}
}

// TestOldBroker: the version that is missing is named.
func TestOldBroker(t *testing.T) {
	k := cluster(t, kfake.MaxVersions(kversion.V2_6_0()))
	_, err := Open(testContext(t), Config{Brokers: k.ListenAddrs()})
	if !errors.Is(err, CodeUnsupportedVersion) || !strings.Contains(err.Error(), "Fetch 4 to 11, not 12 (Apache Kafka 2.7)") {
		t.Fatalf("got %v", err)
	}
}

func TestSASL(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			k := cluster(t, kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "user", "secret"), kfake.SeedTopics(2, "t"))
			c := open(t, k, func(cfg *Config) { cfg.SASL = &SASL{mechanism, "user", "secret"} })
			if parts, err := c.Partitions(testContext(t), "t"); err != nil || len(parts["t"]) != 2 {
				t.Fatal(parts, err)
			}
			start := time.Now()
			_, err := Open(testContext(t), Config{
				Brokers: k.ListenAddrs(), SASL: &SASL{mechanism, "user", "wrong"}, BootstrapTimeout: 10 * time.Second,
			})
			if err == nil || !strings.Contains(err.Error(), k.ListenAddrs()[0]) || strings.Contains(err.Error(), "wrong") {
				t.Errorf("wrong password: %v", err)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("a wrong password was retried for %v", d)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	cert, pool := selfSigned(t)
	k := cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}), kfake.SeedTopics(1, "t"))
	c := open(t, k, func(cfg *Config) { cfg.TLS = &tls.Config{RootCAs: pool} })
	if parts, err := c.Partitions(testContext(t), "t"); err != nil || len(parts["t"]) != 1 {
		t.Fatal(parts, err)
	}
	for name, cfg := range map[string]*tls.Config{"TLS (off)": nil, "TLS (on)": {}} {
		_, err := Open(testContext(t), Config{Brokers: k.ListenAddrs(), TLS: cfg, BootstrapTimeout: 300 * time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestUnknownTopic(t *testing.T) {
	c := open(t, cluster(t))
	_, err := c.Partitions(testContext(t), "nowhere")
	if !errors.Is(err, CodeUnknownTopic) || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "create it") {
		t.Fatalf("got %v", err)
	}
	_, err = c.EndOffsets(testContext(t), []TopicPartition{{"nowhere", 4}}, ReadCommitted)
	if !errors.Is(err, CodeUnknownTopic) || !strings.Contains(err.Error(), "nowhere/4") {
		t.Fatalf("got %v", err)
	}
}

func TestCreateTopics(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(3))
	c := open(t, k)
	ctx := testContext(t)
	err := c.CreateTopics(ctx, TopicSpec{Name: "a", Partitions: 7, Configs: map[string]string{"retention.ms": "-1"}}, TopicSpec{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := c.Partitions(ctx, "a", "b")
	if err != nil || len(parts["a"]) != 7 || len(parts["b"]) != 10 {
		t.Fatal(parts, err)
	}
	if v := k.TopicInfo("a").Configs["retention.ms"]; v == nil || *v != "-1" {
		t.Errorf("retention.ms is %v", v)
	}
	err = c.CreateTopics(ctx, TopicSpec{Name: "a"}, TopicSpec{Name: "c", Partitions: 1})
	if !errors.Is(err, CodeTopicExists) || !strings.Contains(err.Error(), "create topic a") {
		t.Errorf("got %v", err)
	}
	if parts, err := c.Partitions(ctx, "c"); err != nil || len(parts["c"]) != 1 {
		t.Error("the topic beside it was not created", err)
	}
}

func TestListOffsets(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "t"))
	c, ctx := open(t, k), testContext(t)
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	kc := franz(t, k)
	for i := range 10 {
		produceSync(t, kc, &kgo.Record{Topic: "t", Partition: 1, Timestamp: at(int64(1000 * i)), Value: []byte("x")})
	}
	if err := k.DeleteRecords("t", 1, 4); err != nil {
		t.Fatal(err)
	}
	tps := []TopicPartition{{"t", 0}, {"t", 1}, {"t", 2}}
	offsets := func(m map[TopicPartition]Offset, err error) (out [3]int64) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for i, tp := range tps {
			out[i] = m[tp].Offset
		}
		return out
	}
	if got := offsets(c.StartOffsets(ctx, tps)); got != [3]int64{0, 4, 0} {
		t.Errorf("start %v", got)
	}
	if got := offsets(c.EndOffsets(ctx, tps, ReadCommitted)); got != [3]int64{0, 10, 0} {
		t.Errorf("end %v", got)
	}
	for ms, want := range map[int64]int64{-5000: 4, 5500: 6, 6000: 6, 9000: 9, 9001: 10, 1 << 40: 10} {
		if got := offsets(c.OffsetsAt(ctx, tps, ms, ReadCommitted)); got != [3]int64{0, want, 0} {
			t.Errorf("at %d: %v, want %d", ms, got, want)
		}
	}
	m, err := c.ListOffsets(ctx, map[TopicPartition]int64{tps[1]: 20_000}, ReadCommitted)
	if err != nil || m[tps[1]].Offset != -1 {
		t.Errorf("beyond the last record: %+v, %v", m, err)
	}
}

// TestEndOffsetsOfOpenTransaction: under read-committed the end is the last stable offset.
func TestEndOffsetsOfOpenTransaction(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c, ctx := open(t, k), testContext(t)
	kc := franz(t, k, kgo.TransactionalID("x"))
	if err := kc.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produceSync(t, kc, &kgo.Record{Topic: "t", Value: []byte("x")})
	tp := TopicPartition{"t", 0}
	for iso, want := range map[Isolation]int64{ReadCommitted: 0, ReadUncommitted: 1} {
		if got, err := c.EndOffsets(ctx, []TopicPartition{tp}, iso); err != nil || got[tp].Offset != want {
			t.Errorf("isolation %d: %+v, %v, want %d", iso, got, err, want)
		}
	}
}

// TestLeaderMoves: the answer comes from the new leader, without waiting for anybody's cache.
func TestLeaderMoves(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	c, ctx := open(t, k), testContext(t)
	tp := TopicPartition{"t", 0}
	for node := range int32(3) {
		if err := k.MoveTopicPartition("t", 0, node); err != nil {
			t.Fatal(err)
		}
		if got, err := c.EndOffsets(ctx, []TopicPartition{tp}, ReadCommitted); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
}

// TestStaleMetadata: the first answers about leaders and the first answer of the leader are wrong; both are asked again.
func TestStaleMetadata(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c, ctx := open(t, k), testContext(t)
	k.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: kerr.LeaderNotAvailable, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.NotLeaderForPartition, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.FencedLeaderEpoch},
	)
	tp := TopicPartition{"t", 0}
	if got, err := c.EndOffsets(ctx, []TopicPartition{tp}, ReadCommitted); err != nil || got[tp].Offset != 0 {
		t.Fatal(got, err)
	}
}

func TestRefusedForGood(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c := open(t, k)
	h := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := c.EndOffsets(testContext(t), []TopicPartition{{"t", 0}}, ReadCommitted)
	if !errors.Is(err, CodeTopicAuthorization) || !strings.Contains(err.Error(), "list offsets t/0: broker 0 (127.0.0.1:") ||
		!strings.Contains(err.Error(), "grant this user") {
		t.Errorf("got %v", err)
	}
	if h.Hits() != 1 {
		t.Errorf("asked %d times", h.Hits())
	}
}

func TestGroupOffsets(t *testing.T) {
	k := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(2, "t", "u"))
	c, ctx := open(t, k), testContext(t)
	tps := []TopicPartition{{"u", 1}, {"t", 0}, {"t", 1}}
	if got, err := c.CommittedOffsets(ctx, "g", tps); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	want := map[TopicPartition]Committed{tps[0]: {Offset: 5, LeaderEpoch: -1}, tps[1]: {Offset: 0, LeaderEpoch: 3, Metadata: "m"}}
	k.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, Err: kerr.CoordinatorNotAvailable},
		kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.NotCoordinator},
		kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.CoordinatorLoadInProgress},
	)
	if err := c.CommitOffsets(ctx, "g", want); err != nil {
		t.Fatal(err)
	}
	got, err := c.CommittedOffsets(ctx, "g", tps)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[tps[0]] != want[tps[0]] || got[tps[1]] != want[tps[1]] {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestClosedClient(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	c := open(t, k)
	blocked := make(chan struct{})
	k.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if len(r.(*kmsg.MetadataRequest).Topics) == 0 {
			k.KeepControl()
			return nil, nil, false
		}
		close(blocked)
		return nil, nil, true // never answered
	})
	done := make(chan error, 1)
	go func() {
		_, err := c.Partitions(context.Background(), "t")
		done <- err
	}()
	<-blocked
	c.Close()
	select {
	case err := <-done:
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	case <-testContext(t).Done():
		t.Fatal("a call under way did not end with Close")
	}
	if _, err := c.Partitions(testContext(t), "t"); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
