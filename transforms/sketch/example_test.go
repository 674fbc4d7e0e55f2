package sketch_test

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/sketch"
)

func ExampleDistinct() {
	p := pcoll.New("example")
	visits := transforms.KeyBy(transforms.GenerateSequence(p, 0, 90), func(n int64) bool { return n%3 == 0 })
	visitors := transforms.MapValues(visits, func(n int64) int64 { return n % 45 })
	transforms.Map(transforms.CombinePerKey(visitors, sketch.Distinct[int64](14)), func(e pcoll.KV[bool, int64]) int {
		fmt.Println(e)
		return 0
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// {true 15}
	// {false 30}
}

func ExampleQuantiles() {
	p := pcoll.New("example")
	latencies := transforms.GenerateSequence(p, 1, 1001)
	transforms.Map(transforms.Combine(latencies, sketch.Quantiles[int64](0.01, 0.5, 1)), func(q []float64) int {
		fmt.Println("half within 500±1 %:", q[0] > 495 && q[0] < 505)
		fmt.Println("all within", q[1])
		return 0
	})
	if _, err := direct.Run(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// half within 500±1 %: true
	// all within 1000
}
