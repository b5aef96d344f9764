package secure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Dial connects to a listener and makes the connection ready: what is sent next is the first frame of the Kafka protocol proper.
func (c *Config) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return c.Client(ctx, conn, address)
}

// Client is Dial over a connection that stands already. It closes conn when it fails.
func (c *Config) Client(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	ready, err := within(ctx, conn, func() (net.Conn, error) { return c.client(ctx, conn, address) })
	if err != nil {
		return nil, fmt.Errorf("%s connection to %s: %w", c.Protocol, address, err)
	}
	return ready, nil
}

func (c *Config) client(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if c.Protocol.TLS() {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		t := tls.Client(conn, c.TLS.clientTLS(host))
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, explainTLS(err)
		}
		conn = t
	}
	if c.Protocol.SASL() {
		if err := c.SASL.authenticate(conn); err != nil {
			return nil, err
		}
	}
	return conn, nil
}

// explainTLS says what usually stands behind an error of the TLS handshake.
func explainTLS(err error) error {
	var record tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.As(err, &untrusted) || errors.As(err, &alert):
		return fmt.Errorf("%w: TLS handshake: %w", ErrAuthentication, err)
	case errors.As(err, &record):
		return fmt.Errorf("the peer does not speak TLS: %w", err)
	case closed(err):
		return fmt.Errorf("the peer closed the connection during the TLS handshake: its listener may not be one for TLS: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

// closed: a peer that closes with bytes unread resets the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// within runs a handshake under the deadline and cancellation of ctx. The connection is closed if it fails, and has no deadline if
// it does not.
func within(ctx context.Context, conn net.Conn, handshake func() (net.Conn, error)) (net.Conn, error) {
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		_ = conn.Close()
		return nil, err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	ready, err := handshake()
	if !stop() {
		<-interrupted
		err = fmt.Errorf("the peer was not ready in time: %w", context.Cause(ctx))
	} else if isTimeout(err) { // the connection's own clock was first
		err = fmt.Errorf("the peer was not ready in time: %w", context.DeadlineExceeded)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return ready, nil
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
