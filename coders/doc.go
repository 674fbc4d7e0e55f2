// Package coders turns values into bytes and back, and says which types can be
// keys and how they hash.
//
//	c, err := coders.For[Order]()      // once, where the pipeline is built
//	buf, err = c.Append(buf[:0], o)
//	o, rest, err := c.Decode(buf)
//
// Reflection is used once per type. What it makes reads and writes values
// where they lie: encoding scalars, strings and structs of them allocates
// nothing but room in dst, decoding them nothing but the strings.
//
// # Encodings
//
// All are Beam's, in the nested form, which tells its own end.
//
//	Go                        Beam                 bytes
//	bool                      bool                 0 or 1
//	int, int64, uint, uint64  varint               two's complement in 64 bits, 7 bits a byte, low first
//	int32, uint32             INT32 of a row       the same in 32 bits: at most 5 bytes, as Java writes it
//	int16, uint16             INT16 of a row       2, big endian
//	int8, uint8               BYTE of a row        1
//	float64, float32          double, FLOAT        8 or 4, big endian IEEE 754
//	complex128, complex64     (none)               real, then imaginary part
//	string                    string_utf8          length as varint, bytes; Beam expects UTF-8, which is not checked
//	[]byte                    bytes                length as varint, bytes
//	[N]byte                   fixed_bytes          the same; N is checked
//	[]T, [N]T                 iterable             count as int32 big endian, elements; N is checked
//	map[K]V                   map of a row         count as int32 big endian, key and value in turn, in the order of encoded keys
//	*T                        nullable             0, or 1 and the value
//	time.Time                 timestamp, nanos     row of two: Unix seconds as varint, nanoseconds as varint
//	struct                    row                  see below
//	struct with CoderShape    kv or iterable       see [Shaper]
//	BinaryMarshaler           length_prefix        length as varint, the bytes of MarshalBinary
//
// Named types are encoded as their underlying type. time.Duration is an int64.
// A time.Time is an instant: location and monotonic clock reading are not part
// of it, and decoding gives UTC.
//
// A row is the number of fields as varint; a bitmap of null fields, low bit
// first, as length and bytes without zero bytes at the end; then the fields
// that are not null, in the order of declaration, without indicators of their
// own. Blank fields are not part of the value. An embedded struct is a field
// of its name. Any other unexported field is an error, never left out. Decoding
// insists on the number of fields: a struct of another version is refused.
//
// # Nil
//
// In a field of a row, a nil pointer, slice or map is null and comes back nil, and an
// empty slice or map comes back empty. Elsewhere (at the top, as key or value
// of a KV, within slices, arrays, maps and behind pointers) Beam's encodings have no null
// for slices and maps: nil is written as empty, and empty comes back, never
// nil. An iterable by its shape comes back as its zero value when it is empty.
//
// # Which coder a type gets
//
// The first that applies: the coder registered with [Register]; for time.Time
// the instant; the structure, as above; where that fails, as for an unexported
// field, the type's own encoding.BinaryMarshaler and BinaryUnmarshaler, unless
// they may be those of an embedded field; an error. The structure comes before
// the marshaler, so that what can be a key has one encoding: a [16]byte with
// methods is sixteen bytes. Protobuf messages are registered through package coders/protocoder.
//
// Types may be recursive. Values that nest deeper than 10,000 levels, such as
// cyclic ones, are an error.
//
// # Keys
//
// Two keys are the same key when their encodings are. [ForKey] accepts the
// types for which Go's == says the same, at most after [Key.Normalize], and
// refuses others: floats (0 == -0, and NaN differs from itself), pointers and
// interfaces (equal by address), registered types and marshalers.
//
// # The hash
//
// [Key.Hash] is a function of the value alone, defined here and never to be
// changed, because state is stored by it. It guards against no one who chooses
// keys in order to collide. mix(a, b) is the high half, xor the low half, of the
// 128-bit product of a and b. Constants, in hexadecimal:
//
//	π0 = 243f6a8885a308d3   π1 = 13198a2e03707344   π2 = a4093822299f31d0   π3 = 082efa98ec4e6c89
//	φ  = 9e3779b97f4a7c15
//
// A bool (0 or 1) or integer, extended to 64 bits with its sign, x:
//
//	mix(mix(x^π0, φ)^π1, φ)
//
// A string or [N]byte of n bytes: seed is π2. While more than 16 bytes are
// left, the next 16, as two little-endian words u and v, make it
// mix(u^π1, v^seed). Then a and b are, for n ≥ 8, with at most 16 bytes left:
// the last 16 bytes if n > 16, else the first and the last 8; for n from 4 to
// 7 the first and the last 4, little endian; for n from 1 to 3 the bytes at 0,
// n/2 and n-1 as a little-endian number, and 0; for n = 0 both are 0. With hi
// and lo the halves of the product of a^π1 and b^seed:
//
//	mix(lo^π0^n, hi^π3)
//
// A struct or another array: h is π3, and each field (but blank ones) or
// element with hash p makes it mix(h^π0, p^π1). A time.Time is hashed as a
// struct of Unix seconds and nanoseconds.
package coders
