package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestOneLeader_TwoNodesClaimAnEpoch(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.ask(3, 4, begin(5)).answer(begun(kraft.None, 5, 3))
	s.finish()
	if f := s.report.Findings; len(f) == 0 || f[0].Rule != "M2" || f[0].Epoch != 5 || f[0].Node != 3 {
		t.Fatal(s.text())
	}
}

func TestOneLeader_AnswerNamesAnother(t *testing.T) { // at fault is who stands alone
	s := newStage(t)
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.ask(3, 1, fetch(5, 0, 0)).answer(served(5, -1))
	s.ask(3, 2, fetch(5, 0, 0)).answer(notLeader(5, 3))
	s.diverges("M2", 2)
}

func TestOneLeader_TheFirstToSpeakStandsAlone(t *testing.T) {
	s := newStage(t)
	s.ask(3, 2, fetch(5, 0, 0)).answer(notLeader(5, 3))
	s.ask(1, 4, begin(5)).answer(begun(kraft.None, 5, 1))
	r := s.finish()
	if r.Findings[0].Rule != "M2" || r.Findings[len(r.Findings)-1].Node != 2 {
		t.Fatal(s.text())
	}
}

func TestOneLeader_LeaderChangeRecordNamesAnother(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 3, nodes(1, 2, 3), nodes(1, 2))))
	s.diverges("M2", 1)
}

func TestOneLeader_NextEpochMayHaveAnother(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.ask(3, 2, begin(6)).answer(begun(kraft.None, 6, 3))
	s.ask(1, 2, begin(5)).answer(begun(kraft.FencedLeaderEpoch, 6, 3)) // a paused leader wakes up (museum M40)
	s.ask(4, 2, fetch(5, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 6, leader: 3, hw: -1}.response())
	s.conforms()
}

func TestOneLeader_DefaultsAreNoClaims(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, begin(0)).answer(begun(kraft.None, 0, 1))
	// DescribeQuorum at a node that does not lead: leader 0, epoch 0, watermark 0 (museum M43)
	s.ask(1, 2, describe()).answer(described(kraft.NotLeaderOrFollower, 0, 0, 0))
	// FetchSnapshot errors: the current leader is left out, which reads the same (museum P)
	s.ask(3, 2, fetchSnapshot(0, kraft.LogEnd{LastEpoch: 1, LastOffset: 9}, 0)).answer(snapshotFailed(kraft.None, kraft.NotLeaderOrFollower))
	s.ask(3, 2, fetchSnapshot(0, kraft.LogEnd{LastEpoch: 1, LastOffset: 9}, 0)).answer(snapshotFailed(kraft.UnknownServerError, 0))
	// a Fetch that is refused before the raft layer says nothing of a leader
	s.ask(3, 2, fetch(0, 0, 0)).answer(fetched{code: kraft.ClusterAuthorizationFailed, hw: -1, absent: true}.response())
	s.ask(3, 2, updateVoter(0)).answer(updated(kraft.ClusterAuthorizationFailed, -1, -1))
	s.ask(3, 2, stand(1)).answer(voteFailed(kraft.InconsistentClusterID))
	s.conforms()
}

func TestOneLeader_UnknownLeaderIsNoClaim(t *testing.T) {
	s := newStage(t)
	s.ask(3, 2, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.conforms()
}

func TestOneLeader_OldEpochsAreForgotten(t *testing.T) {
	var o oneLeader
	for e := range kraft.Epoch(epochsKept + 10) {
		o.of(e)
	}
	if len(o.claims) != epochsKept || o.claims[0] != nil || o.leader(0) != kraft.NoNode {
		t.Errorf("%d epochs kept", len(o.claims))
	}
}

func TestOneLeader_WipedVoterForgetsThePast(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, 3))
	s.wipe(2)
	s.ask(2, 1, fetch(0, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 5, leader: 1, hw: -1}.response())
	s.stop(1)
	s.ask(3, 2, begin(5)).answer(begun(kraft.None, 5, 3)) // the two that are left no longer know of epoch 5
	s.harmless()
}
