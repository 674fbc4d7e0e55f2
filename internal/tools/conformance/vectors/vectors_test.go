package vectors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
)

func one(t *testing.T, fields string) (*Case, error) {
	t.Helper()
	rs, err := Parse([]byte(`[{"name": "x", ` + fields + `}]`))
	if err != nil || len(rs) != 1 {
		t.Fatalf("%s: %v, %d results", fields, err, len(rs))
	}
	if rs[0].Name != "x" {
		t.Fatalf("%s: its name is %q", fields, rs[0].Name)
	}
	return rs[0].Case, rs[0].Err
}

func TestParse(t *testing.T) {
	const steps = `, "steps": []`
	for _, c := range []struct{ fields, want string }{
		{`"steps": []`, "global, accumulating"},
		{`"window": {"kind": "fixed", "size": 1000, "offset": -300}` + steps, "fixed(1s offset 700ms)"},
		{`"window": {"kind": "sliding", "size": 1000, "period": 500, "offset": 3}` + steps, "sliding(1s every 500ms offset 3ms)"},
		{`"window": {"kind": "sessions", "gap": 1000}, "mode": "discarding"` + steps, "sessions(1s)"},
		{`"trigger": " AfterWatermark ( late = AfterCount( 2 ) , early=Never )"` + steps, "AfterWatermark(early=Never, late=AfterCount(2))"},
		{`"trigger": "OrFinally(Repeatedly(AfterProcessingTime(5)), AfterEach(AfterAny(Always()), AfterAll(AfterCount(1),),))"` + steps,
			"OrFinally(Repeatedly(AfterProcessingTime(5ms)), AfterEach(AfterAny(Always), AfterAll(AfterCount(1))))"},
		{`"allowed_lateness": 1000, "timestamp_combiner": "LATEST", "closing": "always", "on_time": "if_nonempty"` + steps,
			"lateness 1s, stamped LATEST, closing pane always, on-time pane if non-empty"},
		{`"windowfn": "FixedWindows(10, offset=3)", "transcript": []`, "fixed(10s offset 3s)"},
		{`"window_fn": "SlidingWindows(10, 5)", "trigger_fn": "AfterProcessingTime(2)", "transcript": []`,
			"sliding(10s every 5s) firing AfterProcessingTime(2s)"},
		{`"window_fn": "CustomTimestampingFixedWindowsWindowFn(10)", "accumulation_mode": "discarding", "broken_on": ["x"], "transcript": []`, "fixed(10s)"},
	} {
		got, err := one(t, c.fields)
		if err != nil {
			t.Errorf("%s: %v", c.fields, err)
			continue
		}
		if s := got.Strategy.String(); !strings.Contains(s, c.want) {
			t.Errorf("%s: got %s, want %s", c.fields, s, c.want)
		}
	}
}

func TestParseSteps(t *testing.T) {
	c, err := one(t, `"steps": [{"input": [3, [4, "a"], [5, {"b": [1, 2]}]]}, {"watermark": "inf"}, {"clock": 7},
		{"expect": [{"window": "global", "timestamp": "EOG", "values": ["a"], "timing": "ON_TIME"}, {}]}, {"dropped_late": 2}, {"dropped_closed": 0}]`)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{1970-01-01T00:00:00.003Z 3} {1970-01-01T00:00:00.004Z "a"} {1970-01-01T00:00:00.005Z {"b":[1,2]}}]`
	if got := fmt.Sprint(c.Steps[0].Elements); got != want {
		t.Errorf("elements %s, want %s", got, want)
	}
	if c.Steps[1].Time != exec.MaxTime || c.Steps[2].Time != 7 || c.Steps[4].Count != 2 {
		t.Errorf("steps %v", c.Steps)
	}
	if got, want := fmt.Sprint(c.Steps[3].Panes), `[{window global, values ["a"], at EOG, timing ON_TIME} {}]`; got != want {
		t.Errorf("panes %s, want %s", got, want)
	}
	c, err = one(t, `"transcript": [{"input": [1]}, {"expect": [{"window": [0, 9], "early": false, "late": true, "final": true, "timestamp": 9}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Steps[1].Panes[0].String(), `{window [0, 10000), at 9000, timing LATE, timing not EARLY, last true}`; got != want {
		t.Errorf("pane %s, want %s", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ fields, want string }{
		{`"color": 3, "steps": []`, "unknown field"},
		{`"window": {"kind": "round"}, "steps": []`, `unknown kind of window "round"`},
		{`"window": {"kind": "fixed", "size": 0}, "steps": []`, "positive size"},
		{`"window": {"kind": "fixed", "size": 1, "colour": 1}, "steps": []`, "unknown field"},
		{`"trigger": "Sometimes()", "steps": []`, "unknown trigger Sometimes"},
		{`"trigger": "AfterCount(0)", "steps": []`, "count of at least 1"},
		{`"trigger": "AfterCount()", "steps": []`, `lacks its argument "count"`},
		{`"trigger": "AfterCount(Never())", "steps": []`, "must be a number"},
		{`"trigger": "AfterCount(1, 2)", "steps": []`, "takes 1 arguments"},
		{`"trigger": "AfterWatermark(soon=Never())", "steps": []`, `no argument "soon"`},
		{`"trigger": "AfterWatermark(Never(), early=Never())", "steps": []`, "twice"},
		{`"trigger": "Repeatedly(Never(), Never())", "steps": []`, "takes 1 triggers, got 2"},
		{`"trigger": "OrFinally(Never())", "steps": []`, "takes 2 triggers, got 1"},
		{`"trigger": "AfterAny()", "steps": []`, "takes 1 triggers, got 0"},
		{`"trigger": "Never(1)", "steps": []`, "takes no argument"},
		{`"trigger": "5", "steps": []`, "want a trigger"},
		{`"trigger": "Never() Never()", "steps": []`, "want the end"},
		{`"trigger": "AfterAny(Never()", "steps": []`, "it ends where"},
		{`"trigger": "` + strings.Repeat("Repeatedly(", 200) + `", "steps": []`, "nested more than"},
		{`"mode": "retracting", "steps": []`, "unknown mode"},
		{`"timestamp_combiner": "MIDDLE", "steps": []`, "unknown timestamp combiner"},
		{`"closing": "never", "steps": []`, "unknown closing"},
		{`"allowed_lateness": -1, "steps": []`, "negative"},
		{`"allowed_lateness": 9223372036854775807, "transcript": []`, "out of range"},
		{`"steps": [{"jump": 3}]`, `step 0: unknown step "jump"`},
		{`"steps": [{"input": [1], "clock": 3}]`, "want an object of one key"},
		{`"steps": [{"input": 1}]`, "want a list"},
		{`"steps": [{"input": [[1, 2, 3]]}]`, "want a time or"},
		{`"steps": [{"watermark": "soon"}]`, "unknown time"},
		{`"steps": [{"watermark": 1.5}]`, "want an integer"},
		{`"steps": [{"watermark": null}]`, "want an integer"},
		{`"steps": [{"watermark": 9223372036854775807}]`, "out of range"},
		{`"steps": [{"expect": [{"timing": "SOON"}]}]`, "unknown timing"},
		{`"steps": [{"expect": [{"window": [1]}]}]`, "want [start, end]"},
		{`"steps": [{"expect": [{"final": true}]}]`, "unknown field"},
		{`"window_fn": "Hexagons(3)", "transcript": []`, "unknown window function"},
		{`"transcript": [{"expect": [{"early": true, "late": true}]}]`, "both early and late"},
	} {
		_, err := one(t, c.fields)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.fields, err, c.want)
		}
	}
	rs, err := Parse([]byte(`[3, {"steps": [3]}]`))
	if err != nil || rs[0].Err == nil || rs[1].Err == nil || rs[1].Name != "case 1" {
		t.Errorf("odd cases: %v, %v", rs, err)
	}
}

func TestJudge(t *testing.T) {
	w := exec.Window{Start: 0, End: 10}
	p0 := Emitted{Window: w, Values: []string{"1", "2"}, Time: 9, Pane: exec.Pane{First: true, Timing: exec.Early, NonSpeculative: -1}}
	p1 := Emitted{Window: w, Values: []string{"3"}, Time: 9, Pane: exec.Pane{Index: 1, Timing: exec.OnTime, Last: true}}
	none := Outcome{}
	both := Outcome{Panes: []Emitted{p0, p1}}
	for _, c := range []struct {
		name, steps string
		outcomes    []Outcome
		want        string
	}{
		{"all", `{"watermark": 1}, {"expect": [{"values": [2, 1], "index": 0, "first": true}, {"values": [3], "last": true, "timestamp": 9}]}`,
			[]Outcome{both, none}, ""},
		{"in two lists", `{"watermark": 1}, {"expect": [{"index": 0}]}, {"expect": [{"index": 1}]}`, []Outcome{both, none, none}, ""},
		{"from two steps", `{"watermark": 1}, {"watermark": 2}, {"expect": [{}, {}]}`,
			[]Outcome{{Panes: []Emitted{p0}}, {Panes: []Emitted{p1}}, none}, ""},
		{"loose before strict", `{"watermark": 1}, {"expect": [{"window": [0, 10]}, {"index": 1}]}`, []Outcome{both, none}, ""},
		{"wrong order", `{"watermark": 1}, {"expect": [{"values": [3]}, {"values": [1, 2]}]}`, []Outcome{both, none}, "Unmatched output"},
		{"values", `{"watermark": 1}, {"expect": [{"values": [1]}, {}]}`, []Outcome{both, none}, "Unmatched output"},
		{"one too few", `{"watermark": 1}, {"expect": [{"index": 0}]}`, []Outcome{both, none}, "Unexpected output"},
		{"one too many", `{"watermark": 1}, {"expect": [{}, {}, {}]}`, []Outcome{both, none}, "Unmatched output"},
		{"never named", `{"watermark": 1}`, []Outcome{both}, "Unexpected output"},
		{"named too early", `{"expect": [{}, {}]}, {"watermark": 1}`, []Outcome{none, both}, "Unmatched output"},
		{"indices", `{"watermark": 1}, {"expect": [{}, {}]}`, []Outcome{{Panes: []Emitted{p1, p0}}, none}, "index 0 is next"},
		{"counter", `{"dropped_late": 2}`, []Outcome{{DroppedLate: 1}}, "dropped as late, want 2"},
		{"other counter", `{"dropped_closed": 2}`, []Outcome{{DroppedClosed: 1}}, "finished, want 2"},
		{"lost steps", `{"dropped_closed": 2}`, nil, "0 outcomes for 1 steps"},
	} {
		x, err := one(t, `"steps": [`+c.steps+`]`)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		err = Judge(x, c.outcomes)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	x, err := one(t, `"error": "Unmatched output", "transcript": [{"expect": [{}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	if err := Judge(x, []Outcome{none}); err != nil {
		t.Errorf("the error that is wanted: %v", err)
	}
	x.Error = "Unexpected output"
	if err := Judge(x, []Outcome{none}); err == nil {
		t.Error("another error than the one that is wanted passes")
	}
	x.Steps = nil
	if err := Judge(x, nil); err == nil {
		t.Error("a case that must fail passes without failing")
	}
}
