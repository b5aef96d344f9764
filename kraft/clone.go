package kraft

import "slices"

// Clone is an independent copy. Immutable values (voter sets, endpoints, the configuration) are shared.
func (m *QuorumStateMachine) Clone() *QuorumStateMachine {
	c := new(QuorumStateMachine)
	m.CopyInto(c)
	return c
}

// CopyInto makes dst an independent copy and uses the storage that it has.
func (m *QuorumStateMachine) CopyInto(dst *QuorumStateMachine) {
	old := *dst
	*dst = *m
	dst.prospective.Tally = append(old.prospective.Tally[:0], m.prospective.Tally...)
	dst.candidate.Tally = append(old.candidate.Tally[:0], m.candidate.Tally...)
	dst.leader.copyFrom(&old.leader, &m.leader)
	dst.requests.connections = append(old.requests.connections[:0], m.requests.connections...)
	dst.parked.fetches = append(old.parked.fetches[:0], m.parked.waiting()...)
	dst.parked.head = 0
	dst.history.voters = slices.Clip(m.history.voters)
	dst.history.versions = slices.Clip(m.history.versions)
	dst.wait.timers.peers = append(old.wait.timers.peers[:0], m.wait.timers.peers...)
	dst.turn = turnContext{reset: old.turn.reset[:0]}
	dst.turn.log.appended = old.turn.log.appended[:0]
}

// copyFrom copies the lists that a leader changes in place. Successors, unacked voters and queued control records are never changed.
func (l *Leader) copyFrom(old, src *Leader) {
	l.Voters = append(old.Voters[:0], src.Voters...)
	l.Observers = append(old.Observers[:0], src.Observers...)
	l.Granting = append(old.Granting[:0], src.Granting...)
	l.FetchedVoters = append(old.FetchedVoters[:0], src.FetchedVoters...)
	l.Accumulator.Completed = append(old.Accumulator.Completed[:0], src.Accumulator.Completed...)
}
