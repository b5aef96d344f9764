package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func (s *stage) described(due ...kraft.Timer) kraft.ReplyDescribeQuorum {
	e := &kraft.ReceiveDescribeQuorum{Request: request(7, 2)}
	return sent[kraft.ReplyDescribeQuorum](s.at(e, kraft.Clock{Now: s.now, Due: kraft.Timers(due...)}))[0]
}

// The times in it: the leader's own are now; a voter that has not fetched has none; one that fetches less than before has less, while
// the high watermark stays, and has not caught up since (Kafka: LeaderState.describeQuorum, ReplicaState.updateFollowerState).
func TestDescribe_FollowsTheFetches(t *testing.T) {
	status := func(r kraft.ReplicaStatus) [3]int64 {
		return [3]int64{int64(r.LogEnd), int64(r.LastFetch), int64(r.LastCaughtUp)}
	}
	s := newStage(staticConfig(3)).toLeader()
	check := func(when string, hw kraft.Offset, want ...[3]int64) {
		t.Helper()
		got := s.described()
		if got.HighWatermark != hw || len(got.Voters) != 3 {
			t.Errorf("%s: %v", when, &got)
		}
		for i := range want {
			if have := status(got.Voters[i]); have != want[i] {
				t.Errorf("%s: voter %v has %v, want %v", when, got.Voters[i].Key, have, want[i])
			}
		}
	}
	check("before anybody has fetched", -1, [3]int64{1, 1000, 1000}, [3]int64{-1, -1, -1}, [3]int64{-1, -1, -1})
	s.now = 1100
	s.on(s.fetch(2, 1, 0))
	s.append(t, 1)
	s.append(t, 1)
	s.now = 1200
	check("one has fetched", 1, [3]int64{3, 1200, 1200}, [3]int64{1, 1100, 1100}, [3]int64{-1, -1, -1})
	s.now = 1300
	s.on(s.fetch(3, 3, 0))
	check("the other one has", 3, [3]int64{3, 1300, 1300}, [3]int64{1, 1100, 1100}, [3]int64{3, 1300, 1300})
	s.now = 1400
	s.on(s.fetch(3, 2, 0))
	check("and has lost its disk", 3, [3]int64{3, 1400, 1400}, [3]int64{1, 1100, 1100}, [3]int64{2, 1400, 1300})
	for _, v := range s.described().Voters {
		if !v.Key.DirectoryID.IsZero() {
			t.Errorf("a directory id at kraft.version 0: %v", v)
		}
	}
	s.act(kraft.CheckQuorumTimer)
	if got := s.described(); got.PartitionError != kraft.NotLeaderOrFollower || got.LeaderID != 0 || len(got.Voters) != 0 {
		t.Errorf("resigned: %v", &got)
	}
}

// Observers have a key of their own each; who has no id is none. Silent ones are forgotten, and only when somebody asks.
func TestDescribe_Observers(t *testing.T) {
	s := leaderStage(3)
	e := s.fetch(9, 0, 0)
	e.LastFetchedEpoch = 0
	s.on(e)
	got := s.described()
	if len(got.Observers) != 1 || got.Observers[0].LogEnd != 0 || got.Observers[0].LastCaughtUp != -1 || got.Observers[0].LastFetch != 1000 {
		t.Fatalf("behind: %v", got.Observers)
	}
	s.now = 2000
	s.on(s.fetch(9, 1, 0))
	if got := s.described().Observers[0]; got.LogEnd != 1 || got.LastCaughtUp != 2000 {
		t.Errorf("at the end: %v", got)
	}
	s.append(t, 1)
	s.now = 3000
	if got := s.described().Observers[0]; got.LogEnd != 1 || got.LastCaughtUp != 2000 || got.LastFetch != 2000 {
		t.Errorf("the leader has gone on: %v", got)
	}
	silent := kraft.Timer{Kind: kraft.SessionTimer, Peer: got.Observers[0].Key}
	s.at(&kraft.RoleAction{}, kraft.Clock{Now: s.now, Due: kraft.Timers(silent)})
	if got := s.described(); len(got.Observers) != 1 {
		t.Errorf("forgotten without being asked: %v", got.Observers)
	}
	if got := s.described(silent); len(got.Observers) != 0 {
		t.Errorf("a silent observer: %v", got.Observers)
	}
	e = s.fetch(9, 0, 0)
	e.Replica, e.LastFetchedEpoch = kraft.ReplicaKey{ID: kraft.NoNode}, 0
	s.on(e)
	if got := s.described(); len(got.Observers) != 0 {
		t.Errorf("anonymous: %v", got.Observers)
	}
}

// Voters of the bootstrap checkpoint win over controller.quorum.voters.
func TestStart_StaticVotersAreIgnoredWithACheckpoint(t *testing.T) {
	s := dynamicStage(3)
	cfg := s.config
	cfg.StaticVoters = kraft.NewVoterSet(staticVoter(1), staticVoter(2))
	s = newStageOn(cfg, s.log)
	if got := s.machine.Inspect(); got.Voters.Len() != 3 || got.VotersOffset != -1 || got.KRaftVersion != 1 {
		t.Fatalf("voters %v at %d", got.Voters, got.VotersOffset)
	}
	s.toLeader()
	if got := s.described(); len(got.Voters) != 3 || got.Voters[2].Key != dynamicVoter(3).Key || got.Voters[0].LogEnd != 3 {
		t.Errorf("described %v", &got)
	}
}
