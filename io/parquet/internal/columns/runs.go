package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The library's decoders believe the counts that they find within a page: a run of four bytes
// can ask for eight gigabytes. The functions here read those counts first.

// runSlack is by how many values a hybrid of runs and bit packs may exceed what the page needs:
// the last bit pack is filled up to whole groups, by some writers to 64 of them.
const runSlack = 512

var errRunsShort = errors.New("runs end early")

// runs is what checkRuns finds.
type runs struct {
	count  int    // values, at most runSlack more than asked for
	used   int    // bytes that hold them; the rest was not looked at
	single bool   // all stand in one run,
	value  uint64 // of this value
}

// checkRuns walks a hybrid of run lengths and bit packs (the format's RLE encoding) up to its
// n-th value.
func checkRuns(b []byte, width uint, n int) (r runs, err error) {
	size := int(width+7) / 8
	for r.used < len(b) && r.count < n {
		header, k := binary.Uvarint(b[r.used:])
		if k <= 0 {
			return r, errRunsShort
		}
		r.used += k
		packed := header&1 != 0
		values := header >> 1
		if values > uint64(n-r.count+runSlack) || (packed && values > uint64(n-r.count+runSlack)/8) {
			return r, fmt.Errorf("a run of %d values in a page that needs %d more", values, n-r.count)
		}
		bytes := size
		if packed {
			bytes = int(values) * int(width)
			values *= 8
		}
		if bytes > len(b)-r.used {
			return r, errRunsShort
		}
		if !packed && r.count == 0 && int(values) >= n {
			var word [8]byte
			copy(word[:], b[r.used:r.used+size])
			r.single, r.value = true, binary.LittleEndian.Uint64(word[:])
		}
		r.used += bytes
		r.count += int(values)
	}
	return r, nil
}

// maxDeltaBlock is the library's bound on a block of the DELTA_BINARY_PACKED encoding.
const maxDeltaBlock = 65536

// checkDelta walks integers of the DELTA_BINARY_PACKED encoding that must be n, and returns the
// number of bytes they take.
func checkDelta(b []byte, n int) (int, error) {
	var head [4]uint64
	i := 0
	for k := range head { // block size, mini blocks, values, first value
		v, size := binary.Uvarint(b[i:])
		if size <= 0 {
			return 0, errRunsShort
		}
		head[k] = v
		i += size
	}
	block, minis, total := head[0], head[1], head[2]
	if block == 0 || block > maxDeltaBlock || block%128 != 0 || minis == 0 || minis > block/32 || block/minis%32 != 0 {
		return 0, fmt.Errorf("delta blocks of %d values in %d parts", block, minis)
	}
	if total != uint64(n) {
		return 0, fmt.Errorf("%d delta values in a page of %d", total, n)
	}
	each := int(block / minis)
	for left := n - 1; left > 0; {
		_, size := binary.Uvarint(b[i:])
		if size <= 0 || int(minis) > len(b)-i-size {
			return 0, errRunsShort
		}
		i += size
		widths := b[i : i+int(minis)]
		i += int(minis)
		for _, w := range widths {
			if left <= 0 {
				break
			}
			size := each / 8 * int(w)
			if left < each {
				size = min(size, len(b)-i) // the padding of the last part may be missing
			}
			if w > 64 || size > len(b)-i {
				return 0, errRunsShort
			}
			i += size
			left -= each
		}
	}
	return i, nil
}

// resize returns a slice of n elements, in the place of s when it is large enough. What it holds
// is unspecified.
func resize[E any](s []E, n int) []E {
	return slices.Grow(s[:0], n)[:n]
}
