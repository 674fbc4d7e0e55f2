package main

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// A Click is one click on an advertisement.
type Click struct {
	AtMS  int64  `json:"at_ms" parquet:"at_ms"` // event time, milliseconds since the epoch
	Ad    string `json:"ad" parquet:"ad,dict"`
	User  int64  `json:"user" parquet:"user"`
	Cents int64  `json:"cents" parquet:"cents"`
}

// Time returns when the click happened.
func (c Click) Time() time.Time { return time.UnixMilli(c.AtMS) }

// AdOf returns the advertisement that was clicked.
func AdOf(c Click) string { return c.Ad }

// lateness is how long after the end of a minute its count is still corrected.
const lateness = 2 * time.Minute

// ClicksPerAd counts clicks per ad and minute, with early results, corrections
// for late clicks, and the clicks that come too late to count.
func ClicksPerAd(clicks pcoll.PCollection[Click]) (counts pcoll.PCollection[pcoll.KV[string, int64]], tooLate pcoll.PCollection[pcoll.KV[string, Click]]) {
	windowed := windowing.Into(clicks, windowing.Fixed(time.Minute),
		windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(500), Late: triggers.AfterCount(1)}),
		windowing.AllowedLateness(lateness),
		windowing.Accumulating())
	return transforms.CombinePerKeyWithLate(transforms.KeyBy(windowed, AdOf), combine.Count[Click](), pcoll.Named("ClicksPerAd"))
}

// The generated clicks: one a millisecond of event time, in order of arrival.
const (
	disorder = 5 * time.Second // that most clicks stay within
	// A few come so late that their minute was closed, but is still corrected;
	// fewer so late that it is not. The gaps leave room for what is on its way
	// through the pipeline while the watermark advances.
	lateFrom, lateTo       = 80 * time.Second, 2 * time.Minute
	tooLateFrom, tooLateTo = 5 * time.Minute, 8 * time.Minute
	minEvents              = 600_000
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// A generator makes clicks from their number alone.
type generator struct {
	seed uint64
	ads  []string
}

func newGenerator(seed int64, ads int) *generator {
	g := &generator{seed: uint64(seed)}
	for i := range ads {
		g.ads = append(g.ads, fmt.Sprintf("ad-%05d", i))
	}
	return g
}

// click returns click number i in order of arrival.
func (g *generator) click(i int64) Click {
	r := g.seed + uint64(i)
	next := func() uint64 { // splitmix64
		r += 0x9e3779b97f4a7c15
		x := r
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	r = next()
	between := func(a, b time.Duration) int64 { return (a + time.Duration(next()%uint64(b-a))).Milliseconds() }
	var behind int64
	switch k := next() % 10_000; {
	case k < 10:
		behind = between(tooLateFrom, tooLateTo)
	case k < 60:
		behind = between(lateFrom, lateTo)
	default:
		behind = between(0, disorder*9/10)
	}
	// Some ads are far more popular than others.
	ad := next() % uint64(len(g.ads))
	if next()%4 > 0 {
		ad = ad * ad / uint64(len(g.ads))
	}
	return Click{AtMS: epoch + max(0, i-behind), Ad: g.ads[ad], User: int64(next() % 1_000_000), Cents: int64(next() % 500)}
}
