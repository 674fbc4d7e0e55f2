package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/connector/connectortest"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
)

const topic = "events"

// a fakeBroker is a broker in this process, and how to reach it.
type fakeBroker struct {
	*kfake.Cluster
	t    *testing.T
	dial Dial // nil: over the loopback interface
}

// broker starts a broker with one topic.
func broker(t *testing.T, partitions int32, opts ...kfake.Opt) *fakeBroker {
	t.Helper()
	b := &fakeBroker{t: t}
	b.start(partitions, opts...)
	return b
}

// virtual starts a broker on a network without sockets, for synctest.
func virtual(t *testing.T, partitions int32, opts ...kfake.Opt) *fakeBroker {
	t.Helper()
	network := new(kfake.VirtualNetwork)
	b := &fakeBroker{t: t, dial: network.DialContext}
	b.start(partitions, append(opts, kfake.ListenFn(network.Listen), kfake.Ports(9092))...)
	return b
}

func (b *fakeBroker) start(partitions int32, opts ...kfake.Opt) {
	b.t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic)}, opts...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Cluster = c
	b.t.Cleanup(c.Close)
}

// limited bounds a test's talk with a broker, so that a hang is a failure with a place.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// client is one of another implementation than ours.
func (b *fakeBroker) client(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	opts = append([]kgo.Opt{kgo.SeedBrokers(b.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)
	if b.dial != nil {
		opts = append(opts, kgo.Dialer(b.dial))
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// produce writes records, in order, and returns when they are stored.
func (b *fakeBroker) produce(records ...*kgo.Record) {
	b.t.Helper()
	produce(b.t, b.client(), records...)
}

func produce(t *testing.T, c *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := c.ProduceSync(limited(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// record is a record of a partition; its timestamp is ms after 1970.
func record(partition int32, ms int64, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Timestamp: time.UnixMilli(ms), Value: []byte(value)}
}

// numbered are n records of a partition, a second apart from 1970 on: "p0-0", "p0-1", …
func numbered(partition int32, n int) (out []*kgo.Record) {
	for i := range n {
		out = append(out, record(partition, int64(i)*1000, fmt.Sprintf("p%d-%d", partition, i)))
	}
	return out
}

func values(records []*kgo.Record) (out []string) {
	for _, r := range records {
		out = append(out, string(r.Value))
	}
	return out
}

// source of strings at b, to be changed.
func (b *fakeBroker) source() Source[string] {
	return Source[string]{Brokers: b.ListenAddrs(), Dial: b.dial, Topics: []string{topic}, Decode: String, Stop: AtEnd()}
}

// implement returns the connector.Source of a configuration without mistakes.
func implement[T any](t *testing.T, cfg Source[T]) *source[T] {
	t.Helper()
	return newSource(cfg, func(format string, args ...any) { t.Helper(); t.Fatal(fmt.Errorf(format, args...)) })
}

// list lists the splits, by ID, with their starts decoded.
func list[T any](t *testing.T, s *source[T]) map[string]position {
	t.Helper()
	splits, err := s.Splits(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]position{}
	for _, sp := range splits {
		if out[sp.ID], err = decodePosition(sp.Start); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// a tap is an open reader, its counters and what wakes it.
type tap[T any] struct {
	connector.Reader[T]
	t      *testing.T
	counts map[string]int64
	wake   chan struct{}
}

func open[T any](t *testing.T, s *source[T], id string, at position) *tap[T] {
	t.Helper()
	x := &tap[T]{t: t, counts: map[string]int64{}, wake: make(chan struct{}, 1)}
	env := connectortest.Env(func() {
		select {
		case x.wake <- struct{}{}:
		default:
		}
	})
	env.Count = func(name string, n int64) { x.counts[name] += n }
	r, err := s.Open(t.Context(), env, connector.Split{ID: id}, at.encode())
	if err != nil {
		t.Fatal(err)
	}
	x.Reader = r
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return x
}

// wait waits to be woken.
func (x *tap[T]) wait() {
	x.t.Helper()
	select {
	case <-x.wake:
	case <-time.After(time.Minute):
		x.t.Fatal("the reader did not call Wake for a minute")
	}
}

// rest reads until the end, an error, or, for an endless reader, until it is caught up.
func (x *tap[T]) rest() (rows []T, err error) {
	x.t.Helper()
	b := connector.NewBatch[T](100)
	for {
		b.Reset()
		st, err := x.Read(b)
		rows = append(rows, b.Values...)
		switch {
		case err != nil:
			return rows, err
		case st == connector.Ended:
			return rows, nil
		case st == connector.Waiting && x.Reader.(connector.Idler).CaughtUp():
			return rows, nil
		case st == connector.Waiting:
			x.wait()
		}
	}
}

func (x *tap[T]) position() position {
	x.t.Helper()
	p, err := decodePosition(x.Position())
	if err != nil {
		x.t.Fatal(err)
	}
	return p
}

// a bag collects elements from the workers of a run.
type bag[T any] struct {
	mu    sync.Mutex
	elems []T
	added chan struct{} // holds something after an element came
}

func collect[T any](in pcoll.PCollection[T]) *bag[T] {
	b := &bag[T]{added: make(chan struct{}, 1)}
	transforms.ForEach(in, func(_ *pcoll.Context, v T) error {
		b.add(v)
		return nil
	})
	return b
}

func (b *bag[T]) add(v T) {
	b.mu.Lock()
	b.elems = append(b.elems, v)
	b.mu.Unlock()
	select {
	case b.added <- struct{}{}:
	default:
	}
}

func (b *bag[T]) all() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.elems)
}

// until waits until there are n elements.
func (b *bag[T]) until(t *testing.T, n int) []T {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		if all := b.all(); len(all) >= n {
			return all
		}
		select {
		case <-b.added:
		case <-limit:
			t.Fatalf("%d elements came, want %d: %v", len(b.all()), n, b.all())
		}
	}
}

// start runs p on the local runner, and cancels the run at the test's end.
func start(t *testing.T, p *pcoll.Pipeline, workers int) *local.Job {
	t.Helper()
	job, err := local.Start(t.Context(), p, local.Workers(workers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		job.Cancel()
		job.Wait()
	})
	return job
}

// selfSigned makes a certificate of the loopback interface, and what trusts it.
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
