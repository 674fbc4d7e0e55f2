package kafkawire

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// ProduceError is a batch that a broker refused for good.
type ProduceError struct {
	Topic     string
	Partition int32
	Code      Code
	Message   string // the broker's own words, if any
	Producer  int64
	// Record is the record at fault, nil when the broker did not say and the code does not tell.
	Record *RefusedRecord
}

// RefusedRecord is a copy of what identifies a record in a refused batch.
type RefusedRecord struct {
	Index     int // in the batch
	Timestamp int64
	Key       []byte
	ValueSize int
	Reason    string // the broker's words about this record
}

// Error names partition and record and ends with the remedy.
func (e *ProduceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kafkawire: produce %s/%d: %v", e.Topic, e.Partition, e.Code)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if r := e.Record; r != nil {
		at := "none"
		if r.Timestamp >= 0 {
			at = time.UnixMilli(r.Timestamp).UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(&b, ": record with key %.60q, timestamp %s (%d), value of %d bytes", r.Key, at, r.Timestamp, r.ValueSize)
		if r.Reason != "" {
			b.WriteString(": " + r.Reason)
		}
	}
	switch e.Code {
	case CodeOutOfOrderSequence, CodeInvalidProducerEpoch, CodeProducerFenced, CodeUnknownProducerID, CodeInvalidProducerMapping:
		fmt.Fprintf(&b, " (producer id %d)", e.Producer)
	}
	b.WriteString(e.Code.remedy())
	return b.String()
}

// Unwrap gives the Code.
func (e *ProduceError) Unwrap() error { return e.Code }

// produceResult is the answer for one partition.
type produceResult struct {
	answered bool
	code     Code
	base     int64
	message  string
	record   int // the record at fault, -1 if not told
	reason   string
}

// produceRequest asks one broker to append one batch to each of some partitions.
type produceRequest struct {
	node     int32
	batches  []*outBatch // by topic
	frame    []byte
	results  []produceResult // parallel to batches
	throttle time.Duration
}

// produceOnce is one attempt with acks from all in-sync replicas.
func (c *Client) produceOnce(ctx context.Context, r *produceRequest) error {
	// The broker gives up first, so that its answer says why.
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout+2*time.Second)
	defer cancel()
	x := &exchange{api: produceAPI, node: r.node, correlation: c.correlation.Add(1), limit: controlResponseLimit}
	e := beginFrame(r.frame, produceAPI, x.correlation, c.cfg.ClientID)
	e.nullString("") // no transaction
	e.int16(-1)      // acks from all in-sync replicas
	e.int32(int32(c.cfg.RequestTimeout.Milliseconds()))
	encodeByTopic(&e, r.batches, func(b *outBatch) string { return b.part.tp.Topic }, func(b *outBatch) {
		e.int32(b.part.tp.Partition)
		e.int32(int32(len(b.bytes)))
		e.b = append(e.b, b.bytes...)
	})
	x.frame = e.endFrame()
	r.frame = x.frame
	index := make(map[TopicPartition]int, len(r.batches))
	for i, b := range r.batches {
		index[b.part.tp] = i
	}
	r.results = append(r.results[:0], make([]produceResult, len(r.batches))...)
	x.decode = func(d *decoder) error { return r.decode(d, index) }
	return c.do(ctx, x)
}

func (r *produceRequest) decode(d *decoder, index map[TopicPartition]int) error {
	for n := d.arrayLen(6); n > 0 && d.err == nil; n-- {
		topic := d.string()
		for k := d.arrayLen(36); k > 0 && d.err == nil; k-- {
			tp := TopicPartition{topic, d.int32()}
			res := produceResult{answered: true, code: Code(d.int16()), base: d.int64(), record: -1}
			d.int64() // log append time
			d.int64() // log start
			for m := d.arrayLen(6); m > 0 && d.err == nil; m-- {
				at, reason := int(d.int32()), d.string()
				if res.record < 0 {
					res.record, res.reason = at, reason
				}
			}
			res.message = d.string()
			i, ok := index[tp]
			if !ok {
				d.fail(fmt.Errorf("an answer for %v, which was not written to", tp))
				break
			}
			r.results[i] = res
		}
	}
	r.throttle = time.Duration(d.int32()) * time.Millisecond
	return d.err
}

// refusal makes the error for a batch that was refused for good, with the record at fault: the one the broker names, or the one that the
// code is about.
func (b *outBatch) refusal(res produceResult, producer int64) *ProduceError {
	e := &ProduceError{
		Topic: b.part.tp.Topic, Partition: b.part.tp.Partition, Code: res.code, Message: res.message, Producer: producer,
	}
	r := NewDecoder(Limits{}).NewReader(b.part.tp, ReadUncommitted)
	r.Reset(0, b.bytes, nil)
	var rec Record
	for i := 0; ; i++ {
		ok, err := r.Next(&rec)
		if !ok || err != nil {
			return e
		}
		worse := false
		switch {
		case res.record >= 0:
			worse = i == res.record
		case res.code == CodeInvalidTimestamp:
			worse = e.Record == nil || rec.Timestamp > e.Record.Timestamp
		case res.code == CodeMessageTooLarge || res.code == CodeRecordListTooLarge:
			worse = e.Record == nil || len(rec.Value) > e.Record.ValueSize
		}
		if worse {
			e.Record = &RefusedRecord{
				Index: i, Timestamp: rec.Timestamp, Key: append([]byte(nil), rec.Key...), ValueSize: len(rec.Value), Reason: res.reason,
			}
		}
	}
}

// initProducerID gets an id for an idempotent producer.
func (c *Client) initProducerID(ctx context.Context) (id int64, epoch int16, err error) {
	err = c.retry(ctx, c.cfg.RetryBudget, func(ctx context.Context) error {
		var code Code
		err := c.call(ctx, initProducerIDAPI, anyNode, func(e *encoder) {
			e.compactLen(-1) // no transactional id: null
			e.int32(0)       // no transaction timeout
			e.int64(-1)      // no id yet: 0 would be refused
			e.int16(-1)
			e.noTags()
		}, func(d *decoder) {
			d.int32() // throttle
			code, id, epoch = Code(d.int16()), d.int64(), d.int16()
			d.tags(nil)
		})
		if err == nil && code != CodeNone {
			err = code
		}
		if err != nil {
			return c.failed("init producer id", anyNode, noPartition, err)
		}
		return nil
	})
	return id, epoch, err
}

// KeyPartition is the partition of n that Kafka's Java clients choose for a key: murmur2, so that one key's records stay together whoever
// writes them.
func KeyPartition(key []byte, n int32) int32 { return int32(murmur2(key)&0x7fffffff) % n }

// murmur2 is the 32-bit hash with the seed of Kafka's Utils.murmur2.
func murmur2(b []byte) uint32 {
	const m, r = 0x5bd1e995, 24
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> r
		h = h*m ^ k*m
	}
	for i := len(b) - 1; i >= 0; i-- {
		h ^= uint32(b[i]) << (8 * i)
	}
	if len(b) > 0 {
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
