package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

const module = "github.com/penstock-dev/penstock"

// A source is one Go file of the tree.
type source struct {
	path  string // from the root, with slashes
	text  string
	fset  *token.FileSet
	file  *ast.File
	tests bool // a _test.go file
}

// dir is the package's path within the module.
func (s *source) dir() string { return path.Dir(s.path) }

// at formats the place of a node.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

// A tree is all that the rules look at.
type tree struct {
	root  string
	files []*source
	texts map[string]string // every text file by path, Go files too
}

var load = sync.OnceValues(func() (*tree, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, texts: map[string]string{}}
	return t, filepath.WalkDir(root, t.visit)
})

func theTree(t *testing.T) *tree {
	t.Helper()
	tree, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// visit takes one entry in; generated and ignored folders are not ours to judge.
func (t *tree) visit(name string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(t.root, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if e.IsDir() {
		if rel == ".git" || rel == "out" || rel == "bin" {
			return filepath.SkipDir
		}
		return nil
	}
	if !e.Type().IsRegular() || strings.HasSuffix(rel, ".test") || strings.HasSuffix(rel, ".prof") {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
		t.texts[rel] = string(text)
	}
	if !strings.HasSuffix(rel, ".go") || strings.Contains("/"+rel, "/testdata/") {
		return nil
	}
	s, err := parse(rel, string(text))
	if err != nil {
		return err
	}
	t.files = append(t.files, s)
	return nil
}

// parse makes a source of text.
func parse(rel, text string) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{path: rel, text: text, fset: fset, file: file, tests: strings.HasSuffix(rel, "_test.go")}, nil
}

// snippet is parse for the rules' own tests.
func snippet(t *testing.T, rel, text string) *source {
	t.Helper()
	s, err := parse(rel, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goTool runs the go command at the root and returns what it printed.
func (t *tree) goTool(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = t.root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w:\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// report fails the test with every finding that is not allowed, and with every
// allowance that nothing needs any more. Allowances are keyed by the finding's
// start up to its first ": ".
func report(t *testing.T, findings []string, allowed map[string]string) {
	t.Helper()
	used := map[string]bool{}
	for _, f := range findings {
		key, _, _ := strings.Cut(f, ": ")
		if allowed[key] == "" {
			t.Error(f)
		}
		used[key] = true
	}
	for key := range allowed {
		if !used[key] {
			t.Errorf("%s: is on the allow list and breaks no rule: take it off", key)
		}
	}
}

// wantFindings checks a rule on source made to break it: each finding has to
// contain its part of want, in order.
func wantFindings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d findings, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("finding %q lacks %q", got[i], want[i])
		}
	}
}
