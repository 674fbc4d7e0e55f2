package direct_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
)

func ExampleRun() {
	p := pcoll.New("wordcount")
	words := transforms.FlatMap(transforms.Create(p, "to be", "or not to be"), strings.FieldsSeq)
	counts := transforms.CountPerElement(words)
	transforms.ForEach(counts, func(_ *pcoll.Context, c pcoll.KV[string, int64]) error {
		fmt.Println(c.Key, c.Value)
		return nil
	})
	res, err := direct.Run(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	flat, _ := res.Transform("FlatMap")
	fmt.Println("lines:", flat.Elements)

	// Unordered output:
	// be 2
	// not 1
	// or 1
	// to 2
	// lines: 2
}
