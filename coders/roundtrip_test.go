package coders

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var scalarTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
	reflect.TypeFor[int64](), reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](),
	reflect.TypeFor[uint64](), reflect.TypeFor[string](), reflect.TypeFor[userID](), reflect.TypeFor[time.Duration](), timeType,
}

// drawType draws any type there is a structure for, except recursive ones.
func drawType(t *rapid.T, depth int) reflect.Type {
	scalar := func(types []reflect.Type) reflect.Type { return rapid.SampledFrom(types).Draw(t, "scalar") }
	if depth == 0 {
		return scalar(scalarTypes)
	}
	switch rapid.IntRange(0, 8).Draw(t, "kind") {
	case 0:
		return reflect.SliceOf(drawType(t, depth-1))
	case 1:
		return reflect.ArrayOf(rapid.IntRange(0, 5).Draw(t, "len"), drawType(t, depth-1))
	case 2:
		return reflect.MapOf(scalar(scalarTypes), drawType(t, depth-1))
	case 3:
		return reflect.PointerTo(drawType(t, depth-1))
	case 4, 5:
		fields := make([]reflect.StructField, rapid.IntRange(0, 18).Draw(t, "fields"))
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: drawType(t, depth-1)}
		}
		return reflect.StructOf(fields)
	case 6:
		return scalar([]reflect.Type{reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128]()})
	case 7:
		return scalar([]reflect.Type{reflect.TypeFor[[]byte](), reflect.TypeFor[uuid](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[beamMillis]()})
	}
	return scalar(scalarTypes)
}

// fillValue sets v to any value. Slices and maps are nil only where nil is kept.
func fillValue(t *rapid.T, v reflect.Value, inRow bool) {
	nilled := inRow && rapid.IntRange(0, 3).Draw(t, "nil") == 0
	size := func() int { return rapid.IntRange(0, 4).Draw(t, "size") }
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(rapid.Int64Range(-1<<36, 1<<36).Draw(t, "sec"), rapid.Int64Range(0, 999_999_999).Draw(t, "nsec")).UTC()
		return
	case *netip.Addr:
		*x = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ip")))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int") >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(rapid.Float32().Draw(t, "float")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "float"))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(float64(rapid.Float32().Draw(t, "re")), float64(rapid.Float32().Draw(t, "im"))))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Slice:
		if nilled {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), size(), 8))
		for i := range v.Len() {
			fillValue(t, v.Index(i), false)
		}
	case reflect.Array:
		for i := range v.Len() {
			fillValue(t, v.Index(i), false)
		}
	case reflect.Map:
		if nilled {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range size() {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillValue(t, key, false)
			fillValue(t, value, false)
			v.SetMapIndex(key, value)
		}
	case reflect.Pointer:
		if nilled || rapid.Bool().Draw(t, "nil pointer") {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(t, v.Elem(), false)
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(t, v.Field(i), true)
		}
	default:
		t.Fatalf("no values of %v", v.Type())
	}
}

// Whatever the type and value: decoding gives the value back and leaves what is
// behind it, encoding is a function of the value, and no encoding can be cut short unnoticed.
func TestRoundTripOfAnyType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3)
		c, err := codecOf(typ)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		in, out := reflect.New(typ), reflect.New(typ)
		fillValue(t, in.Elem(), false)
		enc, err := c.append([]byte("head"), in.UnsafePointer(), 0)
		if err != nil {
			t.Fatalf("%v: encoding %v: %v", typ, in.Elem(), err)
		}
		enc = enc[4:]
		rest, err := c.decode(append(bytes.Clone(enc), "tail"...), out.UnsafePointer(), 0)
		if err != nil || string(rest) != "tail" {
			t.Fatalf("%v: decoding %x: %q left, error %v", typ, enc, rest, err)
		}
		if !reflect.DeepEqual(in.Interface(), out.Interface()) {
			t.Fatalf("%v: got %#v, want %#v", typ, out.Elem(), in.Elem())
		}
		again, err := c.append(nil, out.UnsafePointer(), 0)
		if err != nil || !bytes.Equal(again, enc) {
			t.Fatalf("%v: encoded again %x, at first %x, error %v", typ, again, enc, err)
		}
		if len(enc) < c.min {
			t.Fatalf("%v: %x is shorter than the least size %d", typ, enc, c.min)
		}
		for cut := 0; cut < len(enc); cut += 1 + len(enc)/64 {
			if _, err := c.decode(enc[:cut], reflect.New(typ).UnsafePointer(), 0); err == nil {
				t.Fatalf("%v: %x, the first %d bytes of %d, was decoded without error", typ, enc[:cut], cut, len(enc))
			}
		}
	})
}

func roundTrip[T any](t *testing.T, v T) (T, []byte) {
	t.Helper()
	c, err := For[T]()
	if err != nil {
		t.Fatal(err)
	}
	enc, err := c.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	got, rest, err := c.Decode(append(bytes.Clone(enc), 0xff))
	if err != nil || len(rest) != 1 {
		t.Fatalf("decoding %x: %d bytes left, error %v", enc, len(rest), err)
	}
	return got, enc
}

func same[T any](t *testing.T, v T) {
	t.Helper()
	if got, enc := roundTrip(t, v); !reflect.DeepEqual(got, v) {
		t.Errorf("%x: got %#v, want %#v", enc, got, v)
	}
}

type (
	base   struct{ ID int64 }
	Common struct{ Tags []string }
	whole  struct {
		base
		*Common
		_     func()
		Next  *whole
		Kids  []whole
		Index map[string]whole
		Bytes [][]byte
		URL   url.URL
		Pair  pairOf[string, *int32]
		Group listOf[float64]
		When  *time.Time
	}
	ring  []ring
	chain struct{ Next *chain }
)

func TestRoundTripExamples(t *testing.T) {
	at, n := time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC), int32(-1)
	u, err := url.Parse("https://ann:pw@example.com/a%2Fb?q=1#f")
	if err != nil {
		t.Fatal(err)
	}
	same(t, whole{})
	same(t, whole{
		base: base{7}, Common: &Common{Tags: []string{"x", ""}}, Next: &whole{Kids: []whole{}},
		Kids:  []whole{{base: base{8}}, {Index: map[string]whole{"a": {}, "b": {base: base{9}}}}},
		Bytes: [][]byte{{}, {1}}, URL: *u, Pair: pairOf[string, *int32]{"k", &n},
		Group: listOf[float64]{[]float64{1, math.Inf(-1)}}, When: &at,
	})
	same(t, ring{{}, {{}, {{}}}})
	same(t, map[[2]int8]map[string]struct{}{{1, 2}: {"a": {}}, {}: {}})
	same(t, [][2]bool{{true, false}, {}})
	same(t, struct{}{})
	same(t, []struct{}{{}, {}, {}})
	same(t, listOf[byte]{[]byte("abc")})
	same(t, netip.MustParseAddr("fe80::1%eth0"))
	same(t, int64(math.MinInt64))
	same(t, []int32{math.MinInt32, -1, 0, math.MaxInt32})
	same(t, strings.Repeat("long", 1000))
	same(t, time.Time{})
	same(t, time.Unix(-62135596800-5, 999_999_999).UTC()) // before year 1
	p := &n
	same(t, &p)
}

// In a row nil is null; elsewhere Beam has no place for it.
func TestNilIsKeptInFieldsAndEmptyElsewhere(t *testing.T) {
	type row struct {
		B []byte
		S []int
		M map[string]int
	}
	same(t, row{})
	same(t, row{[]byte{}, []int{}, map[string]int{}})
	if got, enc := roundTrip[[]byte](t, nil); got == nil || len(got) > 0 || string(enc) != "\x00" {
		t.Errorf("nil bytes: %x, %#v", enc, got)
	}
	if got, enc := roundTrip[map[string]int](t, nil); got == nil || string(enc) != "\x00\x00\x00\x00" {
		t.Errorf("nil map: %x, %#v", enc, got)
	}
	if got, _ := roundTrip(t, [][]int{nil}); got[0] == nil {
		t.Errorf("nil slice in a slice: %#v", got)
	}
	if got, enc := roundTrip(t, pairOf[string, []byte]{"k", nil}); got.Value == nil || string(enc) != "\x01k\x00" {
		t.Errorf("nil value of a pair: %x, %#v", enc, got)
	}
}

func TestMapsHaveOneEncoding(t *testing.T) {
	c, err := For[map[string]int]()
	if err != nil {
		t.Fatal(err)
	}
	encodings := map[string]bool{}
	for range 50 { // Go's own order differs each time
		m := map[string]int{}
		for i := range 20 {
			m[fmt.Sprint(i)] = i
		}
		enc, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		encodings[string(enc)] = true
	}
	if len(encodings) != 1 {
		t.Errorf("one map has %d encodings", len(encodings))
	}
}

func TestTimeIsTheInstant(t *testing.T) {
	here := time.Date(2026, 7, 1, 12, 0, 0, 5, time.FixedZone("here", 7200))
	got, enc := roundTrip(t, here)
	if !got.Equal(here) || got.Location() != time.UTC {
		t.Errorf("got %v, want %v in UTC", got, here)
	}
	if _, utc := roundTrip(t, here.UTC()); !bytes.Equal(enc, utc) {
		t.Errorf("%x here, %x in UTC", enc, utc)
	}
}

// Structure comes before the marshaler, so that keys have one encoding.
type tagged [4]byte

func (tagged) MarshalBinary() ([]byte, error) { return []byte("text"), nil }

func TestStructureComesBeforeMarshaler(t *testing.T) {
	if _, enc := roundTrip(t, tagged{1, 2, 3, 4}); string(enc) != "\x04\x01\x02\x03\x04" {
		t.Errorf("got %x", enc)
	}
}

func TestNothingIsSharedWithTheInput(t *testing.T) {
	type row struct {
		S string
		B []byte
		A netip.Addr
	}
	c, err := For[row]()
	if err != nil {
		t.Fatal(err)
	}
	v := row{"text", []byte("bytes"), netip.MustParseAddr("1.2.3.4")}
	enc, err := c.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.Decode(enc)
	if err != nil {
		t.Fatal(err)
	}
	clear(enc)
	if !reflect.DeepEqual(got, v) {
		t.Errorf("after the input was overwritten: %+v", got)
	}
}

func TestScalarsAndStructsDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1024)
	free := func(name string, want float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(100, f); got != want {
			t.Errorf("%s: %v allocations, want %v", name, got, want)
		}
	}
	ints, strs, orders := coderOf[adID](t), coderOf[string](t), coderOf[benchOrder](t)
	free("append int64", 0, func() { buf, _ = ints.Append(buf[:0], 1<<40) })
	free("decode int64", 0, func() { _, _, _ = ints.Decode(buf) })
	free("append string", 0, func() { buf, _ = strs.Append(buf[:0], "a string of some length") })
	free("decode string", 1, func() { _, _, _ = strs.Decode(buf) })
	free("append struct", 0, func() { buf, _ = orders.Append(buf[:0], theOrder) })
	free("decode struct", 1, func() { _, _, _ = orders.Decode(buf) })
	when, rec := keyOf[when](t), keyOf[visit](t)
	w := when0
	free("normalize", 0, func() { w = when.Normalize(w) })
	free("hash", 0, func() { sink += rec.Hash(visit{User: "ann", Ad: 3}) + when.Hash(w) })
}

var when0 = when{"x", time.Unix(1, 2), [2]time.Time{}}

func coderOf[T any](t testing.TB) Coder[T] {
	t.Helper()
	c, err := For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Values on a stack that moves while their codec runs deep must not be lost.
func TestStackGrowthWhileEncoding(t *testing.T) {
	type frame struct {
		Deep chain
		Tail string
	}
	c := coderOf[frame](t)
	v := frame{Tail: "still here"}
	for range 5000 {
		next := v.Deep
		v.Deep.Next = &next
	}
	done := make(chan error)
	go func() { // on a small stack
		enc, err := c.Append(nil, v)
		if err == nil {
			var got frame
			if got, _, err = c.Decode(enc); err == nil && !reflect.DeepEqual(got, v) {
				err = fmt.Errorf("got tail %q", got.Tail)
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type benchOrder struct {
	ID    int64
	User  userID
	Cents int32
	At    time.Time
}

var theOrder = benchOrder{ID: 123456789, User: "user-00000001234", Cents: 4999, At: time.Unix(1_700_000_000, 500).UTC()}

func benchCoder[T any](b *testing.B, v T) {
	c := coderOf[T](b)
	buf, err := c.Append(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = c.Append(buf[:0], v)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = c.Decode(buf)
		}
	})
}

func BenchmarkCoder(b *testing.B) {
	b.Run("int64", func(b *testing.B) { benchCoder(b, int64(123456789)) })
	b.Run("string16", func(b *testing.B) { benchCoder(b, "user-00000001234") })
	b.Run("struct4", func(b *testing.B) { benchCoder(b, theOrder) })
	b.Run("kv", func(b *testing.B) { benchCoder(b, pairOf[userID, int64]{"user-00000001234", 17}) })
	b.Run("group100", func(b *testing.B) { benchCoder(b, listOf[int64]{make([]int64, 100)}) })
	b.Run("map10", func(b *testing.B) {
		m := map[string]int64{}
		for i := range 10 {
			m[fmt.Sprint(i)] = int64(i)
		}
		benchCoder(b, m)
	})
}

// A recursive slice gets room as its elements prove to be there.
func TestRecursiveSliceGrows(t *testing.T) {
	long := make(ring, 1000)
	for i := range long {
		long[i] = make(ring, i%7)
		for j := range long[i] {
			long[i][j] = ring{}
		}
	}
	same(t, long)
}

// Other SDKs write iterables that they do not hold in memory in chunks.
func TestIterableInChunks(t *testing.T) {
	const src = "\xff\xff\xff\xff" + "\x02\x01a\x01b" + "\x01\x01c" + "\x03\x01d\x01e\x01f" + "\x00" + "tail"
	got, rest, err := coderOf[[]string](t).Decode([]byte(src))
	if want := strings.Split("abcdef", ""); err != nil || string(rest) != "tail" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %q left, error %v, want %q", got, rest, err, want)
	}
	if _, _, err := coderOf[[]string](t).Decode([]byte("\xff\xff\xff\xff\x02\x01a")); err == nil {
		t.Error("a chunk that is cut short was decoded")
	}
}

// The shape of an embedded struct is not that of the struct around it.
func TestPromotedShapeDoesNotCount(t *testing.T) {
	type around struct {
		pairOf[string, int]
		More bool
	}
	v := around{pairOf[string, int]{"k", 1}, true}
	same(t, v)
	if _, enc := roundTrip(t, v); string(enc) != "\x02\x00\x01k\x01\x01" {
		t.Errorf("got %x, want a row of two fields", enc)
	}
}
