package kraft

// The role changes (Kafka: the transitionTo… methods of QuorumState and KafkaRaftClient). Each one checks that the role held
// allows it, draws a timeout where it needs one, persists the new election state, closes the old role, and only then takes the
// new one. So every answer that names the new state comes after it is durable. To Prospective and to Resigned nothing is
// persisted: the file says the same already.

// leaderID is the leader of the current epoch as far as known, NoNode if it is not.
func (m *QuorumStateMachine) leaderID() NodeID {
	switch m.kind {
	case UnattachedRole:
		return m.unattached.Leader
	case ProspectiveRole:
		return m.prospective.Leader
	case FollowerRole:
		return m.follower.Leader
	case LeaderRole, ResignedRole:
		return m.cfg.ID
	case CandidateRole:
	}
	return NoNode
}

func (m *QuorumStateMachine) hasLeader() bool { return m.leaderID() != NoNode }

// leaderEndpoints are where the leader can be reached; an Unattached that knows the leader's id does not know them.
func (m *QuorumStateMachine) leaderEndpoints() Endpoints {
	switch m.kind {
	case ProspectiveRole:
		return m.prospective.LeaderEndpoints
	case FollowerRole:
		return m.follower.LeaderEndpoints
	case LeaderRole, ResignedRole:
		return m.cfg.Endpoints
	case UnattachedRole, CandidateRole:
	}
	return Endpoints{}
}

// voted is the vote given in the current epoch. A leader's own one is erased when it is elected.
func (m *QuorumStateMachine) voted() ReplicaKey {
	switch m.kind {
	case UnattachedRole:
		return m.unattached.Voted
	case ProspectiveRole:
		return m.prospective.Voted
	case CandidateRole:
		return m.selfKey()
	case FollowerRole:
		return m.follower.Voted
	case LeaderRole, ResignedRole:
	}
	return NoReplica
}

// highWatermark is the high watermark that the role held knows, -1 if none. A Resigned leader has given it up.
func (m *QuorumStateMachine) highWatermark() Offset {
	switch m.kind {
	case UnattachedRole:
		return m.unattached.HighWatermark
	case ProspectiveRole:
		return m.prospective.HighWatermark
	case CandidateRole:
		return m.candidate.HighWatermark
	case LeaderRole:
		return m.leader.HighWatermark
	case FollowerRole:
		return m.follower.HighWatermark
	case ResignedRole:
	}
	return -1
}

// QuorumState is the election state of the role held.
func (m *QuorumStateMachine) QuorumState() QuorumState {
	return QuorumState{Epoch: m.epoch, Leader: m.leaderID(), Voted: m.voted()}
}

// LacksLeaderAddress reports whether the machine follows a leader that it cannot ask, since none of its endpoints is of the channel listener.
// Kafka's process ends on it with its next turn (FatalNoEndpoint).
func (m *QuorumStateMachine) LacksLeaderAddress() bool {
	if m.kind != FollowerRole {
		return false
	}
	_, ok := m.follower.LeaderEndpoints.Address(m.cfg.Listener)
	return !ok
}

func (m *QuorumStateMachine) selfKey() ReplicaKey { return m.cfg.self }

func (m *QuorumStateMachine) selfVoter() Voter {
	return Voter{Key: m.selfKey(), Endpoints: m.cfg.Endpoints, Versions: m.cfg.KRaftVersions}
}

// isVoter is asked anew at each use: the voter set may change while a role is held.
func (m *QuorumStateMachine) isVoter() bool {
	return m.cfg.ID != NoNode && m.history.lastVoters().IsVoter(m.selfKey())
}

func (m *QuorumStateMachine) isOnlyVoter() bool {
	return m.cfg.ID != NoNode && m.history.lastVoters().IsOnlyVoter(m.selfKey())
}

func (m *QuorumStateMachine) persist(s QuorumState) {
	a := slot(m, &m.turn.out.persist)
	a.State, a.KRaftVersion, a.Voters = s, m.history.kraftVersion(), m.history.lastVoters()
}

// enter closes the role held and takes the next one. The caller fills in its fields.
func (m *QuorumStateMachine) enter(kind RoleKind, epoch Epoch, leader NodeID) {
	switch m.kind {
	case LeaderRole:
		m.abortVoterChange(NotLeaderOrFollower)
	case FollowerRole:
		if m.follower.Fetching {
			slot(m, &m.turn.out.abandonSnapshot).ID = m.follower.FetchingSnapshot
		}
	case UnattachedRole, ProspectiveRole, CandidateRole, ResignedRole:
	}
	m.kind, m.epoch = kind, epoch
	a := slot(m, &m.turn.out.transitionedTo)
	a.Role, a.Epoch, a.Leader = kind, epoch, leader
}

// becomeUnattached: a higher epoch without a leader, or a lost pre-vote. The election timer goes on running, so that a stream of
// higher epochs does not put off an election, except for a role that had none or has used its own up
// (Kafka: QuorumState.transitionToUnattached).
func (m *QuorumStateMachine) becomeUnattached(epoch Epoch, leader NodeID) {
	if epoch < m.epoch || epoch == m.epoch && m.kind != ProspectiveRole {
		m.fatal(FatalInvalidTransition)
		return
	}
	switch {
	case !m.isVoter():
		m.cancelTimer(ElectionTimer)
	case m.kind == CandidateRole, m.kind == UnattachedRole, m.kind == ResignedRole:
	case m.kind == ProspectiveRole && !m.prospective.Tally.IsRejected():
	default:
		m.drawElectionTimeout()
	}
	next := Unattached{Leader: leader, Voted: NoReplica, HighWatermark: m.highWatermark()}
	if epoch == m.epoch {
		next.Voted = m.voted()
	}
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole, epoch, leader)
	m.unattached = next
	m.resetConnections()
}

// becomeFollower: a leader is learnt, or more of its endpoints (KAFKA-16927). What waits for this node as a leader fails.
func (m *QuorumStateMachine) becomeFollower(epoch Epoch, leader NodeID, endpoints Endpoints) {
	switch {
	case endpoints.Len() == 0:
		m.fatal(FatalUnknownEndpoints)
		return
	case leader == m.cfg.ID, epoch < m.epoch, epoch == m.epoch && m.kind == LeaderRole,
		epoch == m.epoch && m.kind == FollowerRole && m.follower.LeaderEndpoints.Len() >= endpoints.Len():
		m.fatal(FatalInvalidTransition)
		return
	}
	next := Follower{Leader: leader, LeaderEndpoints: endpoints, Voted: NoReplica, HighWatermark: m.highWatermark()}
	if epoch == m.epoch {
		next.Voted = m.voted()
	}
	m.startFollowerTimers()
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(FollowerRole, epoch, leader)
	m.follower = next
	m.resetConnections()
	m.failParked()
}

func (m *QuorumStateMachine) startFollowerTimers() {
	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
}

// becomeProspective asks for votes without leaving the epoch (KIP-996). Leader, endpoints and vote are kept, since a lost
// pre-vote leads back to them.
func (m *QuorumStateMachine) becomeProspective() {
	if !m.isVoter() || m.kind == LeaderRole || m.kind == ProspectiveRole {
		m.fatal(FatalInvalidTransition)
		return
	}
	next := Prospective{
		Leader: m.leaderID(), LeaderEndpoints: m.leaderEndpoints(), Voted: m.voted(), HighWatermark: m.highWatermark(),
		Retries: 1, Tally: m.prospective.Tally,
	}
	if m.kind == CandidateRole {
		next.Retries = m.candidate.Retries + 1
	}
	m.drawElectionTimeout()
	if !m.openElection(&next.Tally) {
		return
	}
	m.enter(ProspectiveRole, m.epoch, next.Leader)
	m.prospective = next
	if next.Tally.IsGranted() {
		m.becomeCandidate()
		return
	}
	m.resetConnections()
}

// openElection fills a tally with the voters of now, and with the own vote.
func (m *QuorumStateMachine) openElection(tally *Tally) bool {
	var ok bool
	if *tally, ok = tally.reset(m.history.lastVoters(), m.cfg.ID); !ok {
		m.fatal(FatalNotAVoter)
	}
	return ok
}

// becomeCandidate takes the next epoch and the own vote in it.
func (m *QuorumStateMachine) becomeCandidate() {
	if !m.isVoter() || m.kind != ProspectiveRole {
		m.fatal(FatalInvalidTransition)
		return
	}
	next := Candidate{HighWatermark: m.highWatermark(), Retries: m.prospective.Retries, Tally: m.candidate.Tally}
	m.drawElectionTimeout()
	if !m.openElection(&next.Tally) {
		return
	}
	epoch := m.epoch + 1
	m.persist(QuorumState{Epoch: epoch, Leader: NoNode, Voted: m.selfKey()})
	m.enter(CandidateRole, epoch, NoNode)
	m.candidate = next
	m.enteredCandidate()
}

// enteredCandidate: the only voter wins at once.
func (m *QuorumStateMachine) enteredCandidate() {
	if m.candidate.Tally.IsGranted() {
		m.becomeLeader()
		return
	}
	m.resetConnections()
}

// becomeLeader takes office (Kafka: KafkaRaftClient.onBecomeLeader), in this order:
//  1. persist the election; the vote is erased, since the leader's name says enough
//  2. assign the epoch at the log end: it counts as the last epoch from now on, before any record of it exists
//  3. queue the batch that begins the epoch
//  4. forget all connections
func (m *QuorumStateMachine) becomeLeader() {
	if !m.isVoter() || m.kind != CandidateRole || !m.candidate.Tally.IsGranted() {
		m.fatal(FatalInvalidTransition)
		return
	}
	m.startLeaderTimers()
	m.persist(QuorumState{Epoch: m.epoch, Leader: m.cfg.ID, Voted: NoReplica})
	m.enter(LeaderRole, m.epoch, m.cfg.ID)
	m.openLeader()
	m.assignEpoch()
	m.queueStartOfEpoch()
	m.resetConnections()
}

func (m *QuorumStateMachine) assignEpoch() {
	if m.epoch < 0 { // it was raised beyond what an int holds, and the epoch cache refuses it
		m.fatal(FatalEpochRefused)
		return
	}
	a := slot(m, &m.turn.out.assignEpoch)
	a.Epoch, a.Start = m.epoch, m.turn.log.End
	m.turn.log.AssignEpoch(m.epoch)
}

// becomeResigned leaves office within the epoch. The file says already that this node leads, and after a restart that leads to
// Resigned as well.
func (m *QuorumStateMachine) becomeResigned(successors []ReplicaKey) {
	m.failParked()
	m.drawElectionTimeout()
	m.enter(ResignedRole, m.epoch, m.cfg.ID)
	m.openResigned(successors)
	m.resetConnections()
}

func (m *QuorumStateMachine) openResigned(successors []ReplicaKey) {
	m.resigned = Resigned{Successors: successors}
	voters := m.history.lastVoters()
	for i := range voters.Len() {
		id := voters.At(i).Key.ID
		m.resigned.Voters = append(m.resigned.Voters, id)
		if id != m.cfg.ID {
			m.resigned.Unacked = append(m.resigned.Unacked, id)
		}
	}
}
