package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// A role change forgets the connections, so nothing that was asked before it is answered any more (Kafka: RequestManager.resetAll,
// called by each transition of KafkaRaftClient).
func TestLateAnswers_ToAFormerRoleAreIgnored(t *testing.T) {
	fetch := func(t *testing.T, s *stage) kraft.Event { return s.fetched(t, batch(0, 1, 1)) }
	ask := func(_ *testing.T, s *stage) kraft.Event {
		v := sent[kraft.SendVoteRequest](s.act())[0]
		return &kraft.ReceiveVoteResponse{Response: response(v.Destination), VoteGranted: true, PartitionAnswer: s.nobody()}
	}
	snapshot := func(t *testing.T, s *stage) kraft.Event {
		return chunk(s.offered(t, kraft.SnapshotID{Offset: 20, Epoch: 1}), 30, 20)
	}
	announce := func(_ *testing.T, s *stage) kraft.Event {
		b := sent[kraft.SendBeginQuorumEpoch](s.at(&kraft.RoleAction{}, kraft.Clock{Now: s.now, Due: kraft.Timers(
			kraft.Timer{Kind: kraft.BeginQuorumEpochTimer}, kraft.PeerTimer(kraft.SilenceTimer, 2))}))[0]
		return &kraft.ReceiveBeginQuorumEpochResponse{
			Response: response(b.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1},
		}
	}
	resign := func(_ *testing.T, s *stage) kraft.Event {
		e := sent[kraft.SendEndQuorumEpoch](s.act())[0]
		return &kraft.ReceiveEndQuorumEpochResponse{
			Response: response(e.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1},
		}
	}
	tests := []struct {
		name   string
		role   kraft.RoleKind
		ask    func(*testing.T, *stage) kraft.Event
		change func(*stage)
	}{
		{"Fetch, then Prospective", kraft.FollowerRole, fetch, func(s *stage) { s.act(kraft.FetchTimer) }},
		{"Fetch, then another leader", kraft.FollowerRole, fetch, func(s *stage) { s.on(begin(3, 2)) }},
		{"Fetch, then a newer epoch", kraft.FollowerRole, fetch, func(s *stage) { s.on(vote(9, kraft.LogEnd{})) }},
		{"Fetch of an Unattached, then Prospective", kraft.UnattachedRole, fetch, func(s *stage) { s.act(kraft.ElectionTimer) }},
		{"FetchSnapshot, then Prospective", kraft.FollowerRole, snapshot, func(s *stage) { s.act(kraft.FetchTimer) }},
		{"FetchSnapshot, then another leader", kraft.FollowerRole, snapshot, func(s *stage) { s.on(begin(3, 2)) }},
		{"PreVote, then Follower", kraft.ProspectiveRole, ask, func(s *stage) { s.on(begin(3, s.epoch())) }},
		{"PreVote, then Unattached", kraft.ProspectiveRole, ask, func(s *stage) { s.act(kraft.ElectionTimer) }},
		{"Vote, then Follower", kraft.CandidateRole, ask, func(s *stage) { s.on(begin(3, s.epoch())) }},
		{"Vote, then Prospective", kraft.CandidateRole, ask, func(s *stage) { s.act(kraft.ElectionTimer) }},
		{"BeginQuorumEpoch, then Resigned", kraft.LeaderRole, announce, func(s *stage) { s.act(kraft.CheckQuorumTimer) }},
		{"BeginQuorumEpoch, then Follower", kraft.LeaderRole, announce, func(s *stage) { s.on(begin(3, 2)) }},
		{"EndQuorumEpoch, then Unattached", kraft.ResignedRole, resign, func(s *stage) { s.act(kraft.ElectionTimer) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stageIn(tt.role)
			answer := tt.ask(t, s)
			tt.change(s)
			if s.kind() == tt.role && tt.role != kraft.FollowerRole {
				t.Fatalf("still %v", s.kind())
			}
			if got := s.machine.Inspect().Connections; len(got) != 0 {
				t.Errorf("connections %v", got)
			}
			before := s.machine.Fingerprint()
			if got := s.on(answer); len(got) != 0 || s.machine.Fingerprint() != before {
				t.Errorf("did %v", lines(got))
			}
		})
	}
}

// A request that is not answered in time is sent again, under another number, and the answer to the first one is ignored then.
func TestLateAnswers_ToARequestThatWasSentAgain(t *testing.T) {
	for _, role := range []kraft.RoleKind{kraft.ProspectiveRole, kraft.CandidateRole} {
		s := stageIn(role)
		first := sent[kraft.SendVoteRequest](s.act())
		if again := sent[kraft.SendVoteRequest](s.act()); len(again) != 0 {
			t.Errorf("%v: asks twice: %v", role, again)
		}
		again := sent[kraft.SendVoteRequest](s.actDue(kraft.PeerTimer(kraft.RequestTimer, 2)))
		if len(again) != 1 || again[0].Voter.ID != 2 || again[0].CorrelationID == first[0].CorrelationID {
			t.Fatalf("%v: sent again %v", role, again)
		}
		if s.voted(first[0], true); s.kind() != role {
			t.Errorf("%v: the first answer counts", role)
		}
		if s.voted(again[0], true); s.kind() == role {
			t.Errorf("%v: the second answer does not count", role)
		}
	}
}

// One that resigns tells again only whom it has not heard of.
func TestLateAnswers_ResignedTellsAgain(t *testing.T) {
	s := resignedStage()
	ends := sent[kraft.SendEndQuorumEpoch](s.act())
	s.on(&kraft.ReceiveEndQuorumEpochResponse{
		Response: response(ends[0].Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1},
	})
	expect(t, s.act())
	again := sent[kraft.SendEndQuorumEpoch](s.actDue(kraft.PeerTimer(kraft.RequestTimer, 2), kraft.PeerTimer(kraft.RequestTimer, 3)))
	if len(again) != 1 || again[0].Record != 3 {
		t.Errorf("sent again %v", again)
	}
}

// A leader's snapshot answer that is out of date leads to the same request; one that names a newer epoch to a Fetch there.
func TestSnapshot_AnswersOfOtherEpochs(t *testing.T) {
	tests := []struct {
		name   string
		answer kraft.PartitionAnswer
		want   string
	}{
		{
			"older",
			kraft.PartitionAnswer{Error: kraft.UnknownLeaderEpoch, LeaderID: 3, LeaderEpoch: 0},
			"SendFetchSnapshot(to=2@node2:9093 corr=2 epoch=1 id=20@1 position=0)",
		},
		{
			"newer, another leader",
			kraft.PartitionAnswer{Error: kraft.FencedLeaderEpoch, LeaderID: 3, LeaderEpoch: 2},
			"SendFetch(to=3@node3:9093 corr=2 epoch=2 offset=0 last=0 hw=-1)",
		},
		{
			"newer, the same leader",
			kraft.PartitionAnswer{Error: kraft.FencedLeaderEpoch, LeaderID: 2, LeaderEpoch: 2},
			"SendFetch(to=2@node2:9093 corr=2 epoch=2 offset=0 last=0 hw=-1)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := followerStage()
			r := chunk(s.offered(t, kraft.SnapshotID{Offset: 20, Epoch: 1}), 0, 0)
			r.PartitionAnswer = tt.answer
			s.on(r)
			expect(t, s.act(), tt.want)
		})
	}
	// The bootstrap checkpoint is held by everybody who has one: there is nothing to fetch.
	s := dynamicStage(3).follow(2, 1)
	r := s.fetched(t)
	r.Snapshot = kraft.BootstrapSnapshot
	expect(t, s.on(r))
	expect(t, s.act(), "SendFetch(to=2@node2:9093 corr=1 epoch=1 offset=0 last=0 hw=-1)")
}

// FetchSnapshot is for the leader of the epoch.
func TestFetchSnapshot_OnlyTheLeaderAnswers(t *testing.T) {
	e := &kraft.ReceiveFetchSnapshot{Request: request(7, 1), Replica: kraft.ReplicaKey{ID: 3}, FetchEpoch: 1}
	if got := sent[kraft.ReplyFetchSnapshot](followerStage().on(e)); got[0].PartitionError != kraft.NotLeaderOrFollower || got[0].LeaderID != 2 {
		t.Errorf("a follower: %v", got)
	}
	e.FetchEpoch = 2
	if got := sent[kraft.ReplyFetchSnapshot](leaderStage(3).on(e)); got[0].PartitionError != kraft.UnknownLeaderEpoch || got[0].LeaderID != 1 {
		t.Errorf("a newer epoch: %v", got)
	}
}
