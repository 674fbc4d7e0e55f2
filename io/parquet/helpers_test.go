package parquet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/connector/connectortest"
	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
	"github.com/penstock-dev/penstock/pcoll"
)

// click has its event time in milliseconds.
type click struct {
	At   int64  `parquet:"at"`
	Ad   string `parquet:"ad"`
	Cost int64  `parquet:"cost"`
}

func (c click) time() time.Time { return time.UnixMilli(c.At) }

// clicks returns n clicks, one a second, from number first on.
func clicks(first, n int) (rows []click) {
	for i := first; i < first+n; i++ {
		rows = append(rows, click{int64(i) * 1000, fmt.Sprintf("ad-%d", i%7), int64(i)})
	}
	return rows
}

// save writes a file with the given rows in each of its row groups.
func save[T any](t testing.TB, path string, groupRows int, rows []T) {
	t.Helper()
	shape, err := columns.ShapeOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	w, err := columns.Create(shape, path, columns.WriterOptions{GroupRows: groupRows})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rows), w.Close(), w.Publish()); err != nil {
		t.Fatal(err)
	}
}

// load reads the rows of all files that a glob matches; none is not an error.
func load[T any](t testing.TB, glob string) (rows []T) {
	t.Helper()
	l, err := columns.List(glob)
	if err != nil && !errors.Is(err, columns.ErrNoFile) {
		t.Fatal(err)
	}
	for _, path := range l.Files {
		rows = append(rows, loadFile[T](t, path)...)
	}
	return rows
}

func loadFile[T any](t testing.TB, path string) (rows []T) {
	t.Helper()
	shape, err := columns.ShapeOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	f, err := columns.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plan, err := columns.Bind(shape, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Splits() {
		r, err := plan.Open(s.Group, 0)
		if err != nil {
			t.Fatal(err)
		}
		group := make([]T, s.Rows)
		if n, err := r.Read(group); err != nil || n != len(group) {
			t.Fatalf("%s: %d rows read of %d, error %v", path, n, len(group), err)
		}
		rows = append(rows, group...)
	}
	return rows
}

// sourceOf returns the source that a Read would have.
func sourceOf[T any](t testing.TB, glob string, opts ...ReadOption) *source[T] {
	t.Helper()
	p := pcoll.New("test")
	b := pcoll.NewBuilder(p, "parquet.Read", opts...)
	s := newSource[T](b, glob)
	connector.Add(b, s, false)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// sinkOf returns the sink that a Write would have.
func sinkOf[T any](t testing.TB, dir string, opts ...WriteOption) *sink[T] {
	t.Helper()
	p := pcoll.New("test")
	b := pcoll.NewBuilder(p, "parquet.Write", opts...)
	s := newSink[T](b, dir)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// env is what a runner gives to a reader or writer of the first worker.
func env() connector.Env { return connectortest.Env(func() {}) }
