package kraft

import (
	"slices"
	"testing"
)

// Answers of those who should not answer, and answers that contradict each other, end the process: they show that the bookkeeping is
// broken (Kafka: the IllegalArgumentExceptions of CandidateState, ProspectiveState, LeaderState and ResignedState).
func TestStrangers_EndTheProcess(t *testing.T) {
	asked := func(m *QuorumStateMachine, id NodeID) Response {
		return Response{From: id, CorrelationID: m.send(id, Address{"h", 1}).CorrelationID}
	}
	vote := func(granted bool) func(*QuorumStateMachine, NodeID) Event {
		return func(m *QuorumStateMachine, id NodeID) Event {
			return &ReceiveVoteResponse{
				Response: asked(m, id), VoteGranted: granted, PartitionAnswer: PartitionAnswer{LeaderID: NoNode, LeaderEpoch: 5},
			}
		}
	}
	own := PartitionAnswer{LeaderID: 1, LeaderEpoch: 5}
	begin := func(m *QuorumStateMachine, id NodeID) Event {
		return &ReceiveBeginQuorumEpochResponse{Response: asked(m, id), PartitionAnswer: own}
	}
	end := func(m *QuorumStateMachine, id NodeID) Event {
		return &ReceiveEndQuorumEpochResponse{Response: asked(m, id), PartitionAnswer: own}
	}
	tests := []struct {
		name  string
		role  RoleKind
		event func(*QuorumStateMachine, NodeID) Event
		from  NodeID
		want  string
	}{
		{"granted by no voter", CandidateRole, vote(true), 9, "not-a-voter"},
		{"refused by no voter", CandidateRole, vote(false), 9, "not-a-voter"},
		{"refused by itself", CandidateRole, vote(false), 1, "contradictory-vote"},
		{"granted, then refused", CandidateRole, vote(false), 2, "contradictory-vote"},
		{"refused, then granted", CandidateRole, vote(true), 3, "contradictory-vote"},
		{"granted twice", CandidateRole, vote(true), 2, ""},
		{"refused twice", CandidateRole, vote(false), 3, ""},
		{"a pre-vote granted by no voter", ProspectiveRole, vote(true), 9, "not-a-voter"},
		{"a pre-vote refused by no voter", ProspectiveRole, vote(false), 9, "not-a-voter"},
		{"a pre-vote refused by itself", ProspectiveRole, vote(false), 1, "not-a-voter"},
		{"a pre-vote that changes its mind", ProspectiveRole, vote(false), 2, ""},
		{"an announcement acknowledged by no voter", LeaderRole, begin, 9, "not-a-voter"},
		{"an announcement acknowledged", LeaderRole, begin, 2, ""},
		{"a resignation acknowledged by no voter", ResignedRole, end, 9, "not-a-voter"},
		{"a resignation acknowledged", ResignedRole, end, 2, ""},
		{"a resignation acknowledged to a leader", LeaderRole, end, 2, "unexpected-role"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, out := fiveVoters(tt.role), &Actions{}
			m.turn.out = out
			list := m.OnEvent(tt.event(m, tt.from), &LogView{}, Clock{}, out)
			got := ""
			for _, a := range list {
				if f, ok := a.(*Fatal); ok {
					got = f.Reason.String()
				}
			}
			if got != tt.want {
				t.Errorf("fatal %q, want %q", got, tt.want)
			}
		})
	}
}

// fiveVoters is node 1 of five in epoch 5: 2 has granted, 3 has refused, 4 and 5 have said nothing.
func fiveVoters(kind RoleKind) *QuorumStateMachine {
	m := openMachine(kind, false)
	var voters []Voter
	for id := NodeID(1); id <= 5; id++ {
		voters = append(voters, Voter{Key: ReplicaKey{ID: id}, Endpoints: m.cfg.Endpoints})
	}
	m.history.static = NewVoterSet(voters...)
	for _, tally := range []*Tally{&m.prospective.Tally, &m.candidate.Tally} {
		m.openElection(tally)
		tally.record(2, Granted)
		tally.record(3, Rejected)
	}
	m.turn.out, m.turn.log = &Actions{}, LogView{}
	switch kind {
	case LeaderRole:
		m.openLeader()
	case ResignedRole:
		m.openResigned(nil)
	case UnattachedRole, ProspectiveRole, CandidateRole, FollowerRole:
	}
	return m
}

// The leader's own log end never falls (Kafka: LeaderState.updateLocalState). A log that does is broken.
func TestLeader_OwnLogEndNeverFalls(t *testing.T) {
	m := fiveVoters(LeaderRole)
	m.turn.log.End = 16
	if m.noteLocalEnd(); m.selfReplica().End != 16 || m.stopped {
		t.Fatalf("at %d", m.selfReplica().End)
	}
	if m.noteLocalEnd(); m.stopped {
		t.Fatal("the same end again is refused")
	}
	m.turn.log.End = 15
	if m.noteLocalEnd(); !m.stopped {
		t.Error("a lower end is taken")
	}
}

func TestFatalReasons_HaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range FatalReasons() {
		if r.String() == "" || seen[r.String()] {
			t.Errorf("reason %d is called %q", r, r)
		}
		seen[r.String()] = true
	}
}

func TestDirectoryID_Text(t *testing.T) {
	want := DirectoryID{0: 0xfb, 15: 7}
	text, _ := want.MarshalText()
	var got DirectoryID
	if err := got.UnmarshalText(text); err != nil || got != want || len(text) != 22 {
		t.Errorf("%s is read as %v, %v", text, got, err)
	}
	for _, bad := range []string{"", "AAAA", string(text) + "A", "?" + string(text[1:]), string(text) + "=="} {
		if _, err := ParseDirectoryID(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Parked Fetches come in any order and are taken out by offset, those of one offset by arrival, up to an offset that is included
// (Kafka: ThresholdPurgatory). One that expires leaves the others.
func TestParking_ByOffset(t *testing.T) {
	m := fiveVoters(LeaderRole)
	for i, offset := range []Offset{3, 1, 5, 3, 1} {
		m.park(&fetchInfo{request: RequestID(i), offset: offset}, &FetchAnswer{}, 500)
	}
	taken := func(upTo Offset) (ids []RequestID) {
		for {
			f, ok := m.parked.next(upTo)
			if !ok {
				return ids
			}
			ids = append(ids, f.request)
		}
	}
	m.onParkedExpired(&ParkedExpired{Request: 3})
	m.onParkedExpired(&ParkedExpired{Request: 3})
	for _, step := range []struct {
		upTo Offset
		want []RequestID
	}{{0, nil}, {1, []RequestID{1, 4}}, {2, nil}, {4, []RequestID{0}}, {4, nil}, {9, []RequestID{2}}, {9, nil}} {
		if got := taken(step.upTo); !slices.Equal(got, step.want) {
			t.Errorf("up to %d: %v, want %v", step.upTo, got, step.want)
		}
	}
}
