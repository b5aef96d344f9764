package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// Which leader each role names in its answers, and where: who leads or has led names itself, who knows a leader by name only has no
// endpoint for it (Kafka: EpochState.leaderEndpoints).
func TestLeaderEndpoints_ByRole(t *testing.T) {
	named := func() *stage { // the leader 8 is no voter
		cfg := staticConfig(3)
		cfg.Stored, cfg.HasStored = kraft.QuorumState{Epoch: 1, Leader: 8, Voted: kraft.NoReplica}, true
		return newStage(cfg)
	}
	tests := []struct {
		name   string
		open   func() *stage
		leader kraft.NodeID
		at     kraft.Address
	}{
		{"Unattached", func() *stage { return stageIn(kraft.UnattachedRole) }, kraft.NoNode, kraft.Address{}},
		{"Unattached that knows the leader's name", named, 8, kraft.Address{}},
		{"Prospective", func() *stage { return stageIn(kraft.ProspectiveRole) }, kraft.NoNode, kraft.Address{}},
		{"Prospective that knows the leader's name", func() *stage { return named().toProspective() }, 8, kraft.Address{}},
		{"Prospective that has followed", func() *stage {
			s := followerStage()
			s.act(kraft.FetchTimer)
			return s
		}, 2, address(2)},
		{"Candidate", func() *stage { return stageIn(kraft.CandidateRole) }, kraft.NoNode, kraft.Address{}},
		{"Leader", func() *stage { return stageIn(kraft.LeaderRole) }, 1, address(1)},
		{"Follower", followerStage, 2, address(2)},
		{"Follower of a node that is no voter", func() *stage { return newStage(staticConfig(3)).follow(8, 1) }, 8, address(8)},
		{"Resigned", resignedStage, 1, address(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.open()
			e := preVote(s.epoch(), kraft.LogEnd{})
			got := sent[kraft.ReplyVote](s.on(e))
			if len(got) != 1 || got[0].LeaderID != tt.leader || got[0].LeaderEndpoint != tt.at || got[0].HasEndpoint != (tt.at != kraft.Address{}) {
				t.Errorf("answers %v, want leader %v at %v", got, tt.leader, tt.at)
			}
		})
	}
}

// A pre-vote that is lost, by refusals or by time, leads back to where the node came from: with a leader that it can reach to that
// leader, else to Unattached, with the vote and the leader's name as they were.
func TestProspective_GoesBackWithWhatItKnew(t *testing.T) {
	voted := kraft.ReplicaKey{ID: 3, DirectoryID: directory(3)}
	tests := []struct {
		name   string
		stored kraft.QuorumState
		want   kraft.RoleKind
	}{
		{"nothing", kraft.QuorumState{Epoch: 5, Leader: kraft.NoNode, Voted: kraft.NoReplica}, kraft.UnattachedRole},
		{"a vote", kraft.QuorumState{Epoch: 5, Leader: kraft.NoNode, Voted: voted}, kraft.UnattachedRole},
		{"a leader by name", kraft.QuorumState{Epoch: 5, Leader: 8, Voted: kraft.NoReplica}, kraft.UnattachedRole},
		{"a leader by name, and a vote", kraft.QuorumState{Epoch: 5, Leader: 8, Voted: voted}, kraft.UnattachedRole},
		{"a leader", kraft.QuorumState{Epoch: 5, Leader: 2, Voted: kraft.NoReplica}, kraft.FollowerRole},
		{"a leader, and a vote for another node", kraft.QuorumState{Epoch: 5, Leader: 2, Voted: voted}, kraft.FollowerRole},
	}
	for _, tt := range tests {
		for _, refused := range []bool{false, true} {
			cfg := staticConfig(3)
			cfg.Stored, cfg.HasStored = tt.stored, true
			s := newStage(cfg)
			s.act(kraft.ElectionTimer, kraft.FetchTimer)
			if s.kind() != kraft.ProspectiveRole || s.machine.QuorumState() != tt.stored {
				t.Fatalf("%s: %v in %v", tt.name, s.kind(), s.machine.QuorumState())
			}
			var list []kraft.Action
			if refused {
				for _, v := range sent[kraft.SendVoteRequest](s.act()) {
					list = s.voted(v, false)
				}
			} else {
				list = s.act(kraft.ElectionTimer)
			}
			got := sent[kraft.PersistQuorumState](list)
			if s.kind() != tt.want || len(got) != 1 || got[0].State != tt.stored {
				t.Errorf("%s, refused %t: %v, persisted %v", tt.name, refused, s.kind(), got)
			}
			// And again.
			if s.act(kraft.ElectionTimer, kraft.FetchTimer); s.kind() != kraft.ProspectiveRole {
				t.Errorf("%s: then %v", tt.name, s.kind())
			}
		}
	}
}
