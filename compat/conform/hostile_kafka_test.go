package conform

import (
	"regexp"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
)

// TestKafka_LivesThroughTheHostileGroup attacks the leader and the follower of real quorums. Killers end them, as is known, and they are
// started again.
func TestKafka_LivesThroughTheHostileGroup(t *testing.T) {
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
			ctx := kafkatest.Deadline(t, 8*time.Minute)
			x := quorumUnderTest{release, kafka.Dynamic, false}
			q := startQuorum(ctx, t, x)
			for _, id := range q.Controllers() {
				match := "^hostile/"
				if *ownMatch != "" {
					match = *ownMatch
				}
				o := Options{
					Address: q.Node(id).Listener, NodeID: id, ClusterID: q.ClusterID, Release: release, Hostility: Hostile,
					Match: regexp.MustCompile(match), Restart: restartingNode(q, id),
				}
				if kafkatest.Matrix() || *ownRelease != "" {
					o.Hostility = Killers
				}
				report, err := Run(ctx, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %s", report.Target, report.Summary())
				for i := range report.Results {
					if r := &report.Results[i]; r.Outcome == Known || r.Took > 3*time.Second {
						t.Logf("%s: %s %s (%v)", r.Case.ID, r.Outcome, r.Why, r.Took)
					}
				}
				if report.Verdict() != Passed {
					_ = report.WriteText(t.Output(), false)
					t.Fail()
				}
				keepReport(t, x, report)
			}
		})
	}
}
