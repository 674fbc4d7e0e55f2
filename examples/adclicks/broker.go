package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
)

const partitions = 4

// startBroker starts a Kafka broker in this process, on the loopback interface.
func startBroker() (*kfake.Cluster, error) {
	b, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	return b, nil
}

// createTopic creates the topic of the clicks. Their event times lie in the
// past: without unlimited retention a broker would delete them at once.
func createTopic(ctx context.Context, brokers []string, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: &kafka.Transport{Dial: (&net.Dialer{}).DialContext}}
	res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topic, NumPartitions: partitions, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: "-1"}},
	}}})
	if err == nil {
		err = res.Errors[topic]
	}
	if err != nil {
		return fmt.Errorf("creating topic %s at %v: %w", topic, brokers, err)
	}
	return nil
}
