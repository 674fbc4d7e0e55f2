package columns

import (
	"encoding/binary"
	"errors"
)

var errLZ4 = errors.New("lz4 block is damaged")

// decodeLZ4 decodes a raw LZ4 block into dst, which has the length of the result. The library's
// codec guesses the length and doubles it for as long as decoding fails, which a damaged block
// does for ever.
func decodeLZ4(dst, src []byte) error {
	di, si := 0, 0
	for si < len(src) {
		token := src[si]
		si++
		lits, next, ok := lz4Length(src, si, int(token>>4))
		if !ok || lits > len(src)-next || lits > len(dst)-di {
			return errLZ4
		}
		copy(dst[di:], src[next:next+lits])
		di, si = di+lits, next+lits
		if si == len(src) {
			break // the last sequence has no match
		}
		if len(src)-si < 2 {
			return errLZ4
		}
		back := int(binary.LittleEndian.Uint16(src[si:]))
		n, next, ok := lz4Length(src, si+2, int(token&0x0f))
		n += 4
		if !ok || back == 0 || back > di || n > len(dst)-di {
			return errLZ4
		}
		si = next
		for n > 0 { // a match may overlap what it produces
			k := copy(dst[di:di+n], dst[di-back:di])
			di, n = di+k, n-k
		}
	}
	if di != len(dst) {
		return errLZ4
	}
	return nil
}

// lz4Length completes a length whose first four bits were n; i is where its further bytes are.
func lz4Length(src []byte, i, n int) (length, next int, ok bool) {
	if n < 15 {
		return n, i, true
	}
	for i < len(src) {
		b := src[i]
		i++
		if n += int(b); b != 255 {
			return n, i, true
		}
	}
	return 0, 0, false
}
