package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestEpochNeverFalls_AnswersOneAfterTheOther(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(3, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.diverges("M3", 1)
}

func TestEpochNeverFalls_AnswersThatOverlap(t *testing.T) { // a parked Fetch is answered with the epoch of its arrival
	s := newStage(t).meet(1, 2, 3)
	parked := s.ask(2, 1, fetch(4, 0, 0))
	s.ask(3, 1, stand(5)).answer(granted(5))
	parked.answer(served(4, -1))
	s.conforms()
}

func TestEpochNeverFalls_RequestsOfOneConnection(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(2, 1, fetch(4, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 5, leader: -1, hw: -1}.response())
	s.diverges("M3", 2)
}

func TestEpochNeverFalls_RequestsOfTwoConnections(t *testing.T) { // the older one may have waited in the client's queue
	s := newStage(t)
	s.ask(2, 3, stand(5)).answer(refused(5))
	s.ask(2, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.conforms()
}

func TestEpochNeverFalls_RequestThenAnswer(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 3, stand(5)).answer(refused(5))
	s.ask(2, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.diverges("M3", 1)
}

func TestEpochNeverFalls_AnswerThenRequest(t *testing.T) { // the request may be older than it looks
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(1, 3, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.conforms()
}

// TestEpochNeverFalls_FirstProofOnAConnectionThatFellSilent: a leader announces its epoch on a connection of its own, which nobody
// uses once its followers fetch. They show that its process lives on.
func TestEpochNeverFalls_FirstProofOnAConnectionThatFellSilent(t *testing.T) {
	s := newStage(t)
	s.ask(1, 3, beginOf(5, 1)).answer(begun(kraft.None, 5, 1))
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1))
	s.ask(3, 1, describe()).answer(described(kraft.None, 4, 1, -1))
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1))
	s.diverges("M3", 1)
}

func TestEpochNeverFalls_WipedDiskBehindASilentConnection(t *testing.T) { // the later proof is of the life before too
	s := newStage(t)
	s.ask(1, 3, beginOf(5, 1)).answer(begun(kraft.None, 5, 1))
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1))
	s.wipe(1)
	s.ask(3, 1, fetch(5, 0, 0)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 0, leader: -1, hw: -1}.response())
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 0, leader: -1, hw: -1}.response())
	s.harmless()
}

func TestEpochNeverFalls_AcrossRestart(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.stop(1)
	s.ask(2, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.ask(1, 2, fetch(4, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 5, leader: -1, hw: -1}.response())
	s.diverges("M3", 1)
}

func TestEpochNeverFalls_WipedDisk(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.wipe(1)
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 0, leader: -1, hw: -1}.response())
	s.ask(1, 2, fetch(0, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 5, leader: -1, hw: -1}.response())
	s.conforms()
}

func TestEpochNeverFalls_DefaultsAttestNothing(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(2, 1, describe()).answer(described(kraft.NotLeaderOrFollower, 0, 0, 0))
	s.ask(2, 1, fetchSnapshot(5, kraft.LogEnd{LastEpoch: 1, LastOffset: 9}, 0)).answer(snapshotFailed(kraft.None, kraft.NotLeaderOrFollower))
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{code: kraft.UnknownServerError, epoch: 1, leader: -1, hw: -1}.response())
	s.conforms()
}

func TestEpochNeverFalls_ClockJumpsBack(t *testing.T) { // instants no longer tell the order, so nothing is certain
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.at -= 60_000_000_000
	parked := s.ask(3, 1, fetch(4, 0, 0))
	parked.answer(served(4, -1))
	s.harmless()
}

func TestEpochNeverFalls_RefusedVoteBumpsTheEpoch(t *testing.T) { // key validation comes after the transition (museum Q)
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.ask(3, 1, stand(7)).answer(ballotAnswer(false, kraft.InvalidVoterKey, 7, -1))
	s.ask(2, 1, fetch(4, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 7, leader: -1, hw: -1}.response())
	s.ask(3, 1, beginOf(9, 3)).answer(begun(kraft.InvalidVoterKey, 9, 3))
	s.conforms()
}

func TestEpochNeverFalls_ManyEpochsTakeLittleMemory(t *testing.T) {
	s := newStage(t).meet(1, 2)
	for e := range kraft.Epoch(3000) {
		s.ask(2, 1, fetch(e, 0, 0)).answer(notLeader(e, -1))
	}
	for _, n := range s.c.nodeList {
		for _, r := range n.epochs.seen.list {
			if len(r.rise.steps) > riseLimit {
				t.Errorf("node %d: %d steps kept", n.id, len(r.rise.steps))
			}
		}
	}
	s.conforms()
}

// A wiped voter is often formatted with its old directory id, since with another it would be no voter.
func TestEpochNeverFalls_WipedDiskWithTheSameDirectoryID(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, fetch(5, 9, 5)).answer(notLeader(5, -1))
	s.ask(2, 1, stand(6)).answer(granted(6))
	s.stop(1)
	s.ask(2, 1, fetch(6, 0, 0)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 0, leader: -1, hw: -1}.response())
	s.ask(3, 1, stand(6)).answer(granted(6)) // it has forgotten that it voted
	s.ask(1, 2, fetch(0, 0, 0)).answer(fenced(6, -1))
	s.conforms()
	s.remarks("came back with an empty log")
}

func TestEpochNeverFalls_LostQuorumStateOnly(t *testing.T) { // the log is still there
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, fetch(5, 9, 5)).answer(notLeader(5, -1))
	s.stop(1)
	s.ask(2, 1, fetch(5, 9, 5)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 0, leader: -1, hw: -1}.response())
	s.ask(1, 2, fetch(5, 9, 5)).answer(notLeader(5, -1))
	s.diverges("M3", 1)
}

func TestEpochNeverFalls_LogEmptiedByALiveProcess(t *testing.T) { // truncated, not wiped
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, fetch(5, 1, 1)).answer(fetched{epoch: 5, hw: -1, diverging: &kraft.LogEnd{}}.response())
	s.ask(1, 2, fetch(5, 0, 0)).answer(served(5, -1))
	s.ask(2, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.diverges("M3", 1)
}
