package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A Result is one case of a file, or why it could not be read.
type Result struct {
	Case *Case
	Name string
	Err  error
}

// Parse reads a file: a list of cases of either form, told apart case by case.
// An error means that the file as a whole is not such a list.
func Parse(data []byte) ([]Result, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("want a JSON list of cases: %w", err)
	}
	out := make([]Result, len(raw))
	for i, r := range raw {
		out[i] = parseCase(r)
		if out[i].Name == "" {
			out[i].Name = fmt.Sprintf("case %d", i)
		}
	}
	return out, nil
}

func parseCase(raw json.RawMessage) Result {
	var head struct {
		Name       string          `json:"name"`
		Transcript json.RawMessage `json:"transcript"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Result{Err: fmt.Errorf("want an object with name and steps or transcript: %w", err)}
	}
	parse := parseScenario
	if head.Transcript != nil {
		parse = parseTranscript
	}
	c, err := parse(raw)
	if err == nil {
		err = c.Strategy.Trigger.Check()
	}
	if err != nil {
		return Result{Name: head.Name, Err: err}
	}
	c.Name = head.Name
	return Result{Case: c, Name: head.Name}
}

// strict decodes raw into v, refusing fields that v does not have.
func strict(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// scenario is a case of scenarios.json.
type scenario struct {
	Name   string
	Window *struct {
		Kind                      string
		Size, Period, Offset, Gap int64
	}
	Trigger         string
	Mode            string
	Combiner        string `json:"timestamp_combiner"`
	AllowedLateness int64  `json:"allowed_lateness"`
	Closing         string
	OnTime          string `json:"on_time"`
	Steps           []json.RawMessage
}

func parseScenario(raw json.RawMessage) (*Case, error) {
	var s scenario
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	c := &Case{Unit: 1, Strategy: &strategy.Strategy{Fn: strategy.GlobalWindows{}}}
	if w := s.Window; w != nil {
		if w.Kind == "sliding" && w.Period == 0 {
			w.Period = w.Size
		}
		fn, err := newWindowFn(w.Kind, w.Size, w.Period, w.Offset, w.Gap)
		if err != nil {
			return nil, err
		}
		c.Strategy.Fn = fn
	}
	if err := c.setStrategy(s.Trigger, s.Mode, s.Combiner, s.AllowedLateness); err != nil {
		return nil, err
	}
	var err1, err2 error
	c.Strategy.ClosingAlways, err1 = always(s.Closing, false)
	onTime, err2 := always(s.OnTime, true)
	c.Strategy.OnTimeIfNonEmpty = !onTime
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return c, c.setSteps(s.Steps, parsePane)
}

func always(s string, def bool) (bool, error) {
	switch s {
	case "":
		return def, nil
	case "always":
		return true, nil
	case "if_nonempty", "if_non_empty":
		return false, nil
	}
	return false, fmt.Errorf("unknown closing or on_time %q: want always or if_nonempty", s)
}

// setStrategy sets what both forms of file have; empty strings are the defaults.
func (c *Case) setStrategy(trigger, mode, combiner string, lateness int64) error {
	s := c.Strategy
	if trigger == "" {
		trigger = "Default"
	}
	e, err := parseExpr(trigger)
	if err == nil {
		s.Trigger, err = e.trigger(c.Unit)
	}
	if err != nil {
		return fmt.Errorf("trigger %w", err)
	}
	switch strings.ToLower(mode) {
	case "", "accumulating":
		s.Mode = strategy.Accumulating
	case "discarding":
		s.Mode = strategy.Discarding
	default:
		return fmt.Errorf("unknown mode %q: want accumulating or discarding", mode)
	}
	switch combiner {
	case "", "END_OF_WINDOW", "OUTPUT_AT_EOW":
		s.Combiner = strategy.EndOfWindow
	case "EARLIEST", "OUTPUT_AT_EARLIEST":
		s.Combiner = strategy.Earliest
	case "LATEST", "OUTPUT_AT_LATEST":
		s.Combiner = strategy.Latest
	case "OUTPUT_AT_EARLIEST_TRANSFORMED":
		c.Skip = "timestamp combiner " + combiner + " exists in Python only"
	default:
		return fmt.Errorf("unknown timestamp combiner %q: want END_OF_WINDOW, EARLIEST or LATEST", combiner)
	}
	if lateness < 0 {
		return fmt.Errorf("allowed lateness %d is negative", lateness)
	}
	s.Lateness, err = scale(lateness, c.Unit)
	return err
}

// transcript is a case of trigger_transcripts.json.
type transcript struct {
	Name             string
	WindowFn         string `json:"window_fn"`
	WindowFnOddly    string `json:"windowfn"`
	TriggerFn        string `json:"trigger_fn"`
	Combiner         string `json:"timestamp_combiner"`
	AccumulationMode string `json:"accumulation_mode"`
	AllowedLateness  int64  `json:"allowed_lateness"`
	Error            string
	BrokenOn         json.RawMessage `json:"broken_on"`
	Transcript       []json.RawMessage
}

func parseTranscript(raw json.RawMessage) (*Case, error) {
	var s transcript
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	c := &Case{Unit: 1000, Error: s.Error, Strategy: &strategy.Strategy{Fn: strategy.GlobalWindows{}}}
	if s.WindowFn == "" {
		s.WindowFn = s.WindowFnOddly
	}
	if s.WindowFn != "" {
		e, err := parseExpr(s.WindowFn)
		if err == nil {
			c.Strategy.Fn, err = e.windowFn(c.Unit)
		}
		if err != nil {
			return nil, fmt.Errorf("window_fn: %w", err)
		}
	}
	if err := c.setStrategy(s.TriggerFn, s.AccumulationMode, s.Combiner, s.AllowedLateness); err != nil {
		return nil, err
	}
	return c, c.setSteps(s.Transcript, parseTranscriptPane)
}

// scale returns n units in ms.
func scale(n, unit int64) (int64, error) {
	const most = 1 << 62
	if n > most/unit || n < -most/unit {
		return 0, fmt.Errorf("%d is out of range", n)
	}
	return n * unit, nil
}

func (c *Case) time(raw json.RawMessage) (exec.Time, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		switch strings.TrimPrefix(s, "+") {
		case "inf":
			return exec.MaxTime, nil
		case "-inf":
			return exec.MinTime, nil
		case "EOG":
			return exec.EndOfGlobal, nil
		}
		return 0, fmt.Errorf("unknown time %q: want an integer, \"inf\" or \"EOG\"", s)
	}
	n, err := integer(raw)
	if err != nil {
		return 0, err
	}
	if n, err = scale(n, c.Unit); err != nil {
		return 0, err
	}
	if t := exec.Time(n); t == exec.Clamp(t) {
		return t, nil
	}
	return 0, fmt.Errorf("time %s is out of range", raw)
}

func integer(raw json.RawMessage) (n int64, err error) {
	if string(raw) == "null" {
		return 0, errors.New("want an integer, got null")
	}
	if err = json.Unmarshal(raw, &n); err != nil {
		return 0, fmt.Errorf("want an integer, got %s", raw)
	}
	return n, nil
}
