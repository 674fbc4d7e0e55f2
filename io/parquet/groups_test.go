package parquet_test

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// emptyGroups declares row groups of a file empty, by its footer. The library writes no such groups; others do.
func emptyGroups(t testing.TB, path string, groups ...int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	var m format.FileMetaData
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, b[body:len(b)-8], &m); err != nil {
		t.Fatal(err)
	}
	for i := range m.RowGroups {
		if g := &m.RowGroups[i]; slices.Contains(groups, i) {
			m.NumRows -= g.NumRows
			g.NumRows = 0
			for j := range g.Columns {
				g.Columns[j].MetaData.NumValues = 0
			}
		}
	}
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, &m)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b[:body:body], footer...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), "PAR1"...)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
