package coders

// A Coder encodes and decodes T in Beam's nested encoding: what Append writes
// tells its own end, so encodings can be laid one after the other.
//
// Implementations are immutable and may be used by any number of goroutines.
type Coder[T any] interface {
	// Append appends the encoding of v to dst and returns the extended slice.
	// When it fails it returns dst as it was. It keeps no part of dst or v.
	Append(dst []byte, v T) ([]byte, error)

	// Decode reads one value from the front of src and returns it with the
	// bytes behind it. The value shares no memory with src. Decode never
	// panics, whatever src holds, and allocates no more than a multiple of
	// len(src): lengths and counts it reads are not trusted.
	Decode(src []byte) (v T, rest []byte, err error)
}

// A Key is what a keyed operator needs of its key type.
//
// Two keys are the same key when their encodings are the same. Where Normalize
// is nil, Go's == says the same; otherwise it does after Normalize.
type Key[K comparable] struct {
	// Coder writes the canonical encoding: one sequence of bytes a key.
	Coder Coder[K]

	// Hash is a function of the value alone, specified in the package
	// documentation: the same in every process, version and architecture.
	// Every bit of it depends on every bit of the key. Equal keys have equal
	// hashes, normalized or not.
	Hash func(K) uint64

	// Normalize returns the one Go value, under ==, that stands for all keys
	// with the encoding of its argument. It is nil when == already agrees with
	// the encoding, and set for types that hold a time.Time, whose identity is
	// the instant: the result is in UTC and has no monotonic clock reading.
	Normalize func(K) K
}

// A Shape names the Beam encoding of a struct that is not a row.
type Shape int

const (
	// ShapeKV is beam:coder:kv:v1: the struct's two exported fields, nested, one
	// after the other, nothing else.
	ShapeKV Shape = iota + 1
	// ShapeIterable is beam:coder:iterable:v1: the struct's one field, a slice,
	// exported or not, as a big-endian int32 count and the elements nested.
	ShapeIterable
)

// A Shaper is a struct that tells its encoding by method. The method is asked
// of the zero value, once, when a coder is derived. A method promoted from an
// embedded field does not count.
type Shaper interface{ CoderShape() Shape }
