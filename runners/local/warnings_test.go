package local_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// TestWindowingWithoutGroupingIsWarnedOf covers the one mistake that does not
// make a result wrong: what says when windows fire, with nothing that fires.
func TestWindowingWithoutGroupingIsWarnedOf(t *testing.T) {
	minute := windowing.Fixed(time.Minute)
	late := []pcoll.Option{windowing.AllowedLateness(time.Hour), windowing.Accumulating()}
	ignore := func(in pcoll.PCollection[int]) {
		transforms.ForEach(in, func(*pcoll.Context, int) error { return nil })
	}
	for _, c := range []struct {
		name  string
		build func(in pcoll.PCollection[int])
		warns bool
	}{
		{"nothing follows", func(in pcoll.PCollection[int]) { ignore(windowing.Into(in, minute, late...)) }, true},
		{"replaced before a grouping", func(in pcoll.PCollection[int]) {
			ignore(transforms.Sum(windowing.Into(windowing.Into(in, minute, late...), windowing.Global(), windowing.AllowedLateness(0), windowing.Discarding())))
		}, true},
		{"windows only", func(in pcoll.PCollection[int]) { ignore(windowing.Into(in, minute)) }, false},
		{"grouped", func(in pcoll.PCollection[int]) { ignore(transforms.Sum(windowing.Into(in, minute, late...))) }, false},
		{"grouped behind others", func(in pcoll.PCollection[int]) {
			w := windowing.Into(in, minute, late...)
			for range 40 { // as many ways as 2^40
				w = transforms.Flatten(w, w)
			}
			w = transforms.Filter(w, func(int) bool { return false })
			ignore(transforms.Sum(windowing.Into(w, windowing.Fixed(time.Hour))))
		}, false},
	} {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		for runner, run := range map[string]func(*pcoll.Pipeline) (*pcoll.Result, error){
			"direct": func(p *pcoll.Pipeline) (*pcoll.Result, error) {
				return direct.Run(context.Background(), p, direct.Logger(log))
			},
			"local": func(p *pcoll.Pipeline) (*pcoll.Result, error) {
				return local.Run(context.Background(), p, local.Workers(1), local.Logger(log))
			},
		} {
			out.Reset()
			p := pcoll.New("warned")
			c.build(transforms.Create[int](p))
			if _, err := run(p); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			const want = "Window: the windows' trigger, lateness and accumulation have no effect: no grouping, state or side input follows"
			if got := strings.Contains(out.String(), want) && strings.Contains(out.String(), "warnings_test.go:"); got != c.warns {
				t.Errorf("%s, %s: warned %v, want %v\n%s", runner, c.name, got, c.warns, out.String())
			}
		}
	}
}
