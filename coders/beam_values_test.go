package coders

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
)

func plain[T any](raw json.RawMessage) (v T, err error) { return v, json.Unmarshal(raw, &v) }

func byteString(raw json.RawMessage) ([]byte, error) {
	s, err := plain[string](raw)
	return []byte(s), err
}

func list[T any](elem func(json.RawMessage) (T, error)) func(json.RawMessage) ([]T, error) {
	return func(raw json.RawMessage) ([]T, error) {
		var items []json.RawMessage
		err := json.Unmarshal(raw, &items)
		out := []T{}
		for _, item := range items {
			v, e := elem(item)
			if e != nil {
				err = e
			}
			out = append(out, v)
		}
		return out, err
	}
}

func group[T any](elem func(json.RawMessage) (T, error)) func(json.RawMessage) (listOf[T], error) {
	return func(raw json.RawMessage) (listOf[T], error) {
		vals, err := list(elem)(raw)
		if len(vals) == 0 {
			return listOf[T]{}, err
		}
		return listOf[T]{vals}, err
	}
}

func keyed[V any](value func(json.RawMessage) (V, error)) func(json.RawMessage) (pairOf[[]byte, V], error) {
	return func(raw json.RawMessage) (out pairOf[[]byte, V], err error) {
		var parts struct{ Key, Value json.RawMessage }
		if err = json.Unmarshal(raw, &parts); err != nil {
			return
		}
		if out.Key, err = byteString(parts.Key); err != nil {
			return
		}
		out.Value, err = value(parts.Value)
		return
	}
}

func number(raw json.RawMessage) (float64, error) {
	s, err := plain[string](raw)
	if err != nil {
		return 0, err
	}
	if s == "NaN" { // Java's
		return math.Float64frombits(0x7ff8000000000000), nil
	}
	return strconv.ParseFloat(s, 64)
}

func both(checks ...check) check {
	return func(t *testing.T, v vector, raw json.RawMessage, encoded []byte) {
		for _, c := range checks {
			c(t, v, raw, encoded)
		}
	}
}

// prefixing makes the nested form of bytes and strings from the outer one,
// which lacks the length.
func prefixing(c check) check {
	return func(t *testing.T, v vector, raw json.RawMessage, encoded []byte) {
		if v.Nested != nil && !*v.Nested {
			encoded = append(binary.AppendUvarint(nil, uint64(len(encoded))), encoded...)
		}
		c(t, v, raw, encoded)
	}
}

// kvOfBytes makes the nested form of a kv of bytes from the outer one, in which the value has no length.
func kvOfBytes(t *testing.T, v vector, raw json.RawMessage, encoded []byte) {
	if v.Nested != nil && !*v.Nested {
		key := int(encoded[0]) + 1
		value := append([]byte{byte(len(encoded) - key)}, encoded[key:]...)
		encoded = append(bytes.Clone(encoded[:key]), value...)
	}
	as(keyed(byteString))(t, v, raw, encoded)
}

func nullableBytes(raw json.RawMessage) (*[]byte, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	b, err := byteString(raw)
	return &b, err
}

func shardedKey(raw json.RawMessage) (out pairOf[[]byte, string], err error) {
	var parts struct{ ShardID, Key string }
	err = json.Unmarshal(raw, &parts)
	return pairOf[[]byte, string]{[]byte(parts.ShardID), parts.Key}, err
}

// stateBacked checks an iterable that may end in a token for the runner's
// state: decoding one that does must fail, and not be taken for shorter.
func stateBacked(c check) check {
	return func(t *testing.T, v vector, raw json.RawMessage, encoded []byte) {
		if !bytes.Contains(encoded, binary.AppendUvarint(nil, math.MaxUint64)) {
			c(t, v, raw, encoded)
			return
		}
		list, err := For[listOf[int64]]()
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := list.Decode(encoded); err == nil || !strings.Contains(err.Error(), "runner's state") {
			t.Fatalf("decoding %x: got %v and error %v, want an error about the runner's state", encoded, got, err)
		}
	}
}

type (
	rowPlain struct {
		Str string
		I32 int32
		F64 float64
		Arr []string
	}
	rowNullable struct {
		Str *string
		I32 *int32
		F64 *float64
	}
	rowBytes struct {
		Bool  bool
		Bytes []byte
	}
	rowMap       struct{ Map map[string]*int64 }
	rowPositions struct { // in the order of their encoding positions
		I32  *int32
		Str  string
		Bool bool
	}
	rowMicros struct {
		Timestamp struct{ Seconds, Micros int64 }
		String    string
		Int       int64
	}
	rowMillis struct {
		Timestamp beamMillis
		String    string
		Int       int64
	}
	rowFloat   struct{ Float float32 }
	rowDecimal struct {
		Float   float32
		Decimal pairOf[int64, []byte] // scale, unscaled value
	}
	rowChars struct {
		Char     string
		VarChar  *string
		Bytes    *[5]byte
		VarBytes []byte
	}
	rowNanos          struct{ Timestamp time.Time }
	rowSeconds[N any] struct {
		Timestamp struct {
			Seconds    int64
			Subseconds N
		}
	}
)

// fields reads a row's value by the names that Beam gives its fields.
type fields map[string]json.RawMessage

func (f fields) into(name string, v any) error {
	raw, ok := f[name]
	if !ok {
		return fmt.Errorf("no field %s", name)
	}
	switch v := v.(type) {
	case *float64:
		var err error
		*v, err = number(raw)
		return err
	case *pairOf[int64, []byte]:
		text, err := plain[string](raw)
		whole, fraction, _ := strings.Cut(text, ".")
		unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
		if err != nil || !ok {
			return fmt.Errorf("decimal %s: %v", raw, err)
		}
		*v = pairOf[int64, []byte]{int64(len(fraction)), twosComplement(unscaled)}
		return nil
	case *float32:
		x, err := plain[string](raw)
		if err != nil {
			return err
		}
		parsed, err := strconv.ParseFloat(x, 32)
		*v = float32(parsed)
		return err
	case **float64:
		if string(raw) == "null" {
			return nil
		}
		x, err := number(raw)
		*v = &x
		return err
	case *[]byte:
		if string(raw) == "null" {
			return nil
		}
		var err error
		*v, err = byteString(raw)
		return err
	case **[5]byte:
		if string(raw) == "null" {
			return nil
		}
		b, err := byteString(raw)
		*v = (*[5]byte)(b)
		return err
	}
	return json.Unmarshal(raw, v)
}

// rowOf checks a T whose fields at pointers(&T) have the given names.
func rowOf[T any](names []string, pointers func(*T) []any) check {
	return as(func(raw json.RawMessage) (v T, err error) {
		var f fields
		if err = json.Unmarshal(raw, &f); err != nil {
			return
		}
		for i, p := range pointers(&v) {
			if err = f.into(names[i], p); err != nil {
				return
			}
		}
		return
	})
}

func subseconds[N any](raw json.RawMessage) (v rowSeconds[N], err error) {
	var f map[string]json.RawMessage
	if err = json.Unmarshal(raw, &f); err == nil {
		err = json.Unmarshal(f["f_timestamp"], &v.Timestamp)
	}
	return
}

func nanoseconds(raw json.RawMessage) (rowNanos, error) {
	v, err := subseconds[int64](raw)
	return rowNanos{time.Unix(v.Timestamp.Seconds, v.Timestamp.Subseconds).UTC()}, err
}

// beamMillis is eight bytes, as Beam's millis_instant; a registered coder writes it.
type beamMillis int64

type fixed64 struct{}

var registered = Register[beamMillis](fixed64{})

func (fixed64) Append(dst []byte, v beamMillis) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)), nil
}

func (fixed64) Decode(src []byte) (beamMillis, []byte, error) {
	if len(src) < 8 {
		return 0, src, errors.New("eight bytes are needed")
	}
	return beamMillis(binary.BigEndian.Uint64(src)), src[8:], nil
}

// twosComplement is Java's BigInteger.toByteArray.
func twosComplement(x *big.Int) []byte {
	size := 1
	for limit := big.NewInt(128); x.Cmp(limit) >= 0 || x.Cmp(new(big.Int).Neg(limit)) < 0; limit.Lsh(limit, 8) {
		size++
	}
	if x.Sign() < 0 {
		x = new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	return x.FillBytes(make([]byte, size))
}
