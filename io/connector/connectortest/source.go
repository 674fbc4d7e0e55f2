// Package connectortest checks sources and sinks against the contract of
// package connector. An implementation calls it from a test of its own:
//
//	func TestConformance(t *testing.T) {
//		connectortest.Source(t, mySource, wantRows)
//	}
package connectortest

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/io/connector"
)

// patience is how long a reader may leave a test waiting without a wake.
const patience = 30 * time.Second

// row is a row as it was read: printed, so that any type can be compared.
type row struct {
	value string
	time  connector.Time
}

// Source checks a bounded source that holds exactly the rows of want, in any
// order and of printable distinct content: that listing is stable; that every
// split reads the same rows whatever the batch size; that reading goes on
// exactly behind any position that Position returned, in a new reader; that an
// ended reader stays ended; and that readers leave no goroutine behind.
func Source[T any](t *testing.T, src connector.Source[T], want []T) {
	t.Helper()
	if !src.Progress().Bounded {
		t.Fatal("connectortest: the source is unbounded; check it in a configuration that stops")
	}
	before := runtime.NumGoroutine()
	splits := list(t, src)
	var all []string
	for _, s := range splits {
		rows := readAll(t, src, s, 1024)
		for _, r := range rows {
			all = append(all, r.value)
		}
		for _, size := range []int{1, 7} {
			if got := readAll(t, src, s, size); !slices.Equal(got, rows) {
				t.Errorf("split %s: batches of %d give %d rows that differ from the %d of one large batch", s.ID, size, len(got), len(rows))
			}
		}
		resume(t, src, s, rows)
	}
	var wanted []string
	for _, v := range want {
		wanted = append(wanted, fmt.Sprintf("%+v", v))
	}
	slices.Sort(all)
	slices.Sort(wanted)
	if !slices.Equal(all, wanted) {
		t.Errorf("all splits together hold %d rows, want %d:\ngot  %.400q\nwant %.400q", len(all), len(wanted), all, wanted)
	}
	settle(t, before)
}

// list checks that two listings agree and that no two splits share an ID.
func list[T any](t *testing.T, src connector.Source[T]) []connector.Split {
	t.Helper()
	var lists [2][]connector.Split
	for i := range lists {
		var err error
		if lists[i], err = src.Splits(t.Context()); err != nil {
			t.Fatalf("Splits: %v", err)
		}
	}
	ids := func(l []connector.Split) (out []string) {
		for _, s := range l {
			out = append(out, s.ID)
		}
		slices.Sort(out)
		return out
	}
	a, b := ids(lists[0]), ids(lists[1])
	if !slices.Equal(a, b) {
		t.Fatalf("two listings differ: %q and %q", a, b)
	}
	if len(slices.Compact(a)) != len(b) {
		t.Fatalf("splits share an ID: %q", b)
	}
	return lists[0]
}

// reader is an open reader with what wakes it.
type reader[T any] struct {
	connector.Reader[T]
	wake chan struct{}
}

func open[T any](t *testing.T, src connector.Source[T], s connector.Split, from connector.Position) *reader[T] {
	t.Helper()
	wake := make(chan struct{}, 1)
	r, err := src.Open(t.Context(), Env(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}), s, from)
	if err != nil {
		t.Fatalf("opening split %s at %x: %v", s.ID, from, err)
	}
	return &reader[T]{r, wake}
}

// Env returns an environment for a reader or writer in a test.
func Env(wake func()) connector.Env {
	return connector.Env{Wake: wake, Workers: 1, Transform: "test", Log: slog.New(slog.DiscardHandler),
		WakeAt: func(t connector.Time) { time.AfterFunc(time.Until(t.Time())+time.Millisecond, wake) },
		Count:  func(string, int64) {}, Now: func() connector.Time { return exec.TimeOf(time.Now()) }}
}

// next reads until there are rows or the end, waiting to be woken.
func (r *reader[T]) next(t *testing.T, b *connector.Batch[T]) connector.Status {
	t.Helper()
	for {
		b.Reset()
		room := b.Room()
		st, err := r.Read(b)
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		if n := len(b.Values) + len(b.Rejects); n > room || len(b.Values) != len(b.Times) {
			t.Fatalf("Read into a batch with room for %d gave %d values, %d times, %d rejects", room, len(b.Values), len(b.Times), len(b.Rejects))
		}
		if len(b.Values)+len(b.Rejects) > 0 || st == connector.Ended {
			return st
		}
		if st == connector.Waiting {
			select {
			case <-r.wake:
			case <-time.After(patience):
				t.Fatalf("the reader waits and did not call Wake for %v", patience)
			}
		}
	}
}

func readAll[T any](t *testing.T, src connector.Source[T], s connector.Split, size int) (rows []row) {
	t.Helper()
	r := open(t, src, s, nil)
	defer closing(t, r)
	b := connector.NewBatch[T](size)
	for {
		st := r.next(t, b)
		rows = appendRows(rows, b)
		if st == connector.Ended {
			break
		}
	}
	b.Reset()
	if st, err := r.Read(b); err != nil || st != connector.Ended || len(b.Values) > 0 {
		t.Errorf("split %s: Read after the end gives status %d, %d rows, error %v; want Ended and nothing", s.ID, st, len(b.Values), err)
	}
	return rows
}

func appendRows[T any](rows []row, b *connector.Batch[T]) []row {
	for i, v := range b.Values {
		rows = append(rows, row{fmt.Sprintf("%+v", v), b.Times[i]})
	}
	return rows
}

func closing[T any](t *testing.T, r *reader[T]) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// resume stops after each of some numbers of rows and goes on in a new reader.
func resume[T any](t *testing.T, src connector.Source[T], s connector.Split, want []row) {
	t.Helper()
	for _, stop := range []int{0, 1, len(want) / 2, len(want) - 1, len(want)} {
		if stop < 0 || stop > len(want) {
			continue
		}
		r := open(t, src, s, nil)
		b := connector.NewBatch[T](1)
		var got []row
		for len(got) < stop {
			r.next(t, b)
			got = appendRows(got, b)
		}
		pos := slices.Clone(r.Position())
		closing(t, r)
		r = open(t, src, s, pos)
		for {
			st := r.next(t, b)
			got = appendRows(got, b)
			if st == connector.Ended {
				break
			}
		}
		closing(t, r)
		if !slices.Equal(got, want) {
			t.Errorf("split %s: stopping after %d rows and going on at position %x gives %d rows in all, want the same %d", s.ID, stop, pos, len(got), len(want))
		}
	}
}

// settle waits for goroutines that were told to end.
func settle(t *testing.T, before int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for runtime.NumGoroutine() > before {
		if ctx.Err() != nil {
			buf := make([]byte, 1<<16)
			t.Errorf("%d goroutines were there before, %d are after all readers were closed:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
			return
		}
		runtime.Gosched()
	}
}
