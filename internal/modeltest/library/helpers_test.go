package library_test

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

type pair = pcoll.KV[string, int]

// many are enough elements for several batches, splits and workers.
const many = 10_000

func numbers(p *pcoll.Pipeline) pcoll.PCollection[int64] { return GenerateSequence(p, 0, many) }

func mod(n int64) func(int64) int64 { return func(v int64) int64 { return v % n } }

func second(n float64) time.Time { return time.UnixMilli(int64(n * 1000)) }

// span is a window of seconds.
func span(from, to float64) pcoll.Window { return passert.Window(second(from), second(to)) }

// earlyEach fires for each bundle before and after the watermark.
var earlyEach = windowing.Trigger(triggers.AfterWatermark{Early: triggers.AfterCount(1), Late: triggers.AfterCount(1)})

// onAll runs a pipeline on every runner.
func onAll(t *testing.T, name string, build func(t *testing.T, p *pcoll.Pipeline)) {
	t.Run(name, func(t *testing.T) {
		p := pcoll.New("test")
		build(t, p)
		ptest.Run(t, p)
	})
}

// mistakes are pipelines that are refused, by what is said of them.
type mistakes []struct {
	name  string
	build func(p *pcoll.Pipeline)
	want  string
}

func (ms mistakes) check(t *testing.T) {
	for _, c := range ms {
		p := pcoll.New("test")
		c.build(p)
		err := p.Err()
		switch {
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		case strings.Count(err.Error(), "_test.go:") != 1:
			t.Errorf("%s: one mistake is not reported once, with its place: %v", c.name, err)
		}
	}
}
