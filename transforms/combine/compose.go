package combine

import (
	"fmt"

	"github.com/penstock-dev/penstock/coders"
)

// On applies c to what f returns for each element:
//
//	combine.On(Order.Cents, combine.Sum[int64]())
func On[T, In, Acc, Out any](f func(T) In, c Combiner[In, Acc, Out]) Combiner[T, Acc, Out] {
	return on[T, In, Acc, Out]{c, f}
}

type on[T, In, Acc, Out any] struct {
	Combiner[In, Acc, Out]
	f func(T) In
}

func (o on[T, In, Acc, Out]) Add(a Acc, v T) Acc { return o.Combiner.Add(a, o.f(v)) }

func (o on[T, In, Acc, Out]) Check() error {
	if o.f == nil {
		return fmt.Errorf("combine.On has no function; give one that returns what is to be combined")
	}
	return CheckOf(o.Combiner)
}

func (o on[T, In, Acc, Out]) AccCoder() (coders.Coder[Acc], error) { return CoderOf(o.Combiner) }
func (o on[T, In, Acc, Out]) copier() (func(Acc) Acc, error)       { return CopierOf(o.Combiner) }

func (o on[T, In, Acc, Out]) retracter() func(Acc, T) Acc {
	retract := RetracterOf(o.Combiner)
	if retract == nil {
		return nil
	}
	return func(a Acc, v T) Acc { return retract(a, o.f(v)) }
}

// Then applies f to the result of c:
//
//	combine.Then(combine.Sum[int64](), func(cents int64) float64 { return float64(cents) / 100 })
func Then[In, Acc, Mid, Out any](c Combiner[In, Acc, Mid], f func(Mid) Out) Combiner[In, Acc, Out] {
	return then[In, Acc, Mid, Out]{c, f}
}

type then[In, Acc, Mid, Out any] struct {
	c Combiner[In, Acc, Mid]
	f func(Mid) Out
}

func (t then[In, Acc, Mid, Out]) Create() Acc                          { return t.c.Create() }
func (t then[In, Acc, Mid, Out]) Add(a Acc, v In) Acc                  { return t.c.Add(a, v) }
func (t then[In, Acc, Mid, Out]) Merge(a, b Acc) Acc                   { return t.c.Merge(a, b) }
func (t then[In, Acc, Mid, Out]) Extract(a Acc) Out                    { return t.f(t.c.Extract(a)) }
func (t then[In, Acc, Mid, Out]) AccCoder() (coders.Coder[Acc], error) { return CoderOf(t.c) }
func (t then[In, Acc, Mid, Out]) copier() (func(Acc) Acc, error)       { return CopierOf(t.c) }
func (t then[In, Acc, Mid, Out]) retracter() func(Acc, In) Acc         { return RetracterOf(t.c) }

func (t then[In, Acc, Mid, Out]) Check() error {
	if t.f == nil {
		return fmt.Errorf("combine.Then has no function; give one that makes the result, or leave Then out")
	}
	return CheckOf(t.c)
}

// Two holds the results, or the accumulators, of two combiners.
type Two[A, B any] struct {
	First  A
	Second B
}

// Both computes two combiners in one pass.
func Both[In, A1, R1, A2, R2 any](a Combiner[In, A1, R1], b Combiner[In, A2, R2]) Combiner[In, Two[A1, A2], Two[R1, R2]] {
	return both[In, A1, R1, A2, R2]{a, b}
}

type both[In, A1, R1, A2, R2 any] struct {
	a Combiner[In, A1, R1]
	b Combiner[In, A2, R2]
}

func (c both[In, A1, R1, A2, R2]) Create() Two[A1, A2] {
	return Two[A1, A2]{c.a.Create(), c.b.Create()}
}

func (c both[In, A1, R1, A2, R2]) Add(t Two[A1, A2], v In) Two[A1, A2] {
	return Two[A1, A2]{c.a.Add(t.First, v), c.b.Add(t.Second, v)}
}

func (c both[In, A1, R1, A2, R2]) Merge(t, u Two[A1, A2]) Two[A1, A2] {
	return Two[A1, A2]{c.a.Merge(t.First, u.First), c.b.Merge(t.Second, u.Second)}
}

func (c both[In, A1, R1, A2, R2]) Extract(t Two[A1, A2]) Two[R1, R2] {
	return Two[R1, R2]{c.a.Extract(t.First), c.b.Extract(t.Second)}
}

func (c both[In, A1, R1, A2, R2]) Check() error {
	if err := CheckOf(c.a); err != nil {
		return err
	}
	return CheckOf(c.b)
}

func (c both[In, A1, R1, A2, R2]) AccCoder() (coders.Coder[Two[A1, A2]], error) {
	a, err := CoderOf(c.a)
	if err != nil {
		return nil, err
	}
	b, err := CoderOf(c.b)
	if err != nil {
		return nil, err
	}
	return twoCoder[A1, A2]{a, b}, nil
}

func (c both[In, A1, R1, A2, R2]) copier() (func(Two[A1, A2]) Two[A1, A2], error) {
	a, err := CopierOf(c.a)
	if err != nil {
		return nil, err
	}
	b, err := CopierOf(c.b)
	if err != nil || (a == nil && b == nil) {
		return nil, err
	}
	return func(t Two[A1, A2]) Two[A1, A2] {
		if a != nil {
			t.First = a(t.First)
		}
		if b != nil {
			t.Second = b(t.Second)
		}
		return t
	}, nil
}

func (c both[In, A1, R1, A2, R2]) retracter() func(Two[A1, A2], In) Two[A1, A2] {
	a, b := RetracterOf(c.a), RetracterOf(c.b)
	if a == nil || b == nil {
		return nil
	}
	return func(t Two[A1, A2], v In) Two[A1, A2] { return Two[A1, A2]{a(t.First, v), b(t.Second, v)} }
}

// twoCoder encodes first and second, one after the other.
type twoCoder[A, B any] struct {
	a coders.Coder[A]
	b coders.Coder[B]
}

func (c twoCoder[A, B]) Append(dst []byte, t Two[A, B]) ([]byte, error) {
	out, err := c.a.Append(dst, t.First)
	if err != nil {
		return dst, err
	}
	if out, err = c.b.Append(out, t.Second); err != nil {
		return dst, err
	}
	return out, nil
}

func (c twoCoder[A, B]) Decode(src []byte) (t Two[A, B], rest []byte, err error) {
	if t.First, rest, err = c.a.Decode(src); err != nil {
		return Two[A, B]{}, src, err
	}
	if t.Second, rest, err = c.b.Decode(rest); err != nil {
		return Two[A, B]{}, src, err
	}
	return t, rest, nil
}
