package coders

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

type (
	userID string
	adID   int64
	uuid   [16]byte
	visit  struct {
		User userID
		Ad   adID
		_    float64 // not part of the value
		Mob  bool
	}
	kinds struct {
		B   bool
		I8  int8
		I16 int16
		I32 int32
		I64 int64
		I   int
		U8  uint8
		U16 uint16
		U32 uint32
		U64 uint64
		U   uint
	}
	when struct {
		Name string
		At   time.Time
		Days [2]time.Time
	}
)

func keyOf[K comparable](t testing.TB) *Key[K] {
	t.Helper()
	k, err := ForKey[K]()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func hashAs[K comparable](v K) func(testing.TB) uint64 {
	return func(t testing.TB) uint64 { return keyOf[K](t).Hash(v) }
}

// The hash is where state is found again. A line that changes here loses the
// state of every job: never rewrite these numbers.
func TestHashNeverChanges(t *testing.T) {
	instant := time.Unix(1_700_000_000, 123)
	for _, c := range []struct {
		name string
		hash func(testing.TB) uint64
		want uint64
	}{
		{"int 0", hashAs(int(0)), 0x8de5c2631dca2b27},
		{"int -1", hashAs(int(-1)), 0x94bde78439962f57},
		{"int64 42", hashAs(int64(42)), 0xe532457dcb974075},
		{"named int64 42", hashAs(adID(42)), 0xe532457dcb974075},
		{"uint64 max", hashAs(uint64(math.MaxUint64)), 0x94bde78439962f57},
		{"int32 -7", hashAs(int32(-7)), 0xfbe537cd4c07912b},
		{"uint32 7", hashAs(uint32(7)), 0x03c3baa4815e82f7},
		{"int16 -300", hashAs(int16(-300)), 0xc68d66d4a3a29ba7},
		{"uint8 200", hashAs(uint8(200)), 0x64e2f56c03899a8f},
		{"bool true", hashAs(true), 0x000ed211f55d0bae},
		{"empty string", hashAs(""), 0x704082afa1b4caa6},
		{"a", hashAs("a"), 0x94cb423adc4c142f},
		{"abc", hashAs("abc"), 0xd9d3bcbc1d52affb},
		{"abcd", hashAs("abcd"), 0x949c368c96e41b34},
		{"abcdefgh", hashAs("abcdefgh"), 0x2077651cad303a72},
		{"16 bytes", hashAs("0123456789abcdef"), 0x7be7a9bdeee0133e},
		{"named, 16 bytes", hashAs(userID("0123456789abcdef")), 0x7be7a9bdeee0133e},
		{"17 bytes", hashAs("0123456789abcdefg"), 0x401b67bb3dc5728b},
		{"50 bytes", hashAs(strings.Repeat("0123456789", 5)), 0xe92ba7d4fe1e3a4b},
		{"uuid", hashAs(uuid{1, 2, 3, 15: 9}), 0xe2582ce38067308c},
		{"[3]int32", hashAs([3]int32{1, -2, 3}), 0x01190a907d304bfe},
		{"empty struct", hashAs(struct{}{}), 0x082efa98ec4e6c89},
		{"visit", hashAs(visit{User: "ann", Ad: 7, Mob: true}), 0xc9abef4eac69a4d8},
		{"time", hashAs(instant), 0x42495b8b9e594022},
		{"zero time", hashAs(time.Time{}), 0x052b2d51bdfbec23},
		{"when", hashAs(when{"x", instant, [2]time.Time{instant, {}}}), 0xe9306f0bf2452619},
	} {
		if got := c.hash(t); got != c.want {
			t.Errorf("%s: hash %#016x, want %#016x", c.name, got, c.want)
		}
	}
}

// A second implementation, from the words of the package documentation.
type spec struct{}

var specConstants = func() [5]*big.Int {
	var out [5]*big.Int
	for i, s := range strings.Fields("243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89 9e3779b97f4a7c15") {
		out[i], _ = new(big.Int).SetString(s, 16)
	}
	return out
}()

func (spec) product(a, b *big.Int) (hi, lo *big.Int) {
	p := new(big.Int).Mul(a, b)
	return new(big.Int).Rsh(p, 64), p.And(p, new(big.Int).SetUint64(math.MaxUint64))
}

func xor(xs ...*big.Int) *big.Int {
	out := new(big.Int)
	for _, x := range xs {
		out.Xor(out, x)
	}
	return out
}

func (s spec) mix(a, b *big.Int) *big.Int {
	hi, lo := s.product(a, b)
	return xor(hi, lo)
}

func (s spec) word(x uint64) *big.Int {
	c := specConstants
	return s.mix(xor(s.mix(xor(new(big.Int).SetUint64(x), c[0]), c[4]), c[1]), c[4])
}

func (s spec) bytes(b []byte) *big.Int {
	c := specConstants
	little := func(b []byte) *big.Int { // any number of bytes, little endian
		out := new(big.Int)
		for i := len(b) - 1; i >= 0; i-- {
			out.Add(out.Lsh(out, 8), big.NewInt(int64(b[i])))
		}
		return out
	}
	n, seed := len(b), c[2]
	all := b
	for len(b) > 16 {
		seed = s.mix(xor(little(b[:8]), c[1]), xor(little(b[8:16]), seed))
		b = b[16:]
	}
	x, y := new(big.Int), new(big.Int)
	switch {
	case n > 16:
		x, y = little(all[n-16:n-8]), little(all[n-8:])
	case n >= 8:
		x, y = little(b[:8]), little(b[n-8:])
	case n >= 4:
		x, y = little(b[:4]), little(b[n-4:])
	case n >= 1:
		x = little([]byte{b[0], b[n/2], b[n-1]})
	}
	hi, lo := s.product(xor(x, c[1]), xor(y, seed))
	return s.mix(xor(lo, c[0], big.NewInt(int64(n))), xor(hi, c[3]))
}

func (s spec) parts(parts ...*big.Int) *big.Int {
	h := specConstants[3]
	for _, p := range parts {
		h = s.mix(xor(h, specConstants[0]), xor(p, specConstants[1]))
	}
	return h
}

func TestHashIsAsDocumented(t *testing.T) {
	str, id, bytes16, rec, at := keyOf[userID](t), keyOf[adID](t), keyOf[uuid](t), keyOf[visit](t), keyOf[time.Time](t)
	small, arr, byteArr := keyOf[int8](t), keyOf[[3]int32](t), keyOf[[21]byte](t)
	all, ints, uints, uints32 := keyOf[kinds](t), keyOf[int](t), keyOf[uint](t), keyOf[uint32](t)
	rapid.Check(t, func(t *rapid.T) {
		same := func(what string, got uint64, want *big.Int) {
			if got != want.Uint64() {
				t.Fatalf("%s: hash %#x, documented %#x", what, got, want)
			}
		}
		s := string(rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "bytes"))
		n := rapid.Int64().Draw(t, "int")
		b := rapid.Bool().Draw(t, "bool")
		word := uint64(0)
		if b {
			word = 1
		}
		same("string", str.Hash(userID(s)), spec{}.bytes([]byte(s)))
		same("int64", id.Hash(adID(n)), spec{}.word(uint64(n)))
		same("int8", small.Hash(int8(n)), spec{}.word(uint64(int8(n))))
		u := uuid{0: byte(n), 7: byte(len(s)), 15: byte(n >> 8)}
		same("uuid", bytes16.Hash(u), spec{}.bytes(u[:]))
		long := [21]byte{3: byte(n), 20: byte(n >> 16)}
		same("[21]byte", byteArr.Hash(long), spec{}.bytes(long[:]))
		same("struct", rec.Hash(visit{User: userID(s), Ad: adID(n), Mob: b}),
			spec{}.parts(spec{}.bytes([]byte(s)), spec{}.word(uint64(n)), spec{}.word(word)))
		k := kinds{b, int8(n), int16(n), int32(n), n, int(n), uint8(n), uint16(n), uint32(n), uint64(n), uint(n)}
		same("kinds", all.Hash(k), spec{}.parts(spec{}.word(word), spec{}.word(uint64(int8(n))), spec{}.word(uint64(int16(n))),
			spec{}.word(uint64(int32(n))), spec{}.word(uint64(n)), spec{}.word(uint64(int(n))), spec{}.word(uint64(uint8(n))),
			spec{}.word(uint64(uint16(n))), spec{}.word(uint64(uint32(n))), spec{}.word(uint64(n)), spec{}.word(uint64(uint(n)))))
		same("int", ints.Hash(int(n)), spec{}.word(uint64(int(n))))
		same("uint", uints.Hash(uint(n)), spec{}.word(uint64(uint(n))))
		same("uint32", uints32.Hash(uint32(n)), spec{}.word(uint64(uint32(n))))
		a := [3]int32{int32(n), int32(n >> 32), -1}
		same("array", arr.Hash(a), spec{}.parts(spec{}.word(uint64(int64(a[0]))), spec{}.word(uint64(int64(a[1]))), spec{}.word(math.MaxUint64)))
		nsec := rapid.Int64Range(0, 999_999_999).Draw(t, "nsec")
		same("time", at.Hash(time.Unix(n>>20, nsec)), spec{}.parts(spec{}.word(uint64(n>>20)), spec{}.word(uint64(nsec))))
	})
}

// Flipping any bit of the key must flip every bit of the hash half of the time.
func TestHashAvalanche(t *testing.T) {
	word := func(b []byte) uint64 { return hashWord(binary.LittleEndian.Uint64(b)) }
	bytes := func(b []byte) uint64 { return hashBytes(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }
	pair := func(b []byte) uint64 {
		return combine(combine(noParts, hashWord(binary.LittleEndian.Uint64(b))), bytes(b[8:]))
	}
	for _, c := range []struct {
		name string
		size int
		hash func([]byte) uint64
	}{
		{"word", 8, word}, {"3 bytes", 3, bytes}, {"6 bytes", 6, bytes}, {"12 bytes", 12, bytes},
		{"16 bytes", 16, bytes}, {"27 bytes", 27, bytes}, {"struct", 14, pair},
	} {
		for _, dense := range []bool{false, true} { // random keys; small numbers
			const rounds = 1000
			rnd := rand.New(rand.NewPCG(1, uint64(c.size)))
			flips := make([][64]int, c.size*8)
			key := make([]byte, c.size)
			for i := range rounds {
				for j := range key {
					key[j] = byte(rnd.Uint32())
					if dense {
						key[j] = byte(i >> (8 * j))
					}
				}
				h := c.hash(key)
				for in := range flips {
					key[in/8] ^= 1 << (in % 8)
					d := h ^ c.hash(key)
					key[in/8] ^= 1 << (in % 8)
					for out := range 64 {
						flips[in][out] += int(d >> out & 1)
					}
				}
			}
			for in := range flips {
				for out, n := range flips[in] {
					if p := float64(n) / rounds; math.Abs(p-0.5) > 0.11 { // 7 standard deviations
						t.Fatalf("%s (dense %v): input bit %d flips output bit %d with probability %.3f", c.name, dense, in, out, p)
					}
				}
			}
		}
	}
}

// Key groups are chosen by the top bits and table slots by others: keys as they
// come in practice must spread over both as if thrown at random.
func TestHashSpreads(t *testing.T) {
	ints, strs, recs := keyOf[int64](t), keyOf[string](t), keyOf[visit](t)
	const n = 1 << 15
	families := map[string]func(i int) uint64{
		"serial":          func(i int) uint64 { return ints.Hash(int64(i)) },
		"thousands":       func(i int) uint64 { return ints.Hash(int64(i) * 1000) },
		"minutes":         func(i int) uint64 { return ints.Hash(1_700_000_000_000 + int64(i)*60_000) },
		"high bits":       func(i int) uint64 { return ints.Hash(int64(i) << 40) },
		"negative":        func(i int) uint64 { return ints.Hash(-int64(i)) },
		"short strings":   func(i int) uint64 { return strs.Hash(fmt.Sprint(i)) },
		"prefixed":        func(i int) uint64 { return strs.Hash(fmt.Sprintf("user-%08d", i)) },
		"common suffix":   func(i int) uint64 { return strs.Hash(fmt.Sprintf("%06d@example.com.invalid", i)) },
		"zero bytes":      func(i int) uint64 { return strs.Hash(strings.Repeat("\x00", i%4096) + fmt.Sprint(i/4096)) },
		"struct of three": func(i int) uint64 { return recs.Hash(visit{User: userID(fmt.Sprint(i % 181)), Ad: adID(i / 181)}) },
	}
	for name, hash := range families {
		seen := map[uint64]bool{}
		var groups [128]int
		var slots [4096]int
		for i := range n {
			h := hash(i)
			seen[h] = true
			groups[h>>57]++
			slots[h&4095]++
		}
		if len(seen) != n {
			t.Errorf("%s: %d keys have %d hashes", name, n, len(seen))
		}
		// Pearson's statistic over its mean; 1 for a random function, with
		// standard deviations of 0.125 and 0.022.
		if x := pearson(groups[:], n); x > 1.8 {
			t.Errorf("%s: the top 7 bits are uneven: %.2f", name, x)
		}
		if x := pearson(slots[:], n); x > 1.2 {
			t.Errorf("%s: the low 12 bits are uneven: %.2f", name, x)
		}
	}
}

func pearson(counts []int, n int) float64 {
	mean, sum := float64(n)/float64(len(counts)), 0.0
	for _, c := range counts {
		sum += (float64(c) - mean) * (float64(c) - mean) / mean
	}
	return sum / float64(len(counts)-1)
}

var sink uint64

func benchHash[K comparable](b *testing.B, keys []K) {
	hash := keyOf[K](b).Hash
	var sum uint64
	for b.Loop() {
		for _, k := range keys {
			sum += hash(k)
		}
	}
	sink += sum
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
}

func BenchmarkHash(b *testing.B) {
	const n = 1024
	ids, names, visits, uuids := make([]adID, n), make([]userID, n), make([]visit, n), make([]uuid, n)
	for i := range n {
		ids[i], names[i] = adID(i*7919), userID(fmt.Sprintf("user-%011d", i))
		visits[i] = visit{User: names[i], Ad: ids[i]}
		binary.BigEndian.PutUint64(uuids[i][:], uint64(i))
	}
	b.Run("int64", func(b *testing.B) { benchHash(b, ids) })
	b.Run("string16", func(b *testing.B) { benchHash(b, names) })
	b.Run("uuid", func(b *testing.B) { benchHash(b, uuids) })
	b.Run("struct", func(b *testing.B) { benchHash(b, visits) })
}
