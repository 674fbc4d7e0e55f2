package coders_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/coders"
)

func ExampleFor() {
	type Order struct {
		ID    int64
		User  string
		Notes []string // nil is kept: it is null in the row
	}
	c, err := coders.For[Order]()
	if err != nil {
		fmt.Println(err)
		return
	}
	buf, _ := c.Append(nil, Order{ID: 7, User: "ann"})
	fmt.Printf("% x\n", buf)
	order, rest, _ := c.Decode(buf)
	fmt.Printf("%+v, %d bytes left\n", order, len(rest))
	// Output:
	// 03 01 04 07 03 61 6e 6e
	// {ID:7 User:ann Notes:[]}, 0 bytes left
}

func ExampleFor_unexported() {
	type Order struct {
		ID   int64
		meta map[string]string //lint:ignore U1000 it is there to be refused
	}
	_, err := coders.For[Order]()
	fmt.Println(err)
	// Output:
	// coders: cannot encode Order.meta: unexported field of type map[string]string; export it or implement encoding.BinaryMarshaler and BinaryUnmarshaler on Order
}

// Equal instants are one key, whatever their location.
func ExampleForKey() {
	type Slot struct {
		Ad string
		At time.Time
	}
	key, err := coders.ForKey[Slot]()
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	a := Slot{"x", at}
	b := Slot{"x", at.In(time.FixedZone("CET", 3600))}
	fmt.Println(a == b, key.Normalize(a) == key.Normalize(b), key.Hash(a) == key.Hash(b))
	// Output: false true true
}

// A float has no canonical encoding, so it is not a key.
func ExampleForKey_refused() {
	type Price struct{ Amount float64 }
	_, err := coders.ForKey[Price]()
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", ";\n"))
	// Output:
	// coders: cannot use as a key Price.Amount: float64 has no canonical encoding (0 and -0 are equal, NaN is not equal to itself);
	// use an integer, such as a number of cents, or a string
}
