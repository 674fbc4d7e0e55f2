package connectortest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/io/connector"
)

// Visibility says when a sink's elements may first be read.
type Visibility bool

// The kinds of sink.
const (
	AtCommit Visibility = true  // exactly once: not before Commit
	AtOnce   Visibility = false // at least once: any time from Write on
)

// Sink checks a sink: what was prepared and committed can be read, exactly once
// where visibility is AtCommit; Commit is idempotent, also by a writer opened
// later; what was not committed does not appear in an AtCommit sink. fresh makes
// a sink with nothing in it and a function that reads all that is visible there.
func Sink[T any](t *testing.T, visible Visibility, fresh func(t *testing.T) (sink connector.Sink[T], read func() []T), elems []T) {
	t.Helper()
	if len(elems) < 2 {
		t.Fatal("connectortest: want at least two elements to write")
	}
	half := len(elems) / 2
	t.Run("committed elements appear once", func(t *testing.T) {
		sink, read := fresh(t)
		w := writer(t, sink)
		put(t, w, elems[:half])
		first := prepare(t, w, 1)
		put(t, w, elems[half:])
		if visible == AtCommit {
			same(t, "before the first commit", read(), nil)
		}
		commit(t, w, first)
		commit(t, w, first)
		if visible == AtCommit {
			same(t, "after committing the first half twice", read(), elems[:half])
		}
		second := prepare(t, w, 2)
		commit(t, w, second)
		closeWriter(t, w)
		again := writer(t, sink)
		commit(t, again, second)
		closeWriter(t, again)
		same(t, "after committing everything, the second half again by a new writer", read(), elems)
	})
	t.Run("what is not committed is discarded", func(t *testing.T) {
		sink, read := fresh(t)
		w := writer(t, sink)
		put(t, w, elems)
		prepare(t, w, 1)
		closeWriter(t, w)
		if visible == AtCommit {
			same(t, "after closing without a commit", read(), nil)
		}
	})
	t.Run("nothing written", func(t *testing.T) {
		sink, read := fresh(t)
		w := writer(t, sink)
		if h := prepare(t, w, 1); h != nil {
			commit(t, w, h)
		}
		closeWriter(t, w)
		same(t, "after committing nothing", read(), nil)
	})
}

func writer[T any](t *testing.T, sink connector.Sink[T]) connector.Writer[T] {
	t.Helper()
	w, err := sink.Open(t.Context(), Env(func() {}))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return w
}

func put[T any](t *testing.T, w connector.Writer[T], elems []T) {
	t.Helper()
	for i, v := range elems {
		if err := w.Write(connector.Element{Time: connector.Time(i), Window: exec.Global, Pane: exec.NoFiring}, v); err != nil {
			t.Fatalf("Write of %+v: %v", v, err)
		}
		if i%3 == 1 {
			if err := w.Flush(); err != nil {
				t.Fatalf("Flush: %v", err)
			}
		}
	}
}

func prepare[T any](t *testing.T, w connector.Writer[T], epoch int64) []byte {
	t.Helper()
	h, err := w.Prepare(epoch)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return h
}

func commit[T any](t *testing.T, w connector.Writer[T], handle []byte) {
	t.Helper()
	if handle == nil {
		return // nothing to publish
	}
	if err := w.Commit(handle); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

func closeWriter[T any](t *testing.T, w connector.Writer[T]) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func same[T any](t *testing.T, when string, got, want []T) {
	t.Helper()
	print := func(vs []T) (s []string) {
		for _, v := range vs {
			s = append(s, fmt.Sprintf("%+v", v))
		}
		slices.Sort(s)
		return s
	}
	if g, w := print(got), print(want); !slices.Equal(g, w) {
		t.Errorf("%s %d elements can be read, want %d:\ngot  %.400q\nwant %.400q", when, len(g), len(w), g, w)
	}
}
