package transforms

import (
	"iter"
	"slices"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/pcoll"
)

// CoGroup2 holds the values of one key and window from two collections. Either
// may have none.
type CoGroup2[A, B any] struct {
	First  pcoll.Group[A]
	Second pcoll.Group[B]
}

// CoGroup3 holds the values of one key and window from three collections.
type CoGroup3[A, B, C any] struct {
	First  pcoll.Group[A]
	Second pcoll.Group[B]
	Third  pcoll.Group[C]
}

// CoGroup4 holds the values of one key and window from four collections.
type CoGroup4[A, B, C, D any] struct {
	First  pcoll.Group[A]
	Second pcoll.Group[B]
	Third  pcoll.Group[C]
	Fourth pcoll.Group[D]
}

// CoGroupByKey2 gathers the values of each key and window from two collections:
// it is [GroupByKey] of both together. A key is in the result when it is in
// either. The collections must be windowed alike, as for [Flatten].
func CoGroupByKey2[K comparable, A, B any](first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, CoGroup2[A, B]]] {
	b := pcoll.NewBuilder(first.Pipeline(), "CoGroupByKey", opts...)
	out, _ := coGroup(b, ones(b, first, second, nothing[K], nothing[K]), coGroup2[A, B], false)
	return out
}

// CoGroupByKey2WithLate is [CoGroupByKey2] that also returns what it drops of
// each collection: an element for each window that had expired, or whose trigger
// had finished, when it came. They keep their time and are in the global window.
func CoGroupByKey2WithLate[K comparable, A, B any](first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	opts ...pcoll.Option) (groups pcoll.PCollection[pcoll.KV[K, CoGroup2[A, B]]],
	late1 pcoll.PCollection[pcoll.KV[K, A]], late2 pcoll.PCollection[pcoll.KV[K, B]]) {
	b := pcoll.NewBuilder(first.Pipeline(), "CoGroupByKey", opts...)
	groups, late := coGroup(b, ones(b, first, second, nothing[K], nothing[K]), coGroup2[A, B], true)
	return groups, pick(b, late, oneOf[A, B, none, none].first), pick(b, late, oneOf[A, B, none, none].second)
}

// CoGroupByKey3 is [CoGroupByKey2] of three collections.
func CoGroupByKey3[K comparable, A, B, C any](first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	third pcoll.PCollection[pcoll.KV[K, C]], opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, CoGroup3[A, B, C]]] {
	b := pcoll.NewBuilder(first.Pipeline(), "CoGroupByKey", opts...)
	out, _ := coGroup(b, ones(b, first, second, some(third), nothing[K]), coGroup3[A, B, C], false)
	return out
}

// CoGroupByKey3WithLate is [CoGroupByKey2WithLate] of three collections.
func CoGroupByKey3WithLate[K comparable, A, B, C any](first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	third pcoll.PCollection[pcoll.KV[K, C]], opts ...pcoll.Option) (groups pcoll.PCollection[pcoll.KV[K, CoGroup3[A, B, C]]],
	late1 pcoll.PCollection[pcoll.KV[K, A]], late2 pcoll.PCollection[pcoll.KV[K, B]], late3 pcoll.PCollection[pcoll.KV[K, C]]) {
	type either = oneOf[A, B, C, none]
	b := pcoll.NewBuilder(first.Pipeline(), "CoGroupByKey", opts...)
	groups, late := coGroup(b, ones(b, first, second, some(third), nothing[K]), coGroup3[A, B, C], true)
	return groups, pick(b, late, either.first), pick(b, late, either.second), pick(b, late, either.third)
}

// CoGroupByKey4 is [CoGroupByKey2] of four collections.
func CoGroupByKey4[K comparable, A, B, C, D any](first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	third pcoll.PCollection[pcoll.KV[K, C]], fourth pcoll.PCollection[pcoll.KV[K, D]],
	opts ...pcoll.Option) pcoll.PCollection[pcoll.KV[K, CoGroup4[A, B, C, D]]] {
	b := pcoll.NewBuilder(first.Pipeline(), "CoGroupByKey", opts...)
	out, _ := coGroup(b, ones(b, first, second, some(third), some(fourth)), coGroup4[A, B, C, D], false)
	return out
}

// CoGroupByKey4WithLate is [CoGroupByKey2WithLate] of four collections.
func CoGroupByKey4WithLate[K comparable, A, B, C, D any](first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	third pcoll.PCollection[pcoll.KV[K, C]], fourth pcoll.PCollection[pcoll.KV[K, D]], opts ...pcoll.Option) (
	groups pcoll.PCollection[pcoll.KV[K, CoGroup4[A, B, C, D]]], late1 pcoll.PCollection[pcoll.KV[K, A]], late2 pcoll.PCollection[pcoll.KV[K, B]],
	late3 pcoll.PCollection[pcoll.KV[K, C]], late4 pcoll.PCollection[pcoll.KV[K, D]]) {
	type either = oneOf[A, B, C, D]
	b := pcoll.NewBuilder(first.Pipeline(), "CoGroupByKey", opts...)
	groups, late := coGroup(b, ones(b, first, second, some(third), some(fourth)), coGroup4[A, B, C, D], true)
	return groups, pick(b, late, either.first), pick(b, late, either.second), pick(b, late, either.third), pick(b, late, either.fourth)
}

// oneOf is an element of one of four collections: it has one field. Two and three
// are four of which the rest is empty.
type oneOf[A, B, C, D any] struct {
	A *A
	B *B
	C *C
	D *D
}

func (o oneOf[A, B, C, D]) first() *A  { return o.A }
func (o oneOf[A, B, C, D]) second() *B { return o.B }
func (o oneOf[A, B, C, D]) third() *C  { return o.C }
func (o oneOf[A, B, C, D]) fourth() *D { return o.D }

// none is the type of what is not there.
type none = struct{}

// manyOf is the accumulator of a co-grouping.
type manyOf[A, B, C, D any] struct {
	A []A
	B []B
	C []C
	D []D
}

func coGroup2[A, B any](m manyOf[A, B, none, none]) CoGroup2[A, B] {
	return CoGroup2[A, B]{pcoll.GroupOf(m.A...), pcoll.GroupOf(m.B...)}
}

func coGroup3[A, B, C any](m manyOf[A, B, C, none]) CoGroup3[A, B, C] {
	return CoGroup3[A, B, C]{pcoll.GroupOf(m.A...), pcoll.GroupOf(m.B...), pcoll.GroupOf(m.C...)}
}

func coGroup4[A, B, C, D any](m manyOf[A, B, C, D]) CoGroup4[A, B, C, D] {
	return CoGroup4[A, B, C, D]{pcoll.GroupOf(m.A...), pcoll.GroupOf(m.B...), pcoll.GroupOf(m.C...), pcoll.GroupOf(m.D...)}
}

// gatherMany is the combiner of a co-grouping. Like gather's its groups share
// memory with the accumulator, to which elements are only ever appended.
type gatherMany[A, B, C, D, Out any] struct {
	extract func(manyOf[A, B, C, D]) Out
}

func (gatherMany[A, B, C, D, Out]) Create() (empty manyOf[A, B, C, D]) { return empty }

func (gatherMany[A, B, C, D, Out]) Add(m manyOf[A, B, C, D], v oneOf[A, B, C, D]) manyOf[A, B, C, D] {
	switch {
	case v.A != nil:
		m.A = append(m.A, *v.A)
	case v.B != nil:
		m.B = append(m.B, *v.B)
	case v.C != nil:
		m.C = append(m.C, *v.C)
	case v.D != nil:
		m.D = append(m.D, *v.D)
	}
	return m
}

func (gatherMany[A, B, C, D, Out]) Merge(m, o manyOf[A, B, C, D]) manyOf[A, B, C, D] {
	return manyOf[A, B, C, D]{append(m.A, o.A...), append(m.B, o.B...), append(m.C, o.C...), append(m.D, o.D...)}
}

func (g gatherMany[A, B, C, D, Out]) Extract(m manyOf[A, B, C, D]) Out { return g.extract(m) }

// Clone gives slices that the next Add has to move.
func (gatherMany[A, B, C, D, Out]) Clone(m manyOf[A, B, C, D]) manyOf[A, B, C, D] {
	return manyOf[A, B, C, D]{slices.Clip(m.A), slices.Clip(m.B), slices.Clip(m.C), slices.Clip(m.D)}
}

// gathersMany keeps it from being combined before the exchange, which makes nothing smaller.
func (gatherMany[A, B, C, D, Out]) gathersMany() {}

// A maybe is a collection that need not be there.
type maybe[K comparable, V any] func() (in pcoll.PCollection[pcoll.KV[K, V]], there bool)

func some[K comparable, V any](in pcoll.PCollection[pcoll.KV[K, V]]) maybe[K, V] {
	return func() (pcoll.PCollection[pcoll.KV[K, V]], bool) { return in, true }
}

func nothing[K comparable]() (in pcoll.PCollection[pcoll.KV[K, none]], there bool) { return in, false }

// ones turns collections into collections of one type, as parts of b.
func ones[K comparable, A, B, C, D any](b *pcoll.Builder, first pcoll.PCollection[pcoll.KV[K, A]], second pcoll.PCollection[pcoll.KV[K, B]],
	third maybe[K, C], fourth maybe[K, D]) []pcoll.PCollection[pcoll.KV[K, oneOf[A, B, C, D]]] {
	type either = oneOf[A, B, C, D]
	all := []pcoll.PCollection[pcoll.KV[K, either]]{
		tag(b, first, func(v A) either { return either{A: &v} }),
		tag(b, second, func(v B) either { return either{B: &v} }),
	}
	if in, there := third(); there {
		all = append(all, tag(b, in, func(v C) either { return either{C: &v} }))
	}
	if in, there := fourth(); there {
		all = append(all, tag(b, in, func(v D) either { return either{D: &v} }))
	}
	return all
}

func tag[K comparable, V, One any](b *pcoll.Builder, in pcoll.PCollection[pcoll.KV[K, V]], of func(V) One) pcoll.PCollection[pcoll.KV[K, One]] {
	if _, err := coders.For[V](); err != nil { // which would name a type that the user has never seen
		b.Errorf("%w", err)
	}
	return applyTo[pcoll.KV[K, V], pcoll.KV[K, One]](b.Part("Tag"), in, false, mapValuesOp[K, V, One]{of})
}

// coGroup groups all together, under the name of b.
func coGroup[K comparable, A, B, C, D, Out any](b *pcoll.Builder, all []pcoll.PCollection[pcoll.KV[K, oneOf[A, B, C, D]]],
	extract func(manyOf[A, B, C, D]) Out, late bool) (pcoll.PCollection[pcoll.KV[K, Out]], pcoll.PCollection[pcoll.KV[K, oneOf[A, B, C, D]]]) {
	return group(b, flatten(b.Part("Flatten"), all), gatherMany[A, B, C, D, Out]{extract}, late)
}

// pick returns the elements of one side, as a part of b.
func pick[K comparable, One, V any](b *pcoll.Builder, late pcoll.PCollection[pcoll.KV[K, One]], side func(One) *V) pcoll.PCollection[pcoll.KV[K, V]] {
	return applyTo[pcoll.KV[K, One], pcoll.KV[K, V]](b.Part("Late"), late, false, flatMapOp[pcoll.KV[K, One], pcoll.KV[K, V]]{
		func(e pcoll.KV[K, One]) iter.Seq[pcoll.KV[K, V]] {
			return func(yield func(pcoll.KV[K, V]) bool) {
				if v := side(e.Value); v != nil {
					yield(pcoll.KV[K, V]{Key: e.Key, Value: *v})
				}
			}
		}})
}
