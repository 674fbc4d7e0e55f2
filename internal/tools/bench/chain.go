package main

import (
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
)

// Elements of the sizes that matter: two registers, five, five of which three
// are an array (which Go does not keep in registers), and many.
type (
	e16  struct{ K, V int64 }
	e40  struct{ K, V, A, B, C int64 }
	e40a struct {
		K, V int64
		P    [3]int64
	}
	e120 struct {
		K, V int64
		P    [11]int64
		S    string
	}
)

// chains compares Map, Filter, Map with the loop that calls the same functions.
func chains() []comparison {
	return []comparison{
		chain("chain-16", 2.7, func(i int64) e16 { return e16{i, i} },
			func(e e16) e16 { e.V *= 3; return e }, func(e e16) bool { return e.V&7 != 0 }, func(e e16) uint64 { return uint64(e.V) }),
		chain("chain-40", 1.5, func(i int64) e40 { return e40{K: i, V: i} },
			func(e e40) e40 { e.V *= 3; return e }, func(e e40) bool { return e.V&7 != 0 }, func(e e40) uint64 { return uint64(e.V) }),
		chain("chain-40-array", 1.9, func(i int64) e40a { return e40a{K: i, V: i} },
			func(e e40a) e40a { e.V *= 3; return e }, func(e e40a) bool { return e.V&7 != 0 }, func(e e40a) uint64 { return uint64(e.V) }),
		chain("chain-120", 1.8, func(i int64) e120 { return e120{K: i, V: i} },
			func(e e120) e120 { e.V *= 3; return e }, func(e e120) bool { return e.V&7 != 0 }, func(e e120) uint64 { return uint64(e.V) }),
	}
}

func chain[T any](name string, goal float64, of func(int64) T, f func(T) T, keep func(T) bool, g func(T) uint64) comparison {
	const n, passes = 1 << 14, 1 << 8
	elems := make([]T, n)
	for i := range elems {
		elems[i] = of(int64(i))
	}
	return comparison{name: name, n: n * passes, goal: goal, noAllocs: true,
		hand: func() (s uint64) {
			for range passes {
				for i := range elems {
					if y := f(elems[i]); keep(y) {
						s += g(y)
					}
				}
			}
			return s
		},
		pen: func() uint64 {
			p := pcoll.New(name)
			in := slice(p, elems, passes, nil)
			out := transforms.Map(transforms.Filter(transforms.Map(in, f), keep), g)
			return run(p, sum(out), 1)
		}}
}
