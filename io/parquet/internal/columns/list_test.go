package columns

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListPatterns(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a.parquet", "b.parquet", "odd[1].parquet", "c.txt",
		"day=1/x.parquet", "day=1/y.parquet", "day=2/x.parquet",
		"day=2/deep/er/z.parquet", "day=2/_temporary/t.parquet", ".hid/h.parquet",
		"x.parquet/part-0", "copy.parquet._COPYING_",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "day=1"), filepath.Join(dir, "day=3")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "a.parquet"), filepath.Join(dir, "link.parquet")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		patterns []string
		want     []string
		skipped  int
	}{
		{"file", []string{"a.parquet"}, []string{"a.parquet"}, 0},
		{"brackets in a name", []string{"odd[1].parquet"}, []string{"odd[1].parquet"}, 0},
		{"star", []string{"?.parquet"}, []string{"a.parquet", "b.parquet", "x.parquet/part-0"}, 0},
		{"directories", []string{"day=*/x.parquet"}, []string{"day=1/x.parquet", "day=2/x.parquet"}, 1},
		{"a directory", []string{"day=2"}, []string{"day=2/deep/er/z.parquet", "day=2/x.parquet"}, 1},
		{"any depth", []string{"**/z.parquet"}, []string{"day=2/deep/er/z.parquet"}, 3},
		{"depth within", []string{"day=2/**/*.parquet"}, []string{"day=2/deep/er/z.parquet", "day=2/x.parquet"}, 1},
		{"two patterns", []string{"a.*", "[ab].parquet"}, []string{"a.parquet", "b.parquet"}, 0},
		{"hidden by name", []string{".hid/h.parquet"}, []string{".hid/h.parquet"}, 0},
		{"below hidden by name", []string{"day=2/_temporary/*"}, []string{"day=2/_temporary/t.parquet"}, 0},
		{"link to a file", []string{"link*"}, []string{"link.parquet"}, 0},
		{"link by name", []string{"day=3"}, []string{"day=3/x.parquet", "day=3/y.parquet"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var patterns []string
			for _, p := range c.patterns {
				patterns = append(patterns, filepath.Join(dir, p))
			}
			got, err := List(patterns...)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, name := range c.want {
				want = append(want, filepath.Join(dir, name))
			}
			if diff := cmp.Diff(want, got.Files); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got.Skipped != c.skipped {
				t.Errorf("%d skipped, want %d", got.Skipped, c.skipped)
			}
		})
	}
	for _, c := range []struct {
		pattern string
		want    string
	}{
		{filepath.Join(dir, "none.parquet"), "none.parquet"},
		{filepath.Join(dir, "none*"), "no file matches (0 names"},
		{filepath.Join(dir, "*_COPYING_"), "no file matches (1 names"},
		{filepath.Join(dir, "*", "[a"), "syntax error in pattern"},
		{"", "pattern is empty"},
	} {
		_, err := List(c.pattern)
		wantError(t, err, c.want)
	}
	if _, err := List(filepath.Join(dir, "none.parquet")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is %v", err)
	}

	t.Chdir(dir)
	got, err := List("day=1/*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"day=1/x.parquet", "day=1/y.parquet"}, got.Files); diff != "" {
		t.Errorf("relative: -want +got\n%s", diff)
	}
}
