package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
)

// varints encodes int64 values; a negative one fails.
type varints struct{}

var errNegative = errors.New("negative")

func (varints) Append(dst []byte, v int64) ([]byte, error) {
	if v < 0 {
		return dst, errNegative
	}
	return binary.AppendVarint(dst, v), nil
}

func (varints) Decode(src []byte) (int64, []byte, error) {
	v, n := binary.Varint(src)
	if n <= 0 {
		return 0, nil, errors.New("cut off")
	}
	return v, src[n:], nil
}

func mix(v int64) uint64 {
	h := uint64(v) * 0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

func keys(hash func(int64) uint64) *coders.Key[int64] {
	return &coders.Key[int64]{Coder: varints{}, Hash: hash}
}

func content[V any](t *Table[int64, V]) map[int64]V {
	m := map[int64]V{}
	for i := range t.Chunks() {
		for _, e := range t.Chunk(i) {
			m[e.Key] = e.Value
		}
	}
	return m
}

// TestTableIsAMap holds a table to a Go map, with hashes from spread out to all equal.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := mix
		switch rapid.IntRange(0, 2).Draw(t, "hash") {
		case 0:
			hash = func(int64) uint64 { return 7 }
		case 1:
			hash = func(v int64) uint64 { return uint64(v%3) << 57 }
		}
		tab, model := New(keys(hash), coders.Coder[int64](varints{})), map[int64]int64{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			k := int64(rapid.IntRange(0, 40).Draw(t, "key"))
			switch rapid.IntRange(0, 20).Draw(t, "op") {
			case 0:
				tab.Reset()
				clear(model)
			case 1, 2, 3, 4, 5, 6:
				_, was := model[k]
				if tab.Delete(hash(k), k) != was {
					t.Fatalf("Delete(%d) says %t", k, !was)
				}
				delete(model, k)
			case 7, 8, 9:
				p := tab.Find(hash(k), k)
				if v, ok := model[k]; ok != (p != nil) || ok && *p != v {
					t.Fatalf("Find(%d) gives %v, want %d, %t", k, p, v, ok)
				}
			default:
				p, fresh := tab.At(hash(k), k)
				if v, ok := model[k]; fresh == ok || *p != v {
					t.Fatalf("At(%d) gives %d, fresh %t, want %d", k, *p, fresh, v)
				}
				*p++
				model[k]++
			}
			if tab.Len() != len(model) || !maps.Equal(content(tab), model) {
				t.Fatalf("the table has %d entries %v, want %v", tab.Len(), content(tab), model)
			}
		}
	})
}

// TestTableSplits grows past the size at which a table is split, shrinks and grows again.
func TestTableSplits(t *testing.T) {
	tab := New(keys(mix), coders.Coder[int64](varints{}))
	const n = 3 * splitAt
	for i := range int64(n) {
		if _, fresh := tab.At(mix(i), i); !fresh {
			t.Fatalf("key %d is there before it was added", i)
		}
		*tab.Find(mix(i), i) = i
	}
	if tab.Chunks() != exec.KeyGroups {
		t.Fatalf("%d chunks, want one for each key group", tab.Chunks())
	}
	for i := range tab.Chunks() {
		for _, e := range tab.Chunk(i) {
			if exec.GroupOf(mix(e.Key)) != i {
				t.Fatalf("key %d of group %d lies in chunk %d", e.Key, exec.GroupOf(mix(e.Key)), i)
			}
		}
	}
	for i := int64(0); i < n; i += 2 {
		tab.Delete(mix(i), i)
	}
	if tab.Len() != n/2 {
		t.Fatalf("%d entries after half were deleted, want %d", tab.Len(), n/2)
	}
	for i := range int64(n) {
		if p := tab.Find(mix(i), i); (p != nil) != (i%2 == 1) || p != nil && *p != i {
			t.Fatalf("key %d: %v", i, p)
		}
	}
	tab.Reset()
	if tab.Len() != 0 || len(content(tab)) != 0 {
		t.Fatalf("%d entries after Reset", tab.Len())
	}
	if _, fresh := tab.At(mix(1), 1); !fresh {
		t.Fatal("a key survives Reset")
	}
}

// TestResetKeepsMemory lets a table that is used again allocate nothing.
func TestResetKeepsMemory(t *testing.T) {
	tab := New(keys(mix), coders.Coder[int64](varints{}))
	fill := func() {
		for i := range int64(1000) {
			p, _ := tab.At(mix(i), i)
			*p += i
		}
		tab.Reset()
	}
	fill()
	if n := testing.AllocsPerRun(5, fill); n != 0 {
		t.Errorf("%v allocations to fill a table again", n)
	}
}

// TestSnapshotByGroup restores each key group for itself: into one table, and
// into two that share the groups.
func TestSnapshotByGroup(t *testing.T) {
	for _, n := range []int64{0, 1, 500, 2 * splitAt} {
		tab := New(keys(mix), coders.Coder[int64](varints{}))
		for i := range n {
			p, _ := tab.At(mix(i), i)
			*p = i * 3
		}
		all := New(keys(mix), coders.Coder[int64](varints{}))
		halves := [2]*Table[int64, int64]{New(keys(mix), coders.Coder[int64](varints{})), New(keys(mix), coders.Coder[int64](varints{}))}
		for g := range exec.KeyGroups {
			b, err := tab.Snapshot([]byte("head"), g)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(b, []byte("head")) {
				t.Fatal("Snapshot does not append")
			}
			for _, to := range []*Table[int64, int64]{all, halves[exec.OwnerOf(g, 2)]} {
				if err := to.Restore(b[4:]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !maps.Equal(content(all), content(tab)) {
			t.Fatalf("%d entries do not survive", n)
		}
		both := content(halves[0])
		maps.Copy(both, content(halves[1]))
		if halves[0].Len()+halves[1].Len() != int(n) || !maps.Equal(both, content(tab)) {
			t.Fatalf("%d entries do not survive being shared out", n)
		}
		if n > 100 && (halves[0].Len() == 0 || halves[1].Len() == 0) {
			t.Fatalf("one half has all %d entries", n)
		}
	}
}

func TestRestoreErrors(t *testing.T) {
	enc := func(vs ...int64) (b []byte) {
		for _, v := range vs {
			b = binary.AppendVarint(b, v)
		}
		return b
	}
	for _, c := range []struct {
		src  []byte
		want string
	}{
		{enc(1, 2, 1, 2), "stored twice"},
		{enc(1), "stored value of key 1"},
		{append(enc(1, 2), 0x80), "stored key"},
	} {
		if err := New(keys(mix), coders.Coder[int64](varints{})).Restore(c.src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x: got %v, want %q", c.src, err, c.want)
		}
	}
	tab := New(keys(mix), coders.Coder[int64](varints{}))
	p, _ := tab.At(mix(1), 1)
	*p = -1
	if _, err := tab.Snapshot(nil, exec.GroupOf(mix(1))); !errors.Is(err, errNegative) {
		t.Errorf("a value that cannot be encoded: %v", err)
	}
}

// TestRestoreNormalizes stores keys under ==, which Normalize makes agree with the encoding.
func TestRestoreNormalizes(t *testing.T) {
	k := &coders.Key[int64]{Coder: varints{}, Hash: func(v int64) uint64 { return mix(v / 10) }, Normalize: func(v int64) int64 { return v / 10 * 10 }}
	tab := New(k, coders.Coder[int64](varints{}))
	if err := tab.Restore(binary.AppendVarint(binary.AppendVarint(nil, 17), 5)); err != nil {
		t.Fatal(err)
	}
	if p := tab.Find(k.Hash(10), 10); p == nil || *p != 5 {
		t.Errorf("key 17 is not found as 10: %v", content(tab))
	}
}

func win(start, end exec.Time) exec.Window { return exec.Window{Start: start, End: end} }

// TestWindowsIsAMapOfMaps holds a set of tables to a Go map, and its list to the order of windows.
func TestWindowsIsAMapOfMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, model := NewWindows(keys(mix), coders.Coder[int64](varints{})), map[exec.Window]map[int64]int64{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			end := exec.Time(rapid.IntRange(1, 6).Draw(t, "end"))
			w := win(end-exec.Time(rapid.IntRange(1, 3).Draw(t, "size")), end)
			if rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
				s.Drop(w)
				delete(model, w)
			} else {
				if model[w] == nil {
					model[w] = map[int64]int64{}
				}
				k := int64(rapid.IntRange(0, 5).Draw(t, "key"))
				p, _ := s.Open(w).At(mix(k), k)
				*p++
				model[w][k]++
			}
			same(t, s, model)
		}
		back := NewWindows(keys(mix), coders.Coder[int64](varints{}))
		for g := range exec.KeyGroups {
			b, err := s.Snapshot([]byte{1}, g)
			if err == nil {
				err = back.Restore(b[1:])
			}
			if err != nil {
				t.Fatalf("key group %d: %v", g, err)
			}
		}
		same(t, back, model)
	})
}

func same(t *rapid.T, s *Windows[int64, int64], model map[exec.Window]map[int64]int64) {
	if s.Len() != len(model) || len(s.List()) != len(model) || !slices.IsSortedFunc(s.List(), exec.Window.Compare) {
		t.Fatalf("windows %v, want those of %v in order", s.List(), model)
	}
	for w, m := range model {
		tab := s.Find(w)
		if tab == nil || !maps.Equal(content(tab), m) {
			t.Fatalf("window %v: %v, want %v", w, tab, m)
		}
	}
	if s.Find(win(100, 200)) != nil {
		t.Fatal("a window that was never opened is found")
	}
}

func TestWindowsReuseTables(t *testing.T) {
	s := NewWindows(keys(mix), coders.Coder[int64](varints{}))
	first := s.Open(win(0, 10))
	for i := range int64(100) {
		first.At(mix(i), i)
	}
	s.Drop(win(0, 10))
	if next := s.Open(win(10, 20)); next != first || next.Len() != 0 {
		t.Errorf("the table of a dropped window is not used again, or has %d entries left", next.Len())
	}
	for i := range exec.Time(3 * maxFree) {
		s.Open(win(i, i+1))
	}
	for i := range exec.Time(3 * maxFree) {
		s.Drop(win(i, i+1))
	}
	if len(s.free) > maxFree {
		t.Errorf("%d tables are kept, more than %d", len(s.free), maxFree)
	}
}

// TestSnapshotLeavesOutEmptyWindows writes a window only into the groups that it has keys of.
func TestSnapshotLeavesOutEmptyWindows(t *testing.T) {
	s := NewWindows(keys(mix), coders.Coder[int64](varints{}))
	s.Open(win(0, 10)).At(mix(5), 5)
	for g := range exec.KeyGroups {
		b, err := s.Snapshot(nil, g)
		if err != nil || (len(b) > 0) != (g == exec.GroupOf(mix(5))) {
			t.Errorf("key group %d: %d bytes, %v", g, len(b), err)
		}
	}
	p, _ := s.Open(win(0, 10)).At(mix(5), 5)
	*p = -1
	if _, err := s.Snapshot(nil, exec.GroupOf(mix(5))); !errors.Is(err, errNegative) || !strings.Contains(fmt.Sprint(err), "window") {
		t.Errorf("a value that cannot be encoded: %v", err)
	}
}

// FuzzRestoreWindows restores damaged snapshots.
func FuzzRestoreWindows(f *testing.F) {
	s := NewWindows(keys(mix), coders.Coder[int64](varints{}))
	for _, w := range []exec.Window{win(0, 10), win(-5, 10), exec.Global} {
		for i := range int64(3) {
			p, _ := s.Open(w).At(mix(i), i)
			*p = i
		}
	}
	for g := range exec.KeyGroups {
		b, err := s.Snapshot(nil, g)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) > 0 {
			f.Add(b)
			f.Add(b[:len(b)-1])
			f.Add(b[:10])
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s := NewWindows(keys(mix), coders.Coder[int64](varints{}))
		if s.Restore(src) != nil {
			return
		}
		back := NewWindows(keys(mix), coders.Coder[int64](varints{}))
		for g := range exec.KeyGroups {
			b, err := s.Snapshot(nil, g)
			if errors.Is(err, errNegative) {
				return
			}
			if err == nil {
				err = back.Restore(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range s.List() {
			if tab := back.Find(w); s.Find(w).Len() > 0 && (tab == nil || !maps.Equal(content(tab), content(s.Find(w)))) {
				t.Fatalf("window %v does not survive", w)
			}
		}
	})
}
