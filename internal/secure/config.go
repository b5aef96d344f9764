package secure

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

// Protocol is how a listener is guarded (Kafka: SecurityProtocol).
type Protocol uint8

// The protocols.
const (
	Plaintext Protocol = iota
	SSL
	SASLPlaintext
	SASLSSL
)

// Protocols are all of them.
var Protocols = []Protocol{Plaintext, SSL, SASLPlaintext, SASLSSL}

func (p Protocol) String() string {
	return [...]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}[p]
}

// ID is the number of the protocol in ControllerRegistration and BrokerRegistration requests.
func (p Protocol) ID() int16 { return int16(p) }

// TLS tells whether the connection is encrypted.
func (p Protocol) TLS() bool { return p == SSL || p == SASLSSL }

// SASL tells whether the peer authenticates by SASL.
func (p Protocol) SASL() bool { return p == SASLPlaintext || p == SASLSSL }

// ParseProtocol reads a name in any case.
func ParseProtocol(name string) (Protocol, error) {
	for _, p := range Protocols {
		if strings.EqualFold(p.String(), name) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("security protocol %q: want PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", name)
}

// Password is a text that is never printed.
type Password string

func (Password) String() string { return "[hidden]" }

// GoString hides the password from %#v.
func (Password) GoString() string { return "[hidden]" }

// Config is how connections are guarded. The zero value is PLAINTEXT.
type Config struct {
	Protocol Protocol
	TLS      TLS  // for SSL and SASL_SSL
	SASL     SASL // for SASL_PLAINTEXT and SASL_SSL
}

// TLS is what ssl.* of Kafka's properties come to.
type TLS struct {
	Certificate *tls.Certificate   // own certificate chain and key; nil: none, which suits only a side that dials
	Roots       *x509.CertPool     // whom to trust; nil: whom this machine trusts
	AnyHostName bool               // an empty ssl.endpoint.identification.algorithm: the certificate may be for another name than the one dialled
	ClientAuth  tls.ClientAuthType // of the side that listens: ssl.client.auth
	MinVersion  uint16             // 0: TLS 1.2
	MaxVersion  uint16             // 0: TLS 1.3
	Suites      []uint16           // of TLS 1.2; nil: Go's choice
}

// SASL is what a node knows for the PLAIN mechanism.
type SASL struct {
	Username string // what this node says when it dials
	Password Password
	Users    map[string]Password // whom it believes when it listens
}

// Principal is who a peer has shown to be, as Kafka's authorizers write it.
type Principal string

// Anonymous is a peer that has shown nothing.
const Anonymous Principal = "User:ANONYMOUS"

// clientTLS is the configuration of the side that dials host.
func (t *TLS) clientTLS(host string) *tls.Config {
	c := t.common()
	c.ServerName, c.RootCAs = host, t.Roots
	if t.Certificate != nil {
		// Not in Certificates: Go would leave the certificate out where the server's list of authorities does not name its issuer.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.Certificate, nil }
	}
	if t.AnyHostName {
		c.InsecureSkipVerify = true // VerifyConnection below verifies all but the name
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s.PeerCertificates, t.Roots) }
	}
	return c
}

func (t *TLS) serverTLS() *tls.Config {
	c := t.common()
	c.ClientAuth, c.ClientCAs = t.ClientAuth, t.Roots
	if t.Certificate != nil {
		c.Certificates = []tls.Certificate{*t.Certificate}
	}
	return c
}

func (t *TLS) common() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: t.Suites}
	if t.MinVersion != 0 {
		c.MinVersion = t.MinVersion
	}
	c.MaxVersion = t.MaxVersion
	return c
}

func verifyChain(chain []*x509.Certificate, roots *x509.CertPool) error {
	if len(chain) == 0 {
		return fmt.Errorf("the server showed no certificate")
	}
	rest := x509.NewCertPool()
	for _, c := range chain[1:] {
		rest.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: rest})
	return err
}
