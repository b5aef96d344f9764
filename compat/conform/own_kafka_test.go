package conform

import (
	"context"
	"flag"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

var (
	ownMatch   = flag.String("scenario", "", "only scenarios whose id matches")
	ownRelease = flag.String("release", "", "only this release")
)

// ownTimeouts let elections come soon, and yet leave time for a conversation in between.
var ownTimeouts = kafka.Timeouts{ElectionMs: 400, FetchMs: 2000, RequestMs: 1000, BackoffMaxMs: 300, IdleIntervalMs: 60000}

func TestKafka_PlaysItsPartInAQuorum(t *testing.T) {
	kafkatest.NeedKafka(t)
	releases := []string{"4.4.0"}
	if kafkatest.Matrix() || *ownRelease != "" {
		releases = []string{"4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}
	}
	for _, release := range releases {
		if *ownRelease != "" && *ownRelease != release {
			continue
		}
		t.Run(release, func(t *testing.T) {
			hostility := Peaceful
			if release == "4.4.0" || *keepIn != "" || *ownMatch != "" {
				hostility = Hostile
			}
			if *killers {
				hostility = Killers // each restart of a JVM takes its time
			}
			match := "^(unattached|follower|candidate|leader)/|durability/vote-survives|hostile/"
			if *killers || kafkatest.Matrix() && (release == "4.0.0" || release == "4.4.0") {
				match = "" // each restart of a JVM takes its time
			}
			if *ownMatch != "" {
				match = *ownMatch
			}
			ctx := kafkatest.Deadline(t, 25*time.Minute)
			q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Static, Timeouts: ownTimeouts, RaftLog: kafka.Debug})
			if err := q.Start(ctx, 1); err != nil {
				t.Fatal(err)
			}
			report, err := RunOwn(ctx, OwnOptions{
				Options: Options{Address: q.Node(1).Listener, NodeID: 1, ClusterID: q.ClusterID, Match: regexp.MustCompile(match), Release: release, Restart: restarting(q), Hostility: hostility, Dying: time.Second, Progress: keeping(t, release, "own-"+nameOf(match))},
				Voters:  map[kraft.NodeID]string{2: q.Node(2).Listener, 3: q.Node(3).Listener},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s", report.Target, report.Summary())
			if report.Verdict() != Passed {
				_ = report.WriteText(t.Output(), false)
				t.Fail()
			}
			if n := ownTwins(t, report); n == 0 {
				t.Error("no broken twin")
			}
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

// nameOf is a part of a file's name for a pattern of scenarios.
func nameOf(match string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, match)
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
