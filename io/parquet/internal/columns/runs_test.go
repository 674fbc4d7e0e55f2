package columns

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// Runs of booleans need not be of eight values, though the library writes no others.
func TestBooleanRuns(t *testing.T) {
	// 3 × true, 8 from bits, 5 × false, 9 × true.
	runs := []byte{3 << 1, 1, 1<<1 | 1, 0b10110001, 5 << 1, 0, 9 << 1, 1}
	body := append([]byte{byte(len(runs)), 0, 0, 0}, runs...)
	want := "1111000110100000111111111"
	for n := range len(want) + 1 {
		var f flags
		if err := f.load(format.RLE, body, n); err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := 0; i < n; i++ {
			buf, err := f.take(1, make([]bool, 1))
			if err != nil {
				t.Fatal(err)
			}
			got += map[bool]string{true: "1", false: "0"}[buf[0]]
		}
		if got != want[:n] {
			t.Errorf("%d booleans %s, want %s", n, got, want[:n])
		}
	}
	var f flags
	wantError(t, f.load(format.RLE, body, len(want)+1), "runs end early")
	wantError(t, f.load(format.Plain, body[:1], 9), "1 bytes for 9 bits")
	wantError(t, f.load(format.DeltaBinaryPacked, body, 9), "not supported")
}

// TestCheckRuns gives what would make a decoder allocate without end.
func TestCheckRuns(t *testing.T) {
	huge := []byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 1} // a run of 2^31-1
	_, err := checkRuns(huge, 1, 100)
	wantError(t, err, "a run of 2147483647 values")
	huge[0] |= 1 // as many groups of eight
	_, err = checkRuns(huge, 1, 100)
	wantError(t, err, "values in a page")
	_, err = indexes(nil, append([]byte{1}, huge...), 100)
	wantError(t, err, "values in a page")
	_, err = indexes(nil, []byte{33}, 1)
	wantError(t, err, "33 bits")
	if _, err := checkDelta([]byte{128, 1, 4, 0xff, 0xff, 0xff, 0xff, 7, 0}, 10); err == nil {
		t.Error("a page of 10 values holds 2^31 of them")
	}
	if _, err := checkDelta([]byte{0, 0, 10, 0}, 10); err == nil {
		t.Error("delta blocks of nothing")
	}
}

func TestCheckDelta(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64(), 0, 300).Draw(rt, "values")
		b, err := parquet.DeltaBinaryPacked.EncodeInt64(nil, values)
		if err != nil {
			rt.Fatal(err)
		}
		used, err := checkDelta(append(bytes.Clone(b), 1, 2, 3), len(values))
		if err != nil || used != len(b) {
			rt.Fatalf("%d of %d bytes, %v", used, len(b), err)
		}
		if _, err := checkDelta(b, len(values)+1); err == nil {
			rt.Fatal("one value too many was not noticed")
		}
	})
}

func TestLZ4(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(rt, "word")
		want := append(bytes.Repeat(word, rapid.IntRange(0, 300).Draw(rt, "times")), rapid.SliceOf(rapid.Byte()).Draw(rt, "rest")...)
		src, err := parquet.Lz4Raw.Encode(nil, want)
		if err != nil {
			rt.Fatal(err)
		}
		if len(src) == 0 {
			return // the encoder gives up on what does not shrink
		}
		got := make([]byte, len(want))
		if err := decodeLZ4(got, src); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("%d bytes from %d: %v", len(want), len(src), err)
		}
		if decodeLZ4(make([]byte, len(want)+1), src) == nil {
			rt.Fatal("a byte too few was not noticed")
		}
		src[rapid.IntRange(0, len(src)-1).Draw(rt, "at")] ^= 0xff
		_ = decodeLZ4(got, src) // any result will do, but a result
	})
}

func TestZstdSize(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 255, 256, 257, 65_791, 65_792, 1 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			frame := enc.EncodeAll(make([]byte, n), nil)
			var h zstd.Header
			if err := h.Decode(frame); err != nil && n > 0 {
				t.Fatal(err)
			}
			got, ok := zstdSize(frame)
			if ok != h.HasFCS || (ok && got != h.FrameContentSize) {
				t.Errorf("size %d %t, want %d %t", got, ok, h.FrameContentSize, h.HasFCS)
			}
		})
	}
	if _, ok := zstdSize([]byte{0x28, 0xB5, 0x2F, 0xFD, 0xC0}); ok {
		t.Error("a frame that ends in its header has a size")
	}
}
