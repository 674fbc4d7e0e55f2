// Command conformance runs files of conformance vectors and prints what fails.
//
//	go run ./internal/tools/conformance [-unit] FILE...
//
// The cases run as pipelines, through the public API and a TestStream, on the
// direct runner and on the local runner with 1, 2 and 5 workers; a case passes if
// it does so on all of them. With -unit they run through package panes itself.
//
// A case that fails is printed with its file and name and the reason; a file or
// case that cannot be read counts as failed. The last line says how many passed and failed; cases
// that do not apply are not counted. The exit status is 1 if any failed and 2
// for wrong usage.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/penstock-dev/penstock/internal/tools/conformance/pipeline"
	"github.com/penstock-dev/penstock/internal/tools/conformance/unit"
	"github.com/penstock-dev/penstock/internal/tools/conformance/vectors"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintln(stderr, "usage: conformance [-unit] FILE...") }
	byUnit := flags.Bool("unit", false, "run the cases through package panes, without a pipeline")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	check := pipeline.Check
	if *byUnit {
		check = unit.Check
	}
	passed, failed := 0, 0
	for _, file := range flags.Args() {
		p, f := runFile(file, check, stdout)
		passed, failed = passed+p, failed+f
	}
	fmt.Fprintf(stdout, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return 1
	}
	return 0
}

// runFile gives each case of a file to check and prints what fails.
func runFile(file string, check func(*vectors.Case) error, out io.Writer) (passed, failed int) {
	data, err := os.ReadFile(file)
	var cases []vectors.Result
	if err == nil {
		cases, err = vectors.Parse(data)
	}
	if err != nil {
		fmt.Fprintf(out, "FAIL %s: %v\n", file, err)
		return 0, 1
	}
	for _, c := range cases {
		err := c.Err
		if err == nil {
			if c.Case.Skip != "" {
				fmt.Fprintf(out, "n/a  %s: %s: %s\n", file, c.Name, c.Case.Skip)
				continue
			}
			err = check(c.Case)
		}
		if err != nil {
			failed++
			fmt.Fprintf(out, "FAIL %s: %s: %v\n", file, c.Name, err)
			continue
		}
		passed++
	}
	return passed, failed
}
