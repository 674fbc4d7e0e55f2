package coders

import (
	"bytes"
	"net/netip"
	"testing"
	"time"
)

// everything holds each kind of encoding at least once.
type everything struct {
	Bool   bool
	Ints   [2]int8
	Half   []uint16
	Int32  *int32
	Uint   uint
	Float  float64
	Imag   complex64
	Text   map[userID][]byte
	ID     uuid
	At     *time.Time
	Addr   netip.Addr
	Kids   []everything
	By     map[int64]*everything
	Pair   pairOf[string, *int]
	Group  listOf[bool]
	Millis beamMillis
	Last   **uint32
}

// decoders decode a T, and hold that what was decoded has an encoding which
// decodes to the same, and which is no longer than any other could make it.
var decoders = []func(t *testing.T, src []byte){
	fuzzOne[everything], fuzzOne[ring], fuzzOne[chain], fuzzOne[graph], fuzzOne[[]string], fuzzOne[map[string]map[bool]int32],
	fuzzOne[listOf[pairOf[int64, string]]], fuzzOne[[][3]time.Time], fuzzOne[rowNullable], fuzzOne[struct{}], fuzzOne[[]struct{}],
	fuzzOne[when], fuzzOne[panicky],
}

func fuzzOne[T any](t *testing.T, src []byte) {
	c := coderOf[T](t)
	kept := bytes.Clone(src)
	v, rest, err := c.Decode(src)
	if !bytes.Equal(src, kept) {
		t.Fatalf("%T: decoding changed its input", v)
	}
	if !bytes.HasSuffix(src, rest) {
		t.Fatalf("%T: the rest is not the end of the input", v)
	}
	if err != nil {
		return
	}
	enc, err := c.Append(nil, v)
	if err != nil {
		t.Fatalf("%T: decoded from %x, but encoding it fails: %v", v, src, err)
	}
	again, rest, err := c.Decode(enc)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%T: %x: %d bytes left, error %v", v, enc, len(rest), err)
	}
	if enc2, err := c.Append(nil, again); err != nil || !bytes.Equal(enc, enc2) {
		t.Fatalf("%T: encoded as %x, then as %x, error %v", v, enc, enc2, err)
	}
}

func FuzzDecode(f *testing.F) {
	seed := func(kind byte, enc []byte, err error) {
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, enc)
	}
	n, at, u := int32(-5), time.Unix(-1, 7).UTC(), uint32(9)
	pu := &u
	e := everything{Int32: &n, At: &at, Last: &pu, Addr: netip.MustParseAddr("::1"), Text: map[userID][]byte{"a": {1}}, Half: []uint16{1}}
	e.Kids, e.By = []everything{{Bool: true}}, map[int64]*everything{-1: {}, 2: nil}
	enc, err := coderOf[everything](f).Append(nil, e)
	seed(0, enc, err)
	enc, err = coderOf[ring](f).Append(nil, ring{{}, {{}, {{}}}})
	seed(1, enc, err)
	enc, err = coderOf[chain](f).Append(nil, chain{&chain{&chain{}}})
	seed(2, enc, err)
	enc, err = coderOf[graph](f).Append(nil, graph{"a": {"b": {}}, "c": nil})
	seed(3, enc, err)
	enc, err = coderOf[[][3]time.Time](f).Append(nil, [][3]time.Time{{at}, {1: at}})
	seed(7, enc, err)
	f.Add(byte(6), []byte("\xff\xff\xff\xff\x02\x01\x01a\x02\x01b\x00"))
	f.Add(byte(4), []byte("\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, kind byte, src []byte) {
		decoders[int(kind)%len(decoders)](t, src)
	})
}
