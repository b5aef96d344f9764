package conform

import (
	"context"
	"flag"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
)

var (
	ownMatch   = flag.String("scenario", "", "only scenarios whose id matches")
	ownRelease = flag.String("release", "", "only this release")
)

// ownTimeouts let elections come soon, and yet leave time for a conversation in between.
var ownTimeouts = kafka.Timeouts{ElectionMs: 400, FetchMs: 2000, RequestMs: 1000, BackoffMaxMs: 300, IdleIntervalMs: 60000}

// ownQuorum is one of which a real controller is a part, and the suite the rest.
type ownQuorum struct {
	release  string
	voters   kafka.Voters
	protocol secure.Protocol
	match    string
}

func ownQuorums() []ownQuorum {
	const some = "^(unattached|follower|candidate|leader|dynamic)/|durability/vote-survives" // each restart of a JVM takes its time
	switch {
	case *ownRelease != "":
		return []ownQuorum{{*ownRelease, kafka.Static, secure.Plaintext, *ownMatch}, {*ownRelease, kafka.Dynamic, secure.Plaintext, *ownMatch}}
	case kafkatest.Matrix():
		return []ownQuorum{
			{"4.0.0", kafka.Static, secure.Plaintext, ""}, {"4.0.2", kafka.Dynamic, secure.Plaintext, some}, {"4.1.2", kafka.Static, secure.Plaintext, some},
			{"4.2.1", kafka.Dynamic, secure.Plaintext, some}, {"4.3.1", kafka.Dynamic, secure.Plaintext, some}, {"4.4.0", kafka.Dynamic, secure.Plaintext, ""},
		}
	default:
		return []ownQuorum{{"4.4.0", kafka.Static, secure.Plaintext, some + "|hostile/"}, {"4.4.0", kafka.Dynamic, secure.SASLSSL, "^dynamic/|^follower/a"}}
	}
}

// TestKafka_PlaysItsPartInAQuorum drives real controllers through roles, in quorums of both kinds, and over TLS and SASL.
func TestKafka_PlaysItsPartInAQuorum(t *testing.T) {
	kafkatest.NeedKafka(t)
	for _, x := range ownQuorums() {
		t.Run(fmt.Sprintf("%s/%s/%s", x.release, x.voters, x.protocol), func(t *testing.T) {
			if kafkatest.Matrix() {
				t.Parallel() // a quorum of one process waits most of its time
			}
			ctx := kafkatest.Deadline(t, 25*time.Minute)
			guarded := kafkatest.Secure(t, x.protocol)
			q := kafkatest.New(t, kafka.Config{
				Release: kafka.MustRelease(x.release), Voters: x.voters, Timeouts: ownTimeouts, RaftLog: kafka.Debug, Properties: guarded.Properties, AdminProperties: guarded.Properties,
			})
			if err := q.Start(ctx, 1); err != nil {
				t.Fatal(err)
			}
			o := ownOptions(q, x.voters)
			o.Release, o.Match, o.Dying = x.release, regexp.MustCompile(x.match), time.Second
			switch {
			case *killers:
				o.Hostility = Killers
			case x.release == "4.4.0":
				o.Hostility = Hostile
			}
			if x.protocol != secure.Plaintext {
				guard := clientConfig(t, guarded.Properties, x.protocol, kafkatest.SASLPassword)
				guard.SASL.Users = map[string]secure.Password{guard.SASL.Username: guard.SASL.Password}
				o.Dial, o.Guard = guard.Dial, func(l net.Listener) net.Listener { return secure.Listen(l, guard, secure.ListenOptions{}) }
			}
			playsWell(t, o)
		})
	}
}

// ownTwins breaks each field that a scenario asserted, and expects the assertion to fail.
func ownTwins(t *testing.T, report *Report) (n int) {
	t.Helper()
	for i := range report.Results {
		r := &report.Results[i]
		if r.Outcome == Passed && len(r.judged) == 0 {
			t.Errorf("%s asserts nothing", r.Case.ID)
		}
		for _, j := range r.judged {
			wants, err := parseWants(j.wants, j.version)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wants {
				twin := deepCopy(reflect.ValueOf(j.message)).Interface()
				if err := breakField(j.facts, twin, w); err != nil {
					t.Errorf("%s: %s: %v", r.Case.ID, w, err)
					continue
				}
				n++
				if w.holds(j.facts, twin, 0) == nil {
					t.Errorf("%s: %s holds of a node that breaks it", r.Case.ID, w)
				}
				if m, ok := j.message.(kmsg.Response); ok && string(m.AppendTo(nil)) == string(twin.(kmsg.Response).AppendTo(nil)) {
					t.Errorf("%s: v%d does not carry %s", r.Case.ID, j.version, w)
				}
				if m, ok := j.message.(kmsg.Request); ok && string(m.AppendTo(nil)) == string(twin.(kmsg.Request).AppendTo(nil)) {
					t.Errorf("%s: v%d does not carry %s", r.Case.ID, j.version, w)
				}
			}
		}
	}
	return n
}

// deepCopy copies a message with all that it points to.
func deepCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Struct:
		c.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				c.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	default:
		c.Set(v)
	}
	return c
}

// restarting kills node 1 and starts it again.
func restarting(q *kafka.Quorum) func(context.Context) error { return restartingNode(q, 1) }

// restartingNode kills a node, if it runs, and starts it again.
func restartingNode(q *kafka.Quorum, id kraft.NodeID) func(context.Context) error {
	return func(ctx context.Context) error {
		if q.Running(id) {
			if err := q.Kill(id); err != nil {
				return err
			}
		}
		return q.Restart(ctx, id)
	}
}
