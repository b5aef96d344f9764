package kafka_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/need"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

const (
	controllerProperties = "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://h1:9093\ncontroller.listener.names=CONTROLLER\n" +
		"controller.quorum.bootstrap.servers=h1:9093,h2:9093\nlog.dirs=/d\n"
	brokerProperties = "process.roles=broker\nnode.id=10\nlisteners=PLAINTEXT://h1:9092\ncontroller.listener.names=CONTROLLER\n" +
		"controller.quorum.bootstrap.servers=h1:9093\nlog.dirs=/d\n"
	staticProperties = controllerProperties + "controller.quorum.voters=1@h1:9093,2@h2:9093\n"
)

// configCase is lines over one of the texts above; those of a name replace the earlier one. Where ours and Kafka's verdict differ
// on purpose, why says so.
type configCase struct {
	base, lines string
	old         bool   // 4.0 decides otherwise than 4.4, which is what we follow
	why         string // Kafka accepts, we refuse
}

var configCases = []configCase{
	{base: controllerProperties},
	{base: staticProperties},
	{base: brokerProperties},
	{base: controllerProperties, lines: "broker.id=1"},
	{base: controllerProperties, lines: "broker.id=2"},
	{base: controllerProperties, lines: "node.id=-1"},
	{base: controllerProperties, lines: "node.id=x"},
	{base: controllerProperties, lines: "node.id=3000000000"},
	{base: controllerProperties, lines: "process.roles=", old: true},
	{base: controllerProperties, lines: "process.roles=leader"},
	{base: controllerProperties, lines: "process.roles=controller,controller", old: true},
	{base: controllerProperties, lines: "log.dirs=", old: true},
	{base: controllerProperties, lines: "log.dirs=/a,,/b", old: true},
	{base: controllerProperties, lines: "log.dirs=/a,/a", old: true},
	{base: controllerProperties, lines: "metadata.log.dir=/m"},
	{base: controllerProperties, lines: "controller.listener.names="},
	{base: controllerProperties, lines: "controller.listener.names=OTHER"},
	{base: controllerProperties, lines: "controller.listener.names=controller"},
	{base: controllerProperties, lines: "controller.listener.names=CONTROLLER,CONTROLLER", old: true},
	{base: controllerProperties, lines: "controller.quorum.bootstrap.servers="},
	{base: controllerProperties, lines: "controller.quorum.bootstrap.servers=h1"},
	{base: controllerProperties, lines: "controller.quorum.bootstrap.servers=h 1:9"},
	{base: controllerProperties, lines: "controller.quorum.bootstrap.servers=[::1]:9093"},
	{base: controllerProperties, lines: "controller.quorum.bootstrap.servers=:9093", why: "a bootstrap server without a host leads nowhere"},
	{base: staticProperties, lines: "node.id=3"},
	{base: staticProperties, lines: "controller.quorum.voters=1@h1"},
	{base: staticProperties, lines: "controller.quorum.voters=h1:9093"},
	{base: staticProperties, lines: "controller.quorum.voters=x@h1:9093"},
	{base: staticProperties, lines: "controller.quorum.voters=1@h1:9093,1@h2:9093", why: "one id for two addresses is a mistake"},
	{base: staticProperties, lines: "listeners=CONTROLLER://:9093", old: true},
	{base: staticProperties, lines: "listeners=CONTROLLER://0.0.0.0:9093", old: true},
	{base: staticProperties, lines: "listeners=CONTROLLER://0.0.0.0:9093\nadvertised.listeners=CONTROLLER://p1:1234"},
	{base: controllerProperties, lines: "advertised.listeners=CONTROLLER://0.0.0.0:9093"},
	{base: controllerProperties, lines: "advertised.listeners=CONTROLLER://h9:7"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1:99999", why: "Kafka finds out when it binds"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1"},
	{base: controllerProperties, lines: "listeners=CONTROLLER:h1:1"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1:1,CONTROLLER://h1:2"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1:1,PLAINTEXT://h1:2"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1:1,C2://h1:2\ncontroller.listener.names=CONTROLLER,C2"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1:1,C2://h1:1\ncontroller.listener.names=CONTROLLER,C2"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://127.0.0.1:1,C2://[::1]:1\ncontroller.listener.names=CONTROLLER,C2"},
	{base: controllerProperties, lines: "listeners=CONTROLLER://h1:0,C2://h1:0\ncontroller.listener.names=C2,CONTROLLER"},
	{base: controllerProperties, lines: "listener.security.protocol.map=CONTROLLER:SSL", why: "Kafka finds out that there is no certificate when it starts the listener"},
	{base: controllerProperties, lines: "listener.security.protocol.map=CONTROLLER:TLS"},
	{base: controllerProperties, lines: "listener.security.protocol.map=OTHER:SSL"},
	{base: controllerProperties, lines: "listener.security.protocol.map=CONTROLLER"},
	{base: controllerProperties, lines: "listeners=SSL://h1:1\ncontroller.listener.names=SSL", why: "Kafka finds out that there is no certificate when it starts the listener"},
	{base: controllerProperties, lines: "listeners=SSL://h1:1,C2://h1:2\ncontroller.listener.names=SSL,C2"},
	{base: brokerProperties, lines: "node.id=1\ncontroller.quorum.voters=1@h1:9093"},
	{base: brokerProperties, lines: "controller.listener.names="},
	{base: brokerProperties, lines: "controller.listener.names=controller"},
	{base: brokerProperties, lines: "controller.listener.names=controller\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"},
	{base: controllerProperties, lines: "controller.listener.names=controller\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT"},
	{base: controllerProperties, lines: "listeners=controller://h1:9093"},
	{base: controllerProperties, lines: "listener.security.protocol.map=controller:plaintext"},
	{base: brokerProperties, lines: "controller.listener.names=PLAINTEXT"},
	{base: brokerProperties, lines: "listeners=PLAINTEXT://h1:1,CONTROLLER://h1:2"},
	{base: brokerProperties, lines: "listener.security.protocol.map=PLAINTEXT:PLAINTEXT"},
	{base: brokerProperties, lines: "controller.quorum.auto.join.enable=true", old: true},
	{base: brokerProperties, lines: "advertised.listeners=OTHER://h1:9"},
	{base: brokerProperties, lines: "advertised.listeners=PLAINTEXT://0.0.0.0:9"},
	{base: controllerProperties, lines: "controller.quorum.auto.join.enable=yes", old: true},
	{base: controllerProperties, lines: "controller.quorum.auto.join.enable=TRUE"},
	{base: controllerProperties, lines: "controller.quorum.fetch.timeout.ms=-1", old: true},
	{base: controllerProperties, lines: "controller.quorum.fetch.timeout.ms=0"},
	{base: controllerProperties, lines: "controller.quorum.fetch.timeout.ms= 7 "},
	{base: controllerProperties, lines: "controller.quorum.fetch.timeout.ms=1.5"},
	{base: controllerProperties, lines: "controller.quorum.fetch.max.bytes=0", old: true},
	{base: controllerProperties, lines: "metadata.log.segment.bytes=1024", old: true},
	{base: controllerProperties, lines: "metadata.log.max.snapshot.interval.ms=-1"},
	{base: controllerProperties, lines: "metadata.max.idle.interval.ms=0"},
	{base: controllerProperties, lines: "connections.max.idle.ms=100"},
	{base: controllerProperties, lines: "socket.request.max.bytes=0"},
	{base: strings.Replace(controllerProperties, "node.id=1\n", "", 1)},
	{base: strings.Replace(controllerProperties, "node.id=1\n", "broker.id=1\n", 1)},
	{base: strings.Replace(controllerProperties, "process.roles=controller\n", "", 1)},
	{base: strings.Replace(controllerProperties, "controller.listener.names=CONTROLLER\n", "", 1)},
	{base: strings.Replace(controllerProperties, "log.dirs=/d\n", "", 1)},
}

// propertyDefaults are the values of a file that sets none of them.
func propertyDefaults(n *properties.Node) map[string]string {
	q, m, s := n.Quorum, n.MetadataLog, n.Network
	values := map[string]any{
		"controller.quorum.election.timeout.ms":           q.Timeouts.ElectionMs,
		"controller.quorum.fetch.timeout.ms":              q.Timeouts.FetchMs,
		"controller.quorum.election.backoff.max.ms":       q.Timeouts.ElectionBackoffMaxMs,
		"controller.quorum.request.timeout.ms":            q.Timeouts.RequestMs,
		"controller.quorum.retry.backoff.ms":              q.Timeouts.RetryBackoffMs,
		"controller.quorum.append.linger.ms":              q.Timeouts.AppendLingerMs,
		"controller.quorum.fetch.max.bytes":               q.FetchMaxBytes,
		"controller.quorum.fetch.snapshot.max.bytes":      q.FetchSnapshotMaxBytes,
		"controller.quorum.auto.join.enable":              q.AutoJoin,
		"metadata.log.segment.bytes":                      m.SegmentBytes,
		"metadata.log.segment.ms":                         m.SegmentMs,
		"metadata.max.retention.bytes":                    m.MaxRetentionBytes,
		"metadata.max.retention.ms":                       m.MaxRetentionMs,
		"metadata.log.max.record.bytes.between.snapshots": m.MaxBytesBetweenSnapshots,
		"metadata.log.max.snapshot.interval.ms":           m.MaxSnapshotIntervalMs,
		"metadata.max.idle.interval.ms":                   m.MaxIdleIntervalMs,
		"internal.metadata.max.batch.size.in.bytes":       m.MaxBatchBytes,
		"internal.metadata.delete.delay.millis":           m.DeleteDelayMs,
		"socket.request.max.bytes":                        s.RequestMaxBytes,
		"connections.max.idle.ms":                         s.MaxIdleMs,
		"socket.connection.setup.timeout.ms":              s.SetupTimeoutMs,
		"socket.connection.setup.timeout.max.ms":          s.SetupTimeoutMaxMs,
		"connection.failed.authentication.delay.ms":       s.FailedAuthDelayMs,
		"sasl.server.max.receive.size":                    s.SASLReceiveMaxBytes,
		"socket.receive.buffer.bytes":                     s.ReceiveBufferBytes,
		"socket.send.buffer.bytes":                        s.SendBufferBytes,
		"max.connections":                                 s.ConnectionsMax,
		"max.connections.per.ip":                          s.ConnectionsMaxPerIP,
		"controller.socket.timeout.ms":                    s.ControllerTimeoutMs,
		"broker.heartbeat.interval.ms":                    s.HeartbeatIntervalMs,
		"broker.session.timeout.ms":                       s.BrokerSessionTimeout,
	}
	texts := map[string]string{}
	for name, value := range values {
		texts[name] = fmt.Sprint(value)
	}
	return texts
}

// TestKafka_ReadsPropertiesAsWeDo puts property files before KafkaConfig and package properties: the same verdicts, the same
// advertised addresses, the same defaults.
func TestKafka_ReadsPropertiesAsWeDo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	for _, program := range []string{"java", "javac", "mvn"} {
		need.For(t, program)
	}
	releases := []string{"4.4.0"}
	if kafkatest.Matrix() {
		releases = append(releases, "4.0.0")
	}
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			dir := t.TempDir()
			var args []string
			for i, c := range configCases {
				file := filepath.Join(dir, fmt.Sprintf("%02d.properties", i))
				if err := os.WriteFile(file, []byte(c.base+c.lines), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, file)
			}
			first, err := properties.Read(args[0])
			if err != nil {
				t.Fatal(err)
			}
			defaults := propertyDefaults(first)
			args = append(args, "--")
			for name := range defaults {
				args = append(args, name)
			}
			verdicts, values := readByKafka(t, release, args)
			for name, want := range defaults {
				if got := values[name]; got != want && got != "absent" {
					t.Errorf("%s is %s by default in Kafka, %s here", name, got, want)
				}
			}
			if len(verdicts) != len(configCases) {
				t.Fatalf("%d verdicts of Kafka on %d files", len(verdicts), len(configCases))
			}
			for i, c := range configCases {
				if c.old && release == "4.0.0" {
					continue
				}
				compareVerdicts(t, c, args[i], verdicts[i])
			}
		})
	}
}

func readByKafka(t *testing.T, release string, args []string) (verdicts []string, values map[string]string) {
	t.Helper()
	ctx := kafkatest.Deadline(t, time.Minute)
	dist, err := kafka.DefaultSource("", nil)(ctx, kafka.MustRelease(release))
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.Run(dist.Command(ctx, kafka.JVM{}, filepath.Join("testdata", "config", "ReadProperties.java"), args...))
	if err != nil {
		t.Fatal(err)
	}
	values = map[string]string{}
	for l := range strings.Lines(out) {
		l = strings.TrimSuffix(l, "\n")
		if rest, ok := strings.CutPrefix(l, "value\t"); ok {
			name, value, _ := strings.Cut(rest, "\t")
			values[name] = value
		} else if strings.HasPrefix(l, "accepted\t") || strings.HasPrefix(l, "refused\t") {
			verdicts = append(verdicts, l)
		}
	}
	return verdicts, values
}

func compareVerdicts(t *testing.T, c configCase, file, kafkas string) {
	t.Helper()
	verdict, detail, _ := strings.Cut(kafkas, "\t")
	n, err := properties.Read(file)
	text := strings.ReplaceAll(c.base+c.lines, "\n", "; ")
	switch {
	case (err == nil) != (verdict == "accepted") && (c.why == "" || verdict == "refused"):
		t.Errorf("%s\n  Kafka: %s\n  ours:  %v", text, kafkas, err)
	case err != nil && !strings.HasPrefix(err.Error(), file+": "):
		t.Errorf("%s\n  the message does not name the file: %v", text, err)
	case err == nil && verdict == "accepted":
		var ours []string
		for _, l := range n.Advertised {
			ours = append(ours, fmt.Sprintf("%s %v %s", l.Name, l.Protocol, l.Address))
		}
		if kafkas := endpoints(detail); !slices.Equal(kafkas, ours) {
			t.Errorf("%s\n  Kafka advertises %s\n  ours %s", text, detail, ours)
		}
	}
}

var (
	classForm  = regexp.MustCompile(`EndPoint\(([^,]*),(\d+),ListenerName\(([^)]*)\),(\w+)\)`)
	recordForm = regexp.MustCompile(`Endpoint\[listener=([^,]*), securityProtocol=(\w+), host=([^,]*), port=(\d+)\]|Endpoint\(listenerName='([^']*)', securityProtocol=(\w+), host='([^']*)', port=(\d+)\)`)
)

// endpoints reads the printed form of Kafka's endpoints: EndPoint of 4.0, Endpoint of later releases.
func endpoints(text string) (all []string) {
	add := func(name, protocol, host, port string) {
		if host == "null" {
			host = ""
		}
		all = append(all, fmt.Sprintf("%s %s %s:%s", name, protocol, host, port))
	}
	for _, m := range classForm.FindAllStringSubmatch(text, -1) {
		add(m[3], m[4], m[1], m[2])
	}
	for _, m := range recordForm.FindAllStringSubmatch(text, -1) {
		add(m[1]+m[5], m[2]+m[6], m[3]+m[7], m[4]+m[8])
	}
	return all
}
