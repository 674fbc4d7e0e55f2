package harness_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// operatorTypes returns the names, "package.type", of all types of the module
// that have the method of an exec.Op, outside tests and tools.
func operatorTypes(t *testing.T) (names []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && isOpNew(fn) {
				names = append(names, f.Name.Name+"."+receiver(fn))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// isOpNew reports whether fn is New(exec.Env, []any) (exec.Instance, error).
func isOpNew(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || fn.Name.Name != "New" || fn.Type.Results == nil || len(fn.Type.Results.List) != 2 {
		return false
	}
	sel, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Instance"
}

func receiver(fn *ast.FuncDecl) string {
	x := fn.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		}
	}
}
