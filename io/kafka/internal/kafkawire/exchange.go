package kafkawire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// API keys of the requests this package sends.
const (
	apiProduce         int16 = 0
	apiFetch           int16 = 1
	apiListOffsets     int16 = 2
	apiMetadata        int16 = 3
	apiOffsetCommit    int16 = 8
	apiOffsetFetch     int16 = 9
	apiFindCoordinator int16 = 10
	apiVersions        int16 = 18
	apiCreateTopics    int16 = 19
	apiInitProducerID  int16 = 22
)

// api is one request type at the version we speak.
type api struct {
	key, version int16
	flexible     bool // header with tagged fields (KIP-482)
	name         string
	apache       string // first Apache Kafka release that speaks it
}

var (
	produceAPI         = api{apiProduce, 8, false, "Produce", "2.4"}
	fetchAPI           = api{apiFetch, 12, true, "Fetch", "2.7"}
	listOffsetsAPI     = api{apiListOffsets, 5, false, "ListOffsets", "2.2"}
	metadataAPI        = api{apiMetadata, 8, false, "Metadata", "2.3"}
	offsetCommitAPI    = api{apiOffsetCommit, 7, false, "OffsetCommit", "2.3"}
	offsetFetchAPI     = api{apiOffsetFetch, 5, false, "OffsetFetch", "2.1"}
	findCoordinatorAPI = api{apiFindCoordinator, 2, false, "FindCoordinator", "2.0"}
	versionsAPI        = api{apiVersions, 0, false, "ApiVersions", "0.10"}
	createTopicsAPI    = api{apiCreateTopics, 4, false, "CreateTopics", "2.4"}
	initProducerIDAPI  = api{apiInitProducerID, 4, true, "InitProducerId", "2.7"}
)

// anyNode routes a request to whichever broker the control connection goes to.
const anyNode int32 = -1

// errAbandoned is what an exchange returns when its caller had given up before it began.
var errAbandoned = errors.New("the caller gave up before the request was sent")

// exchange states: who may touch the request's and the response's memory.
const (
	exchangePending   int32 = iota // nobody yet
	exchangeRunning                // the connection's goroutine, until finished is closed
	exchangeAbandoned              // the caller; the connection's goroutine must not begin
)

// exchange is one request and its answer on a connection of kafka-go's Transport.
//
// RawExchange runs on a goroutine of kafka-go, and Transport.RoundTrip returns as soon as the context ends, while that goroutine may still
// be reading into our buffers. state and finished hand the memory over: after do returns, nobody but the caller touches it.
type exchange struct {
	api         api
	node        int32
	correlation int32
	frame       []byte // the whole request, size included
	limit       int    // largest response accepted, in bytes
	decode      func(*decoder) error
	ctx         context.Context
	state       atomic.Int32
	finished    chan struct{}
}

// ApiKey implements protocol.Message. The method's name is that interface's.
func (x *exchange) ApiKey() protocol.ApiKey { return protocol.ApiKey(x.api.key) }

// Broker implements protocol.BrokerMessage: route by node id, whatever the Transport believes about leaders.
func (x *exchange) Broker(protocol.Cluster) (protocol.Broker, error) {
	return protocol.Broker{ID: x.node}, nil
}

// Required implements protocol.RawExchanger. Versions were checked by Open; the ones given here are capped at kafka-go's own.
func (x *exchange) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements protocol.RawExchanger. An error makes kafka-go close the connection.
func (x *exchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if !x.state.CompareAndSwap(exchangePending, exchangeRunning) {
		return nil, errAbandoned
	}
	defer close(x.finished)
	if conn, ok := rw.(interface{ SetDeadline(time.Time) error }); ok {
		// kafka-go applies only the context's deadline. Cancelling must end a long poll too, or Close would wait for it.
		stop := context.AfterFunc(x.ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	if err := x.exchange(rw); err != nil {
		return nil, err
	}
	return x, nil
}

func (x *exchange) exchange(rw io.ReadWriter) error {
	if _, err := rw.Write(x.frame); err != nil {
		return fmt.Errorf("sending %s: %w", x.api.name, err)
	}
	var head [8]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return fmt.Errorf("waiting for the answer to %s: %w", x.api.name, err)
	}
	size := int(int32(binary.BigEndian.Uint32(head[:4])))
	if size < 4 || size > x.limit {
		return fmt.Errorf("answer to %s of %d bytes, more than %d or fewer than 4: is this a Kafka listener, and is TLS set as it needs",
			x.api.name, size, x.limit)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != x.correlation {
		return fmt.Errorf("answer to %s has correlation id %d, want %d", x.api.name, got, x.correlation)
	}
	d := decoder{r: rw, remain: size - 4}
	if x.api.flexible {
		d.tags(nil)
	}
	if err := x.decode(&d); err != nil {
		return err
	}
	if d.err == nil && d.remain != 0 {
		d.fail(fmt.Errorf("%d bytes too many", d.remain))
	}
	if d.err != nil {
		return fmt.Errorf("answer to %s: %w", x.api.name, d.err)
	}
	return nil
}

// beginFrame starts a request in b (reused): size to be filled in by endFrame, header, correlation id.
func beginFrame(b []byte, a api, correlation int32, clientID string) encoder {
	e := encoder{b: b[:0]}
	e.int32(0)
	e.int16(a.key)
	e.int16(a.version)
	e.int32(correlation)
	e.nullString(clientID)
	if a.flexible {
		e.noTags()
	}
	return e
}

// endFrame fills in the size and gives the frame.
func (e *encoder) endFrame() []byte {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	return e.b
}

// do sends x and waits for its answer or the context's end. When it returns, the connection's goroutine has finished with x.
func (c *Client) do(ctx context.Context, x *exchange) error {
	if c.closed() {
		return ErrClosed
	}
	x.ctx = ctx
	x.finished = make(chan struct{})
	_, err := c.transport.RoundTrip(ctx, c.addr, x)
	if err == nil {
		return nil
	}
	if !x.state.CompareAndSwap(exchangePending, exchangeAbandoned) {
		<-x.finished // it was begun: the deadline or the cancellation ends it, at once
	}
	// The connection has the context's deadline, so either of the two may end the wait.
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer to %s in time: %w", x.api.name, context.DeadlineExceeded)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.closed() {
		return ErrClosed
	}
	return err
}

// call is one attempt of a small control request: build writes the body, parse reads the answer.
func (c *Client) call(ctx context.Context, a api, node int32, build func(*encoder), parse func(*decoder)) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	x := &exchange{api: a, node: node, correlation: c.correlation.Add(1), limit: controlResponseLimit}
	e := beginFrame(nil, a, x.correlation, c.cfg.ClientID)
	build(&e)
	x.frame = e.endFrame()
	x.decode = func(d *decoder) error { parse(d); return d.err }
	return c.do(ctx, x)
}

// controlResponseLimit bounds answers that hold no records: metadata of a very large cluster is a few MB.
const controlResponseLimit = 64 << 20
