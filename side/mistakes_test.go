package side_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// TestMistakesInReading fails the run with the view and what was wrong.
func TestMistakesInReading(t *testing.T) {
	pair := pcoll.Pair[string, *int]
	for name, c := range map[string]struct {
		build func(p *pcoll.Pipeline)
		want  []string
	}{
		"empty singleton": {func(p *pcoll.Pipeline) {
			transforms.MapSide(transforms.Create(p, 1), side.AsSingleton(transforms.Create[int](p)), plus)
		}, []string{"MapSide: element time", "window global: side input AsSingleton: the window is empty", "AsSingletonOr"}},
		"singleton of three": {func(p *pcoll.Pipeline) {
			transforms.MapSide(transforms.Create(p, 1), side.AsSingletonOr(transforms.Create(p, 1, 2, 3), 0), plus)
		}, []string{"side input AsSingletonOr: the window has 3 elements", "combine them"}},
		"singleton of three, discarding": {func(p *pcoll.Pipeline) {
			three := windowing.Into(transforms.Create(p, 1, 2, 3), windowing.Global(), windowing.Discarding())
			transforms.MapSide(transforms.Create(p, 1), side.AsSingleton(three), plus)
		}, []string{"the window has 3 elements"}},
		"list": {func(p *pcoll.Pipeline) {
			transforms.MapSide(transforms.Create(p, 1), side.AsList(transforms.Create(p, 1, 2)), func(i int, s side.List[int]) int { return s.At(-i) })
		}, []string{"side input AsList: element -1 of a list of 2 was read; want 0 to 1"}},
		"key twice": {func(p *pcoll.Pipeline) {
			twice := transforms.Create(p, pcoll.Pair("a", 1), pcoll.Pair("b", 2), pcoll.Pair("a", 3))
			transforms.MapSide(transforms.Create(p, "b"), side.AsMap(twice), value)
		}, []string{"side input AsMap: key a has two values in the window", "AsMultimap"}},
		"key twice, with nil values": {func(p *pcoll.Pipeline) {
			twice := transforms.Create(p, pair("a", nil), pair("a", nil))
			transforms.MapSide(transforms.Create(p, "b"), side.AsMap(twice), func(k string, s side.Map[string, *int]) int {
				for range s.All() {
					panic("a map with a key twice has no entries")
				}
				return s.Len()
			})
		}, []string{"key a has two values"}},
		"read elsewhere": {func(p *pcoll.Pipeline) {
			view := side.AsSingleton(transforms.Create(p, 1))
			transforms.Map(transforms.Create(p, 1), func(i int) int { return i + view.Get() })
		}, []string{"Map: element time", "a side input was read where no element is being processed", "through the receiver"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pcoll.New("test")
			c.build(p)
			ptest.Fails(t, p, c.want...)
		})
	}
}

type holder struct{ Rates side.Map[string, int] }

func (h *holder) Process(c *pcoll.Context, k string, emit pcoll.Emit[int]) error {
	emit(c, value(k, h.Rates))
	return nil
}

type hidden struct{ rates side.Map[string, int] }

func (h *hidden) Process(c *pcoll.Context, k string, emit pcoll.Emit[int]) error {
	emit(c, value(k, h.rates))
	return nil
}

type byValue struct{ Rates side.Map[string, int] }

func (h byValue) Process(c *pcoll.Context, k string, emit pcoll.Emit[int]) error {
	emit(c, value(k, h.Rates))
	return nil
}

type byPointer struct{ Rates *side.Map[string, int] }

func (h *byPointer) Process(c *pcoll.Context, k string, emit pcoll.Emit[int]) error {
	emit(c, value(k, *h.Rates))
	return nil
}

// TestMistakesInBuilding are found before anything runs, with the user's line.
func TestMistakesInBuilding(t *testing.T) {
	stream := func(p *pcoll.Pipeline) pcoll.PCollection[int] { return teststream.New[int]().Source(p) }
	rates := func(p *pcoll.Pipeline) side.Map[string, int] {
		return side.AsMap(transforms.Create(p, pcoll.Pair("a", 1)))
	}
	words := func(p *pcoll.Pipeline) pcoll.PCollection[string] { return transforms.Create(p, "a") }
	for name, c := range map[string]struct {
		build func(p *pcoll.Pipeline)
		want  string
	}{
		"unbounded and global": {func(p *pcoll.Pipeline) { side.AsList(stream(p)) },
			"AsList: an unbounded side input in the global window, which no watermark ever ends, would never be ready"},
		"unbounded and global, at the end": {func(p *pcoll.Pipeline) {
			side.AsList(windowing.Into(stream(p), windowing.Global(), windowing.Trigger(triggers.Never{})))
		}, "would never be ready"},
		"sessions": {func(p *pcoll.Pipeline) { side.AsList(windowing.Into(stream(p), windowing.Sessions(time.Second))) },
			"AsList: windows that merge, here sessions(1s), cannot be those of a side input"},
		"merged sessions": {func(p *pcoll.Pipeline) {
			side.AsList(transforms.GroupByKey(transforms.KeyBy(windowing.Into(stream(p), windowing.Sessions(time.Second)), func(i int) int { return i })))
		}, "windows that merge"},
		"global beside windowed": {func(p *pcoll.Pipeline) {
			transforms.MapSide(transforms.Create(p, 1), side.AsSingleton(stamped(p, fixed(10), pcoll.Pair(1, 1))), plus)
		}, "MapSide: the input is in the global window, to which no window of the side input corresponds, which is in fixed(10s)"},
		"trigger that finishes": {func(p *pcoll.Pipeline) {
			side.AsList(windowing.Into(stream(p), windowing.Global(), windowing.Discarding(), windowing.Trigger(triggers.AfterCount(1))))
		}, "trigger AfterCount(1) may finish, and the side input would miss what comes after that"},
		"withdrawals": {func(p *pcoll.Pipeline) {
			side.AsList(windowing.Into(stream(p), fixed(10), windowing.AllowedLateness(time.Second), windowing.Retracting()))
		}, "AsList: a collection with withdrawals cannot be a side input"},
		"key without encoding": {func(p *pcoll.Pipeline) { side.AsMap(transforms.Create(p, pcoll.Pair(1.5, 1))) },
			"AsMap: coders: cannot use as a key"},
		"elements without encoding": {func(p *pcoll.Pipeline) { side.AsList(transforms.Create[chan int](p)) }, "AsList: coders: "},
		"another pipeline": {func(p *pcoll.Pipeline) {
			transforms.MapSide(transforms.Create(p, 1), side.AsSingleton(transforms.Create(pcoll.New("other"), 1)), plus)
		}, `MapSide: an input belongs to pipeline "other"`},
		"zero view": {func(p *pcoll.Pipeline) { transforms.MapSide(transforms.Create(p, 1), side.Singleton[int]{}, plus) },
			"MapSide: the view is a zero side.Singleton[int]"},
		"zero field": {func(p *pcoll.Pipeline) { transforms.ParDo(words(p), &holder{}) },
			"side_test.holder.Rates is a side.Map[string,int] without a collection"},
		"hidden field": {func(p *pcoll.Pipeline) { transforms.ParDo(words(p), &hidden{rates(p)}) },
			"side_test.hidden.rates is a side input and must be exported"},
		"field by value": {func(p *pcoll.Pipeline) { transforms.ParDo(words(p), byValue{rates(p)}) }, "is a side input, which cannot be bound in a copy"},
		"field as pointer": {func(p *pcoll.Pipeline) { r := rates(p); transforms.ParDo(words(p), &byPointer{&r}) },
			"make the field a side.Map[string,int], not a pointer"},
		"no function": {func(p *pcoll.Pipeline) {
			transforms.FilterSide(transforms.Create(p, 1), side.AsSingleton(transforms.Create(p, 1)), nil)
		}, "FilterSide: the function is nil"},
	} {
		p := pcoll.New("test")
		c.build(p)
		err := p.Err()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
			continue
		}
		if n := strings.Count(err.Error(), "mistakes_test.go:"); n != 1 {
			t.Errorf("%s: reports %d mistakes, want 1: %v", name, n, err)
		}
	}
}

// TestViewsOfMistakes are inert: nothing more is reported of them.
func TestViewsOfMistakes(t *testing.T) {
	p := pcoll.New("test")
	wrong := windowing.Into(transforms.Create(p, 1), windowing.Fixed(0))
	view := side.AsSingleton(wrong)
	out := transforms.MapSide(stamped(p, fixed(10), pcoll.Pair(1, 1)), view, plus)
	transforms.WaitOn(out, wrong)
	if err := p.Err(); err == nil || strings.Count(err.Error(), "mistakes_test.go:") != 1 {
		t.Errorf("got %v, want one mistake", err)
	}
}

// TestValuesCanBeReadTwice iterates several times.
func TestValuesCanBeReadTwice(t *testing.T) {
	p := pcoll.New("test")
	got := transforms.MapSide(transforms.Create(p, 1, 2), side.AsIterable(transforms.Create(p, 1, 2, 3)), func(_ int, s side.Iterable[int]) bool {
		all := s.All()
		first := slices.Collect(all)
		return len(first) == 3 && slices.Equal(first, slices.Collect(all)) && slices.Equal(first, slices.Collect(s.All()))
	})
	passert.Equals(t, got, true, true)
	ptest.Run(t, p)
}
