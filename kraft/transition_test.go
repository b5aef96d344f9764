package kraft

import (
	"slices"
	"testing"
)

// openMachine is node 1 of three voters in epoch 5, put into a role without the way that leads there.
func openMachine(kind RoleKind, observer bool) *QuorumStateMachine {
	var voters []Voter
	for id := NodeID(1); id <= 3; id++ {
		if id > 1 || !observer {
			voters = append(voters, Voter{Key: ReplicaKey{ID: id}, Endpoints: NewEndpoints(Endpoint{Name: "C", Address: Address{"h", 1}})})
		}
	}
	m, err := New(Config{
		ID: 1, DirectoryID: DirectoryID{1}, Listener: "C", StaticVoters: NewVoterSet(voters...), Timeouts: DefaultTimeouts(),
		Endpoints: NewEndpoints(Endpoint{Name: "C", Address: Address{"h", 1}}),
	})
	if err != nil {
		panic(err)
	}
	m.OnEvent(&Start{}, &LogView{}, Clock{}, &Actions{})
	m.kind, m.epoch = kind, 5
	m.unattached = Unattached{Leader: NoNode, Voted: NoReplica, HighWatermark: -1}
	m.prospective = Prospective{Leader: NoNode, Voted: NoReplica, HighWatermark: -1}
	m.follower = Follower{Leader: 2, LeaderEndpoints: NewEndpoints(Endpoint{Name: "C"}), Voted: NoReplica, HighWatermark: -1}
	if !observer {
		m.openElection(&m.prospective.Tally)
		m.openElection(&m.candidate.Tally)
	}
	return m
}

func persisted(out *Actions) (states []QuorumState) {
	for _, a := range out.list {
		if p, ok := a.(*PersistQuorumState); ok {
			states = append(states, p.State)
		}
	}
	return states
}

var allRoles = []RoleKind{UnattachedRole, ProspectiveRole, CandidateRole, LeaderRole, FollowerRole, ResignedRole}

// Which role changes there are. All others end the process before anything is persisted: they would be a fault of this code (Kafka:
// the IllegalStateExceptions of QuorumState.transitionTo…).
func TestTransitions_OnlyThoseOfKafka(t *testing.T) {
	own := func(m *QuorumStateMachine) Endpoints { return m.cfg.Endpoints }
	tests := []struct {
		name string
		to   func(*QuorumStateMachine)
		from []RoleKind
		obs  []RoleKind // for an observer
		want RoleKind
	}{
		{
			"Unattached of an older epoch", func(m *QuorumStateMachine) { m.becomeUnattached(4, NoNode) }, nil, nil,
			UnattachedRole,
		},
		{
			"Unattached of the same epoch", func(m *QuorumStateMachine) { m.becomeUnattached(5, NoNode) },
			[]RoleKind{ProspectiveRole},
			[]RoleKind{ProspectiveRole},
			UnattachedRole,
		},
		{"Unattached of a newer epoch", func(m *QuorumStateMachine) { m.becomeUnattached(6, NoNode) }, allRoles, allRoles, UnattachedRole},
		{"Follower of an older epoch", func(m *QuorumStateMachine) { m.becomeFollower(4, 2, own(m)) }, nil, nil, FollowerRole},
		{
			"Follower of the same epoch", func(m *QuorumStateMachine) { m.becomeFollower(5, 3, own(m)) },
			[]RoleKind{UnattachedRole, ProspectiveRole, CandidateRole, ResignedRole},
			[]RoleKind{UnattachedRole, ProspectiveRole, CandidateRole, ResignedRole},
			FollowerRole,
		},
		{"Follower of a newer epoch", func(m *QuorumStateMachine) { m.becomeFollower(6, 3, own(m)) }, allRoles, allRoles, FollowerRole},
		{"Follower of itself", func(m *QuorumStateMachine) { m.becomeFollower(6, 1, own(m)) }, nil, nil, FollowerRole},
		{"Follower without endpoints", func(m *QuorumStateMachine) { m.becomeFollower(6, 2, Endpoints{}) }, nil, nil, FollowerRole},
		{
			"Prospective", (*QuorumStateMachine).becomeProspective,
			[]RoleKind{UnattachedRole, CandidateRole, FollowerRole, ResignedRole},
			nil, ProspectiveRole,
		},
		{"Candidate", (*QuorumStateMachine).becomeCandidate, []RoleKind{ProspectiveRole}, nil, CandidateRole},
		{"Leader without votes", (*QuorumStateMachine).becomeLeader, nil, nil, LeaderRole},
		{"Leader", func(m *QuorumStateMachine) {
			m.candidate.Tally.record(2, Granted)
			m.becomeLeader()
		}, []RoleKind{CandidateRole}, nil, LeaderRole},
	}
	for _, tt := range tests {
		for _, observer := range []bool{false, true} {
			allowed := tt.from
			if observer {
				allowed = tt.obs
			}
			for _, kind := range allRoles {
				m, out := openMachine(kind, observer), &Actions{}
				m.turn.out = out
				tt.to(m)
				if want := slices.Contains(allowed, kind); m.stopped == want || want && m.kind != tt.want {
					t.Errorf("%s from %v, observer %t: stopped %t, now %v, want allowed %t", tt.name, kind, observer, m.stopped, m.kind, want)
				}
				if m.stopped && len(persisted(out)) > 0 {
					t.Errorf("%s from %v, observer %t: refused after it was persisted", tt.name, kind, observer)
				}
			}
		}
	}
}

// What a change keeps in the same epoch, and forgets in a newer one: leader, vote and high watermark (Kafka: the ElectionState that
// QuorumState writes; a leader begins without a high watermark).
func TestTransitions_WhatIsKept(t *testing.T) {
	vote := ReplicaKey{ID: 3, DirectoryID: DirectoryID{3}}
	self := ReplicaKey{ID: 1, DirectoryID: DirectoryID{1}}
	at := NewEndpoints(Endpoint{Name: "C"}, Endpoint{Name: "D"})
	unattached := func() *QuorumStateMachine {
		m := openMachine(UnattachedRole, false)
		m.unattached = Unattached{Leader: 8, Voted: vote, HighWatermark: 7}
		return m
	}
	follower := func() *QuorumStateMachine {
		m := openMachine(FollowerRole, false)
		m.follower.Voted, m.follower.HighWatermark = vote, 7
		return m
	}
	tests := []struct {
		name string
		open func() *QuorumStateMachine
		to   func(*QuorumStateMachine)
		want QuorumState
		hw   Offset
	}{
		{"Unattached, newer epoch", unattached, func(m *QuorumStateMachine) { m.becomeUnattached(6, NoNode) }, QuorumState{6, NoNode, NoReplica}, 7},
		{"Unattached, newer epoch and leader", unattached, func(m *QuorumStateMachine) { m.becomeUnattached(6, 9) }, QuorumState{6, 9, NoReplica}, 7},
		{"Unattached to Follower", unattached, func(m *QuorumStateMachine) { m.becomeFollower(5, 2, at) }, QuorumState{5, 2, vote}, 7},
		{"Unattached to Follower of a newer epoch", unattached, func(m *QuorumStateMachine) { m.becomeFollower(8, 2, at) }, QuorumState{8, 2, NoReplica}, 7},
		{"Unattached to Prospective", unattached, (*QuorumStateMachine).becomeProspective, QuorumState{5, 8, vote}, 7},
		{"and back", unattached, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeUnattached(5, 8)
		}, QuorumState{5, 8, vote}, 7},
		{"Prospective to Candidate", unattached, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeCandidate()
		}, QuorumState{6, NoNode, self}, 7},
		{"Candidate to Prospective", unattached, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeCandidate()
			m.becomeProspective()
		}, QuorumState{6, NoNode, self}, 7},
		{"Candidate to Follower", unattached, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeCandidate()
			m.becomeFollower(6, 2, at)
		}, QuorumState{6, 2, self}, 7},
		{"Candidate to Leader", unattached, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeCandidate()
			m.candidate.Tally.record(2, Granted)
			m.becomeLeader()
		}, QuorumState{6, 1, NoReplica}, -1},
		{"Follower with more endpoints", follower, func(m *QuorumStateMachine) { m.becomeFollower(5, 2, at) }, QuorumState{5, 2, vote}, 7},
		{"Follower to Prospective", follower, (*QuorumStateMachine).becomeProspective, QuorumState{5, 2, vote}, 7},
		{"Prospective to Follower of another leader", follower, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeFollower(5, 3, at)
		}, QuorumState{5, 3, vote}, 7},
		{"Prospective with leader to Candidate", follower, func(m *QuorumStateMachine) {
			m.becomeProspective()
			m.becomeCandidate()
		}, QuorumState{6, NoNode, self}, 7},
		{"Follower, newer epoch", follower, func(m *QuorumStateMachine) { m.becomeUnattached(9, NoNode) }, QuorumState{9, NoNode, NoReplica}, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.open()
			out := &Actions{}
			m.turn.out = out
			tt.to(m)
			if got := m.QuorumState(); got != tt.want || m.highWatermark() != tt.hw || m.stopped {
				t.Errorf("%v with high watermark %d, want %v with %d", got, m.highWatermark(), tt.want, tt.hw)
			}
			if got := persisted(out); len(got) > 0 && got[len(got)-1] != tt.want {
				t.Errorf("persisted %v, want %v", got, tt.want)
			}
		})
	}
}
