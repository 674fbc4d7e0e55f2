package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
)

type paneParser func(*Case, json.RawMessage) (Pane, error)

func (c *Case) setSteps(raw []json.RawMessage, pane paneParser) error {
	for i, r := range raw {
		var one map[string]json.RawMessage
		err := json.Unmarshal(r, &one)
		if err == nil && len(one) != 1 {
			err = fmt.Errorf("want an object of one key, got %d", len(one))
		}
		for key, v := range one {
			if err == nil {
				err = c.addStep(key, v, pane)
			}
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (c *Case) addStep(key string, raw json.RawMessage, pane paneParser) (err error) {
	var s Step
	switch key {
	case "input":
		s.Kind = Input
		err = list(raw, func(r json.RawMessage) error {
			e, err := c.element(r)
			s.Elements = append(s.Elements, e)
			return err
		})
	case "watermark":
		s.Kind = Watermark
		s.Time, err = c.time(raw)
	case "clock":
		s.Kind = Clock
		s.Time, err = c.time(raw)
	case "expect":
		s.Kind = Expect
		err = list(raw, func(r json.RawMessage) error {
			p, err := pane(c, r)
			s.Panes = append(s.Panes, p)
			return err
		})
	case "dropped_late":
		s.Kind = DroppedLate
		s.Count, err = integer(raw)
	case "dropped_closed":
		s.Kind = DroppedClosed
		s.Count, err = integer(raw)
	case "state":
		return nil // how Python's runner keeps state
	default:
		return fmt.Errorf("unknown step %q", key)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	c.Steps = append(c.Steps, s)
	return nil
}

func list(raw json.RawMessage, each func(json.RawMessage) error) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return fmt.Errorf("want a list: %w", err)
	}
	for i, r := range items {
		if err := each(r); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func (c *Case) element(raw json.RawMessage) (e Element, err error) {
	at, v := raw, raw
	if bytes.HasPrefix(raw, []byte("[")) {
		var pair []json.RawMessage
		if err = json.Unmarshal(raw, &pair); err != nil {
			return e, err
		}
		if len(pair) != 2 {
			return e, fmt.Errorf("want a time or [time, value], got %s", raw)
		}
		at, v = pair[0], pair[1]
	}
	if e.Time, err = c.time(at); err != nil {
		return e, err
	}
	e.Value, err = value(v)
	return e, err
}

// value returns raw in compact form.
func value(raw json.RawMessage) (string, error) {
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.String(), err
}

// paneFields is a pane of either form of file.
type paneFields struct {
	Window              json.RawMessage
	Values              *[]json.RawMessage
	Timestamp           json.RawMessage
	Timing              *string
	First, Last         *bool
	Index               *int64
	NonSpeculativeIndex *int64 `json:"nonspeculative_index"`
}

func parsePane(c *Case, raw json.RawMessage) (Pane, error) {
	var f paneFields
	if err := strict(raw, &f); err != nil {
		return Pane{}, err
	}
	return f.pane(c, 0)
}

// parseTranscriptPane reads a pane of a transcript: bounds of windows are both
// inclusive, timing is spelled as two flags, last is final.
func parseTranscriptPane(c *Case, raw json.RawMessage) (Pane, error) {
	var f struct {
		paneFields
		Early, Late, Final *bool
	}
	if err := strict(raw, &f); err != nil {
		return Pane{}, err
	}
	if f.Last == nil {
		f.Last = f.Final
	}
	p, err := f.pane(c, 1)
	for _, x := range []struct {
		flag   *bool
		timing exec.Timing
	}{{f.Early, exec.Early}, {f.Late, exec.Late}} {
		if x.flag == nil {
			continue
		}
		if !*x.flag {
			p.NotTiming = append(p.NotTiming, x.timing)
			continue
		}
		if p.Timing != nil && *p.Timing != x.timing {
			return p, errors.New("a pane cannot be both early and late")
		}
		t := x.timing
		p.Timing = &t
	}
	return p, err
}

// pane converts the fields; inclusive is added to the end of a window.
func (f *paneFields) pane(c *Case, inclusive int64) (p Pane, err error) {
	p = Pane{First: f.First, Last: f.Last, Index: f.Index, NonSpeculative: f.NonSpeculativeIndex}
	if len(f.Window) > 0 && string(f.Window) != "null" {
		w, err := c.window(f.Window, inclusive)
		if err != nil {
			return p, fmt.Errorf("window: %w", err)
		}
		p.Window = &w
	}
	if f.Values != nil {
		vs := []string{}
		for _, r := range *f.Values {
			v, err := value(r)
			if err != nil {
				return p, fmt.Errorf("values: %w", err)
			}
			vs = append(vs, v)
		}
		p.Values = &vs
	}
	if len(f.Timestamp) > 0 && string(f.Timestamp) != "null" {
		t, err := c.time(f.Timestamp)
		if err != nil {
			return p, fmt.Errorf("timestamp: %w", err)
		}
		p.Time = &t
	}
	if f.Timing != nil {
		t, ok := map[string]exec.Timing{"EARLY": exec.Early, "ON_TIME": exec.OnTime, "LATE": exec.Late}[*f.Timing]
		if !ok {
			return p, fmt.Errorf("unknown timing %q: want EARLY, ON_TIME or LATE", *f.Timing)
		}
		p.Timing = &t
	}
	return p, nil
}

func (c *Case) window(raw json.RawMessage, inclusive int64) (w exec.Window, err error) {
	if string(raw) == `"global"` {
		return exec.Global, nil
	}
	var bounds []json.RawMessage
	if err := json.Unmarshal(raw, &bounds); err != nil || len(bounds) != 2 {
		return w, fmt.Errorf("want [start, end] or \"global\", got %s", raw)
	}
	if w.Start, err = c.time(bounds[0]); err != nil {
		return w, err
	}
	if w.End, err = c.time(bounds[1]); err != nil {
		return w, err
	}
	w.End = w.End.Add(inclusive * c.Unit)
	return w, nil
}
