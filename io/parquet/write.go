package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
	"github.com/penstock-dev/penstock/pcoll"
)

// Write writes a collection to files in the directory dir, which is made if it
// is not there. The files appear at the end of the run and only if it succeeds; see
// the package documentation for their names. T must be a struct, such as pcoll.KV.
//
// Event times are not written: what shall be read again with its time needs a
// field for it. A collection with withdrawals cannot be written.
func Write[T any](in pcoll.PCollection[T], dir string, opts ...WriteOption) {
	b := pcoll.NewBuilder(in.Pipeline(), "parquet.Write", opts...)
	connector.AddSink(b, in, newSink[T](b, dir))
}

// sink is a directory that files of rows are written to.
type sink[T any] struct {
	dir       string
	shape     *columns.Shape[T]
	opts      columns.WriterOptions
	perWindow bool
}

func newSink[T any](b *pcoll.Builder, dir string) *sink[T] {
	s := &sink[T]{dir: dir, opts: columns.WriterOptions{Codec: columns.Zstd}}
	if dir == "" {
		b.Errorf("the directory is empty; name one to write files to")
	}
	if s.shape = shapeOf[T](b); s.shape != nil {
		mistakes(b, s.shape.Writable())
	}
	if n, ok := once[groupRows](b, "RowGroupRows"); ok {
		if s.opts.GroupRows = int(n); n < 1 {
			b.Errorf("RowGroupRows is %d; want at least 1", n)
		}
	}
	if c, ok := once[Codec](b, "Compression"); ok {
		if int(c) < len(codecs) {
			s.opts.Codec = codecs[c].codec
		} else {
			b.Errorf("Compression is %v; want None, Snappy, Gzip, Zstd or Lz4", c)
		}
	}
	_, s.perWindow = once[perWindow](b, "PerWindow")
	return s
}

// Accepts says that files are only added to.
func (s *sink[T]) Accepts() connector.Changes { return connector.Appends }

// Open makes the directory, so that a run which cannot write there fails before it begins.
func (s *sink[T]) Open(_ context.Context, env connector.Env) (connector.Writer[T], error) {
	dir, err := filepath.Abs(s.dir)
	if err == nil {
		err = makeDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("parquet: writing to directory %q: %w", s.dir, err)
	}
	return &writer[T]{
		sink:  s,
		dir:   dir,
		first: env.Worker == 0,
		name:  fmt.Sprintf("part-%05d-%016x", env.Worker, rand.Uint64()),
		open:  map[exec.Window]*part[T]{},
	}, nil
}
