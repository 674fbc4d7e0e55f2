package columns

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go/format"
)

// maker makes the values of one column for one reader.
type maker func() values

var errType = errors.New("type mismatch")

// bindScalar decides whether a column's values can be held by a field without loss, whatever they
// are, and returns what converts them. zone is where local timestamps are; nil means UTC.
func bindScalar(n *node, f *field, zone *time.Location) (maker, error) {
	t := f.typ
	switch {
	case t == timeType:
		return bindTime(n, f, zone)
	case t == durationType && n.note == asTime:
		return bindDuration(n)
	}
	switch n.note {
	case asDate:
		if f.note != asDate || t.Kind() != reflect.Int32 || n.kind != format.Int32 {
			return nil, errType
		}
		return alike[int32](), nil
	case asTime, asTimestamp:
		if f.note != n.note || f.unit != n.unit {
			return nil, errType
		}
	case asDecimal:
		if f.note != asDecimal || f.scale != n.scale {
			return nil, errType
		}
	case asOther, asList, asMap:
		return nil, errType
	}
	switch k := t.Kind(); {
	case k == reflect.Bool && n.kind == format.Boolean:
		return func() values { return newColumn[bool](&flags{}) }, nil
	case k == reflect.Float32 && n.kind == format.Float:
		return alike[float32](), nil
	case k == reflect.Float64 && n.kind == format.Double:
		return alike[float64](), nil
	case k == reflect.Float64 && n.kind == format.Float:
		return func() values { return newColumn[float64](&fixed[float32, float64]{conv: widenFloat}) }, nil
	case k == reflect.String && n.kind == format.ByteArray && n.note != asDecimal:
		return func() values { return newColumn[string](&texts{}) }, nil
	case k == reflect.Slice && n.kind == format.ByteArray:
		return func() values { return newByteSlices(0) }, nil
	case k == reflect.Slice && n.kind == format.FixedLenByteArray:
		return func() values { return newByteSlices(n.size) }, nil
	case k == reflect.Array && n.kind == format.FixedLenByteArray && t.Len() == n.size:
		return func() values { return newArrays(n.size) }, nil
	case n.kind == format.Int32 || n.kind == format.Int64:
		return bindInt(n, k)
	}
	return nil, errType
}

func widenFloat(dst []float64, src []float32) error {
	for i, v := range src {
		dst[i] = float64(v)
	}
	return nil
}

// alike makes columns whose fields are represented as the file's values are.
func alike[G any]() maker {
	return func() values { return newColumn[G](&fixed[G, G]{}) }
}

// bindInt binds an integer column to a field that holds all its values: of its signedness and at
// least its width, or signed and wider than an unsigned column.
func bindInt(n *node, k reflect.Kind) (maker, error) {
	physical := 64
	if n.kind == format.Int32 {
		physical = 32
	}
	bits := physical
	if n.note == asInt {
		if bits = n.bits; bits <= 0 || bits > physical {
			return nil, fmt.Errorf("damaged schema: %s", n)
		}
	}
	width, unsigned := 0, false
	switch k {
	case reflect.Int, reflect.Int64:
		width = 64
	case reflect.Int8, reflect.Int16, reflect.Int32:
		width = 8 << (k - reflect.Int8)
	case reflect.Uint, reflect.Uint64:
		width, unsigned = 64, true
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		width, unsigned = 8<<(k-reflect.Uint8), true
	}
	if unsigned && !n.unsigned || width < bits || (width == bits && unsigned != n.unsigned) {
		return nil, errType
	}
	if physical == 64 {
		if width != 64 {
			return nil, errType // INT(32) in an INT64: no writer does that
		}
		return alike[int64](), nil
	}
	if n.unsigned {
		return fromUnsigned(width), nil
	}
	return fromSigned(width), nil
}

// fromSigned makes columns of signed fields of the given width from INT32 values.
func fromSigned(width int) maker {
	switch width {
	case 8:
		return convert[int32, int8]()
	case 16:
		return convert[int32, int16]()
	case 32:
		return alike[int32]()
	}
	return convert[int32, int64]()
}

// fromUnsigned makes columns of fields of the given width, of either sign, from INT32 values that
// are annotated as unsigned: their bits are a uint32.
func fromUnsigned(width int) maker {
	switch width {
	case 8:
		return convert[uint32, uint8]()
	case 16:
		return convert[uint32, uint16]()
	case 32:
		return alike[uint32]()
	}
	return convert[uint32, uint64]()
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func convert[P, G integer]() maker {
	return func() values { return newColumn[G](&fixed[P, G]{conv: convertInts[P, G]}) }
}

func convertInts[P, G integer](dst []G, src []P) error {
	for i, v := range src {
		w := G(v)
		if P(w) != v {
			return fmt.Errorf("damaged: value %d is beyond the column's width", v)
		}
		dst[i] = w
	}
	return nil
}

// bindTime binds a time.Time. The result is an instant, shown in UTC. A local timestamp is a
// wall clock: the instant at which the clocks of zone show it.
func bindTime(n *node, f *field, zone *time.Location) (maker, error) {
	if zone == nil {
		zone = time.UTC
	}
	switch {
	case n.note == asDate && n.kind == format.Int32:
		return func() values {
			return newColumn[time.Time](&fixed[int32, time.Time]{conv: func(dst []time.Time, src []int32) error {
				for i, v := range src {
					dst[i] = wall(time.Unix(int64(v)*86400, 0), zone)
				}
				return nil
			}})
		}, nil
	case n.note == asTimestamp && n.kind == format.Int64:
		at := instant(n.unit)
		if n.local && zone != time.UTC {
			utc := at
			at = func(v int64) time.Time { return wall(utc(v), zone) }
		}
		return func() values {
			return newColumn[time.Time](&fixed[int64, time.Time]{conv: func(dst []time.Time, src []int64) error {
				for i, v := range src {
					dst[i] = at(v)
				}
				return nil
			}})
		}, nil
	case n.kind == format.Int96 && n.note == plain:
		return func() values { return newColumn[time.Time](&fixed[[3]uint32, time.Time]{conv: fromJulian}) }, nil
	}
	return nil, errType
}

func instant(u unit) func(int64) time.Time {
	switch u {
	case millis:
		return func(v int64) time.Time { return time.UnixMilli(v).UTC() }
	case micros:
		return func(v int64) time.Time { return time.UnixMicro(v).UTC() }
	}
	return func(v int64) time.Time { return time.Unix(0, v).UTC() }
}

// wall returns the instant at which clocks in zone show what UTC clocks show at t.
func wall(t time.Time, zone *time.Location) time.Time {
	t = t.UTC()
	if zone == time.UTC {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UTC()
}

// fromJulian converts INT96 timestamps, which Impala and older Spark write: nanoseconds of the
// day in eight bytes, and the Julian day.
func fromJulian(dst []time.Time, src [][3]uint32) error {
	const epoch = 2440588 // 1970-01-01
	for i, v := range src {
		ns := int64(uint64(v[0]) | uint64(v[1])<<32)
		dst[i] = time.Unix((int64(v[2])-epoch)*86400, ns).UTC()
	}
	return nil
}

// bindDuration binds a time of day to a time.Duration since midnight.
func bindDuration(n *node) (maker, error) {
	scale := int64(n.unit)
	switch n.kind {
	case format.Int32:
		return func() values {
			return newColumn[int64](&fixed[int32, int64]{conv: func(dst []int64, src []int32) error {
				for i, v := range src {
					dst[i] = int64(v) * scale
				}
				return nil
			}})
		}, nil
	case format.Int64:
		return func() values {
			return newColumn[int64](&fixed[int64, int64]{conv: func(dst []int64, src []int64) error {
				for i, v := range src {
					dst[i] = v * scale
				}
				return nil
			}})
		}, nil
	}
	return nil, errType
}
