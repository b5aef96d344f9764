package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func begin(leader kraft.NodeID, epoch kraft.Epoch) *kraft.ReceiveBeginQuorumEpoch {
	return &kraft.ReceiveBeginQuorumEpoch{
		Request: request(7, 1), VoterID: 1, VoterDirectoryID: directory(1), LeaderID: leader, LeaderEpoch: epoch,
		LeaderEndpoints: endpoints(leader),
	}
}

func end(leader kraft.NodeID, epoch kraft.Epoch, successors ...kraft.ReplicaKey) *kraft.ReceiveEndQuorumEpoch {
	return &kraft.ReceiveEndQuorumEpoch{Request: request(7, 1), LeaderID: leader, LeaderEpoch: epoch, Successors: successors}
}

func TestBegin_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kraft.ReceiveBeginQuorumEpoch)
		want   []string
	}{
		{"another cluster", func(e *kraft.ReceiveBeginQuorumEpoch) {
			e.ClusterID = kraft.ClusterID{Value: "other", Present: true}
		}, []string{"ReplyBeginQuorumEpoch(#7 INCONSISTENT_CLUSTER_ID leader=0 epoch=0)"}},
		{
			"wrong partition", func(e *kraft.ReceiveBeginQuorumEpoch) { e.WrongPartition = true },
			[]string{"ReplyBeginQuorumEpoch(#7 INVALID_REQUEST leader=0 epoch=0)"},
		},
		{
			"old epoch", func(e *kraft.ReceiveBeginQuorumEpoch) { e.LeaderEpoch = 0 },
			[]string{"ReplyBeginQuorumEpoch(#7 FENCED_LEADER_EPOCH leader=2 epoch=1 at=node2:9093)"},
		},
		{
			"negative leader", func(e *kraft.ReceiveBeginQuorumEpoch) { e.LeaderID = -1 },
			[]string{"ReplyBeginQuorumEpoch(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093)"},
		},
		{
			"the leader again", func(*kraft.ReceiveBeginQuorumEpoch) {},
			[]string{"ReplyBeginQuorumEpoch(#7 leader=2 epoch=1 at=node2:9093)"},
		},
		{"another voter, but the announcement counts", func(e *kraft.ReceiveBeginQuorumEpoch) {
			e.VoterID, e.LeaderEpoch = 3, 2
		}, []string{
			"PersistQuorumState(epoch=2 leader=2 voted=-1)", "TransitionedTo(Follower epoch=2 leader=2)",
			"ReplyBeginQuorumEpoch(#7 INVALID_VOTER_KEY leader=2 epoch=2 at=node2:9093)",
		}},
		{"endpoints of the voter set", func(e *kraft.ReceiveBeginQuorumEpoch) {
			e.LeaderID, e.LeaderEpoch, e.LeaderEndpoints = 3, 2, kraft.Endpoints{}
		}, []string{
			"PersistQuorumState(epoch=2 leader=3 voted=-1)", "TransitionedTo(Follower epoch=2 leader=3)",
			"ReplyBeginQuorumEpoch(#7 leader=3 epoch=2 at=node3:9093)",
		}},
		{"no endpoints", func(e *kraft.ReceiveBeginQuorumEpoch) {
			e.LeaderID, e.LeaderEpoch, e.LeaderEndpoints = 8, 2, kraft.Endpoints{}
		}, []string{"Fatal(unknown-endpoints)"}},
		{
			"another leader of the epoch", func(e *kraft.ReceiveBeginQuorumEpoch) { e.LeaderID = 3 },
			[]string{"Fatal(inconsistent-leader)"},
		},
		{
			"the own id", func(e *kraft.ReceiveBeginQuorumEpoch) { e.LeaderID, e.LeaderEpoch = 1, 5 },
			[]string{"Fatal(inconsistent-leader)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := begin(2, 1)
			tt.change(e)
			expect(t, followerStage().on(e), tt.want...)
		})
	}
}

// More endpoints than known make a fresh follower of the same leader (KAFKA-16927); a repeated announcement does not even touch the
// fetch timer.
func TestBegin_SameLeaderWithMoreEndpoints(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t))
	if got := s.on(begin(2, 1)); len(got) != 1 {
		t.Errorf("a repeated announcement does %v", lines(got))
	}
	e := begin(2, 1)
	e.LeaderEndpoints = kraft.NewEndpoints(
		kraft.Endpoint{Name: "controller", Address: address(2)}, kraft.Endpoint{Name: "second", Address: address(2)})
	expect(t, s.on(e),
		"PersistQuorumState(epoch=1 leader=2 voted=-1)", "TransitionedTo(Follower epoch=1 leader=2)",
		"ReplyBeginQuorumEpoch(#7 leader=2 epoch=1 at=node2:9093)")
	if s.machine.Role().(*kraft.Follower).FetchedFromLeader {
		t.Error("the new follower has fetched already")
	}
}

// A vote is kept by the follower of the same epoch, and by whom it goes back to.
func TestBegin_KeepsTheVoteOfTheEpoch(t *testing.T) {
	s := newStage(staticConfig(3))
	s.on(vote(1, longLog))
	expect(t, s.on(begin(3, 1)),
		"PersistQuorumState(epoch=1 leader=3 voted=2/AAAAAAAAAAAAAAAAAAAAAw)", "TransitionedTo(Follower epoch=1 leader=3)",
		"ReplyBeginQuorumEpoch(#7 leader=3 epoch=1 at=node3:9093)")
}

func TestBegin_FromEveryRole(t *testing.T) {
	for _, role := range roles {
		s := stageIn(role)
		s.on(begin(3, 9))
		if f, ok := s.machine.Role().(*kraft.Follower); !ok || f.Leader != 3 || s.epoch() != 9 {
			t.Errorf("%v becomes %v", role, s.machine.Role())
		}
	}
}

func TestEnd_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kraft.ReceiveEndQuorumEpoch)
		want   []string
	}{
		{
			"another cluster", func(e *kraft.ReceiveEndQuorumEpoch) { e.ClusterID = kraft.ClusterID{Value: "x", Present: true} },
			[]string{"ReplyEndQuorumEpoch(#7 INCONSISTENT_CLUSTER_ID leader=0 epoch=0)"},
		},
		{
			"wrong partition", func(e *kraft.ReceiveEndQuorumEpoch) { e.WrongPartition = true },
			[]string{"ReplyEndQuorumEpoch(#7 INVALID_REQUEST leader=0 epoch=0)"},
		},
		{
			"old epoch", func(e *kraft.ReceiveEndQuorumEpoch) { e.LeaderEpoch = 0 },
			[]string{"ReplyEndQuorumEpoch(#7 FENCED_LEADER_EPOCH leader=2 epoch=1 at=node2:9093)"},
		},
		{
			"negative leader", func(e *kraft.ReceiveEndQuorumEpoch) { e.LeaderID = -3 },
			[]string{"ReplyEndQuorumEpoch(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093)"},
		},
		{
			"fine", func(*kraft.ReceiveEndQuorumEpoch) {},
			[]string{"ReplyEndQuorumEpoch(#7 leader=2 epoch=1 at=node2:9093)"},
		},
		{
			"another leader", func(e *kraft.ReceiveEndQuorumEpoch) { e.LeaderID = 3 },
			[]string{"Fatal(inconsistent-leader)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := end(2, 1)
			tt.change(e)
			expect(t, followerStage().on(e), tt.want...)
		})
	}
}

// An Unattached of the epoch becomes a follower of the resigning leader first.
func TestEnd_IsALastAnnouncement(t *testing.T) {
	s := newStage(staticConfig(3))
	list := s.on(end(2, 0))
	expect(t, list,
		"PersistQuorumState(epoch=0 leader=2 voted=-1)", "TransitionedTo(Follower epoch=0 leader=2)",
		"ReplyEndQuorumEpoch(#7 leader=2 epoch=0 at=node2:9093)")
	if r, _ := timer(list, kraft.FetchTimer); r.Deadline != s.now {
		t.Errorf("fetch timer until %d, want at once: with an empty list everyone is first", r.Deadline)
	}
}

func TestEnd_SuccessorsWaitTheirTurn(t *testing.T) {
	other := func(n int) []kraft.ReplicaKey {
		var list []kraft.ReplicaKey
		for i := range n {
			list = append(list, kraft.ReplicaKey{ID: kraft.NodeID(50 + i)})
		}
		return list
	}
	self, wrong := kraft.ReplicaKey{ID: 1, DirectoryID: directory(1)}, kraft.ReplicaKey{ID: 1, DirectoryID: directory(9)}
	tests := []struct {
		name string
		list []kraft.ReplicaKey
		want kraft.Instant
	}{
		{"first", append([]kraft.ReplicaKey{self}, other(2)...), 0},
		{"second of three", append(other(1), self, kraft.ReplicaKey{ID: 60}), 250},
		{"third of three", append(other(2), self), 500},
		{"second of two", append(other(1), self), 500},
		{"without a directory id", append(other(1), kraft.ReplicaKey{ID: 1}), 500},
		{"not listed", other(2), 1000},
		{"listed with another directory id", append(other(1), wrong), 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := followerStage()
			if r, ok := timer(s.on(end(2, 1, tt.list...)), kraft.FetchTimer); !ok || r.Deadline != s.now+tt.want {
				t.Errorf("waits until %d, want %d", r.Deadline, s.now+tt.want)
			}
		})
	}
	long := append(append(other(23), self), other(9)...)
	if got := fatal(followerStage().on(end(2, 1, long...))); got != "negative-timeout" {
		t.Errorf("a list of 33: %q", got)
	}
	cfg := staticConfig(3)
	cfg.ID = kraft.NoNode
	if got := fatal(newStage(cfg).follow(2, 1).on(end(2, 1, self))); got != "no-node-id" {
		t.Errorf("an anonymous observer: %q", got)
	}
}

func TestEnd_LeavesOthersAlone(t *testing.T) {
	s := newStage(staticConfig(3)).toCandidate()
	s.on(begin(3, 2))
	s.act(kraft.FetchTimer)
	if got := s.on(end(3, 2)); len(got) != 1 || s.kind() != kraft.ProspectiveRole {
		t.Errorf("Prospective: %v", lines(got))
	}
}

// Announcements go to the voters that have not fetched for half a fetch timeout (KAFKA-16926), and before 4.2 to all.
func TestBegin_GoesToSilentVoters(t *testing.T) {
	silent := func(s *stage, ids ...kraft.NodeID) []kraft.SendBeginQuorumEpoch {
		clock := kraft.Clock{Now: s.now, Due: kraft.Timers(kraft.Timer{Kind: kraft.BeginQuorumEpochTimer})}
		for _, id := range ids {
			clock.Due.Add(kraft.PeerTimer(kraft.SilenceTimer, id))
		}
		return sent[kraft.SendBeginQuorumEpoch](s.at(&kraft.RoleAction{}, clock))
	}
	s := leaderStage(3)
	if got := silent(s); len(got) != 0 {
		t.Errorf("nobody is silent: %v", got)
	}
	got := silent(s, 1, 3)
	if len(got) != 1 || got[0].Voter.ID != 3 || !got[0].Endpoints.Equal(endpoints(1)) {
		t.Errorf("node 3 is silent: %v", got)
	}
	if again := silent(s, 3); len(again) != 0 {
		t.Error("sent while the first is in flight")
	}
	cfg := staticConfig(3)
	cfg.Rules.BeginOnlyToSilent = false
	if got := silent(newStage(cfg).toLeader()); len(got) != 2 {
		t.Errorf("before 4.2: %v", got)
	}
	s = newStage(cfg).toLeader()
	for _, b := range silent(s) {
		s.on(&kraft.ReceiveBeginQuorumEpochResponse{
			Response: response(b.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1},
		})
	}
	for _, r := range s.machine.Role().(*kraft.Leader).Voters {
		if !r.Acknowledged {
			t.Errorf("%v has not acknowledged", r.Key)
		}
	}
}
