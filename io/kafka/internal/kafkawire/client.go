package kafkawire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	kafka "github.com/segmentio/kafka-go"
)

// Client is a connection to a cluster. Its methods may be called from several goroutines. Each call has a deadline (attempts are bounded
// by Config.RequestTimeout, calls by Config.RetryBudget and the context), and fails with a *RequestError that names the broker.
type Client struct {
	cfg         Config
	addr        net.Addr
	transport   *kafka.Transport
	correlation atomic.Int32

	mu      sync.Mutex
	isClose bool
	conns   map[*trackedConn]struct{} // every connection that kafka-go has open, so that Close ends them
	brokers map[int32]Broker          // as of the last metadata
}

// Open connects to the cluster: it asks for the brokers and checks that the one reached speaks the versions needed. It retries with
// back-off until Config.BootstrapTimeout and then fails with an error naming the addresses and what to check.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	var mechanism *watchedMechanism
	if cfg.SASL != nil {
		if mechanism, err = cfg.SASL.mechanism(); err != nil {
			return nil, err
		}
	}
	c := &Client{
		cfg:     cfg,
		addr:    kafka.TCP(cfg.Brokers...),
		conns:   map[*trackedConn]struct{}{},
		brokers: map[int32]Broker{},
	}
	c.transport = &kafka.Transport{
		Dial:        c.dial,
		DialTimeout: cfg.DialTimeout,
		ClientID:    cfg.ClientID,
		TLS:         cfg.TLS,
		// The Transport needs to know the brokers' addresses only: we route by node id. An empty list asks for no topics at all, nil
		// would ask for every topic of the cluster every few seconds.
		MetadataTopics: []string{},
		MetadataTTL:    2 * time.Second,
	}
	if mechanism != nil {
		c.transport.SASL = mechanism
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.BootstrapTimeout)
	defer cancel()
	err = c.retry(ctx, cfg.BootstrapTimeout, func(ctx context.Context) error {
		if err := c.checkVersions(ctx); err != nil {
			return mechanism.judge(err)
		}
		_, err := c.metadataOnce(ctx, []string{})
		return err
	})
	if err != nil {
		_ = c.Close()
		return nil, c.bootstrapError(err)
	}
	return c, nil
}

func (c *Client) bootstrapError(err error) error {
	var k kafka.Error
	if errors.As(err, &k) {
		err = Code(k)
	}
	check := "check that the address is a Kafka listener, that it is reachable from here, and that TLS"
	if c.cfg.TLS == nil {
		check += " (off)"
	} else {
		check += " (on)"
	}
	if c.cfg.SASL == nil {
		check += " and SASL (off)"
	} else {
		check += fmt.Sprintf(" and SASL (%v)", *c.cfg.SASL)
	}
	return fmt.Errorf("kafkawire: cannot reach Kafka at %s: %w; %s are set as it needs", strings.Join(c.cfg.Brokers, ", "), err, check)
}

// Close closes every connection, also those in use: calls under way fail with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.isClose {
		c.mu.Unlock()
		return nil
	}
	c.isClose = true
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	c.transport.CloseIdleConnections()
	for conn := range conns {
		conn.Conn.Close()
	}
	return nil
}

func (c *Client) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isClose
}

// trackedConn removes itself from the client's set when it is closed.
type trackedConn struct {
	net.Conn
	client *Client
}

// Close implements net.Conn.
func (t *trackedConn) Close() error {
	t.client.mu.Lock()
	delete(t.client.conns, t)
	t.client.mu.Unlock()
	return t.Conn.Close()
}

func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.cfg.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	t := &trackedConn{Conn: conn, client: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClose {
		conn.Close()
		return nil, ErrClosed
	}
	c.conns[t] = struct{}{}
	return t, nil
}

// brokerName says which broker a node id is, for errors.
func (c *Client) brokerName(node int32) string {
	if node == anyNode {
		return strings.Join(c.cfg.Brokers, ", ")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, ok := c.brokers[node]; ok {
		return fmt.Sprintf("broker %d (%s)", node, b.Addr())
	}
	return fmt.Sprintf("broker %d", node)
}

// failed wraps a failure of a request to node.
func (c *Client) failed(op string, node int32, tp TopicPartition, err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	var already *RequestError
	if errors.As(err, &already) {
		return err
	}
	var k kafka.Error
	if errors.As(err, &k) {
		err = Code(k)
	}
	return &RequestError{Op: op, Broker: c.brokerName(node), Topic: tp.Topic, Partition: tp.Partition, Err: err}
}

// checkVersions asks one broker what it speaks and compares with what we send.
func (c *Client) checkVersions(ctx context.Context) error {
	var code Code
	type span struct{ min, max int16 }
	spoken := map[int16]span{}
	err := c.call(ctx, versionsAPI, anyNode, func(*encoder) {}, func(d *decoder) {
		code = Code(d.int16())
		for n := d.arrayLen(6); n > 0 && d.err == nil; n-- {
			key := d.int16()
			spoken[key] = span{d.int16(), d.int16()}
		}
	})
	if err != nil {
		return c.failed("api versions", anyNode, noPartition, err)
	}
	if code != CodeNone {
		return c.failed("api versions", anyNode, noPartition, code)
	}
	for _, a := range []api{produceAPI, fetchAPI, listOffsetsAPI, metadataAPI} {
		if s, ok := spoken[a.key]; !ok || a.version < s.min || a.version > s.max {
			return c.failed("api versions", anyNode, noPartition, fmt.Errorf("the broker speaks %s %d to %d, not %d (Apache Kafka %s): %w",
				a.name, s.min, s.max, a.version, a.apache, CodeUnsupportedVersion))
		}
	}
	return nil
}

// noPartition is for requests that are about no topic.
var noPartition = TopicPartition{Partition: -1}
