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
	dst.prospective.Tally = reuse(old.prospective.Tally, m.prospective.Tally)
	dst.candidate.Tally = reuse(old.candidate.Tally, m.candidate.Tally)
	dst.leader.copyFrom(&old.leader, &m.leader)
	dst.requests.connections = reuse(old.requests.connections, m.requests.connections)
	dst.parked.fetches = reuse(old.parked.fetches, m.parked.waiting())
	dst.parked.head = 0
	dst.history.voters = slices.Clip(m.history.voters)
	dst.history.versions = slices.Clip(m.history.versions)
	dst.wait.timers.peers = reuse(old.wait.timers.peers, m.wait.timers.peers)
	dst.turn = turnContext{reset: old.turn.reset[:0]}
	dst.turn.log.appended = old.turn.log.appended[:0]
}

// copyFrom copies the lists that a leader changes in place. Successors, unacked voters and queued control records are never changed.
func (l *Leader) copyFrom(old, src *Leader) {
	l.Voters = reuse(old.Voters, src.Voters)
	l.Observers = reuse(old.Observers, src.Observers)
	l.Granting = reuse(old.Granting, src.Granting)
	l.FetchedVoters = reuse(old.FetchedVoters, src.FetchedVoters)
	l.Accumulator.Completed = reuse(old.Accumulator.Completed, src.Accumulator.Completed)
}

// reuse copies a list into storage that is there already.
func reuse[T any](storage, list []T) []T { return append(storage[:0], list...) }
