package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const magic = "PAR1"

// File is an open Parquet file: its schema, and where its columns lie. It may be used by several
// goroutines at once.
type File struct {
	name   string
	src    io.ReaderAt
	close  func() error
	body   int64 // bytes before the footer
	meta   format.FileMetaData
	rows   int64
	root   *node
	leaves []*node
}

// Split is a row group of a file: what is read by one reader at a time.
type Split struct {
	Path  string
	Group int   // index of the row group
	Rows  int64 // in the group
	Bytes int64 // in the file, all columns
}

// Open opens the file of the given name and checks its metadata: no size in it is believed
// before it is compared with the size of the file.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err) // names the file
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory; list its files first")
	}
	var file *File
	if err == nil {
		file, err = OpenReader(path, f, info.Size())
	} else {
		err = fmt.Errorf("parquet: %s: %w", path, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file.close = f.Close
	return file, nil
}

// OpenReader opens a file of size bytes that src reads; name stands for it in errors.
func OpenReader(name string, src io.ReaderAt, size int64) (*File, error) {
	f := &File{name: name, src: src, close: func() error { return nil }}
	err := guard(func() error { return f.open(size) })
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", name, err)
	}
	return f, nil
}

// Close closes the file. Its readers fail from then on.
func (f *File) Close() error { return f.close() }

// Name returns the name that the file was opened by.
func (f *File) Name() string { return f.name }

// Rows returns the number of rows in all row groups.
func (f *File) Rows() int64 { return f.rows }

// Splits returns the row groups in the order of the file. Groups without rows are left out; a
// file without rows has no splits.
func (f *File) Splits() []Split {
	splits := make([]Split, 0, len(f.meta.RowGroups))
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if g.NumRows == 0 {
			continue
		}
		bytes := int64(0)
		for j := range g.Columns {
			bytes += g.Columns[j].MetaData.TotalCompressedSize
		}
		splits = append(splits, Split{Path: f.name, Group: i, Rows: g.NumRows, Bytes: bytes})
	}
	return splits
}

// guard runs do. The library is not written for damaged files: what it panics with, a read
// beyond a buffer by its assembly included, becomes an error.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged: decoding it failed: %v", p)
		}
	}()
	return do()
}

func (f *File) open(size int64) error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return errors.New("big-endian machines are not supported")
	}
	const tail = 8 // length of the footer, magic
	if size < int64(len(magic))+tail {
		return fmt.Errorf("not a Parquet file: it has %d bytes", size)
	}
	var head [4]byte
	if err := readFull(f.src, head[:], 0); err != nil {
		return err
	}
	var end [tail]byte
	if err := readFull(f.src, end[:], size-tail); err != nil {
		return err
	}
	switch {
	case string(head[:]) == "PARE", string(end[4:]) == "PARE":
		return errors.New("its footer is encrypted, which is not supported; write it decrypted")
	case string(head[:]) != magic:
		return fmt.Errorf("not a Parquet file: it begins with %q, not with %q", head, magic)
	case string(end[4:]) != magic:
		return fmt.Errorf("truncated or not a Parquet file: it ends with %q, not with %q", end[4:], magic)
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	f.body = size - tail - length
	if f.body < int64(len(magic)) {
		return fmt.Errorf("damaged: a footer of %d bytes in a file of %d", length, size)
	}
	footer := make([]byte, length)
	if err := readFull(f.src, footer, f.body); err != nil {
		return err
	}
	return f.decode(footer)
}

func (f *File) decode(footer []byte) error {
	if err := checkFooter(footer); err != nil {
		return fmt.Errorf("damaged footer: %w", err)
	}
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, footer, &f.meta); err != nil {
		return fmt.Errorf("damaged footer: %w", err)
	}
	if f.meta.EncryptionAlgorithm.Value != nil {
		return errors.New("its columns are encrypted, which is not supported; write it decrypted")
	}
	var err error
	if f.root, f.leaves, err = buildSchema(f.meta.Schema); err != nil {
		return err
	}
	rows := int64(0)
	for i := range f.meta.RowGroups {
		if err := f.checkGroup(i); err != nil {
			return fmt.Errorf("damaged footer: row group %d: %w", i, err)
		}
		rows += f.meta.RowGroups[i].NumRows
	}
	if rows != f.meta.NumRows && f.meta.NumRows != 0 { // some writers leave it at zero
		return fmt.Errorf("damaged footer: %d rows in the file, %d in its row groups", f.meta.NumRows, rows)
	}
	f.rows = rows
	return nil
}

func (f *File) checkGroup(i int) error {
	g := &f.meta.RowGroups[i]
	if g.NumRows < 0 || g.NumRows > 1<<40 {
		return fmt.Errorf("%d rows", g.NumRows)
	}
	if len(g.Columns) != len(f.leaves) {
		return fmt.Errorf("%d columns where the schema has %d", len(g.Columns), len(f.leaves))
	}
	for j := range g.Columns {
		c, leaf := &g.Columns[j], f.leaves[j]
		m := &c.MetaData
		if c.FilePath != "" {
			return fmt.Errorf("column %q lies in another file, %q, which is not supported", leaf.path, c.FilePath)
		}
		if m.Type != leaf.kind {
			return fmt.Errorf("column %q holds %s, the schema says %s", leaf.path, m.Type, leaf.kind)
		}
		if g.NumRows == 0 {
			continue // writers disagree on what such a group describes, and nobody reads it
		}
		start, length := chunkStart(m), m.TotalCompressedSize
		if start < int64(len(magic)) || length < 0 || start > f.body || length > f.body-start {
			return fmt.Errorf("column %q claims %d bytes at %d, the file has %d before its footer", leaf.path, length, start, f.body)
		}
		if m.NumValues < g.NumRows || (leaf.maxRep == 0 && m.NumValues != g.NumRows) {
			return fmt.Errorf("column %q has %d values in %d rows", leaf.path, m.NumValues, g.NumRows)
		}
	}
	return nil
}

// chunkStart returns where a column chunk begins. The dictionary comes first; writers that have
// none set its offset to zero or to nonsense.
func chunkStart(m *format.ColumnMetaData) int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}

// readFull fills p from src.
func readFull(src io.ReaderAt, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading %d bytes at %d: %w", len(p), off, err)
}
