package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
)

// reader reads the rows of one row group. Its position is the index of a row in it.
type reader[T any] struct {
	src   *source[T]
	env   connector.Env
	path  string
	group int
	row   int64 // of the group, next to read

	file   *openFile[T] // nil until the first Read and after the last
	rows   *columns.Reader[T]
	bad    []*columns.RowError // of the batch at hand
	ended  bool
	closed bool
}

// parsePosition returns the row that a position stands for.
func parsePosition(p connector.Position) (int64, error) {
	if p == nil {
		return 0, nil
	}
	row, n := binary.Uvarint(p)
	if n <= 0 || n != len(p) || row > 1<<62 {
		return 0, fmt.Errorf("position %x is not the number of a row", []byte(p))
	}
	return int64(row), nil
}

// Position returns the place behind the last row read.
func (r *reader[T]) Position() connector.Position {
	return binary.AppendUvarint(connector.Position{}, uint64(r.row))
}

// Read fills the rest of the batch in place, from the columns.
func (r *reader[T]) Read(b *connector.Batch[T]) (connector.Status, error) {
	if r.ended || r.closed {
		return connector.Ended, nil
	}
	if r.rows == nil {
		if err := r.open(); err != nil {
			return connector.Waiting, err
		}
	}
	start, base, rejects := r.row, len(b.Values), len(b.Rejects)
	rows, times := b.Extend(int(min(int64(b.Room()), r.rows.Left())))
	r.bad = r.bad[:0]
	n, err := r.rows.Read(rows)
	if err == nil || err == io.EOF {
		r.row = r.rows.Position()
		for _, e := range r.bad {
			b.Rejects = append(b.Rejects, r.reject(e.Row, reasonOf(e)))
		}
		n, err = r.stamp(b, rows[:n], times, start)
	}
	b.Values, b.Times = b.Values[:base+n], b.Times[:base+n]
	switch {
	case err != nil:
		b.Values, b.Times, b.Rejects = b.Values[:base], b.Times[:base], b.Rejects[:rejects]
		r.row = start
		return connector.Waiting, err
	case r.rows.Left() == 0:
		r.ended = true
		return connector.Ended, r.release()
	}
	return connector.Ready, nil
}

func (r *reader[T]) open() (err error) {
	if n := r.src.skipped.Swap(0); n > 0 {
		r.env.Count("skippedNames", n)
		r.env.Log.Debug("names were skipped as hidden or temporary", "glob", r.src.glob, "names", n)
	}
	if r.file, err = r.src.files.use(r.path); err != nil {
		return err
	}
	if r.rows, err = r.file.plan.Open(r.group, r.row); err != nil {
		return err
	}
	r.rows.OnReject(func(e *columns.RowError) { r.bad = append(r.bad, e) })
	return nil
}

// stamp sets the event times of rows, which begin at row start of the group.
// Rows without one become rejects and leave no gap. It returns how many are left.
func (r *reader[T]) stamp(b *connector.Batch[T], rows []T, times []connector.Time, start int64) (kept int, err error) {
	if r.src.at == nil {
		for i := range rows {
			times[i] = connector.MinTime
		}
		return len(rows), nil
	}
	i, bad, at := 0, r.bad, r.src.at
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parquet: %s: EventTime panicked: %v\n%s", r.place(rowOf(i, start, bad)), p, debug.Stack())
		}
	}()
	for ; i < len(rows); i++ {
		t := at(rows[i])
		if sec := t.Unix(); sec > yearOne && sec < farFuture && kept == i { // as a rule
			times[kept] = connector.Time(sec*1000 + int64(t.Nanosecond())/1e6)
			kept++
			continue
		}
		if t.IsZero() {
			row := rowOf(i, start, bad)
			b.Rejects = append(b.Rejects, r.reject(row, "no event time: EventTime returned the zero time.Time; give the row a time, or leave EventTime out"))
			continue
		}
		if kept != i {
			rows[kept] = rows[i]
		}
		times[kept] = connector.TimeOf(t)
		kept++
	}
	clear(rows[kept:])
	return kept, nil
}

// Between these, in seconds since the epoch, a time is not the zero time.Time and has no limit of event time near.
const (
	yearOne   = -62135596800
	farFuture = 1 << 43
)

// rowOf returns where in the group the row stands that is number i of those read from start on without the bad ones.
func rowOf(i int, start int64, bad []*columns.RowError) int64 {
	row := start + int64(i)
	for _, e := range bad {
		if e.Row <= row {
			row++
		}
	}
	return row
}

func (r *reader[T]) place(row int64) string {
	return fmt.Sprintf("%s, row group %d, row %d", r.path, r.group, row)
}

func (r *reader[T]) reject(row int64, reason string) connector.Reject {
	return connector.Reject{Source: r.place(row), Reason: reason, Offset: -1}
}

// reasonOf returns what is wrong with a row, without its place.
func reasonOf(e *columns.RowError) string {
	return fmt.Sprintf("column %q is null, field %s cannot be; make it a pointer or tag it optional to read zero", e.Column, e.Field)
}

// release gives the file back.
func (r *reader[T]) release() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file, r.rows = nil, nil
	return r.src.files.done(f)
}

// Close releases the file. It may be repeated.
func (r *reader[T]) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return errors.Join(r.release(), r.src.files.leave())
}
