package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// vote is a Vote of node 2 in the epoch, with a log that ends there.
func vote(epoch kraft.Epoch, end kraft.LogEnd) *kraft.ReceiveVoteRequest {
	return &kraft.ReceiveVoteRequest{
		Request: request(7, 2), VoterID: 1, VoterDirectoryID: directory(1), CandidateEpoch: epoch, Candidate: 2,
		CandidateDirectoryID: directory(2), CandidateLogEnd: end,
	}
}

func preVote(epoch kraft.Epoch, end kraft.LogEnd) *kraft.ReceiveVoteRequest {
	e := vote(epoch, end)
	e.PreVote = true
	return e
}

var longLog = kraft.LogEnd{LastEpoch: 0, LastOffset: 99}

// What each role answers in its own epoch to a candidate whose log is as good as can be.
func TestVote_GrantsByRole(t *testing.T) {
	tests := []struct {
		role           kraft.RoleKind
		standard, pre  bool
		emptyLogGrants bool
	}{
		{role: kraft.UnattachedRole, standard: true, pre: true, emptyLogGrants: true},
		{role: kraft.ProspectiveRole, standard: true, pre: true, emptyLogGrants: true},
		{role: kraft.CandidateRole, pre: true, emptyLogGrants: true},
		{role: kraft.LeaderRole},
		{role: kraft.FollowerRole, pre: true, emptyLogGrants: true},
		{role: kraft.ResignedRole, pre: true},
	}
	for _, tt := range tests {
		for _, pre := range []bool{false, true} {
			s := stageIn(tt.role)
			epoch := max(s.epoch(), 1)
			if s.epoch() == 0 && !pre {
				s.on(vote(1, kraft.LogEnd{})) // to epoch 1, without a vote left over from there
				s = stageIn(tt.role)
			}
			e := vote(epoch, kraft.LogEnd{LastEpoch: s.log.EndOffset().LastEpoch, LastOffset: 99})
			e.PreVote, e.CandidateEpoch = pre, s.epoch()
			if !pre && e.CandidateLogEnd.LastEpoch >= e.CandidateEpoch {
				e.CandidateLogEnd.LastEpoch = e.CandidateEpoch - 1
			}
			if s.epoch() == 0 && !pre {
				continue // no standard vote is possible in epoch 0
			}
			got := sent[kraft.ReplyVote](s.on(e))[0]
			want := tt.standard && !pre || tt.pre && pre
			if got.VoteGranted != want || got.PartitionError != kraft.None {
				t.Errorf("%v, pre-vote %t: %v, want granted=%t", tt.role, pre, &got, want)
			}
		}
	}
}

func TestVote_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kraft.ReceiveVoteRequest)
		want   string
	}{
		{"another cluster", func(e *kraft.ReceiveVoteRequest) {
			e.ClusterID = kraft.ClusterID{Value: "other", Present: true}
			e.WrongPartition = true
		}, "ReplyVote(#7 INCONSISTENT_CLUSTER_ID leader=0 epoch=0 granted=false)"},
		{"wrong partition before wrong shape", func(e *kraft.ReceiveVoteRequest) {
			e.WrongPartition, e.CandidateLogEnd.LastOffset = true, -1
		}, "ReplyVote(#7 INVALID_REQUEST leader=0 epoch=0 granted=false)"},
		{"negative offset before fencing", func(e *kraft.ReceiveVoteRequest) {
			e.CandidateLogEnd.LastOffset, e.CandidateEpoch = -1, 0
		}, "ReplyVote(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093 granted=false)"},
		{
			"negative last epoch", func(e *kraft.ReceiveVoteRequest) { e.CandidateLogEnd.LastEpoch = -1 },
			"ReplyVote(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{
			"last epoch not below the epoch", func(e *kraft.ReceiveVoteRequest) { e.CandidateLogEnd.LastEpoch = 1 },
			"ReplyVote(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{"last epoch above the epoch of a pre-vote", func(e *kraft.ReceiveVoteRequest) {
			e.PreVote, e.CandidateLogEnd.LastEpoch = true, 2
		}, "ReplyVote(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093 granted=false)"},
		{"old epoch before negative id", func(e *kraft.ReceiveVoteRequest) {
			e.CandidateEpoch, e.Candidate, e.PreVote = 0, -1, true
		}, "ReplyVote(#7 FENCED_LEADER_EPOCH leader=2 epoch=1 at=node2:9093 granted=false)"},
		{
			"negative id", func(e *kraft.ReceiveVoteRequest) { e.Candidate = -1 },
			"ReplyVote(#7 INVALID_REQUEST leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{
			"another voter", func(e *kraft.ReceiveVoteRequest) { e.VoterID = 3 },
			"ReplyVote(#7 INVALID_VOTER_KEY leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{
			"another directory", func(e *kraft.ReceiveVoteRequest) { e.VoterDirectoryID = directory(3) },
			"ReplyVote(#7 INVALID_VOTER_KEY leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{
			"no directory fits", func(e *kraft.ReceiveVoteRequest) { e.VoterDirectoryID = kraft.DirectoryID{} },
			"ReplyVote(#7 leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{
			"no voter key fits", func(e *kraft.ReceiveVoteRequest) { e.VoterID = kraft.NoNode },
			"ReplyVote(#7 leader=2 epoch=1 at=node2:9093 granted=false)",
		},
		{
			"version 0 has no endpoints", func(e *kraft.ReceiveVoteRequest) { e.Version = 0 },
			"ReplyVote(#7 leader=2 epoch=1 granted=false)",
		},
		{
			"no endpoint for another listener", func(e *kraft.ReceiveVoteRequest) { e.Listener = "OTHER" },
			"ReplyVote(#7 leader=2 epoch=1 granted=false)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := vote(1, kraft.LogEnd{})
			tt.change(e)
			expect(t, followerStage().on(e), tt.want)
		})
	}
}

// A higher epoch is taken over and persisted before the voter key is looked at, and for a PreVote as well.
func TestVote_TakesOverTheEpochWhoeverAsks(t *testing.T) {
	e := preVote(5, kraft.LogEnd{})
	e.VoterID = 3
	expect(t, followerStage().on(e),
		"PersistQuorumState(epoch=5 leader=-1 voted=-1)",
		"TransitionedTo(Unattached epoch=5 leader=-1)",
		"ReplyVote(#7 INVALID_VOTER_KEY leader=-1 epoch=5 granted=false)")
}

// The vote is durable before it is told, and it is given again without another look at the log.
func TestVote_GrantsSameCandidateTwice(t *testing.T) {
	s := newStage(staticConfig(3))
	granted := s.on(vote(1, longLog))
	expect(t, granted,
		"PersistQuorumState(epoch=1 leader=-1 voted=-1)",
		"TransitionedTo(Unattached epoch=1 leader=-1)",
		"PersistQuorumState(epoch=1 leader=-1 voted=2/AAAAAAAAAAAAAAAAAAAAAw)",
		"ReplyVote(#7 leader=-1 epoch=1 granted=true)")
	if r, ok := timer(granted, kraft.ElectionTimer); !ok || r.Deadline != 2000 || r.Window != 1000 {
		t.Errorf("election timer: %v", &r)
	}
	expect(t, s.on(vote(1, kraft.LogEnd{})), "ReplyVote(#7 leader=-1 epoch=1 granted=true)")

	other := vote(1, longLog)
	other.CandidateDirectoryID = directory(9)
	expect(t, s.on(other), "ReplyVote(#7 leader=-1 epoch=1 granted=false)")
	other = vote(1, longLog)
	other.Candidate = 3
	expect(t, s.on(other), "ReplyVote(#7 leader=-1 epoch=1 granted=false)")
}

func TestVote_RefusesAnOlderLog(t *testing.T) {
	s := leaderStage(3) // its log ends at 1@1
	tests := []struct {
		end  kraft.LogEnd
		want bool
	}{
		{kraft.LogEnd{LastEpoch: 0, LastOffset: 99}, false},
		{kraft.LogEnd{LastEpoch: 1, LastOffset: 0}, false},
		{kraft.LogEnd{LastEpoch: 1, LastOffset: 1}, true},
		{kraft.LogEnd{LastEpoch: 2, LastOffset: 0}, true},
	}
	for i, tt := range tests {
		e := vote(kraft.Epoch(5+i), tt.end)
		if got := sent[kraft.ReplyVote](s.on(e))[0].VoteGranted; got != tt.want {
			t.Errorf("a log that ends at %v: granted %t", tt.end, got)
		}
	}
}

func TestVote_PreVoteChangesNothing(t *testing.T) {
	s := newStage(staticConfig(3))
	s.on(vote(1, longLog))
	before := s.machine.Fingerprint()
	e := preVote(1, longLog)
	e.Candidate = 3
	expect(t, s.on(e), "ReplyVote(#7 leader=-1 epoch=1 granted=true)")
	if s.machine.Fingerprint() != before {
		t.Error("the state has changed")
	}
}

// A follower that has had an answer from its leader stands by it, until its fetch timer makes it Prospective.
func TestVote_FollowerStandsByItsLeader(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t))
	expect(t, s.on(preVote(1, longLog)), "ReplyVote(#7 leader=2 epoch=1 at=node2:9093 granted=false)")
	s.act(kraft.FetchTimer)
	expect(t, s.on(preVote(1, longLog)), "ReplyVote(#7 leader=2 epoch=1 at=node2:9093 granted=true)")
}

// A vote in Prospective begins a new tally and a new timer, and leaves the connections alone.
func TestVote_ProspectiveBeginsAnew(t *testing.T) {
	s := newStage(staticConfig(5))
	s.on(vote(1, kraft.LogEnd{LastEpoch: 0, LastOffset: -0}))
	s = newStage(staticConfig(5))
	e := vote(1, longLog)
	e.VoterID = 4 // takes epoch 1 over, grants nothing
	s.on(e)
	s.toProspective()
	asked := sent[kraft.SendVoteRequest](s.act())
	s.on(&kraft.ReceiveVoteResponse{Response: response(asked[0].Destination), VoteGranted: true, PartitionAnswer: s.nobody()})
	expect(t, s.on(vote(1, longLog)),
		"PersistQuorumState(epoch=1 leader=-1 voted=2/AAAAAAAAAAAAAAAAAAAAAw)",
		"ReplyVote(#7 leader=-1 epoch=1 granted=true)")
	if got := s.machine.Role().(*kraft.Prospective).Tally.String(); got != "[1+ 2? 3? 4? 5?]" {
		t.Errorf("tally %s", got)
	}
	if got := len(s.machine.Inspect().Connections); got != 3 {
		t.Errorf("%d requests in flight, want 3", got)
	}
}

func TestVote_EndsTheProcess(t *testing.T) {
	tests := []struct {
		name string
		on   func() []kraft.Action
		want string
	}{
		{"a vote for the own id", func() []kraft.Action {
			e := vote(1, longLog)
			e.Candidate = 1
			return newStage(staticConfig(3)).on(e)
		}, "vote-for-self"},
		{"a vote by a node without an id", func() []kraft.Action {
			cfg := staticConfig(3)
			cfg.ID = kraft.NoNode
			e := vote(1, longLog)
			e.VoterID = kraft.NoNode
			return newStage(cfg).on(e)
		}, "no-node-id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fatal(tt.on()); got != tt.want {
				t.Errorf("fatal %q, want %q", got, tt.want)
			}
		})
	}
}

// Observers grant votes as voters do, and do not mind who asks.
func TestVote_ObserverGrants(t *testing.T) {
	cfg := staticConfig(3)
	cfg.ID, cfg.DirectoryID = 9, directory(9)
	e := vote(1, longLog)
	e.VoterID, e.Candidate = kraft.NoNode, 8
	if got := sent[kraft.ReplyVote](newStage(cfg).on(e)); !got[0].VoteGranted {
		t.Errorf("got %v", &got[0])
	}
}
