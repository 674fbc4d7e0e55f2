package pcoll_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// node adds a transform with one output.
func node(p *pcoll.Pipeline, kind string, opts ...pcoll.Option) (pcoll.PCollection[int], *pcoll.Builder) {
	b := pcoll.NewBuilder(p, kind, opts...)
	out := pcoll.To[int](b, nil)
	b.Add(nil)
	return out, b
}

func names(p *pcoll.Pipeline) (out []string) {
	for _, n := range pcoll.Graph(p).Nodes {
		out = append(out, n.Name)
	}
	return out
}

// here returns the line that it is called from.
func here() int {
	_, _, line, _ := runtime.Caller(1)
	return line
}

func TestNames(t *testing.T) {
	for want, build := range map[string]func(p *pcoll.Pipeline){
		"Map Map-2 Map-3": func(p *pcoll.Pipeline) { node(p, "Map"); node(p, "Map"); node(p, "Map") },
		"A Map B": func(p *pcoll.Pipeline) {
			node(p, "Map", pcoll.Named("A"))
			node(p, "Map")
			node(p, "Map", pcoll.Named("B"))
		},
		"Map Map-2 Map-3 (a name like ours)": func(p *pcoll.Pipeline) {
			node(p, "Map")
			node(p, "Map", pcoll.Named("Map-2"))
			node(p, "Map")
		},
		"S/Map Map S/T/Map S/Map-2": func(p *pcoll.Pipeline) {
			pcoll.Scoped(p, "S", func() int { node(p, "Map"); return 0 })
			node(p, "Map")
			pcoll.Scoped(p, "S", func() int {
				pcoll.Scoped(p, "T", func() int { node(p, "Map"); return 0 })
				node(p, "Map")
				return 0
			})
		},
		"S/A A": func(p *pcoll.Pipeline) {
			pcoll.Scoped(p, "S", func() int { node(p, "Map", pcoll.Named("A")); return 0 })
			node(p, "Map", pcoll.Named("A"))
		},
		"X/Part X/Part-2 X": func(p *pcoll.Pipeline) {
			b := pcoll.NewBuilder(p, "X")
			b.Part("Part").Add(nil)
			b.Part("Part").Add(nil)
			b.Add(nil)
		},
	} {
		p := pcoll.New("names")
		build(p)
		want, _, _ = strings.Cut(want, " (")
		if got := strings.Join(names(p), " "); got != want || p.Err() != nil {
			t.Errorf("names %q, error %v; want %q", got, p.Err(), want)
		}
	}
}

// TestScopeEnds also when its builder panics.
func TestScopeEnds(t *testing.T) {
	p := pcoll.New("scopes")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		pcoll.Scoped(p, "S", func() int { panic("user") })
	}()
	node(p, "Map")
	if got := names(p); !slices.Equal(got, []string{"Map"}) {
		t.Errorf("names %q", got)
	}
}

// TestMistakes: each is reported once, with the place, all at once.
func TestMistakes(t *testing.T) {
	p, other := pcoll.New("p"), pcoll.New("other")
	foreign, _ := node(other, "Create")
	fn := new(struct{ n int })
	var lines []int
	on := func(line int, b *pcoll.Builder) *pcoll.Builder {
		lines = append(lines, line)
		return b
	}
	end := func(b *pcoll.Builder) {
		pcoll.To[int](b, nil)
		b.Add(nil)
	}
	end(on(here(), pcoll.NewBuilder(p, "Map", pcoll.Named(""))))
	end(on(here(), pcoll.NewBuilder(p, "Map", pcoll.Named("A"))))
	end(on(here(), pcoll.NewBuilder(p, "Map", pcoll.Named("A"))))
	end(on(here(), pcoll.NewBuilder(p, "Map", pcoll.Extra("Fancy", 1))))
	b := on(here(), pcoll.NewBuilder(p, "C"))
	b.Claim(fn)
	b = on(here(), pcoll.NewBuilder(p, "D"))
	b.Claim(fn)
	b = on(here(), pcoll.NewBuilder(p, "E"))
	pcoll.From(b, foreign)
	err := p.Err()
	at := func(i int, s string) string { return fmt.Sprintf("build_test.go:%d: %s", lines[i], s) }
	want := []string{
		at(0, "Map: name is empty"),
		at(2, `A: name "A" is already used; names are unique within a scope`),
		at(3, "Map-2: option Fancy does not apply to Map; remove it"),
		at(5, fmt.Sprintf("D: this *struct { n int } is already used by C (build_test.go:%d); give each transform a value of its own", lines[4])),
	}
	got := strings.Split(fmt.Sprint(err), "\n")
	if len(got) != len(want)+2 || got[0] != `pipeline "p" cannot run:` {
		t.Fatalf("got %d lines, want %d and one more:\n%v", len(got), len(want)+1, err)
	}
	for i, w := range want {
		if got[i+1] != w {
			t.Errorf("got  %s\nwant %s", got[i+1], w)
		}
	}
	if last := got[len(got)-1]; !strings.Contains(last, `E: an input belongs to pipeline "other", the transform to "p"`) {
		t.Errorf("got %s", last)
	}
	if e := errs(p)[0]; !strings.HasSuffix(e.File, "/pcoll/build_test.go") || e.Line != lines[0] || e.Transform != "Map" || !errors.Is(err, e.Err) {
		t.Errorf("%+v", e)
	}
}

// TestPlaceIsTheUsersLine, however deep in the library the mistake is found.
func TestPlaceIsTheUsersLine(t *testing.T) {
	p := pcoll.New("place")
	in := transforms.Create(p, "a")
	helper := func(in pcoll.PCollection[string]) {
		windowing.Into(in, windowing.Fixed(-time.Second)) // the innermost line of the user counts
	}
	_, _, line, _ := runtime.Caller(0)
	helper(in)
	transforms.CountPerElement(transforms.Create[float64](p))
	pcoll.Scoped(p, "S", func() pcoll.PCollection[int64] {
		return transforms.Count(transforms.Map(in, (func(string) int)(nil)))
	})
	var got []int
	for _, e := range errs(p) {
		if !strings.HasSuffix(e.File, "/pcoll/build_test.go") {
			t.Errorf("%v lies in %s", e, e.File)
		}
		got = append(got, e.Line-line)
	}
	if want := []int{-2, 2, 4}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("lines %d, want %d:\n%v", got, want, p.Err())
	}
}

func errs(p *pcoll.Pipeline) (out []*pcoll.BuildError) {
	all, _ := errors.Unwrap(p.Err()).(interface{ Unwrap() []error })
	if all == nil {
		return nil
	}
	for _, e := range all.Unwrap() {
		out = append(out, e.(*pcoll.BuildError))
	}
	return out
}

// TestInert: what is applied to a collection after a mistake reports nothing
// more, adds nothing to the graph, and has the type it should.
func TestInert(t *testing.T) {
	p := pcoll.New("inert")
	good := transforms.Create(p, 1, 2)
	bad := windowing.Into(good, windowing.Fixed(0))
	before := len(pcoll.Graph(p).Nodes)
	m := transforms.Map(bad, func(i int) string { return fmt.Sprint(i) })
	counts := transforms.CountPerElement(m)
	transforms.GroupByKey(counts)
	transforms.Flatten(m, transforms.Map(good, func(int) string { return "" }))
	transforms.ForEach(counts, func(*pcoll.Context, pcoll.KV[string, int64]) error { return nil })
	if n := len(errs(p)); n != 1 {
		t.Errorf("%d mistakes, want 1:\n%v", n, p.Err())
	}
	if n := len(pcoll.Graph(p).Nodes) - before; n != 1 { // the Map of what is good
		t.Errorf("%d nodes were added, want 1", n)
	}
	if pcoll.Col(m) != nil || m.Pipeline() != p {
		t.Error("a collection after a mistake is not inert")
	}
}

func TestZeroValuesPanic(t *testing.T) {
	p := pcoll.New("zero")
	for name, f := range map[string]func(){
		"Map of a zero collection":     func() { transforms.Map(pcoll.PCollection[int]{}, func(int) int { return 0 }) },
		"Flatten with a zero":          func() { transforms.Flatten(transforms.Create(p, 1), pcoll.PCollection[int]{}) },
		"Create in no pipeline":        func() { transforms.Create(nil, 1) },
		"Scoped in no pipeline":        func() { pcoll.Scoped(nil, "S", func() int { return 0 }) },
		"windows of a zero collection": func() { windowing.Into(pcoll.PCollection[int]{}, windowing.Global()) },
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "nil Pipeline") && !strings.Contains(r, "zero PCollection") {
					t.Errorf("%s: %s", name, r)
				}
			}()
			f()
		}()
	}
	if p.Err() != nil {
		t.Error(p.Err())
	}
}

// TestClaim: pointers to something are claimed once; what has no identity is not.
func TestClaim(t *testing.T) {
	p := pcoll.New("claim")
	claim := func(fn any) { pcoll.NewBuilder(p, "X").Claim(fn) }
	empty := new(struct{})
	for range 2 {
		claim(empty)
		claim(struct{ n int }{})
		claim(nil)
		claim(func() {})
		claim([]int{})
		claim(new(int)) // another one each time
	}
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	n := new(int)
	claim(n)
	claim(n)
	if len(errs(p)) != 1 {
		t.Errorf("%v", p.Err())
	}
}

// TestAssigned puts the assignment of windows in front of whoever looks, once.
func TestAssigned(t *testing.T) {
	p := pcoll.New("assigned")
	in := transforms.Create(p, 1)
	w := windowing.Into(in, windowing.Sliding(2*time.Second, time.Second))
	if !pcoll.Col(w).Pending {
		t.Fatal("windows are assigned at once")
	}
	b := pcoll.NewBuilder(p, "Look")
	col := pcoll.FromWindowed(b, w)
	if col.Pending || col.From.Name != "Look/AssignWindows" || col.From.Structure != graph.WindowInto || col.Elem != reflect.TypeFor[int]() {
		t.Errorf("%v from %v", col, col.From)
	}
	b.Add(nil)
	if again := pcoll.Assigned(pcoll.NewBuilder(p, "Again"), in); pcoll.Col(again) != pcoll.Col(in) {
		t.Error("what has its windows is assigned again")
	}
	if bad := pcoll.Assigned(pcoll.NewBuilder(p, "Bad"), windowing.Into(in, windowing.Fixed(0))); pcoll.Col(bad) != nil {
		t.Error("a collection after a mistake comes to life")
	}
}

func TestExtrasAreTakenOrAreMistakes(t *testing.T) {
	p := pcoll.New("extras")
	b := pcoll.NewBuilder(p, "X", nil, pcoll.Extra("N", 1), pcoll.Extra("S", "s"), pcoll.Extra("M", 2), pcoll.Named("Mine"))
	if got := pcoll.Taken[int](b); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("taken %v", got)
	}
	if got := pcoll.Taken[int](b); got != nil {
		t.Errorf("taken again: %v", got)
	}
	pcoll.To[int](b, nil)
	if b.Add(nil); len(errs(p)) != 1 || !strings.Contains(p.Err().Error(), "Mine: option S does not apply to X") || !b.Bad() {
		t.Errorf("%v", p.Err())
	}
}
