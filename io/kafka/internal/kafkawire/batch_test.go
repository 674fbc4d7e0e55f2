package kafkawire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	allCodecs = []Compression{None, Gzip, Snappy, LZ4, Zstd}
	testTP    = TopicPartition{"orders", 3}
)

func rebase(b []byte, base int64) { binary.BigEndian.PutUint64(b, uint64(base)) }

// reseal makes the checksum right after a change.
func reseal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

func values(n int) []OutRecord {
	out := make([]OutRecord, n)
	for i := range out {
		out[i] = OutRecord{Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i)}
	}
	return out
}

func newTestReader(iso Isolation) *BatchReader { return NewDecoder(Limits{}).NewReader(testTP, iso) }

func TestRoundTrip(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // several blocks of every codec
	recs := []OutRecord{
		{Timestamp: 1000, Key: []byte("a"), Value: []byte("1")},
		{Timestamp: 900, Key: nil, Value: []byte{}},
		{Timestamp: -1, Key: []byte{}, Value: nil},
		{Timestamp: 1 << 50, Value: large, Headers: []Header{{"h", []byte("x")}, {"", nil}, {"h", []byte{}}}},
		{Timestamp: 1001},
	}
	want := []seen{
		{7, 1000, `"a"`, `"1"`, ""},
		{8, 900, "null", `""`, ""},
		{9, -1, `""`, "null", ""},
		{10, 1 << 50, "null", show(large), `h="x";=null;h="";`},
		{11, 1001, "null", "null", ""},
	}
	for _, codec := range allCodecs {
		t.Run(codec.String(), func(t *testing.T) {
			r := newTestReader(ReadCommitted)
			for range 2 { // the second time with buffers that were used
				b := built(t, 7, NoProducer, codec, recs...)
				if got := Compression(binary.BigEndian.Uint16(b[21:]) & attrCompression); got != codec {
					t.Fatalf("batch has codec %v", got)
				}
				r.Reset(7, b, nil)
				if diff := cmp.Diff(want, readAll(t, r), cmp.AllowUnexported(seen{})); diff != "" {
					t.Fatal(diff)
				}
				if r.Position() != 12 {
					t.Fatalf("position %d, want 12", r.Position())
				}
			}
		})
	}
}

// TestEncodingAgainstKmsg checks our batches with franz-go's generated decoder.
func TestEncodingAgainstKmsg(t *testing.T) {
	b := built(t, 0, BatchMeta{ProducerID: 42, ProducerEpoch: 7, Sequence: 9, Transactional: true}, None, values(300)...)
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	got := []int64{
		batch.FirstOffset, int64(batch.Length), int64(batch.PartitionLeaderEpoch), int64(batch.Attributes), int64(batch.LastOffsetDelta),
		batch.FirstTimestamp, batch.MaxTimestamp, batch.ProducerID, int64(batch.ProducerEpoch), int64(batch.FirstSequence),
		int64(batch.NumRecords),
	}
	want := []int64{0, int64(len(b) - 12), -1, attrTransaction, 299, 1000, 1299, 42, 7, 9, 300}
	if !slices.Equal(got, want) {
		t.Fatalf("header\n got %v\nwant %v", got, want)
	}
	rest := batch.Records
	for i := range 300 {
		var rec kmsg.Record
		length, n := binary.Varint(rest)
		if err := rec.ReadFrom(rest[:n+int(length)]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n+int(length):]
		if string(rec.Value) != fmt.Sprintf("value %d", i) || int(rec.OffsetDelta) != i || rec.TimestampDelta64 != int64(i) {
			t.Fatalf("record %d is %+v", i, rec)
		}
	}
}

func TestBatchBuilderLimit(t *testing.T) {
	var b BatchBuilder
	b.Reset(200)
	n := 0
	for {
		ok, err := b.Append(&OutRecord{Value: []byte("0123456789")})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		n++
	}
	// Header 61; a record: length, attributes, two deltas, null key, value length, value, header count: 17.
	if n != (200-61)/17 || b.Len() != n || b.Size() != 61+17*n {
		t.Fatalf("%d records, Len %d, Size %d", n, b.Len(), b.Size())
	}
	b.Reset(200)
	var tooLarge *RecordTooLargeError
	if ok, err := b.Append(&OutRecord{Value: make([]byte, 200)}); ok || !errors.As(err, &tooLarge) || tooLarge.Size != 61+209 {
		t.Fatalf("got %v, %v", ok, err)
	}
	if _, err := b.Finish(NoProducer, nil); err == nil {
		t.Fatal("an empty batch was finished")
	}
}

// TestIncompressible: a batch that would grow stays as it is.
func TestIncompressible(t *testing.T) {
	b := built(t, 0, NoProducer, Gzip, OutRecord{Value: []byte("x")})
	if codec := b[22] & attrCompression; codec != 0 {
		t.Fatalf("codec %d", codec)
	}
}

func TestPositions(t *testing.T) {
	three := built(t, 10, NoProducer, None, values(3)...)
	compacted := bytes.Clone(three) // offsets 10..12, but the batch ends at 19
	binary.BigEndian.PutUint32(compacted[23:], 9)
	reseal(compacted)
	empty := reseal(append([]byte{}, compacted[:batchHeader]...)) // all its records were compacted away
	binary.BigEndian.PutUint32(empty[8:], minBatchLength)
	binary.BigEndian.PutUint32(empty[57:], 0)
	rebase(reseal(empty), 20)
	later := built(t, 40, NoProducer, LZ4, values(100)...)
	join := func(bs ...[]byte) []byte { return slices.Concat(bs...) }
	for _, c := range []struct {
		name     string
		from     int64
		records  []byte
		offsets  []int64
		position int64
	}{
		{"nothing", 5, nil, nil, 5},
		{"whole", 10, three, []int64{10, 11, 12}, 13},
		{"begins before the position", 11, three, []int64{11, 12}, 13},
		{"ends before the position", 13, three, nil, 13},
		{"gap before", 2, three, []int64{10, 11, 12}, 13},
		{"compacted tail", 10, compacted, []int64{10, 11, 12}, 20},
		{"position in the compacted tail", 15, compacted, nil, 20},
		{"empty batch", 20, empty, nil, 30},
		{"all", 12, join(compacted, empty, later[:len(later)-1]), []int64{12}, 30},
		{"cut inside the length", 10, join(three, later[:11]), []int64{10, 11, 12}, 13},
		{"cut inside the header", 10, join(three, later[:30]), []int64{10, 11, 12}, 13},
		{"only a cut batch", 10, three[:40], nil, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTestReader(ReadUncommitted)
			r.Reset(c.from, c.records, nil)
			var got []int64
			for _, s := range readAll(t, r) {
				got = append(got, s.offset)
			}
			if !slices.Equal(got, c.offsets) || r.Position() != c.position {
				t.Fatalf("offsets %v position %d, want %v and %d", got, r.Position(), c.offsets, c.position)
			}
		})
	}
}

// TestPositionInside: the position follows record by record, and jumps behind the batch with its last record.
func TestPositionInside(t *testing.T) {
	b := built(t, 10, NoProducer, Zstd, values(3)...)
	binary.BigEndian.PutUint32(b[12:], 6)
	binary.BigEndian.PutUint32(b[23:], 5) // the batch goes on to 15
	r := newTestReader(ReadCommitted)
	if r.LeaderEpoch() != -1 {
		t.Fatalf("epoch %d before the first batch", r.LeaderEpoch())
	}
	r.Reset(10, reseal(b), nil)
	var rec Record
	for _, want := range []int64{11, 12, 16} {
		if ok, err := r.Next(&rec); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if r.Position() != want {
			t.Fatalf("position %d after offset %d, want %d", r.Position(), rec.Offset, want)
		}
	}
	if r.LeaderEpoch() != 6 {
		t.Fatalf("epoch %d, want 6", r.LeaderEpoch())
	}
}

func TestLogAppendTime(t *testing.T) {
	b := built(t, 0, NoProducer, None, values(3)...)
	binary.BigEndian.PutUint16(b[21:], attrLogAppend)
	binary.BigEndian.PutUint64(b[35:], 77_000)
	r := newTestReader(ReadCommitted)
	r.Reset(0, reseal(b), nil)
	for _, s := range readAll(t, r) {
		if s.timestamp != 77_000 {
			t.Fatalf("offset %d has timestamp %d", s.offset, s.timestamp)
		}
	}
}

// marker is a control batch as Kafka writes it.
func marker(t *testing.T, base, producer int64, epoch int16, kind int16) []byte {
	key := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(kind))
	b := built(t, base, BatchMeta{ProducerID: producer, ProducerEpoch: epoch, Sequence: -1, Transactional: true}, None,
		OutRecord{Timestamp: 1, Key: key, Value: []byte{0, 0, 0, 0, 0, 0}})
	b[22] |= attrControl
	return reseal(b)
}

func TestTransactions(t *testing.T) {
	txn := func(base, producer int64, n int) []byte {
		return built(t, base, BatchMeta{ProducerID: producer, Transactional: true}, None, values(n)...)
	}
	// Producer 1 aborts 0–1, commits 4–5; producer 2 aborts 2–3 interleaved and again 10–11; 7 is outside any transaction.
	log := slices.Concat(
		txn(0, 1, 2), txn(2, 2, 2), marker(t, 4, 1, 0, 0), txn(5, 1, 2), marker(t, 7, 1, 1, 1),
		built(t, 8, NoProducer, None, values(1)...), marker(t, 9, 2, 0, 0), txn(10, 2, 2), marker(t, 12, 2, 1, 0), txn(13, 2, 1),
	)
	aborted := []AbortedTxn{{2, 10}, {1, 0}, {2, 2}} // in no order
	offsets := func(r *BatchReader, from int64, log []byte, aborted []AbortedTxn) []int64 {
		r.Reset(from, log, aborted)
		var got []int64
		for _, s := range readAll(t, r) {
			got = append(got, s.offset)
		}
		if r.Position() != 14 {
			t.Errorf("position %d, want 14", r.Position())
		}
		return got
	}
	committed, all := newTestReader(ReadCommitted), newTestReader(ReadUncommitted)
	for range 2 {
		if got, want := offsets(committed, 0, log, aborted), []int64{5, 6, 8, 13}; !slices.Equal(got, want) {
			t.Errorf("read committed: %v, want %v", got, want)
		}
		if got, want := offsets(all, 0, log, aborted), []int64{0, 1, 2, 3, 5, 6, 8, 10, 11, 13}; !slices.Equal(got, want) {
			t.Errorf("read uncommitted: %v, want %v", got, want)
		}
	}
	// A fetch that begins inside an aborted transaction still has it in its list.
	tail := log[len(txn(0, 1, 2)):]
	if got, want := offsets(committed, 3, tail, aborted), []int64{5, 6, 8, 13}; !slices.Equal(got, want) {
		t.Errorf("from 3: %v, want %v", got, want)
	}
}

func TestMalformed(t *testing.T) {
	good := func() []byte { return built(t, 50, NoProducer, None, values(4)...) }
	edit := func(f func([]byte) []byte) []byte { return f(good()) }
	put32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return reseal(b) }
	}
	put8 := func(at int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = v; return reseal(b) }
	}
	compressed := func(codec Compression, f func([]byte) []byte) []byte {
		return reseal(f(built(t, 50, NoProducer, codec, values(500)...)))
	}
	// The first record: 61 length, 62 attributes, 63 and 64 deltas, 65 key length, 66 key, 68 value length, 69 value, 76 headers.
	for _, c := range []struct {
		name, want string
		log        []byte
	}{
		{"checksum", "CRC-32C", edit(func(b []byte) []byte { b[70]++; return b })},
		{"format", "message format 1", edit(put8(16, 1))},
		{"negative base", "base offset -1", edit(func(b []byte) []byte { rebase(b, -1); return b })},
		{"short length", "length 48", edit(put32(8, 48))},
		{"negative length", "length -1", edit(put32(8, 1<<32-1))},
		{"huge length", "length 2147483647", edit(put32(8, 1<<31-1))},
		{"negative record count", "-1 records", edit(put32(57, 1<<32-1))},
		{"more records than offsets", "5 records in 4 offsets", edit(put32(57, 5))},
		{"fewer records than bytes", "behind the last record", edit(put32(57, 3))},
		{"negative last delta", "last offset delta -1", edit(put32(23, 1<<32-1))},
		{"overflowing base", "last offset delta", edit(func(b []byte) []byte { rebase(b, 1<<63-2); return b })},
		{"codec", "compression 5: unknown", edit(put8(22, 5))},
		{"record length", "record length", edit(put8(61, 0xfe))},
		{"negative record length", "record length", edit(put8(61, 1))},
		{"record length zero", "record length", edit(put8(61, 0))},
		{"offset delta beyond last", "offset delta 31", edit(put8(64, 62))},
		{"offset delta negative", "offset delta -1", edit(put8(64, 1))},
		{"key length", "key of 63", edit(put8(65, 126))},
		{"key length below null", "key of -2", edit(put8(65, 3))},
		{"value length", "value of 63", edit(put8(68, 126))},
		{"header count", "headers in", edit(put8(76, 2))},
		{"header count negative", "-1 headers", edit(put8(76, 1))},
		{"gzip", "gzip:", compressed(Gzip, func(b []byte) []byte { b[80]++; return b })},
		{"gzip header", "gzip:", compressed(Gzip, func(b []byte) []byte { b[61] = 0; return b })},
		{"snappy block length", "snappy: xerial", compressed(Snappy, func(b []byte) []byte { b[77] = 0xff; return b })},
		{"snappy", "snappy:", compressed(Snappy, func(b []byte) []byte { clear(b[90:]); return b })},
		{"lz4", "lz4:", compressed(LZ4, func(b []byte) []byte { clear(b[61:70]); return b })},
		{"zstd", "zstd:", compressed(Zstd, func(b []byte) []byte { clear(b[75:]); return b })},
		{"going back", "begins before the end 54", slices.Concat(good(), good())},
		{"control record", "control record", edit(func(b []byte) []byte { b[22] = attrControl; b[65] = 2; return reseal(b) })},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTestReader(ReadCommitted)
			r.Reset(50, c.log, nil)
			var rec Record
			var err error
			for ok := true; ok; {
				ok, err = r.Next(&rec)
			}
			var m *MalformedError
			if !errors.As(err, &m) {
				t.Fatalf("got %v", err)
			}
			if m.Topic != "orders" || m.Partition != 3 || (m.Offset != 50 && m.Offset != 1<<63-2) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q at offset 50", err, c.want)
			}
			if _, again := r.Next(&rec); again != err {
				t.Errorf("the next call says %v", again)
			}
		})
	}
}

// TestDecompressionLimit: a small batch that unpacks to much is refused before it does.
func TestDecompressionLimit(t *testing.T) {
	for _, codec := range allCodecs[1:] {
		b := built(t, 0, NoProducer, codec, OutRecord{Value: make([]byte, 8<<20)})
		r := NewDecoder(Limits{MaxDecompressedBytes: 1 << 20}).NewReader(testTP, ReadCommitted)
		r.Reset(0, b, nil)
		var rec Record
		if ok, err := r.Next(&rec); ok || err == nil {
			t.Errorf("%v: got %v, %v", codec, ok, err)
		}
	}
}

// TestSnappyWithoutFraming: other clients than Java's write one bare block.
func TestSnappyWithoutFraming(t *testing.T) {
	framed := built(t, 0, NoProducer, Snappy, values(100)...)
	block := framed[batchHeader+xerialHeader+4:]
	bare := slices.Concat(framed[:batchHeader], block)
	binary.BigEndian.PutUint32(bare[8:], uint32(len(bare)-batchPrefix))
	r := newTestReader(ReadCommitted)
	r.Reset(0, reseal(bare), nil)
	if got := readAll(t, r); len(got) != 100 || got[99].value != `"value 99"` {
		t.Fatalf("%d records", len(got))
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, codec := range allCodecs {
		b := built(t, 0, NoProducer, codec, values(1000)...)
		r := newTestReader(ReadCommitted)
		aborted := []AbortedTxn{{9, 0}}
		read := func() {
			r.Reset(0, b, aborted)
			var rec Record
			for {
				if ok, err := r.Next(&rec); err != nil {
					t.Fatal(err)
				} else if !ok {
					return
				}
			}
		}
		read()
		// The codecs themselves allocate a few objects a batch of a thousand records at most.
		if n := testing.AllocsPerRun(20, read); n > 10 {
			t.Errorf("%v: %v allocations a batch", codec, n)
		}
	}
}

func FuzzBatchReader(f *testing.F) {
	for _, codec := range allCodecs {
		f.Add(built(f, 5, NoProducer, codec, values(20)...), int64(5), true)
		f.Add(built(f, 5, NoProducer, codec, OutRecord{Headers: []Header{{"a", nil}, {"b", []byte("c")}}}), int64(0), false)
	}
	d := NewDecoder(Limits{MaxBatchBytes: 1 << 20, MaxDecompressedBytes: 1 << 20})
	f.Fuzz(func(t *testing.T, log []byte, from int64, seal bool) {
		if seal && len(log) > batchHeader { // let the fuzzer get past the checksum and the length
			log = bytes.Clone(log)
			binary.BigEndian.PutUint32(log[8:], uint32(len(log)-batchPrefix))
			reseal(log)
		}
		r := d.NewReader(testTP, ReadCommitted)
		r.Reset(max(from, 0), log, []AbortedTxn{{0, 0}})
		last := r.Position()
		var rec Record
		for n := 0; ; n++ {
			ok, err := r.Next(&rec)
			var m *MalformedError
			if err != nil && !errors.As(err, &m) {
				t.Fatalf("not a MalformedError: %v", err)
			}
			if r.Position() < last || n > 1<<20 {
				t.Fatalf("position %d after %d, %d records", r.Position(), last, n)
			}
			last = r.Position()
			if !ok {
				return
			}
			copyRecord(&rec)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, codec := range allCodecs {
		b.Run(codec.String(), func(b *testing.B) {
			const n = 5000
			recs := make([]OutRecord, n)
			for i := range recs {
				recs[i] = OutRecord{Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "key-%08d", i*7919%n), Value: fmt.Appendf(nil,
					`{"ad":%d,"user":%d,"at":%d,"kind":"click","page":"/products/%d/details"}`, i%100, i*7919%10007, 1700000000000+i, i%977)}
			}
			log := built(b, 0, NoProducer, codec, recs...)
			r := newTestReader(ReadCommitted)
			var rec Record
			sum := 0
			for b.Loop() {
				r.Reset(0, log, nil)
				for {
					ok, err := r.Next(&rec)
					if err != nil {
						b.Fatal(err)
					}
					if !ok {
						break
					}
					sum += len(rec.Value)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
			b.ReportMetric(float64(len(log))/n, "B/record")
			if sum == 0 {
				b.Fatal("nothing read")
			}
		})
	}
}
