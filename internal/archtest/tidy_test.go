package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Limits on size. What is longer does more than one thing, and is read by
// nobody to its end.
const (
	maxFile     = 600 // lines
	maxFunction = 60  // lines; tests, which are tables and scripts, are free
	maxColumns  = 160 // a tab counts one
)

// longer are the exceptions, by the place that a finding names, with the reason.
var longer = map[string]string{}

// checkSize returns the file, functions and lines that are too long.
func checkSize(s *source) (findings []string) {
	n := strings.Count(s.text, "\n")
	if n > maxFile {
		findings = append(findings, fmt.Sprintf("%s: has %d lines, more than %d: let each file say one thing", s.path, n, maxFile))
	}
	for i, line := range strings.Split(s.text, "\n") {
		if columns := utf8.RuneCountInString(line); columns > maxColumns {
			findings = append(findings, fmt.Sprintf("%s:%d: has %d columns, more than %d: a diff has to fit a screen", s.path, i+1, columns, maxColumns))
		}
	}
	if s.tests {
		return findings
	}
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
		if lines > maxFunction {
			findings = append(findings, fmt.Sprintf("%s %s: has %d lines, more than %d: give its parts names", s.path, f.Name.Name, lines, maxFunction))
		}
	}
	return findings
}

func TestSizes(t *testing.T) {
	var findings []string
	for _, s := range theTree(t).files {
		findings = append(findings, checkSize(s)...)
	}
	report(t, findings, longer)
}

// wellKnown are methods whose promise is the standard library's.
var wellKnown = []string{"Error", "String", "Unwrap"}

// checkDocs returns exported names without a comment.
func checkDocs(s *source) (findings []string) {
	add := func(n ast.Node, name string) {
		findings = append(findings, fmt.Sprintf("%s: %s has no doc comment: say what it promises: units, shapes, errors", s.at(n), name))
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			recv := receiver(d)
			known := recv != "" && slices.Contains(wellKnown, d.Name.Name)
			if d.Name.IsExported() && d.Doc == nil && !known && (recv == "" || ast.IsExported(recv)) {
				add(d, strings.TrimPrefix(recv+"."+d.Name.Name, "."))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, bare := range undocumented(spec, d.Doc) {
					add(bare, bare.Name)
				}
			}
		}
	}
	return findings
}

// receiver returns the name of a method's type; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// undocumented returns the exported names of a declaration without a comment
// of their own or of their group, and the methods of an exported interface that
// neither have one, nor are named in the interface's, nor are its only one.
func undocumented(spec ast.Spec, group *ast.CommentGroup) (bare []*ast.Ident) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() && group == nil && spec.Doc == nil && spec.Comment == nil {
				bare = append(bare, name)
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if group == nil && spec.Doc == nil && spec.Comment == nil {
			bare = append(bare, spec.Name)
		}
		i, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return bare
		}
		told := group.Text() + spec.Doc.Text()
		if told != "" && len(i.Methods.List) == 1 {
			return bare // what is said of it is said of its method
		}
		for _, m := range i.Methods.List {
			if len(m.Names) > 0 && m.Names[0].IsExported() && m.Doc == nil && m.Comment == nil && !strings.Contains(told, m.Names[0].Name) {
				bare = append(bare, m.Names[0])
			}
		}
	}
	return bare
}

func TestExportedNamesAreDocumented(t *testing.T) {
	var findings []string
	for _, s := range theTree(t).files {
		if !s.tests {
			findings = append(findings, checkDocs(s)...)
		}
	}
	report(t, findings, nil)
}

// checkPackages returns folders in which no file has a package comment, or several.
func checkPackages(files []*source) (findings []string) {
	docs := map[string][]string{}
	for _, s := range files {
		if strings.HasSuffix(s.file.Name.Name, "_test") {
			continue // belongs to the package beside it
		}
		docs[s.dir()] = slices.Clone(docs[s.dir()])
		if s.file.Doc != nil {
			docs[s.dir()] = append(docs[s.dir()], path.Base(s.path))
		}
	}
	for dir, in := range docs {
		switch {
		case len(in) == 0:
			findings = append(findings, fmt.Sprintf("%s: has no package comment: say what it is, how it is used, what it promises", dir))
		case len(in) > 1:
			findings = append(findings, fmt.Sprintf("%s: has package comments in %s: one place tells what the package is", dir, strings.Join(in, " and ")))
		}
	}
	slices.Sort(findings)
	return findings
}

func TestPackagesAreDocumented(t *testing.T) {
	report(t, checkPackages(theTree(t).files), nil)
}

// putOff finds notes of work that is put off. (Spelt so that it does not find itself.)
var putOff = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|X[X]X)\b`)

// unnoticed are files in which such a word is something else.
var unnoticed = map[string]string{}

func checkPutOff(name, text string) (findings []string) {
	for i, line := range strings.Split(text, "\n") {
		if m := putOff.FindString(line); m != "" {
			findings = append(findings, fmt.Sprintf("%s: line %d says %s: do it now, or file an issue that somebody will find", name, i+1, m))
		}
	}
	return findings
}

func TestNothingIsPutOff(t *testing.T) {
	var findings []string
	for name, text := range theTree(t).texts {
		if !strings.Contains("/"+name, "/testdata/") {
			findings = append(findings, checkPutOff(name, text)...)
		}
	}
	slices.Sort(findings)
	report(t, findings, unnoticed)
}

func TestTidyRules(t *testing.T) {
	long := "package x\nfunc short() {}\nfunc long() {\n" + strings.Repeat("\tshort()\n", maxFunction) + "}\n"
	wantFindings(t, checkSize(snippet(t, "x.go", long)), "x.go long: has 62 lines")
	wantFindings(t, checkSize(snippet(t, "x_test.go", long)))
	wantFindings(t, checkSize(snippet(t, "x.go", "package x\n"+strings.Repeat("\n", maxFile))), "x.go: has 601 lines")
	wide := strings.Repeat("é", maxColumns-4)
	wantFindings(t, checkSize(snippet(t, "x.go", "package x\n\t// "+wide+"\n\t//"+wide+"aa\n")), "x.go:3: has 161 columns")

	wantFindings(t, checkDocs(snippet(t, "x.go", `package x
func F() {}
// G is documented.
func G() {}
type T[K any] struct{}
func (*T[K]) M() {}
func (T[K]) String() string { return "" }
type hidden int
func (hidden) String() string { return "" }
// I is documented, and says what Named does.
type I interface {
	Bare()
	Named()
	// Told is documented.
	Told()
	Beside() // is documented
}
// One is documented.
type One interface{ Method() }
// Group of constants.
const (
	A = 1
)
var V, w = 1, 2
var L = 1 // L is documented.
`)), "x.go:2: F", "x.go:5: T", "x.go:6: T.M", "x.go:12: Bare", "x.go:24: V")

	wantFindings(t, checkPackages([]*source{
		snippet(t, "bare/a.go", "package bare"),
		snippet(t, "bare/a_test.go", "// Package bare_test is not the package.\npackage bare_test"),
		snippet(t, "good/doc.go", "// Package good is.\npackage good"),
		snippet(t, "good/a.go", "package good"),
		snippet(t, "twice/a.go", "// Package twice is.\npackage twice"),
		snippet(t, "twice/b.go", "// Package twice is as well.\npackage twice"),
	}), "bare: has no package comment", "twice: has package comments in a.go and b.go")

	wantFindings(t, checkPutOff("a", "fine\n// TO"+"DO: more\nTO"+"DOS is no note\n"), "a: line 2 says TO"+"DO")
}
