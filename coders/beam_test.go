package coders

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// vector is a section of Beam's standard_coders.json.
type vector struct {
	Coder struct {
		URN              string
		Components       []struct{ URN string }
		Payload          string            `json:"payload_hex"`
		NonDeterministic bool              `json:"non_deterministic"`
		State            map[string]string // what a runner would answer
	}
	Nested   *bool
	Examples []struct {
		Hex   string
		Value json.RawMessage
	}
}

// name is how the table calls the section: the coder, its components, and for
// a row its fields and what in its schema changes the encoding.
func (v vector) name() string {
	name := v.Coder.URN
	for _, c := range v.Coder.Components {
		name += " " + c.URN
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "beam:coder:", ""), ":v1", "")
	var row map[string]json.RawMessage
	if name == "row" && json.Unmarshal(v.Examples[0].Value, &row) == nil {
		name += " " + strings.Join(slices.Sorted(maps.Keys(row)), " ")
		if strings.Contains(v.Coder.Payload, hex.EncodeToString([]byte("millis_instant"))) {
			name += " in millis"
		}
		const precision = "2a040a0218" // an option of the logical type timestamp
		if _, digits, ok := strings.Cut(v.Coder.Payload, precision); ok && len(row) == 1 {
			name += " precision " + digits[:2]
		}
	}
	return name
}

// elsewhere are the coders that no Go type derives, and who has them.
var elsewhere = map[string]string{
	"interval_window":                             "windows are the engine's",
	"global_window":                               "windows are the engine's",
	"iterable global_window":                      "windows are the engine's",
	"state_backed_iterable global_window":         "windows are the engine's",
	"custom_window interval_window":               "windows are the engine's",
	"windowed_value varint global_window":         "the portable runner's",
	"windowed_value varint interval_window":       "the portable runner's",
	"param_windowed_value varint interval_window": "the portable runner's",
	"param_windowed_value varint global_window":   "the portable runner's",
	"timer string_utf8 global_window":             "the portable runner's",
}

// checks are the coders that For derives, or has registered.
var checks = map[string]check{
	"bytes":                        prefixing(as(byteString)),
	"string_utf8":                  prefixing(as(plain[string])),
	"nullable bytes":               as(nullableBytes),
	"bool":                         as(plain[bool]),
	"varint":                       both(as(plain[int64]), as(plain[int])),
	"double":                       as(number),
	"kv bytes varint":              as(keyed(plain[int64])),
	"kv bytes bool":                as(keyed(plain[bool])),
	"kv bytes bytes":               kvOfBytes,
	"sharded_key string_utf8":      as(shardedKey),
	"iterable varint":              both(as(list(plain[int64])), as(group(plain[int64]))),
	"iterable bytes":               both(as(list(byteString)), as(group(byteString))),
	"iterable bool":                both(as(list(plain[bool])), as(group(plain[bool]))),
	"state_backed_iterable varint": stateBacked(as(group(plain[int64]))),
	"state_backed_iterable bytes":  stateBacked(as(group(byteString))),
	"state_backed_iterable bool":   stateBacked(as(group(plain[bool]))),

	"row arr f64 i32 str": rowOf([]string{"str", "i32", "f64", "arr"},
		func(r *rowPlain) []any { return []any{&r.Str, &r.I32, &r.F64, &r.Arr} }),
	"row f64 i32 str": rowOf([]string{"str", "i32", "f64"},
		func(r *rowNullable) []any { return []any{&r.Str, &r.I32, &r.F64} }),
	"row f_bool i32 str": rowOf([]string{"i32", "str", "f_bool"},
		func(r *rowPositions) []any { return []any{&r.I32, &r.Str, &r.Bool} }),
	"row f_bool f_bytes": rowOf([]string{"f_bool", "f_bytes"}, func(r *rowBytes) []any { return []any{&r.Bool, &r.Bytes} }),
	"row f_map":          rowOf([]string{"f_map"}, func(r *rowMap) []any { return []any{&r.Map} }),
	"row f_float":        rowOf([]string{"f_float"}, func(r *rowFloat) []any { return []any{&r.Float} }),
	"row f_decimal f_float": rowOf([]string{"f_float", "f_decimal"},
		func(r *rowDecimal) []any { return []any{&r.Float, &r.Decimal} }),
	"row f_bytes f_char f_varbytes f_varchar": rowOf([]string{"f_char", "f_varchar", "f_bytes", "f_varbytes"},
		func(r *rowChars) []any { return []any{&r.Char, &r.VarChar, &r.Bytes, &r.VarBytes} }),
	"row f_int f_string f_timestamp": rowOf([]string{"f_timestamp", "f_string", "f_int"},
		func(r *rowMicros) []any { return []any{&r.Timestamp, &r.String, &r.Int} }),
	"row f_int f_string f_timestamp in millis": rowOf([]string{"f_timestamp", "f_string", "f_int"},
		func(r *rowMillis) []any { return []any{&r.Timestamp, &r.String, &r.Int} }),
	"row f_timestamp precision 03": as(subseconds[int16]),
	"row f_timestamp precision 06": as(subseconds[int32]),
	"row f_timestamp precision 09": both(as(subseconds[int32]), as(nanoseconds)),
}

// TestBeamVectors holds every coder against the examples that Apache Beam holds
// its own SDKs against.
func TestBeamVectors(t *testing.T) {
	dir := os.Getenv("PENSTOCK_BEAM_VECTORS")
	if dir == "" {
		t.Skip("PENSTOCK_BEAM_VECTORS does not name the directory of Beam's standard_coders.json")
	}
	data, err := os.ReadFile(filepath.Join(dir, "standard_coders.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if registered != nil {
		t.Fatal(registered)
	}
	ran := map[string]bool{}
	for i, v := range vectors {
		name := v.name()
		if elsewhere[name] != "" {
			continue
		}
		check := checks[name]
		if check == nil {
			t.Errorf("section %d, %s, is neither checked nor listed as another package's", i, name)
			continue
		}
		ran[name] = true
		for j, e := range v.Examples {
			t.Run(fmt.Sprintf("%d %s/%d", i, name, j), func(t *testing.T) {
				encoded, err := hex.DecodeString(e.Hex)
				if err != nil {
					t.Fatal(err)
				}
				check(t, v, e.Value, encoded)
			})
		}
	}
	if len(ran) != len(checks) {
		t.Errorf("%d kinds of sections ran, but %d are known: the file lacks some", len(ran), len(checks))
	}
}

// pairOf and listOf have the shapes of pcoll's KV and Group.
type pairOf[K, V any] struct {
	Key   K
	Value V
}

func (pairOf[K, V]) CoderShape() Shape { return ShapeKV }

type listOf[V any] struct{ vals []V }

func (listOf[V]) CoderShape() Shape { return ShapeIterable }

// check encodes and decodes one example with the coder of T. parse turns the
// example's value into a T.
type check func(t *testing.T, v vector, raw json.RawMessage, encoded []byte)

func as[T any](parse func(json.RawMessage) (T, error)) check {
	return func(t *testing.T, v vector, raw json.RawMessage, encoded []byte) {
		want, err := parse(raw)
		if err != nil {
			t.Fatalf("value %s: %v", raw, err)
		}
		c, err := For[T]()
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := c.Decode(append(bytes.Clone(encoded), "tail"...))
		if err != nil {
			t.Fatalf("decoding %x: %v", encoded, err)
		}
		if string(rest) != "tail" || !sameValue(got, want) {
			t.Fatalf("decoding %x: got %#v and %q left, want %#v and \"tail\"", encoded, got, rest, want)
		}
		again, err := c.Append([]byte("head"), want)
		if err != nil {
			t.Fatalf("encoding %#v: %v", want, err)
		}
		if !v.Coder.NonDeterministic && string(again) != "head"+string(encoded) {
			t.Fatalf("encoding %#v: got %x, want %x", want, again[4:], encoded)
		}
		if back, rest, err := c.Decode(again[4:]); err != nil || len(rest) > 0 || !sameValue(back, want) {
			t.Fatalf("decoding what was encoded, %x: got %#v, %d bytes left, error %v", again[4:], back, len(rest), err)
		}
	}
}

// sameValue is reflect.DeepEqual, but NaN equals itself.
func sameValue[T any](a, b T) bool {
	if x, ok := any(a).(float64); ok {
		return math.Float64bits(x) == math.Float64bits(any(b).(float64))
	}
	return reflect.DeepEqual(a, b)
}
