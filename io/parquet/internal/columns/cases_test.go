package columns

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// foreign writes rows by the library's own writer.
func foreign[T any](tb testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// openBytes opens a file in memory.
func openBytes(tb testing.TB, b []byte) *File {
	tb.Helper()
	f, err := OpenReader("memory", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func bytesRows[T any](s *Shape[T], b []byte) ([]T, error) {
	f, err := OpenReader("memory", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return fileRows(s, f, 100)
}

// A canary on the library: values that no longer fit a dictionary must not be lost.
func TestF19DictionaryOverflow(t *testing.T) {
	type wide struct{ Value string }
	rows := make([]wide, 300_000)
	for i := range rows {
		rows[i].Value = fmt.Sprintf("value-%034d", i)
	}
	path := filepath.Join(t.TempDir(), "wide.parquet")
	w, err := Create(shape[wide](t), path, WriterOptions{GroupRows: 50_000, Codec: Snappy})
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(rows, 1000) {
		if err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), w.Publish()); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.meta.RowGroups) != 6 {
		t.Fatalf("%d row groups, want 6", len(f.meta.RowGroups))
	}
	for i, g := range f.meta.RowGroups {
		if n := g.Columns[0].MetaData.NumValues; n != 50_000 || g.NumRows != n {
			t.Errorf("group %d has %d values in %d rows", i, n, g.NumRows)
		}
		encodings := g.Columns[0].MetaData.Encoding
		if !slices.Contains(encodings, format.RLEDictionary) || !slices.Contains(encodings, format.Plain) {
			t.Errorf("group %d is encoded as %v: the dictionary did not overflow", i, encodings)
		}
	}
	got, err := fileRows(shape[wide](t), f, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, rows) {
		t.Errorf("%d rows read, not those written", len(got))
	}
}

func TestF20RowsSpanPages(t *testing.T) {
	type row struct {
		Values []int64 `parquet:",list"`
	}
	var rows []row
	for i := range 6 {
		var r row
		for j := range 7 {
			r.Values = append(r.Values, int64(10*i+j))
		}
		rows = append(rows, r)
	}
	for _, size := range []int{1, 5, 16, 100} {
		b := splitPages(t, foreign(t, rows, parquet.DataPageVersion(1), parquet.PageBufferSize(1<<20)), size)
		f := openBytes(t, b)
		p, err := Bind(shape[row](t), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		for start := range len(rows) + 1 {
			r, err := p.Open(0, int64(start))
			if err != nil {
				t.Fatal(err)
			}
			got, err := drain(r, 2)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rows[start:], got, sameRows); diff != "" {
				t.Errorf("pages of %d values, from row %d: -want +got\n%s", size, start, diff)
			}
		}
	}
}

// splitPages rewrites a file of one list column: into plain v1 pages of size values each, without
// regard to rows. The library cannot write such a file, others do.
func splitPages(tb testing.TB, b []byte, size int) []byte {
	tb.Helper()
	f := openBytes(tb, b)
	leaf := f.leaves[0]
	r := newPageReader(f, 0, leaf)
	if _, err := r.peek(); err != nil {
		tb.Fatal(err)
	}
	p, err := r.data()
	if err != nil {
		tb.Fatal(err)
	}
	if p.enc != format.Plain || p.entries != int(r.left) || p.def != nil {
		tb.Fatalf("not one plain page without nulls: %+v", p)
	}
	levels := func(width int, levels []byte) []byte {
		enc, err := (&rle.Encoding{BitWidth: width}).EncodeLevels(nil, levels)
		if err != nil {
			tb.Fatal(err)
		}
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(enc))), enc...)
	}
	out := []byte(magic)
	for at := 0; at < p.entries; at += size {
		n := min(size, p.entries-at)
		body := levels(1, p.rep[at:at+n])
		body = append(body, levels(1, bytes.Repeat([]byte{leaf.maxDef}, n))...)
		body = append(body, p.body[at*8:(at+n)*8]...)
		h := format.PageHeader{Type: format.DataPage, CompressedPageSize: int32(len(body)), UncompressedPageSize: int32(len(body))}
		h.DataPageHeader.Set(format.DataPageHeader{
			NumValues: int32(n), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		})
		header, err := thrift.Marshal(&thrift.CompactProtocol{}, &h)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(append(out, header...), body...)
	}
	end := len(out)
	footer := rewriteFooter(tb, b, func(m *format.FileMetaData) {
		c := &m.RowGroups[0].Columns[0].MetaData
		c.DataPageOffset, c.DictionaryPageOffset, c.TotalCompressedSize = 4, 0, int64(end-4)
	})[f.body:]
	return append(out, footer...)
}

func TestF21Binding(t *testing.T) {
	type file1 struct {
		Name   string  `parquet:"name"`
		Active bool    `parquet:"is_active"`
		Bio    *string `parquet:"bio"`
	}
	type file2 struct {
		Name   string  `parquet:"name"`
		Active bool    `parquet:"Is_Active"`
		Bio    *string `parquet:"bio"`
	}
	type file3 struct {
		Name string  `parquet:"name"`
		Bio  *string `parquet:"bio"`
	}
	type optional struct {
		Name   string `parquet:"name"`
		Active bool   `parquet:"is_active,optional"`
	}
	bio := "b"
	want := []file1{{"a", true, &bio}, {"b", false, nil}, {"c", true, nil}, {"d", true, &bio}}
	got, err := bytesRows(shape[file1](t), foreign(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	_, err = bytesRows(shape[file1](t), foreign(t, []file2{{"a", true, nil}}))
	wantError(t, err, "memory", `"is_active"`, `"Is_Active"`, "file1.Active")
	_, err = bytesRows(shape[file1](t), foreign(t, []file3{{"a", nil}}))
	wantError(t, err, "memory", `no column "is_active"`, "file1.Active")
	opt, err := bytesRows(shape[optional](t), foreign(t, []file3{{"a", nil}, {"b", nil}}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]optional{{Name: "a"}, {Name: "b"}}, opt); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// wantError checks that an error says all that it must.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func TestF40UnsignedAndLocal(t *testing.T) {
	type row struct {
		U8    uint8
		U32   uint32
		U64   uint64
		Local time.Time `parquet:",timestamp(millisecond:local)"`
		UTC   time.Time `parquet:",timestamp(millisecond)"`
	}
	type wider struct {
		U8  int16
		U32 int64
		U64 uint
	}
	at := time.UnixMilli(86_400_000).UTC()
	want := []row{{250, 4_000_000_000, 18_446_744_073_709_551_615, at, at}}
	b := foreign(t, want)
	machine := time.Local
	defer func() { time.Local = machine }()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{time.UTC, shanghai} {
		time.Local = zone
		got, err := bytesRows(shape[row](t), b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("TZ=%s: -want +got\n%s", zone, diff)
		}
		if s := got[0].Local.Format(time.DateTime); s != "1970-01-02 00:00:00" {
			t.Errorf("TZ=%s: wall clock %s", zone, s)
		}
	}
	wide, err := bytesRows(shape[wider](t), b)
	if err != nil {
		t.Fatal(err)
	}
	if wide[0] != (wider{250, 4_000_000_000, 18_446_744_073_709_551_615}) {
		t.Errorf("in wider fields %v", wide[0])
	}

	p, err := Bind(shape[row](t), openBytes(t, b), shanghai)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.LocalTimes(); !slices.Equal(got, []string{"Local"}) {
		t.Errorf("local times %v", got)
	}
	r, err := p.Open(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := drain(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := at.Add(-8 * time.Hour); !got[0].Local.Equal(want) || !got[0].UTC.Equal(at) {
		t.Errorf("in Shanghai: %v, want %v; adjusted: %v", got[0].Local, want, got[0].UTC)
	}
}

// TestF41Damaged checks the five kinds of damage: an error that names file and reason, at once,
// without memory to speak of.
func TestF41Damaged(t *testing.T) {
	type row struct {
		ID   int64
		Name string
	}
	rows := make([]row, 1000)
	for i := range rows {
		rows[i] = row{int64(i), fmt.Sprint("name ", i%7)}
	}
	good := foreign(t, rows)
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		reason string
	}{
		{"cut to half", func(b []byte) []byte { return b[:len(b)/2] }, "truncated"},
		{"footer length", func(b []byte) []byte { copy(b[len(b)-8:], "\xff\xff\xff\x7f"); return b }, "a footer of 2147483647 bytes"},
		{"footer byte", func(b []byte) []byte {
			// The list of the schema's elements becomes a string.
			b[bytes.LastIndex(b, []byte("row"))-6] ^= 0x10
			return b
		}, "footer"},
		{"negative rows", func(b []byte) []byte {
			return rewriteFooter(t, b, func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = -5, -5 })
		}, "-5 rows"},
		{"magic", func(b []byte) []byte { copy(b, "RAR!"); return b }, `begins with "RAR!"`},
		{"empty", func([]byte) []byte { return nil }, "0 bytes"},
		{"rows for values", func(b []byte) []byte {
			return rewriteFooter(t, b, func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = 1e9, 1e9 })
		}, "1000 values in 1000000000 rows"},
		{"chunk beyond the end", func(b []byte) []byte {
			return rewriteFooter(t, b, func(m *format.FileMetaData) { m.RowGroups[0].Columns[1].MetaData.DataPageOffset = 1 << 40 })
		}, `column "Name" claims`},
		{"compressed bytes", func(b []byte) []byte { b[100] ^= 0xff; return b }, "checksum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.parquet")
			if err := os.WriteFile(path, c.damage(bytes.Clone(good)), 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := tryRows[row](t, path, 100)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			wantError(t, err, path, c.reason)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 20<<20 {
				t.Errorf("%d bytes were allocated", grown)
			}
			if took > time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "none.parquet"))
	wantError(t, err, "none.parquet")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is %v", err)
	}
	_, err = Open(t.TempDir())
	wantError(t, err, "directory")
}

// rewriteFooter changes a file's metadata.
func rewriteFooter(tb testing.TB, b []byte, change func(*format.FileMetaData)) []byte {
	tb.Helper()
	f := openBytes(tb, b)
	change(&f.meta)
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, &f.meta)
	if err != nil {
		tb.Fatal(err)
	}
	out := append(b[:f.body:f.body], footer...)
	out = append(out, byte(len(footer)), byte(len(footer)>>8), byte(len(footer)>>16), byte(len(footer)>>24))
	return append(out, magic...)
}

func TestF49NoRows(t *testing.T) {
	type row struct {
		ID   int64
		Tags []string `parquet:",list"`
	}
	some := func(n int) (rows []row) {
		for i := range n {
			rows = append(rows, row{int64(i), []string{"t"}})
		}
		return rows
	}
	dir := t.TempDir()
	emptyGroup := rewriteFooter(t, foreign(t, some(1)), func(m *format.FileMetaData) { clearGroup(m, 0) })
	three := foreign(t, some(15), parquet.MaxRowsPerRowGroup(5))
	for name, b := range map[string][]byte{
		"a": foreign[row](t, nil),
		"b": emptyGroup,
		"c": rewriteFooter(t, three, func(m *format.FileMetaData) { clearGroup(m, 1) }),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, reverse := range []bool{false, true} {
		if reverse {
			slices.Reverse(l.Files)
		}
		var ids []int64
		for _, path := range l.Files {
			for _, r := range readRows[row](t, path, 3) {
				ids = append(ids, r.ID)
			}
		}
		if want := []int64{0, 1, 2, 3, 4, 10, 11, 12, 13, 14}; !slices.Equal(ids, want) {
			t.Errorf("ids %v, want %v", ids, want)
		}
	}
	// An empty group can be opened, and is at its end.
	f := openBytes(t, emptyGroup)
	p, err := Bind(shape[row](t), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Splits()) != 0 || f.Rows() != 0 {
		t.Errorf("splits %v of %d rows in a file without rows", f.Splits(), f.Rows())
	}
	r, err := p.Open(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := drain(r, 3); len(rows) > 0 || err != nil {
		t.Errorf("%d rows of an empty group, %v", len(rows), err)
	}
	path := filepath.Join(dir, "ours.parquet")
	writeRows[row](t, path, nil, WriterOptions{})
	if rows := readRows[row](t, path, 3); len(rows) != 0 {
		t.Errorf("%d rows of an empty file of ours", len(rows))
	}
}

// clearGroup makes a row group one without rows.
func clearGroup(m *format.FileMetaData, i int) {
	g := &m.RowGroups[i]
	m.NumRows -= g.NumRows
	g.NumRows = 0
	for j := range g.Columns {
		g.Columns[j].MetaData.NumValues = 0
		g.Columns[j].MetaData.DataPageOffset = 0
		g.Columns[j].MetaData.DictionaryPageOffset = 0
		g.Columns[j].MetaData.TotalCompressedSize = 0
	}
}

func TestF50DirectoryRules(t *testing.T) {
	type row struct{ ID int64 }
	dir := t.TempDir()
	write := func(name string, rows int) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		b := []byte(nil)
		if rows > 0 {
			b = foreign(t, make([]row, rows))
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("part-0.parquet", 10)
	write("_SUCCESS", 0)
	write("_metadata", 7)
	write(".part-0.parquet.crc", 0)
	write("part-1.parquet.tmp", 5)
	write("year=2024/part-2.parquet", 3)
	write("_year=2025/part-3.parquet", 4)
	for _, pattern := range []string{dir, dir + "/**", dir + "/*", dir + "/**/*", dir + "/"} {
		l, err := List(pattern)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, path := range l.Files {
			n += len(readRows[row](t, path, 4))
		}
		if n != 17 || len(l.Files) != 3 || l.Skipped != 4 {
			t.Errorf("%s: %d rows of %q, %d skipped; want 17 of 3 files, 4 skipped", pattern, n, l.Files, l.Skipped)
		}
	}
}
