package transforms_test

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
)

func ExampleForEach() {
	p := pcoll.New("example")
	transforms.ForEach(transforms.Create(p, "a", "b"), func(_ *pcoll.Context, s string) error {
		_, err := fmt.Println(s)
		return err
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a
	// b
}
