package secure

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// APIVersions answers an ApiVersions request, header and all, with a whole response, header and all. A peer may ask before it
// authenticates. With nil only what SASL needs is listed.
type APIVersions func(request []byte) (response []byte, err error)

// Accept makes a connection ready that a listener has accepted, and says who the peer is. It closes conn when it fails.
func (c *Config) Accept(ctx context.Context, conn net.Conn, versions APIVersions) (net.Conn, Principal, error) {
	peer := Anonymous
	from := conn.RemoteAddr()
	ready, err := within(ctx, conn, func() (ready net.Conn, err error) {
		ready, peer, err = c.accept(ctx, conn, versions)
		return ready, err
	})
	if err != nil {
		return nil, "", fmt.Errorf("%s connection from %v: %w", c.Protocol, from, err)
	}
	return ready, peer, nil
}

func (c *Config) accept(ctx context.Context, conn net.Conn, versions APIVersions) (net.Conn, Principal, error) {
	peer := Anonymous
	if c.Protocol.TLS() {
		t := tls.Server(conn, c.TLS.serverTLS())
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, "", explainTLS(err)
		}
		if shown := t.ConnectionState().PeerCertificates; len(shown) > 0 {
			peer = subject(shown[0])
		}
		conn = t
	}
	if c.Protocol.SASL() {
		user, err := (&guard{conn: conn, users: c.SASL.Users, versions: versions}).authenticate(ctx)
		if err != nil {
			return nil, "", err
		}
		peer = Principal("User:" + user)
	}
	return conn, peer, nil
}

// subject is the distinguished name of a certificate, last part first, as X500Principal prints it.
func subject(c *x509.Certificate) Principal { return Principal("User:" + c.Subject.String()) }

// guard is the SASL exchange of the side that listens (Kafka: SaslServerAuthenticator). Anything but the three requests of this
// exchange, each in its place, ends it.
type guard struct {
	conn     net.Conn
	users    map[string]Password
	versions APIVersions
}

// refusedDelay is how long a peer waits for its refusal, so that passwords are not tried by the thousand
// (connection.failed.authentication.delay.ms).
const refusedDelay = 100 * time.Millisecond

func (g *guard) authenticate(ctx context.Context) (user string, err error) {
	raw, err := g.handshake(ctx)
	if err != nil {
		return "", err
	}
	frame, err := readFrame(g.conn)
	if err != nil {
		return "", fmt.Errorf("waiting for SaslAuthenticate: %w", err)
	}
	if raw { // SaslHandshake v0: the token has no header, nor has the answer, and a refusal is the end of the connection
		if user, err = g.check(frame); err != nil {
			wait(ctx, refusedDelay)
			return "", err
		}
		return user, writeFrame(g.conn, nil)
	}
	h, body, err := wire.ParseRequestHeader(frame)
	if err != nil {
		return "", err
	}
	if h.Key != keySASLAuthenticate || h.Version < 0 || h.Version > 2 {
		return "", fmt.Errorf("%s v%d where SaslAuthenticate v0 to v2 is due", wire.Name(h.Key), h.Version)
	}
	var req kmsg.SASLAuthenticateRequest
	req.Version = h.Version
	if err := req.ReadFrom(body); err != nil {
		return "", fmt.Errorf("SaslAuthenticate: %w", err)
	}
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.SASLAuthBytes = []byte{}
	user, refused := g.check(req.SASLAuthBytes)
	if refused != nil {
		wait(ctx, refusedDelay)
		message := "Authentication failed: Invalid username or password"
		resp.ErrorCode, resp.ErrorMessage = int16(kraft.SaslAuthenticationFailed), &message
	}
	return user, errors.Join(refused, writeFrame(g.conn, resp.AppendTo(responseHeader(h))))
}

// handshake answers ApiVersions, which may come once, and SaslHandshake; raw is for one of version 0.
func (g *guard) handshake(ctx context.Context) (raw bool, err error) {
	for asked := 0; ; asked++ {
		frame, err := readFrame(g.conn)
		if err != nil {
			return false, fmt.Errorf("waiting for SaslHandshake: %w", err)
		}
		h, body, err := wire.ParseRequestHeader(frame)
		if err != nil {
			return false, fmt.Errorf("the first frame is no request of Kafka: the peer may speak TLS or another protocol: %w", err)
		}
		switch {
		case h.Key == keyAPIVersions && asked < 2: // twice: the first one may have been of a version that is unknown here
			answer := g.versions
			if answer == nil {
				answer = OwnVersions
			}
			response, err := answer(frame)
			if err != nil {
				return false, fmt.Errorf("ApiVersions: %w", err)
			}
			if err := writeFrame(g.conn, response); err != nil {
				return false, err
			}
		case h.Key == keySASLHandshake && (h.Version == 0 || h.Version == 1):
			return h.Version == 0, g.greet(ctx, h, body)
		default:
			return false, fmt.Errorf("%s v%d before authentication", wire.Name(h.Key), h.Version)
		}
	}
}

func (g *guard) greet(ctx context.Context, h wire.RequestHeader, body []byte) error {
	var req kmsg.SASLHandshakeRequest
	req.Version = h.Version
	if err := req.ReadFrom(body); err != nil {
		return fmt.Errorf("SaslHandshake: %w", err)
	}
	resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.SupportedMechanisms = []string{plain}
	var refused error
	if req.Mechanism != plain {
		wait(ctx, refusedDelay)
		resp.ErrorCode = int16(kraft.UnsupportedSaslMechanism)
		refused = fmt.Errorf("%w: the peer wants the SASL mechanism %.40q: PLAIN is the one here", ErrAuthentication, req.Mechanism)
	}
	return errors.Join(refused, writeFrame(g.conn, resp.AppendTo(responseHeader(h))))
}

// check reads the token of PLAIN, AUTHZID NUL USER NUL PASSWORD (RFC 4616; Kafka: PlainSaslServer).
func (g *guard) check(token []byte) (user string, err error) {
	parts := strings.Split(string(token), "\x00")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return "", fmt.Errorf("%w: the token is not that of PLAIN", ErrAuthentication)
	}
	user = parts[1]
	want, known := g.users[user]
	if subtle.ConstantTimeCompare([]byte(want), []byte(parts[2])) != 1 || !known {
		return "", fmt.Errorf("%w: user %.80q is unknown or has another password", ErrAuthentication, user)
	}
	if parts[0] != "" && parts[0] != user {
		return "", fmt.Errorf("%w: user %.80q wants to act for %.80q", ErrAuthentication, user, parts[0])
	}
	return user, nil
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// OwnVersions answers ApiVersions with what this package itself serves.
func OwnVersions(request []byte) ([]byte, error) {
	h, _, err := wire.ParseRequestHeader(request)
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	if resp.Version = h.Version; h.Version < 0 || h.Version > 4 {
		resp.Version, resp.ErrorCode = 0, int16(kraft.UnsupportedVersion)
	}
	for _, k := range [][2]int16{{keySASLHandshake, 1}, {keyAPIVersions, 4}, {keySASLAuthenticate, 2}} {
		one := kmsg.NewApiVersionsResponseApiKey()
		one.ApiKey, one.MaxVersion = k[0], k[1]
		if resp.ErrorCode == 0 || k[0] == keyAPIVersions {
			resp.ApiKeys = append(resp.ApiKeys, one)
		}
	}
	return resp.AppendTo(responseHeader(h)), nil
}
