package side_test

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/side"
	"github.com/penstock-dev/penstock/transforms"
)

// An Order is in some currency.
type Order struct {
	Amount   float64
	Currency string
}

// convert gives the amounts of orders in one currency. Those of currencies that
// it does not know are a second output.
type convert struct {
	Rates   side.Map[string, float64]
	Unknown transforms.Output[Order]
}

var _ transforms.DoFn[Order, float64] = (*convert)(nil)

func (f *convert) Process(c *pcoll.Context, o Order, emit pcoll.Emit[float64]) error {
	rate, ok := f.Rates.Lookup(o.Currency)
	if !ok {
		f.Unknown.Emit(c, o)
		return nil
	}
	emit(c, o.Amount*rate)
	return nil
}

func Example() {
	p := pcoll.New("example")
	orders := transforms.Create(p, Order{10, "EUR"}, Order{3, "USD"}, Order{7, "ABC"})
	rates := transforms.Create(p, pcoll.Pair("EUR", 1.0), pcoll.Pair("USD", 0.5))

	fn := &convert{Rates: side.AsMap(rates)}
	amounts := transforms.ParDo(orders, fn)

	transforms.ForEach(amounts, func(_ *pcoll.Context, a float64) error { fmt.Println(a); return nil })
	transforms.ForEach(fn.Unknown.Collection(), func(_ *pcoll.Context, o Order) error { fmt.Println("unknown:", o.Currency); return nil })
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 10
	// 1.5
	// unknown: ABC
}
