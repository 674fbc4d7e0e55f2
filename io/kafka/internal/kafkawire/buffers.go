package kafkawire

import (
	"math/bits"
	"sync"
)

// bufferPool reuses record-set buffers within a budget: what is out and what is kept together stay below it, except that what is asked for
// is always given. Sizes are rounded up by at most a quarter, so that few sizes occur.
type bufferPool struct {
	mu     sync.Mutex
	budget int
	out    int // bytes given and not taken back
	kept   int // bytes in free
	free   map[int][][]byte
}

const smallestBuffer = 4 << 10

func newBufferPool(budget int) *bufferPool {
	return &bufferPool{budget: budget, free: map[int][][]byte{}}
}

// roundBuffer is the capacity that is given for n bytes: four sizes to each doubling.
func roundBuffer(n int) int {
	if n <= smallestBuffer {
		return smallestBuffer
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}

// Get implements FetchBuffers.
func (p *bufferPool) Get(n int) []byte {
	size := roundBuffer(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out += size
	if list := p.free[size]; len(list) > 0 {
		b := list[len(list)-1]
		p.free[size] = list[:len(list)-1]
		p.kept -= size
		return b[:n]
	}
	for other, list := range p.free {
		for len(list) > 0 && p.out+p.kept > p.budget {
			list = list[:len(list)-1]
			p.kept -= other
		}
		if p.free[other] = list; len(list) == 0 {
			delete(p.free, other)
		}
	}
	return make([]byte, n, size)
}

// Put implements FetchBuffers.
func (p *bufferPool) Put(b []byte) {
	size := cap(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out -= size
	if p.out+p.kept+size <= p.budget {
		p.free[size] = append(p.free[size], b)
		p.kept += size
	}
}
