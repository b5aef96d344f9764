package conform

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// TestKafka_LivesThroughTheHostileGroup attacks the leader and the follower of real quorums. Killers end the follower, as is known, and it
// is started again.
func TestKafka_LivesThroughTheHostileGroup(t *testing.T) {
	kafkatest.NeedKafka(t)
	if *keepIn == "" && *ownRelease == "" {
		t.Skip("starts controllers of six builds fifty times: make conform-matrix; TestKafka_AnswersOverTLSAndSASL attacks one of 4.4.0 and one of ours")
	}
	releases := []string{"4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}
	for _, release := range releases {
		if *ownRelease != "" && *ownRelease != release {
			continue
		}
		t.Run(release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 15*time.Minute)
			x := quorumUnderTest{release, kafka.Dynamic, release == "4.4.0"} // one with a snapshot, of which a few attacks are
			q := startQuorum(ctx, t, x)
			for i, id := range followerFirst(ctx, t, q) {
				match := "^hostile/"
				if *ownMatch != "" {
					match = *ownMatch
				}
				o := Options{
					Address: q.Node(id).Listener, NodeID: id, ClusterID: q.ClusterID, Release: release, Hostility: Hostile,
					Match: regexp.MustCompile(match), Restart: restartingNode(q, id),
				}
				o.Progress = keeping(t, release, fmt.Sprintf("hostile-%s-%s", nameOf(match), id))
				if *killers {
					o.Hostility = Killers
				}
				if i > 0 && *killers && *ownMatch == "" { // each restart of a JVM takes its time
					o.Match = regexp.MustCompile("^hostile/.*the-leader$|^hostile/[^k]")
				}
				report, err := Run(ctx, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %s", report.Target, report.Summary())
				if report.Verdict() != Passed {
					_ = report.WriteText(t.Output(), false)
					t.Fail()
				}
			}
		})
	}
}

// followerFirst are the controllers, the leader last.
func followerFirst(ctx context.Context, t *testing.T, q *kafka.Quorum) []kraft.NodeID {
	t.Helper()
	target, err := discover(ctx, &Options{Address: q.Nodes()[0].Listener, NodeID: kraft.NoNode})
	if err != nil {
		t.Fatal(err)
	}
	ids := slices.DeleteFunc(q.Controllers(), func(id kraft.NodeID) bool { return id == target.Leader })
	return append(ids, target.Leader)
}
