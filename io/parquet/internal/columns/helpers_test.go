package columns

import (
	"errors"
	"io"
	"testing"
)

// writeRows writes and publishes a file.
func writeRows[T any](tb testing.TB, path string, rows []T, o WriterOptions) {
	tb.Helper()
	w, err := Create(shape[T](tb), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(w.Write(rows), w.Close(), w.Publish()); err != nil {
		tb.Fatal(err)
	}
}

func shape[T any](tb testing.TB) *Shape[T] {
	tb.Helper()
	s, err := ShapeOf[T]()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// readRows reads a whole file in batches.
func readRows[T any](tb testing.TB, path string, batch int) []T {
	tb.Helper()
	rows, err := tryRows[T](tb, path, batch)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func tryRows[T any](tb testing.TB, path string, batch int) (rows []T, err error) {
	tb.Helper()
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return fileRows(shape[T](tb), f, batch)
}

// fileRows reads all splits of a file.
func fileRows[T any](s *Shape[T], f *File, batch int) (rows []T, err error) {
	p, err := Bind(s, f, nil)
	if err != nil {
		return nil, err
	}
	for _, split := range f.Splits() {
		r, err := p.Open(split.Group, 0)
		if err != nil {
			return nil, err
		}
		more, err := drain(r, batch)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// drain reads what is left of a split. Batches are reused, so that rows which share what they
// must not are found out.
func drain[T any](r *Reader[T], size int) (rows []T, err error) {
	batch := make([]T, size)
	for {
		n, err := r.Read(batch)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, batch[:n]...)
	}
}
