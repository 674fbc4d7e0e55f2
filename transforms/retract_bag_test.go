package transforms

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/coders"
)

func newBagFold(t testing.TB) bagFold {
	hash, err := coders.ForKey[string]()
	if err != nil {
		t.Fatal(err)
	}
	return bagFold{hash.Hash}
}

// TestBag holds a bag to a slice: values stay in order, any can be taken out,
// and storing changes nothing.
func TestBag(t *testing.T) {
	f := newBagFold(t)
	value := rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		var b bag
		var want [][]byte
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			v := value.Draw(t, "value")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				b, want = f.Add(b, v), append(want, slices.Clone(v))
			case 2, 3:
				i := slices.IndexFunc(want, func(w []byte) bool { return bytes.Equal(w, v) })
				var ok bool
				if b, ok = f.take(b, v); ok != (i >= 0) {
					t.Fatalf("taking %q out of %q: %t", v, want, ok)
				}
				if i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
			case 4:
				b, want = f.Merge(b, f.Add(f.Add(bag{}, v), []byte("z"))), append(want, slices.Clone(v), []byte("z"))
			}
			enc, err := bagCoder(f).Append([]byte("head"), b)
			if err != nil || !bytes.HasPrefix(enc, []byte("head")) {
				t.Fatalf("%q: %v", enc, err)
			}
			back, rest, err := bagCoder(f).Decode(append(enc[4:], "rest"...))
			if err != nil || string(rest) != "rest" || !slices.Equal(back.hashes, b.hashes) {
				t.Fatalf("%q comes back as %v with %q left: %v", want, back, rest, err)
			}
			for i := range want {
				if len(back.ends) != len(want) || !bytes.Equal(b.at(i), want[i]) || !bytes.Equal(back.at(i), want[i]) {
					t.Fatalf("value %d of %q is %q, stored %q", i, want, b.at(i), back.at(i))
				}
			}
		}
	})
}

// FuzzDecodeBag feeds damaged bags to their coder.
func FuzzDecodeBag(f *testing.F) {
	fold := newBagFold(f)
	f.Add([]byte{2, 1, 'a', 0})
	f.Add([]byte{255, 255, 255, 255, 15})
	f.Add([]byte{1, 9, 'a'})
	f.Fuzz(func(t *testing.T, src []byte) {
		b, rest, err := bagCoder(fold).Decode(src)
		if err != nil {
			return
		}
		enc, _ := bagCoder(fold).Append(nil, b)
		again, left, err := bagCoder(fold).Decode(append(enc, rest...))
		if err != nil || !bytes.Equal(left, rest) || !slices.Equal(again.hashes, b.hashes) {
			t.Fatalf("%x does not survive: %v", src, err)
		}
	})
}
