package combine

// Three holds the results of three combiners.
type Three[A, B, C any] struct {
	First  A
	Second B
	Third  C
}

// Four holds the results of four combiners.
type Four[A, B, C, D any] struct {
	First  A
	Second B
	Third  C
	Fourth D
}

// All3 computes three combiners in one pass.
func All3[In, A1, R1, A2, R2, A3, R3 any](a Combiner[In, A1, R1], b Combiner[In, A2, R2], c Combiner[In, A3, R3]) Combiner[
	In, Two[Two[A1, A2], A3], Three[R1, R2, R3]] {
	return Then(Both(Both(a, b), c), func(t Two[Two[R1, R2], R3]) Three[R1, R2, R3] {
		return Three[R1, R2, R3]{t.First.First, t.First.Second, t.Second}
	})
}

// All4 computes four combiners in one pass.
func All4[In, A1, R1, A2, R2, A3, R3, A4, R4 any](a Combiner[In, A1, R1], b Combiner[In, A2, R2], c Combiner[In, A3, R3],
	d Combiner[In, A4, R4]) Combiner[In, Two[Two[A1, A2], Two[A3, A4]], Four[R1, R2, R3, R4]] {
	return Then(Both(Both(a, b), Both(c, d)), func(t Two[Two[R1, R2], Two[R3, R4]]) Four[R1, R2, R3, R4] {
		return Four[R1, R2, R3, R4]{t.First.First, t.First.Second, t.Second.First, t.Second.Second}
	})
}
