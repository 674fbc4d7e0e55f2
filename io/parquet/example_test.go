package parquet_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// Order is a row; its event time is in a column.
type Order struct {
	User  string    `parquet:"user"`
	Cents int64     `parquet:"cents"`
	At    time.Time `parquet:"at,optional,timestamp(millisecond)"`
}

func (o Order) Time() time.Time { return o.At }

// Total is what a user spent in a minute.
type Total struct {
	User  string `parquet:"user"`
	Cents int64  `parquet:"cents"`
}

func orders() []Order {
	at := func(s int64) time.Time { return time.Unix(1_767_225_600+s, 0).UTC() }
	return []Order{{"ann", 700, at(50)}, {"bob", 100, at(5)}, {"bob", 200, at(10)}, {User: "eve", Cents: 900}}
}

// writeOrders writes the orders to a new directory.
func writeOrders() (dir string) {
	dir, err := os.MkdirTemp("", "orders-")
	if err != nil {
		log.Fatal(err)
	}
	p := pcoll.New("orders")
	parquet.Write(transforms.Create(p, orders()...), dir)
	if _, err := direct.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
	return dir
}

func ExampleRead() {
	dir := writeOrders()
	defer os.RemoveAll(dir)

	p := pcoll.New("users")
	read := parquet.Read[Order](p, filepath.Join(dir, "*.parquet"))
	spent := transforms.SumPerKey(transforms.Map(read, func(o Order) pcoll.KV[string, int64] { return pcoll.Pair(o.User, o.Cents) }))
	transforms.ForEach(spent, func(_ *pcoll.Context, t pcoll.KV[string, int64]) error {
		fmt.Println(t.Key, t.Value)
		return nil
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// ann 700
	// bob 300
	// eve 900
}

// Rows without event time come as a collection of their own.
func ExampleTryRead() {
	dir := writeOrders()
	defer os.RemoveAll(dir)

	p := pcoll.New("minutes")
	read, rejects := parquet.TryRead[Order](p, dir, parquet.EventTime(Order.Time))
	minutes := windowing.Into(read, windowing.Fixed(time.Minute))
	transforms.ForEach(transforms.Count(minutes, transforms.NoDefault()), func(c *pcoll.Context, n int64) error {
		fmt.Println(n, "orders in", c.Window())
		return nil
	})
	transforms.ForEach(transforms.Count(rejects), func(_ *pcoll.Context, n int64) error {
		fmt.Println(n, "rejected")
		return nil
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// 3 orders in [2026-01-01T00:00:00Z, 2026-01-01T00:01:00Z)
	// 1 rejected
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "totals-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	p := pcoll.New("totals")
	totals := transforms.Create(p, Total{"ann", 700}, Total{"bob", 300})
	parquet.Write(totals, dir, parquet.Compression(parquet.Snappy), parquet.RowGroupRows(100_000))
	if _, err := direct.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "part-00000-*-0000.parquet"))
	fmt.Println(len(names), "file", err)
	// Output:
	// 1 file <nil>
}

func ExamplePerWindow() {
	dir, err := os.MkdirTemp("", "minutes-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	p := pcoll.New("minutes")
	timed := transforms.WithTimestamps(transforms.Create(p, orders()[:3]...), Order.Time)
	parquet.Write(windowing.Into(timed, windowing.Fixed(30*time.Second)), dir, parquet.PerWindow())
	if _, err := direct.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		fmt.Println(e.Name())
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// window=20260101T000000Z-20260101T000030Z
	// window=20260101T000030Z-20260101T000100Z
}
