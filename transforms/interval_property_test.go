package transforms_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/ptest"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// intervalCase is a random script of an interval join, and what a join of all
// that was in time gives, worked out pair by pair.
type intervalCase struct {
	kind            string
	lower, upper    int64 // ms
	lateness        int64
	script          *twoStreams
	left, right     []entry // in time
	late            []string
	wml, wmr, count int64
}

type entry struct {
	at  int64
	key string
	v   string
}

func drawInterval(t *rapid.T) *intervalCase {
	c := &intervalCase{kind: rapid.SampledFrom([]string{"inner", "left", "right", "full"}).Draw(t, "kind"), script: newStreams(),
		lower: rapid.Int64Range(-12, 12).Draw(t, "lower"), wml: -1 << 40, wmr: -1 << 40}
	c.upper = c.lower + rapid.Int64Range(0, 20).Draw(t, "length")
	c.lateness = rapid.SampledFrom([]int64{0, 0, 5, 30}).Draw(t, "lateness")
	now := int64(0)
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		side := rapid.IntRange(0, 1).Draw(t, "side")
		if rapid.IntRange(0, 3).Draw(t, "event") > 0 {
			c.element(side, now+rapid.Int64Range(-25, 10).Draw(t, "at"), fmt.Sprint("k", rapid.IntRange(0, 2).Draw(t, "key")))
			continue
		}
		now += rapid.Int64Range(0, 15).Draw(t, "pass")
		if side == 0 && now > c.wml {
			c.wml = now
			c.script.left.Watermark(time.UnixMilli(now))
		} else if side == 1 && now > c.wmr {
			c.wmr = now
			c.script.right.Watermark(time.UnixMilli(now))
		}
	}
	return c
}

func (c *intervalCase) element(side int, at int64, key string) {
	c.count++
	e := entry{at, key, fmt.Sprintf("%c%d@%d", "lr"[side], c.count, at)}
	late := at+c.lateness < min(c.wml, c.wmr)
	switch {
	case late:
		c.late = append(c.late, e.v)
	case side == 0:
		c.left = append(c.left, e)
	default:
		c.right = append(c.right, e)
	}
	if pair := pcoll.Pair(key, e.v); side == 0 {
		c.script.left.Elements(time.UnixMilli(at), pair)
	} else {
		c.script.right.Elements(time.UnixMilli(at), pair)
	}
}

// want returns the rows with their times.
func (c *intervalCase) want() (rows []string) {
	matched := map[string]bool{}
	for _, l := range c.left {
		for _, r := range c.right {
			if l.key == r.key && l.at+c.lower <= r.at && r.at <= l.at+c.upper {
				matched[l.v], matched[r.v] = true, true
				rows = append(rows, fmt.Sprintf("%s:%s+%s at %d", l.key, l.v, r.v, max(l.at, r.at)))
			}
		}
	}
	for _, l := range c.left {
		if (c.kind == "left" || c.kind == "full") && !matched[l.v] {
			rows = append(rows, fmt.Sprintf("%s:%s+ at %d", l.key, l.v, l.at))
		}
	}
	for _, r := range c.right {
		if (c.kind == "right" || c.kind == "full") && !matched[r.v] {
			rows = append(rows, fmt.Sprintf("%s:+%s at %d", r.key, r.v, r.at))
		}
	}
	slices.Sort(rows)
	return rows
}

// TestIntervalJoinLaw holds interval joins to a join of everything that is not
// too late, over random scripts of elements and watermarks in any order, on all
// runners; and their rows to being in time for whoever allows the same lateness.
func TestIntervalJoinLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawInterval(t)
		p := pcoll.New("test")
		global := func(in texts) texts {
			return windowing.Into(in, windowing.Global(), windowing.AllowedLateness(time.Duration(c.lateness)*time.Millisecond))
		}
		ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
		out := intervals[c.kind](global(c.script.left.Source(p)), global(c.script.right.Source(p)), ms(c.lower), ms(c.upper))
		rows, late := ptest.Collect(out.rows), ptest.Collect(Flatten(out.lateLeft, out.lateRight))
		// Windows of a millisecond: what is behind the watermark by more than the lateness is dropped here.
		instants := windowing.Into(out.rows, windowing.Fixed(time.Millisecond), windowing.Accumulating())
		counts := CombinePerKey(KeyBy(instants, plain), combine.Count[string](), pcoll.Named("After"))
		ptest.Collect(counts)
		for _, run := range []func() (*pcoll.Result, error){
			func() (*pcoll.Result, error) { return direct.Run(context.Background(), p) },
			func() (*pcoll.Result, error) { return local.Run(context.Background(), p, local.Workers(1)) },
			func() (*pcoll.Result, error) { return local.Run(context.Background(), p, local.Workers(3)) },
		} {
			res, err := run()
			if err != nil {
				t.Fatal(err)
			}
			var got, dropped []string
			for _, e := range rows.On("") {
				got = append(got, fmt.Sprintf("%s at %d", e.Value, e.Time))
				if e.Window != exec.Global || e.Pane != exec.NoFiring {
					t.Fatalf("%v is in %v, pane %v", e.Value, e.Window, e.Pane)
				}
			}
			for _, e := range late.On("") {
				dropped = append(dropped, e.Value)
			}
			slices.Sort(got)
			slices.Sort(dropped)
			slices.Sort(c.late)
			if want := c.want(); !slices.Equal(got, want) || !slices.Equal(dropped, c.late) {
				t.Fatalf("%s join from %d to %d, lateness %d:\ngot  %q\nwant %q\ndropped %q\nwant    %q", c.kind, c.lower, c.upper, c.lateness, got, want, dropped, c.late)
			}
			if r, _ := res.Transform("Interval"); r.DroppedLate != int64(len(c.late)) {
				t.Fatalf("%d elements are counted as late, want %d", r.DroppedLate, len(c.late))
			}
			if r, _ := res.Transform("After"); r.DroppedLate != 0 {
				t.Fatalf("%d rows came too late for a grouping that follows", r.DroppedLate)
			}
		}
	})
}
