package kafkabroker

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// settings returns the broker's properties: one process that is broker and
// controller, on loopback, without a second replica of anything.
func settings(client, controller, data string, extra map[string]string) map[string]string {
	s := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        "1",
		"controller.quorum.voters":       "1@" + controller,
		"controller.listener.names":      "CONTROLLER",
		"listeners":                      "PLAINTEXT://" + client + ",CONTROLLER://" + controller,
		"advertised.listeners":           "PLAINTEXT://" + client,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                       data,

		// Tests say which topics there are; a misspelt name is an error.
		"auto.create.topics.enable": "false",

		// The internal topics want three brokers otherwise. Few partitions of
		// them, because each costs start time and open files.
		"default.replication.factor":                       "1",
		"min.insync.replicas":                              "1",
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"share.coordinator.state.topic.num.partitions":     "1",

		// A group of one member has nobody to wait for.
		"group.initial.rebalance.delay.ms": "0",

		// A test of an expired transaction waits for its own timeout, not for
		// the next of the broker's ten-second rounds.
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",

		// A quarter of the heap otherwise.
		"log.cleaner.dedupe.buffer.size": "16777216",
	}
	maps.Copy(s, extra)
	return s
}

// properties formats settings as a Java properties file.
func properties(s map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s=%s\n", k, escape.Replace(s[k]))
	}
	return b.String()
}

// clusterID returns a new id in Kafka's form: a UUID in URL-safe base 64. Its
// first bit is clear, since a leading dash would look like an option.
func clusterID() string {
	var id [16]byte
	rand.Read(id[:])
	id[0] &= 0x7f
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// freePorts returns two loopback addresses that nobody listened on a moment ago.
func freePorts() (client, controller string, err error) {
	var addrs [2]string
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", fmt.Errorf("kafkabroker: find a free port: %w", err)
		}
		defer l.Close()
		addrs[i] = l.Addr().String()
	}
	return addrs[0], addrs[1], nil
}
