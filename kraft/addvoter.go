package kraft

// onAddRaftVoter begins to make an observer a voter (KIP-853; Kafka: handleAddVoterRequest, AddVoterHandler). If all checks pass
// the new voter is asked what it supports, and the answer is deferred:
//
//	ApiVersions answered   -> a Voters record with the new voter is queued, if it supports kraft.version and has caught up
//	record committed       -> NONE
//	not AckWhenCommitted   -> NONE as soon as it is queued; the change stays pending
//	time over              -> REQUEST_TIMED_OUT; the record stays in the log
//	leadership lost        -> NOT_LEADER_OR_FOLLOWER
func (m *QuorumStateMachine) onAddRaftVoter(e *ReceiveAddRaftVoter) {
	if !m.clusterIDMatches(e.ClusterID) {
		m.replyAddVoter(e.ID, InconsistentClusterID, TextMessage)
		return
	}
	if err := m.checkLeaderOnly(m.epoch); err != None {
		m.replyAddVoter(e.ID, err, EmptyMessage)
		return
	}
	address, reachable := e.Endpoints.Address(m.cfg.Listener)
	if e.Voter.ID < 0 || e.Voter.DirectoryID.IsZero() || !reachable {
		m.replyAddVoter(e.ID, InvalidRequest, TextMessage)
		return
	}
	if err := m.checkVoterChange(); err != None {
		m.replyAddVoter(e.ID, err, TextMessage)
		return
	}
	if m.history.lastVoters().Find(e.Voter.ID) != nil {
		m.replyAddVoter(e.ID, DuplicateVoter, TextMessage)
		return
	}
	if m.isBackingOff(e.Voter.ID) || !m.isReady(e.Voter.ID) {
		m.replyAddVoter(e.ID, RequestTimedOut, TextMessage)
		return
	}
	slot(m, &m.turn.out.sendAPIVersions).Destination = m.send(e.Voter.ID, address)
	m.resetKind(VoterChangeTimer, m.cfg.Timeouts.RequestMs)
	m.leader.Change = VoterChange{
		Kind: AddChange, Request: e.ID, Voter: e.Voter, Endpoints: e.Endpoints, LastOffset: -1,
		AckWhenCommitted: e.AckWhenCommitted || !m.cfg.Rules.AckWhenCommitted,
	}
}

// onAPIVersionsResponse continues the addition. Only the id of the responder is compared, not its directory id.
func (m *QuorumStateMachine) onAPIVersionsResponse(e *ReceiveAPIVersionsResponse) bool {
	if m.kind != LeaderRole {
		return true
	}
	c := &m.leader.Change
	if c.Kind != AddChange || c.LastOffset >= 0 || c.Voter.ID != e.From {
		return true
	}
	switch {
	case e.Error != None:
		m.endVoterChange(RequestTimedOut, TextMessage)
		return false
	case !e.HasKRaftVersion || !e.KRaftVersions.Contains(m.history.kraftVersion()):
		m.endVoterChange(InvalidRequest, TextMessage)
		return true
	case !m.isCaughtUp(c.Voter):
		m.endVoterChange(RequestTimedOut, TextMessage)
		return true
	}
	voters, ok := m.history.lastVoters().Add(Voter{Key: c.Voter, Endpoints: c.Endpoints, Versions: e.KRaftVersions})
	if !ok {
		m.fatal(FatalVoterChange)
		return false
	}
	c.LastOffset = m.queueVoters(voters)
	if !c.AckWhenCommitted {
		m.replyAddVoter(c.Request, None, m.successMessage())
		c.Answered = true
	}
	return true
}

// isCaughtUp: the observer of exactly that key has reached the log end once, and has fetched within the last hour (Kafka:
// LeaderState.isReplicaCaughtUp).
func (m *QuorumStateMachine) isCaughtUp(key ReplicaKey) bool {
	r := m.leader.observer(&key)
	return r != nil && r.LastCaughtUp > 0 && r.LastFetch > 0 && !m.due(Timer{Kind: CaughtUpTimer, Peer: key})
}

func (m *QuorumStateMachine) replyAddVoter(id RequestID, err ErrorCode, message Message) {
	a := slot(m, &m.turn.out.replyAddVoter)
	a.Request, a.Error, a.Message = id, err, message
}
