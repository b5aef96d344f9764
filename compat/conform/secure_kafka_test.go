package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

// TestKafka_AnswersOverTLSAndSASL asks a controller of 4.4.0 and one of ours, each with a listener of every protocol, and attacks the one
// without any.
func TestKafka_AnswersOverTLSAndSASL(t *testing.T) {
	kafkatest.NeedKafka(t)
	if kafkatest.Matrix() && *keepIn == "" {
		t.Skip("one build only: make test runs it")
	}
	t.Run("Kafka", func(t *testing.T) { askSecured(t, nil) })
	t.Run("understudy", func(t *testing.T) { askSecured(t, ourSource(t)) })
}

func askSecured(t *testing.T, source kafka.Source) {
	ctx := kafkatest.Deadline(t, 3*time.Minute)
	all, names, ports := kafkatest.EveryProtocol(t)
	maps.Copy(all, fewConnections(names))
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Source: source, Controllers: 1, Voters: kafka.Standalone, Properties: all})
	if _, err := q.StartAll(ctx); err != nil {
		t.Fatal(err)
	}
	for i, p := range secure.Protocols {
		t.Run(p.String(), func(t *testing.T) {
			good := clientConfig(t, all, p, kafkatest.SASLPassword)
			o := Options{Address: fmt.Sprintf("127.0.0.1:%d", ports[i]), NodeID: 1, ClusterID: q.ClusterID, Release: "4.4.0", Match: regexp.MustCompile("^(framing|vote/v2)/"), Dial: good.Dial}
			if p == secure.Plaintext {
				o.Hostility, o.Match, o.Dial = Hostile, regexp.MustCompile("^hostile/"), nil
			}
			report, err := Run(ctx, o)
			for ; errors.Is(err, syscall.ECONNREFUSED); report, err = Run(ctx, o) {
				time.Sleep(20 * time.Millisecond) // an only voter leads before it listens
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s", report.Target, report.Summary())
			if report.Verdict() != Passed {
				_ = report.WriteText(t.Output(), false)
				t.Fail()
			}
			if p.SASL() {
				bad := clientConfig(t, all, p, "guess")
				refusedBy(ctx, t, o, bad, "refused user \"node\"", "127.0.0.1:")
			}
			if p.TLS() {
				bad := good
				bad.TLS.Roots, _ = secure.ParseRoots(kafkatest.Secure(t, secure.SSL).CA.Certificate())
				refusedBy(ctx, t, o, bad, "unknown authority", "127.0.0.1:")
			}
			if source == nil {
				meetLimit(ctx, t, o, p)
			}
		})
	}
}

// few is how many connections the listeners of [fewConnections] serve.
const few = 30

// fewConnections bounds the connections of an address and those of a listener.
func fewConnections(names []string) map[string]string {
	all := map[string]string{"max.connections.per.ip.overrides": fmt.Sprintf("127.0.0.2:%d", few)}
	for i, p := range secure.Protocols {
		prefix := "listener.name." + strings.ToLower(names[i]) + "."
		switch p {
		case secure.SSL:
			all[prefix+"max.connections"] = strconv.Itoa(few)
		case secure.Plaintext, secure.SASLPlaintext, secure.SASLSSL:
		}
	}
	return all
}

// meetLimit attacks a listener of few connections with many.
func meetLimit(ctx context.Context, t *testing.T, o Options, p secure.Protocol) {
	t.Helper()
	o.Hostility, o.Match, o.Patience = Hostile, regexp.MustCompile("^hostile/connections/idle$"), 3*time.Second
	switch p {
	case secure.Plaintext: // by its address
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
			return d.DialContext(ctx, "tcp", address)
		}
	case secure.SSL:
	case secure.SASLPlaintext, secure.SASLSSL:
		return
	}
	report, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Results {
		r := &report.Results[i]
		t.Logf("%s over %s: %s %s", r.Case.ID, p, r.Outcome, r.Why)
		if r.Outcome != Passed || !strings.Contains(r.Why, "at once") {
			t.Errorf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
		}
	}
}

// clientConfig is what the suite reads of a --command-config.
func clientConfig(t *testing.T, node map[string]string, p secure.Protocol, password string) secure.Config {
	t.Helper()
	client := kafka.Properties{"security.protocol": p.String()}
	for _, name := range []string{"ssl.keystore.type", "ssl.keystore.location", "ssl.truststore.type", "ssl.truststore.location", "sasl.mechanism"} {
		client[name] = node[name]
	}
	client["sasl.jaas.config"] = strings.ReplaceAll(node["sasl.jaas.config"], kafkatest.SASLPassword, password)
	file := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(file, []byte(client.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := properties.ReadClient(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refusedBy expects a run to end at once, with an error that says why.
func refusedBy(ctx context.Context, t *testing.T, o Options, c secure.Config, says ...string) {
	t.Helper()
	o.Dial = c.Dial
	_, err := Run(ctx, o)
	if !errors.Is(err, secure.ErrAuthentication) {
		t.Errorf("%v, want that authentication failed", err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
}
