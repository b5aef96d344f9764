package kraft

// onVoteResponse counts a vote (Kafka: handleVoteResponse). A tally does not know whether an answer was to a Vote or a PreVote:
// older ones do not arrive, since connections are reset with each change of role.
func (m *QuorumStateMachine) onVoteResponse(e *ReceiveVoteResponse) bool {
	switch {
	case e.Response.Error == UnsupportedVersion && m.kind == ProspectiveRole:
		m.becomeCandidate() // a voter that knows no PreVote: do without it (KIP-996)
		return true
	case e.Response.Error != None:
		return m.onTopLevelError(e.Response.Error)
	case e.WrongPartition:
		return false
	}
	if handled, success := m.common(&e.PartitionAnswer); handled {
		return success
	}
	if e.PartitionAnswer.Error != None {
		return false
	}
	switch m.kind {
	case ProspectiveRole:
		m.recordPreVote(e.From, e.VoteGranted)
	case CandidateRole:
		m.recordVote(e.From, e.VoteGranted)
	case UnattachedRole, LeaderRole, FollowerRole, ResignedRole:
	}
	return true
}

// recordPreVote: the last word of a voter counts.
func (m *QuorumStateMachine) recordPreVote(voter NodeID, granted bool) {
	p := &m.prospective
	state := Rejected
	if granted {
		state = Granted
	}
	if !granted && voter == m.cfg.ID || !p.Tally.record(voter, state) {
		m.fatal(FatalNotAVoter)
		return
	}
	switch {
	case granted && p.Tally.IsGranted():
		m.becomeCandidate()
	case !granted && p.Tally.IsRejected():
		m.losePreVote()
	}
}

// recordVote: a voter cannot change its mind within an epoch.
func (m *QuorumStateMachine) recordVote(voter NodeID, granted bool) {
	c := &m.candidate
	vote := c.Tally.find(voter)
	state, opposite := Rejected, Granted
	if granted {
		state, opposite = Granted, Rejected
	}
	switch {
	case vote == nil:
		m.fatal(FatalNotAVoter)
		return
	case vote.State == opposite:
		m.fatal(FatalContradictoryVote)
		return
	}
	vote.State = state
	switch {
	case granted && c.Tally.IsGranted():
		m.becomeLeader()
	case !granted && c.Tally.IsRejected():
		m.loseElection()
	}
}
