package transforms

// A heap holds items of which the first in their order is at 0. Items that stand
// for something which has moved on stay in it: who takes them looks.
type heap[T interface{ Before(T) bool }] []T

// push puts an item in.
func (h *heap[T]) push(x T) {
	s := append(*h, x)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.Before(s[up]) {
			break
		}
		s[i], i = s[up], up
	}
	s[i] = x
	*h = s
}

// pop takes the first item out; there has to be one.
func (h *heap[T]) pop() T {
	s := *h
	first, n := s[0], len(s)-1
	x := s[n]
	var none T
	s[n] = none // what it refers to can go
	s = s[:n]
	*h = s
	i := 0
	for c := 1; c < n; c = 2*i + 1 {
		if c+1 < n && s[c+1].Before(s[c]) {
			c++
		}
		if !s[c].Before(x) {
			break
		}
		s[i], i = s[c], c
	}
	if n > 0 {
		s[i] = x
	}
	return first
}
