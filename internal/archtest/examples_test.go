package archtest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// isTransform says whether f is exported and takes a pipeline or a collection first.
func isTransform(f *ast.FuncDecl) bool {
	if f.Recv != nil || !f.Name.IsExported() || f.Type.Params.NumFields() == 0 {
		return false
	}
	first := types.ExprString(f.Type.Params.List[0].Type)
	return first == "*pcoll.Pipeline" || strings.HasPrefix(first, "pcoll.PCollection[") || strings.HasPrefix(first, "[]pcoll.PCollection[")
}

// checkExamples returns the transforms that no Example with an expected output shows.
func checkExamples(files []*source) (findings []string) {
	var tests []*ast.File
	for _, s := range files {
		if s.tests {
			tests = append(tests, s.file)
		}
	}
	shown := map[string]bool{}
	for _, e := range doc.Examples(tests...) {
		name, _, _ := strings.Cut(e.Name, "_")
		if e.Output != "" || e.EmptyOutput {
			shown[name] = true
		}
	}
	for _, s := range files {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !s.tests && isTransform(f) && !shown[f.Name.Name] {
				findings = append(findings, fmt.Sprintf("%s: %s has no Example%s with an output: a user reads that first, and it cannot go stale",
					s.at(f), f.Name.Name, f.Name.Name))
			}
		}
	}
	return findings
}

func TestTransformsHaveExamples(t *testing.T) {
	var files []*source
	for _, s := range theTree(t).files {
		if s.dir() == "transforms" {
			files = append(files, s)
		}
	}
	if !slices.ContainsFunc(files, func(s *source) bool { return !s.tests }) {
		t.Fatal("no transforms were found")
	}
	report(t, checkExamples(files), nil)
}

func TestExampleRules(t *testing.T) {
	files := []*source{
		snippet(t, "transforms/a.go", `package transforms
func Shown[A any](in pcoll.PCollection[A]) {}
func Silent(p *pcoll.Pipeline, in int) {}
func Missing[A any](ins []pcoll.PCollection[A]) {}
func Option() pcoll.Option {}
func hidden[A any](in pcoll.PCollection[A]) {}
`),
		snippet(t, "transforms/a_test.go", `package transforms_test
func ExampleShown_twice() {
	// Output: 1
}
func ExampleSilent() {}
`),
	}
	wantFindings(t, checkExamples(files), "transforms/a.go:3: Silent has no ExampleSilent", "transforms/a.go:4: Missing")
}
