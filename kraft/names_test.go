package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// swapped exchanges two nodes in everything that names one.
func swapped(a, b kraft.NodeID) *kraft.Names {
	return &kraft.Names{
		Key: func(k kraft.ReplicaKey) kraft.ReplicaKey {
			switch k.ID {
			case a:
				k.ID = b
			case b:
				k.ID = a
			default:
				return k
			}
			if !k.DirectoryID.IsZero() {
				k.DirectoryID = directory(k.ID)
			}
			return k
		},
		Request: func(id kraft.RequestID) kraft.RequestID { return id },
	}
}

// A node that has voted for one voter, and one that has voted for the other in the same way, are renamings of each other.
func TestFingerprintAs_RenamedStatesAreEqual(t *testing.T) {
	voted := func(id kraft.NodeID) *kraft.QuorumStateMachine {
		m := stageIn(kraft.UnattachedRole).machine
		m.OnEvent(&kraft.ReceiveVoteRequest{
			Request: kraft.Request{ID: 5, Version: 2, Listener: "CONTROLLER"}, VoterID: 1, CandidateEpoch: 9, Candidate: id,
			CandidateDirectoryID: directory(id), CandidateLogEnd: kraft.LogEnd{LastEpoch: 8, LastOffset: 99},
		}, stageIn(kraft.UnattachedRole).log.View(), kraft.Clock{Now: 1}, &kraft.Actions{})
		if m.QuorumState().Voted.ID != id {
			t.Fatalf("no vote for %v: %v", id, m.QuorumState())
		}
		m.Renumber(func(id kraft.RequestID) kraft.RequestID { return id })
		return m
	}
	second, third := voted(2), voted(3)
	same, swap := swapped(9, 9), swapped(2, 3)
	if second.FingerprintAs(same) == third.FingerprintAs(same) {
		t.Error("the two are different states, and seem to be the same")
	}
	if second.FingerprintAs(same) != third.FingerprintAs(swap) || second.FingerprintAs(swap) != third.FingerprintAs(same) {
		t.Error("one is a renaming of the other, and seems to be not")
	}
}

func TestFingerprintAs_SeesWhatFingerprintSees(t *testing.T) {
	seen := map[[16]byte]kraft.RoleKind{}
	for _, role := range roles {
		print := stageIn(role).machine.FingerprintAs(swapped(1, 2))
		if other, ok := seen[print]; ok {
			t.Errorf("%v looks like %v", role, other)
		}
		seen[print] = role
	}
}

func TestRenumber_NamesEachWaitingRequest(t *testing.T) {
	s := leaderStage(3)
	fetch := s.fetch(2, s.log.End, 500)
	fetch.ID = 77
	s.on(fetch)
	if got := s.machine.Waiting(nil); len(got) != 1 || got[0] != 77 {
		t.Fatalf("waiting: %v", got)
	}
	s.machine.Renumber(func(id kraft.RequestID) kraft.RequestID { return id + 1 })
	if got := s.machine.Waiting(nil); len(got) != 1 || got[0] != 78 {
		t.Errorf("waiting: %v", got)
	}
	for _, c := range s.machine.Inspect().Connections {
		if c.CorrelationID != 0 {
			t.Errorf("%v keeps its number", c)
		}
	}
	if next := s.machine.Inspect().NextCorrelation; next != 1 {
		t.Errorf("the next number is %d", next)
	}
}
