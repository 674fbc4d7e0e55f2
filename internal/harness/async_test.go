package harness_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/lookup"
)

func init() { topics = append(topics, async) }

// async are examples of transforms whose calls run beside the worker. Every other
// restart finds calls under way, which begin again.
func async() map[string]func(p *pcoll.Pipeline) {
	double := func(_ context.Context, i int64) (int64, error) {
		if i%4 == 3 {
			return 0, errors.New("refused")
		}
		return 2 * i, nil
	}
	retry := transforms.AsyncRetry(2, time.Second, time.Second)
	fetch := func(_ context.Context, k int64) (int64, bool, error) { return k * k, k%2 == 0, nil }
	merge := func(v, square int64, found bool) string { return fmt.Sprint(v, square, found) }
	return map[string]func(p *pcoll.Pipeline){
		"async, in order": func(p *pcoll.Pipeline) {
			out, _ := transforms.TryAsyncMap(strategies["fixed"](ints(p)), double, retry, transforms.AsyncLimit(2))
			transforms.CountPerKey(keyed(out))
		},
		"async, as they come": func(p *pcoll.Pipeline) {
			out, _ := transforms.TryAsyncMap(strategies["fixed"](ints(p)), double, transforms.AsyncUnordered(), transforms.AsyncLimit(3))
			transforms.CountPerKey(keyed(out))
		},
		"looked up": func(p *pcoll.Pipeline) {
			lookup.Enrich(ints(p), func(i int64) int64 { return i % 3 }, fetch, merge, transforms.AsyncLimit(1), lookup.NegativeTTL(time.Second))
		},
	}
}
