package parquet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/io/connector"
)

// TestFilesAreShared covers how long files stay open, and that readers of one
// file share it.
func TestFilesAreShared(t *testing.T) {
	dir := t.TempDir()
	const n = maxIdle + 4
	for i := range n {
		save(t, filepath.Join(dir, fmt.Sprintf("%02d.parquet", i)), 5, clicks(i*10, 10))
	}
	src := sourceOf[click](t, dir)
	splits, err := src.Splits(t.Context())
	if err != nil || len(splits) != 2*n {
		t.Fatalf("%d splits, error %v; want %d", len(splits), err, 2*n)
	}
	var readers []connector.Reader[click]
	for _, s := range splits {
		r, err := src.Open(t.Context(), env(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	if len(src.files.open) != 0 {
		t.Errorf("%d files are open before anything is read", len(src.files.open))
	}
	step := func(r connector.Reader[click], rows int, want connector.Status) {
		t.Helper()
		b := connector.NewBatch[click](rows)
		if st, err := r.Read(b); st != want || err != nil || len(b.Values) != rows {
			t.Errorf("status %d, %d rows, error %v; want %d, %d", st, len(b.Values), err, want, rows)
		}
	}
	step(readers[0], 2, connector.Ready)
	step(readers[1], 5, connector.Ended)
	if o := src.files.open[filepath.Join(dir, "00.parquet")]; len(src.files.open) != 1 || o == nil || o.users != 1 {
		t.Errorf("open files %v, want the first, with one user", src.files.open)
	}
	for _, r := range readers[2:] {
		step(r, 5, connector.Ended)
	}
	if got := len(src.files.open); got != maxIdle+1 {
		t.Errorf("%d files are open, want %d idle and one in use", got, maxIdle)
	}
	step(readers[0], 3, connector.Ended)
	for _, r := range slices.Concat(readers, readers) {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(src.files.open) != 0 || len(src.files.idle) != 0 {
		t.Errorf("%d files are open after all readers were closed", len(src.files.open))
	}
}

// TestBadSplits covers names and positions of splits that are damaged or of other files.
func TestBadSplits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	save(t, path, 100, clicks(0, 10))
	src := sourceOf[click](t, path)
	for _, c := range []struct {
		id   string
		from connector.Position
		want string
	}{
		{path, nil, "not the name of a file and a row group"},
		{path + "#-1", nil, "not the name of a file and a row group"},
		{path + "#0", connector.Position{}, "position  is not the number of a row"},
		{path + "#0", connector.Position{0x80}, "position 80 is not"},
		{path + "#0", connector.Position{1, 1}, "position 0101 is not"},
		{path + "#0", connector.Position{11}, "no row 11"},
		{path + "#1", nil, "no row group 1"},
		{path + ".gone#0", nil, "no such file"},
	} {
		r, err := src.Open(t.Context(), env(), connector.Split{ID: c.id}, c.from)
		if err == nil {
			_, err = r.Read(connector.NewBatch[click](5))
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("split %q from %x: got %v, want an error with %q", c.id, c.from, err, c.want)
		}
	}
	if len(src.files.open) != 0 {
		t.Errorf("files %v are still open", src.files.open)
	}
}

// TestPositionsSkipRejects covers positions in a batch that is rejected in part.
func TestPositionsSkipRejects(t *testing.T) {
	type loose struct {
		ID   int64   `parquet:"id"`
		Name *string `parquet:"name"`
	}
	type strict struct {
		ID   int64  `parquet:"id"`
		Name string `parquet:"name"`
	}
	name := "x"
	good := func(i int) bool { return i%3 != 0 && (i < 20 || i > 60) } // so that whole batches are rejected
	rows := make([]loose, 100)
	for i := range rows {
		if rows[i].ID = int64(i); good(i) {
			rows[i].Name = &name
		}
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	save(t, path, 100, rows)
	src := sourceOf[strict](t, path)
	var from connector.Position
	var ids, rejects []string
	for {
		r, err := src.Open(t.Context(), env(), connector.Split{ID: path + "#0"}, from)
		if err != nil {
			t.Fatal(err)
		}
		b := connector.NewBatch[strict](4)
		st, err := r.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if b.Room() < 0 {
			t.Errorf("%d rows and %d rejects in a batch of 4", len(b.Values), len(b.Rejects))
		}
		for _, v := range b.Values {
			ids = append(ids, fmt.Sprint(v.ID))
		}
		for _, j := range b.Rejects {
			rejects = append(rejects, strings.TrimPrefix(j.Source, path+", row group 0, row "))
		}
		from = r.Position()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if st == connector.Ended {
			break
		}
	}
	for i := range rows {
		list := ids
		if !good(i) {
			list = rejects
		}
		if !slices.Contains(list, fmt.Sprint(i)) {
			t.Errorf("row %d is lost", i)
		}
	}
	if len(ids)+len(rejects) != len(rows) {
		t.Errorf("%d rows and %d rejects of %d", len(ids), len(rejects), len(rows))
	}
}

// TestBadHandles covers handles that are damaged, or whose files are gone.
func TestBadHandles(t *testing.T) {
	dir := t.TempDir()
	w, err := sinkOf[click](t, dir).Open(t.Context(), env())
	if err != nil {
		t.Fatal(err)
	}
	for handle, want := range map[string]string{
		"":                                "the handle to commit is damaged",
		"[{":                              "the handle to commit is damaged",
		`[{"temp":"../a","final":"b"}]`:   "outside of the directory",
		`[{"temp":"a","final":"/etc/b"}]`: "outside of the directory",
		`[{"temp":".gone.tmp-1","final":"gone.parquet"}]`: "gone.parquet",
	} {
		if err := w.Commit([]byte(handle)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("handle %s: got %v, want an error with %q", handle, err, want)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestWithdrawals covers changes that files cannot express.
func TestWithdrawals(t *testing.T) {
	w, err := sinkOf[click](t, t.TempDir()).Open(t.Context(), env())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []exec.Kind{exec.UpdateBefore, exec.UpdateAfter, exec.Delete} {
		if err := w.Write(connector.Element{Window: exec.Global, Kind: k}, click{}); err == nil || !strings.Contains(err.Error(), k.String()) {
			t.Errorf("%v: got %v, want an error that names it", k, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestCommitMovesWithTheDirectory commits by a writer of another place, as after a move.
func TestCommitMovesWithTheDirectory(t *testing.T) {
	base := t.TempDir()
	w, err := sinkOf[click](t, filepath.Join(base, "a"), PerWindow()).Open(t.Context(), env())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(connector.Element{Window: exec.Window{Start: 0, End: 60_000}}, click{At: 5}); err != nil {
		t.Fatal(err)
	}
	handle, err := w.Prepare(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(base, "a"), filepath.Join(base, "b")); err != nil {
		t.Fatal(err)
	}
	again, err := sinkOf[click](t, filepath.Join(base, "b"), PerWindow()).Open(t.Context(), env())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Commit(handle); err != nil {
		t.Fatal(err)
	}
	if got := load[click](t, filepath.Join(base, "b")); len(got) != 1 || got[0].At != 5 {
		t.Errorf("got %v", got)
	}
	for _, w := range []connector.Writer[click]{w, again} {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWindowNames(t *testing.T) {
	for _, c := range []struct {
		w    exec.Window
		want string
	}{
		{exec.Global, "window=global"},
		{exec.Window{Start: 0, End: 60_000}, "window=19700101T000000Z-19700101T000100Z"},
		{exec.Window{Start: 1_767_225_600_001, End: 1_767_225_660_000}, "window=20260101T000000.001Z-20260101T000100Z"},
		{exec.Window{Start: exec.MinTime, End: 0}, "window=-9223372036854775ms-19700101T000000Z"},
	} {
		if got := windowDir(c.w); got != c.want {
			t.Errorf("%v: got %s, want %s", c.w, got, c.want)
		}
	}
}
