package parquet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
)

// TestConstructionErrors covers mistakes that are known before a pipeline runs. Each names this file.
func TestConstructionErrors(t *testing.T) {
	type chans struct {
		ID int64
		C  chan int
		M  map[string]int
	}
	type dated struct {
		At time.Time `parquet:"at,date"`
	}
	read := func(opts ...parquet.ReadOption) func(*pcoll.Pipeline) {
		return func(p *pcoll.Pipeline) { parquet.Read[click](p, "x", opts...) }
	}
	write := func(dir string, opts ...parquet.WriteOption) func(*pcoll.Pipeline) {
		return func(p *pcoll.Pipeline) { parquet.Write(transforms.Create(p, clicks(1)...), dir, opts...) }
	}
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		want  []string
	}{
		{"no glob", func(p *pcoll.Pipeline) { parquet.Read[click](p, "") }, []string{"parquet.Read: the glob is empty"}},
		{"no struct", func(p *pcoll.Pipeline) { parquet.Read[int](p, "x") }, []string{"parquet.Read: int: not a struct"}},
		{"no columns", func(p *pcoll.Pipeline) { parquet.TryRead[chans](p, "x") }, []string{
			"parquet.TryRead: field chans.C: chan int", "parquet.TryRead: field chans.M: map",
		}},
		{"other type", read(parquet.EventTime(event.Time)), []string{"EventTime takes rows of type parquet_test.event, but parquet_test.click are read"}},
		{"nil function", read(parquet.EventTime[click](nil)), []string{"EventTime is given a nil function"}},
		{"two functions", read(parquet.EventTime(click.Time), parquet.EventTime(click.Time)), []string{"option parquet.EventTime is given 2 times"}},
		{"nil zone", read(parquet.Zone(nil)), []string{"Zone is nil"}},
		{"option of Write", read(parquet.PerWindow()), []string{"option parquet.PerWindow does not apply to parquet.Read"}},
		{"no name", read(pcoll.Named("")), []string{"name is empty"}},
		{"no directory", write(""), []string{"parquet.Write: the directory is empty"}},
		{"nothing to write", func(p *pcoll.Pipeline) { parquet.Write(transforms.Create(p, 1), "x") }, []string{"parquet.Write: int: not a struct"}},
		{"cannot be written", func(p *pcoll.Pipeline) { parquet.Write(transforms.Create(p, dated{}), "x") }, []string{
			"parquet.Write: field dated.At: a time.Time cannot be written as a date",
		}},
		{"no rows in a group", write("x", parquet.RowGroupRows(0)), []string{"RowGroupRows is 0; want at least 1"}},
		{"negative rows", write("x", parquet.RowGroupRows(-1)), []string{"RowGroupRows is -1"}},
		{"codec", write("x", parquet.Compression(9)), []string{"Compression is codec 9; want None, Snappy, Gzip, Zstd or Lz4"}},
		{"two codecs", write("x", parquet.Compression(parquet.Zstd), parquet.Compression(parquet.None)), []string{"option parquet.Compression is given 2 times"}},
		{"option of Read", write("x", parquet.EventTime(click.Time)), []string{"option parquet.EventTime does not apply to parquet.Write"}},
	} {
		p := pcoll.New("test")
		c.build(p)
		err := p.Err()
		if err == nil {
			t.Errorf("%s: no error, want %q", c.name, c.want)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, want)
			}
		}
		if n := strings.Count(err.Error(), "check_test.go:"); n != len(c.want) {
			t.Errorf("%s: %d mistakes are reported, want %d with this file's name: %v", c.name, n, len(c.want), err)
		}
	}
}
