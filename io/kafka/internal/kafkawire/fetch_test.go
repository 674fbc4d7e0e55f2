package kafkawire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire is a connection that takes a request and gives a canned answer.
type wire struct {
	io.Reader
	io.Writer
}

// frame makes a response frame around a body of a flexible version.
func frame(correlation int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+5))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	return append(append(b, 0), body...)
}

func fetchRequest() *FetchRequest {
	return &FetchRequest{MaxBytes: 1 << 20, Partitions: []FetchPartition{
		{TopicPartition{"t", 0}, 10, 3, 2, 4096}, {TopicPartition{"t", 7}, 11, -1, -1, 4096}, {TopicPartition{"u", 0}, 12, -1, -1, 4096},
		{TopicPartition{"t", 1}, 13, -1, -1, 4096},
	}}
}

// answer runs one fetch over a canned answer.
func answer(r io.Reader, mem FetchBuffers, limits Limits) (*FetchResponse, error) {
	req, resp := fetchRequest(), &FetchResponse{}
	resp.begin(req)
	x := &exchange{api: fetchAPI, correlation: 5, limit: 8 << 20}
	x.decode = func(d *decoder) error { return resp.decode(d, req, mem, limits.withDefaults()) }
	err := x.exchange(wire{r, io.Discard})
	if err != nil {
		resp.drop(mem)
	}
	return resp, err
}

func cannedResponse() *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 12
	resp.ThrottleMillis = 7
	good, refused := kmsg.NewFetchResponseTopicPartition(), kmsg.NewFetchResponseTopicPartition()
	good.Partition, good.HighWatermark, good.LastStableOffset, good.LogStartOffset = 0, 100, 90, 4
	good.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 8, FirstOffset: 9}, {ProducerID: 1, FirstOffset: 2}}
	good.RecordBatches = []byte("not looked at here")
	refused.Partition, refused.ErrorCode = 7, 74
	refused.CurrentLeader = kmsg.FetchResponseTopicPartitionCurrentLeader{LeaderID: 3, LeaderEpoch: 4}
	diverged := kmsg.NewFetchResponseTopicPartition()
	diverged.DivergingEpoch = kmsg.FetchResponseTopicPartitionDivergingEpoch{Epoch: 5, EndOffset: 6}
	resp.Topics = []kmsg.FetchResponseTopic{
		{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{good, refused}},
		{Topic: "u", Partitions: []kmsg.FetchResponseTopicPartition{diverged}},
	}
	return resp
}

func TestFetchResponse(t *testing.T) {
	mem := newBufferPool(0)
	body := cannedResponse().AppendTo(nil)
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(frame(5, body)), "byte by byte": iotest.OneByteReader(bytes.NewReader(frame(5, body))),
	} {
		got, err := answer(r, mem, Limits{})
		if err != nil {
			t.Fatal(name, err)
		}
		want := []FetchedPartition{
			{
				TopicPartition: TopicPartition{"t", 0}, HighWatermark: 100, LastStable: 90, LogStart: 4, Aborted: []AbortedTxn{{8, 9}, {1, 2}},
				Records: []byte("not looked at here"),
			},
			{TopicPartition: TopicPartition{"t", 7}, Asked: 1, Code: CodeFencedLeaderEpoch, LastStable: -1, LogStart: -1},
			{
				TopicPartition: TopicPartition{"u", 0}, Asked: 2, LastStable: -1, LogStart: -1, Truncated: true,
				DivergingEpoch: 5, DivergingEnd: 6,
			},
		}
		if diff := cmp.Diff(want, got.Partitions); diff != "" || got.Throttle != 7*time.Millisecond {
			t.Errorf("%s: throttle %v, %s", name, got.Throttle, diff)
		}
		got.drop(mem)
	}
	if mem.out != 0 {
		t.Errorf("%d bytes not given back", mem.out)
	}
}

// TestFetchResponseCut: an answer that ends anywhere is an error and keeps no buffer.
func TestFetchResponseCut(t *testing.T) {
	mem := newBufferPool(0)
	whole := frame(5, cannedResponse().AppendTo(nil))
	for n := range whole {
		if _, err := answer(bytes.NewReader(whole[:n]), mem, Limits{}); err == nil {
			t.Fatalf("an answer of %d of %d bytes was taken", n, len(whole))
		}
	}
	for cut := 1; cut < len(whole)-9; cut++ { // the frame's size agrees with what comes
		if _, err := answer(bytes.NewReader(frame(5, whole[9:len(whole)-cut])), mem, Limits{}); err == nil {
			t.Fatalf("a frame that lacks %d bytes was taken", cut)
		}
	}
	if mem.out != 0 {
		t.Errorf("%d bytes not given back", mem.out)
	}
}

func TestFetchResponseRefused(t *testing.T) {
	edit := func(f func(*kmsg.FetchResponse)) []byte {
		r := cannedResponse()
		f(r)
		return frame(5, r.AppendTo(nil))
	}
	partition := func(r *kmsg.FetchResponse) *kmsg.FetchResponseTopicPartition { return &r.Topics[0].Partitions[0] }
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"correlation":     {frame(6, nil), "correlation id 6, want 5"},
		"size":            {[]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 5}, "more than 8388608"},
		"negative size":   {[]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 5}, "fewer than 4"},
		"error code":      {edit(func(r *kmsg.FetchResponse) { r.ErrorCode = 70 }), "FETCH_SESSION_ID_NOT_FOUND"},
		"other topic":     {edit(func(r *kmsg.FetchResponse) { r.Topics[0].Topic = "x" }), "x/0, which was not asked for"},
		"other partition": {edit(func(r *kmsg.FetchResponse) { partition(r).Partition = 4 }), "t/4, which was not asked for"},
		"twice":           {edit(func(r *kmsg.FetchResponse) { partition(r).Partition = 7 }), "t/7, which was not asked for or came twice"},
		"too much":        {edit(func(r *kmsg.FetchResponse) { partition(r).RecordBatches = make([]byte, 5000) }), "5000 bytes of records of t/0"},
		"trailing bytes":  {frame(5, append(cannedResponse().AppendTo(nil), 0)), "1 bytes too many"},
	} {
		if _, err := answer(bytes.NewReader(c.frame), newBufferPool(0), Limits{MaxBatchBytes: 1000}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestFetchClaimsMoreThanItSends: memory follows what arrives, not what is said.
func TestFetchClaimsMoreThanItSends(t *testing.T) {
	claim := func(n uint32) []byte {
		b := cannedResponse().AppendTo(nil)
		at := bytes.Index(b, []byte("not looked")) - 1
		b = binary.AppendUvarint(b[:at:at], uint64(n)+1)
		f := frame(5, append(b, "some"...))
		binary.BigEndian.PutUint32(f, n+1000)
		return f
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := answer(bytes.NewReader(claim(7<<20)), newBufferPool(0), Limits{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

func FuzzFetchResponse(f *testing.F) {
	f.Add(cannedResponse().AppendTo(nil))
	f.Add(frame(5, cannedResponse().AppendTo(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, frame(5, b)} {
			mem := newBufferPool(0)
			resp, err := answer(bytes.NewReader(in), mem, Limits{MaxBatchBytes: 1 << 20})
			if mem.out > 0 && err != nil {
				t.Fatalf("%d bytes not given back after %v", mem.out, err)
			}
			if most := 2 * (smallestBuffer + len(in)) * (1 + len(resp.Partitions)); mem.out > most {
				t.Fatalf("%d bytes taken for %d", mem.out, len(in))
			}
			seen := map[TopicPartition]bool{}
			for _, p := range resp.Partitions {
				if seen[p.TopicPartition] || len(p.Records) > len(in) {
					t.Fatalf("%v twice, or %d bytes of records from %d", p.TopicPartition, len(p.Records), len(in))
				}
				seen[p.TopicPartition] = true
			}
		}
	})
}

// TestFetchRequest checks what we send with franz-go's generated decoder.
func TestFetchRequest(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(8, "t", "u"))
	c := open(t, k)
	if _, err := c.Metadata(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	var got *kmsg.FetchRequest
	k.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		got = r.(*kmsg.FetchRequest)
		return r.ResponseKind(), nil, true
	})
	req := fetchRequest()
	req.MaxWait, req.MinBytes, req.Isolation, req.Rack = 1500*time.Millisecond, 17, ReadCommitted, "rack"
	if err := c.FetchInto(testContext(t), req, &FetchResponse{}, newBufferPool(0), Limits{}); err != nil {
		t.Fatal(err)
	}
	if got.Version != 12 || got.ReplicaID != -1 || got.MaxWaitMillis != 1500 || got.MinBytes != 17 || got.MaxBytes != 1<<20 ||
		got.IsolationLevel != 1 || got.SessionID != 0 || got.SessionEpoch != -1 || got.Rack != "rack" || len(got.ForgottenTopics) != 0 {
		t.Errorf("sent %+v", got)
	}
	var parts []FetchPartition
	for _, topic := range got.Topics {
		for _, p := range topic.Partitions {
			parts = append(parts, FetchPartition{
				TopicPartition{topic.Topic, p.Partition}, p.FetchOffset, p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.PartitionMaxBytes,
			})
		}
	}
	if !slices.Equal(parts, req.Partitions) {
		t.Errorf("sent %+v, want %+v", parts, req.Partitions)
	}
}

// TestFranzBatchesFromInside: a fetch from the middle of a batch gives the whole batch; its reader skips what is before.
func TestFranzBatchesFromInside(t *testing.T) {
	k := cluster(t, kfake.SeedTopics(1, "t"))
	kc := franz(t, k, kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	var recs []*kgo.Record
	for range 100 {
		recs = append(recs, &kgo.Record{Topic: "t", Value: []byte("x")})
	}
	produceSync(t, kc, recs...)
	f := newFetcher(t, open(t, k), FetcherConfig{})
	if got := read(t, f, TopicPartition{"t", 0}, 37).until(100); len(got) != 63 || got[0].offset != 37 {
		t.Fatalf("%d records from %d", len(got), got[0].offset)
	}
}
