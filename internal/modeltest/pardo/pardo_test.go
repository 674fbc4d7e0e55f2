package pardo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	. "github.com/penstock-dev/penstock/transforms"
)

type pair = pcoll.KV[string, int]

func sec(n int) time.Time { return time.Unix(int64(n), 0) }

func secs(from, to int) pcoll.Window { return passert.Window(sec(from), sec(to)) }

// onAll runs a pipeline on every runner.
func onAll(t *testing.T, name string, build func(t *testing.T, p *pcoll.Pipeline)) {
	t.Run(name, func(t *testing.T) {
		p := pcoll.New("pardo")
		build(t, p)
		ptest.Run(t, p)
	})
}

// each is a DoFn that does what the test says, with further outputs.
type each struct {
	A, B Output[string]
	Do   func(f *each, c *pcoll.Context, n int, emit pcoll.Emit[string])
}

var _ DoFn[int, string] = (*each)(nil)

func (f *each) Process(c *pcoll.Context, n int, emit pcoll.Emit[string]) error {
	f.Do(f, c, n, emit)
	return nil
}

func say(_ *each, c *pcoll.Context, n int, emit pcoll.Emit[string]) {
	emit(c, fmt.Sprint("saw ", n))
}

func TestElementsAreProcessedOnce(t *testing.T) {
	onAll(t, "some", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, ParDo(Create(p, 3, -42, 666, 3), &each{Do: say}), "saw 3", "saw -42", "saw 666", "saw 3")
	})
	onAll(t, "many", func(t *testing.T, p *pcoll.Pipeline) {
		ones := ParDo(Map(GenerateSequence(p, 0, 5000), func(n int64) int { return int(n) }), &each{Do: say})
		passert.Equals(t, Count(ones), 5000)
		passert.Equals(t, Count(Distinct(ones)), 5000)
	})
	onAll(t, "none", func(t *testing.T, p *pcoll.Pipeline) { passert.Empty(t, ParDo(Create[int](p), &each{Do: say})) })
	onAll(t, "with no output", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Empty(t, ParDo(Create(p, 3, -42), &each{Do: func(*each, *pcoll.Context, int, pcoll.Emit[string]) {}}))
	})
	onAll(t, "with several outputs of one", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, ParDo(Create(p, 0, 2), &each{Do: func(_ *each, c *pcoll.Context, n int, emit pcoll.Emit[string]) {
			for range n {
				emit(c, "x")
			}
		}}), "x", "x")
	})
}

// prefixing makes a map in Setup from its configuration.
type prefixing struct {
	Prefix string
	Names  map[int]string
	names  map[int]string
}

var _ Setupper = (*prefixing)(nil)

func (f *prefixing) Setup(c *pcoll.Context) error {
	f.names = map[int]string{}
	for n, s := range f.Names {
		f.names[n] = f.Prefix + s
	}
	return c.Context().Err()
}

func (f *prefixing) Process(c *pcoll.Context, n int, emit pcoll.Emit[string]) error {
	emit(c, f.names[n])
	return nil
}

// TestSetupIsGivenTheConfiguration: fields are what options are elsewhere.
func TestSetupIsGivenTheConfiguration(t *testing.T) {
	p := pcoll.New("pardo")
	in := Create(p, 1, 2, 1)
	passert.Equals(t, ParDo(in, &prefixing{Prefix: "not ", Names: map[int]string{1: "one"}}), "not one", "", "not one")
	passert.Equals(t, ParDo(in, &prefixing{Prefix: "is ", Names: map[int]string{2: "two"}}), "", "is two", "")
	ptest.Run(t, p)
}

// split sends zero to its main output and others by their sign.
func split(f *each, c *pcoll.Context, n int, emit pcoll.Emit[string]) {
	switch {
	case n < 0:
		f.A.Emit(c, fmt.Sprint("less ", n))
	case n > 0:
		f.B.Emit(c, fmt.Sprint("more ", n))
		f.A.Emit(c, fmt.Sprint("not less ", n))
	default:
		emit(c, "zero")
	}
}

func TestOutputs(t *testing.T) {
	outputs := func(in pcoll.PCollection[int], do func(*each, *pcoll.Context, int, pcoll.Emit[string])) (main, a, b pcoll.PCollection[string]) {
		fn := &each{Do: do}
		main = ParDo(in, fn)
		return main, fn.A.Collection(), fn.B.Collection()
	}
	onAll(t, "each gets its own", func(t *testing.T, p *pcoll.Pipeline) {
		main, a, b := outputs(Create(p, 3, -42, 0), split)
		passert.Equals(t, main, "zero")
		passert.Equals(t, a, "less -42", "not less 3")
		passert.Equals(t, b, "more 3")
	})
	onAll(t, "of an empty collection", func(t *testing.T, p *pcoll.Pipeline) {
		main, a, b := outputs(Create[int](p), split)
		passert.Empty(t, main)
		passert.Empty(t, a)
		passert.Empty(t, b)
	})
	onAll(t, "one stays empty", func(t *testing.T, p *pcoll.Pipeline) {
		main, a, b := outputs(Create(p, 0, -1), split)
		passert.Equals(t, main, "zero")
		passert.Equals(t, a, "less -1")
		passert.Empty(t, b)
	})
	onAll(t, "the main one is not used", func(t *testing.T, p *pcoll.Pipeline) {
		_, a, _ := outputs(Create(p, 3, -42), split)
		passert.Equals(t, Map(a, strings.ToUpper), "LESS -42", "NOT LESS 3")
	})
	onAll(t, "none is used", func(t *testing.T, p *pcoll.Pipeline) {
		outputs(Create(p, 3, -42), split)
		passert.Equals(t, Create(p, 1), 1)
	})
	onAll(t, "of outputs of outputs", func(t *testing.T, p *pcoll.Pipeline) {
		_, _, more := outputs(Create(p, 3, 4, -42), split)
		length := Map(more, func(s string) int { return int(s[len(s)-1]-'0') - 3 }) // 0 and 1
		main, a, b := outputs(length, split)
		passert.Equals(t, main, "zero")
		passert.Equals(t, a, "not less 1")
		passert.Equals(t, Flatten(main, b, more), "zero", "more 1", "more 3", "more 4")
	})
}

// TestElementsOfUnusualTypes: nothing and no value are elements like others.
func TestElementsOfUnusualTypes(t *testing.T) {
	one := 1
	onAll(t, "nil beside values", func(t *testing.T, p *pcoll.Pipeline) {
		in := Create(p, nil, &one, nil)
		passert.Equals(t, in, &one, nil, nil)
		passert.Equals(t, Reshuffle(in), nil, nil, &one)
		passert.Equals(t, Map(in, func(n *int) bool { return n == nil }), true, false, true)
	})
	onAll(t, "no content", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Create(p, struct{}{}, struct{}{}), struct{}{}, struct{}{})
		passert.Equals(t, CountPerElement(Create(p, struct{}{}, struct{}{})), pcoll.Pair(struct{}{}, int64(2)))
	})
	onAll(t, "pairs without content", func(t *testing.T, p *pcoll.Pipeline) {
		pairs := Create(p, pcoll.Pair(struct{}{}, struct{}{}), pcoll.Pair(struct{}{}, struct{}{}))
		passert.Equals(t, CountPerKey(pairs), pcoll.Pair(struct{}{}, int64(2)))
	})
	onAll(t, "nil slices and maps", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Equals(t, Map(Reshuffle(Create(p, []int(nil), []int{1}, []int{})), func(s []int) int { return len(s) }), 0, 1, 0)
	})
}

// TestImpulseIsOneElementBeforeAllTimes, in the global window.
func TestImpulseIsOneElementBeforeAllTimes(t *testing.T) {
	onAll(t, "impulse", func(t *testing.T, p *pcoll.Pipeline) {
		passert.Panes(t, Impulse(p), passert.Ungrouped(struct{}{}).In(pcoll.Global).At(exec.MinTime.Time()))
	})
}
