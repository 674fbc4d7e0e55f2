package kafkawire

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// FetchRequest asks one broker for records of many partitions.
type FetchRequest struct {
	Node      int32
	MaxWait   time.Duration // how long the broker may wait for MinBytes
	MinBytes  int32
	MaxBytes  int32 // of all record sets together; one batch larger than this is sent all the same, if it comes first
	Isolation Isolation
	Rack      string
	// Partitions in the order of interest: the broker fills the answer from the front. Several topics may be mixed.
	Partitions []FetchPartition
}

// FetchPartition is one partition of a FetchRequest.
type FetchPartition struct {
	TopicPartition
	Offset      int64
	LeaderEpoch int32 // under which the leader is addressed, -1 for any
	// LastEpoch is the leader epoch of the record before Offset, -1 if unknown. With it the broker notices that the log it leads has
	// another history than the one that was read (KIP-320, KIP-595).
	LastEpoch int32
	MaxBytes  int32
}

// FetchedPartition is the answer for one partition.
type FetchedPartition struct {
	TopicPartition
	Asked         int // its place in the request
	Code          Code
	HighWatermark int64
	LastStable    int64 // equal to HighWatermark when no transaction is open
	LogStart      int64
	Aborted       []AbortedTxn
	// Truncated says that the epoch that was read ends earlier in the leader's log; DivergingEpoch and DivergingEnd say where.
	Truncated      bool
	DivergingEpoch int32
	DivergingEnd   int64
	// Records is the record set, from the Alloc of the FetchInto.
	Records []byte
}

// FetchResponse is filled by FetchInto, reusing its memory.
type FetchResponse struct {
	Throttle   time.Duration
	Partitions []FetchedPartition

	index map[TopicPartition]int // of the request's partitions
	frame []byte
	topic string
}

// FetchBuffers gives and takes the memory for record sets.
type FetchBuffers interface {
	// Get gives a buffer of length n.
	Get(n int) []byte
	// Put takes back a buffer that Get gave.
	Put([]byte)
}

// maxFetchOverhead bounds what a fetch response holds beside record sets: the lists of aborted transactions can be long.
const maxFetchOverhead = 64 << 20

// FetchInto sends one fetch and reads its answer, record sets straight from the connection into buffers of mem. There is no retry. It waits
// for at most req.MaxWait plus Config.RequestTimeout. After an error resp holds nothing and every buffer has gone back to mem.
func (c *Client) FetchInto(ctx context.Context, req *FetchRequest, resp *FetchResponse, mem FetchBuffers, limits Limits) error {
	limits = limits.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, req.MaxWait+c.cfg.RequestTimeout)
	defer cancel()
	x := &exchange{api: fetchAPI, node: req.Node, correlation: c.correlation.Add(1)}
	x.limit = int(req.MaxBytes) + limits.MaxBatchBytes + maxFetchOverhead
	resp.begin(req)
	e := beginFrame(resp.frame, fetchAPI, x.correlation, c.cfg.ClientID)
	encodeFetch(&e, req)
	x.frame = e.endFrame()
	resp.frame = x.frame
	x.decode = func(d *decoder) error { return resp.decode(d, req, mem, limits) }
	err := c.do(ctx, x)
	if err != nil {
		resp.drop(mem)
		return c.failed("fetch", req.Node, noPartition, err)
	}
	return nil
}

func encodeFetch(e *encoder, req *FetchRequest) {
	e.int32(-1) // a consumer, not a replica
	e.int32(int32(req.MaxWait.Milliseconds()))
	e.int32(req.MinBytes)
	e.int32(req.MaxBytes)
	e.int8(int8(req.Isolation))
	e.int32(0)  // no fetch session
	e.int32(-1) // nor a new one
	runs := 0
	for i := range req.Partitions {
		if i == 0 || req.Partitions[i].Topic != req.Partitions[i-1].Topic {
			runs++
		}
	}
	// A topic may come several times, so that the order of partitions is the caller's.
	e.compactLen(runs)
	for i := 0; i < len(req.Partitions); {
		j := i + 1
		for j < len(req.Partitions) && req.Partitions[j].Topic == req.Partitions[i].Topic {
			j++
		}
		e.compactString(req.Partitions[i].Topic)
		e.compactLen(j - i)
		for ; i < j; i++ {
			p := &req.Partitions[i]
			e.int32(p.Partition)
			e.int32(p.LeaderEpoch)
			e.int64(p.Offset)
			e.int32(p.LastEpoch)
			e.int64(-1) // log start: for replicas
			e.int32(p.MaxBytes)
			e.noTags()
		}
		e.noTags()
	}
	e.compactLen(0) // nothing to forget in a session
	e.compactString(req.Rack)
	e.noTags()
}

// begin remembers what is asked for: an answer for anything else is refused.
func (r *FetchResponse) begin(req *FetchRequest) {
	r.Throttle = 0
	r.Partitions = r.Partitions[:0]
	if r.index == nil {
		r.index = map[TopicPartition]int{}
	}
	clear(r.index)
	for i := range req.Partitions {
		r.index[req.Partitions[i].TopicPartition] = i
	}
}

// drop gives all buffers back.
func (r *FetchResponse) drop(mem FetchBuffers) {
	for i := range r.Partitions {
		if b := r.Partitions[i].Records; b != nil {
			mem.Put(b)
			r.Partitions[i].Records = nil
		}
	}
	r.Partitions = r.Partitions[:0]
}

// The least bytes of a topic and of a partition in a fetch response.
const (
	minFetchTopic     = 3
	minFetchPartition = 36
)

func (r *FetchResponse) decode(d *decoder, req *FetchRequest, mem FetchBuffers, limits Limits) error {
	r.Throttle = time.Duration(d.int32()) * time.Millisecond
	if code := Code(d.int16()); code != CodeNone && d.err == nil {
		d.skip(d.remain)
		if d.err != nil {
			return d.err
		}
		return code
	}
	d.int32() // session
	for n := d.compactLen(minFetchTopic); n > 0 && d.err == nil; n-- {
		topic := d.compactBytes()
		if r.topic != string(topic) {
			r.topic = strings.Clone(string(topic))
		}
		for k := d.compactLen(minFetchPartition); k > 0 && d.err == nil; k-- {
			r.decodePartition(d, req, mem, limits)
		}
		d.tags(nil)
	}
	d.tags(nil)
	return d.err
}

func (r *FetchResponse) decodePartition(d *decoder, req *FetchRequest, mem FetchBuffers, limits Limits) {
	tp := TopicPartition{r.topic, d.int32()}
	asked, ok := r.index[tp]
	if !ok || asked < 0 {
		d.fail(fmt.Errorf("records of %v, which was not asked for or came twice", tp))
		return
	}
	r.index[tp] = -1
	tp.Topic = req.Partitions[asked].Topic // the caller's string, so that ours can go
	p := r.grow()
	p.TopicPartition, p.Asked = tp, asked
	p.Code = Code(d.int16())
	p.HighWatermark, p.LastStable, p.LogStart = d.int64(), d.int64(), d.int64()
	for n := d.compactLen(17); n > 0 && d.err == nil; n-- {
		p.Aborted = append(p.Aborted, AbortedTxn{ProducerID: d.int64(), FirstOffset: d.int64()})
		d.tags(nil)
	}
	d.int32() // preferred read replica: we read from leaders
	size := int(d.uvarint()) - 1
	if limit := max(int(req.Partitions[asked].MaxBytes), limits.MaxBatchBytes+batchPrefix); size > limit {
		d.fail(fmt.Errorf("%d bytes of records of %v, more than the %d that were asked for or a batch may have", size, tp, limit))
		return
	}
	if size > 0 && d.err == nil {
		p.Records = d.records(size, max(int(req.Partitions[asked].MaxBytes), 1<<20), mem)
	}
	d.tags(func(tag uint32, _ int) {
		if tag == 0 {
			p.DivergingEpoch, p.DivergingEnd = d.int32(), d.int64()
			p.Truncated = p.DivergingEpoch >= 0 || p.DivergingEnd >= 0
			d.tags(nil)
		}
	})
}

// grow adds a partition to the response, with the memory of an earlier one.
func (r *FetchResponse) grow() *FetchedPartition {
	if len(r.Partitions) == cap(r.Partitions) {
		r.Partitions = slices.Grow(r.Partitions, 1)
	}
	r.Partitions = r.Partitions[:len(r.Partitions)+1]
	p := &r.Partitions[len(r.Partitions)-1]
	*p = FetchedPartition{Aborted: p.Aborted[:0]}
	return p
}

// records reads n bytes into a buffer of mem. Beyond step, which is what was asked for, it takes memory only as the bytes arrive, so that an
// answer that claims more than it sends costs a few times what it sent.
func (d *decoder) records(n, step int, mem FetchBuffers) []byte {
	if n > d.remain {
		d.fail(errShort)
		return nil
	}
	b := mem.Get(min(n, step))
	from := 0
	for {
		k, err := io.ReadFull(d.r, b[from:])
		d.remain -= k
		if err != nil {
			mem.Put(b)
			d.fail(fmt.Errorf("reading records: %w", err))
			return nil
		}
		if len(b) == n {
			return b
		}
		from = len(b)
		larger := mem.Get(min(n, 4*len(b)))
		copy(larger, b)
		mem.Put(b)
		b = larger
	}
}
