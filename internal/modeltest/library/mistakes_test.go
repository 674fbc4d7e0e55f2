package library_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

type passing struct{}

func (passing) Process(c *pcoll.Context, e pair, emit pcoll.Emit[pair]) error {
	emit(c, e)
	return nil
}

// TestMistakesInFrontOfWindows makes a mistake in each sort of transform that assigns
// windows which Into left to it: it is reported, as without windows.
func TestMistakesInFrontOfWindows(t *testing.T) {
	in := func(p *pcoll.Pipeline) pcoll.PCollection[pair] {
		return windowing.Into(Create(p, pcoll.Pair("a", 1)), windowing.Fixed(time.Minute))
	}
	skew, noName := AllowedSkew(-1), pcoll.Named("")
	mistakes{
		{"ParDo", func(p *pcoll.Pipeline) { ParDo(in(p), passing{}, skew) }, "ParDo: allowed skew -1ns cannot be"},
		{"StatefulParDo", func(p *pcoll.Pipeline) { StatefulParDo(in(p), &passing{}, skew) }, "StatefulParDo: allowed skew -1ns cannot be"},
		{"WithTimestamps", func(p *pcoll.Pipeline) { WithTimestamps(in(p), func(pair) time.Time { return second(1) }, skew) },
			"WithTimestamps: allowed skew -1ns cannot be"},
		{"ForEach", func(p *pcoll.Pipeline) { ForEach(in(p), func(*pcoll.Context, pair) error { return nil }, noName) }, "ForEach: name is empty"},
		{"Reify", func(p *pcoll.Pipeline) { Reify(in(p), noName) }, "Reify: name is empty"},
		{"GroupIntoBatches", func(p *pcoll.Pipeline) { GroupIntoBatches(in(p), 0) }, "batches of 0 values would never be full"},
		{"WaitOn", func(p *pcoll.Pipeline) { WaitOn(in(p), Create(p, 1), noName) }, "WaitOn: name is empty"},
		{"Flatten", func(p *pcoll.Pipeline) {
			FlattenAll(p, []pcoll.PCollection[pair]{in(p), Reshuffle(in(p)), SumPerKey(in(p))}, noName)
		},
			"Flatten: name is empty"},
	}.check(t)
}
