package kafkawire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Config says how to reach a cluster. Only Brokers is required.
type Config struct {
	// Brokers are bootstrap addresses, host:port. One that answers is enough; the others of the cluster are learned from it.
	Brokers []string
	// ClientID is shown in the broker's logs and quotas. Default "penstock".
	ClientID string
	// TLS turns TLS on. A missing ServerName is taken from the address that is dialled.
	TLS *tls.Config
	// SASL turns authentication on.
	SASL *SASL
	// Dial replaces net.Dialer, for proxies and tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// DialTimeout bounds connecting, TLS and SASL together. Default 5 s.
	DialTimeout time.Duration
	// RequestTimeout bounds one attempt of a request; a fetch has its MaxWait on top. Default 10 s.
	RequestTimeout time.Duration
	// BootstrapTimeout bounds Open, over all its attempts. Default 15 s.
	BootstrapTimeout time.Duration
	// RetryBudget bounds the attempts of one control request. A broker that is killed answers again after about 15 s, so less than that
	// makes a restart an error. Default 45 s.
	RetryBudget time.Duration
	// UnknownTopicBudget bounds the attempts when the cluster says that a topic does not exist: just created topics say so for a moment.
	// Default 5 s.
	UnknownTopicBudget time.Duration
	// Backoff is the delay between attempts. Default 50 ms to 1 s.
	Backoff Backoff
}

func (c Config) withDefaults() (Config, error) {
	if len(c.Brokers) == 0 {
		return c, errors.New("kafkawire: no broker addresses; give at least one host:port")
	}
	for _, b := range c.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return c, fmt.Errorf("kafkawire: broker address %q: %w; write host:port", b, err)
		}
	}
	if c.ClientID == "" {
		c.ClientID = "penstock"
	}
	if len(c.ClientID) > 249 {
		return c, fmt.Errorf("kafkawire: client id of %d bytes; at most 249", len(c.ClientID))
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	orDefault(&c.DialTimeout, 5*time.Second)
	orDefault(&c.RequestTimeout, 10*time.Second)
	orDefault(&c.BootstrapTimeout, 15*time.Second)
	orDefault(&c.RetryBudget, 45*time.Second)
	orDefault(&c.UnknownTopicBudget, 5*time.Second)
	orDefault(&c.Backoff.Min, 50*time.Millisecond)
	orDefault(&c.Backoff.Max, max(time.Second, c.Backoff.Min))
	return c, nil
}

func orDefault[T int | int32 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
