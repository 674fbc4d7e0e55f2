package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
)

// scanClick has the columns of the demo.
type scanClick struct {
	AtMS  int64  `parquet:"at_ms"`
	Ad    string `parquet:"ad,dict"`
	User  int64  `parquet:"user"`
	Cents int64  `parquet:"cents"`
}

// Time is the event time of a row; both sides call it for each.
func (c scanClick) Time() time.Time { return time.UnixMilli(c.AtMS) }

// digest uses every column, so that neither side can leave one out.
func (c scanClick) digest() uint64 {
	return uint64(c.AtMS) + uint64(c.User)*3 + uint64(c.Cents)*5 + uint64(len(c.Ad)) + uint64(c.Ad[len(c.Ad)-1])*7
}

const (
	scanRows  = 1 << 22
	scanGroup = 1 << 18 // as in the demo
	scanAds   = 1000
	scanBatch = 1024
)

// parquetScan compares reading a file in a pipeline, event times and the way to a sink
// included, with a loop over the library's pages that is written for the file's columns.
func parquetScan() []comparison {
	var dir string
	path := sync.OnceValue(func() string {
		var err error
		if dir, err = os.MkdirTemp("", "penstock-bench-"); err == nil {
			err = writeScan(dir)
		}
		fatal(err)
		files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
		fatal(err)
		if len(files) != 1 {
			fatal(fmt.Errorf("%d files in %s, want one", len(files), dir))
		}
		return files[0]
	})
	return []comparison{{
		name: "parquet-scan", n: scanRows, goal: 1.3, noAllocs: true,
		hand: func() uint64 {
			sum, err := handScan(path())
			fatal(err)
			return sum
		},
		pen: func() uint64 {
			p := pcoll.New("parquet-scan")
			rows := parquet.Read[scanClick](p, path(), parquet.EventTime(scanClick.Time))
			return run(p, sum(transforms.Map(rows, scanClick.digest)), 1)
		},
		done: func() {
			if dir != "" {
				fatal(os.RemoveAll(dir))
			}
		},
	}}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// writeScan writes the file: clicks a millisecond apart, mostly in order.
func writeScan(dir string) error {
	ads := make([]string, scanAds)
	for i := range ads {
		ads[i] = fmt.Sprintf("ad-%04d", i)
	}
	p := pcoll.New("parquet-scan-file")
	rows := transforms.Map(transforms.GenerateSequence(p, 0, scanRows), func(i int64) scanClick {
		x := uint64(i)*6364136223846793005 + 1442695040888963407
		x ^= x >> 29
		x *= 0xBF58476D1CE4E5B9
		return scanClick{AtMS: 1_767_225_600_000 + i - int64(x>>40%5000), Ad: ads[x>>20%scanAds], User: int64(x >> 32 % 1_000_000), Cents: int64(x >> 10 % 500)}
	})
	parquet.Write(rows, dir, parquet.RowGroupRows(scanGroup), parquet.Compression(parquet.Zstd))
	_, err := local.Run(context.Background(), p, local.Workers(1))
	return err
}

// handScan fills batches of rows column by column from the library's pages.
func handScan(path string) (sum uint64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	f, err := pq.OpenFile(file, info.Size(), pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return 0, err
	}
	batch := make([]scanClick, scanBatch)
	for _, group := range f.RowGroups() {
		var columns [4]handColumn
		for i, chunk := range group.ColumnChunks() {
			columns[i].pages = chunk.Pages()
		}
		for left := group.NumRows(); left > 0; {
			rows := batch[:min(left, scanBatch)]
			if err := fillClicks(rows, &columns); err != nil {
				return 0, err
			}
			for i := range rows {
				rows[i].AtMS = rows[i].Time().UnixMilli()
				sum += rows[i].digest()
			}
			left -= int64(len(rows))
		}
		for i := range columns {
			pq.Release(columns[i].page)
			if err := columns[i].pages.Close(); err != nil {
				return 0, err
			}
		}
	}
	return sum, nil
}

func fillClicks(rows []scanClick, columns *[4]handColumn) error {
	return errors.Join(
		columns[0].fill(len(rows), func(i int, vs []int64) {
			for j, v := range vs {
				rows[i+j].AtMS = v
			}
		}),
		columns[1].fillStrings(rows),
		columns[2].fill(len(rows), func(i int, vs []int64) {
			for j, v := range vs {
				rows[i+j].User = v
			}
		}),
		columns[3].fill(len(rows), func(i int, vs []int64) {
			for j, v := range vs {
				rows[i+j].Cents = v
			}
		}))
}

// handColumn is at value at of a page of n values: of ints, or indexes into dict.
type handColumn struct {
	pages pq.Pages
	page  pq.Page
	at, n int
	ints  []int64
	index []int32
	dict  []string
}

// next makes sure that there are values and returns how many, at most n.
func (c *handColumn) next(n int) (int, error) {
	for c.at == c.n {
		if c.page != nil {
			pq.Release(c.page)
		}
		page, err := c.pages.ReadPage()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		c.page, c.at, c.n = page, 0, int(page.NumValues())
		d := page.Dictionary()
		if d == nil {
			data := page.Data()
			c.ints = data.Int64()
			continue
		}
		if c.dict == nil {
			entries := d.Page().Data()
			values, offsets := entries.ByteArray()
			all := string(values)
			for i := range d.Len() {
				c.dict = append(c.dict, all[offsets[i]:offsets[i+1]])
			}
		}
		data := page.Data()
		c.index = data.Int32()
	}
	return min(n, c.n-c.at), nil
}

// fill gives the next n values to take, in one piece or several.
func (c *handColumn) fill(n int, take func(i int, vs []int64)) error {
	for i := 0; i < n; {
		k, err := c.next(n - i)
		if err != nil {
			return err
		}
		take(i, c.ints[c.at:c.at+k])
		i, c.at = i+k, c.at+k
	}
	return nil
}

func (c *handColumn) fillStrings(rows []scanClick) error {
	for i := 0; i < len(rows); {
		k, err := c.next(len(rows) - i)
		if err != nil {
			return err
		}
		for j, v := range c.index[c.at : c.at+k] {
			rows[i+j].Ad = c.dict[v]
		}
		i, c.at = i+k, c.at+k
	}
	return nil
}
