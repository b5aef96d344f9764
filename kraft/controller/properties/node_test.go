package properties

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
)

const controllerText = `process.roles=controller
node.id=1
listeners=CONTROLLER://h1:9093
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=h1:9093,h2:9094
log.dirs=/d/,/e
`

func TestParse_ReadsAController(t *testing.T) {
	n, err := Parse("c.properties", controllerText+"metadata.log.dir=/m\ncontroller.quorum.voters=1@h1:9093,2@h2:9094\n"+
		"controller.quorum.fetch.timeout.ms=300\nnum.io.threads=1\nmy.own=x\n")
	if err != nil {
		t.Fatal(err)
	}
	if n.ID != 1 || !n.Controller || n.Broker || n.MetadataDir != "/m" || !slices.Equal(n.LogDirs, []string{"/d", "/e"}) {
		t.Errorf("%+v", n)
	}
	if v, ok := n.Quorum.Voter(2); !ok || v.Address != (kraft.Address{Host: "h2", Port: 9094}) {
		t.Errorf("voters %v", n.Quorum.Voters)
	}
	want := kraft.DefaultTimeouts()
	want.FetchMs = 300
	if n.Quorum.Timeouts != want {
		t.Errorf("timeouts %+v", n.Quorum.Timeouts)
	}
	if !slices.Equal(n.Ignored, []string{"my.own", "num.io.threads"}) {
		t.Errorf("ignored %v", n.Ignored)
	}
	if n.Outgoing.Protocol != secure.Plaintext || len(n.Incoming) != 1 {
		t.Errorf("outgoing %v, incoming %v", n.Outgoing, n.Incoming)
	}
}

func TestParse_AWildcardIsAdvertisedAsTheVotersSay(t *testing.T) {
	for _, tt := range []struct{ name, lines, want string }{
		{"no host", "listeners=CONTROLLER://:9093\ncontroller.quorum.voters=1@v1:7", "v1:7"},
		{"any host", "listeners=CONTROLLER://0.0.0.0:9093\ncontroller.quorum.voters=1@v1:7", "v1:7"},
		{"no voters", "listeners=CONTROLLER://0.0.0.0:9093", ":9093"},
		{"a host", "listeners=CONTROLLER://h1:9093\ncontroller.quorum.voters=1@v1:7", "h1:9093"},
		{"advertised", "listeners=CONTROLLER://:9093\nadvertised.listeners=CONTROLLER://a:8\ncontroller.quorum.voters=1@v1:7", "a:8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Parse("f", controllerText+tt.lines)
			if err != nil {
				t.Fatal(err)
			}
			if len(n.Advertised) != 1 || n.Advertised[0].String() != tt.want {
				t.Errorf("advertised %v, want %s", n.Advertised, tt.want)
			}
		})
	}
}

func TestParse_RefusesWithFileAndProperty(t *testing.T) {
	const sasl = "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT\n"
	const plain = "sasl.enabled.mechanisms=PLAIN\nsasl.mechanism.controller.protocol=PLAIN\n"
	const jaas = "listener.name.controller.plain.sasl.jaas.config="
	for _, tt := range []struct{ name, lines, property, says string }{
		{"not a number", "controller.quorum.election.timeout.ms=soon", "controller.quorum.election.timeout.ms", `"soon"`},
		{"below", "metadata.log.max.snapshot.interval.ms=-1", "metadata.log.max.snapshot.interval.ms", "0 or more"},
		{"voter twice", "controller.quorum.voters=1@a:1,1@b:2", "controller.quorum.voters", "node 1 twice"},
		{"unreachable voter", "controller.quorum.voters=1@0.0.0.0:1", "controller.quorum.voters", "cannot be reached"},
		{"not a voter", "controller.quorum.voters=2@a:1", "controller.quorum.voters", "node 1"},
		{"JKS", "listener.security.protocol.map=CONTROLLER:SSL\nssl.keystore.location=/k.jks", "ssl.keystore.type", "only PEM"},
		{"no certificate", "listener.security.protocol.map=CONTROLLER:SSL", "ssl.keystore.location", "needs a certificate"},
		{"no key file", "listener.security.protocol.map=CONTROLLER:SSL\nssl.keystore.type=PEM\nssl.keystore.location=/nowhere.pem", "ssl.keystore.location", "cannot be read"},
		{"client auth", "listener.security.protocol.map=CONTROLLER:SSL\nssl.client.auth=maybe", "ssl.client.auth", "required, requested or none"},
		{"GSSAPI", sasl + jaas + "x", "sasl.mechanism.controller.protocol", "only PLAIN"},
		{"SCRAM as well", sasl + "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256\nsasl.mechanism.controller.protocol=PLAIN\n" +
			jaas + plainModule + ` required username="a" password="b";`, "sasl.enabled.mechanisms", "only PLAIN"},
		{"no JAAS", sasl + plain, "listener.name.controller.plain.sasl.jaas.config", "is not set"},
		{"another module", sasl + plain + jaas + "com.example.Login required;", "listener.name.controller.plain.sasl.jaas.config", "another module"},
		{"no flag", sasl + plain + jaas + plainModule + ` username="a";`, "listener.name.controller.plain.sasl.jaas.config", "control flag"},
		{"no end", sasl + plain + jaas + plainModule + ` required username="hush"`, "listener.name.controller.plain.sasl.jaas.config", "MODULE FLAG"},
		{"open quotation", sasl + plain + jaas + plainModule + ` required username="hush;`, "listener.name.controller.plain.sasl.jaas.config", "quotation"},
		{"no user", sasl + plain + jaas + plainModule + ` required user_a="hush";`, "listener.name.controller.plain.sasl.jaas.config", "no username"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("some.properties", controllerText+tt.lines)
			var e *Error
			if !errors.As(err, &e) || e.File != "some.properties" || e.Property != tt.property || !strings.Contains(e.Reason, tt.says) {
				t.Errorf("%v", err)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the message repeats a secret: %v", err)
			}
		})
	}
}

func TestParse_ReadsCredentialsOfTheListener(t *testing.T) {
	n, err := Parse("f", controllerText+`listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT
sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.sasl.enabled.mechanisms=PLAIN
plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="other" password="x";
listener.name.controller.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
  username="node" password="a\\"b" user_node='a"b' \
  user_admin=word ;
`)
	if err != nil {
		t.Fatal(err)
	}
	s := n.Outgoing.SASL
	if s.Username != "node" || string(s.Password) != `a"b` {
		t.Errorf("outgoing %q %q", s.Username, string(s.Password))
	}
	users := n.Incoming["CONTROLLER"].SASL.Users
	if len(users) != 2 || string(users["node"]) != `a"b` || string(users["admin"]) != "word" {
		t.Errorf("users %d: %q", len(users), users)
	}
	if slices.Contains(n.Ignored, "sasl.enabled.mechanisms") {
		t.Errorf("ignored %v", n.Ignored)
	}
}

func TestReadIdentity_TakesWhatReadRefuses(t *testing.T) {
	s, err := newSource("f", "process.roles=controller\nnode.id=1\ncontroller.listener.names=controller\nlisteners=CONTROLLER://:9\nlog.dir=/x\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.node(); err == nil {
		t.Error("a node without a quorum was accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(controllerText)
	f.Add(controllerText + "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT\nplain.sasl.jaas.config=" + plainModule + " required a=b;")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "location") {
			return // reads no files
		}
		n, err := Parse("f", text)
		if (n == nil) == (err == nil) {
			t.Errorf("%v, %v", n, err)
		}
	})
}
