package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/lookup"
)

type order struct {
	Customer string
	Cents    int64
}

func customer(o order) string { return o.Customer }

// country asks a database.
func country(_ context.Context, customer string) (string, bool, error) {
	switch customer {
	case "ann":
		return "NZ", true, nil
	case "bob":
		return "", false, nil
	}
	return "", false, errors.New("the database is away")
}

func with(o order, country string, found bool) string {
	if !found {
		country = "unknown"
	}
	return fmt.Sprintf("%s (%s) pays %d", o.Customer, country, o.Cents)
}

func show(in pcoll.PCollection[string]) {
	transforms.ForEach(in, func(_ *pcoll.Context, s string) error {
		fmt.Println(s)
		return nil
	})
}

func ExampleEnrich() {
	p := pcoll.New("example")
	orders := transforms.Create(p, order{"ann", 300}, order{"bob", 200}, order{"ann", 100})
	show(lookup.Enrich(orders, customer, country, with, lookup.TTL(10*time.Minute), lookup.NegativeTTL(10*time.Second), pcoll.Named("Country")))
	res, err := direct.Run(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, _ := res.Transform("Country")
	fmt.Println("calls:", asked.Counters["calls"])
	// Output:
	// ann (NZ) pays 300
	// bob (unknown) pays 200
	// ann (NZ) pays 100
	// calls: 2
}

func ExampleTryEnrich() {
	p := pcoll.New("example")
	orders := transforms.Create(p, order{"ann", 300}, order{"eve", 200})
	enriched, failed := lookup.TryEnrich(orders, customer, country, with, transforms.AsyncRetry(3, time.Millisecond, time.Second))
	show(enriched)
	show(transforms.Map(failed, func(f transforms.FailedCall[order]) string {
		return fmt.Sprintf("%s: %s, %d times", f.Input.Customer, f.Error, f.Attempts)
	}))
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ann (NZ) pays 300
	// eve: the database is away, 3 times
}
