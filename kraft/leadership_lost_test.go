package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// What the state machine wants written is lost with the leadership: it is not appended by the next role, nor in the next leadership
// (Kafka: LeaderState.close closes the BatchAccumulator).
func TestLeadershipLost_PreparedRecordsAreDropped(t *testing.T) {
	tests := []struct {
		name   string
		change func(*stage)
		want   kraft.RoleKind
	}{
		{"to a leader", func(s *stage) { s.on(begin(3, 2)) }, kraft.FollowerRole},
		{"to a candidate with its vote", func(s *stage) { s.on(vote(2, kraft.LogEnd{LastEpoch: 1, LastOffset: 9})) }, kraft.UnattachedRole},
		{"to a candidate without it", func(s *stage) { s.on(vote(2, kraft.LogEnd{})) }, kraft.UnattachedRole},
		{"on request", func(s *stage) {
			s.on(&kraft.Resign{Epoch: 1})
			s.at(&kraft.RoleAction{}, kraft.Clock{Now: s.now})
		}, kraft.ResignedRole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := leaderStage(3)
			expect(t, s.on(appendRequest(1, 1, 10, true)), "Accepted(last=1)")
			tt.change(s)
			if s.kind() != tt.want || s.log.End != 1 {
				t.Fatalf("%v, the log ends at %d", s.kind(), s.log.End)
			}
			expect(t, s.on(appendRequest(1, 1, 10, true)), "Refused(not-leader)")
			if got := sent[kraft.AppendRecords](s.act(kraft.LingerTimer)); len(got) != 0 {
				t.Errorf("appended %v", got)
			}
			if s.kind() == kraft.ResignedRole {
				s.act(kraft.ElectionTimer)
			}
			if s.kind() == kraft.FollowerRole {
				s.act(kraft.FetchTimer)
			} else {
				s.act(kraft.ElectionTimer)
			}
			s.grantMajority()
			s.grantMajority()
			epoch := s.epoch()
			if list := s.act(kraft.LingerTimer); s.kind() != kraft.LeaderRole || len(sent[kraft.AppendRecords](list)) != 0 || s.log.End != 2 {
				t.Errorf("%v did %v, the log ends at %d", s.kind(), lines(list), s.log.End)
			}
			expect(t, s.on(appendRequest(epoch, 1, 10, true)), "Accepted(last=2)")
		})
	}
}

// Any way out of office answers who waits for a voter change.
func TestLeadershipLost_EndsTheVoterChange(t *testing.T) {
	exits := map[string]func(*stage) []kraft.Action{
		"resigned": func(s *stage) []kraft.Action {
			s.on(&kraft.Resign{Epoch: 1})
			return s.act()
		},
		"no quorum":    func(s *stage) []kraft.Action { return s.act(kraft.CheckQuorumTimer) },
		"newer leader": func(s *stage) []kraft.Action { return s.on(begin(2, 9)) },
		"newer epoch":  func(s *stage) []kraft.Action { return s.on(vote(9, kraft.LogEnd{})) },
	}
	for name, exit := range exits {
		s, _ := probed(t, nil)
		if got := sent[kraft.ReplyAddRaftVoter](exit(s)); len(got) != 1 || got[0].Error != kraft.NotLeaderOrFollower {
			t.Errorf("%s: add answered %v", name, got)
		}
		s = dynamicLeader(3)
		s.on(removeVoter(3))
		s.act()
		if got := sent[kraft.ReplyRemoveRaftVoter](exit(s)); len(got) != 1 || got[0].Error != kraft.NotLeaderOrFollower {
			t.Errorf("%s: remove answered %v", name, got)
		}
		// What is written stays in force.
		if got := s.machine.Inspect().Voters; got.Find(3) != nil {
			t.Errorf("%s: voters %v", name, got)
		}
	}
}

// One change at a time, of whatever kind.
func TestVoterChange_OneAtATime(t *testing.T) {
	pending := map[string]func() *stage{
		"an addition that is not written": func() *stage {
			s, _ := probed(t, nil)
			return s
		},
		"an addition that is not committed": func() *stage {
			s, probe := probed(t, nil)
			s.on(supports(probe, 1))
			s.act()
			return s
		},
		"a removal": func() *stage {
			s := dynamicLeader(3)
			s.on(removeVoter(3))
			s.act()
			return s
		},
		"a removal that timed out": func() *stage {
			s := dynamicLeader(3)
			s.on(removeVoter(3))
			s.act()
			s.act(kraft.VoterChangeTimer)
			return s
		},
		"an update": func() *stage {
			s := dynamicLeader(3)
			s.on(updateVoter(2))
			s.act()
			return s
		},
	}
	for name, open := range pending {
		if got := sent[kraft.ReplyAddRaftVoter](open().on(addVoter(5))); len(got) != 1 || got[0].Error != kraft.RequestTimedOut {
			t.Errorf("add during %s: %v", name, got)
		}
		if got := sent[kraft.ReplyRemoveRaftVoter](open().on(removeVoter(2))); len(got) != 1 || got[0].Error != kraft.RequestTimedOut {
			t.Errorf("remove during %s: %v", name, got)
		}
		if got := sent[kraft.ReplyUpdateRaftVoter](open().on(updateVoter(2))); len(got) != 1 || got[0].Error != kraft.RequestTimedOut {
			t.Errorf("update during %s: %v", name, got)
		}
	}
	// Its time is over when the next request comes, before a turn has looked: the first is answered, and the next one may go on.
	s, _ := probed(t, nil)
	due := kraft.Clock{Now: s.now, Due: kraft.Timers(kraft.Timer{Kind: kraft.VoterChangeTimer})}
	list := s.at(removeVoter(3), due)
	if got := sent[kraft.ReplyAddRaftVoter](list); len(got) != 1 || got[0].Error != kraft.RequestTimedOut {
		t.Errorf("the expired addition: %v", lines(list))
	}
	if got := s.machine.Role().(*kraft.Leader).Change.Kind; got != kraft.RemoveChange {
		t.Errorf("pending %v", got)
	}
}
