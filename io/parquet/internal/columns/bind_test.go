package columns

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

type cyclic struct {
	Next *cyclic
}

func TestShapeErrors(t *testing.T) {
	type deep struct{ Items []struct{ Price chan int } }
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"scalar", shapeErr[int](), []string{"int", "not a struct"}},
		{"time", shapeErr[time.Time](), []string{"time.Time", "not a struct"}},
		{"no columns", shapeErr[struct{ x int }](), []string{"no exported field"}},
		{"map", shapeErr[struct{ M map[string]int }](), []string{".M", "map[string]int", "maps are not supported"}},
		{"nested", shapeErr[deep](), []string{"deep.Items[].Price", "chan int"}},
		{"cyclic", shapeErr[cyclic](), []string{"cyclic.Next", "contains itself"}},
		{"twice", shapeErr[struct {
			A int `parquet:"x"`
			B int `parquet:"x"`
		}](), []string{".B", `"x"`, ".A"}},
		{"pointer to pointer", shapeErr[struct{ A **int }](), []string{".A", "*int"}},
		{"pointer to slice", shapeErr[struct{ A *[]int }](), []string{".A", "[]int"}},
		{"embedded pointer", shapeErr[struct{ *leg }](), []string{".leg", "embedded"}},
		{"tag", shapeErr[struct {
			A int `parquet:",sorted"`
		}](), []string{".A", "sorted"}},
		{"unit", shapeErr[struct {
			A int64 `parquet:",timestamp(second)"`
		}](), []string{".A", "unknown unit"}},
		{"decimal", shapeErr[struct {
			A int64 `parquet:",decimal(a:b)"`
		}](), []string{".A", "decimal(scale:precision)"}},
		{"element tag", shapeErr[struct {
			A []int `parquet:",list" parquet-element:",what"`
		}](), []string{".A[]", "what"}},
		{"empty group", shapeErr[struct{ A struct{} }](), []string{".A", "no exported field"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.err, c.want...) })
	}
	// All of them are reported at once.
	err := shapeErr[struct {
		A chan int
		B func()
	}]()
	wantError(t, err, ".A", ".B")
}

func shapeErr[T any]() error {
	_, err := ShapeOf[T]()
	return err
}

func TestShapeNames(t *testing.T) {
	type row struct {
		Plain  int32
		Tagged int32 `parquet:"b"`
		Proto  int32 `protobuf:"varint,1,opt,name=snake_case,proto3"`
		Dash   int32 `parquet:"-,"`
		Left   int32 `parquet:"-"`
	}
	var names []string
	for _, f := range shape[row](t).fields {
		names = append(names, f.column)
	}
	// The library writes what we read, so its names are the rule.
	var want []string
	for _, c := range parquet.SchemaOf(row{}).Fields() {
		want = append(want, c.Name())
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-library +ours\n%s", diff)
	}
}

// wideRow is the file of the binding tests.
type wideRow struct {
	I32   int32
	I64   int64
	I8    int8
	U16   uint16
	U32   uint32
	F32   float32
	F64   float64
	Text  string
	Raw   []byte
	Four  [4]byte
	Flag  bool
	Micro time.Time `parquet:",timestamp(microsecond)"`
	Day   int32     `parquet:",date"`
	Clock int64     `parquet:",time(microsecond)"`
	Cents int64     `parquet:",decimal(2:10)"`
	List  []int32   `parquet:",list"`
	Group leg
}

func TestTypeMismatch(t *testing.T) {
	f := openBytes(t, foreign(t, []wideRow{{I32: 1}}))
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"narrower", bindErr[struct{ I64 int32 }](f), []string{"memory", `"I64"`, "INT64", "int32"}},
		{"narrower than physical", bindErr[struct{ I32 int16 }](f), []string{`"I32"`, "INT32", "int16"}},
		{"unsigned from signed", bindErr[struct{ I32 uint64 }](f), []string{`"I32"`, "uint64"}},
		{"signed of the same width", bindErr[struct{ U32 int32 }](f), []string{`"U32"`, "UINT(32)", "int32"}},
		{"float from int", bindErr[struct{ I32 float64 }](f), []string{`"I32"`, "float64"}},
		{"narrower float", bindErr[struct{ F64 float32 }](f), []string{`"F64"`, "DOUBLE", "float32"}},
		{"text from int", bindErr[struct{ I32 string }](f), []string{`"I32"`, "string"}},
		{"int from text", bindErr[struct{ Text int }](f), []string{`"Text"`, "STRING", "int"}},
		{"array of another length", bindErr[struct{ Four [5]byte }](f), []string{`"Four"`, "FIXED_LEN_BYTE_ARRAY(4)", "[5]uint8"}},
		{"bool from int", bindErr[struct{ I8 bool }](f), []string{`"I8"`, "bool"}},
		{"time from int", bindErr[struct{ I64 time.Time }](f), []string{`"I64"`, "time.Time"}},
		{"int from timestamp", bindErr[struct{ Micro int64 }](f), []string{`"Micro"`, "TIMESTAMP(us,utc)", "timestamp(microsecond)"}},
		{"int in another unit", bindErr[struct {
			Micro int64 `parquet:",timestamp"`
		}](f), []string{`"Micro"`, "int64 in ms"}},
		{"int from date", bindErr[struct{ Day int32 }](f), []string{`"Day"`, "DATE", "tagged date"}},
		{"int from time", bindErr[struct{ Clock int64 }](f), []string{`"Clock"`, "time.Duration"}},
		{"decimal of another scale", bindErr[struct {
			Cents int64 `parquet:",decimal(3:10)"`
		}](f), []string{`"Cents"`, "DECIMAL(10,2)", "decimal(2:precision)"}},
		{"scalar from list", bindErr[struct{ List int32 }](f), []string{`"List"`, "LIST", "int32"}},
		{"list from scalar", bindErr[struct{ I32 []int32 }](f), []string{`"I32"`, "a list"}},
		{"element", bindErr[struct{ List []string }](f), []string{`"List.list.element"`, "string", "List[]"}},
		{"scalar from group", bindErr[struct{ Group string }](f), []string{`"Group"`, "group", "string"}},
		{"group from scalar", bindErr[struct{ I32 leg }](f), []string{`"I32"`, "a group"}},
		{"nested", bindErr[struct{ Group struct{ From int64 } }](f), []string{`"Group.From"`, "Group.From", "int64"}},
		{"nested missing", bindErr[struct{ Group struct{ Form string } }](f), []string{`"Group.Form"`, `"From"`}},
		{"nothing bound", bindErr[struct {
			None int `parquet:",optional"`
		}](f), []string{"no field"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.err, c.want...) })
	}
	err := bindErr[struct{ I32, Text bool }](f)
	wantError(t, err, `"I32"`, `"Text"`)
}

func bindErr[T any](f *File) error {
	s, err := ShapeOf[T]()
	if err != nil {
		return err
	}
	_, err = Bind(s, f, nil)
	return err
}

func TestWidening(t *testing.T) {
	type wider struct {
		I32   int
		I8    int16
		U16   int32
		U32   uint64
		F32   float64
		Text  []byte
		Four  []byte
		Micro int64         `parquet:",timestamp(microsecond)"`
		Day   time.Time     `parquet:",date"`
		Clock time.Duration `parquet:",time(microsecond)"`
	}
	at := time.UnixMicro(1_700_000_000_123_456).UTC()
	rows := []wideRow{{
		I32: -7, I8: -128, U16: 65535, U32: 4_294_967_295, F32: 1.5, Text: "text", Four: [4]byte{1, 2, 3, 4},
		Micro: at, Day: -1, Clock: int64(time.Hour / time.Microsecond),
	}}
	got, err := bytesRows(shape[wider](t), foreign(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	want := []wider{{
		-7, -128, 65535, 4_294_967_295, 1.5, []byte("text"), []byte{1, 2, 3, 4},
		at.UnixMicro(), time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), time.Hour,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Byte slices of a dictionary must not be one memory: rows are the program's to change.
func TestByteSlicesAreNotShared(t *testing.T) {
	type row struct {
		Raw []byte `parquet:",dict"`
	}
	rows, err := bytesRows(shape[row](t), foreign(t, []row{{[]byte("same")}, {[]byte("same")}}))
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Raw[0] = 'X'
	_ = append(rows[0].Raw, "more"...)
	if string(rows[1].Raw) != "same" {
		t.Errorf("the second row is %q", rows[1].Raw)
	}
}

func TestNulls(t *testing.T) {
	type inner struct{ B *string }
	type file struct {
		ID int64
		A  *int32
		In *inner
		L  []*int64 `parquet:",list"`
	}
	type strict struct {
		ID int64
		A  int32
	}
	type lenient struct {
		ID int64
		A  int32   `parquet:",optional"`
		In inner   `parquet:",optional"`
		L  []int64 `parquet:",list" parquet-element:",optional"`
	}
	type group struct {
		ID int64
		In inner
	}
	type elements struct {
		ID int64
		L  []int64 `parquet:",list"`
	}
	one, text, long := int32(1), "x", int64(9)
	rows := []file{
		{0, &one, &inner{&text}, []*int64{&long}},
		{1, nil, nil, []*int64{&long, nil}},
		{2, &one, &inner{}, nil},
		{3, nil, nil, []*int64{nil}},
	}
	b := foreign(t, rows)

	_, err := bytesRows(shape[strict](t), b)
	var bad *RowError
	if !errors.As(err, &bad) || bad.Row != 1 || bad.Column != "A" || bad.File != "memory" {
		t.Errorf("null in a field that cannot be null: %v", err)
	}
	wantError(t, err, "row 1", `"A"`, "strict.A", "optional")

	got, err := bytesRows(shape[lenient](t), b)
	if err != nil {
		t.Fatal(err)
	}
	want := []lenient{{0, 1, inner{&text}, []int64{9}}, {1, 0, inner{}, []int64{9, 0}}, {2, 1, inner{}, nil}, {3, 0, inner{}, []int64{0}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	wantRejects(t, shape[strict](t), b, []int64{1, 3}, func(r strict) int64 { return r.ID })
	wantRejects(t, shape[group](t), b, []int64{1, 3}, func(r group) int64 { return r.ID })
	wantRejects(t, shape[elements](t), b, []int64{1, 3}, func(r elements) int64 { return r.ID })
}

// wantRejects reads four rows with ids from 0 on, of which some are rejected and the others must
// be there, whatever the batches are.
func wantRejects[T any](t *testing.T, s *Shape[T], b []byte, want []int64, id func(T) int64) {
	t.Helper()
	p, err := Bind(s, openBytes(t, b), nil)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size <= 5; size++ {
		r, err := p.Open(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var rejected, kept []int64
		r.OnReject(func(e *RowError) { rejected = append(rejected, e.Row) })
		rows, err := drain(r, size)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			kept = append(kept, id(row))
		}
		if diff := cmp.Diff(want, rejected); diff != "" {
			t.Errorf("batches of %d, rejected: %s", size, diff)
		}
		if diff := cmp.Diff([]int64{0, 2}, kept); diff != "" {
			t.Errorf("batches of %d, kept: %s", size, diff)
		}
	}
}

// Lists have had several forms; see LogicalTypes.md of the format.
func TestOldLists(t *testing.T) {
	type row struct {
		L []int32 `parquet:"l"`
	}
	int32s := parquet.Leaf(parquet.Int32Type)
	for _, c := range []struct {
		name string
		list parquet.Node
		note bool
	}{
		{"repeated", parquet.Repeated(int32s), false},
		{"two levels", parquet.Group{"element": parquet.Repeated(int32s)}, true},
		{"bag", parquet.Group{"bag": parquet.Repeated(parquet.Group{"array_element": int32s})}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := parquet.NewSchema("row", parquet.Group{"l": c.list})
			var b strings.Builder
			w := parquet.NewWriter(&b, schema)
			value := func(v int32, rep int) parquet.Value { return parquet.Int32Value(v).Level(rep, 1, 0) }
			if _, err := w.WriteRows([]parquet.Row{{value(1, 0), value(2, 1)}, {parquet.NullValue().Level(0, 0, 0)}, {value(3, 0)}}); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			file := []byte(b.String())
			if c.note {
				file = rewriteFooter(t, file, func(m *format.FileMetaData) {
					m.Schema[1].ConvertedType = thrift.New(deprecated.List)
				})
			}
			got, err := bytesRows(shape[row](t), file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]row{{[]int32{1, 2}}, {nil}, {[]int32{3}}}, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestInt96Times(t *testing.T) {
	type file struct{ At deprecated.Int96 }
	type row struct{ At time.Time }
	// Julian day 2440589, one hour.
	hour := uint64(time.Hour)
	got, err := bytesRows(shape[row](t), foreign(t, []file{{deprecated.Int96{uint32(hour), uint32(hour >> 32), 2440589}}}))
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(1970, 1, 2, 1, 0, 0, 0, time.UTC); len(got) != 1 || !got[0].At.Equal(want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestOpenElsewhere(t *testing.T) {
	type row struct{ ID int64 }
	p, err := Bind(shape[row](t), openBytes(t, foreign(t, make([]row, 5))), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Open(1, 0)
	wantError(t, err, "memory", "no row group 1")
	_, err = p.Open(0, 6)
	wantError(t, err, "memory", "no row 6")
	_, err = p.Open(0, -1)
	wantError(t, err, "no row -1")
}
