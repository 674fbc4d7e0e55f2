package kafka_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/kafka"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
)

// A Reading is what a sensor measured.
type Reading struct {
	Sensor string    `json:"sensor"`
	At     time.Time `json:"at"`
	Value  float64   `json:"value"`
}

// Time returns when it was measured.
func (r Reading) Time() time.Time { return r.At }

// embedded starts a broker in this process; a real one is used the same way.
func embedded(topics ...string) *kfake.Cluster {
	b, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, topics...))
	if err != nil {
		log.Fatal(err)
	}
	return b
}

func run(p *pcoll.Pipeline) {
	if _, err := local.Run(context.Background(), p, local.Workers(1)); err != nil {
		log.Fatal(err)
	}
}

// printed prints what a collection held, sorted.
func printed(p *pcoll.Pipeline, lines pcoll.PCollection[string]) {
	var mu sync.Mutex
	var all []string
	transforms.ForEach(lines, func(_ *pcoll.Context, s string) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
		return nil
	})
	run(p)
	slices.Sort(all)
	for _, s := range all {
		fmt.Println(s)
	}
}

// Read gives the records of topics as rows; here up to what is there when it starts.
func ExampleRead() {
	b := embedded("readings")
	defer b.Close()
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

	p := pcoll.New("write")
	kafka.Write(transforms.Create(p, Reading{"a", at, 21.5}, Reading{"b", at.Add(time.Second), 19}), kafka.Sink[Reading]{
		Brokers:     b.ListenAddrs(),
		Topic:       "readings",
		Key:         func(r Reading) []byte { return []byte(r.Sensor) },
		Value:       kafka.JSONValue[Reading],
		Timestamp:   Reading.Time,
		Compression: kafka.Zstd,
	})
	run(p)

	p = pcoll.New("read")
	readings := kafka.Read(p, kafka.Source[Reading]{
		Brokers:   b.ListenAddrs(),
		Topics:    []string{"readings"},
		Decode:    kafka.JSON[Reading],
		EventTime: Reading.Time,
		Disorder:  5 * time.Second,
		Stop:      kafka.AtEnd(),
	})
	printed(p, transforms.Map(readings, func(r Reading) string {
		return fmt.Sprintf("%s %.1f at %s", r.Sensor, r.Value, r.At.Format(time.TimeOnly))
	}))
	// Output:
	// a 21.5 at 12:00:00
	// b 19.0 at 12:00:01
}

// TryRead gives records that cannot become rows apart, instead of failing the run.
func ExampleTryRead() {
	b := embedded("readings")
	defer b.Close()
	p := pcoll.New("write")
	kafka.Write(transforms.Create(p, `{"sensor":"a","at":"2026-01-01T12:00:00Z"}`, `{"sensor":"b"}`, `{"sensor":`), kafka.Sink[string]{
		Brokers: b.ListenAddrs(), Topic: "readings", Value: kafka.StringValue})
	run(p)

	p = pcoll.New("read")
	readings, rejects := kafka.TryRead(p, kafka.Source[Reading]{
		Brokers: b.ListenAddrs(), Topics: []string{"readings"}, Decode: kafka.JSON[Reading], EventTime: Reading.Time, Stop: kafka.AtEnd()})
	good := transforms.Map(readings, func(r Reading) string { return "good: " + r.Sensor })
	bad := transforms.Map(rejects, func(r connector.Reject) string { return fmt.Sprintf("rejected: %s: %.13s", r.Source, r.Reason) })
	printed(p, transforms.Flatten(good, bad))
	// Output:
	// good: a
	// rejected: topic readings, partition 0, offset 1: no event time
	// rejected: topic readings, partition 0, offset 2: decode JSON:
}

// A copy of a topic keeps keys, headers, timestamps and tombstones.
func ExampleMessageOf() {
	b := embedded("from", "to")
	defer b.Close()
	type message = kafka.Message[[]byte]
	key := func(m message) []byte { return m.Key }
	p := pcoll.New("write")
	kafka.Write(transforms.Create(p, message{Key: []byte("k1"), Value: []byte("v")}, message{Key: []byte("k2"), Tombstone: true}), kafka.Sink[message]{
		Brokers: b.ListenAddrs(), Topic: "from", Key: key, Value: kafka.MessageValue(kafka.BytesValue)})
	run(p)

	p = pcoll.New("copy")
	messages := kafka.Read(p, kafka.Source[message]{
		Brokers: b.ListenAddrs(),
		Topics:  []string{"from"},
		Decode:  kafka.MessageOf(kafka.Bytes),
		Stop:    kafka.AtEnd(),
	})
	kafka.Write(messages, kafka.Sink[message]{
		Brokers:   b.ListenAddrs(),
		Topic:     "to",
		Key:       key,
		Value:     kafka.MessageValue(kafka.BytesValue),
		Headers:   func(m message) []kafka.Header { return m.Headers },
		Timestamp: func(m message) time.Time { return m.Timestamp },
	})
	run(p)

	p = pcoll.New("read")
	copied := kafka.Read(p, kafka.Source[message]{
		Brokers: b.ListenAddrs(), Topics: []string{"to"}, Decode: kafka.MessageOf(kafka.Bytes), Stop: kafka.AtEnd()})
	printed(p, transforms.Map(copied, func(m message) string {
		return fmt.Sprintf("%s=%s deleted=%v", m.Key, m.Value, m.Tombstone)
	}))
	// Output:
	// k1=v deleted=false
	// k2= deleted=true
}
