package parquet

import (
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/connector/connectortest"
)

func TestConformanceSource(t *testing.T) {
	dir := t.TempDir()
	save(t, filepath.Join(dir, "a.parquet"), 13, clicks(0, 50))
	save(t, filepath.Join(dir, "b", "c.parquet"), 1000, clicks(50, 30))
	t.Run("with event time", func(t *testing.T) {
		connectortest.Source(t, sourceOf[click](t, dir, EventTime(click.time)), clicks(0, 80))
	})
	t.Run("without event time", func(t *testing.T) {
		connectortest.Source(t, sourceOf[click](t, filepath.Join(dir, "**", "*.parquet")), clicks(0, 80))
	})
	t.Run("empty", func(t *testing.T) {
		connectortest.Source(t, sourceOf[click](t, filepath.Join(dir, "x", "*"), AllowEmpty()), nil)
	})
}

func TestConformanceSink(t *testing.T) {
	for name, opts := range map[string][]WriteOption{
		"default":    nil,
		"per window": {PerWindow(), Compression(Snappy), RowGroupRows(3)},
	} {
		t.Run(name, func(t *testing.T) {
			connectortest.Sink(t, connectortest.AtCommit, func(t *testing.T) (connector.Sink[click], func() []click) {
				dir := filepath.Join(t.TempDir(), "out", "clicks")
				return sinkOf[click](t, dir, opts...), func() []click { return load[click](t, dir) }
			}, clicks(0, 21))
		})
	}
}
