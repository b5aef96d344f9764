package kraft

import (
	"fmt"
	"math"
)

// InvariantError says that the machine has reached a state that it must never reach: a fault of this code, not of a peer. In checked
// builds (the tags invariants and race) it is panicked with. In others the machine is poisoned instead: it emits nothing from then on.
type InvariantError struct {
	Event     string
	Violation string
}

func (e *InvariantError) Error() string { return fmt.Sprintf("after %s: %s", e.Event, e.Violation) }

// check looks at the state after an event.
func (m *QuorumStateMachine) check(ev Event, before Epoch) {
	violation := m.violation(before)
	if violation == "" && checked {
		violation = m.deepViolation()
	}
	if violation == "" {
		return
	}
	if checked {
		panic(&InvariantError{Event: ev.String(), Violation: violation})
	}
	m.turn.out.list = m.turn.out.list[:0]
	m.stopped = true
}

// violation is what can be looked at after every event, in every build.
func (m *QuorumStateMachine) violation(before Epoch) string {
	if m.stopped {
		return ""
	}
	log := &m.turn.log
	switch {
	case m.epoch < before && before != math.MaxInt32: // a candidate beyond it begins at the lowest int, as in Java
		return "the epoch fell"
	case log.Start > log.End:
		return "the log starts behind its end"
	}
	switch m.kind {
	case LeaderRole:
		if m.leader.HighWatermark > log.End || m.leader.EpochStart > log.End || m.leader.Accumulator.NextOffset < log.End {
			return "the leader's offsets do not fit its log"
		}
	case FollowerRole:
		if m.follower.Leader == m.cfg.ID || m.follower.LeaderEndpoints.Len() == 0 || m.follower.HighWatermark > log.End {
			return "not a follower's state"
		}
	case UnattachedRole, ProspectiveRole, CandidateRole, ResignedRole:
	}
	return ""
}

// deepViolation is what takes too long for a build that serves.
func (m *QuorumStateMachine) deepViolation() string {
	c := m.requests.connections
	for i := 1; i < len(c); i++ {
		if m.requests.bucket(c[i-1]) > m.requests.bucket(c[i]) || m.requests.index(c[i].ID) != i {
			return "connections out of order, or twice"
		}
	}
	f := m.parked.waiting()
	for i := 1; i < len(f); i++ {
		if f[i-1].offset > f[i].offset {
			return "parked Fetches out of order"
		}
	}
	e := m.turn.log.Epochs
	for i := 1; i < len(e); i++ {
		if e[i-1].Epoch >= e[i].Epoch || e[i-1].Start >= e[i].Start {
			return "epochs out of order"
		}
	}
	if m.kind == LeaderRole && !m.stopped {
		return m.leader.violation(m.cfg.ID)
	}
	return ""
}

func (l *Leader) violation(self NodeID) string {
	for i := range l.Voters {
		if i > 0 && l.Voters[i-1].Key.ID >= l.Voters[i].Key.ID {
			return "voters out of order, or twice"
		}
	}
	for i := range l.Observers {
		if l.observer(&l.Observers[i].Key) != &l.Observers[i] {
			return "an observer twice"
		}
		if l.matchingVoter(l.Observers[i].Key) != nil && l.Observers[i].Key.ID == self {
			return "the leader is voter and observer"
		}
	}
	next := Offset(-1)
	for i := range l.Accumulator.Completed {
		b := &l.Accumulator.Completed[i]
		if b.Count <= 0 || next >= 0 && b.Base != next {
			return "prepared batches with a gap"
		}
		next = b.Last() + 1
	}
	return ""
}
