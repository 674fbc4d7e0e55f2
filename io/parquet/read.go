package parquet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
	"github.com/penstock-dev/penstock/pcoll"
)

// Read reads the rows of all files that glob stands for. A row that T cannot
// hold, or that has no event time, fails the run with its file, row group and row; see [TryRead].
//
// glob is a path whose elements may hold the wildcards of filepath.Match; the
// element ** stands for any number of directories. Where it ends at a directory,
// all files below that are meant. Names that begin with a dot or an underscore,
// and those of temporary files and checksums, are skipped unless they are
// written out, except directories named key=value.
func Read[T any](p *pcoll.Pipeline, glob string, opts ...ReadOption) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(p, "parquet.Read", opts...)
	rows, _ := connector.Add(b, newSource[T](b, glob), false)
	return rows
}

// TryRead is [Read] that returns the rows which T cannot hold, and those without event time, as a
// collection of their own. A reject's Source names file, row group and row, counted from 0.
// Files that are damaged or have other columns fail the run all the same.
func TryRead[T any](p *pcoll.Pipeline, glob string, opts ...ReadOption) (rows pcoll.PCollection[T], rejects pcoll.PCollection[connector.Reject]) {
	b := pcoll.NewBuilder(p, "parquet.TryRead", opts...)
	return connector.Add(b, newSource[T](b, glob), true)
}

// source is the files of a glob. Its splits are their row groups.
type source[T any] struct {
	glob       string
	at         func(T) time.Time // nil: rows have no event time
	allowEmpty bool
	files      files[T]
	skipped    atomic.Int64 // names left out by the last listing, to be counted by a reader
}

func newSource[T any](b *pcoll.Builder, glob string) *source[T] {
	s := &source[T]{glob: glob}
	if glob == "" {
		b.Errorf("the glob is empty; name a file, a directory or a pattern")
	}
	s.files.shape = shapeOf[T](b)
	if e, ok := once[eventTime](b, "EventTime"); ok {
		at, same := e.at.(func(T) time.Time)
		switch {
		case !same:
			b.Errorf("EventTime takes rows of type %s, but %T are read; give it a function of the latter", e.of, *new(T))
		case e.nil:
			b.Errorf("EventTime is given a nil function; leave the option out to read rows without event time")
		}
		s.at = at
	}
	if z, ok := once[zone](b, "Zone"); ok {
		if s.files.zone = z.Location; z.Location == nil {
			b.Errorf("Zone is nil; give the zone that the files' clocks show, such as time.UTC")
		}
	}
	_, s.allowEmpty = once[allowEmpty](b, "AllowEmpty")
	s.files.timed = s.at != nil
	return s
}

// shapeOf returns the columns of T, or records what is wrong with it.
func shapeOf[T any](b *pcoll.Builder) *columns.Shape[T] {
	shape, err := columns.ShapeOf[T]()
	mistakes(b, err)
	return shape
}

// mistakes records each of the errors that err joins.
func mistakes(b *pcoll.Builder, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			mistakes(b, e)
		}
	} else if err != nil {
		b.Errorf("%s", strings.TrimPrefix(err.Error(), "parquet: "))
	}
}

// Progress says that the source is bounded and without order.
func (s *source[T]) Progress() connector.Progress {
	return connector.Progress{Bounded: true, AtEnd: true, MaxFuture: -1}
}

// maxErrors is how many bad files a listing reports.
const maxErrors = 10

// Splits lists the row groups of all files. It binds the columns of each, so
// that a file which cannot be read is found out before any is.
func (s *source[T]) Splits(ctx context.Context) ([]connector.Split, error) {
	paths, err := s.list()
	if err != nil {
		return nil, err
	}
	var splits []connector.Split
	var errs []error
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		groups, err := s.files.groups(path)
		if err != nil {
			if errs = append(errs, err); len(errs) == maxErrors {
				break
			}
		}
		for _, g := range groups {
			splits = append(splits, connector.Split{ID: splitID(path, g.Group), Size: g.Rows})
		}
	}
	return splits, errors.Join(errs...)
}

func (s *source[T]) list() ([]string, error) {
	l, err := columns.List(s.glob)
	if errors.Is(err, columns.ErrNoFile) {
		if s.allowEmpty {
			return nil, nil
		}
		return nil, s.noFile(l.Skipped)
	}
	if err != nil {
		return nil, err
	}
	s.skipped.Store(int64(l.Skipped))
	return l.Files, nil
}

// noFile describes a glob that nothing matches by the directory in which it was looked up.
func (s *source[T]) noFile(skipped int) error {
	dir := s.glob
	for dir != filepath.Dir(dir) && strings.ContainsAny(dir, `*?[`) {
		dir = filepath.Dir(dir)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	what := fmt.Sprintf("no file in directory %q matches", dir)
	if _, err := os.Stat(dir); err != nil {
		what = fmt.Sprintf("%q does not exist", dir)
	}
	if skipped > 0 {
		what += fmt.Sprintf(" (%d names were skipped as hidden or temporary)", skipped)
	}
	return fmt.Errorf("parquet: reading %q: %s; correct the path, or use parquet.AllowEmpty if there may be no file", s.glob, what)
}

func splitID(path string, group int) string { return path + "#" + strconv.Itoa(group) }

// Open returns a reader of a row group. The file is opened when the first row is read.
func (s *source[T]) Open(_ context.Context, env connector.Env, split connector.Split, from connector.Position) (connector.Reader[T], error) {
	path, number, _ := cutLast(split.ID, "#")
	group, err := strconv.Atoi(number)
	if err != nil || group < 0 {
		return nil, fmt.Errorf("parquet: split %q: not the name of a file and a row group", split.ID)
	}
	row, err := parsePosition(from)
	if err != nil {
		return nil, fmt.Errorf("parquet: split %q: %w", split.ID, err)
	}
	s.files.join()
	return &reader[T]{src: s, env: env, path: path, group: group, row: row}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
