package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// voted answers a vote request.
func (s *stage) voted(v kraft.SendVoteRequest, granted bool) []kraft.Action {
	return s.on(&kraft.ReceiveVoteResponse{Response: response(v.Destination), VoteGranted: granted, PartitionAnswer: s.nobody()})
}

func TestElection_AsksBeforeItTakesAnEpoch(t *testing.T) {
	s := newStage(staticConfig(3))
	expect(t, s.act(kraft.ElectionTimer), "TransitionedTo(Prospective epoch=0 leader=-1)")
	asked := s.act()
	expect(t, asked,
		"SendPreVote(to=2@node2:9093 corr=0 epoch=0 candidate=1/AAAAAAAAAAAAAAAAAAAAAg log=0@0 voter=2)",
		"SendPreVote(to=3@node3:9093 corr=1 epoch=0 candidate=1/AAAAAAAAAAAAAAAAAAAAAg log=0@0 voter=3)")
	votes := sent[kraft.SendVoteRequest](asked)
	expect(t, s.voted(votes[1], true),
		"PersistQuorumState(epoch=1 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)",
		"TransitionedTo(Candidate epoch=1 leader=-1)")
	expect(t, s.voted(votes[0], true)) // an answer from before the change of role
	votes = sent[kraft.SendVoteRequest](s.act())
	expect(t, s.voted(votes[0], true),
		"PersistQuorumState(epoch=1 leader=1 voted=-1)",
		"TransitionedTo(Leader epoch=1 leader=1)",
		"AssignEpoch(1 from 0)")
	expect(t, s.act(kraft.BeginQuorumEpochTimer),
		"AppendLeaderChange([0..0]@1[LeaderChange(1 voters=[1 2 3] granting=[1 2])])",
		"FlushLog",
		"SendBeginQuorumEpoch(to=2@node2:9093 corr=4 leader=1 epoch=1 voter=2)",
		"SendBeginQuorumEpoch(to=3@node3:9093 corr=5 leader=1 epoch=1 voter=3)")
}

func TestElection_LosesAPreVote(t *testing.T) {
	s := newStage(staticConfig(3)).toProspective()
	votes := sent[kraft.SendVoteRequest](s.act())
	s.voted(votes[0], false)
	lost := s.voted(votes[1], false)
	expect(t, lost,
		"PersistQuorumState(epoch=0 leader=-1 voted=-1)",
		"TransitionedTo(Unattached epoch=0 leader=-1)")
	if _, ok := timer(lost, kraft.ElectionTimer); !ok {
		t.Error("a rejected pre-vote draws a new election timeout")
	}
	if s.toProspective(); s.kind() != kraft.ProspectiveRole {
		t.Fatal("not prospective")
	}
	timedOut := s.act(kraft.ElectionTimer)
	if _, ok := timer(timedOut, kraft.ElectionTimer); ok || s.kind() != kraft.UnattachedRole {
		t.Errorf("a pre-vote that timed out hands its timer on: %v", lines(timedOut))
	}
}

// The last word of a voter counts in a pre-vote.
func TestElection_PreVoteCanBeChanged(t *testing.T) {
	s := newStage(staticConfig(5)).toProspective()
	votes := sent[kraft.SendVoteRequest](s.act())
	s.voted(votes[0], false)
	s.voted(votes[1], false)
	if got := s.machine.Role().(*kraft.Prospective).Tally.String(); got != "[1+ 2- 3- 4? 5?]" {
		t.Errorf("tally %s", got)
	}
}

func TestElection_GoesBackToTheLeaderItKnows(t *testing.T) {
	s := followerStage()
	expect(t, s.act(kraft.FetchTimer), "TransitionedTo(Prospective epoch=1 leader=2)")
	expect(t, s.act(kraft.ElectionTimer),
		"PersistQuorumState(epoch=1 leader=2 voted=-1)",
		"TransitionedTo(Follower epoch=1 leader=2)")
}

// Candidate: same epoch, own vote kept, and no way back but through Prospective.
func TestElection_CandidateTimesOut(t *testing.T) {
	s := newStage(staticConfig(3)).toCandidate()
	expect(t, s.act(kraft.ElectionTimer), "TransitionedTo(Prospective epoch=1 leader=-1)")
	if got := s.machine.QuorumState().Voted.ID; got != 1 {
		t.Errorf("voted for %v", got)
	}
}

func TestElection_LosingCandidateByRelease(t *testing.T) {
	tests := []struct {
		rule   kraft.ElectionBackoffRule
		window int32
		backs  bool
	}{
		{kraft.BackoffFrom100, 1001, true},
		{kraft.BackoffFrom50, 1050, true},
		{kraft.WaitForTimer, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.rule.String(), func(t *testing.T) {
			cfg := staticConfig(3)
			cfg.Rules.ElectionBackoff = tt.rule
			s := newStage(cfg).toCandidate()
			votes := sent[kraft.SendVoteRequest](s.act())
			s.voted(votes[0], false)
			r, ok := timer(s.voted(votes[1], false), kraft.ElectionBackoffTimer)
			if ok != tt.backs || r.Window != tt.window || tt.backs && r.Retries != 1 {
				t.Fatalf("reset %t %v", ok, &r)
			}
			if expect(t, s.act()); !tt.backs {
				return
			}
			if _, timers := s.machine.Wait(); !timers.Has(kraft.Timer{Kind: kraft.ElectionBackoffTimer}) {
				t.Error("does not wait for the backoff")
			}
			expect(t, s.act(kraft.ElectionBackoffTimer), "TransitionedTo(Prospective epoch=1 leader=-1)")
			s.grantMajority()
			if got := s.machine.Role().(*kraft.Candidate).Retries; got != 2 {
				t.Errorf("retries %d", got)
			}
		})
	}
}

func TestElection_BackoffOfTheDraws(t *testing.T) {
	tests := []struct {
		rule                         kraft.ElectionBackoffRule
		retries, low, high           int32
		first, second, max, duration int32
	}{
		{kraft.BackoffFrom100, 1, 0, 2, 1, 0, 1000, 100},
		{kraft.BackoffFrom100, 5, 0, 32, 31, 0, 1000, 1000},
		{kraft.BackoffFrom100, 50, 0, 2 << 20, 0, 0, 1000, 0},
		{kraft.BackoffFrom50, 1, 1, 2, 1, 30, 1000, 50},
		{kraft.BackoffFrom50, 50, 1, 2 << 10, 2000, 30, 1000, 1030},
	}
	for _, tt := range tests {
		if low, high := tt.rule.Bounds(tt.retries); low != tt.low || high != tt.high {
			t.Errorf("%v: retry %d draws from [%d,%d)", tt.rule, tt.retries, low, high)
		}
		if got := tt.rule.Milliseconds(tt.first, tt.second, tt.max); got != tt.duration {
			t.Errorf("%v: draws %d, %d give %d ms", tt.rule, tt.first, tt.second, got)
		}
	}
}

// One voter that knows no PreVote disables it for this election (KIP-996).
func TestElection_DoesWithoutPreVoteIfAVoterDoesNotKnowIt(t *testing.T) {
	s := newStage(staticConfig(3)).toProspective()
	votes := sent[kraft.SendVoteRequest](s.act())
	r := response(votes[0].Destination)
	r.Error = kraft.UnsupportedVersion
	s.on(&kraft.RequestFailed{Response: r, API: kraft.VoteAPI})
	if s.kind() != kraft.CandidateRole {
		t.Errorf("role %v", s.kind())
	}
}

// INVALID_VOTER_KEY leaves the voter unrecorded, and it is asked again at once.
func TestElection_AsksAgainAfterInvalidVoterKey(t *testing.T) {
	s := newStage(staticConfig(3)).toProspective()
	votes := sent[kraft.SendVoteRequest](s.act())
	answer := s.nobody()
	answer.Error = kraft.InvalidVoterKey
	s.on(&kraft.ReceiveVoteResponse{Response: response(votes[0].Destination), PartitionAnswer: answer})
	if again := sent[kraft.SendVoteRequest](s.act()); len(again) != 1 || again[0].Voter.ID != 2 {
		t.Errorf("asked %v", again)
	}
}

func TestElection_EndsTheProcess(t *testing.T) {
	tests := []struct {
		name string
		on   func() []kraft.Action
		want string
	}{
		{"partition error INVALID_REQUEST", func() []kraft.Action {
			s := newStage(staticConfig(3)).toCandidate()
			votes := sent[kraft.SendVoteRequest](s.act())
			answer := s.nobody()
			answer.Error = kraft.InvalidRequest
			return s.on(&kraft.ReceiveVoteResponse{Response: response(votes[0].Destination), PartitionAnswer: answer})
		}, "invalid-request"},
		{"not authorized", func() []kraft.Action {
			s := newStage(staticConfig(3)).toCandidate()
			r := response(sent[kraft.SendVoteRequest](s.act())[0].Destination)
			r.Error = kraft.ClusterAuthorizationFailed
			return s.on(&kraft.ReceiveVoteResponse{Response: r})
		}, "not-authorized"},
		{"named as the leader", func() []kraft.Action {
			s := newStage(staticConfig(3)).toCandidate()
			votes := sent[kraft.SendVoteRequest](s.act())
			answer := kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 7}
			return s.on(&kraft.ReceiveVoteResponse{Response: response(votes[0].Destination), PartitionAnswer: answer})
		}, "inconsistent-leader"},
		{"named as the leader of its own epoch", func() []kraft.Action {
			s := newStage(staticConfig(3)).toCandidate()
			votes := sent[kraft.SendVoteRequest](s.act())
			answer := kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1}
			return s.on(&kraft.ReceiveVoteResponse{Response: response(votes[0].Destination), PartitionAnswer: answer})
		}, "invalid-transition"},
		{"a voter without an endpoint for the channel listener", func() []kraft.Action {
			cfg := staticConfig(3)
			cfg.Listener = "ELSEWHERE"
			return newStage(cfg).toProspective().act()
		}, "no-endpoint"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fatal(tt.on()); got != tt.want {
				t.Errorf("fatal %q, want %q", got, tt.want)
			}
		})
	}
}

// A shutdown lets candidates go on asking, and not give up.
func TestElection_DuringShutdown(t *testing.T) {
	for _, role := range []kraft.RoleKind{kraft.ProspectiveRole, kraft.CandidateRole} {
		s := stageIn(role)
		s.on(&kraft.Shutdown{TimeoutMs: 5000})
		if got := sent[kraft.SendVoteRequest](s.act(kraft.ElectionTimer)); len(got) != 2 || s.kind() != role {
			t.Errorf("%v: %d requests, then %v", role, len(got), s.kind())
		}
	}
	s := stageIn(kraft.UnattachedRole)
	s.on(&kraft.Shutdown{TimeoutMs: 5000})
	expect(t, s.act(kraft.ElectionTimer))
	s = stageIn(kraft.FollowerRole)
	expect(t, s.on(&kraft.Shutdown{TimeoutMs: -1}), "Refused(negative-timeout)")
	expect(t, s.act(), "SendFetch(to=2@node2:9093 corr=0 epoch=1 offset=0 last=0 hw=-1)")
	s.on(&kraft.Shutdown{TimeoutMs: 5000})
	expect(t, s.act(), "ShutdownDone(ok=true)")
	expect(t, s.act())
	s = stageIn(kraft.ResignedRole)
	s.on(&kraft.Shutdown{TimeoutMs: 5000})
	if s.act(kraft.ElectionTimer); s.kind() != kraft.ResignedRole {
		t.Errorf("resigned, then %v", s.kind())
	}
	expect(t, s.act(kraft.ShutdownTimer), "ShutdownDone(ok=false)")
}

func TestResigned_TellsTheVotersThenLeavesTheEpoch(t *testing.T) {
	s := leaderStage(3)
	s.on(&kraft.Resign{Epoch: 1})
	expect(t, s.act(), "TransitionedTo(Resigned epoch=1 leader=1)")
	ends := s.act()
	expect(t, ends,
		"SendEndQuorumEpoch(to=2@node2:9093 corr=4 leader=1 epoch=1 successors=[2 3])",
		"SendEndQuorumEpoch(to=3@node3:9093 corr=5 leader=1 epoch=1 successors=[2 3])")
	acknowledged := kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1}
	s.on(&kraft.ReceiveEndQuorumEpochResponse{
		Response: response(sent[kraft.SendEndQuorumEpoch](ends)[0].Destination), PartitionAnswer: acknowledged,
	})
	if got := s.machine.Role().(*kraft.Resigned).Unacked; len(got) != 1 || got[0] != 3 {
		t.Errorf("unacked %v", got)
	}
	expect(t, s.act(kraft.ElectionTimer),
		"PersistQuorumState(epoch=2 leader=-1 voted=-1)",
		"TransitionedTo(Unattached epoch=2 leader=-1)")
}

func TestResign_IsForTheLeaderOfTheEpoch(t *testing.T) {
	tests := []struct {
		role  kraft.RoleKind
		epoch kraft.Epoch
		want  []string
	}{
		{kraft.LeaderRole, 2, []string{"Refused(epoch-too-new)"}},
		{kraft.LeaderRole, -1, []string{"Refused(epoch-too-new)"}},
		{kraft.LeaderRole, 0, nil},
		{kraft.LeaderRole, 1, nil},
		{kraft.FollowerRole, 1, []string{"Refused(not-leader)"}},
		{kraft.ResignedRole, 1, []string{"Refused(already-leaving)"}},
	}
	for _, tt := range tests {
		expect(t, stageIn(tt.role).on(&kraft.Resign{Epoch: tt.epoch}), tt.want...)
	}
}

// The election timer of a node that learns of a higher epoch: it goes on, unless the role had none to hand on.
func TestUnattached_InheritsTheElectionTimer(t *testing.T) {
	fresh := map[kraft.RoleKind]bool{kraft.LeaderRole: true, kraft.FollowerRole: true}
	for _, role := range roles {
		s := stageIn(role)
		e := vote(9, longLog)
		e.VoterID = 3
		if _, ok := timer(s.on(e), kraft.ElectionTimer); ok != fresh[role] {
			t.Errorf("%v: a new timer %t", role, ok)
		}
	}
	cfg := staticConfig(3)
	cfg.ID, cfg.DirectoryID = 9, directory(9)
	e := vote(9, longLog)
	e.VoterID = 3
	if got := sent[kraft.CancelTimer](newStage(cfg).on(e)); len(got) != 1 {
		t.Error("an observer waits for ever")
	}
}

func TestUnattached_AsksOneBootstrapServerAtATime(t *testing.T) {
	s := newStage(staticConfig(3))
	first := s.on(&kraft.RoleAction{Choice: 1})
	expect(t, first, "SendFetch(to=2@node2:9093 corr=0 epoch=0 offset=0 last=0 hw=-1)")
	if got := sent[kraft.ChooseBootstrap](first); len(got) != 1 || got[0].Servers != 3 {
		t.Errorf("chose %v", got)
	}
	second := s.on(&kraft.RoleAction{Choice: 2})
	if got := len(second); got != 0 {
		t.Errorf("%d actions while a Fetch is in flight", got)
	}
	s.on(&kraft.RequestFailed{
		Response: kraft.Response{From: 2, CorrelationID: 0, Error: kraft.BrokerNotAvailable}, API: kraft.FetchAPI,
	})
	expect(t, s.on(&kraft.RoleAction{Choice: 1}), "SendFetch(to=3@node3:9093 corr=1 epoch=0 offset=0 last=0 hw=-1)")
}
