package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/internal/secure/securetest"
)

// The user that nodes and tools of a SASL quorum are, and its password.
const (
	SASLUser     = "node"
	SASLPassword = "node-secret"
)

// Security is how the controllers of a quorum guard their listener: TLS asks both sides for a certificate.
type Security struct {
	Protocol secure.Protocol
	CA       *securetest.CA

	// Properties are those of a node. The tools take them too: AddController gives them the new node's file.
	Properties map[string]string
}

// Secure makes certificates for the loopback addresses, in PEM files that live as long as the test.
func Secure(t testing.TB, protocol secure.Protocol) Security {
	t.Helper()
	ca := securetest.NewCA(t, "quorum")
	s := Security{Protocol: protocol, CA: ca, Properties: map[string]string{
		"listener.security.protocol.map": "CONTROLLER:" + protocol.String() + ",PLAINTEXT:PLAINTEXT",
		"security.protocol":              protocol.String(),
	}}
	if protocol.TLS() {
		s.add(t, "controller")
		s.Properties["ssl.client.auth"] = "required"
		s.Properties["listener.name.controller.ssl.client.auth"] = "required"
	}
	if protocol.SASL() {
		login := `org.apache.kafka.common.security.plain.PlainLoginModule required username="` + SASLUser + `" password="` + SASLPassword + `"`
		s.Properties["sasl.enabled.mechanisms"] = "PLAIN"
		s.Properties["sasl.mechanism.controller.protocol"] = "PLAIN"
		s.Properties["sasl.mechanism"] = "PLAIN"
		s.Properties["listener.name.controller.plain.sasl.jaas.config"] = login + ` user_` + SASLUser + `="` + SASLPassword + `";`
		s.Properties["sasl.jaas.config"] = login + ";"
	}
	return s
}

// EveryProtocol has one node listen by each of [secure.Protocols], in their order: its properties, and the names and ports of its listeners.
func EveryProtocol(t testing.TB) (all map[string]string, names []string, ports []int) {
	t.Helper()
	all = Secure(t, secure.SASLSSL).Properties // has both, for TLS and SASL
	ports, err := kafka.TakePorts(len(secure.Protocols))
	if err != nil {
		t.Fatal(err)
	}
	const jaas = "plain.sasl.jaas.config"
	var listeners, protocols []string
	for i, p := range secure.Protocols {
		name := "L" + strings.ReplaceAll(p.String(), "_", "")
		names, protocols = append(names, name), append(protocols, name+":"+p.String())
		listeners = append(listeners, fmt.Sprintf("%s://127.0.0.1:%d", name, ports[i]))
		prefix := "listener.name." + strings.ToLower(name) + "."
		all[prefix+jaas] = all["listener.name.controller."+jaas]
		all[prefix+"ssl.client.auth"] = "required"
	}
	delete(all, "listener.name.controller."+jaas)
	all["controller.listener.names"], all["listener.security.protocol.map"] = strings.Join(names, ","), strings.Join(protocols, ",")
	all["listeners"], all["advertised.listeners"] = strings.Join(listeners, ","), strings.Join(listeners, ",")
	all["controller.quorum.bootstrap.servers"] = fmt.Sprintf("127.0.0.1:%d", ports[0])
	return all, names, ports
}

// add puts a certificate and the authority's into files.
func (s *Security) add(t testing.TB, name string) {
	t.Helper()
	dir := t.TempDir()
	chain, key := s.CA.Issue(name, "127.0.0.1", "localhost")
	for file, text := range map[string]string{"keystore": key + chain, "truststore": s.CA.Certificate()} {
		path := filepath.Join(dir, file+".pem")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Properties["ssl."+file+".type"] = "PEM"
		s.Properties["ssl."+file+".location"] = path
	}
}
