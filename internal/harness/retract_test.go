package harness_test

import (
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func init() { topics = append(topics, retracting) }

// retracting are groupings that take back what they said, and behind each of them
// groupings that take it out: by the combiner, and by keeping values.
func retracting() map[string]func(p *pcoll.Pipeline) {
	how := []pcoll.Option{windowing.Retracting(), windowing.AllowedLateness(5 * time.Second),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(2), Late: triggers.AfterCount(1)})}
	m := map[string]func(p *pcoll.Pipeline){}
	for name, fn := range map[string]windowing.Fn{
		"fixed":    windowing.Fixed(4 * time.Second),
		"sliding":  windowing.Sliding(4*time.Second, 2*time.Second),
		"sessions": windowing.Sessions(1500 * time.Millisecond),
	} {
		m["retract "+name] = func(p *pcoll.Pipeline) {
			sums := transforms.SumPerKey(keyed(windowing.Into(ints(p), fn, how...)))
			twos := transforms.KeyBy(transforms.Reshuffle(transforms.Values(sums)), func(v int64) bool { return v%2 == 0 })
			transforms.CountPerKey(twos)
			transforms.MaxPerKey(twos)
			transforms.SumPerKey(windowing.Into(twos, windowing.Fixed(3*time.Second), windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(3)})))
			transforms.GroupByKeyWithLate(keyed(windowing.Into(ints(p), fn, how...)))
		}
	}
	m["retract, interval join"] = func(p *pcoll.Pipeline) {
		sums := transforms.SumPerKey(keyed(windowing.Into(ints(p), windowing.Fixed(2*time.Second), how...)))
		left := windowing.Into(sums, windowing.Global(), how[2])
		right := keyed(windowing.Into(ints(p), windowing.Global(), windowing.Retracting(), windowing.AllowedLateness(5*time.Second), how[2]))
		transforms.Map(transforms.FullIntervalJoin(left, right, -time.Second, time.Second), values)
	}
	return m
}
