package controller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// What an answer of a peer says ends a node only if it contradicts what the node holds and is said again and again; what this node finds wrong
// in itself ends it at once.
func TestRefuse_NoSingleAnswerEndsANode(t *testing.T) {
	const never = 0
	after := map[kraft.FatalReason]int{}
	for _, r := range []kraft.FatalReason{
		kraft.FatalInconsistentLeader, kraft.FatalInvalidTransition, kraft.FatalUnknownEndpoints, kraft.FatalInvalidRequest, kraft.FatalNotAuthorized,
		kraft.FatalUnexpectedRole, kraft.FatalUnexpectedSnapshot, kraft.FatalContradictoryVote, kraft.FatalNotAVoter, kraft.FatalResponseInRole,
		kraft.FatalSnapshotRequest, kraft.FatalNoEndpoint,
	} {
		after[r] = never
	}
	for _, r := range []kraft.FatalReason{
		kraft.FatalTruncationBelowHW, kraft.FatalHighWatermarkFell, kraft.FatalUnexpectedOffset, kraft.FatalCorruptRecords, kraft.FatalOffsetsNotIncreasing,
		kraft.FatalEpochRefused, kraft.FatalSnapshotNotNewer, kraft.FatalControlRecord,
	} {
		after[r] = maxDoubts
	}
	n := lone(t, nil)
	fatal := func(l *loop, r kraft.FatalReason) bool { return !refused(l, &kraft.Fatal{Reason: r}) }
	n.inLoop(t, func(l *loop) {
		for _, r := range kraft.FatalReasons() {
			l.doubts = 0
			want, listed := after[r]
			if !listed {
				want = 1
			}
			got := never
			for i := 1; i <= 3*maxDoubts && got == never; i++ {
				if fatal(l, r) {
					got = i
				}
			}
			if got != want {
				t.Errorf("%v ends the node with answer %d, want %d (0: never)", r, got, want)
			}
		}
		l.doubts = 0
		for range 3 {
			for range maxDoubts - 1 {
				if fatal(l, kraft.FatalHighWatermarkFell) {
					t.Error("it ended although good answers came between")
				}
			}
			if refused(l, &kraft.ResetTimer{}) {
				t.Error("a good answer is refused")
			}
		}
		for range maxDoubts - 1 { // what is between is dropped by the rules of 4.4.0, or has failed by those of 4.0.0
			if fatal(l, kraft.FatalHighWatermarkFell) {
				t.Error("it ended too early")
			}
			l.hand = answerOf(kraft.Batch{Epoch: l.m.QuorumState().Epoch + 1})
			l.refuse([]kraft.Action{&kraft.ResetTimer{}})
			l.hand = nil
		}
		if !fatal(l, kraft.FatalHighWatermarkFell) {
			t.Error("records of an epoch to come count as a good answer")
		}
		l.doubts = 0
	})
}

// refused has the loop look at what the machine makes of a Fetch response.
func refused(l *loop, last kraft.Action) bool {
	l.m.CopyInto(l.before)
	l.hand = answerOf()
	defer func() { l.hand = nil }()
	return l.refuse([]kraft.Action{last})
}

// answerOf is a Fetch response with these batches.
func answerOf(batches ...kraft.Batch) *message {
	return &message{event: &kraft.ReceiveFetchResponse{Batches: batches}, instead: lost(kraft.Response{From: 9, CorrelationID: -7}, kraft.FetchAPI)}
}

// inLoop runs f as the owner of the machine.
func (n *testNode) inLoop(t *testing.T, f func(*loop)) {
	t.Helper()
	done := make(chan struct{})
	must(t, n.ask(t.Context(), func(l *loop) {
		defer close(done)
		f(l)
	}))
	<-done
}

// A node of Kafka ends when a refusal says that it leads itself. Ours names the leader to everyone else.
func TestRefuse_TellsNobodyThatItLeadsItself(t *testing.T) {
	q := newQuorum(t, 3, 3, func(_ kraft.NodeID, c *Config) { c.Timeouts.FetchMs, c.Timeouts.ElectionMs = 60_000, 60_000 })
	q.start(1)
	n, leader := q.nodes[1], q.nodes[2]
	const epoch = kraft.Epoch(7)
	ask := func(a kraft.Action, version int16) kmsg.Response {
		t.Helper()
		resp, err := n.sends(t, a, version)
		must(t, err)
		return resp
	}
	begin := func(epoch kraft.Epoch, from *testNode) kmsg.BeginQuorumEpochResponseTopicPartition {
		return ask(&kraft.SendBeginQuorumEpoch{Epoch: epoch, Leader: from.key.ID, Voter: n.key, Endpoints: from.endpoints()}, 1).(*kmsg.BeginQuorumEpochResponse).Topics[0].Partitions[0]
	}
	if p := begin(epoch, leader); p.ErrorCode != 0 || p.LeaderID != 2 {
		t.Fatalf("the leader is not followed: %+v", p)
	}
	vote := kraft.ReplyVote{PartitionReply: kraft.PartitionReply{LeaderID: 2, LeaderEpoch: epoch, HasEndpoint: true}, VoteGranted: true}
	n.inLoop(t, func(l *loop) { l.spare(&vote, 2) })
	if vote.LeaderID != kraft.NoNode || vote.HasEndpoint || vote.LeaderEpoch != epoch || !vote.VoteGranted {
		t.Errorf("a candidate is told %+v", vote)
	}
	log := kraft.LogEnd{LastEpoch: epoch - 1, LastOffset: 1 << 20}
	for id, want := range map[kraft.NodeID]int32{2: -1, 3: 2} {
		from := q.nodes[id]
		got := map[string][2]int32{}
		p := begin(epoch-1, from)
		got["BeginQuorumEpoch"] = [2]int32{p.LeaderID, p.LeaderEpoch}
		e := ask(&kraft.SendEndQuorumEpoch{Epoch: epoch - 1, Leader: id}, 1).(*kmsg.EndQuorumEpochResponse).Topics[0].Partitions[0]
		got["EndQuorumEpoch"] = [2]int32{e.LeaderID, e.LeaderEpoch}
		v := ask(&kraft.SendVoteRequest{Epoch: epoch - 1, Candidate: from.key, Voter: n.key, LogEnd: log}, 2).(*kmsg.VoteResponse).Topics[0].Partitions[0]
		got["Vote"] = [2]int32{v.LeaderID, v.LeaderEpoch}
		f := ask(&kraft.SendFetch{Replica: from.key, Epoch: epoch - 1, MaxBytes: 1 << 20}, 17).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		got["Fetch"] = [2]int32{f.CurrentLeader.LeaderID, f.CurrentLeader.LeaderEpoch}
		for name, says := range got {
			if says != [2]int32{want, int32(epoch)} {
				t.Errorf("%s of node %v is refused with leader %d, epoch %d; want %d, %d", name, id, says[0], says[1], want, epoch)
			}
		}
	}
}

// No checksum covers the epoch of a batch. By the rules of 4.0.0 the machine would append one of an epoch to come.
func TestRefuse_RecordsOfAnEpochToCome(t *testing.T) {
	for release, want := range map[string]bool{"4.0.0": true, "4.4.0": false} {
		n := lone(t, func(c *Config) {
			profile, err := compat.ByRelease(release)
			must(t, err)
			c.Profile = profile
		})
		n.inLoop(t, func(l *loop) {
			for over, want := range map[kraft.Epoch]bool{0: false, 1: want} {
				about := kraft.Response{From: 9, CorrelationID: 7}
				m := &message{event: &kraft.ReceiveFetchResponse{
					Response: about, Batches: []kraft.Batch{{Epoch: l.m.QuorumState().Epoch + over}},
				}, instead: lost(about, kraft.FetchAPI)}
				failed, ok := l.response(m).(*kraft.RequestFailed)
				if ok != want || ok && (failed.From != 9 || failed.CorrelationID != 7 || failed.API != kraft.FetchAPI) {
					t.Errorf("%s: a batch of the epoch that is %d later is refused %v, want %v: %v", release, over, ok, want, failed)
				}
			}
		})
	}
}
