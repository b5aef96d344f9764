package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestVoteOnce_TwoCandidatesOfOneEpoch(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).answer(granted(5))
	f := s.diverges("M1", 1)
	if f.Epoch != 5 || len(f.Proof) != 2 || f.Proof[0].Conn == f.Proof[1].Conn {
		t.Errorf("%+v", f)
	}
}

func TestVoteOnce_SameCandidateAgain(t *testing.T) { // its answer may have been lost
	s := newStage(t)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).answer(refused(5))
	s.conforms()
}

func TestVoteOnce_PreVotesBindNobody(t *testing.T) { // KIP-996: several nominees get them in one epoch
	s := newStage(t)
	s.ask(2, 1, preVote(4)).answer(granted(4))
	s.ask(3, 1, preVote(4)).answer(granted(4))
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.conforms()
}

func TestVoteOnce_NextEpochIsFree(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(6)).answer(granted(6))
	s.conforms()
}

func TestVoteOnce_CandidateVotesForItself(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 3, stand(5)).answer(refused(5))
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.diverges("M1", 1)
}

func TestVoteOnce_CandidateRefusesItsRival(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, stand(5)).answer(refused(5))
	s.ask(2, 1, stand(5)).answer(refused(5))
	s.conforms()
}

func TestVoteOnce_AcrossRestart(t *testing.T) { // it is not held against the node until its disk is known to be the same
	s := newStage(t)
	s.ask(1, 2, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.stop(1)
	s.ask(3, 1, stand(5)).answer(granted(5))
	if len(s.c.Findings()) != 0 {
		t.Fatal("reported before the disk was known")
	}
	s.ask(1, 2, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.diverges("M1", 1)
}

func TestVoteOnce_WipedDiskForgets(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.wipe(1)
	s.ask(3, 1, stand(5)).answer(granted(5))
	s.ask(1, 2, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.conforms()
	s.remarks("is forgotten")
}

func TestVoteOnce_DiskNeverKnown(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.stop(1)
	s.ask(3, 1, stand(5)).answer(granted(5))
	s.harmless()
	s.remarks("may have been restarted on another disk")
}

func TestVoteOnce_CandidateWithTwoDirectoryIDs(t *testing.T) {
	other := kraft.ReplicaKey{ID: 2, DirectoryID: kraft.DirectoryID{9, 9}}
	t.Run("one life", func(t *testing.T) {
		s := newStage(t)
		s.ask(2, 1, stand(5)).answer(granted(5))
		s.ask(3, 1, preVote(5)).answer(granted(5)) // node 1 lives on
		s.lines[[2]kraft.NodeID{2, 1}].close()
		s.ask(2, 1, ballot{epoch: 5, version: 2, key: &other}.request()).answer(granted(5))
		s.harmless() // node 2 came with another directory id: the quorum's past is forgotten, node 1's votes are not
	})
	t.Run("an answer", func(t *testing.T) {
		v := castVote{epoch: 5, candidate: kraft.ReplicaKey{ID: 2, DirectoryID: kraft.DirectoryID{1}}}
		if !v.rivals(other, 0) || v.rivals(other, 1) || v.rivals(kraft.ReplicaKey{ID: 2}, 0) {
			t.Error("directory ids are compared within one life, where both are known")
		}
	})
}

func TestVoteOnce_VersionsBelowTwoHaveNoPreVote(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, ballot{epoch: 5, version: 1}.request()).answer(granted(5))
	s.ask(3, 1, ballot{epoch: 5, version: 1}.request()).answer(granted(5))
	s.diverges("M1", 1)
}

func TestVoteOnce_GrantThatFailed(t *testing.T) { // a partition error decides nothing
	s := newStage(t)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).answer(ballotAnswer(false, kraft.InvalidVoterKey, 5, -1))
	s.conforms()
}
