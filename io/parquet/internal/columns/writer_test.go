package columns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/format"
)

type kv[K, V any] struct {
	Key   K
	Value V
}

// names lists a directory.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFilesAppearWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.parquet")
	w, err := Create(shape[kv[string, int64]](t), path, WriterOptions{GroupRows: 100})
	if err != nil {
		t.Fatal(err)
	}
	var want []kv[string, int64]
	for i := range 1000 {
		row := kv[string, int64]{fmt.Sprint("key-", i%10), int64(i)}
		want = append(want, row)
		if err := w.Append(row); err != nil {
			t.Fatal(err)
		}
	}
	if w.Rows() != 1000 || w.Path() != path {
		t.Errorf("%d rows in %s", w.Rows(), w.Path())
	}
	wantError(t, w.Publish(), "close it first")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], ".out.parquet.tmp-") {
		t.Errorf("before it is published there is %q", got)
	}
	_, err = List(dir)
	wantError(t, err, "no file matches (1 names")
	for range 2 { // a commit may be repeated
		if err := w.Publish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Publish(w.Temp(), path); err != nil {
		t.Errorf("a repeated commit: %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "out.parquet" {
		t.Errorf("when published there is %q", got)
	}
	if diff := cmp.Diff(want, readRows[kv[string, int64]](t, path, 64)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	splits := f.Splits()
	if len(splits) != 10 || splits[3].Group != 3 || splits[3].Rows != 100 || splits[3].Path != path || splits[3].Bytes <= 0 {
		t.Errorf("splits %v", splits)
	}
	if name := f.root.children[0].name; name != "Key" {
		t.Errorf("the key's column is %q", name)
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	for _, closed := range []bool{false, true} {
		w, err := Create(shape[kv[string, int64]](t), filepath.Join(dir, "out.parquet"), WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(make([]kv[string, int64], 10)); err != nil {
			t.Fatal(err)
		}
		if closed {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := w.Abort(); err != nil {
				t.Error(err)
			}
		}
		if got := names(t, dir); len(got) != 0 {
			t.Errorf("closed %t: %q is left", closed, got)
		}
		wantError(t, w.Publish(), "aborted")
		wantError(t, w.Write(nil), "aborted")
	}
	wantError(t, Publish(filepath.Join(dir, ".gone"), filepath.Join(dir, "none")), "none")
}

func TestWriteRefused(t *testing.T) {
	dir := t.TempDir()
	type row struct{ ID int64 }
	s := shape[row](t)
	_, err := Create(s, filepath.Join(dir, "no", "x.parquet"), WriterOptions{})
	wantError(t, err, "x.parquet", "no such file")
	_, err = Create(s, filepath.Join(dir, "x.parquet"), WriterOptions{GroupRows: -1})
	wantError(t, err, "x.parquet", "-1 rows")
	_, err = Create(s, filepath.Join(dir, "x.parquet"), WriterOptions{Codec: 9})
	wantError(t, err, "unknown codec 9")
	type dated struct {
		Day   time.Time     `parquet:",date"`
		Clock time.Duration `parquet:",time(millisecond)"`
	}
	_, err = Create(shape[dated](t), filepath.Join(dir, "x.parquet"), WriterOptions{})
	wantError(t, err, "dated.Day", "date", "dated.Clock", "nanosecond")

	// The disk fails: the error stays, and the file does not appear.
	w, err := Create(s, filepath.Join(dir, "x.parquet"), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(row{1}); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.Close(), "x.parquet", "file already closed")
	wantError(t, w.Publish(), "file already closed")
	if err := w.Abort(); err != nil || len(names(t, dir)) != 0 {
		t.Errorf("%v; %q is left", err, names(t, dir))
	}
}

func TestWriterDefaults(t *testing.T) {
	type row struct {
		Name  string
		Names []string    `parquet:"names,list"`
		More  []string    `parquet:"more"`
		Plain string      `parquet:",plain"`
		At    time.Time   `parquet:"at"`
		Micro time.Time   `parquet:",timestamp(microsecond)"`
		Times []time.Time `parquet:",list"`
		Ptr   *time.Time
		In    struct{ At time.Time }
		Num   int64
	}
	at := time.UnixMilli(1_700_000_000_123).UTC()
	rows := []row{{Name: "a", Names: []string{"b"}, More: []string{"c"}, Plain: "d", At: at, Micro: at, Times: []time.Time{at}, Ptr: &at}}
	rows[0].In.At = at
	for c := range Codec(len(codecs)) {
		path := filepath.Join(t.TempDir(), c.String())
		writeRows(t, path, rows, WriterOptions{Codec: c})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, l := range f.leaves {
			m := &f.meta.RowGroups[0].Columns[i].MetaData
			if !strings.Contains(strings.ToLower(m.Codec.String()+"none"), strings.TrimSuffix(c.String(), "raw")) {
				t.Errorf("%s: column %s is compressed by %s", c, l.path, m.Codec)
			}
			dict := ""
			for _, e := range m.Encoding {
				if e == format.RLEDictionary {
					dict = " dict"
				}
			}
			got = append(got, l.path+" "+l.label+dict)
		}
		want := []string{
			"Name STRING dict", "names.list.element STRING dict", "more STRING dict", "Plain STRING", "at TIMESTAMP(ms,utc)",
			"Micro TIMESTAMP(us,utc)", "Times.list.element TIMESTAMP(ms,utc)", "Ptr TIMESTAMP(ms,utc)", "In.At TIMESTAMP(ms,utc)", "Num INT(64)",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c, diff)
		}
		back, err := fileRows(shape[row](t), f, 5)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, back); diff != "" {
			t.Errorf("%s: -written +read\n%s", c, diff)
		}
	}
}
