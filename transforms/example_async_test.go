package transforms_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
)

// The results come in the order of the elements, although the last answers first.
func ExampleAsyncMap() {
	sold := make(chan struct{})
	price := func(_ context.Context, item string) (string, error) { // asks a service
		if item == "potatoes" {
			close(sold)
		}
		<-sold // which has to answer for potatoes first
		return fmt.Sprintf("%s costs %d", item, len(item)), nil
	}
	p := pcoll.New("example")
	items := transforms.Create(p, "tea", "bread", "potatoes")
	prices := transforms.AsyncMap(items, price, transforms.AsyncLimit(10), transforms.AsyncTimeout(time.Minute))
	transforms.ForEach(prices, func(_ *pcoll.Context, s string) error {
		fmt.Println(s)
		return nil
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// tea costs 3
	// bread costs 5
	// potatoes costs 8
}

// What the service refuses is not asked for again, and comes out apart.
func ExampleTryAsyncMap() {
	square := func(_ context.Context, n int) (int, error) {
		if n < 0 {
			return 0, transforms.Permanent(errors.New("out of range"))
		}
		return n * n, nil
	}
	p := pcoll.New("example")
	squares, failed := transforms.TryAsyncMap(transforms.Create(p, 3, -3, 5), square, transforms.AsyncRetry(5, time.Second, time.Minute))
	transforms.ForEach(squares, func(_ *pcoll.Context, n int) error {
		fmt.Println(n)
		return nil
	})
	transforms.ForEach(failed, func(_ *pcoll.Context, f transforms.FailedCall[int]) error {
		fmt.Printf("%d: %s, after %d attempt\n", f.Input, f.Error, f.Attempts)
		return nil
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 9
	// -3: out of range, after 1 attempt
	// 25
}
