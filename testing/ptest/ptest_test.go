package ptest_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

func at(d time.Duration) time.Time { return time.UnixMilli(0).Add(d) }

func TestScriptGivesTheSamePanesOnAllRunners(t *testing.T) {
	p := pcoll.New("totals")
	orders := teststream.New[pcoll.KV[string, int]]().
		Elements(at(2*time.Second), pcoll.Pair("ann", 7), pcoll.Pair("bob", 1)).
		Watermark(at(70*time.Second)).
		Elements(at(50*time.Second), pcoll.Pair("bob", 100)).
		ProcessingTime(time.Minute).
		Source(p)
	windowed := windowing.Into(orders, windowing.Fixed(time.Minute),
		windowing.Trigger(triggers.AfterWatermark{Late: triggers.AfterCount(1)}),
		windowing.AllowedLateness(time.Hour), windowing.Accumulating())
	totals := transforms.SumPerKey(windowed)
	passert.Panes(t, totals, passert.OnTime(pcoll.Pair("ann", 7)), passert.OnTime(pcoll.Pair("bob", 1)), passert.Late(pcoll.Pair("bob", 101)))
	passert.In(t, totals, passert.Window(at(0), at(time.Minute)), pcoll.Pair("ann", 7), pcoll.Pair("bob", 1), pcoll.Pair("bob", 101))
	ptest.Run(t, p)
}
