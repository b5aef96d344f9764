package kafka_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

// TestKafka_TakesOurCredentials has one real controller listen by each protocol, and speaks to it by what package properties makes of
// the same file.
func TestKafka_TakesOurCredentials(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	ctx := kafkatest.Deadline(t, 3*time.Minute)
	all, names, ports := kafkatest.EveryProtocol(t)
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Controllers: 1, Voters: kafka.Standalone, Properties: all})
	if _, err := q.StartAll(ctx); err != nil {
		t.Fatal(err)
	}

	for i, p := range secure.Protocols {
		t.Run(p.String(), func(t *testing.T) {
			address := fmt.Sprintf("127.0.0.1:%d", ports[i])
			mine := maps.Clone(all)
			mine["node.id"], mine["process.roles"], mine["log.dirs"] = "2", "controller", "/none"
			mine["controller.listener.names"] = strings.Join(append([]string{names[i]}, names...), ",") // the first one is dialled
			node, err := properties.Parse("mine.properties", kafka.Properties(mine).String())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := node.Outgoing.Dial(ctx, address)
			for ; errors.Is(err, syscall.ECONNREFUSED); conn, err = node.Outgoing.Dial(ctx, address) {
				time.Sleep(20 * time.Millisecond) // an only voter leads before it listens
			}
			if err != nil {
				t.Fatal(err)
			}
			admin := kafka.NewAdmin(conn, "understudy")
			defer func() { _ = admin.Close() }()
			resp, err := admin.Request(ctx, kmsg.NewPtrDescribeQuorumRequest())
			if err != nil || resp.(*kmsg.DescribeQuorumResponse).ErrorCode != 0 && resp.(*kmsg.DescribeQuorumResponse).ErrorCode != int16(kraft.InvalidRequest) {
				t.Errorf("DescribeQuorum: %+v, %v", resp, err)
			}
			refused(t, p, node.Outgoing, func(c secure.Config) error {
				conn, err := c.Dial(ctx, address)
				if err != nil {
					return err
				}
				admin := kafka.NewAdmin(conn, "understudy")
				defer func() { _ = admin.Close() }()
				_, err = admin.Request(ctx, kmsg.NewPtrApiVersionsRequest()) // TLS 1.3 tells of a refused certificate only now
				return err
			})
		})
	}
}

// refused tries what Kafka must not take.
func refused(t *testing.T, p secure.Protocol, good secure.Config, try func(secure.Config) error) {
	t.Helper()
	if p.SASL() {
		c := good
		c.SASL.Password = "guess"
		if err := try(c); err == nil || !strings.Contains(err.Error(), "Invalid username or password") || !strings.Contains(err.Error(), "127.0.0.1:") {
			t.Errorf("a wrong password: %v", err)
		}
	}
	if p.TLS() {
		c := good
		c.TLS.Certificate = nil
		if err := try(c); err == nil {
			t.Error("no client certificate: accepted")
		}
		c = good
		c.TLS.Roots, _ = secure.ParseRoots(kafkatest.Secure(t, secure.SSL).CA.Certificate())
		if err := try(c); err == nil || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("a server of another authority: %v", err)
		}
	}
	for _, other := range secure.Protocols {
		c := good
		if c.Protocol = other; other.TLS() == p.TLS() {
			continue
		}
		if err := try(c); err == nil {
			t.Errorf("%v at a listener of %v: accepted", other, p)
		}
	}
}
