package kafkawire

import "testing"

func TestBufferPool(t *testing.T) {
	for n, want := range map[int]int{1: 4096, 4096: 4096, 4097: 5120, 5120: 5120, 5121: 6144, 1 << 20: 1 << 20, 1<<20 + 1: 1<<20 + 1<<18} {
		if got := roundBuffer(n); got != want {
			t.Errorf("roundBuffer(%d) = %d, want %d", n, got, want)
		}
	}
	p := newBufferPool(100_000)
	a, b := p.Get(40_000), p.Get(40_000)
	p.Put(a)
	if c := p.Get(39_000); &c[0] != &a[0] {
		t.Error("a buffer was not reused")
	}
	p.Put(a)
	p.Put(b)
	if p.out != 0 || p.kept != 2*cap(a) {
		t.Errorf("out %d, kept %d", p.out, p.kept)
	}
	big := p.Get(90_000) // the kept ones make room
	if p.out+p.kept > p.budget || len(big) != 90_000 {
		t.Errorf("out %d, kept %d", p.out, p.kept)
	}
	huge := p.Get(1_000_000) // given all the same, and not kept
	p.Put(huge)
	if p.kept > p.budget {
		t.Errorf("kept %d", p.kept)
	}
}
