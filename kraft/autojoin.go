package kraft

// actAutoJoin: a controller that is no voter asks to become one (KAFKA-19078; Kafka: pollFollowerAsObserver). If its id is among
// the voters with another directory id, that was its former self on a lost disk, which has to go first. Nothing is fetched in
// that turn.
func (m *QuorumStateMachine) actAutoJoin() {
	former := m.history.lastVoters().Find(m.cfg.ID)
	to, ok := m.trySendToLeader()
	if !ok {
		return
	}
	if former != nil {
		a := slot(m, &m.turn.out.sendRemoveVoter)
		a.Destination, a.Voter = to, former.Key
	} else {
		a := slot(m, &m.turn.out.sendAddVoter)
		a.Destination, a.Voter, a.Endpoints, a.TimeoutMs = to, m.selfKey(), m.cfg.Endpoints, m.cfg.Timeouts.RequestMs
	}
	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
}

// onAddRaftVoterResponse and onRemoveRaftVoterResponse say nothing about the leader. Done, timed out, or not needed any more: try
// again after a period.
func (m *QuorumStateMachine) onAddRaftVoterResponse(e *ReceiveAddRaftVoterResponse) bool {
	return m.onAutoJoinAnswer(e.Error, DuplicateVoter)
}

func (m *QuorumStateMachine) onRemoveRaftVoterResponse(e *ReceiveRemoveRaftVoterResponse) bool {
	return m.onAutoJoinAnswer(e.Error, VoterNotFound)
}

func (m *QuorumStateMachine) onAutoJoinAnswer(err, notNeeded ErrorCode) bool {
	if err != None && err != RequestTimedOut && err != notNeeded {
		return false
	}
	if m.kind != FollowerRole {
		m.fatal(FatalResponseInRole)
		return false
	}
	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
	return true
}
