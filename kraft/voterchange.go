package kraft

// isVoterChangePending reports whether an Add or RemoveRaftVoter is unfinished. One whose time has run out is ended first (Kafka:
// ChangeVoterHandlerState.isOperationPending).
func (m *QuorumStateMachine) isVoterChangePending() bool {
	m.expireVoterChange()
	return m.leader.Change.Kind != NoChange
}

// expireVoterChange answers a voter change that took too long. Its record stays in the log.
func (m *QuorumStateMachine) expireVoterChange() {
	if m.leader.Change.Kind != NoChange && m.dueKind(VoterChangeTimer) {
		m.abortVoterChange(RequestTimedOut)
	}
}

// abortVoterChange ends the pending change with an error and Kafka's text for it.
func (m *QuorumStateMachine) abortVoterChange(err ErrorCode) { m.endVoterChange(err, DefaultMessage) }

func (m *QuorumStateMachine) endVoterChange(err ErrorCode, message Message) {
	c := m.leader.Change
	if c.Kind == NoChange {
		return
	}
	m.leader.Change = VoterChange{}
	m.cancelTimer(VoterChangeTimer)
	if c.Answered {
		return
	}
	if c.Kind == AddChange {
		m.replyAddVoter(c.Request, err, message)
		return
	}
	m.replyRemoveVoter(c.Request, err, message)
}

// successMessage is the text of NONE: null, or before KAFKA-18061 Kafka's text of that error code.
func (m *QuorumStateMachine) successMessage() Message {
	if m.cfg.Rules.NullSuccessMessage {
		return NullMessage
	}
	return DefaultMessage
}

// isVoterSetCommitted: the voter set in force was recorded, and below the high watermark. So there is at most one uncommitted set.
func (m *QuorumStateMachine) isVoterSetCommitted() bool {
	at := m.history.lastVotersOffset()
	return at != staticOffset && at < m.leader.HighWatermark
}

// checkVoterChange is what Add and RemoveRaftVoter have in common: nothing else is pending, the high watermark of this epoch is
// known, kraft.version allows it, and the last change is committed.
func (m *QuorumStateMachine) checkVoterChange() ErrorCode {
	switch {
	case m.isVoterChangePending(), m.leader.HighWatermark < 0:
		return RequestTimedOut
	case !m.history.isReconfigSupported():
		return UnsupportedVersion
	case !m.isVoterSetCommitted():
		return RequestTimedOut
	}
	return None
}

// finishVoterChange: the Voters record is committed. A leader that is no voter any more resigns in its next turn (Kafka:
// Add/RemoveVoterHandler.highWatermarkUpdated).
func (m *QuorumStateMachine) finishVoterChange() {
	c := &m.leader.Change
	if c.Kind == NoChange || c.LastOffset < 0 || m.leader.HighWatermark <= c.LastOffset {
		return
	}
	removed := c.Kind == RemoveChange
	m.endVoterChange(None, m.successMessage())
	if removed && !m.isVoter() {
		m.leader.ResignRequested = true
	}
}
