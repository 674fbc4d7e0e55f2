// Package kafkabroker runs a real Apache Kafka broker for tests: one Java
// process, broker and controller at once, on free loopback ports, with a data
// directory of its own. Maven brings the jars, once; they stay in the user's
// cache.
//
//	b, err := kafkabroker.Start(ctx, kafkabroker.Options{})
//	if err != nil {
//		return err
//	}
//	defer b.Stop()
//	client := &kafka.Client{Addr: kafka.TCP(b.Addr())}
//
// Kill and Restart play a crash: the broker comes back on the same ports with
// the data that it had. Java 17 or later and Maven have to be installed; where
// one is missing the error says what to install.
//
// The broker is Kafka as it is. What an in-process fake does not show, fencing,
// expiry of transactions, retention, recovery, is tested on it.
package kafkabroker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Version is the version of Apache Kafka that is run.
const Version = "4.4.0"

const (
	readyLimit = 90 * time.Second // for a start; about 5 s on a quiet machine
	stopLimit  = 30 * time.Second // for a clean shutdown; about 1 s
	attempts   = 3                // to start, each on new ports
)

// Options says how a broker is run. The zero value is fine.
type Options struct {
	// Dir is the directory for data, configuration and log; it must be empty or
	// absent, and Stop leaves it. Empty: a temporary one that Stop removes.
	Dir string
	// Settings are added to the broker's properties, or replace some.
	Settings map[string]string
	// Heap is Java's largest heap, such as "1g". Empty: "512m".
	Heap string
	// Log gets a few lines of progress. Nil: nobody does.
	Log io.Writer
}

// A Broker is a running, or killed, Kafka. Its methods are for one goroutine at a time.
type Broker struct {
	opts    Options
	java    string
	jars    string
	dir     string
	temp    bool // dir is ours to remove
	client  string
	process *process // nil when not running
}

// Start runs a broker and returns when it answers clients. It ends when Stop is
// called; on Linux also when this process dies, however that happens. ctx bounds
// the start only.
func Start(ctx context.Context, opts Options) (*Broker, error) {
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	if opts.Heap == "" {
		opts.Heap = "512m"
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, missing("Java 17", "java", "runs Apache Kafka", "openjdk-17-jre-headless")
	}
	jars, err := Jars(ctx, opts.Log)
	if err != nil {
		return nil, err
	}
	b := &Broker{opts: opts, java: java, jars: jars, dir: opts.Dir}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "penstock-kafka-"); err != nil {
			return nil, fmt.Errorf("kafkabroker: make the data directory: %w", err)
		}
		b.temp = true
	}
	for n := 1; ; n++ {
		err = b.first(ctx)
		if err == nil {
			return b, nil
		}
		// Somebody took a port between our look and the broker's bind.
		if n == attempts || !strings.Contains(err.Error(), "Address already in use") {
			return nil, errors.Join(err, b.clear())
		}
	}
}

// first formats an empty data directory and starts the broker on new ports.
func (b *Broker) first(ctx context.Context) error {
	client, controller, err := freePorts()
	if err != nil {
		return err
	}
	b.client = client
	data := filepath.Join(b.dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return fmt.Errorf("kafkabroker: clear the data directory: %w", err)
	}
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fmt.Errorf("kafkabroker: make the data directory: %w", err)
	}
	text := properties(settings(client, controller, data, b.opts.Settings))
	if err := os.WriteFile(b.config(), []byte(text), 0o644); err != nil {
		return fmt.Errorf("kafkabroker: write the configuration: %w", err)
	}
	format := exec.CommandContext(ctx, b.java, "-cp", b.classpath(), "kafka.tools.StorageTool", "format", "-t", clusterID(), "-c", b.config())
	if out, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("kafkabroker: format the data directory: %w; its output:\n%s", err, tail(out, 40))
	}
	return b.start(ctx)
}

// start runs the process and waits until it answers.
func (b *Broker) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	cmd := exec.Command(b.java, "-Xmx"+b.opts.Heap, "-Dorg.slf4j.simpleLogger.showDateTime=true", "-cp", b.classpath(), "kafka.Kafka", b.config())
	p, err := launch(cmd, b.LogFile())
	if err != nil {
		return fmt.Errorf("kafkabroker: start java: %w", err)
	}
	began := time.Now()
	if err := p.ready(ctx, b.client); err != nil {
		p.kill()
		return fmt.Errorf("kafkabroker: start Apache Kafka %s: %w; its log ends:\n%s", Version, err, b.logTail())
	}
	fmt.Fprintf(b.opts.Log, "broker: Apache Kafka %s on %s after %.1f s\n", Version, b.client, time.Since(began).Seconds())
	b.process = p
	return nil
}

// Addr returns host and port for clients. It stays the same over Restart.
func (b *Broker) Addr() string { return b.client }

// LogFile returns the path of the broker's log. A restarted broker appends to it.
func (b *Broker) LogFile() string { return filepath.Join(b.dir, "broker.log") }

// Kill ends the broker at once, as kill -9 does, and keeps its data.
func (b *Broker) Kill() error {
	if b.process == nil {
		return errors.New("kafkabroker: kill: the broker is not running")
	}
	b.process.kill()
	b.process = nil
	return nil
}

// Restart starts a killed broker again, with its data and on its ports, and
// returns when it answers clients. One that runs is killed first.
func (b *Broker) Restart(ctx context.Context) error {
	if b.process != nil {
		if err := b.Kill(); err != nil {
			return err
		}
	}
	return b.start(ctx)
}

// Stop ends the broker cleanly, by force if that takes half a minute, and
// removes its directory if that is temporary. A broker that had died before is
// an error, with the end of its log.
func (b *Broker) Stop() error {
	var err error
	if b.process != nil {
		if died, how := b.process.ended(); died {
			err = fmt.Errorf("kafkabroker: the broker had died: %w; its log ends:\n%s", how, b.logTail())
		} else {
			b.process.stop(stopLimit)
		}
		b.process = nil
	}
	return errors.Join(err, b.clear())
}

// clear removes a temporary directory.
func (b *Broker) clear() error {
	if !b.temp {
		return nil
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("kafkabroker: remove the data directory: %w", err)
	}
	return nil
}

func (b *Broker) config() string    { return filepath.Join(b.dir, "server.properties") }
func (b *Broker) classpath() string { return filepath.Join(b.jars, "*") }

// logTail returns the end of the log, or why there is none.
func (b *Broker) logTail() []byte {
	text, err := os.ReadFile(b.LogFile())
	if err != nil {
		return []byte(err.Error())
	}
	return tail(text, 40)
}
