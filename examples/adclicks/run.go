package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"golang.org/x/term"
)

// run runs a pipeline on the chosen runner and prints rate, processor use and memory.
func (c *config) run(ctx context.Context, name string, p *pcoll.Pipeline) error {
	stop, err := c.startProfile(name)
	if err != nil {
		return err
	}
	start, cpu := time.Now(), cpuTime()
	if err := c.execute(ctx, name, p); err != nil {
		return err
	}
	wall, used := time.Since(start), cpuTime()-cpu
	if err := stop(); err != nil {
		return err
	}
	line := fmt.Sprintf("%-8s %d events in %.2f s: %.0f events/s, CPU time / wall time %.2f",
		name, c.events, wall.Seconds(), float64(c.events)/wall.Seconds(), used.Seconds()/wall.Seconds())
	if peak, ok := peakMemory(); ok {
		line += ", peak memory " + megabytes(peak)
	}
	fmt.Println(line)
	return nil
}

func (c *config) execute(ctx context.Context, name string, p *pcoll.Pipeline) error {
	if c.runner == "direct" {
		_, err := direct.Run(ctx, p, direct.Unchecked())
		return err
	}
	workers := c.workers
	if name == "generate" {
		workers = 1 // clicks are written in order of arrival
	}
	job, err := local.Start(ctx, p, local.Workers(workers))
	if err != nil {
		return err
	}
	watched, done := make(chan struct{}), make(chan struct{})
	go func() { // ends before execute returns
		defer close(watched)
		if term.IsTerminal(int(os.Stderr.Fd())) {
			watch(job, name, done)
		}
	}()
	_, err = job.Wait()
	close(done)
	<-watched
	return err
}

// watch shows rows, rate and watermark of a job on a line of the terminal until done.
func watch(job *local.Job, name string, done <-chan struct{}) {
	start := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			fmt.Fprint(os.Stderr, "\r\033[K")
			return
		case <-tick.C:
		}
		source := job.Result().Transforms[0]
		rate := float64(source.Elements) / time.Since(start).Seconds()
		fmt.Fprintf(os.Stderr, "\r\033[K%s: %d rows, %.0f rows/s, watermark %v", name, source.Elements, rate, source.Watermark)
	}
}

// startProfile starts a CPU profile, if one is asked for, and returns what ends it.
func (c *config) startProfile(name string) (stop func() error, err error) {
	if c.profile == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(c.profile, name+".prof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
