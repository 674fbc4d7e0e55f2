package grouping_test

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	. "github.com/penstock-dev/penstock/transforms"
)

func words(p *pcoll.Pipeline, ws ...string) pcoll.PCollection[string] { return CreateFrom(p, ws) }

func shout(s string) string { return s + "!" }

// TestFlattenPutsTogether collections, and what stands behind and beside them.
func TestFlattenPutsTogether(t *testing.T) {
	onAll(t, "many", func(t *testing.T, p *pcoll.Pipeline) {
		var all []pcoll.PCollection[string]
		var want []string
		for _, w := range []string{"a", "b", "c", "d", "a"} {
			all, want = append(all, words(p, w, w+w)), append(want, w, w+w)
		}
		passert.Equals(t, FlattenAll(p, append(all, words(p))), want...)
	})
	onAll(t, "one", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Flatten(words(p, "a", "b")), "a", "b")
		passert.Equals(t, FlattenAll(p, []pcoll.PCollection[string]{words(p, "a")}), "a")
	})
	onAll(t, "none", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Empty(t, FlattenAll[string](p, nil))
		passert.Empty(t, Map(FlattenAll[string](p, nil), shout))
		passert.Empty(t, Flatten(words(p), words(p)))
	})
	onAll(t, "none, as a side input", func(t *testing.T, p *pcoll.Pipeline) {
		none := side.AsList(FlattenAll[string](p, nil))
		passert.Equals(t, MapSide(words(p, "a"), none, func(s string, l side.List[string]) int { return l.Len() }), 0)
	})
	onAll(t, "and then a function", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Map(Flatten(words(p, "a"), words(p, "b")), shout), "a!", "b!")
	})
	onAll(t, "copies of one", func(t *testing.T, p *pcoll.Pipeline) {
		in := words(p, "a", "b")
		passert.Equals(t, Flatten(in, in, Map(in, shout), in), "a", "a", "a", "b", "b", "b", "a!", "b!")
	})
	onAll(t, "what others read, too", func(t *testing.T, p *pcoll.Pipeline) {
		a, b := words(p, "a"), words(p, "b")
		all := Flatten(a, b)
		passert.Equals(t, Map(a, shout), "a!")
		passert.Equals(t, Map(b, shout), "b!")
		passert.Equals(t, CountPerElement(all), pcoll.Pair[string, int64]("a", 1), pcoll.Pair[string, int64]("b", 1))
		passert.Equals(t, Flatten(all, a), "a", "b", "a")
		x, y := Partition(all, func(s string) bool { return s == "a" })
		passert.Equals(t, Flatten(x, y, x), "a", "a", "b")
	})
}

// TestFlatMapOfContainers is what flattens slices, sets, maps and groups.
func TestFlatMapOfContainers(t *testing.T) {
	onAll(t, "slices", func(t *testing.T, p *pcoll.Pipeline) {
		in := Create(p, []string{"a", "b"}, nil, []string{}, []string{"a"})
		passert.Equals(t, FlatMap(in, slices.Values[[]string]), "a", "b", "a")
		passert.Empty(t, FlatMap(Create(p, []string{}, nil), slices.Values[[]string]))
		passert.Empty(t, FlatMap(CreateFrom[[]string](p, nil), slices.Values[[]string]))
	})
	onAll(t, "sets", func(t *testing.T, p *pcoll.Pipeline) {
		in := Create(p, map[string]bool{"a": true, "b": true}, map[string]bool{"a": false})
		passert.Equals(t, FlatMap(in, func(m map[string]bool) iter.Seq[string] { return maps.Keys(m) }), "a", "b", "a")
	})
	onAll(t, "groups", func(t *testing.T, p *pcoll.Pipeline) {
		groups := Values(GroupByKey(Create(p, kv("x", 1), kv("y", 2), kv("x", 3))))
		passert.Equals(t, FlatMap(groups, pcoll.Group[int].All), 1, 2, 3)
	})
}
