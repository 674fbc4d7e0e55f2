// Command broker runs a command beside a real Apache Kafka broker:
//
//	go run ./internal/tools/broker -- go test ./integration/...
//
// It starts the broker as package kafkabroker describes, runs the command with
// PENSTOCK_KAFKA_BROKERS set to the broker's host and port, stops the broker,
// removes its data, and exits with the command's status (go run itself makes a 1
// of every failure). The first run fetches the broker by Maven; Java 17 and
// Maven have to be installed. On an interrupt the command is asked to end and
// the broker is stopped as always.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock/internal/tools/broker/kafkabroker"
)

// Env names the variable in which the command finds the broker.
const Env = "PENSTOCK_KAFKA_BROKERS"

// grace is how long an interrupted command may take to end.
const grace = 20 * time.Second

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: broker -- command [argument ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, flag.Args(), start, os.Stderr))
}

// A broker is what run needs of one.
type broker interface {
	Addr() string
	Stop() error
}

func start(ctx context.Context, log io.Writer) (broker, error) {
	return kafkabroker.Start(ctx, kafkabroker.Options{Log: log})
}

// run does the whole and returns the exit status: the command's, 2 for a wrong
// call, 1 when the broker fails to start or to stop.
func run(ctx context.Context, args []string, start func(context.Context, io.Writer) (broker, error), log io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(log, "broker: no command given: say: broker -- command [argument ...]")
		return 2
	}
	b, err := start(ctx, log)
	if err != nil {
		fmt.Fprintln(log, err)
		return 1
	}
	status := command(ctx, args, b.Addr(), log)
	if err := b.Stop(); err != nil {
		fmt.Fprintln(log, err)
		return max(status, 1)
	}
	return status
}

// command runs args with the broker's address and returns its exit status, as a shell would.
func command(ctx context.Context, args []string, addr string, log io.Writer) int {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), Env+"="+addr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			fmt.Fprintf(log, "broker: %s: %v\n", args[0], err)
			return 128 + int(s.Signal())
		}
		return exit.ExitCode()
	}
	fmt.Fprintf(log, "broker: run %s: %v\n", args[0], err)
	return 127
}
