package secure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// The SASL exchange of the side that dials (Kafka: SaslClientAuthenticator): ApiVersions v0 to learn the peer's versions, SaslHandshake v1
// to name the mechanism, SaslAuthenticate with the one token of PLAIN.

const (
	keySASLHandshake    = 17
	keyAPIVersions      = 18
	keySASLAuthenticate = 36

	plain    = "PLAIN"
	clientID = "understudy"

	// firstCorrelation begins the range that Kafka reserves for these requests, apart from those of the connection's owner.
	firstCorrelation = 2147483640
)

// ErrAuthentication marks credentials that a peer did not accept.
var ErrAuthentication = errors.New("authentication failed")

func (s *SASL) authenticate(conn net.Conn) error {
	e := exchange{conn: conn, correlation: firstCorrelation}
	version, err := e.negotiate()
	if err != nil {
		return err
	}
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, plain
	var greeting kmsg.SASLHandshakeResponse
	if err := e.ask(handshake, &greeting); err != nil {
		return fmt.Errorf("SaslHandshake: %w", err)
	}
	if greeting.ErrorCode != 0 {
		return fmt.Errorf("%w: the peer does not take the SASL mechanism PLAIN (%s); it takes %s", ErrAuthentication,
			kraft.ErrorCode(greeting.ErrorCode), strings.Join(greeting.SupportedMechanisms, ", "))
	}
	token := kmsg.NewPtrSASLAuthenticateRequest()
	token.Version, token.SASLAuthBytes = version, []byte("\x00"+s.Username+"\x00"+string(s.Password))
	var verdict kmsg.SASLAuthenticateResponse
	if err := e.ask(token, &verdict); err != nil {
		return fmt.Errorf("SaslAuthenticate as user %q: %w", s.Username, err)
	}
	if verdict.ErrorCode != 0 {
		message := ""
		if verdict.ErrorMessage != nil {
			message = ": " + *verdict.ErrorMessage
		}
		return fmt.Errorf("%w: the peer refused user %q by %s%s", ErrAuthentication, s.Username, kraft.ErrorCode(verdict.ErrorCode), message)
	}
	return nil
}

// exchange is requests and responses one after another.
type exchange struct {
	conn        net.Conn
	correlation int32
}

// negotiate finds the version of SaslAuthenticate.
func (e *exchange) negotiate() (int16, error) {
	var versions kmsg.ApiVersionsResponse
	err := e.ask(kmsg.NewPtrApiVersionsRequest(), &versions)
	switch {
	case closed(err):
		return 0, errors.New("the peer closed the connection at the first request: its listener may be one for TLS")
	case err != nil:
		return 0, fmt.Errorf("ApiVersions: %w", err)
	case versions.ErrorCode != 0:
		return 0, fmt.Errorf("ApiVersions: the peer answered %s", kraft.ErrorCode(versions.ErrorCode))
	}
	handshake, version := false, int16(-1)
	for _, k := range versions.ApiKeys {
		switch k.ApiKey {
		case keySASLHandshake:
			handshake = k.MinVersion <= 1 && k.MaxVersion >= 1
		case keySASLAuthenticate:
			version = min(k.MaxVersion, 2)
		}
	}
	if !handshake || version < 0 {
		return 0, errors.New("the peer does not list SaslHandshake v1 and SaslAuthenticate: its listener may not be one for SASL")
	}
	return version, nil
}

func (e *exchange) ask(req kmsg.Request, resp kmsg.Response) error {
	id := e.correlation
	e.correlation++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, id)
	if _, err := e.conn.Write(frame); err != nil {
		return err
	}
	answer, err := readFrame(e.conn)
	if err != nil {
		return err
	}
	got, body, err := wire.ParseResponseHeader(answer, req.Key(), req.GetVersion())
	if err != nil {
		return err
	}
	if got != id {
		return fmt.Errorf("the answer has correlation id %d, want %d", got, id)
	}
	resp.SetVersion(req.GetVersion())
	return resp.ReadFrom(body)
}

// responseHeader is that of a response to a request with the given header.
func responseHeader(h wire.RequestHeader) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(h.CorrelationID))
	if h.Key != keyAPIVersions && wire.Flexible(h.Key, h.Version) {
		b = append(b, 0)
	}
	return b
}
