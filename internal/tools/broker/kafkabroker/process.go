package kafkabroker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
)

// A process is one run of the broker.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it ended
	err  error         // how it ended; set before done is closed
}

// launch starts cmd with its output appended to the file log.
func launch(cmd *exec.Cmd, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	detach(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	// This goroutine ends with the process. It keeps its thread: Linux ties the
	// signal on the parent's death to the thread that started the child.
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		if p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.done)
	}()
	return p, <-started
}

// ready waits until the broker at addr answers a client and knows a controller.
func (p *process) ready(ctx context.Context, addr string) error {
	client := &kafka.Client{Addr: kafka.TCP(addr), Timeout: 2 * time.Second}
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	last := errors.New("it was not asked yet")
	for {
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %w", p.err)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w; last: %w", context.Cause(ctx), last)
		case <-poll.C:
		}
		// A transport each time: one caches what it heard, failures too.
		transport := &kafka.Transport{}
		client.Transport = transport
		answer, err := client.Metadata(ctx, &kafka.MetadataRequest{})
		transport.CloseIdleConnections()
		switch {
		case err != nil:
			last = err
		case len(answer.Brokers) != 1 || answer.Controller.Port == 0:
			last = fmt.Errorf("it knows %d brokers and controller %q", len(answer.Brokers), answer.Controller.Host)
		default:
			return nil
		}
	}
}

// ended says whether the process has ended, and how.
func (p *process) ended() (bool, error) {
	select {
	case <-p.done:
		return true, p.err
	default:
		return false, nil
	}
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	// An error means that it had ended already.
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop lets the process shut down, for limit at most.
func (p *process) stop(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	if p.cmd.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
	}
	p.kill()
}
