package parquet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
)

// maxOpen is how many files a writer keeps open.
const maxOpen = 64

// writer writes the files of one worker. A file is open, then complete, then
// prepared (in a handle), then published; only the last can be seen.
type writer[T any] struct {
	sink  *sink[T]
	dir   string
	name  string // what the names of its files begin with
	files int    // made so far
	first bool   // nothing was prepared yet, and this is the writer of the first worker

	last     *part[T] // that was written to
	open     map[exec.Window]*part[T]
	turn     int64
	complete []file
	prepared []file // and not committed
	dirs     []string
}

// part is a file that is being written.
type part[T any] struct {
	window exec.Window
	dir    string // within the sink's
	out    *columns.Writer[T]
	used   int64 // the turn when it was last turned to
}

// file is a complete file. Its names are relative to the sink's directory, so that
// a handle is good wherever the directory is.
type file struct {
	Temp  string `json:"temp"`
	Final string `json:"final"`
}

// Write appends v to the file of its window.
func (w *writer[T]) Write(e connector.Element, v T) error {
	if e.Kind != exec.Insert {
		return fmt.Errorf("parquet: writing to %q: a change of kind %v, but files can only be added to; write a collection without withdrawals", w.sink.dir, e.Kind)
	}
	window := exec.Global
	if w.sink.perWindow {
		window = e.Window
	}
	p := w.last
	if p == nil || p.window != window {
		var err error
		if p, err = w.part(window); err != nil {
			return err
		}
	}
	return p.out.Append(v)
}

// part returns the file of a window.
func (w *writer[T]) part(window exec.Window) (*part[T], error) {
	p := w.open[window]
	if p == nil {
		if len(w.open) == maxOpen {
			if err := w.finish(w.oldest()); err != nil {
				return nil, err
			}
		}
		var err error
		if p, err = w.create(window); err != nil {
			return nil, err
		}
		w.open[window] = p
	}
	w.turn++
	p.used, w.last = w.turn, p
	return p, nil
}

// oldest returns the file that was not written to for the longest time.
func (w *writer[T]) oldest() (least *part[T]) {
	for _, p := range w.open {
		if least == nil || p.used < least.used {
			least = p
		}
	}
	return least
}

func (w *writer[T]) create(window exec.Window) (*part[T], error) {
	p := &part[T]{window: window}
	if w.sink.perWindow {
		p.dir = windowDir(window)
		if err := makeDir(filepath.Join(w.dir, p.dir)); err != nil {
			return nil, fmt.Errorf("parquet: writing to directory %q: %w", w.sink.dir, err)
		}
		if !slices.Contains(w.dirs, p.dir) {
			w.dirs = append(w.dirs, p.dir)
		}
	}
	name := fmt.Sprintf("%s-%04d.parquet", w.name, w.files)
	w.files++
	var err error
	p.out, err = columns.Create(w.sink.shape, filepath.Join(w.dir, p.dir, name), w.sink.opts)
	return p, err
}

// finish completes a file.
func (w *writer[T]) finish(p *part[T]) error {
	if err := p.out.Close(); err != nil {
		return err // Close of the writer removes the file
	}
	delete(w.open, p.window)
	if w.last == p {
		w.last = nil
	}
	w.complete = append(w.complete, file{filepath.Join(p.dir, filepath.Base(p.out.Temp())), filepath.Join(p.dir, filepath.Base(p.out.Path()))})
	return nil
}

// Flush does nothing: what is written can be seen after Commit only.
func (w *writer[T]) Flush() error { return nil }

// Prepare completes the files and brings them to the disk. The handle lists them.
func (w *writer[T]) Prepare(int64) ([]byte, error) {
	if w.first && !w.sink.perWindow && len(w.open) == 0 {
		if _, err := w.part(exec.Global); err != nil { // so that an empty collection can be read
			return nil, err
		}
	}
	w.first = false
	parts := make([]*part[T], 0, len(w.open))
	for _, p := range w.open {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *part[T]) int { return a.window.Compare(b.window) })
	for _, p := range parts {
		if err := w.finish(p); err != nil {
			return nil, err
		}
	}
	if len(w.complete) == 0 {
		return nil, nil
	}
	handle, err := json.Marshal(w.complete)
	if err != nil {
		return nil, fmt.Errorf("parquet: writing to %q: %w", w.sink.dir, err)
	}
	w.prepared, w.complete = append(w.prepared, w.complete...), nil
	return handle, nil
}

// Commit gives the files of a handle their names. Those that have them are left alone.
func (w *writer[T]) Commit(handle []byte) error {
	var files []file
	if err := json.Unmarshal(handle, &files); err != nil {
		return fmt.Errorf("parquet: writing to %q: the handle to commit is damaged: %w", w.sink.dir, err)
	}
	for _, f := range files {
		if !filepath.IsLocal(f.Temp) || !filepath.IsLocal(f.Final) {
			return fmt.Errorf("parquet: writing to %q: the handle to commit is damaged: it names %q and %q, outside of the directory", w.sink.dir, f.Temp, f.Final)
		}
		if err := columns.Publish(filepath.Join(w.dir, f.Temp), filepath.Join(w.dir, f.Final)); err != nil {
			return err
		}
		if i := slices.Index(w.prepared, f); i >= 0 {
			w.prepared = slices.Delete(w.prepared, i, i+1)
		}
	}
	return nil
}

// Close removes the files that were not published, and directories of windows
// that are empty without them. It may be repeated.
func (w *writer[T]) Close() error {
	var errs []error
	for _, p := range w.open {
		errs = append(errs, p.out.Abort())
	}
	for _, f := range append(w.complete, w.prepared...) {
		errs = append(errs, columns.Discard(filepath.Join(w.dir, f.Temp)))
	}
	for _, d := range w.dirs {
		_ = os.Remove(filepath.Join(w.dir, d)) // fails where files are: those stay
	}
	clear(w.open)
	w.last, w.complete, w.prepared, w.dirs = nil, nil, nil, nil
	return errors.Join(errs...)
}

// windowDir names the directory of a window so that names sort by time, and file
// systems and engines that know partitions take them: no colon, key=value.
func windowDir(w exec.Window) string {
	if w == exec.Global {
		return "window=global"
	}
	return "window=" + stamp(w.Start) + "-" + stamp(w.End)
}

func stamp(t exec.Time) string {
	at := t.Time()
	switch {
	case at.Year() < 1 || at.Year() > 9999:
		return fmt.Sprintf("%dms", int64(t))
	case at.Nanosecond() != 0:
		return at.Format("20060102T150405.000Z")
	}
	return at.Format("20060102T150405Z")
}

// makeDir makes a directory and those above it, durably.
func makeDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is a file; name a directory", dir)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
