package kafka

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// order has a field of each kind that JSON can fill.
type order struct {
	ID    string             `json:"id"`
	Cents int64              `json:"cents"`
	Rate  float64            `json:"rate"`
	Tags  []string           `json:"tags"`
	Meta  map[string]*string `json:"meta"`
	At    time.Time          `json:"at"`
	Next  *order             `json:"next"`
}

// TestJSON decodes one record after the other into values that share nothing.
func TestJSON(t *testing.T) {
	texts := []string{
		`{"id":"a","cents":7,"tags":["x","y"],"meta":{"k":"v"},"next":{"id":"b"}}`,
		`{"id":"c","tags":["z"],"meta":{"l":null},"at":"2026-01-02T03:04:05Z"}`,
		`null`, `{}`, ` {"rate":1.5} `,
	}
	var want, got []order
	rec := &Record{}
	value := []byte{}
	for _, text := range texts {
		var o order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		want = append(want, o)
		value = append(value[:0], text...) // in the buffer of the record before, as the reader has it
		rec.Value = value
		v, err := JSON[order](rec)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got = append(got, v)
	}
	clear(value)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

// TestJSONErrors refuses what is no JSON text for an order, and does not panic.
func TestJSONErrors(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", `{"id":`, `{"id":"a"`, `{"id":"a}`, `{"id":1}`, `{"cents":"x"}`, `{"cents":1.5}`, `{} {}`, `{}x`, `[1]`, `"a"`, "tru", "\x00", `{"id":"\u12"}`,
		strings.Repeat("[", 100_000),
	} {
		rec := &Record{Value: []byte(text)}
		if v, err := JSON[order](rec); err == nil {
			t.Errorf("%.20q was decoded as %+v", text, v)
		} else if errors.Is(err, ErrTombstone) {
			t.Errorf("%.20q was taken for a tombstone", text)
		}
		rec.Value = []byte(`{"cents":3}`)
		if v, err := JSON[order](rec); err != nil || !reflect.DeepEqual(v, order{Cents: 3}) {
			t.Errorf("after %.20q a good record is %+v, error %v", text, v, err)
		}
	}
}

type panics struct{}

func (*panics) UnmarshalJSON([]byte) error { panic("bug") }

// TestJSONPanics turns the panic of a type's own method into an error.
func TestJSONPanics(t *testing.T) {
	if _, err := JSON[panics](&Record{Value: []byte("{}")}); err == nil || !strings.Contains(err.Error(), "bug") {
		t.Errorf("error %v, want one that says bug", err)
	}
}

// FuzzJSON agrees with encoding/json on what is right.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"id":"a","cents":1}`, `null`, `{"tags":["\ud83d\ude00","a\\b"],"meta":{"k":null}}`, `[`, `{"next":{"rate":1e308}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want order
		v, err := JSON[order](&Record{Value: bytes.Clone(text)})
		if json.Unmarshal(text, &want) == nil && err != nil {
			t.Errorf("%q: %v, encoding/json decodes it", text, err)
		}
		if err == nil && len(text) == 0 {
			t.Errorf("zero bytes were decoded as %+v", v)
		}
	})
}

// TestDecoders keeps null, empty and contents apart, and copies.
func TestDecoders(t *testing.T) {
	buf := []byte("text")
	rec := &Record{Key: []byte("k"), Value: buf, Topic: topic, Partition: 2, Offset: 9, Timestamp: 1500}
	s, err1 := String(rec)
	raw, err2 := Bytes(rec)
	m, err3 := MessageOf(String)(rec)
	j, err4 := JSON[Message[string]](&Record{Value: []byte(`"text"`), Key: []byte("k"), Topic: topic, Partition: 2, Offset: 9, Timestamp: 1500})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	clear(buf)
	clear(rec.Key)
	want := Message[string]{Key: []byte("k"), Value: "text", Topic: topic, Partition: 2, Offset: 9, Timestamp: time.UnixMilli(1500)}
	if s != "text" || string(raw) != "text" || !reflect.DeepEqual(m, want) || !reflect.DeepEqual(j, want) {
		t.Errorf("got %q, %q, %+v and %+v; want text and %+v", s, raw, m, j, want)
	}

	tomb := &Record{Timestamp: -1}
	for name, err := range map[string]error{
		"String": second(String(tomb)), "Bytes": second(Bytes(tomb)), "JSON": second(JSON[order](tomb)),
	} {
		if !errors.Is(err, ErrTombstone) {
			t.Errorf("%s gives %v for a tombstone, want ErrTombstone", name, err)
		}
	}
	never := func(*Record) (int, error) { t.Error("the decoder was called for a tombstone"); return 0, nil }
	if m, err := MessageOf(never)(tomb); err != nil || !m.Tombstone || !m.Timestamp.IsZero() {
		t.Errorf("a tombstone is %+v, %v", m, err)
	}
	if m, err := JSON[Message[order]](tomb); err != nil || !m.Tombstone {
		t.Errorf("a tombstone is %+v, %v", m, err)
	}
	if _, err := JSON[Message[order]](&Record{Value: []byte{}}); err == nil {
		t.Error("zero bytes were decoded as JSON")
	}
	empty := &Record{Value: []byte{}}
	if b, err := Bytes(empty); b == nil || err != nil {
		t.Errorf("zero bytes are %#v, %v", b, err)
	}
	if s, err := String(empty); s != "" || err != nil {
		t.Errorf("zero bytes are %q, %v", s, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestValues encodes values for the sink.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		what string
		got  []byte

		want string // %q, or null
	}{
		{"JSON", first(JSONValue(order{ID: "a"})), `{"id":"a","cents":0,"rate":0,"tags":null,"meta":null,"at":"0001-01-01T00:00:00Z","next":null}`},
		{"string", first(StringValue("")), ""},
		{"bytes", first(BytesValue(nil)), ""},
		{"message", first(MessageValue(BytesValue)(Message[[]byte]{Value: []byte("x")})), "x"},
		{"empty message", first(MessageValue(func([]byte) ([]byte, error) { return nil, nil })(Message[[]byte]{})), ""},
	} {
		if c.got == nil || string(c.got) != c.want {
			t.Errorf("%s is encoded as %#v, want %q", c.what, c.got, c.want)
		}
	}
	if b, err := MessageValue(StringValue)(Message[string]{Tombstone: true}); b != nil || err != nil {
		t.Errorf("a tombstone is encoded as %#v, %v", b, err)
	}
	if _, err := JSONValue(func() {}); err == nil {
		t.Error("a function was encoded as JSON")
	}
	if _, err := MessageValue(JSONValue[func()])(Message[func()]{}); err == nil {
		t.Error("the error of the value's encoder is lost")
	}
}

func first(b []byte, _ error) []byte { return b }
