package columns

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// Codec is how pages are compressed. The zero value is Zstd.
type Codec uint8

// The codecs that files are written with. All are read, and Brotli too.
const (
	Zstd Codec = iota
	Snappy
	Gzip
	Lz4Raw
	Uncompressed
)

var codecs = [...]struct {
	name  string
	codec compress.Codec
}{
	Zstd:         {"zstd", &parquet.Zstd},
	Snappy:       {"snappy", &parquet.Snappy},
	Gzip:         {"gzip", &parquet.Gzip},
	Lz4Raw:       {"lz4raw", &parquet.Lz4Raw},
	Uncompressed: {"none", &parquet.Uncompressed},
}

// String returns the codec's name: zstd, snappy, gzip, lz4raw or none.
func (c Codec) String() string {
	if int(c) < len(codecs) {
		return codecs[c].name
	}
	return "codec " + strconv.Itoa(int(c))
}

const (
	// DefaultGroupRows is the number of rows in a row group unless the options say otherwise.
	DefaultGroupRows = 1 << 20
	// dictionaryBytes is how large a dictionary grows before the rest of the column chunk is
	// written plain.
	dictionaryBytes = 1 << 20
	// flushRows is how many single rows are collected before they go to the columns.
	flushRows = 256
)

// WriterOptions are how a file is written. The zero value is good.
type WriterOptions struct {
	GroupRows int // rows in a row group; 0 means DefaultGroupRows
	Codec     Codec
}

// Writer writes rows to a file that nobody sees before Publish: it lies beside its final name as
// .NAME.tmp-*, which listings skip. Close completes it, Publish gives it its name, Abort removes
// it. A writer is for one goroutine at a time; an error is final, and leaves Abort to do.
type Writer[T any] struct {
	path   string
	file   *os.File
	out    *parquet.GenericWriter[T]
	buf    []T
	rows   int64
	closed bool
	err    error // sticky
}

// Create makes the temporary file for path, whose directory must exist.
func Create[T any](s *Shape[T], path string, o WriterOptions) (*Writer[T], error) {
	switch {
	case o.GroupRows < 0:
		return nil, fmt.Errorf("parquet: %s: %d rows in a row group; give a positive number, or 0 for the default", path, o.GroupRows)
	case int(o.Codec) >= len(codecs):
		return nil, fmt.Errorf("parquet: %s: unknown %s; use one of the package's", path, o.Codec)
	case o.GroupRows == 0:
		o.GroupRows = DefaultGroupRows
	}
	if err := s.Writable(); err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", path, err)
	}
	options := []parquet.WriterOption{
		parquet.MaxRowsPerRowGroup(int64(o.GroupRows)),
		parquet.Compression(codecs[o.Codec].codec),
		parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.CreatedBy("penstock", "", ""),
	}
	options = append(options, s.tags()...)
	f, err := createTemp(path)
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", path, err)
	}
	w := &Writer[T]{path: path, file: f}
	w.do("its schema", func() error {
		w.out = parquet.NewGenericWriter[T](f, options...)
		return nil
	})
	if w.err != nil {
		return nil, errors.Join(w.err, w.Abort())
	}
	return w, nil
}

// createTemp is os.CreateTemp with the permissions of a data file, not of a secret.
func createTemp(path string) (*os.File, error) {
	for try := 0; ; try++ {
		name := fmt.Sprintf(".%s.tmp-%08x", filepath.Base(path), rand.Uint32())
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}

// Writable refuses what the library writes wrong: it stores nanoseconds in columns annotated as
// days, or as coarser times of day. Create calls it too.
func (s *Shape[T]) Writable() error {
	var errs []error
	eachScalar(s.fields, func(f *field) {
		switch {
		case f.typ == timeType && f.note == asDate:
			errs = append(errs, fmt.Errorf("field %s: a time.Time cannot be written as a date; use an int32 of days since 1970-01-01, or a timestamp", f.goPath))
		case f.typ == durationType && f.note == asTime && f.unit != nanos:
			errs = append(errs, fmt.Errorf("field %s: a time.Duration is written in nanoseconds; tag it time or time(nanosecond)", f.goPath))
		}
	})
	return errors.Join(errs...)
}

// tags completes the tags of T's fields: strings get a dictionary and times milliseconds, unless
// their tags say otherwise.
func (s *Shape[T]) tags() (options []parquet.WriterOption) {
	var visit func(fields []*field)
	visit = func(fields []*field) {
		for _, f := range fields {
			elem := f
			for elem.form == list {
				elem = elem.elem
			}
			if elem.form == group {
				visit(elem.fields)
				continue
			}
			if tag, changed := f.complete(elem); changed {
				options = append(options, parquet.StructTag(tag, f.at...))
			}
		}
	}
	visit(s.fields)
	return options
}

// complete returns the tag that a field of scalars, or of lists of them, is written by.
func (f *field) complete(elem *field) (reflect.StructTag, bool) {
	var add, addElem string
	switch {
	case elem.typ.Kind() == reflect.String && !f.encoded && (f.form == scalar || f.elem.form == scalar):
		add = ",dict"
	case elem.typ == timeType && elem.note == plain && f.form == scalar:
		add = ",timestamp(millisecond)"
	case elem.typ == timeType && elem.note == plain && f.listTag && f.elem.form == scalar:
		addElem = ",timestamp(millisecond)"
	default:
		return "", false
	}
	own, elemTag := f.tag.Get("parquet"), f.tag.Get("parquet-element")
	if name, _, _ := strings.Cut(own, ","); name == "" {
		own = f.column + own
	}
	tag := "parquet:" + strconv.Quote(own+add)
	if elemTag += addElem; elemTag != "" {
		tag += " parquet-element:" + strconv.Quote(elemTag)
	}
	return reflect.StructTag(tag), true
}

// do runs a call of the library and keeps its error, or its panic.
func (w *Writer[T]) do(what string, call func() error) {
	if w.err != nil {
		return
	}
	if err := guard(call); err != nil {
		w.err = fmt.Errorf("parquet: writing %s: %s: %w", w.path, what, err)
	}
}

// Write appends rows, which are copied.
func (w *Writer[T]) Write(rows []T) error {
	w.flush()
	w.write(rows)
	return w.err
}

// Append appends one row. Rows are collected, so an error may be that of rows before.
func (w *Writer[T]) Append(row T) error {
	w.buf = append(w.buf, row)
	if len(w.buf) >= flushRows {
		w.flush()
	}
	return w.err
}

func (w *Writer[T]) flush() {
	if len(w.buf) > 0 {
		w.write(w.buf)
		clear(w.buf)
		w.buf = w.buf[:0]
	}
}

func (w *Writer[T]) write(rows []T) {
	w.do("rows", func() error {
		if w.closed {
			return errors.New("it is closed; create another file")
		}
		n, err := w.out.Write(rows)
		w.rows += int64(n)
		if err == nil && n < len(rows) {
			err = fmt.Errorf("%d of %d rows written", n, len(rows))
		}
		return err
	})
}

// Rows returns the number of rows written, those that wait in Append's buffer included.
func (w *Writer[T]) Rows() int64 { return w.rows + int64(len(w.buf)) }

// Path returns the file's final name, Temp the one it has until then. Both are what a commit
// needs to be repeated after a crash; see Publish.
func (w *Writer[T]) Path() string { return w.path }

// Temp returns the name of the temporary file.
func (w *Writer[T]) Temp() string { return w.file.Name() }

// Close completes the file and brings it to the disk. It is not published yet.
func (w *Writer[T]) Close() error {
	if w.closed {
		return w.err
	}
	w.flush()
	w.closed = true
	w.do("its footer", func() error { return w.out.Close() })
	w.do("syncing it", w.file.Sync)
	if err := w.file.Close(); err != nil && w.err == nil {
		w.err = fmt.Errorf("parquet: writing %s: %w", w.path, err)
	}
	return w.err
}

// Publish gives a closed file its name, atomically.
func (w *Writer[T]) Publish() error {
	if w.err != nil {
		return w.err
	}
	if !w.closed {
		return fmt.Errorf("parquet: publishing %s: it is still being written; close it first", w.path)
	}
	return Publish(w.Temp(), w.path)
}

// Abort closes the file and removes it, unless it was published. It may be called at any time,
// and more than once.
func (w *Writer[T]) Abort() error {
	if !w.closed {
		w.closed = true
		_ = w.file.Close() // what it would say of the data does not matter any more
	}
	if w.err == nil {
		w.err = fmt.Errorf("parquet: writing %s: aborted", w.path)
	}
	return Discard(w.Temp())
}

// Publish renames a completed temporary file to its final name and makes that durable. A file
// that has the name is replaced. It may be repeated: when the temporary file is gone and the
// final one is there, it was done before.
func Publish(temp, path string) error {
	err := os.Rename(temp, path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(path); statErr == nil {
			err = nil
		}
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("parquet: publishing %s: %w", path, err)
	}
	return nil
}

// Discard removes a temporary file. It may be repeated.
func Discard(temp string) error {
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("parquet: discarding %s: %w", temp, err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
