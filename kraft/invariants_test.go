package kraft

import (
	"errors"
	"testing"
)

// broken is a machine whose state is damaged by hand, as a fault in this code would.
func broken(damage func(*QuorumStateMachine)) (m *QuorumStateMachine, log *LogView) {
	self := Voter{Key: ReplicaKey{ID: 1}, Endpoints: NewEndpoints(Endpoint{Name: "C", Address: Address{"h", 1}})}
	m, err := New(Config{
		ID: 1, DirectoryID: DirectoryID{1}, Listener: "C", StaticVoters: NewVoterSet(self), Endpoints: self.Endpoints,
		Timeouts: DefaultTimeouts(),
	})
	if err != nil {
		panic(err)
	}
	log = &LogView{}
	m.OnEvent(&Start{}, log, Clock{}, &Actions{})
	log.AssignEpoch(1)
	damage(m)
	return m, log
}

func TestInvariants_ADamagedMachineIsSeen(t *testing.T) {
	tests := []struct {
		name   string
		damage func(*QuorumStateMachine)
		deep   bool
	}{
		{"high watermark beyond the log", func(m *QuorumStateMachine) { m.leader.HighWatermark = 9 }, false},
		{"follows itself", func(m *QuorumStateMachine) { m.kind, m.follower.Leader = FollowerRole, 1 }, false},
		{"a connection twice", func(m *QuorumStateMachine) {
			m.requests.capacity, m.requests.connections = 16, []Connection{{ID: 4}, {ID: 4}}
		}, true},
		{"parked out of order", func(m *QuorumStateMachine) {
			m.parked.fetches = []parkedFetch{{fetchInfo: fetchInfo{offset: 2}}, {fetchInfo: fetchInfo{offset: 1}}}
		}, true},
		{"a voter twice", func(m *QuorumStateMachine) { m.leader.Voters = append(m.leader.Voters, m.leader.Voters[0]) }, true},
		{"an observer twice", func(m *QuorumStateMachine) { m.leader.Observers = make([]Replica, 2) }, true},
		{"the leader is its own observer", func(m *QuorumStateMachine) {
			m.leader.Observers = []Replica{{Key: m.leader.Voters[0].Key}}
		}, true},
		{"a gap between prepared batches", func(m *QuorumStateMachine) {
			m.leader.Accumulator.Completed = append(m.leader.Accumulator.Completed, PreparedBatch{Base: 7, Count: 1})
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.deep && !checked {
				m, log := broken(tt.damage)
				m.turn.log = *log
				if m.deepViolation() == "" {
					t.Error("not seen")
				}
				return
			}
			m, log := broken(tt.damage)
			poisoned := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				if got := m.OnEvent(&Resign{Epoch: -5}, log, Clock{}, &Actions{}); len(got) != 0 {
					t.Errorf("a damaged machine emits %v", got)
				}
				return nil
			}()
			var invariant *InvariantError
			switch {
			case checked && !errors.As(poisoned, &invariant):
				t.Errorf("no panic: %v", poisoned)
			case checked && invariant.Error() == "":
				t.Error("a panic without words")
			case !checked && !m.Inspect().Stopped:
				t.Error("the machine goes on")
			}
		})
	}
}

func TestInvariants_EpochNeverFalls(t *testing.T) {
	m, log := broken(func(*QuorumStateMachine) {})
	m.turn.log = *log
	if m.violation(5) == "" {
		t.Error("not seen")
	}
	m.turn.log.Start = 99
	if m.violation(0) == "" {
		t.Error("a log that starts behind its end is not seen")
	}
	m.turn.log.Epochs = EpochCache{{2, 0}, {1, 5}}
	if m.deepViolation() == "" {
		t.Error("epochs out of order are not seen")
	}
}
