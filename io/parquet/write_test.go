package parquet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// files returns the paths of all files below dir, hidden ones included.
func files(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// rowsOf reads files below dir with the library.
func rowsOf[T any](t testing.TB, dir string, names ...string) (rows []T) {
	t.Helper()
	for _, name := range names {
		more, err := pq.ReadFile[T](filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, more...)
	}
	return rows
}

func byTime(a, b click) int { return int(a.At - b.At) }

// TestWriteThenRead writes on each runner and reads with the library: one file for
// each worker that had rows, of those names and no others.
func TestWriteThenRead(t *testing.T) {
	name := regexp.MustCompile(`^part-0000[0-4]-[0-9a-f]{16}-0000\.parquet$`)
	want := clicks(5000)
	slices.SortFunc(want, byTime)
	for _, workers := range []int{0, 1, 2, 5} {
		dir := filepath.Join(t.TempDir(), "deep", "out")
		p := pcoll.New("test")
		in := transforms.Map(transforms.GenerateSequence(p, 0, int64(len(want))), func(i int64) click { return want[i] })
		parquet.Write(transforms.Reshuffle(in), dir, parquet.RowGroupRows(300), parquet.Compression(parquet.Snappy))
		run(t, p, workers)
		names := files(t, dir)
		if len(names) != max(workers, 1) {
			t.Errorf("%d workers: %d files, want one for each: %q", workers, len(names), names)
		}
		for _, n := range names {
			if !name.MatchString(n) {
				t.Errorf("%d workers: file %q, want one like %v", workers, n, name)
			}
		}
		got := rowsOf[click](t, dir, names...)
		if slices.SortFunc(got, byTime); !slices.Equal(got, want) {
			t.Errorf("%d workers: %d rows that differ from the %d written", workers, len(got), len(want))
		}
	}
}

// run runs p with so many workers; 0 stands for the direct runner.
func run(t testing.TB, p *pcoll.Pipeline, workers int) {
	t.Helper()
	if _, err := runOn(p, workers); err != nil {
		t.Fatal(err)
	}
}

func runOn(p *pcoll.Pipeline, workers int) (*pcoll.Result, error) {
	if workers == 0 {
		return direct.Run(context.Background(), p)
	}
	return local.Run(context.Background(), p, local.Workers(workers))
}

// TestFormat covers what options do to a file.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		opts  []parquet.WriteOption
		codec string
		group int64
	}{
		{nil, "ZSTD", 1000},
		{[]parquet.WriteOption{parquet.Compression(parquet.None), parquet.RowGroupRows(400)}, "UNCOMPRESSED", 400},
		{[]parquet.WriteOption{parquet.Compression(parquet.Snappy)}, "SNAPPY", 1000},
		{[]parquet.WriteOption{parquet.Compression(parquet.Gzip)}, "GZIP", 1000},
		{[]parquet.WriteOption{parquet.Compression(parquet.Zstd)}, "ZSTD", 1000},
		{[]parquet.WriteOption{parquet.Compression(parquet.Lz4), parquet.RowGroupRows(10)}, "LZ4_RAW", 10},
	} {
		dir := t.TempDir()
		p := pcoll.New("test")
		parquet.Write(transforms.Create(p, clicks(1000)...), dir, c.opts...)
		run(t, p, 0)
		f, err := os.Open(filepath.Join(dir, files(t, dir)[0]))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		file, err := pq.OpenFile(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		group := file.Metadata().RowGroups[0]
		if got := group.Columns[0].MetaData.Codec.String(); got != c.codec || group.NumRows != c.group || file.NumRows() != 1000 {
			t.Errorf("codec %s, %d of %d rows in the first group; want %s, %d of 1000", got, group.NumRows, file.NumRows(), c.codec, c.group)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		again := pcoll.New("again") // not by the library, which reads LZ4 wrong
		passert.Equals(t, parquet.Read[click](again, dir), clicks(1000)...)
		ptest.Run(t, again, ptest.Workers())
	}
}

// TestPerWindow writes windows to directories of their own, and reads them again.
func TestPerWindow(t *testing.T) {
	for _, workers := range []int{0, 2} {
		dir := t.TempDir()
		p := pcoll.New("test")
		in := transforms.WithTimestamps(transforms.Create(p, clicks(150)...), click.Time)
		parquet.Write(windowing.Into(in, windowing.Fixed(time.Minute)), dir, parquet.PerWindow())
		run(t, p, workers)
		got := map[string]int{}
		for _, name := range files(t, dir) {
			window, part, _ := strings.Cut(name, "/")
			if !strings.HasPrefix(part, "part-0000") {
				t.Errorf("file %q", name)
			}
			for _, c := range rowsOf[click](t, dir, name) {
				minute := c.Time().UTC().Truncate(time.Minute)
				if want := "window=" + minute.Format("20060102T150405Z") + "-" + minute.Add(time.Minute).Format("20060102T150405Z"); window != want {
					t.Errorf("click %+v is in %s, want %s", c, window, want)
				}
				got[window]++
			}
		}
		want := map[string]int{"window=19700101T000000Z-19700101T000100Z": 60, "window=19700101T000100Z-19700101T000200Z": 60,
			"window=19700101T000200Z-19700101T000300Z": 30}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d workers: got %v, want %v", workers, got, want)
		}
	}
}

// TestManyWindows interleaves more windows than a writer keeps open.
func TestManyWindows(t *testing.T) {
	const windows, rounds = 70, 2
	dir := t.TempDir()
	var rows []click
	for round := range int64(rounds) {
		for i := range int64(windows) {
			rows = append(rows, click{At: i*250 + round, Ad: "x"})
		}
	}
	p := pcoll.New("test")
	in := transforms.WithTimestamps(transforms.Create(p, rows...), click.Time)
	parquet.Write(windowing.Into(in, windowing.Fixed(250*time.Millisecond)), dir, parquet.PerWindow())
	run(t, p, 0)
	names := files(t, dir)
	if got := rowsOf[click](t, dir, names...); len(got) != len(rows) {
		t.Errorf("%d rows, want %d", len(got), len(rows))
	}
	for _, name := range []string{"window=19700101T000000Z-19700101T000000.250Z/", "window=19700101T000017.250Z-19700101T000017.500Z/"} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }) {
			t.Errorf("no file in %s: %q", name, names)
		}
	}
}

// TestEmptyCollection writes nothing and reads it again.
func TestEmptyCollection(t *testing.T) {
	for _, workers := range []int{0, 1, 5} {
		dir := t.TempDir()
		p := pcoll.New("test")
		none := transforms.Filter(transforms.Create(p, clicks(10)...), func(click) bool { return false })
		parquet.Write(none, filepath.Join(dir, "whole"))
		parquet.Write(none, filepath.Join(dir, "windows"), parquet.PerWindow())
		run(t, p, workers)
		if got := files(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], "whole/part-00000-") {
			t.Errorf("%d workers: files %q, want one in whole", workers, got)
		}
		again := pcoll.New("again")
		all := ptest.Collect(parquet.Read[click](again, filepath.Join(dir, "whole")))
		run(t, again, workers)
		if got := all.On(""); len(got) != 0 {
			t.Errorf("%d workers: %d rows", workers, len(got))
		}
	}
}

// TestRunsAddFiles runs a pipeline twice into one directory.
func TestRunsAddFiles(t *testing.T) {
	dir := t.TempDir()
	p := pcoll.New("test")
	parquet.Write(transforms.Create(p, clicks(10)...), dir)
	for range 2 {
		run(t, p, 1)
	}
	if names := files(t, dir); len(names) != 2 || len(rowsOf[click](t, dir, names...)) != 20 {
		t.Errorf("files %q, want two of 10 rows", names)
	}
}

// TestFailingRunLeavesNothing fails in the middle, and looks at the directory then and after.
func TestFailingRunLeavesNothing(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5} {
		for _, opts := range [][]parquet.WriteOption{nil, {parquet.PerWindow()}} {
			dir := t.TempDir()
			during := make(chan []string, 1)
			p := pcoll.New("test")
			good, _ := transforms.TryMap(transforms.GenerateSequence(p, 0, 10_000), func(i int64) (click, error) {
				return click{At: i * 1000}, nil
			})
			stamped := windowing.Into(transforms.WithTimestamps(good, click.Time), windowing.Fixed(time.Hour))
			parquet.Write(stamped, dir, append(opts, parquet.RowGroupRows(100))...)
			transforms.ForEach(good, func(_ *pcoll.Context, c click) error {
				if c.At == 7_000_000 {
					during <- files(t, dir)
					return errors.New("seven thousand")
				}
				return nil
			})
			if _, err := runOn(p, workers); err == nil || !strings.Contains(err.Error(), "seven thousand") {
				t.Errorf("%d workers: got %v", workers, err)
			}
			written := <-during
			if workers < 2 && len(written) == 0 {
				t.Errorf("%d workers: no file was being written when the run failed", workers)
			}
			for _, name := range written {
				if !strings.HasPrefix(filepath.Base(name), ".part-") || !strings.Contains(name, ".tmp-") {
					t.Errorf("%d workers: %q can be seen while the run goes on", workers, name)
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 0 {
				t.Errorf("%d workers: the run left %v, error %v", workers, left, err)
			}
		}
	}
}

// TestCannotWrite covers places that cannot be written to.
func TestCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		p := pcoll.New("test")
		parquet.Write(transforms.Create(p, clicks(1)...), dir)
		ptest.Fails(t, p, "parquet.Write", fmt.Sprintf("%q", dir), file)
	}
}
