package columns

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// fragile has a column for each decoder.
type fragile struct {
	ID     int64  `parquet:",delta"`
	Short  int16  `parquet:",delta"`
	Name   string `parquet:",dict"`
	Prefix string `parquet:",delta"`
	Blob   []byte `parquet:",dict"`
	Plain  string
	Fixed  [3]byte `parquet:",delta"`
	Flag   bool
	Float  float64 `parquet:",split"`
	When   *time.Time
	Tags   []string `parquet:",list"`
	Legs   []leg    `parquet:",list"`
}

// fragileFiles are small good files of all codecs, with and without the checksums that would
// find most of the damage before the decoders do.
func fragileFiles(tb testing.TB) [][]byte {
	rows := make([]fragile, 60)
	for i := range rows {
		at, fare := time.UnixMilli(int64(i)*1e7).UTC(), float64(i)
		r := &rows[i]
		r.ID, r.Short, r.Name, r.Prefix = int64(i)*7, int16(-i), fmt.Sprint("name-", i%5), fmt.Sprint("prefix-", i)
		r.Blob, r.Plain, r.Fixed, r.Flag, r.Float = []byte(r.Name), r.Prefix, [3]byte{1, byte(i)}, i%3 == 0, float64(i)/3
		if i%4 != 0 {
			r.When = &at
		}
		for j := range i % 4 {
			r.Tags = append(r.Tags, fmt.Sprint("tag-", j))
			r.Legs = append(r.Legs, leg{From: "f", Fare: &fare, Stops: []int32{1, 2}})
		}
	}
	var files [][]byte
	for i, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw} {
		b := foreign(tb, rows, parquet.Compression(codec), parquet.DataPageVersion(1+i%2), parquet.MaxRowsPerRowGroup(40),
			parquet.PageBufferSize(200))
		files = append(files, b, withoutChecksums(tb, b))
	}
	return files
}

// withoutChecksums rewrites a file's pages without their checksums, as many writers leave them.
func withoutChecksums(tb testing.TB, b []byte) []byte {
	tb.Helper()
	f := openBytes(tb, b)
	out := []byte(magic)
	footer := rewriteFooter(tb, b, func(m *format.FileMetaData) {
		for i := range m.RowGroups {
			for j := range m.RowGroups[i].Columns {
				c := &m.RowGroups[i].Columns[j].MetaData
				at, end := chunkStart(c), chunkStart(c)+c.TotalCompressedSize
				start := int64(len(out))
				for at < end {
					if at == c.DataPageOffset {
						c.DataPageOffset = int64(len(out))
					}
					h := new(format.PageHeader)
					reader := (&thrift.CompactProtocol{}).NewReaderFromBytes(b[at:end])
					if err := thrift.NewDecoder(reader).Decode(h); err != nil {
						tb.Fatal(err)
					}
					at += int64(reader.BytesRead())
					h.CRC = 0
					header, err := thrift.Marshal(&thrift.CompactProtocol{}, h)
					if err != nil {
						tb.Fatal(err)
					}
					out = append(append(out, header...), b[at:at+int64(h.CompressedPageSize)]...)
					at += int64(h.CompressedPageSize)
				}
				if c.DictionaryPageOffset > 0 {
					c.DictionaryPageOffset = start
				}
				c.TotalCompressedSize = int64(len(out)) - start
			}
		}
	})[f.body:]
	return append(out, footer...)
}

// readDamaged reads a file that may be damaged in any way. What it must not do, it must not do to
// the test either: panic, hang, or allocate far beyond the file's size.
func readDamaged(t *testing.T, s *Shape[fragile], b []byte) (rows []fragile, err error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	rows, err = bytesRows(s, b)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d bytes were allocated for a file of %d: %v", grown, len(b), err)
	}
	if took > 10*time.Second {
		t.Errorf("it took %s: %v", took, err)
	}
	return rows, err
}

func TestDamagedAnywhere(t *testing.T) {
	s := shape[fragile](t)
	rng := rand.New(rand.NewPCG(7, 7))
	for i, good := range fragileFiles(t) {
		want, err := bytesRows(s, good)
		if err != nil || len(want) != 60 {
			t.Fatalf("file %d: %d rows, %v", i, len(want), err)
		}
		failed := 0
		for range 200 {
			b := bytes.Clone(good)
			for range 1 + rng.IntN(3) {
				b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
			}
			if _, err := readDamaged(t, s, b); err != nil {
				failed++
			}
			if _, err := readDamaged(t, s, good[:rng.IntN(len(good))]); err == nil {
				t.Errorf("file %d: no error for a part of it", i)
			}
		}
		if failed < 50 {
			t.Errorf("file %d: only %d of 200 damaged copies were refused", i, failed)
		}
	}
}

// FuzzRead mutates good files. The checksums are not in the way of those that have none.
func FuzzRead(f *testing.F) {
	for _, b := range fragileFiles(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		_, _ = readDamaged(t, shape[fragile](t), b)
	})
}

// FuzzFlip changes up to eight places of a good file, and keeps the rest: arbitrary mutations
// seldom get past the footer.
func FuzzFlip(f *testing.F) {
	files := fragileFiles(f)
	f.Add(uint8(1), []byte{0, 100, 1})
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		b := bytes.Clone(files[int(which)%len(files)])
		for i := 0; i+3 <= len(edits) && i < 24; i += 3 {
			b[(int(edits[i])<<8|int(edits[i+1]))%len(b)] = edits[i+2]
		}
		_, _ = readDamaged(t, shape[fragile](t), b)
	})
}
