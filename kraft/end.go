package kraft

// onEndQuorumEpoch shortens the wait for a leader that has resigned (KIP-595; Kafka: handleEndQuorumEpochRequest). An Unattached
// of that epoch becomes its follower first. The answer of a follower to a PreVote is not changed by it.
func (m *QuorumStateMachine) onEndQuorumEpoch(e *ReceiveEndQuorumEpoch) {
	if err := m.checkMessage(&e.Request); err != None {
		a := slot(m, &m.turn.out.replyEnd)
		a.Request, a.Error = e.ID, err
		return
	}
	err := m.checkVoterOnly(e.LeaderID, e.LeaderEpoch)
	if err == None {
		m.maybeTransition(e.LeaderID, e.LeaderEpoch, m.endpointsOr(e.LeaderEndpoints, e.LeaderID))
		if m.kind == FollowerRole && m.follower.Leader == e.LeaderID {
			m.awaitSuccessor(e.Successors)
		}
	}
	a := slot(m, &m.turn.out.replyEnd)
	a.Request = e.ID
	m.describe(&a.PartitionReply, e.Version, 1, e.Listener, err)
}

func (m *QuorumStateMachine) awaitSuccessor(successors []ReplicaKey) {
	if m.cfg.ID == NoNode && len(successors) > 0 {
		m.fatal(FatalNoNodeID)
		return
	}
	backoff := rankAmong(successors, m.selfKey()).electionBackoffMs(m.cfg.Timeouts.ElectionBackoffMaxMs)
	if backoff < 0 {
		m.fatal(FatalNegativeTimeout)
		return
	}
	m.resetKind(FetchTimer, backoff)
}

// onEndQuorumEpochResponse: the voter need not be told again.
func (m *QuorumStateMachine) onEndQuorumEpochResponse(e *ReceiveEndQuorumEpochResponse) bool {
	if e.Response.Error != None {
		return m.onTopLevelError(e.Response.Error)
	}
	if e.WrongPartition {
		return false
	}
	if handled, success := m.common(&e.PartitionAnswer); handled {
		return success
	}
	if e.PartitionAnswer.Error != None {
		return false
	}
	switch {
	case m.kind != ResignedRole:
		m.fatal(FatalUnexpectedRole)
		return false
	case !contains(m.resigned.Voters, e.From):
		m.fatal(FatalNotAVoter)
		return false
	}
	m.resigned.acknowledge(e.From)
	return true
}
