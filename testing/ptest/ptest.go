// Package ptest runs a pipeline on every runner that works within the process,
// as production would, and compares what comes out:
//
//	totals, late := Totals(orders)
//	passert.Equals(t, totals, …)
//	ptest.Run(t, p)
//
// The runners are the direct runner, named direct, and the local runner with 1, 2
// and 5 workers, named local-1, local-2 and local-5: its planner, queues and
// workers are those of production. A test fails when a run fails, when an
// assertion of package passert fails or is not checked in some run, and when
// the keys of a pipeline belong to more than one worker and yet not exactly
// those workers received any.
package ptest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/testing/internal/gather"
)

// An Option configures [Run] and its like.
type Option func(*config)

type config struct {
	workers []int
	direct  []direct.Option
	local   []local.Option
}

// Workers sets the numbers of workers that the local runner is run with, in
// place of 1, 2 and 5. Without numbers only the direct runner runs.
func Workers(n ...int) Option { return func(c *config) { c.workers = n } }

// Direct adds options for the direct runner.
func Direct(opts ...direct.Option) Option {
	return func(c *config) { c.direct = append(c.direct, opts...) }
}

// Local adds options for the local runner.
func Local(opts ...local.Option) Option {
	return func(c *config) { c.local = append(c.local, opts...) }
}

// runner is a way to run a pipeline.
type runner struct {
	name    string
	workers int // 0: no workers, the direct runner
	run     func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error)
}

// runners returns the ways to run, the direct runner first. Its run reports to
// keys the group of each key that enters a keyed input of a node.
func runners(opts []Option, keys func(n *graph.Node, input, group int)) []runner {
	c := config{workers: []int{1, 2, 5}}
	for _, o := range opts {
		o(&c)
	}
	rs := []runner{{"direct", 0, func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
		return direct.Run(ctx, p, append(slices.Clip(c.direct), direct.ObserveKeys(keys))...)
	}}}
	for _, n := range c.workers {
		rs = append(rs, runner{fmt.Sprintf("local-%d", n), n, func(ctx context.Context, p *pcoll.Pipeline) (*pcoll.Result, error) {
			return local.Run(ctx, p, append(slices.Clip(c.local), local.Workers(n))...)
		}})
	}
	return rs
}

// Run runs p on each runner, one after the other, and returns the results by the
// runner's name. See the package documentation for what fails t. A pipeline
// with construction errors ends the test.
func Run(t testing.TB, p *pcoll.Pipeline, opts ...Option) map[string]*pcoll.Result {
	t.Helper()
	if err := p.Err(); err != nil {
		t.Fatalf("ptest: %v", err)
		return nil
	}
	results := map[string]*pcoll.Result{}
	seen := keysOf{}
	for _, r := range runners(opts, seen.add) {
		ctx, run := gather.NewRun(t.Context(), r.name)
		res, err := r.run(ctx, p)
		if err != nil {
			t.Errorf("ptest: on %s: %v", r.name, err)
			continue
		}
		results[r.name] = res
		for _, n := range run.Missing(p) {
			t.Errorf("%s:%d: %s was not checked on %s", filepath.Base(n.File), n.Line, n.Name, r.name)
		}
		for _, problem := range seen.compare(res, r.workers) {
			t.Errorf("ptest: on %s: %s", r.name, problem)
		}
	}
	return results
}

// Fails runs p on each runner and expects all runs to fail with an error that contains
// each of texts. It returns the errors by the runner's name.
func Fails(t testing.TB, p *pcoll.Pipeline, texts ...string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	for _, r := range runners(nil, nil) {
		ctx, _ := gather.NewRun(t.Context(), r.name)
		_, err := r.run(ctx, p)
		if err == nil {
			t.Errorf("ptest: on %s: the run succeeded, want an error with %q", r.name, texts)
			continue
		}
		errs[r.name] = err
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("ptest: on %s: error does not contain %q: %v", r.name, text, err)
			}
		}
	}
	return errs
}

// keysOf holds the key groups that entered the keyed inputs of each node.
type keysOf map[string]*[exec.KeyGroups]bool

func (k keysOf) add(n *graph.Node, _, group int) {
	if k[n.Name] == nil {
		k[n.Name] = &[exec.KeyGroups]bool{}
	}
	k[n.Name][group] = true
}

// compare returns where keys went to other workers than their owners, of n. It
// says nothing while all keys of a node belong to one worker.
func (k keysOf) compare(res *pcoll.Result, n int) (problems []string) {
	if n < 2 {
		return nil
	}
	for _, t := range res.Transforms {
		groups := k[t.Name]
		if groups == nil {
			continue
		}
		owns := make([]bool, n)
		for g, there := range groups {
			if there {
				owns[exec.OwnerOf(g, n)] = true
			}
		}
		if owners := count(owns); owners < 2 {
			continue
		}
		received := make([]bool, n)
		for w, elems := range t.ByWorker {
			received[w] = elems > 0
		}
		if !slices.Equal(owns, received) {
			problems = append(problems, fmt.Sprintf("%s: workers that own its keys: %v; that received any: %v", t.Name, numbers(owns), numbers(received)))
		}
	}
	return problems
}

func count(set []bool) int { return len(numbers(set)) }

func numbers(set []bool) (ns []int) {
	for i, in := range set {
		if in {
			ns = append(ns, i)
		}
	}
	return ns
}
