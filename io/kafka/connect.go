package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/io/kafka/internal/kafkawire"
)

// SASL holds credentials.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; case does not matter.
	// PLAIN sends the password as it is: use it with TLS.
	Mechanism string
	User      string
	Password  string
}

// String hides the password.
func (s SASL) String() string { return s.Mechanism + " as " + s.User }

// GoString hides the password.
func (s SASL) GoString() string { return s.String() }

// The mechanisms of SASL.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// Compression is a codec of record batches.
type Compression int8

// The codecs.
const (
	None Compression = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String is Kafka's name of the codec.
func (c Compression) String() string { return kafkawire.Compression(c).String() }

// access is how to reach a cluster: what Source and Sink have in common.
type access struct {
	brokers  []string
	clientID string
	tls      *tls.Config
	sasl     *SASL
	dial     Dial
	connect  time.Duration
	retry    time.Duration
}

// Dial opens a connection to a broker; its address is host:port.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const defaultConnect = 15 * time.Second

// open connects. A later connection of a run may take as long as a broker's restart.
func (a *access) open(ctx context.Context, later bool) (*kafkawire.Client, error) {
	cfg := kafkawire.Config{Brokers: a.brokers, ClientID: a.clientID, TLS: a.tls, Dial: a.dial, BootstrapTimeout: a.connect, RetryBudget: a.retry}
	if cfg.BootstrapTimeout == 0 {
		cfg.BootstrapTimeout = defaultConnect
	}
	if later {
		cfg.BootstrapTimeout = max(cfg.BootstrapTimeout, a.retry)
	}
	if a.sasl != nil {
		s := kafkawire.SASL(*a.sasl)
		cfg.SASL = &s
	}
	return kafkawire.Open(ctx, cfg)
}

// check reports what is wrong, a mistake a call.
func (a *access) check(report func(format string, args ...any)) {
	if len(a.brokers) == 0 {
		report("Brokers is empty; give at least one address, host:port")
	}
	for _, b := range a.brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			report("broker address %q; want host:port", b)
		}
	}
	if len(a.clientID) > 249 {
		report("ClientID has %d bytes; at most 249", len(a.clientID))
	}
	if a.sasl != nil {
		switch strings.ToUpper(a.sasl.Mechanism) {
		case Plain, ScramSHA256, ScramSHA512:
		default:
			report("SASL mechanism %q; want %s, %s or %s", a.sasl.Mechanism, Plain, ScramSHA256, ScramSHA512)
		}
		if a.sasl.User == "" {
			report("SASL has no User")
		}
	}
	notNegative(report, "ConnectTimeout", a.connect)
}

func notNegative(report func(string, ...any), name string, d time.Duration) {
	if d < 0 {
		report("%s is %v; it must not be negative", name, d)
	}
}

// checkTopic says what is wrong with a topic's name, by the rule of Kafka.
func checkTopic(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	switch {
	case name == "":
		return fmt.Errorf("a topic's name is empty")
	case len(name) > 249 || name == "." || name == ".." || strings.Trim(name, letters) != "":
		return fmt.Errorf("topic %q; want 1 to 249 letters, digits, '.', '_' and '-', and not \".\" or \"..\"", name)
	}
	return nil
}
