package pipeline_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/tools/conformance/pipeline"
	"github.com/penstock-dev/penstock/internal/tools/conformance/vectors"
)

const fixed = `"window": {"kind": "fixed", "size": 10}, `

// TestCheck runs cases that pass, and such that differ from them by one mistake.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       string // in the error of each runner; empty: it passes
	}{
		{"panes belong to their steps", fixed + `"trigger": "Repeatedly(AfterCount(1))", "steps": [{"input": [1]}, {"expect": [{"values": [1]}]},
			{"input": [2]}, {"expect": [{"values": [1, 2], "index": 1}]}]`, ""},
		{"a pane of the step before", fixed + `"trigger": "Repeatedly(AfterCount(1))", "steps": [{"input": [1]}, {"input": [2]},
			{"expect": [{"values": [1, 2], "index": 1}]}]`, "Unexpected output"},
		{"a pane too early", fixed + `"steps": [{"input": [1]}, {"watermark": 9}, {"expect": [{"values": [1]}]}, {"watermark": 10}]`, "Unmatched output"},
		{"timestamps", fixed + `"timestamp_combiner": "EARLIEST", "steps": [{"input": [3, 4]}, {"watermark": "inf"}, {"expect": [{"timestamp": 3}]}]`, ""},
		{"another timestamp", fixed + `"timestamp_combiner": "EARLIEST",
			"steps": [{"input": [3, 4]}, {"watermark": "inf"}, {"expect": [{"timestamp": 4}]}]`, "Unmatched output"},
		{"the end of the script is no step", fixed + `"steps": [{"input": [1]}]`, ""},
		{"the end as a step", fixed + `"steps": [{"input": [1]}, {"watermark": "inf"}]`, "Unexpected output"},
		{"steps behind the end", fixed + `"steps": [{"input": [1]}, {"watermark": "inf"}, {"expect": [{"last": true, "timing": "ON_TIME"}]},
			{"clock": 5}, {"input": [2]}, {"expect": []}, {"dropped_late": 1}, {"watermark": "inf"}]`, ""},
		{"the global window", `"steps": [{"input": [1]}, {"expect": []}, {"watermark": "inf"}, {"expect": [{"window": "global", "timestamp": "EOG"}]}]`, ""},
		{"counters are those of their step", fixed + `"trigger": "AfterCount(1)", "steps": [{"input": [1]}, {"expect": [{}]}, {"dropped_closed": 0},
			{"input": [1]}, {"dropped_closed": 1}, {"dropped_late": 0}, {"watermark": 20}, {"input": [2, 3]}, {"dropped_late": 2}, {"dropped_closed": 1}]`, ""},
		{"a counter of the step before", fixed + `"trigger": "AfterCount(1)", "steps": [{"input": [1]}, {"expect": [{}]}, {"dropped_closed": 1},
			{"input": [1]}]`, "0 elements dropped since"},
		{"a late counter of the step before", fixed + `"steps": [{"watermark": 20}, {"dropped_late": 1}, {"input": [1]}]`, "0 elements dropped as late"},
		{"the clock is absolute", fixed + `"trigger": "Repeatedly(AfterProcessingTime(5))", "steps": [{"clock": 0}, {"clock": 3}, {"input": [1]},
			{"clock": 8}, {"expect": []}, {"clock": 8}, {"clock": 9}, {"expect": [{}]}]`, ""},
		{"watermarks that do not move", fixed + `"steps": [{"watermark": "-inf"}, {"watermark": 5}, {"watermark": 3}, {"input": [1]}, {"watermark": 9}]`, ""},
		{"an empty bundle", fixed + `"steps": [{"input": []}, {"watermark": 30}, {"expect": []}]`, ""},
		{"lateness for ever", fixed + `"allowed_lateness": 100000000000000, "steps": [{"watermark": 90000000000000}, {"input": [1]},
			{"expect": [{"timing": "LATE"}]}]`, ""},
		{"a leap of the clock", fixed + `"steps": [{"clock": 1}, {"clock": 9000000000000000}]`, "step 1: the clock cannot advance"},
		{"a time that no element has", fixed + `"steps": [{"input": [["inf", 1]]}]`, "outside what event time can express"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cases, err := vectors.Parse([]byte(`[{"name": "case", ` + c.json + `}]`))
			if err != nil || cases[0].Err != nil {
				t.Fatal(err, cases[0].Err)
			}
			err = pipeline.Check(cases[0].Case)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatalf("it passes, want %q", c.want)
			}
			for _, runner := range []string{"direct runner", "local runner, workers 1", "local runner, workers 2", "local runner, workers 5"} {
				if _, after, ok := strings.Cut(err.Error(), runner+": "); !ok || !strings.Contains(strings.SplitN(after, "\nlocal runner", 2)[0], c.want) {
					t.Errorf("%s: got %v, want %q", runner, err, c.want)
				}
			}
		})
	}
}
