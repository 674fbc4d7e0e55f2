package retraction_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// sink writes nothing; what it accepts is what counts.
type sink connector.Changes

func (s sink) Accepts() connector.Changes { return connector.Changes(s) }
func (sink) Open(context.Context, connector.Env) (connector.Writer[amount], error) {
	return nil, nil
}

// finisher is a DoFn that emits at the end of bundles.
type finisher struct{}

func (*finisher) Process(*pcoll.Context, amount, pcoll.Emit[int]) error     { return nil }
func (*finisher) FinishBundle(c *pcoll.Context, emit pcoll.Emit[int]) error { return nil }

// TestMistakes lists what is refused where elements may be withdrawals.
func TestMistakes(t *testing.T) {
	type col = pcoll.PCollection[amount]
	for _, c := range []struct {
		name  string
		opts  []pcoll.Option // of the first grouping
		apply func(sums col)
		want  []string // in the error; nil: there is none
	}{
		{"grouping", nil, func(in col) { transforms.GroupByKey(in) }, nil},
		{"discarding", nil, func(in col) { transforms.GroupByKey(windowing.Into(in, windowing.Same(), windowing.Discarding())) },
			[]string{"GroupByKey", "discarding panes cannot be corrected", "use windowing.Retracting() here too"}},
		{"accumulating", nil, func(in col) {
			transforms.SumPerKey(windowing.Into(in, windowing.Fixed(time.Hour), windowing.Accumulating()))
		}, []string{"SumPerKey", "accumulating panes cannot be corrected"}},
		{"sessions", nil, func(in col) { transforms.SumPerKey(windowing.Into(in, windowing.Sessions(time.Minute))) },
			[]string{"Window-2", "part them again", "before the first retracting grouping"}},
		{"times that move", []pcoll.Option{windowing.StampedEarliest()}, func(in col) {
			transforms.SumPerKey(windowing.Into(in, windowing.Fixed(time.Second)))
		}, []string{"stamped EARLIEST", "too late to be withdrawn", "StampedEndOfWindow"}},
		{"times that move in windows that stay", []pcoll.Option{windowing.StampedLatest()}, func(in col) { transforms.SumPerKey(in) }, nil},
		{"late withdrawals", nil, func(in col) { transforms.GroupByKeyWithLate(in) }, []string{"leave WithLate out", "counter"}},
		{"sink that appends", nil, func(in col) { connector.Write(in, "Append", sink(connector.Appends)) },
			[]string{"Append", "this sink only appends", "triggers.Never{}"}},
		{"sink that upserts", nil, func(in col) { connector.Write(in, "Upsert", sink(connector.Upserts)) }, nil},
		{"sink that retracts", nil, func(in col) { connector.Write(in, "Retract", sink(connector.Retracts)) }, nil},
		{"end of bundle", nil, func(in col) { transforms.ParDo(in, &finisher{}) }, []string{"FinishBundle", "emit in Process only"}},
		{"transforms that cannot", nil, func(in col) {
			b := pcoll.NewBuilder(in.Pipeline(), "Narrow")
			pcoll.RefuseWithdrawals(b, pcoll.From(b, in))
		}, []string{"Narrow", "Narrow cannot take back", "windowing.Trigger(triggers.Never{})"}},
		{"both flattened", nil, func(in col) { connector.Write(transforms.Flatten(in, in), "Append", sink(connector.Appends)) }, []string{"only appends"}},
		{"results without encoding", nil, func(in col) {
			transforms.CombinePerKey(in, combine.Then(combine.Sum[int64](), func(int64) chan int { return nil }))
		}, []string{"results are kept encoded until they are taken back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pcoll.New("mistakes")
			in := teststream.New[amount]().Elements(at(1), pcoll.Pair("A", int64(5))).Source(p)
			c.apply(transforms.SumPerKey(early(in, c.opts...)))
			err := p.Err()
			if c.want == nil && err != nil {
				t.Fatal(err)
			}
			for _, want := range append([]string{"mistakes_test.go:"}, c.want...) {
				if c.want != nil && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("error does not contain %q: %v", want, err)
				}
			}
		})
	}
}
