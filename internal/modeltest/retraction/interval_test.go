package retraction_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/modeltest/retraction"
	"github.com/penstock-dev/penstock/internal/modeltest/surface"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
)

type (
	rows   = pcoll.PCollection[retraction.Row]
	joined = pcoll.KV[int64, transforms.Joined[*int64, *int64]]
)

// joins are the interval joins, with rows of one type.
var joins = map[string]func(l, r rows, lower, upper time.Duration) pcoll.PCollection[joined]{
	"inner": func(l, r rows, lower, upper time.Duration) pcoll.PCollection[joined] {
		return transforms.MapValues(transforms.IntervalJoin(l, r, lower, upper), func(j transforms.Joined[int64, int64]) transforms.Joined[*int64, *int64] {
			return transforms.Joined[*int64, *int64]{Left: &j.Left, Right: &j.Right}
		})
	},
	"left": func(l, r rows, lower, upper time.Duration) pcoll.PCollection[joined] {
		return transforms.MapValues(transforms.LeftIntervalJoin(l, r, lower, upper), func(j transforms.Joined[int64, *int64]) transforms.Joined[*int64, *int64] {
			return transforms.Joined[*int64, *int64]{Left: &j.Left, Right: j.Right}
		})
	},
	"right": func(l, r rows, lower, upper time.Duration) pcoll.PCollection[joined] {
		return transforms.MapValues(transforms.RightIntervalJoin(l, r, lower, upper), func(j transforms.Joined[*int64, int64]) transforms.Joined[*int64, *int64] {
			return transforms.Joined[*int64, *int64]{Left: j.Left, Right: &j.Right}
		})
	},
	"full": func(l, r rows, lower, upper time.Duration) pcoll.PCollection[joined] {
		return transforms.FullIntervalJoin(l, r, lower, upper)
	},
}

// row prints a row, so that rows can be told apart and are no pointers.
func row(j joined) string {
	side := func(p *int64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(*p)
	}
	return fmt.Sprintf("%d: %s+%s", j.Key, side(j.Value.Left), side(j.Value.Right))
}

// drawnJoin is an interval join of results that are taken back with the elements that they are made of, or with themselves.
type drawnJoin struct {
	Plan         retraction.Plan
	Kind         string
	Lower, Upper int64 // ms
	Self         bool
}

func drawJoin(t *rapid.T) (d drawnJoin) {
	d.Plan = retraction.Draw(t)
	d.Kind = rapid.SampledFrom([]string{"inner", "left", "right", "full"}).Draw(t, "join")
	d.Lower = rapid.Int64Range(-20, 20).Draw(t, "lower")
	d.Upper = d.Lower + rapid.Int64Range(0, 30).Draw(t, "length")
	d.Self = rapid.IntRange(0, 3).Draw(t, "self") == 0
	return d
}

// build adds the join to a pipeline.
func (d drawnJoin) build(t *rapid.T, p *pcoll.Pipeline, script []retraction.Event) *ptest.Collected[string] {
	in := retraction.Source(p, script)
	global := &strategy.Strategy{Fn: strategy.GlobalWindows{}, Trigger: &strategy.Trigger{Kind: strategy.OnAlways}, Mode: strategy.Retracting,
		Lateness: d.Plan.First.Lateness}
	into := func(in rows) rows {
		out, err := surface.Into(in, global)
		if err != nil {
			t.Fatal(err)
		}
		return transforms.Map(out, func(r retraction.Row) retraction.Row { return retraction.Row{Key: r.Value & 1, Value: r.Value} })
	}
	said, err := d.Plan.Found(in)
	if err != nil {
		t.Fatal(err)
	}
	left, right := into(said), into(in)
	if d.Self {
		right = left
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return ptest.Collect(transforms.Map(joins[d.Kind](left, right, ms(d.Lower), ms(d.Upper)), row))
}

// standing runs the join and returns what was inserted and not withdrawn, sorted.
func (d drawnJoin) standing(t *rapid.T, script []retraction.Event, r run) (lines []string) {
	p := pcoll.New("joined")
	out := d.build(t, p, script)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := r(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	left, err := passert.Standing(out.On(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		lines = append(lines, fmt.Sprintf("%s at %v", e.Value, e.Time))
	}
	slices.Sort(lines)
	return lines
}

// TestIntervalJoinsFollowWithdrawals is the law of retraction for interval joins:
// rows less those taken back are the join of what stands.
func TestIntervalJoinsFollowWithdrawals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawJoin(t)
		want := d.standing(t, retraction.AtOnce(d.Plan.Script), onDirect)
		for name, r := range map[string]run{"direct": onDirect, "local-1": onLocal(1), "local-3": onLocal(3)} {
			agree(t, name, d.standing(t, d.Plan.Script, r), want)
		}
	})
}
