package kafkawire

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	kafka "github.com/segmentio/kafka-go"
)

// Backoff is the delay between attempts: it doubles from Min to Max, and each delay is drawn between half of it and the whole.
type Backoff struct{ Min, Max time.Duration }

// delay of the attempt-th retry, counted from 0.
func (b Backoff) delay(attempt int) time.Duration {
	d := b.Max
	if attempt < 30 {
		d = min(b.Max, b.Min<<attempt)
	}
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d or the context's end.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// permanent reports errors that a retry cannot mend: refusals and wrong settings. Everything that comes from the network is worth another
// try, within the budget.
func permanent(err error) bool {
	var malformed *MalformedError
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, ErrClosed) || errors.As(err, &malformed) || errors.As(err, &certificate) {
		return true
	}
	var c Code
	if errors.As(err, &c) {
		return !c.retriable()
	}
	var k kafka.Error // from kafka-go's own handshake: SASL, ApiVersions
	if errors.As(err, &k) {
		return !Code(k).retriable()
	}
	return false
}

// retry calls f until it succeeds, fails for good, or budget has passed since the first call; then it gives f's last error, and so it does
// when the context ends.
func (c *Client) retry(ctx context.Context, budget time.Duration, f func(context.Context) error) error {
	start := time.Now()
	var before error
	for attempt := 0; ; attempt++ {
		err := f(ctx)
		if err == nil || permanent(err) {
			return err
		}
		if before != nil && timeIsOver(ctx, err) {
			return before // that the time is over says less than why the attempts failed
		}
		before = err
		c.afterFailure(err)
		if ctx.Err() != nil {
			return err
		}
		wait := c.cfg.Backoff.delay(attempt)
		if time.Since(start)+wait > budget {
			return err
		}
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

// timeIsOver reports whether err says no more than that the context has ended. A
// connection may give up at the context's deadline before the context itself does.
func timeIsOver(ctx context.Context, err error) bool {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded))
}

// afterFailure drops kafka-go's pooled connections when the failure may come from its view of the cluster: a broker it does not know yet
// (its layout is up to MetadataTTL old) or a leader that moved. The next request dials afresh: milliseconds instead of seconds.
func (c *Client) afterFailure(err error) {
	var code Code
	if errors.As(err, &code) && !code.stale() {
		return
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	c.transport.CloseIdleConnections()
}
