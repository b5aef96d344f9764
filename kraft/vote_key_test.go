package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// What an Unattached and a Prospective answer in their own epoch, depending on the vote and the leader of that epoch. A standard
// vote goes to the key that has it already, whatever its log, else to nobody if there is a vote or a leader, else to a log that is
// good enough. A PreVote looks only at the log (Kafka: QuorumState.unattachedOrProspectiveCanGrantVote).
func TestVote_ByVoteAndLeaderOfTheEpoch(t *testing.T) {
	key := func(id, dir kraft.NodeID) kraft.ReplicaKey {
		if dir == 0 {
			return kraft.ReplicaKey{ID: id}
		}
		return kraft.ReplicaKey{ID: id, DirectoryID: directory(dir)}
	}
	tests := []struct {
		name       string
		leader     kraft.NodeID
		voted      kraft.ReplicaKey
		candidate  kraft.ReplicaKey
		long, back bool // a standard vote of a candidate with a long log, and with one that is behind
	}{
		{"no vote yet", kraft.NoNode, kraft.NoReplica, key(2, 2), true, false},
		{"no vote yet, no directory id", kraft.NoNode, kraft.NoReplica, key(2, 0), true, false},
		{"no vote yet, an observer", kraft.NoNode, kraft.NoReplica, key(10, 0), true, false},
		{"the same key", kraft.NoNode, key(2, 2), key(2, 2), true, true},
		{"the same id with another directory", kraft.NoNode, key(2, 2), key(2, 9), false, false},
		{"the same id without a directory", kraft.NoNode, key(2, 2), key(2, 0), false, false},
		{"the directory of the vote is not known", kraft.NoNode, key(2, 0), key(2, 9), true, true},
		{"neither directory is known", kraft.NoNode, key(2, 0), key(2, 0), true, true},
		{"another id with the same directory", kraft.NoNode, key(2, 2), key(3, 2), false, false},
		{"another id", kraft.NoNode, key(2, 0), key(3, 0), false, false},
		{"an observer when there is a vote", kraft.NoNode, key(2, 2), key(10, 0), false, false},
		{"there is a leader", 8, kraft.NoReplica, key(2, 2), false, false},
		{"the leader itself", 8, kraft.NoReplica, key(8, 0), false, false},
		{"a leader and a vote for another one", 8, key(3, 3), key(2, 2), false, false},
		{"a leader and a vote for this key", 8, key(2, 2), key(2, 2), true, true},
	}
	for _, tt := range tests {
		for _, prospective := range []bool{false, true} {
			for _, pre := range []bool{false, true} {
				for _, long := range []bool{false, true} {
					cfg := staticConfig(3)
					cfg.Stored, cfg.HasStored = kraft.QuorumState{Epoch: 5, Leader: tt.leader, Voted: tt.voted}, true
					s := newStage(cfg)
					if err := s.log.Append(batch(0, 9, 3)); err != nil {
						t.Fatal(err)
					}
					if prospective {
						s.toProspective()
					}
					e := vote(5, kraft.LogEnd{LastEpoch: 3, LastOffset: 10})
					e.PreVote, e.Candidate, e.CandidateDirectoryID = pre, tt.candidate.ID, tt.candidate.DirectoryID
					want := tt.long
					if !long {
						e.CandidateLogEnd.LastOffset, want = 9, tt.back
					}
					if pre {
						want = long
					}
					got := sent[kraft.ReplyVote](s.on(e))
					if len(got) != 1 || got[0].PartitionError != kraft.None || got[0].VoteGranted != want {
						t.Errorf("%s; prospective %t, PreVote %t, long log %t: %v, want granted=%t", tt.name, prospective, pre, long, got, want)
					}
				}
			}
		}
	}
}

// Whoever is asked in a newer epoch leaves its own: it becomes Unattached and votes there, even if it never would have in the old one,
// and even while it shuts down. A PreVote is granted there as well but leaves no vote behind.
func TestVote_InANewerEpoch(t *testing.T) {
	for _, role := range roles {
		for _, pre := range []bool{false, true} {
			for _, shutdown := range []bool{false, true} {
				s := stageIn(role)
				if shutdown {
					s.on(&kraft.Shutdown{TimeoutMs: 5000})
				}
				epoch := s.epoch() + 1
				e := vote(epoch, kraft.LogEnd{LastEpoch: epoch - 1, LastOffset: 99})
				e.PreVote = pre
				got := sent[kraft.ReplyVote](s.on(e))
				state := s.machine.QuorumState()
				if len(got) != 1 || !got[0].VoteGranted || got[0].LeaderID != kraft.NoNode || got[0].LeaderEpoch != epoch {
					t.Errorf("%v, PreVote %t: %v", role, pre, got)
				}
				if voted := state.Voted != kraft.NoReplica; s.kind() != kraft.UnattachedRole || state.Epoch != epoch || voted == pre {
					t.Errorf("%v, PreVote %t: %v in %v", role, pre, s.kind(), state)
				}
			}
		}
	}
}
