//go:build unix

package kafkawire

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// BenchmarkFetch is the whole way from the broker's log to records. The CPU time is that of both sides, since the broker is in this process.
func BenchmarkFetch(b *testing.B) {
	for _, codec := range []Compression{None, LZ4, Zstd} {
		b.Run(codec.String(), func(b *testing.B) { benchmarkFetch(b, codec) })
	}
}

func benchmarkFetch(b *testing.B, codec Compression) {
	const perBatch, batches, partitions = 5000, 40, 4
	k := cluster(b, kfake.SeedTopics(partitions, "t"))
	c := open(b, k)
	p := newProducer(b, c, ProducerConfig{Compression: codec})
	for part := range int32(partitions) {
		for i := range perBatch * batches {
			rec := OutRecord{Timestamp: int64(1000 + i), Value: fmt.Appendf(nil,
				`{"ad":%d,"user":%d,"at":%d,"kind":"click","page":"/products/%d/details"}`, i%100, i*7919%10007, 1700000000000+i, i%977)}
			if err := p.Write(context.Background(), TopicPartition{"t", part}, &rec); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := p.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	records := 0
	from := cpuTime(b)
	for b.Loop() {
		f := NewFetcher(c, FetcherConfig{})
		dec := NewDecoder(Limits{})
		for part := range int32(partitions) {
			tp := TopicPartition{"t", part}
			woken := make(chan struct{}, 1)
			s, err := f.Add(tp, Start{0, -1}, func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			r := dec.NewReader(tp, ReadCommitted)
			for r.Position() < perBatch*batches {
				chunk, err := s.Next()
				if err != nil {
					b.Fatal(err)
				}
				if chunk == nil {
					<-woken
					continue
				}
				r.Reset(chunk.FetchOffset, chunk.Records, chunk.Aborted)
				var rec Record
				for {
					ok, err := r.Next(&rec)
					if err != nil {
						b.Fatal(err)
					}
					if !ok {
						break
					}
					records++
				}
				chunk.Release()
			}
		}
		if err := f.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-from).Nanoseconds())/float64(records), "cpu-ns/record")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
