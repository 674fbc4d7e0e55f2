//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRunInterrupted checks that an interrupt asks the command to end and still stops the broker.
func TestRunInterrupted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "trapping")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends when the command opens the other end, after it set its trap
		defer cancel()
		if r, err := os.Open(fifo); err == nil {
			r.Close()
		}
	}()
	script := `sleep 60 & trap 'kill $!; exit 5' TERM; : > "$1"; wait $!; exit 6`
	f := &fake{}
	got := run(ctx, []string{"sh", "-c", script, "sh", fifo}, func(context.Context, io.Writer) (broker, error) { return f, nil }, io.Discard)
	if got != 5 || f.stopped != 1 {
		t.Errorf("status %d, stopped %d times; want 5, 1", got, f.stopped)
	}
}
