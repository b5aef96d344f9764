package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// What an answer to a Fetch of an Unattached in epoch 3 says about the leader, and what becomes of it.
func TestCommonResponse_FirstMatch(t *testing.T) {
	tests := []struct {
		name    string
		answer  kraft.PartitionAnswer
		want    []string
		backoff bool
	}{
		{name: "older epoch is stale", answer: kraft.PartitionAnswer{LeaderEpoch: 2, LeaderID: 2, Error: kraft.InvalidRequest}},
		{
			name:   "UNKNOWN_LEADER_EPOCH is stale even with a newer epoch",
			answer: kraft.PartitionAnswer{LeaderEpoch: 9, LeaderID: 2, Error: kraft.UnknownLeaderEpoch},
		},
		{
			name: "newer epoch without a leader", answer: kraft.PartitionAnswer{LeaderEpoch: 4, LeaderID: -1},
			want: []string{"PersistQuorumState(epoch=4 leader=-1 voted=-1)", "TransitionedTo(Unattached epoch=4 leader=-1)"},
		},
		{
			name: "newer epoch with a leader among the voters", answer: kraft.PartitionAnswer{LeaderEpoch: 4, LeaderID: 3},
			want: []string{"PersistQuorumState(epoch=4 leader=3 voted=-1)", "TransitionedTo(Follower epoch=4 leader=3)"},
		},
		{
			name:   "newer epoch with a leader elsewhere",
			answer: kraft.PartitionAnswer{LeaderEpoch: 4, LeaderID: 8, HasEndpoint: true, LeaderEndpoint: address(8)},
			want:   []string{"PersistQuorumState(epoch=4 leader=8 voted=-1)", "TransitionedTo(Follower epoch=4 leader=8)"},
		},
		{
			name: "newer epoch with an unknown leader", answer: kraft.PartitionAnswer{LeaderEpoch: 4, LeaderID: 8},
			want: []string{"Fatal(unknown-endpoints)"},
		},
		{name: "same epoch, fenced, no leader", answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: -1, Error: kraft.FencedLeaderEpoch}},
		{
			name: "same epoch, leader, error", answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: 2, Error: kraft.BrokerNotAvailable},
			want: []string{"PersistQuorumState(epoch=3 leader=2 voted=-1)", "TransitionedTo(Follower epoch=3 leader=2)"},
		},
		{
			name: "same epoch, leader, NONE: goes on as a follower", answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: 2},
			want: []string{"PersistQuorumState(epoch=3 leader=2 voted=-1)", "TransitionedTo(Follower epoch=3 leader=2)"},
		},
		{
			name:   "BROKER_NOT_AVAILABLE is a failure",
			answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: -1, Error: kraft.BrokerNotAvailable}, backoff: true,
		},
		{name: "INVALID_VOTER_KEY is none", answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: -1, Error: kraft.InvalidVoterKey}},
		{
			name:   "INVALID_REQUEST ends the process",
			answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: -1, Error: kraft.InvalidRequest},
			want:   []string{"Fatal(invalid-request)"},
		},
		{
			name: "NONE without a leader: only a follower can handle it", answer: kraft.PartitionAnswer{LeaderEpoch: 3, LeaderID: -1},
			want: []string{"Fatal(unexpected-role)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(staticConfig(3))
			e := vote(3, longLog)
			e.VoterID = 3
			s.on(e)
			r := s.fetched(t)
			r.PartitionAnswer = tt.answer
			expect(t, s.on(r), tt.want...)
			backingOff := false
			for _, c := range s.machine.Inspect().Connections {
				backingOff = backingOff || c.BackingOff
			}
			if backingOff != tt.backoff && !s.machine.Inspect().Stopped {
				t.Errorf("backing off: %t", backingOff)
			}
		})
	}
}

// A NONE from the leader whose id is known, but not its endpoints, finds no follower (start-up row 6).
func TestFetchResponse_UnattachedWithLeaderEndsTheProcess(t *testing.T) {
	cfg := staticConfig(3)
	cfg.HasStored, cfg.Stored = true, kraft.QuorumState{Epoch: 3, Leader: 8, Voted: kraft.NoReplica}
	s := newStage(cfg)
	r := s.fetched(t)
	r.LeaderID = 8
	if got := fatal(s.on(r)); got != "unexpected-role" {
		t.Errorf("fatal %q", got)
	}
}

// Top-level errors, for each kind of request that is sent.
func TestTopLevelErrors(t *testing.T) {
	type sentRequest struct {
		name string
		open func() (*stage, kraft.Response, func(kraft.Response) kraft.Event)
	}
	requests := []sentRequest{
		{"Fetch", func() (*stage, kraft.Response, func(kraft.Response) kraft.Event) {
			s := followerStage()
			return s, s.fetched(t).Response, func(r kraft.Response) kraft.Event { return &kraft.ReceiveFetchResponse{Response: r} }
		}},
		{"Vote", func() (*stage, kraft.Response, func(kraft.Response) kraft.Event) {
			s := newStage(staticConfig(3)).toCandidate()
			v := sent[kraft.SendVoteRequest](s.act())[0]
			return s, response(v.Destination), func(r kraft.Response) kraft.Event { return &kraft.ReceiveVoteResponse{Response: r} }
		}},
		{"BeginQuorumEpoch", func() (*stage, kraft.Response, func(kraft.Response) kraft.Event) {
			s := newStage(staticConfig(3)).toLeader()
			clock := kraft.Clock{Due: kraft.Timers(kraft.Timer{Kind: kraft.BeginQuorumEpochTimer}, kraft.PeerTimer(kraft.SilenceTimer, 2))}
			b := sent[kraft.SendBeginQuorumEpoch](s.at(&kraft.RoleAction{}, clock))[0]
			return s, response(b.Destination), func(r kraft.Response) kraft.Event {
				return &kraft.ReceiveBeginQuorumEpochResponse{Response: r}
			}
		}},
		{"EndQuorumEpoch", func() (*stage, kraft.Response, func(kraft.Response) kraft.Event) {
			s := resignedStage()
			e := sent[kraft.SendEndQuorumEpoch](s.act())[0]
			return s, response(e.Destination), func(r kraft.Response) kraft.Event {
				return &kraft.ReceiveEndQuorumEpochResponse{Response: r}
			}
		}},
	}
	for _, rq := range requests {
		for _, tt := range []struct {
			err   kraft.ErrorCode
			fatal string
		}{
			{kraft.BrokerNotAvailable, ""},
			{kraft.ClusterAuthorizationFailed, "not-authorized"},
			{kraft.UnknownServerError, ""},
		} {
			s, head, event := rq.open()
			head.Error = tt.err
			got := s.on(event(head))
			if f := fatal(got); f != tt.fatal {
				t.Errorf("%s, %v: fatal %q, want %q", rq.name, tt.err, f, tt.fatal)
			}
			if tt.fatal == "" {
				checkBackingOff(t, s, head.From)
			}
		}
		s, head, event := rq.open()
		head.WrongPartition = true
		s.on(event(head))
		checkBackingOff(t, s, head.From)
	}
}

func checkBackingOff(t *testing.T, s *stage, id kraft.NodeID) {
	t.Helper()
	for _, c := range s.machine.Inspect().Connections {
		if c.ID == id && c.BackingOff {
			return
		}
	}
	t.Errorf("node %v is not left alone: %v", id, s.machine.Inspect().Connections)
}

// Errors about the partition that no rule names are failures.
func TestPartitionErrors_AreFailures(t *testing.T) {
	s := followerStage()
	r := s.fetched(t)
	r.PartitionAnswer.Error = kraft.UnknownServerError
	s.on(r)
	checkBackingOff(t, s, 2)

	s = newStage(staticConfig(3)).toCandidate()
	v := sent[kraft.SendVoteRequest](s.act())[0]
	answer := s.nobody()
	answer.Error = kraft.UnknownServerError
	s.on(&kraft.ReceiveVoteResponse{Response: response(v.Destination), PartitionAnswer: answer})
	checkBackingOff(t, s, 2)

	s = resignedStage()
	e := sent[kraft.SendEndQuorumEpoch](s.act())[0]
	s.on(&kraft.ReceiveEndQuorumEpochResponse{
		Response: response(e.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1, Error: kraft.UnknownServerError},
	})
	checkBackingOff(t, s, 2)
}

func TestResponses_ThatNobodyWaitsForAreIgnored(t *testing.T) {
	s := followerStage()
	r := s.fetched(t)
	r.CorrelationID++
	if got := s.on(r); len(got) != 0 {
		t.Errorf("did %v", lines(got))
	}
	r.CorrelationID--
	r.From = 3
	if got := s.on(r); len(got) != 0 {
		t.Errorf("did %v", lines(got))
	}
}
