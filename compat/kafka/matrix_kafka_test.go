package kafka_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// onlyMatrix ends a test that belongs to the long tier, which `make test-matrix` selects.
func onlyMatrix(t *testing.T) {
	t.Helper()
	if !kafkatest.Matrix() {
		t.Skip("long tier; make test-matrix runs it")
	}
}

func TestMatrix_MixedReleasesFormOneQuorum(t *testing.T) {
	onlyMatrix(t)
	for _, c := range []struct {
		voters   kafka.Voters
		releases [3]string
	}{
		{kafka.Static, [3]string{"4.0.2", "4.2.1", "4.4.0"}},
		{kafka.Dynamic, [3]string{"4.4.0", "4.0.2", "4.2.1"}},
		{kafka.Static, [3]string{"3.9.2", "4.1.2", "4.4.0"}},
	} {
		t.Run(fmt.Sprintf("%s %v", c.voters, c.releases), func(t *testing.T) {
			cfg := kafka.Config{Release: kafka.MustRelease(c.releases[0]), Voters: c.voters, Releases: map[kraft.NodeID]kafka.Release{}}
			for i, r := range c.releases {
				cfg.Releases[kraft.NodeID(i+1)] = kafka.MustRelease(r)
			}
			ctx := kafkatest.Deadline(t, 6*time.Minute)
			q, leader := kafkatest.Start(t, cfg)
			for range 2 {
				must(t, q.Kill(leader.Node))
				next, err := q.WaitEpochAbove(ctx, leader.Epoch)
				must(t, err)
				must(t, q.Restart(ctx, leader.Node))
				must(t, q.WaitReady(ctx))
				leader = next
			}
			truth := q.Truth()
			oneLeaderEach(t, truth)
			if truth.UnparsedLines != 0 || len(truth.Fatals) != 0 {
				t.Errorf("%d log lines not understood, fatal faults %v", truth.UnparsedLines, truth.Fatals)
			}
		})
	}
}

func TestMatrix_CombinedNodesServeClients(t *testing.T) {
	onlyMatrix(t)
	for _, release := range []string{"3.9.2", "4.0.0", "4.4.0"} {
		t.Run(release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 6*time.Minute)
			q, leader := kafkatest.Start(t, kafka.Config{Release: kafka.MustRelease(release), Combined: true, Voters: kafka.Dynamic})
			must(t, q.CreateTopics(ctx, 3, "combined"))
			must(t, q.Kill(leader.Node))
			_, err := q.WaitEpochAbove(ctx, leader.Epoch)
			must(t, err)
			must(t, q.Restart(ctx, leader.Node))
			must(t, q.WaitReady(ctx))
		})
	}
}

// TestMatrix_WipedFollowerComesBackBySnapshot proves SnapshotsSoon: the keys differ between releases, and a wrong
// one is ignored without a word.
func TestMatrix_WipedFollowerComesBackBySnapshot(t *testing.T) {
	onlyMatrix(t)
	for _, c := range []quorumCase{{"4.0.2", kafka.Static}, {"4.2.1", kafka.Dynamic}, {"4.4.0", kafka.Dynamic}} {
		t.Run(c.release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 4*time.Minute)
			release := kafka.MustRelease(c.release)
			q, leader := kafkatest.Start(t, kafka.Config{Release: release, Voters: c.voters, Properties: release.SnapshotsSoon()})
			follower := other(q, leader.Node)
			must(t, q.Stop(ctx, follower))
			for i := range 8 {
				must(t, q.WriteMetadata(ctx, fmt.Sprint("batch-", i), 40))
			}
			checkpoints := filepath.Join(q.Node(leader.Node).DataDir, "__cluster_metadata-0", "*.checkpoint")
			must(t, q.Wait(ctx, "snapshots on the leader", func(kafka.Truth) bool {
				files, _ := filepath.Glob(checkpoints)
				return len(files) > 1
			}))
			must(t, q.Wipe(follower))
			must(t, q.Restart(ctx, follower))
			must(t, q.WaitReady(ctx))
			found := false
			for _, l := range q.Truth().Notable {
				found = found || strings.Contains(l, "node "+follower.String()) && strings.Contains(l, "Fully truncated the log")
			}
			if !found {
				t.Errorf("node %s did not load a snapshot from the leader", follower)
			}
			if _, err := os.Stat(filepath.Join(q.Node(follower).DataDir, "meta.properties")); err != nil {
				t.Error(err)
			}
		})
	}
}
