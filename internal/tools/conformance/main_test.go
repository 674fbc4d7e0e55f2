package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/tools/conformance/pipeline"
	"github.com/penstock-dev/penstock/internal/tools/conformance/unit"
	"github.com/penstock-dev/penstock/internal/tools/conformance/vectors"
)

// TestProjectVectors runs the project's own vectors, each case a subtest, in both ways.
func TestProjectVectors(t *testing.T) {
	for file, cases := range map[string]int{"scenarios.json": 44, "random_panes.json": 400} {
		check(t, filepath.Join("testdata", file), cases)
	}
}

// TestBeamTranscripts runs Apache Beam's trigger transcripts, which lie outside
// of the repository, in both ways.
func TestBeamTranscripts(t *testing.T) {
	dir := os.Getenv("PENSTOCK_BEAM_VECTORS")
	if dir == "" {
		t.Skip("PENSTOCK_BEAM_VECTORS is not set: the trigger transcripts of Apache Beam were skipped")
	}
	check(t, filepath.Join(dir, "trigger_transcripts.json"), 17)
}

func check(t *testing.T, file string, want int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	results, err := vectors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, r := range results {
		if r.Err == nil && r.Case.Skip != "" {
			continue
		}
		ran++
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if err := unit.Check(r.Case); err != nil {
				t.Errorf("unit: %v", err)
			}
			if err := pipeline.Check(r.Case); err != nil {
				t.Errorf("pipeline: %v", err)
			}
		})
	}
	if ran != want {
		t.Errorf("%s: %d cases ran, want %d", file, ran, want)
	}
}

func runTool(t *testing.T, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}

func TestTool(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.json", `[{"name": "a", "window": {"kind": "fixed", "size": 10},
		"steps": [{"input": [1]}, {"watermark": "inf"}, {"expect": [{"values": [1]}]}]}]`)
	bad := write("bad.json", `[{"name": "a", "steps": [{"input": [1]}, {"watermark": "inf"}]}, {"name": "b", "sides": 3, "steps": []},
		{"name": "c", "timestamp_combiner": "OUTPUT_AT_EARLIEST_TRANSFORMED", "transcript": []}]`)
	broken := write("broken.json", `{"name": "a"}`)
	for _, c := range []struct {
		args []string
		code int
		last string
		says []string
	}{
		{[]string{"-unit", good}, 0, "1 passed, 0 failed", nil},
		{[]string{"-unit", good, bad}, 1, "1 passed, 2 failed", []string{"bad.json: a: general form", "bad.json: b: json: unknown field"}},
		{[]string{"-unit", broken, good}, 1, "1 passed, 1 failed", []string{"broken.json: want a JSON list"}},
		{[]string{"-unit", filepath.Join(dir, "none.json")}, 1, "0 passed, 1 failed", []string{"none.json"}},
		{[]string{good}, 0, "1 passed, 0 failed", nil},
		{[]string{good, bad}, 1, "1 passed, 2 failed", []string{"bad.json: a: direct runner", "local runner, workers 5", "bad.json: b: json: unknown field"}},
		{[]string{broken, good}, 1, "1 passed, 1 failed", []string{"broken.json: want a JSON list"}},
		{nil, 2, "", []string{"usage"}},
		{[]string{"-unit"}, 2, "", []string{"usage"}},
		{[]string{"-nothing"}, 2, "", []string{"usage"}},
	} {
		code, out, errs := runTool(t, c.args...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if code != c.code || lines[len(lines)-1] != c.last {
			t.Errorf("%v: status %d and %q, want %d and %q", c.args, code, lines[len(lines)-1], c.code, c.last)
		}
		for _, s := range c.says {
			if !strings.Contains(out+errs, s) {
				t.Errorf("%v: %q is missing in\n%s%s", c.args, s, out, errs)
			}
		}
	}
}

// FuzzParse feeds arbitrary files through parser, machine and judge.
func FuzzParse(f *testing.F) {
	for _, trigger := range []string{"Default", "AfterEach(OrFinally(Repeatedly(AfterProcessingTime(5)), AfterWatermark()), Never())",
		"AfterAll(Always(), AfterAny(AfterCount(2), AfterWatermark(early=AfterCount(1), late=Always())))"} {
		for _, window := range []string{`"fixed","size":10,"offset":3`, `"sliding","size":10,"period":3`, `"sessions","gap":5`, `"global"`} {
			f.Add([]byte(fmt.Sprintf(`[{"name":"x","window":{"kind":%s},"trigger":%q,"mode":"discarding","allowed_lateness":7,"closing":"always",
				"steps":[{"input":[1,[3,"v"],[7,null]]},{"clock":6},{"watermark":12},{"input":[2,5]},{"watermark":"inf"},{"expect":[{"window":[0,10],
				"values":[1],"timestamp":"EOG","timing":"LATE","first":true,"last":false,"index":0,"nonspeculative_index":-1}]},{"dropped_late":1}]}]`, window, trigger)))
		}
	}
	f.Add([]byte(`[{"name":"t","window_fn":"Sessions(10)","trigger_fn":"AfterWatermark(early=AfterCount(2), late=AfterCount(3))","accumulation_mode":"discarding",
		"error":"Unmatched output","transcript":[{"input":[1,2]},{"state":{}},{"expect":[{"window":[1,11],"early":true,"final":false}]}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, err := vectors.Parse(data)
		if err != nil {
			return
		}
		for _, r := range results {
			if r.Err == nil && r.Case.Skip == "" && small(r.Case) {
				_ = unit.Check(r.Case) // any verdict will do
			}
		}
	})
}

// small reports whether a case has few enough windows to be run while fuzzing.
func small(c *vectors.Case) bool {
	for _, s := range c.Steps {
		if len(s.Elements) > 20 {
			return false
		}
	}
	return len(c.Steps) < 20 && !strings.Contains(c.Strategy.Fn.String(), "sliding") || len(c.Steps) < 5
}
