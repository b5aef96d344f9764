package kraft

// UpdateRaftVoter keeps the voter set in step with how each voter can be reached and what it supports (KIP-853). A follower
// sends it to its leader; the leader writes a new Voters record, or at kraft.version 0 remembers it for the upgrade
// (KAFKA-16538).

const firstUpdateVoterPeriod = 3 // fetch timeouts, before 4.1

func (m *QuorumStateMachine) updateVoterPeriodMs() int32 {
	if n := m.cfg.Rules.UpdateVoterPeriod; n > 0 {
		return n * m.cfg.Timeouts.FetchMs
	}
	return firstUpdateVoterPeriod * m.cfg.Timeouts.FetchMs
}

// actUpdateVoter is what a voter does when its update-voter timer has run out. While an update is needed and the leader's
// connection is busy, nothing is fetched in that turn.
func (m *QuorumStateMachine) actUpdateVoter() {
	restart := true
	switch {
	case m.needsVoterUpdate():
		sent := m.sendUpdateVoter()
		restart = sent || !m.cfg.Rules.UpdateVoterRestartIfSent
	case m.cfg.Rules.UpdateVoterRestartIfSent:
		m.fetchFromBestNode()
	default:
		if address, ok := m.leaderAddress(); ok {
			m.fetchFromLeader(m.follower.Leader, address)
		}
	}
	if restart {
		m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
	}
}

// needsVoterUpdate: with kraft.version 1 the own entry differs from what this node is; with version 0 the leader has not been
// told yet.
func (m *QuorumStateMachine) needsVoterUpdate() bool {
	if m.history.isReconfigSupported() {
		return m.history.lastVoters().NeedsUpdate(m.selfVoter())
	}
	return m.cfg.Rules.UpgradeKRaftVersion && !m.follower.UpdatedLeader
}

func (m *QuorumStateMachine) sendUpdateVoter() bool {
	to, ok := m.trySendToLeader()
	if !ok {
		return false
	}
	a := slot(m, &m.turn.out.sendUpdateVoter)
	a.Destination, a.Epoch, a.Voter = to, m.epoch, m.selfVoter()
	return true
}

func (m *QuorumStateMachine) trySendToLeader() (Destination, bool) {
	address, ok := m.leaderAddress()
	if !ok {
		return Destination{}, false
	}
	return m.trySend(m.follower.Leader, address)
}

// onUpdateRaftVoterResponse (Kafka: handleUpdateVoterResponse). A request that failed on its way has the epoch -1 and so counts as
// stale: no failure, no backoff, and the next attempt comes a period later.
func (m *QuorumStateMachine) onUpdateRaftVoterResponse(e *ReceiveUpdateRaftVoterResponse) bool {
	answer := PartitionAnswer{
		Error: e.Error, LeaderID: e.LeaderID, LeaderEpoch: e.LeaderEpoch, LeaderEndpoint: e.LeaderEndpoint,
		HasEndpoint: (e.LeaderEndpoint.Host != "") == m.cfg.Rules.UpdateVoterEndpoint,
	}
	if handled, success := m.common(&answer); handled {
		return success
	}
	if !m.cfg.Rules.UpgradeKRaftVersion {
		return true
	}
	if e.Error != None && e.Error != UnsupportedVersion {
		return false
	}
	if m.kind != FollowerRole {
		m.fatal(FatalUnexpectedRole)
		return false
	}
	m.follower.UpdatedLeader = true
	m.noteAnswerFromLeader()
	return true
}

// onUpdateRaftVoter takes a voter's new description (Kafka: handleUpdateVoterRequest, UpdateVoterHandler). It is answered before
// the new set is even written: the next change waits until it is committed.
func (m *QuorumStateMachine) onUpdateRaftVoter(e *ReceiveUpdateRaftVoter) {
	if err := m.checkUpdateVoter(e); err != None {
		m.replyUpdateVoter(e, err)
		return
	}
	voter := Voter{Key: e.Voter, Endpoints: e.Endpoints, Versions: e.Versions}
	if m.history.isReconfigSupported() {
		voters, ok := m.history.lastVoters().Update(voter)
		if !ok {
			m.replyUpdateVoter(e, VoterNotFound)
			return
		}
		m.queueVoters(voters)
	} else {
		voters, ok := m.leader.VolatileVoters.UpdateByID(voter)
		if !ok {
			m.replyUpdateVoter(e, VoterNotFound)
			return
		}
		m.leader.VolatileVoters = voters
	}
	if m.cfg.Rules.UpgradeKRaftVersion {
		m.accountForCheckQuorum(e.Voter)
	}
	m.replyUpdateVoter(e, None)
}

func (m *QuorumStateMachine) checkUpdateVoter(e *ReceiveUpdateRaftVoter) ErrorCode {
	if !m.clusterIDMatches(e.ClusterID) {
		return InconsistentClusterID
	}
	if err := m.checkLeaderOnly(e.FetchEpoch); err != None {
		return err
	}
	_, reachable := e.Endpoints.Address(m.cfg.Listener)
	switch {
	case e.Voter.ID < 0 || e.Voter.DirectoryID.IsZero(), !reachable,
		e.Versions.Min < 0 || e.Versions.Max < e.Versions.Min:
		return InvalidRequest
	case m.isVoterChangePending(), m.leader.HighWatermark < 0:
		return RequestTimedOut
	case m.history.isReconfigSupported():
		if !m.isVoterSetCommitted() {
			return RequestTimedOut
		}
	case !m.cfg.Rules.UpgradeKRaftVersion:
		return UnsupportedVersion
	case !m.leader.HasVolatileVoters:
		return RequestTimedOut
	}
	if !e.Versions.Contains(m.history.kraftVersion()) {
		return InvalidRequest
	}
	return None
}

func (m *QuorumStateMachine) replyUpdateVoter(e *ReceiveUpdateRaftVoter, err ErrorCode) {
	a := slot(m, &m.turn.out.replyUpdateVoter)
	a.Request, a.Error = e.ID, err
	a.LeaderID, a.LeaderEpoch = m.leaderID(), m.epoch
	a.LeaderEndpoint, _ = m.leaderEndpoints().Address(e.Listener)
}
