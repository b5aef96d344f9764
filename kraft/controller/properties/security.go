package properties

import (
	"crypto/tls"
	"os"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/internal/secure"
)

// guard reads how controllers are dialled and how the own controller listeners are guarded. A property may stand under
// listener.name.NAME. for one listener, in lower case, which counts more than the one without (KIP-103).
func (s *source) guard(n *Node, protocols map[string]secure.Protocol) {
	first := n.ControllerNames[0]
	const property = "sasl.mechanism.controller.protocol"
	n.Outgoing = s.prefixed(first).outgoing(protocols[first], property, s.text(property, "GSSAPI"))
	n.Incoming = map[string]secure.Config{}
	for _, l := range n.Listeners {
		if slices.Contains(n.ControllerNames, l.Name) {
			n.Incoming[l.Name] = s.prefixed(l.Name).incoming(l.Protocol)
		}
	}
}

// listenerSource reads the properties of one listener, or of a client.
type listenerSource struct {
	*source
	prefix string // "": of a client
}

func (s *source) prefixed(name string) listenerSource {
	return listenerSource{s, "listener.name." + strings.ToLower(name) + "."}
}

// name is the property as the file has it.
func (l listenerSource) name(name string) string {
	l.asked[name] = true
	if _, ok := l.values[l.prefix+name]; ok {
		return l.prefix + name
	}
	return name
}

func (l listenerSource) get(name string) (string, bool) { return l.lookup(l.name(name)) }

func (l listenerSource) outgoing(p secure.Protocol, property, mechanism string) secure.Config {
	c := secure.Config{Protocol: p}
	if p.TLS() {
		c.TLS = l.tls()
		if algorithm, ok := l.get("ssl.endpoint.identification.algorithm"); ok {
			c.TLS.AnyHostName = algorithm == ""
			if algorithm != "" && !strings.EqualFold(algorithm, "https") {
				l.refuse(l.name("ssl.endpoint.identification.algorithm"), "is %q: want https, or nothing for no check", algorithm)
			}
		}
	}
	if p.SASL() {
		if mechanism != "PLAIN" {
			l.refuse(property, "is %s: of the mechanisms of SASL only PLAIN is supported", mechanism)
		}
		property, login := l.jaas()
		c.SASL.Username, c.SASL.Password = login.username, login.password
		if l.err == nil && login.username == "" {
			l.refuse(property, "has no username, so nobody would be shown who this is")
		}
	}
	return c
}

func (l listenerSource) incoming(p secure.Protocol) secure.Config {
	c := secure.Config{Protocol: p}
	if p.TLS() {
		c.TLS = l.tls()
		c.TLS.ClientAuth = l.clientAuth(p)
		if c.TLS.Certificate == nil && l.err == nil {
			l.refuse(l.name("ssl.keystore.location"), "is not set: a listener of protocol %v needs a certificate", p)
		}
	}
	if p.SASL() {
		mechanisms := l.names(l.name("sasl.enabled.mechanisms"), "GSSAPI")
		if !slices.Equal(mechanisms, []string{"PLAIN"}) {
			l.refuse(l.name("sasl.enabled.mechanisms"), "is %s: of the mechanisms of SASL only PLAIN is supported", strings.Join(mechanisms, ","))
		}
		_, login := l.jaas()
		c.SASL.Users = login.users
	}
	return c
}

// clientAuth: under SASL_SSL, whose clients have another way to show who they are, only a property for this listener counts (KIP-684).
func (l listenerSource) clientAuth(p secure.Protocol) tls.ClientAuthType {
	name := l.name("ssl.client.auth")
	value, ok := l.lookup(name)
	if !ok || p == secure.SASLSSL && name == "ssl.client.auth" {
		return tls.NoClientCert
	}
	switch value {
	case "required":
		return tls.RequireAndVerifyClientCert
	case "requested":
		return tls.VerifyClientCertIfGiven
	case "none":
	default:
		l.refuse(name, "is %q: want required, requested or none", value)
	}
	return tls.NoClientCert
}

func (l listenerSource) tls() (t secure.TLS) {
	l.keyStore(&t)
	l.trustStore(&t)
	l.versions(&t)
	for _, name := range l.list(l.name("ssl.cipher.suites")) {
		id, known := suite(name)
		if !known {
			l.refuse(l.name("ssl.cipher.suites"), "names %q, which is no suite that this program has", name)
		}
		t.Suites = append(t.Suites, id)
	}
	return t
}

// keyStore takes ssl.keystore.key with ssl.keystore.certificate.chain, or a file with both (KIP-651).
func (l listenerSource) keyStore(t *secure.TLS) {
	kind, _ := l.get("ssl.keystore.type")
	location, hasFile := l.get("ssl.keystore.location")
	key, hasKey := l.get("ssl.keystore.key")
	chain, hasChain := l.get("ssl.keystore.certificate.chain")
	password, _ := l.get("ssl.key.password")
	name := l.name("ssl.keystore.key")
	switch {
	case !hasFile && !hasKey && !hasChain:
		return
	case !strings.EqualFold(kind, "PEM"):
		l.refuseStore("ssl.keystore.type", kind)
		return
	case hasKey != hasChain:
		l.refuse(name, "and ssl.keystore.certificate.chain: one of them is set without the other")
	case hasFile && hasKey:
		l.refuse(name, "and ssl.keystore.location are both set")
	case hasFile:
		name = l.name("ssl.keystore.location")
		if _, ok := l.get("ssl.keystore.password"); ok {
			l.refuse(l.name("ssl.keystore.password"), "is set: a PEM file has no password, its key has ssl.key.password")
		}
		key = l.readFile(name, location)
		chain = key
	}
	if l.err != nil {
		return
	}
	var err error
	if t.Certificate, err = secure.ParseIdentity(chain, key, secure.Password(password)); err != nil {
		l.refuse(name, "cannot be used: %v", err)
	}
}

func (l listenerSource) trustStore(t *secure.TLS) {
	kind, _ := l.get("ssl.truststore.type")
	location, hasFile := l.get("ssl.truststore.location")
	text, hasText := l.get("ssl.truststore.certificates")
	name := l.name("ssl.truststore.certificates")
	switch {
	case !hasFile && !hasText:
		return
	case !strings.EqualFold(kind, "PEM"):
		l.refuseStore("ssl.truststore.type", kind)
		return
	case hasFile && hasText:
		l.refuse(name, "and ssl.truststore.location are both set")
	case hasFile:
		name = l.name("ssl.truststore.location")
		if _, ok := l.get("ssl.truststore.password"); ok {
			l.refuse(l.name("ssl.truststore.password"), "is set: a PEM file has no password")
		}
		text = l.readFile(name, location)
	}
	if l.err != nil {
		return
	}
	var err error
	if t.Roots, err = secure.ParseRoots(text); err != nil {
		l.refuse(name, "cannot be used: %v", err)
	}
}

func (l listenerSource) refuseStore(name, kind string) {
	if kind == "" {
		kind = "not set, which means JKS"
	}
	l.refuse(l.name(name), "is %s: only PEM is supported; `keytool` and `openssl pkcs12` turn a store into PEM", kind)
}

func (l listenerSource) readFile(name, location string) string {
	text, err := os.ReadFile(location)
	if err != nil {
		l.refuse(name, "cannot be read: %v", err)
	}
	return string(text)
}

// versions: the greatest is ssl.protocol, as in Java, unless ssl.enabled.protocols has less.
func (l listenerSource) versions(t *secure.TLS) {
	for _, text := range l.list(l.name("ssl.enabled.protocols"), "TLSv1.2", "TLSv1.3") {
		version, known := map[string]uint16{"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}[text]
		if !known {
			l.refuse(l.name("ssl.enabled.protocols"), "names %q: want TLSv1.2 or TLSv1.3", text)
		}
		if t.MinVersion == 0 || version < t.MinVersion {
			t.MinVersion = version
		}
		t.MaxVersion = max(t.MaxVersion, version)
	}
}

func suite(name string) (uint16, bool) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if s.Name == name {
			return s.ID, true
		}
	}
	return 0, false
}
