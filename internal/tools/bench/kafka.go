package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/penstock-dev/penstock/io/kafka"
	"github.com/penstock-dev/penstock/pcoll"
)

// The topic that is read: a million records of 8 bytes of key and 100 of value, in batches of at most 64 KiB.
const (
	kafkaTopic      = "bench"
	kafkaPartitions = 4
	kafkaRecords    = 1 << 20
	kafkaValue      = 100
)

// kafkaSource compares the Kafka source with a loop that decodes the same record
// batches with the same user function. Both have the batches in memory, as a
// broker sent them: they are produced to an in-process broker by another client and
// fetched once. The loop goes over them as they are: it checks the CRC,
// decompresses into a reused buffer, and parses every field of every record. The
// source reads them over connections that answer fetches from that memory and
// pass everything else on to the broker, so that its time includes requests, one copy as of
// a socket, its own buffers, positions, watermarks and the pipeline behind it, and no broker's work. The
// user function is cheap, so that it hides nothing.
func kafkaSource() []comparison {
	return []comparison{
		kafkaDecode("kafka-zstd", 1.5, kgo.ZstdCompression()),
		kafkaDecode("kafka-uncompressed", 1.5, kgo.NoCompression()),
	}
}

func kafkaDecode(name string, goal float64, codec kgo.CompressionCodec) comparison {
	log := &recorded{}
	return comparison{name: name, n: kafkaRecords, goal: goal, noAllocs: true,
		hand: func() uint64 {
			log.record(codec)
			var s uint64
			h := handDecoder{}
			for _, p := range log.partitions {
				for _, c := range p.chunks {
					s += h.sum(c.records)
				}
			}
			return s
		},
		pen: func() uint64 {
			log.record(codec)
			p := pcoll.New(name)
			rows := kafka.Read(p, kafka.Source[uint64]{
				Brokers: log.broker.ListenAddrs(), Dial: log.dial, Topics: []string{kafkaTopic}, Stop: kafka.AtEnd(),
				Decode: func(r *kafka.Record) (uint64, error) { return decodeValue(r.Value) },
			})
			return run(p, sum(rows), 1)
		}}
}

var errValue = errors.New("want 100 bytes")

// decodeValue is the user's function of both sides.
func decodeValue(b []byte) (uint64, error) {
	if len(b) != kafkaValue {
		return 0, errValue
	}
	return binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(b[kafkaValue-8:]), nil
}

// handDecoder is the loop one would write for this topic.
type handDecoder struct {
	zstd   *zstd.Decoder
	buf    []byte
	newest int64
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func (h *handDecoder) sum(b []byte) (s uint64) {
	for len(b) >= 61 {
		size := 12 + int(binary.BigEndian.Uint32(b[8:]))
		batch := b[:size]
		b = b[size:]
		if crc32.Checksum(batch[21:], crcTable) != binary.BigEndian.Uint32(batch[17:]) {
			fail("hand-written loop: bad checksum")
		}
		base, baseTime, n := int64(binary.BigEndian.Uint64(batch)), int64(binary.BigEndian.Uint64(batch[27:])), int(binary.BigEndian.Uint32(batch[57:]))
		records := batch[61:]
		if batch[22]&7 == 4 {
			records = h.unzstd(records)
		}
		for range n {
			var key, value []byte
			length, k := binary.Varint(records)
			rec := records[k : k+int(length)]
			records = records[k+int(length):]
			rec = rec[1:]
			timeDelta, k := binary.Varint(rec)
			rec = rec[k:]
			offsetDelta, k := binary.Varint(rec)
			rec = rec[k:]
			key, rec = handField(rec)
			value, rec = handField(rec)
			headers, _ := binary.Varint(rec)
			v, err := decodeValue(value)
			if err != nil || headers != 0 || len(key) != 8 || base+offsetDelta < 0 {
				fail("hand-written loop: bad record")
			}
			h.newest = max(h.newest, baseTime+timeDelta)
			s += v
		}
	}
	return s
}

func handField(b []byte) (field, rest []byte) {
	n, k := binary.Varint(b)
	b = b[k:]
	if n < 0 {
		return nil, b
	}
	return b[:n], b[n:]
}

func (h *handDecoder) unzstd(b []byte) []byte {
	var err error
	if h.zstd == nil {
		if h.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err != nil {
			fail(err)
		}
	}
	if h.buf, err = h.zstd.DecodeAll(b, h.buf[:0]); err != nil {
		fail(err)
	}
	return h.buf
}

func fail(what ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"bench: Kafka:"}, what...)...)
	os.Exit(1)
}

// recorded is a topic whose record batches were fetched into memory.
type recorded struct {
	broker     *kfake.Cluster
	partitions []recordedPartition
}

type recordedPartition struct {
	chunks []chunk // by offset
	end    int64
}

// chunk is what one fetch gives of a partition.
type chunk struct {
	from, next int64
	records    []byte
}

// record fills the topic and fetches it, once.
func (l *recorded) record(codec kgo.CompressionCodec) {
	if l.broker != nil {
		return
	}
	var err error
	if l.broker, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(kafkaPartitions, kafkaTopic)); err != nil {
		fail(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(l.broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<10), kgo.ProducerLinger(10*time.Millisecond),
		kgo.MaxVersions(kversion.V2_4_0())) // the last that fetches by topic name
	if err != nil {
		fail(err)
	}
	defer client.Close()
	ctx := context.Background()
	produceRecords(ctx, client)
	for p := range int32(kafkaPartitions) {
		l.partitions = append(l.partitions, fetchPartition(ctx, client, p))
	}
}

func produceRecords(ctx context.Context, client *kgo.Client) {
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			fail(err)
		}
	}
	start := time.Now().Add(-time.Hour)
	for i := range kafkaRecords {
		value := make([]byte, 8+kafkaValue)
		x := uint64(i) * 0x9e3779b97f4a7c15
		for j := 0; j+8 <= kafkaValue; j += 24 { // a third of it looks random, as in JSON with numbers
			binary.LittleEndian.PutUint64(value[8+j:], x^uint64(j))
		}
		binary.LittleEndian.PutUint64(value[kafkaValue:], uint64(i))
		binary.LittleEndian.PutUint64(value, uint64(i%10_000))
		client.Produce(ctx, &kgo.Record{Topic: kafkaTopic, Partition: int32(i % kafkaPartitions), Key: value[:8], Value: value[8:],
			Timestamp: start.Add(time.Duration(i) * time.Microsecond)}, promise)
	}
	if err := client.Flush(ctx); err != nil {
		fail(err)
	}
}

func fetchPartition(ctx context.Context, client *kgo.Client, partition int32) (out recordedPartition) {
	for {
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MaxBytes = 0, 1<<20
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = partition, out.end, 1<<20
		req.Topics = []kmsg.FetchRequestTopic{{Topic: kafkaTopic, Partitions: []kmsg.FetchRequestTopicPartition{part}}}
		res, err := req.RequestWith(ctx, client)
		if err != nil {
			fail(err)
		}
		got := res.Topics[0].Partitions[0]
		if got.ErrorCode != 0 {
			fail("fetch of partition", partition, "gives error", got.ErrorCode)
		}
		whole, next := wholeBatches(got.RecordBatches, out.end)
		if whole > 0 {
			out.chunks = append(out.chunks, chunk{out.end, next, slices.Clone(got.RecordBatches[:whole])})
			out.end = next
		}
		if out.end == got.HighWatermark {
			return out
		}
	}
}

// wholeBatches gives the size of the batches that b holds whole, and the offset behind them.
func wholeBatches(b []byte, next int64) (int, int64) {
	at := 0
	for at+61 <= len(b) {
		size := 12 + int(binary.BigEndian.Uint32(b[at+8:]))
		if at+size > len(b) {
			break
		}
		next = int64(binary.BigEndian.Uint64(b[at:])) + int64(binary.BigEndian.Uint32(b[at+23:])) + 1
		at += size
	}
	return at, next
}
