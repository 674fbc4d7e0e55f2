package columns

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// scanRow has the columns of the click demo.
type scanRow struct {
	Time int64  `parquet:"time,timestamp"`
	Ad   string `parquet:"ad"`
	User int64  `parquet:"user"`
	Bot  bool   `parquet:"bot"`
}

const (
	scanRows  = 1 << 20
	scanGroup = 1 << 18
)

// writeScan writes clicks a few milliseconds apart, mostly in order.
func writeScan(tb testing.TB, codec Codec) string {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]scanRow, scanRows)
	for i := range rows {
		rows[i] = scanRow{
			Time: 1_700_000_000_000 + int64(i)*3 - rng.Int64N(5000),
			Ad:   fmt.Sprintf("ad-%05d", rng.IntN(10_000)),
			User: rng.Int64N(1 << 40),
			Bot:  rng.IntN(10) == 0,
		}
	}
	path := filepath.Join(tb.TempDir(), "scan.parquet")
	writeRows(tb, path, rows, WriterOptions{GroupRows: scanGroup, Codec: codec})
	return path
}

// sum is what both scans compute over the rows, so that neither can leave a column out.
func (r *scanRow) sum() uint64 {
	s := uint64(r.Time)*31 + uint64(r.User)*17 + uint64(len(r.Ad))
	s += uint64(r.Ad[len(r.Ad)-1]) * 7
	if r.Bot {
		s++
	}
	return s
}

// BenchmarkScan compares the package with a loop that is written for the row's columns, over the
// library's pages. The package must stay below 1.3 times the loop.
func BenchmarkScan(b *testing.B) {
	for _, codec := range []Codec{Zstd, Snappy} {
		path := writeScan(b, codec)
		want, err := handScan(path)
		if err != nil {
			b.Fatal(err)
		}
		run := func(b *testing.B, scan func(string) (uint64, error)) time.Duration {
			start := time.Now()
			if got, err := scan(path); err != nil || got != want {
				b.Fatalf("checksum %x, want %x: %v", got, want, err)
			}
			return time.Since(start)
		}
		for _, side := range []struct {
			name string
			scan func(string) (uint64, error)
		}{{"hand", handScan}, {"penstock", planScan}} {
			b.Run(codec.String()+"/"+side.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run(b, side.scan)
				}
				b.ReportMetric(float64(scanRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			})
		}
		// The machine's mood changes between benchmarks: the ratio is of turns taken.
		b.Run(codec.String()+"/ratio", func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				hand := run(b, handScan)
				ratios = append(ratios, float64(run(b, planScan))/float64(hand))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "penstock/hand")
		})
	}
}

func planScan(path string) (sum uint64, err error) {
	s, err := ShapeOf[scanRow]()
	if err != nil {
		return 0, err
	}
	f, err := Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p, err := Bind(s, f, nil)
	if err != nil {
		return 0, err
	}
	batch := make([]scanRow, 1024)
	for _, split := range f.Splits() {
		r, err := p.Open(split.Group, 0)
		if err != nil {
			return 0, err
		}
		for {
			n, err := r.Read(batch)
			if err == io.EOF {
				break
			}
			if err != nil {
				return 0, err
			}
			for i := range batch[:n] {
				sum += batch[i].sum()
			}
		}
	}
	return sum, nil
}

// handScan fills the rows of a group column by column.
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
	f, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return 0, err
	}
	s := &handScanner{batch: make([]scanRow, 1024)}
	for _, group := range f.RowGroups() {
		for i, c := range group.ColumnChunks()[:4] {
			s.columns[i] = handColumn{pages: c.Pages()}
		}
		for left := group.NumRows(); left > 0; {
			n := int(min(left, int64(len(s.batch))))
			if err := s.fill(s.batch[:n]); err != nil {
				return 0, err
			}
			for i := range s.batch[:n] {
				sum += s.batch[i].sum()
			}
			left -= int64(n)
		}
		for i := range s.columns {
			parquet.Release(s.columns[i].page)
			if err := s.columns[i].pages.Close(); err != nil {
				return 0, err
			}
		}
	}
	return sum, nil
}

type handColumn struct {
	pages parquet.Pages
	page  parquet.Page
	at, n int
	ints  []int64
	bits  []byte
	index []int32
	dict  []string
}

type handScanner struct {
	columns [4]handColumn
	batch   []scanRow
}

// next makes sure that the column has values and returns how many of the next n.
func (c *handColumn) next(n int) (int, error) {
	for c.at == c.n {
		if c.page != nil {
			parquet.Release(c.page)
		}
		page, err := c.pages.ReadPage()
		if err != nil {
			return 0, err
		}
		c.page, c.at, c.n = page, 0, int(page.NumValues())
		data := page.Data()
		if d := page.Dictionary(); d != nil {
			if c.dict == nil {
				entries := d.Page().Data()
				values, offsets := entries.ByteArray()
				all := string(values)
				for i := range d.Len() {
					c.dict = append(c.dict, all[offsets[i]:offsets[i+1]])
				}
			}
			c.index = data.Int32()
			continue
		}
		switch page.Type().Kind() {
		case parquet.Int64:
			c.ints = data.Int64()
		case parquet.Boolean:
			c.bits = data.Boolean()
		}
	}
	return min(n, c.n-c.at), nil
}

func (s *handScanner) fill(rows []scanRow) error {
	at, ad, user, bot := &s.columns[0], &s.columns[1], &s.columns[2], &s.columns[3]
	for done := 0; done < len(rows); {
		n, err := at.next(len(rows) - done)
		if err != nil {
			return err
		}
		for i, v := range at.ints[at.at : at.at+n] {
			rows[done+i].Time = v
		}
		at.at, done = at.at+n, done+n
	}
	for done := 0; done < len(rows); {
		n, err := ad.next(len(rows) - done)
		if err != nil {
			return err
		}
		for i, v := range ad.index[ad.at : ad.at+n] {
			rows[done+i].Ad = ad.dict[v]
		}
		ad.at, done = ad.at+n, done+n
	}
	for done := 0; done < len(rows); {
		n, err := user.next(len(rows) - done)
		if err != nil {
			return err
		}
		for i, v := range user.ints[user.at : user.at+n] {
			rows[done+i].User = v
		}
		user.at, done = user.at+n, done+n
	}
	for done := 0; done < len(rows); {
		n, err := bot.next(len(rows) - done)
		if err != nil {
			return err
		}
		for i := range n {
			at := bot.at + i
			rows[done+i].Bot = bot.bits[at/8]>>(at%8)&1 != 0
		}
		bot.at, done = bot.at+n, done+n
	}
	return nil
}
