package columns

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"pgregory.net/rapid"
)

type adID string

type embedded struct {
	Region string
	Shard  uint16
}

type leg struct {
	From  adID
	Fare  *float64
	Stops []int32 `parquet:",list"`
	Gate  struct {
		Row  uint8
		Open *time.Time
	}
}

// everyType has every kind of column there is, in the ways that structs spell them.
type everyType struct {
	embedded
	Bool    bool
	Int     int
	Int8    int8
	Int16   int16
	Int32   int32
	Int64   int64
	Uint    uint
	Uint8   uint8
	Uint16  uint16
	Uint32  uint32
	Uint64  uint64
	Float32 float32
	Float64 float64
	String  string
	Ad      adID `parquet:"ad,plain"`
	Bytes   []byte
	Array   [5]byte
	UUID    [16]byte `parquet:"uuid,uuid"`
	Milli   time.Time
	Micro   time.Time     `parquet:",timestamp(microsecond)"`
	Nano    time.Time     `parquet:",timestamp(nanosecond:local)"`
	Raw     int64         `parquet:",timestamp(microsecond)"`
	Day     int32         `parquet:",date"`
	Clock   time.Duration `parquet:",time"`
	Span    time.Duration
	Cents   int64   `parquet:",decimal(2:10)"`
	Delta   int64   `parquet:",delta"`
	Delta32 int32   `parquet:",delta"`
	Prefix  string  `parquet:",delta"`
	Split   float64 `parquet:",split"`
	Split32 float32 `parquet:",split"`
	Dict64  int64   `parquet:",dict"`
	DictArr [3]byte `parquet:",dict"`
	DictRaw []byte  `parquet:",dict"`

	OptBool   bool      `parquet:",optional"`
	OptInt    int32     `parquet:",optional"`
	OptString string    `parquet:",optional"`
	OptTime   time.Time `parquet:",optional"`
	PtrBool   *bool
	PtrInt    *int16
	PtrString *string
	PtrTime   *time.Time
	PtrArray  *[4]byte

	List    []int64 `parquet:",list"`
	OptList []adID  `parquet:",optional,list"`
	Repeat  []string
	Flags   []bool      `parquet:",list"`
	Times   []time.Time `parquet:",list"`
	Blobs   [][]byte    `parquet:",list"`
	PtrList []*int32    `parquet:",list"`
	Deep    [][]int64   `parquet:",list"`
	Group   leg
	PtrLeg  *leg
	Legs    []leg `parquet:",list"`

	hidden int            //lint:ignore U1000 unexported fields are left alone
	Left   map[string]int `parquet:"-"`
}

// rowsOf draws rows: some columns of few values, so that dictionaries have something to do.
func rowsOf(rt *rapid.T, n int) []everyType {
	return rapid.SliceOfN(rapid.Custom(drawRow), n, n).Draw(rt, "rows")
}

func drawRow(t *rapid.T) everyType {
	str := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "ad-1", "ad-2"}), rapid.StringN(0, 40, 200))
	ms := rapid.Map(rapid.Int64Range(-1<<41, 1<<41), func(v int64) time.Time { return time.UnixMilli(v).UTC() })
	ns := rapid.Map(rapid.Int64Range(-1<<60, 1<<60), func(v int64) time.Time { return time.Unix(0, v).UTC() })
	blob := rapid.SliceOfN(rapid.Byte(), 0, 20)
	var r everyType
	r.embedded = embedded{str.Draw(t, "region"), rapid.Uint16().Draw(t, "shard")}
	r.Bool, r.OptBool, r.PtrBool = rapid.Bool().Draw(t, "b"), rapid.Bool().Draw(t, "b"), rapid.Ptr(rapid.Bool(), true).Draw(t, "b")
	r.Int, r.Int8, r.Int16 = rapid.Int().Draw(t, "i"), rapid.Int8().Draw(t, "i"), rapid.Int16().Draw(t, "i")
	r.Int32, r.Int64 = rapid.Int32().Draw(t, "i"), rapid.Int64().Draw(t, "i")
	r.Uint, r.Uint8, r.Uint16 = rapid.Uint().Draw(t, "u"), rapid.Uint8().Draw(t, "u"), rapid.Uint16().Draw(t, "u")
	r.Uint32, r.Uint64 = rapid.Uint32().Draw(t, "u"), rapid.Uint64().Draw(t, "u")
	r.Float32, r.Float64 = rapid.Float32().Draw(t, "f"), rapid.Float64().Draw(t, "f")
	r.Split, r.Split32 = rapid.Float64().Draw(t, "f"), rapid.Float32().Draw(t, "f")
	r.String, r.Ad, r.Prefix = str.Draw(t, "s"), adID(str.Draw(t, "s")), str.Draw(t, "s")
	r.OptString, r.PtrString = str.Draw(t, "s"), rapid.Ptr(str, true).Draw(t, "s")
	r.Bytes, r.DictRaw = blob.Draw(t, "x"), blob.Draw(t, "x")
	copy(r.Array[:], blob.Draw(t, "x"))
	copy(r.UUID[:], blob.Draw(t, "x"))
	copy(r.DictArr[:], blob.Draw(t, "x"))
	r.PtrArray = rapid.Ptr(rapid.Just([4]byte{1, 2}), true).Draw(t, "x")
	r.Milli, r.OptTime, r.PtrTime = ms.Draw(t, "t"), ms.Draw(t, "t"), rapid.Ptr(ms, true).Draw(t, "t")
	r.Micro, r.Nano = ms.Draw(t, "t").Add(7*time.Microsecond), ns.Draw(t, "t")
	r.Raw, r.Day = rapid.Int64().Draw(t, "i"), rapid.Int32().Draw(t, "i")
	r.Clock = time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "d"))
	r.Span, r.Cents = time.Duration(rapid.Int64().Draw(t, "d")), rapid.Int64().Draw(t, "i")
	r.Delta, r.Delta32, r.Dict64 = rapid.Int64().Draw(t, "i"), rapid.Int32().Draw(t, "i"), rapid.Int64Range(0, 3).Draw(t, "i")
	r.OptInt, r.PtrInt = rapid.Int32Range(0, 2).Draw(t, "i"), rapid.Ptr(rapid.Int16(), true).Draw(t, "i")
	r.List = rapid.SliceOfN(rapid.Int64(), 0, 9).Draw(t, "l")
	if rapid.Bool().Draw(t, "null") {
		r.OptList = nil
	} else {
		r.OptList = rapid.SliceOfN(rapid.Map(str, func(s string) adID { return adID(s) }), 0, 4).Draw(t, "l")
	}
	r.Repeat = rapid.SliceOfN(str, 0, 4).Draw(t, "l")
	r.Flags, r.Times = rapid.SliceOfN(rapid.Bool(), 0, 9).Draw(t, "l"), rapid.SliceOfN(ms, 0, 3).Draw(t, "l")
	r.Blobs = rapid.SliceOfN(blob, 0, 3).Draw(t, "l")
	r.PtrList = rapid.SliceOfN(rapid.Ptr(rapid.Int32(), true), 0, 4).Draw(t, "l")
	r.Deep = rapid.SliceOfN(rapid.SliceOfN(rapid.Int64(), 0, 3), 0, 3).Draw(t, "l")
	drawLeg := rapid.Custom(func(t *rapid.T) (l leg) {
		l.From, l.Fare = adID(str.Draw(t, "s")), rapid.Ptr(rapid.Float64(), true).Draw(t, "f")
		l.Stops = rapid.SliceOfN(rapid.Int32(), 0, 3).Draw(t, "l")
		l.Gate.Row, l.Gate.Open = rapid.Uint8().Draw(t, "u"), rapid.Ptr(ms, true).Draw(t, "t")
		return l
	})
	r.Group, r.PtrLeg = drawLeg.Draw(t, "leg"), rapid.Ptr(drawLeg, true).Draw(t, "leg")
	r.Legs = rapid.SliceOfN(drawLeg, 0, 3).Draw(t, "legs")
	return r
}

// sameRows compares rows. Files cannot tell an empty required list from none, nor NaN from
// another; what they can tell apart must be.
var sameRows = cmp.Options{
	cmpopts.EquateNaNs(),
	cmp.AllowUnexported(everyType{}),
	cmpopts.IgnoreFields(everyType{}, "hidden", "Left"),
	cmp.FilterPath(func(p cmp.Path) bool {
		for _, s := range p {
			if f, ok := s.(cmp.StructField); ok && f.Name() == "OptList" {
				return false
			}
		}
		return p.Last().Type().Kind() == reflect.Slice
	}, cmpopts.EquateEmpty()),
}

// TestRoundTrip writes rows by our writer and reads them back, in batches and groups of any size.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		rows := rowsOf(rt, rapid.IntRange(0, 30).Draw(rt, "n"))
		options := WriterOptions{
			GroupRows: rapid.IntRange(1, 40).Draw(rt, "group rows"),
			Codec:     Codec(rapid.IntRange(0, len(codecs)-1).Draw(rt, "codec")),
		}
		path := filepath.Join(dir, "rows.parquet")
		writeRows(t, path, rows, options)
		got := readRows[everyType](t, path, rapid.IntRange(1, 20).Draw(rt, "batch"))
		if diff := cmp.Diff(rows, got, sameRows); diff != "" {
			rt.Fatalf("-written +read\n%s", diff)
		}
	})
}

// TestForeignWriters reads what the library's own writer makes of the rows: with pages so small
// that rows span them, both page versions, dictionaries that overflow, all compressions. Reading
// resumes in the middle.
func TestForeignWriters(t *testing.T) {
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw}
	s := shape[everyType](t)
	rapid.Check(t, func(rt *rapid.T) {
		rows := rowsOf(rt, rapid.IntRange(1, 30).Draw(rt, "n"))
		var b bytes.Buffer
		w := parquet.NewGenericWriter[everyType](&b,
			parquet.PageBufferSize(rapid.IntRange(1, 400).Draw(rt, "page")),
			parquet.DataPageVersion(rapid.IntRange(1, 2).Draw(rt, "version")),
			parquet.DictionaryMaxBytes(rapid.Int64Range(0, 200).Draw(rt, "dictionary")),
			parquet.MaxRowsPerRowGroup(rapid.Int64Range(1, 40).Draw(rt, "group")),
			parquet.Compression(rapid.SampledFrom(codecs).Draw(rt, "codec")),
		)
		for part := range slices.Chunk(rows, rapid.IntRange(1, 30).Draw(rt, "part")) {
			if _, err := w.Write(part); err != nil {
				rt.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		f, err := OpenReader("memory", bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			rt.Fatal(err)
		}
		p, err := Bind(s, f, nil)
		if err != nil {
			rt.Fatal(err)
		}
		at := int64(0)
		for _, split := range f.Splits() {
			start := rapid.Int64Range(0, split.Rows).Draw(rt, "start")
			r, err := p.Open(split.Group, start)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := drain(r, rapid.IntRange(1, 20).Draw(rt, "batch"))
			if err != nil {
				rt.Fatal(err)
			}
			if r.Position() != split.Rows || r.Left() != 0 {
				rt.Fatalf("position %d of %d rows", r.Position(), split.Rows)
			}
			if diff := cmp.Diff(rows[at+start:at+split.Rows], got, sameRows); diff != "" {
				rt.Fatalf("-written +read\n%s", diff)
			}
			at += split.Rows
		}
		if at != int64(len(rows)) || f.Rows() != at {
			rt.Fatalf("%d rows in splits, %d in the file, %d written", at, f.Rows(), len(rows))
		}
	})
}
