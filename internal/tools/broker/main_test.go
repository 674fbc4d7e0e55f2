package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// A fake stands in for the broker, so that run's own work is tested without Java.
type fake struct {
	stopped int
	fail    error
}

func (f *fake) Addr() string { return "127.0.0.1:9" }
func (f *fake) Stop() error  { f.stopped++; return f.fail }

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		start   error // of the broker's start
		stop    error // of its stop
		want    int
		stopped int
		says    string
	}{
		{"success", []string{"sh", "-c", `test "$PENSTOCK_KAFKA_BROKERS" = 127.0.0.1:9`}, nil, nil, 0, 1, ""},
		{"the command's status", []string{"sh", "-c", "exit 7"}, nil, nil, 7, 1, ""},
		{"killed", []string{"sh", "-c", "kill -9 $$"}, nil, nil, 137, 1, "signal: killed"},
		{"no such command", []string{"./no-such-command"}, nil, nil, 127, 1, "no-such-command"},
		{"no command", nil, nil, nil, 2, 0, "no command given"},
		{"no broker", []string{"true"}, errors.New("no java"), nil, 1, 0, "no java"},
		{"the broker had died", []string{"true"}, nil, errors.New("it had died"), 1, 1, "it had died"},
		{"both fail", []string{"sh", "-c", "exit 7"}, nil, errors.New("it had died"), 7, 1, "it had died"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{fail: c.stop}
			var log bytes.Buffer
			got := run(t.Context(), c.args, func(context.Context, io.Writer) (broker, error) { return f, c.start }, &log)
			if got != c.want || f.stopped != c.stopped || !strings.Contains(log.String(), c.says) {
				t.Errorf("status %d, stopped %d times, log %q; want %d, %d, %q", got, f.stopped, log.String(), c.want, c.stopped, c.says)
			}
		})
	}
}
