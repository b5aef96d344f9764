package kraft

// onRemoveRaftVoter queues a Voters record without the voter and answers when it is committed (KIP-853; Kafka:
// handleRemoveVoterRequest, RemoveVoterHandler). The key must match exactly, and the last voter cannot be removed. The leader may
// remove itself: it stays in office, without a vote of its own, until the record is committed.
func (m *QuorumStateMachine) onRemoveRaftVoter(e *ReceiveRemoveRaftVoter) {
	if !m.clusterIDMatches(e.ClusterID) {
		m.replyRemoveVoter(e.ID, InconsistentClusterID, TextMessage)
		return
	}
	if err := m.checkLeaderOnly(m.epoch); err != None {
		m.replyRemoveVoter(e.ID, err, EmptyMessage)
		return
	}
	if e.Voter.ID < 0 || e.Voter.DirectoryID.IsZero() {
		m.replyRemoveVoter(e.ID, InvalidRequest, TextMessage)
		return
	}
	if err := m.checkVoterChange(); err != None {
		m.replyRemoveVoter(e.ID, err, TextMessage)
		return
	}
	voters, ok := m.history.lastVoters().Remove(e.Voter)
	if !ok {
		m.replyRemoveVoter(e.ID, VoterNotFound, TextMessage)
		return
	}
	m.leader.Change = VoterChange{Kind: RemoveChange, Request: e.ID, Voter: e.Voter, LastOffset: m.queueVoters(voters)}
	m.resetKind(VoterChangeTimer, m.cfg.Timeouts.RequestMs)
}

func (m *QuorumStateMachine) replyRemoveVoter(id RequestID, err ErrorCode, message Message) {
	a := slot(m, &m.turn.out.replyRemoveVoter)
	a.Request, a.Error, a.Message = id, err, message
}
