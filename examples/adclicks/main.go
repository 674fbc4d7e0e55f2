// Adclicks counts clicks per ad and minute: from Parquet files, bounded, and
// from Kafka, as they come, with one and the same pipeline function, and shows
// that the answers agree. It makes its own clicks, mostly a few seconds out of
// order, some late, some too late.
//
//	go run ./examples/adclicks [-events 1000000] [-ads 1000] [-workers N] [-runner local|direct] [-brokers host:port,…]
//
// Its exit status is 0 only if both runs agree and late and too-late clicks occurred.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/io/kafka"
	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
)

const windowSize = time.Minute

type config struct {
	events  int64
	ads     int
	workers int
	runner  string
	brokers []string
	seed    int64
	profile string

	dir   string // of the Parquet files
	topic string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("adclicks: ")
	c, err := parse(os.Args[1:])
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			log.Print(err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demo(ctx, c); err != nil {
		stop()
		log.Fatal(err)
	}
}

func parse(args []string) (*config, error) {
	c := &config{}
	var brokers string
	f := flag.NewFlagSet("adclicks", flag.ContinueOnError)
	f.Int64Var(&c.events, "events", 1_000_000, "`number` of clicks")
	f.IntVar(&c.ads, "ads", 1000, "`number` of advertisements")
	f.IntVar(&c.workers, "workers", runtime.GOMAXPROCS(0), "`number` of workers of the local runner")
	f.StringVar(&c.runner, "runner", "local", "runner: local or direct")
	f.StringVar(&brokers, "brokers", "", "Kafka bootstrap `host:port,…`; empty starts a broker in this process")
	f.Int64Var(&c.seed, "seed", 1, "`seed` of the clicks")
	f.StringVar(&c.profile, "cpuprofile", "", "directory to write a CPU profile of each run to")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if brokers != "" {
		c.brokers = strings.Split(brokers, ",")
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.events < minEvents:
		return nil, fmt.Errorf("-events %d is too few: clicks too late to count only occur from %d on", c.events, minEvents)
	case c.ads < 1:
		return nil, fmt.Errorf("-ads %d; want at least 1", c.ads)
	case c.workers < 1 || c.workers > maxWorkers:
		return nil, fmt.Errorf("-workers %d; want 1 to %d", c.workers, maxWorkers)
	case c.runner != "local" && c.runner != "direct":
		return nil, fmt.Errorf("-runner %q; want local or direct", c.runner)
	}
	return c, nil
}

// demo makes the clicks, counts them both ways and compares.
func demo(ctx context.Context, c *config) (err error) {
	if c.dir, err = os.MkdirTemp("", "adclicks-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	if len(c.brokers) == 0 {
		b, err := startBroker()
		if err != nil {
			return err
		}
		defer b.Close()
		c.brokers = b.ListenAddrs()
	}
	c.topic = fmt.Sprintf("adclicks-%d", time.Now().UnixNano())
	if err := createTopic(ctx, c.brokers, c.topic); err != nil {
		return err
	}
	if err := c.run(ctx, "generate", c.generate()); err != nil {
		return err
	}
	var batch, live table
	if err := c.run(ctx, "Parquet", c.fromParquet(&batch)); err != nil {
		return err
	}
	if err := c.run(ctx, "Kafka", c.fromKafka(&live)); err != nil {
		return err
	}
	return report(&batch, &live)
}

// generate writes the clicks to files and to the topic, in order of arrival.
func (c *config) generate() *pcoll.Pipeline {
	p := pcoll.New("adclicks-generate")
	g := newGenerator(c.seed, c.ads)
	clicks := transforms.Map(transforms.GenerateSequence(p, 0, c.events), g.click)
	parquet.Write(clicks, c.dir, parquet.RowGroupRows(1<<18), parquet.Compression(parquet.Zstd))
	kafka.Write(clicks, kafka.Sink[Click]{
		Brokers:     c.brokers,
		Topic:       c.topic,
		Value:       kafka.JSONValue[Click],
		Timestamp:   Click.Time,
		Partition:   func(e Click, n int) int { return int(e.User) % n },
		Compression: kafka.Zstd,
	})
	return p
}

// fromParquet counts the clicks in the files.
func (c *config) fromParquet(t *table) *pcoll.Pipeline {
	p := pcoll.New("adclicks-parquet")
	clicks := parquet.Read[Click](p, filepath.Join(c.dir, "*.parquet"), parquet.EventTime(Click.Time))
	t.collect(ClicksPerAd(clicks))
	return p
}

// fromKafka counts the clicks in the topic, as a live run that ends at what is
// there when it starts.
func (c *config) fromKafka(t *table) *pcoll.Pipeline {
	p := pcoll.New("adclicks-kafka")
	clicks := kafka.Read(p, kafka.Source[Click]{
		Brokers:   c.brokers,
		Topics:    []string{c.topic},
		Decode:    kafka.JSON[Click],
		EventTime: Click.Time,
		Disorder:  disorder,
		Start:     kafka.Earliest(),
		Stop:      kafka.AtEnd(), // kafka.Never() for a live job
	})
	t.collect(ClicksPerAd(clicks))
	return p
}

// report prints both tables and says whether they agree.
func report(batch, live *table) error {
	batch.print(os.Stdout, "Parquet", 5)
	live.print(os.Stdout, "Kafka", 5)
	for _, r := range []struct {
		name string
		t    *table
	}{{"Parquet", batch}, {"Kafka", live}} {
		early, onTime, late := r.t.timings()
		_, dropped := r.t.late()
		fmt.Printf("\n%s panes: %d early, %d on time, %d late; %d clicks too late", r.name, early, onTime, late, dropped)
	}
	fmt.Println()
	_, _, latePanes := live.timings()
	_, tooLate := live.late()
	_, lost := batch.late()
	n, examples, cells := compare(batch, live)
	switch {
	case n > 0:
		return fmt.Errorf("the runs disagree in %d of %d cells:\n  %s", n, cells, strings.Join(examples, "\n  "))
	case lost > 0:
		return fmt.Errorf("the Parquet run dropped %d clicks; a bounded run drops none", lost)
	case latePanes == 0 || tooLate == 0:
		return fmt.Errorf("the Kafka run had %d late panes and %d clicks too late; both must occur to show anything", latePanes, tooLate)
	}
	fmt.Printf("\nThe runs agree: for all %d ads and minutes the Parquet count is Kafka's last pane plus what came too late.\n", cells)
	return nil
}
