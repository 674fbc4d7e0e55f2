//lint:file-ignore U1000 unexported fields are there to be refused

package coders

import (
	"errors"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

type (
	hidden struct {
		ID   int
		meta map[string]string
	}
	deep struct {
		Lines []map[string]*hidden
	}
	halfMarshaler struct{ x int }
	embedsAddr    struct {
		netip.Addr
		port int
	}
	badShape struct{ A, B, C int }
	badList  struct {
		A []int
		B int
	}
	badHidden struct{ k, v int }
	oddShape  struct{ A int }
	message   struct{ state int }
)

func (halfMarshaler) MarshalBinary() ([]byte, error) { return nil, nil }
func (badShape) CoderShape() Shape                   { return ShapeKV }
func (badHidden) CoderShape() Shape                  { return ShapeKV }
func (badList) CoderShape() Shape                    { return ShapeIterable }
func (oddShape) CoderShape() Shape                   { return 7 }
func (*message) ProtoReflect()                       {}

func forError[T any]() error { _, err := For[T](); return err }

func keyError[K comparable]() error { _, err := ForKey[K](); return err }

func TestErrorsOfDerivation(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{forError[hidden](), "coders: cannot encode hidden.meta: unexported field of type map[string]string; " +
			"export it or implement encoding.BinaryMarshaler and BinaryUnmarshaler on hidden"},
		{forError[deep](), "coders: cannot encode deep.Lines[][value].meta: unexported field of type map[string]string; " +
			"export it or implement encoding.BinaryMarshaler and BinaryUnmarshaler on hidden"},
		{forError[pairOf[string, listOf[hidden]]](), "coders: cannot encode pairOf[string,listOf[hidden]].Value[].meta: unexported field"},
		{forError[struct{ F func() }](), "coders: cannot encode struct { F func() }.F: func() cannot be encoded; leave it out"},
		{forError[[]chan int](), "coders: cannot encode []chan int[]: chan int cannot be encoded; leave it out"},
		{forError[any](), "coders: cannot encode interface {}: interface {} is an interface; name a concrete type or register a coder"},
		{forError[struct{ E error }](), ".E: error is an interface; name a concrete type"},
		{forError[struct{ P uintptr }](), ".P: uintptr is an address, which means nothing in another process"},
		{forError[sync.Mutex](), "coders: cannot encode Mutex.mu: unexported field"},
		{forError[struct{ M sync.Mutex }](), "unexported field"},
		{forError[halfMarshaler](), "coders: cannot encode halfMarshaler: coders.halfMarshaler has MarshalBinary but no UnmarshalBinary; " +
			"implement encoding.BinaryUnmarshaler on *halfMarshaler"},
		{forError[embedsAddr](), "coders: cannot encode embedsAddr: MarshalBinary may be that of an embedded field of embedsAddr and leave out the rest"},
		{forError[badShape](), "coders: cannot encode badShape: CoderShape says ShapeKV, which needs exactly two exported fields"},
		{forError[badHidden](), "which needs exactly two exported fields"},
		{forError[badList](), "CoderShape says ShapeIterable, which needs exactly one field, a slice"},
		{forError[oddShape](), "CoderShape says 7, which is no shape; return ShapeKV or ShapeIterable"},
		{forError[map[*int]string](), "coders: cannot encode map[*int]string[key]: a key that holds the ptr *int would not be found again"},
		{forError[map[[2]any]int](), "would not be found again"},
		{forError[struct{ M *message }](), ".M: protobuf message; hold it by pointer and call protocoder.Register[*coders.message]()"},
		{Register[int](nil), "coders: cannot register int: the coder is nil"},
		{Register[beamMillis](fixed64{}), "coders: cannot register coders.beamMillis: it has a coder already; register each type once"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}

type lateType int64

func TestRegisterAfterDerivation(t *testing.T) {
	coderOf[[]lateType](t)
	err := Register(Coder[lateType](&derived[lateType]{known.codecs[reflect.TypeFor[int64]()]}))
	if err == nil || !strings.Contains(err.Error(), "its coder was derived before; register it first thing in main") {
		t.Errorf("got %v", err)
	}
}

// F10: a key type whose equal values may have different encodings, or whose
// unequal values the same, is refused when the pipeline is built.
func TestF10NonCanonicalKeysAreRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{keyError[float64](), "coders: cannot use as a key float64: float64 has no canonical encoding (0 and -0 are equal, NaN is not equal to itself); " +
			"use an integer, such as a number of cents, or a string"},
		{keyError[struct{ At [2]struct{ Lat float32 } }](), ".At[].Lat: float32 has no canonical encoding"},
		{keyError[complex64](), "complex64 has no canonical encoding"},
		{keyError[*visit](), "coders: cannot use as a key *coders.visit: *coders.visit has no canonical encoding " +
			"(pointers are equal by address, not by content); use the value, or the fields that identify it"},
		{keyError[struct{ V *visit }](), ".V: *coders.visit has no canonical encoding"},
		{keyError[any](), "has no canonical encoding (what an interface holds is not known); use a concrete type"},
		{keyError[struct{ E error }](), ".E: error has no canonical encoding"},
		{keyError[chan int](), "chan int has no canonical encoding (an address means nothing in another process)"},
		{keyError[beamMillis](), "coders: cannot use as a key beamMillis: coders.beamMillis has a registered coder, and nothing says"},
		{keyError[struct{ M [1]beamMillis }](), ".M[]: coders.beamMillis has a registered coder"},
		{keyError[netip.Addr](), "coders: cannot use as a key Addr: netip.Addr is encoded by its MarshalBinary, and nothing says"},
		{keyError[struct{ A netip.Addr }](), ".A: netip.Addr is encoded by its MarshalBinary"},
		{keyError[badHidden](), "coders: cannot use as a key badHidden.k: unexported field of type int; export it"},
		{keyError[*message](), "*coders.message has no canonical encoding"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}

// F10: one instant is one key, wherever its clock hangs and however the
// time.Time came about.
func TestF10EqualInstantsAreOneKey(t *testing.T) {
	k := keyOf[when](t)
	if k.Normalize == nil {
		t.Fatal("a key with a time needs a normal form")
	}
	now := time.Now() // with a monotonic clock reading
	counts, encodings, hashes := map[when]int{}, map[string]bool{}, map[uint64]bool{}
	raw := map[when]bool{}
	for i := range 1000 {
		at := now.In(time.FixedZone("zone", i%24*3600))
		if i%5 == 0 {
			at = now
		}
		key := when{Name: "ann", At: at, Days: [2]time.Time{at.UTC(), at}}
		raw[key] = true
		enc, err := k.Coder.Append(nil, key)
		if err != nil {
			t.Fatal(err)
		}
		encodings[string(enc)] = true
		hashes[k.Hash(key)] = true
		hashes[k.Hash(k.Normalize(key))] = true
		counts[k.Normalize(key)]++
		decoded, _, err := k.Coder.Decode(enc)
		if err != nil || decoded != k.Normalize(key) {
			t.Fatalf("decoded %v, normalized %v, error %v", decoded, k.Normalize(key), err)
		}
	}
	if len(raw) < 2 {
		t.Fatal("the keys do not differ under ==, so nothing was shown")
	}
	if len(counts) != 1 || len(encodings) != 1 || len(hashes) != 1 {
		t.Errorf("%d keys, %d encodings, %d hashes; want one of each", len(counts), len(encodings), len(hashes))
	}
}

func TestNormalizeIsNilWhereEqualsAgrees(t *testing.T) {
	if keyOf[visit](t).Normalize != nil || keyOf[string](t).Normalize != nil || keyOf[pairOf[string, int]](t).Normalize != nil {
		t.Error("a normal form where none is needed")
	}
	if a, b := (visit{User: "x"}), (visit{User: "x"}); keyOf[visit](t).Hash(a) != keyOf[visit](t).Hash(b) {
		t.Error("equal keys, different hashes")
	}
}

func TestEmptyStructIsAKey(t *testing.T) {
	k := keyOf[struct{}](t)
	enc, err := k.Coder.Append(nil, struct{}{})
	if err != nil || string(enc) != "\x00\x00" || k.Hash == nil || k.Normalize != nil {
		t.Errorf("%x, %v", enc, err)
	}
}

func decodeError[T any](t *testing.T, src string) error {
	t.Helper()
	_, rest, err := coderOf[T](t).Decode([]byte(src))
	if err != nil && string(rest) != src {
		t.Errorf("after %v, %q is left of %q", err, rest, src)
	}
	return err
}

func TestErrorsOfDecoding(t *testing.T) {
	type line struct {
		SKU string
		N   int32
	}
	type order struct {
		ID    int64
		Lines []line
		At    *time.Time
	}
	const many = "\x7f\xff\xff\xff"
	for _, c := range []struct {
		err  error
		want string
	}{
		{decodeError[order](t, "\x03\x00\x07\x00\x00\x00\x02\x02\x00\x01a\x05\x02\x00\x63b"),
			"coders: cannot decode order.Lines[1].SKU: 99 bytes were announced and 1 are left; " +
				"the bytes are damaged, or were written for another type or version of it"},
		{decodeError[order](t, "\x02\x00\x07\x00\x00\x00\x00"), "cannot decode order: a row of 2 fields, but the type has 3"},
		{decodeError[order](t, "\x03\x01\x01"), "order.ID: null, but the field cannot hold it"},
		{decodeError[order](t, "\x03\x01\x08"), "the bitmap of nulls names fields that the type does not have"},
		{decodeError[order](t, "\x03\x02\x04\x01"), "the bitmap of nulls names fields that the type does not have"},
		{decodeError[order](t, "\x03\x05\x04"), "bitmap of nulls: 5 bytes were announced and 1 are left"},
		{decodeError[order](t, "\x03\x00\x07"+many), "order.Lines: 2147483647 elements were announced and 0 bytes are left"},
		{decodeError[order](t, "\x03\x01\x02\x07\x02\x00\x00\x80\x94\xeb\xdc\x03"), "order.At: 1000000000 nanoseconds are not below one second"},
		{decodeError[order](t, "\x03\x01\x02\x07\x03\x00"), "order.At: a time begins with 02 00, got 03 00"},
		{decodeError[order](t, ""), "order: the bytes end within a variable-length integer"},
		{decodeError[int64](t, "\xff\xff"), "the bytes end within a variable-length integer"},
		{decodeError[int64](t, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "takes more than 64 bits"},
		{decodeError[int32](t, "\x80\x80\x80\x80\x10"), "the integer 4294967296 is out of range"},
		{decodeError[uint32](t, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "the integer -1 is out of range"},
		{decodeError[bool](t, "\x02"), "a bool is 0 or 1, got 2"},
		{decodeError[float64](t, "\x00\x00"), "8 bytes are needed and 2 are left"},
		{decodeError[complex128](t, "\x00"), "16 bytes are needed and 1 are left"},
		{decodeError[uuid](t, "\x02ab"), "2 bytes, but the array has 16"},
		{decodeError[[2]bool](t, "\x00\x00\x00\x01\x00"), "1 elements, but the array has 2"},
		{decodeError[*int](t, "\x02"), "whether a pointer is nil is said by 0 or 1"},
		{decodeError[map[string]bool](t, "\x00\x00\x00\x02\x01a\x00\x01a\x01"), "a map has the same key twice"},
		{decodeError[map[string]bool](t, "\x00\x00\x00\x01\x01a\x07"), "map[string]bool[a]: a bool is 0 or 1"},
		{decodeError[map[string]bool](t, "\xff\xff\xff\xff"), "a map of unknown size"},
		{decodeError[netip.Addr](t, "\x02ab"), "cannot decode Addr: UnmarshalBinary:"},
		{decodeError[panicky](t, "\x01a"), "UnmarshalBinary: it panicked: index out of range"},
		{decodeError[[]beamMillis](t, "\x00\x00\x00\x01abc"), "[]coders.beamMillis[0]: eight bytes are needed"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}

type panicky struct{ x byte }

func (p panicky) MarshalBinary() ([]byte, error) {
	if p.x == 0 {
		return nil, errors.New("nothing to marshal")
	}
	return []byte{1, p.x}, nil
}

func (p *panicky) UnmarshalBinary(b []byte) error {
	if len(b) < 2 {
		panic("index out of range")
	}
	if p.x = b[1]; p.x == 0 {
		return errors.New("0 is never marshaled")
	}
	return nil
}

// silent is a registered coder that breaks its contract.
type silent struct{}

func (silent) Append(dst []byte, _ quiet) ([]byte, error) { return dst, nil }
func (silent) Decode(src []byte) (quiet, []byte, error)   { return quiet{}, src, nil }

type quiet struct{ c chan int }

var registeredQuiet = Register[quiet](silent{})

func TestErrorsOfEncoding(t *testing.T) {
	if registeredQuiet != nil {
		t.Fatal(registeredQuiet)
	}
	loop := &chain{}
	loop.Next = loop
	at := time.Unix(1, 2)
	if err := encodeError(t, *loop); len(err.Error()) > 500 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{encodeError(t, *loop), ".Next.Next: the value nests more than 10000 deep; break the cycle that its pointers form"},
		{encodeError(t, map[time.Time]int{at: 1, at.In(time.FixedZone("x", 60)): 2}), "two keys of the map have one encoding"},
		{encodeError(t, []panicky{{1}, {0}}), "coders: cannot encode []coders.panicky[1]: MarshalBinary: nothing to marshal"},
		{encodeError(t, map[string]panicky{"k": {}}), "map[string]coders.panicky[k]: MarshalBinary: nothing to marshal"},
		{encodeError(t, pairOf[string, panicky]{}), "pairOf[string,panicky].Value: MarshalBinary: nothing to marshal"},
		{encodeError(t, quiet{}), "the registered coder of coders.quiet wrote nothing; an encoding takes at least one byte"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got  %.300v\nwant %s", c.err, c.want)
		}
	}
}

func encodeError[T any](t *testing.T, v T) error {
	t.Helper()
	dst, err := coderOf[T](t).Append([]byte("kept"), v)
	if string(dst) != "kept" {
		t.Errorf("after %.100v, dst is %q", err, dst)
	}
	return err
}

// A few bytes that announce a great deal must not take memory for it, nor may
// each level of a recursive type claim as much again.
func TestDecodeIsBoundedByItsInput(t *testing.T) {
	const announce = "\x00\x00\x40\x00" // 16 Ki elements, which the bytes behind could be
	nested := []byte(strings.Repeat(announce, 16<<10))
	flat := append([]byte("\x00\x01\x00\x00"), make([]byte, 64<<10-1)...)
	for name, decode := range map[string]func() error{
		"recursive slice": func() error { _, _, err := coderOf[ring](t).Decode(nested); return err },
		"recursive map":   func() error { _, _, err := coderOf[graph](t).Decode(nested); return err },
		"strings":         func() error { _, _, err := coderOf[[]string](t).Decode(flat); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode()
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 64*uint64(len(nested)) {
			t.Errorf("%s: %d bytes allocated for %d", name, got, len(nested))
		}
	}
}

type graph map[string]graph

func TestConcurrentDerivation(t *testing.T) {
	type inner struct{ Next *inner }
	type outer struct{ In map[string]inner }
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := For[outer]()
			if err != nil {
				t.Error(err)
				return
			}
			enc, err := c.Append(nil, outer{map[string]inner{"a": {Next: &inner{}}}})
			if err != nil {
				t.Error(err)
			}
			if _, _, err := c.Decode(enc); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A type that fails must not leave behind codecs that refer to it.
func TestFailedDerivationLeavesNothing(t *testing.T) {
	type bad struct {
		Self map[string]leaf
		C    chan int
	}
	if err := forError[bad](); err == nil {
		t.Fatal("no error")
	}
	same(t, leaf{N: 3})
	if err := forError[knot](); err == nil {
		t.Error("knot: no error")
	}
	if err := forError[tie](); err == nil {
		t.Error("tie refers to knot, which cannot be encoded, and has a coder")
	}
}

type (
	leaf struct{ N int }
	knot struct {
		Tie *tie
		C   chan int
	}
	tie struct{ Knot *knot }
)
