package columns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNoFile is in the errors of List for a pattern that no file is left for.
var ErrNoFile = errors.New("no file matches")

// Listing is what patterns stand for.
type Listing struct {
	Files   []string // sorted, each once
	Skipped int      // names left out by the rules of List
}

// List finds the files that patterns stand for. A pattern is a path whose elements may hold the
// wildcards of filepath.Match; the element ** stands for any number of directories, none
// included. Where a pattern ends at a directory, all files below it are meant. A path that exists
// as it is written is taken so, wildcards or not.
//
// Among the names that were not written out, these are skipped and counted:
//   - those that begin with a dot;
//   - those that begin with an underscore (_SUCCESS, _metadata, _temporary), unless it is a
//     directory named key=value: a partition by a column that has such a name;
//   - files that end in .crc, .tmp or ._COPYING_;
//   - symbolic links to directories, which may lead in circles.
//
// Those are the rules of Hadoop's readers, with what Spark learned about partitions. A pattern
// for which no file is left is an error.
func List(patterns ...string) (Listing, error) {
	l := lister{files: map[string]bool{}, skipped: map[string]bool{}}
	for _, p := range patterns {
		l.found = 0
		if err := l.pattern(p); err != nil {
			return Listing{}, fmt.Errorf("parquet: listing %q: %w", p, err)
		}
		if l.found == 0 {
			return Listing{Skipped: len(l.skipped)}, fmt.Errorf("parquet: listing %q: %w (%d names were skipped as hidden or temporary); correct the pattern",
				p, ErrNoFile, len(l.skipped))
		}
	}
	out := Listing{Skipped: len(l.skipped)}
	for f := range l.files {
		out.Files = append(out.Files, f)
	}
	slices.Sort(out.Files)
	return out, nil
}

type lister struct {
	files   map[string]bool
	skipped map[string]bool
	found   int // by the pattern at hand, files that others found too included
}

func (l *lister) pattern(p string) error {
	if p == "" {
		return errors.New("the pattern is empty; name a file, a directory or a pattern")
	}
	_, err := os.Stat(p)
	if err == nil {
		return l.match(filepath.Clean(p), nil)
	}
	if !wild(p) {
		if gone(err) {
			err = fmt.Errorf("%w: %w", ErrNoFile, err)
		}
		return err
	}
	root, rest := ".", filepath.Clean(p)
	if filepath.IsAbs(rest) {
		root = filepath.VolumeName(rest) + string(filepath.Separator)
		rest = rest[len(root):]
	}
	elements := strings.Split(rest, string(filepath.Separator))
	for _, e := range elements {
		if _, err := filepath.Match(e, ""); err != nil {
			return fmt.Errorf("element %q: %w", e, err)
		}
	}
	return l.match(root, elements)
}

func wild(element string) bool { return strings.ContainsAny(element, `*?[`) }

// match adds what elements stand for below path.
func (l *lister) match(path string, elements []string) error {
	for len(elements) > 0 && !wild(elements[0]) {
		path, elements = filepath.Join(path, elements[0]), elements[1:]
	}
	if len(elements) == 0 {
		info, err := os.Stat(path)
		if gone(err) {
			return nil // below a wildcard not every directory goes on as the pattern does
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			return l.match(path, []string{"*"})
		}
		l.files[path] = true
		l.found++
		return nil
	}
	if elements[0] == "**" {
		rest := elements[1:]
		if len(rest) == 0 {
			return l.match(path, nil)
		}
		if err := l.match(path, rest); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(path)
	if gone(err) {
		return nil
	}
	for _, e := range entries {
		if err := l.entry(path, e, elements); err != nil {
			return err
		}
	}
	return err
}

// entry adds what a name in the directory path stands for, which the first of elements may match.
func (l *lister) entry(path string, e fs.DirEntry, elements []string) error {
	deep := elements[0] == "**"
	if ok, _ := filepath.Match(elements[0], e.Name()); !ok {
		return nil
	}
	full, link := filepath.Join(path, e.Name()), e.Type()&fs.ModeSymlink != 0
	if deep && !e.IsDir() && !link {
		return nil
	}
	linked := false // to a directory
	if link {
		info, err := os.Stat(full)
		if err != nil {
			return err
		}
		if linked = info.IsDir(); deep && !linked {
			return nil
		}
	}
	if linked || hidden(e) {
		l.skipped[full] = true
		return nil
	}
	switch {
	case deep:
		return l.match(full, elements)
	case len(elements) == 1, e.IsDir():
		return l.match(full, elements[1:])
	}
	return nil
}

// gone tells that a path does not exist, or leads through something that is not a directory.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func hidden(e fs.DirEntry) bool {
	name := e.Name()
	switch {
	case strings.HasPrefix(name, "."):
		return true
	case strings.HasPrefix(name, "_"):
		return !e.IsDir() || !strings.Contains(name, "=")
	case e.IsDir():
		return false
	}
	for _, suffix := range []string{".crc", ".tmp", "._COPYING_"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
