package kafkawire

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// testContext bounds a test, so that a hang is a failure with a place.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func cluster(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	k, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// open connects a Client, with short delays.
func open(t testing.TB, k *kfake.Cluster, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{
		Brokers:            k.ListenAddrs(),
		Backoff:            Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
		UnknownTopicBudget: 100 * time.Millisecond,
		RequestTimeout:     5 * time.Second,
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := Open(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// franz makes a franz-go client: the other implementation that ours is checked against.
func franz(t testing.TB, k *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{kgo.SeedBrokers(k.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)
	c, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func produceSync(t testing.TB, c *kgo.Client, recs ...*kgo.Record) {
	t.Helper()
	if err := c.ProduceSync(testContext(t), recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// seen is a copied record, comparable with ==. Null and empty differ.
type seen struct {
	offset, timestamp int64
	key, value        string
	headers           string
}

func show(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

func copyRecord(r *Record) seen {
	var h bytes.Buffer
	for k, v := range r.Headers.All() {
		fmt.Fprintf(&h, "%s=%s;", k, show(v))
	}
	return seen{r.Offset, r.Timestamp, show(r.Key), show(r.Value), h.String()}
}

// readAll reads a chunk to its end.
func readAll(t testing.TB, r *BatchReader) []seen {
	t.Helper()
	var out []seen
	var rec Record
	for {
		ok, err := r.Next(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, copyRecord(&rec))
	}
}

// built makes a finished batch; the base offset is then set, which the checksum does not cover.
func built(t testing.TB, base int64, meta BatchMeta, codec Compression, recs ...OutRecord) []byte {
	t.Helper()
	var b BatchBuilder
	b.Reset(64 << 20)
	for i := range recs {
		if ok, err := b.Append(&recs[i]); err != nil || !ok {
			t.Fatalf("append: %v %v", ok, err)
		}
	}
	c, err := NewCompressor(codec)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Finish(meta, c)
	if err != nil {
		t.Fatal(err)
	}
	out = bytes.Clone(out)
	rebase(out, base)
	return out
}
