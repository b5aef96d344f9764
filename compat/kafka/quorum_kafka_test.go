package kafka_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

type quorumCase struct {
	release string
	voters  kafka.Voters
}

// cases are the quorums of the short tier, or those of every raft build and of 3.9.
func cases() []quorumCase {
	short := []quorumCase{{"4.4.0", kafka.Dynamic}, {"4.0.0", kafka.Static}}
	if !kafkatest.Matrix() {
		return short
	}
	return append(short, quorumCase{"4.0.2", kafka.Dynamic}, quorumCase{"4.1.2", kafka.Static}, quorumCase{"4.2.1", kafka.Dynamic},
		quorumCase{"4.3.1", kafka.Static}, quorumCase{"4.4.0", kafka.Static}, quorumCase{"3.9.2", kafka.Static})
}

// TestKafka_QuorumSurvivesEachEndOfANode is the launcher's own proof: elect, kill, pause, stop, wipe, and the
// ground truth agrees with Kafka's tool.
func TestKafka_QuorumSurvivesEachEndOfANode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	for _, c := range cases() {
		t.Run(c.release+"/"+c.voters.String(), func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 6*time.Minute)
			begin := time.Now()
			q, first := kafkatest.Start(t, kafka.Config{Release: kafka.MustRelease(c.release), Voters: c.voters, Brokers: 1, RaftLog: kafka.Trace})
			t.Logf("%s, ready after %v", first, time.Since(begin))
			if err := q.CreateTopics(ctx, 3, "made-first"); err != nil {
				t.Fatal(err)
			}
			check := func() {
				t.Helper()
				d, leader := describe(ctx, t, q)
				if d.Leader != leader.Node || d.Epoch != leader.Epoch || len(d.Voters) != 3 || d.ClusterID != q.ClusterID {
					t.Errorf("the log says %s, the tool says %+v", leader, d)
				}
				for _, v := range d.Voters {
					if want := q.Node(v.Key.ID).Directory; c.voters == kafka.Dynamic && v.Key.DirectoryID != want {
						t.Errorf("voter %s has directory id %s, want %s", v.Key.ID, v.Key.DirectoryID, want)
					}
				}
			}
			check()

			must(t, q.Kill(first.Node))
			killed := time.Now()
			second, err := q.WaitEpochAbove(ctx, first.Epoch)
			must(t, err)
			t.Logf("%s, %v after the kill", second, second.At.Sub(killed))
			must(t, q.Restart(ctx, first.Node))
			must(t, q.WaitReady(ctx))
			check()

			must(t, q.Stop(ctx, second.Node))
			third, err := q.WaitEpochAbove(ctx, second.Epoch)
			must(t, err)
			must(t, q.Restart(ctx, second.Node))
			must(t, q.WaitReady(ctx))

			must(t, q.Pause(third.Node))
			fourth, err := q.WaitEpochAbove(ctx, third.Epoch)
			must(t, err)
			must(t, q.Resume(third.Node))
			must(t, q.Wait(ctx, "the paused leader to learn of the next one", func(truth kafka.Truth) bool {
				return slices.ContainsFunc(truth.Transitions, func(x kafka.Transition) bool {
					return x.Node == third.Node && x.Role == kafka.Follower && x.Epoch >= fourth.Epoch
				})
			}))

			follower := other(q, fourth.Node)
			must(t, q.Stop(ctx, follower))
			must(t, q.Wipe(follower))
			must(t, q.Restart(ctx, follower))
			must(t, q.WaitReady(ctx))
			check()

			truth := q.Truth()
			if truth.UnparsedLines != 0 || len(truth.Fatals) != 0 {
				t.Errorf("%d log lines not understood, fatal faults %v", truth.UnparsedLines, truth.Fatals)
			}
			if len(truth.Votes) == 0 || len(truth.Messages) == 0 || len(truth.FirstHW) == 0 {
				t.Errorf("%d votes, %d messages, %d first high watermarks", len(truth.Votes), len(truth.Messages), len(truth.FirstHW))
			}
			oneLeaderEach(t, truth)
			must(t, q.CloseInOrder())
		})
	}
}

// describe asks Kafka's tool at a time when the leader does not change.
func describe(ctx context.Context, t *testing.T, q *kafka.Quorum) (kafka.Description, kafka.Elected) {
	t.Helper()
	for {
		before, err := q.WaitLeader(ctx)
		must(t, err)
		d, err := q.Describe(ctx)
		must(t, err)
		after, err := q.WaitLeader(ctx)
		must(t, err)
		if before == after {
			return d, after
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func other(q *kafka.Quorum, not kraft.NodeID) kraft.NodeID {
	for _, id := range q.Controllers() {
		if id != not {
			return id
		}
	}
	panic("a quorum of one")
}

func oneLeaderEach(t *testing.T, truth kafka.Truth) {
	t.Helper()
	seen := map[kraft.Epoch]kraft.NodeID{}
	for _, l := range truth.Leaders() {
		if was, ok := seen[l.Epoch]; ok && was != l.Node {
			t.Errorf("epoch %d has two leaders: %s and %s", l.Epoch, was, l.Node)
		}
		seen[l.Epoch] = l.Node
	}
}

// TestKafka_StandaloneQuorumGrowsWithoutABroker adds voters one by one (KIP-853) and
// writes metadata through the controllers alone.
func TestKafka_StandaloneQuorumGrowsWithoutABroker(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	ctx := kafkatest.Deadline(t, 4*time.Minute)
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Voters: kafka.Standalone})
	must(t, q.Start(ctx, 1))
	leader, err := q.WaitLeader(ctx)
	must(t, err)
	if leader.Node != 1 {
		t.Fatalf("%s, but node 1 is the only voter", leader)
	}
	must(t, q.WriteMetadata(ctx, "alone", 50))
	must(t, q.Start(ctx, 2, 3))
	must(t, q.WaitReady(ctx))
	for _, id := range []kraft.NodeID{2, 3} {
		must(t, q.AddController(ctx, id))
	}
	must(t, q.RemoveController(ctx, 1))
	_, err = q.WaitEpochAbove(ctx, leader.Epoch)
	must(t, err)
	must(t, q.WriteMetadata(ctx, "after", 5))
	d, last := describe(ctx, t, q)
	if last.Node == 1 || len(d.Voters) != 2 || d.Leader != last.Node {
		t.Errorf("%s, described as %+v", last, d)
	}
}

func TestKafka_CancelledStartLeavesNoProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Controllers: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := q.Start(ctx); err == nil {
		t.Error("a node started within 50 ms")
	}
	must(t, q.Close())
	if pid := q.Pid(1); pid != 0 {
		t.Errorf("process %d is left", pid)
	}
}

func TestKafka_NodeThatEndsByItselfIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	ctx := kafkatest.Deadline(t, 3*time.Minute)
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Controllers: 1})
	must(t, q.Start(ctx))
	leader, err := q.WaitLeader(ctx)
	must(t, err)
	must(t, q.Err())
	must(t, syscall.Kill(q.Pid(1), syscall.SIGKILL)) // not by the launcher: to it, the node died
	if _, err := q.WaitEpochAbove(ctx, leader.Epoch); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("got %v", err)
	}
	must(t, q.Restart(ctx, 1))
	_, err = q.WaitEpochAbove(ctx, leader.Epoch)
	must(t, err)

	broken := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Controllers: 1, Properties: map[string]string{"process.roles": "emperor"}})
	if err := broken.Start(ctx); err == nil || !strings.Contains(err.Error(), "emperor") {
		t.Errorf("a refused property gave %v", err)
	}
}
