package e2e

import (
	"context"
	"fmt"
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

// trouble is something that happens to correct controllers. None of it may be called a divergence.
type trouble struct {
	name   string
	cfg    kafka.Config
	faults []string // of the proxy: what was altered in flight is nobody's fault
	begin  func(ctx context.Context, t *testing.T, q *kafka.Quorum) kafka.Elected
	happen func(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected)
}

func troubles() []trouble {
	v440, v400 := kafka.MustRelease("4.4.0"), kafka.MustRelease("4.0.0")
	v421, v412 := kafka.MustRelease("4.2.1"), kafka.MustRelease("4.1.2")
	mixed := map[kraft.NodeID]kafka.Release{1: kafka.MustRelease("4.0.2"), 2: v421, 3: v440}
	snapshots := v421.SnapshotsSoon()
	return []trouble{
		{name: "leaders killed at fast timeouts on 4.4.0", cfg: kafka.Config{Release: v440, Voters: kafka.Dynamic, Timeouts: kafka.FastTimeouts}, happen: killLeaders(6)},
		{name: "leaders killed at fast timeouts on 4.0.0", cfg: kafka.Config{Release: v400, Timeouts: kafka.FastTimeouts}, happen: killLeaders(6)},
		{name: "leaders stopped in order on 4.1.2", cfg: kafka.Config{Release: v412, Timeouts: kafka.FastTimeouts}, happen: stopLeaders(5)},
		{name: "leaders paused on 4.4.0", cfg: kafka.Config{Release: v440, Voters: kafka.Dynamic, Brokers: 1}, happen: pauseLeaders(3)},
		{name: "leaders killed among mixed releases", cfg: kafka.Config{Release: v440, Releases: mixed, Voters: kafka.Dynamic, Brokers: 1}, happen: killLeaders(3)},
		{name: "combined nodes on 4.2.1", cfg: kafka.Config{Release: v421, Voters: kafka.Dynamic, Combined: true}, happen: killLeaders(2)},
		{name: "a wiped follower loads a snapshot on 4.2.1", cfg: kafka.Config{Release: v421, Voters: kafka.Dynamic, Properties: snapshots}, happen: wipeFollower},
		{name: "voters added and removed on 4.4.0", cfg: kafka.Config{Release: v440, Voters: kafka.Standalone}, begin: startAlone, happen: growAndShrink},
		{name: "kraft.version upgraded on 4.1.2", cfg: kafka.Config{Release: v412}, happen: upgrade},
		{name: "frames delayed dropped and cut on 4.4.0", cfg: kafka.Config{Release: v440, Voters: kafka.Dynamic}, happen: killLeaders(2), faults: []string{
			"delay 150ms Fetch response to 2", "drop Vote from 3 nth 2", "cut BeginQuorumEpoch nth 2", "cut Fetch response to 1 every 40", "delay 400ms Vote response to 1 first 3",
		}},
	}
}

// TestMatrix_LegalTroubleIsNoDivergence is the hunt for false alarms: real controllers in every kind of trouble that
// this machine can make.
func TestMatrix_LegalTroubleIsNoDivergence(t *testing.T) {
	kafkatest.NeedKafka(t)
	onlyMatrix(t)
	for _, x := range troubles() {
		t.Run(x.name, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 8*time.Minute)
			x.cfg.Proxied = true
			q := kafkatest.New(t, x.cfg)
			flags := []string{"--include-records"}
			for _, f := range x.faults {
				flags = append(flags, "--fault", f)
			}
			p := startProxy(t, q.Upstreams(), flags...)
			if x.begin == nil {
				x.begin = func(ctx context.Context, t *testing.T, q *kafka.Quorum) kafka.Elected {
					leader, err := q.StartAll(ctx)
					must(t, err)
					return leader
				}
			}
			x.happen(ctx, t, q, x.begin(ctx, t, q))
			must(t, q.Close())
			p.finish()

			v, code := check(t, p.segments()...)
			t.Logf("%s", &v)
			if len(x.faults) > 0 { // leaders may be elected by messages that the rules took off the wire
				if v.Verdict == "DIVERGES" || code == 1 {
					t.Errorf("check exits with %d: %s", code, v.Verdict)
				}
				return
			}
			if v.Verdict != "CONFORMS" || code != 0 || v.Judged*100 < v.Decisions*95 || v.Counts.Undecodable != 0 {
				t.Errorf("check exits with %d: %s", code, v.Verdict)
			}
			if err := compareWithTruth(&v, q.Truth(), votesOnWire(t, p.segments()[0])); err != nil {
				t.Error(err)
			}
		})
	}
}

type happening = func(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected)

func killLeaders(times int) happening {
	return func(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
		for i := range times {
			must(t, q.WriteMetadata(ctx, fmt.Sprint("before-", i), 20))
			must(t, q.Kill(leader.Node))
			next, err := q.WaitEpochAbove(ctx, leader.Epoch)
			must(t, err)
			must(t, q.Restart(ctx, leader.Node))
			must(t, q.WaitReady(ctx))
			leader, err = q.WaitEpochAbove(ctx, next.Epoch-1)
			must(t, err)
		}
	}
}

func stopLeaders(times int) happening {
	return func(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
		for i := range times {
			must(t, q.WriteMetadata(ctx, fmt.Sprint("before-", i), 20))
			must(t, q.Stop(ctx, leader.Node))
			next, err := q.WaitEpochAbove(ctx, leader.Epoch)
			must(t, err)
			must(t, q.Restart(ctx, leader.Node))
			must(t, q.WaitReady(ctx))
			leader, err = q.WaitEpochAbove(ctx, next.Epoch-1)
			must(t, err)
		}
	}
}

func pauseLeaders(times int) happening {
	return func(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
		for i := range times {
			must(t, q.WriteMetadata(ctx, fmt.Sprint("before-", i), 20))
			must(t, q.Pause(leader.Node))
			next, err := q.WaitEpochAbove(ctx, leader.Epoch)
			must(t, err)
			must(t, q.WriteMetadata(ctx, fmt.Sprint("meanwhile-", i), 20))
			must(t, q.Resume(leader.Node))
			must(t, q.Wait(ctx, "the old leader to follow", func(truth kafka.Truth) bool {
				for _, x := range truth.Transitions {
					if x.Node == leader.Node && x.Role == kafka.Follower && x.Epoch >= next.Epoch {
						return true
					}
				}
				return false
			}))
			must(t, q.WaitReady(ctx))
			leader, err = q.WaitEpochAbove(ctx, next.Epoch-1)
			must(t, err)
		}
	}
}

func wipeFollower(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
	follower := q.Controllers()[0]
	if follower == leader.Node {
		follower = q.Controllers()[1]
	}
	must(t, q.Stop(ctx, follower))
	for i := range 8 {
		must(t, q.WriteMetadata(ctx, fmt.Sprint("batch-", i), 40))
	}
	must(t, q.Wipe(follower))
	must(t, q.Restart(ctx, follower))
	must(t, q.WaitReady(ctx))
	killLeaders(1)(ctx, t, q, leader)
}

func startAlone(ctx context.Context, t *testing.T, q *kafka.Quorum) kafka.Elected {
	must(t, q.Start(ctx, 1))
	leader, err := q.WaitLeader(ctx)
	must(t, err)
	return leader
}

func growAndShrink(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
	must(t, q.Start(ctx, 2, 3))
	must(t, q.WaitReady(ctx))
	for _, id := range []kraft.NodeID{2, 3} {
		must(t, q.AddController(ctx, id))
	}
	must(t, q.WriteMetadata(ctx, "three", 20))
	must(t, q.RemoveController(ctx, 1))
	leader, err := q.WaitEpochAbove(ctx, leader.Epoch)
	must(t, err)
	must(t, q.WriteMetadata(ctx, "two", 20))
	must(t, q.AddController(ctx, 1))
	killLeaders(1)(ctx, t, q, leader)
}

func upgrade(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
	time.Sleep(3 * time.Second) // each follower must have sent UpdateRaftVoter, which it does every fetch timeout
	must(t, q.UpgradeKRaftVersion(ctx))
	must(t, q.WriteMetadata(ctx, "upgraded", 20))
	killLeaders(2)(ctx, t, q, leader)
}
