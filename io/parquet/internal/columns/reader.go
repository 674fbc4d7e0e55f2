package columns

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// Reader reads the rows of one row group. It is for one goroutine at a time.
type Reader[T any] struct {
	plan   *Plan[T]
	leaves []*leafReader
	group  int
	row    int64 // of the group, next to read
	rows   int64 // in the group
	err    error // sticky
	bad    []badRow
	reject func(*RowError)
}

// RowError is a row that a file holds and T cannot: a null where neither a pointer nor the tag
// "optional" allows one.
type RowError struct {
	File   string
	Group  int
	Row    int64 // within the group
	Column string
	Field  string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("parquet: %s: row group %d, row %d: column %q is null, field %s cannot be; make it a pointer or tag it optional to read zero",
		e.File, e.Group, e.Row, e.Column, e.Field)
}

// badRow is a row of the batch at hand that is to be left out.
type badRow struct {
	row  int // in the batch
	leaf *binding
}

// Open returns a reader of a row group from the given row on: 0, or what Position returned.
func (p *Plan[T]) Open(group int, row int64) (*Reader[T], error) {
	if group < 0 || group >= len(p.file.meta.RowGroups) {
		return nil, fmt.Errorf("parquet: %s: no row group %d, there are %d; the file is not the one the split was made for",
			p.file.name, group, len(p.file.meta.RowGroups))
	}
	r := &Reader[T]{plan: p, group: group, rows: p.file.meta.RowGroups[group].NumRows}
	if row < 0 || row > r.rows {
		return nil, fmt.Errorf("parquet: %s: row group %d: no row %d, there are %d; the file is not the one the position is of",
			p.file.name, group, row, r.rows)
	}
	if r.rows == 0 {
		return r, nil
	}
	for _, b := range p.leaves {
		r.leaves = append(r.leaves, &leafReader{
			binding: b, vals: b.make(), pages: newPageReader(p.file, group, b.node), cur: make([]int, int(b.node.maxRep)+1),
			null: func(row int) { r.bad = append(r.bad, badRow{row, b}) },
		})
	}
	if row > 0 {
		if err := r.each(func(l *leafReader) error { return l.skip(row) }, row); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// OnReject makes the reader leave out rows that T cannot hold and tell f of them, instead of
// failing. Rejected rows count in Position.
func (r *Reader[T]) OnReject(f func(*RowError)) { r.reject = f }

// Position returns the index within the group of the row that is read next. Plan.Open resumes there.
func (r *Reader[T]) Position() int64 { return r.row }

// Left returns the number of rows still to read.
func (r *Reader[T]) Left() int64 { return r.rows - r.row }

// Read fills batch with the next rows and returns their number: len(batch), or fewer at the end
// of the group or by as many as were rejected, which may be all; io.EOF, alone, after the last.
// What the rows refer to is theirs: it stays valid, and the reader does not touch it again. Byte
// slices and lists are not shared between rows, strings may be. After an error the reader stays
// where it is.
func (r *Reader[T]) Read(batch []T) (int, error) {
	if r.err != nil || len(batch) == 0 && r.row < r.rows {
		return 0, r.err
	}
	if r.row >= r.rows {
		return 0, io.EOF
	}
	n := int(min(int64(len(batch)), r.rows-r.row))
	rows := batch[:n]
	if r.plan.fresh {
		clear(rows)
	}
	base, stride := unsafe.Pointer(unsafe.SliceData(rows)), unsafe.Sizeof(rows[0])
	r.bad = r.bad[:0]
	if err := r.each(func(l *leafReader) error { return l.fill(base, stride, n) }, int64(n)); err != nil {
		return 0, err
	}
	if len(r.bad) > 0 {
		n = r.drop(rows)
	}
	return n, r.err
}

// each lets every column go on by n rows.
func (r *Reader[T]) each(do func(*leafReader) error, n int64) error {
	at := ""
	err := guard(func() error {
		for _, l := range r.leaves {
			at = l.node.path
			if err := do(l); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if err == io.EOF {
			err = errors.New("damaged: the column ends before its row group does")
		}
		r.err = fmt.Errorf("parquet: %s: row group %d, rows %d to %d: column %q: %w",
			r.plan.file.name, r.group, r.row, r.row+n-1, at, err)
		return r.err
	}
	r.row += n
	return nil
}

// drop removes the bad rows from a batch, or fails because of the first.
func (r *Reader[T]) drop(rows []T) int {
	slices.SortStableFunc(r.bad, func(a, b badRow) int { return a.row - b.row })
	start := r.row - int64(len(rows))
	kept, last := 0, -1
	for _, bad := range r.bad {
		if bad.row == last {
			continue // it is named by its first column
		}
		e := &RowError{File: r.plan.file.name, Group: r.group, Row: start + int64(bad.row), Column: bad.leaf.node.path, Field: bad.leaf.field.goPath}
		if r.reject == nil {
			r.row, r.err = start, e
			return 0
		}
		r.reject(e)
		kept += copy(rows[kept:], rows[last+1:bad.row])
		last = bad.row
	}
	kept += copy(rows[kept:], rows[last+1:])
	clear(rows[kept:])
	return kept
}
