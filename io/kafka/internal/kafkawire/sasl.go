package kafkawire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// SASL holds credentials.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; case does not matter. PLAIN sends the password as it is: use it with TLS.
	Mechanism string
	User      string
	Password  string
}

// String hides the password.
func (s SASL) String() string { return s.Mechanism + " as " + s.User }

// GoString hides the password.
func (s SASL) GoString() string { return s.String() }

func (s *SASL) mechanism() (*watchedMechanism, error) {
	var m sasl.Mechanism
	var err error
	switch strings.ToUpper(s.Mechanism) {
	case "PLAIN":
		m = plain.Mechanism{Username: s.User, Password: s.Password}
	case "SCRAM-SHA-256":
		m, err = scram.Mechanism(scram.SHA256, s.User, s.Password)
	case "SCRAM-SHA-512":
		m, err = scram.Mechanism(scram.SHA512, s.User, s.Password)
	default:
		return nil, fmt.Errorf("kafkawire: SASL mechanism %q; use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.Mechanism)
	}
	if err != nil {
		return nil, fmt.Errorf("kafkawire: SASL %v: %w", *s, err)
	}
	return &watchedMechanism{Mechanism: m}, nil
}

// watchedMechanism counts handshakes that were begun and not completed. Some brokers say that a password is wrong by closing the connection,
// which looks like any other lost connection unless one knows when it happened.
type watchedMechanism struct {
	sasl.Mechanism
	open     atomic.Int32
	rejected int
}

// maxRejected is how many handshakes may end with a closed connection before the credentials are blamed: once may be a broker that stops.
const maxRejected = 3

// Start implements sasl.Mechanism.
func (m *watchedMechanism) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	session, first, err := m.Mechanism.Start(ctx)
	if err != nil {
		return nil, nil, err
	}
	m.open.Add(1)
	return &watchedSession{session, m}, first, nil
}

type watchedSession struct {
	sasl.StateMachine
	mechanism *watchedMechanism
}

// Next implements sasl.StateMachine.
func (s *watchedSession) Next(ctx context.Context, challenge []byte) (bool, []byte, error) {
	done, answer, err := s.StateMachine.Next(ctx, challenge)
	if done && err == nil {
		s.mechanism.open.Add(-1)
	}
	return done, answer, err
}

// judge turns the failure of an attempt to connect into an authentication failure if it looks like one for the third time.
func (m *watchedMechanism) judge(err error) error {
	if m == nil || err == nil || m.open.Swap(0) == 0 || !(errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return err
	}
	if m.rejected++; m.rejected < maxRejected {
		return err
	}
	return fmt.Errorf("the broker closes the connection while it checks the credentials: %w", CodeSASLAuthentication)
}
