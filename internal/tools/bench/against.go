package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// ratioLine is what this command prints of a comparison, in any version of it.
var ratioLine = regexp.MustCompile(`^ratio (\S+) ([0-9.]+) <= `)

// against compares this tree with an older commit of it. The benchmarks of both
// are built and run by turns, so that what else the machine does meets both alike.
// For each comparison that both have it prints
//
//	against NAME VALUE  (now RATIO, then RATIO)
//
// VALUE being the median over runs of the quotient of the two ratios: 1.02 is
// two per cent slower than it was.
func against(commit string, runs int, args []string) error {
	dir, err := os.MkdirTemp("", "penstock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	then := filepath.Join(dir, "tree")
	if err := command(".", "git", "worktree", "add", "--detach", then, commit); err != nil {
		return err
	}
	defer command(".", "git", "worktree", "remove", "--force", then)
	programs := []string{filepath.Join(dir, "now"), filepath.Join(dir, "then")}
	for i, from := range []string{".", then} {
		if err := command(from, "go", "build", "-o", programs[i], "./internal/tools/bench"); err != nil {
			return err
		}
	}
	var ratios [2]map[string][]float64
	for i := range ratios {
		ratios[i] = map[string][]float64{}
	}
	for range runs {
		for i, p := range programs {
			if err := measured(ratios[i], p, args); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ratios[0])) {
		now, was := ratios[0][name], ratios[1][name]
		if len(now) != len(was) {
			continue // the older one does not have it
		}
		var quotients []float64
		for i := range now {
			quotients = append(quotients, now[i]/was[i])
		}
		fmt.Printf("against %s %.2f  (now %.2f, then %.2f)\n", name, median(quotients), median(now), median(was))
	}
	return nil
}

// measured runs a benchmark program and notes its ratios. That it misses a goal is no failure here.
func measured(ratios map[string][]float64, program string, args []string) error {
	out, err := exec.Command(program, args...).Output()
	found := false
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		m := ratioLine.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		found = true
		r, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Text(), err)
		}
		ratios[m[1]] = append(ratios[m[1]], r)
	}
	if !found {
		return fmt.Errorf("%s %v measured nothing: %w\n%s", filepath.Base(program), args, err, out)
	}
	return nil
}

// command runs a command in dir.
func command(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	return nil
}
