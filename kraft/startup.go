package kraft

// onStart takes the role that the durable state asks for (Kafka: KafkaRaftClient.initialize, QuorumState.initialize). First match:
//
//  1. a vote but no own id: ends the process
//  2. an epoch below that of the log's last record: Unattached in the log's epoch
//  3. the own id as leader: Resigned, so that nobody is granted a vote in an epoch that this node has led
//  4. the own vote: Candidate in the same epoch; ends the process if this node is no voter. This comes before 5: a node that voted for
//     itself, lost and followed another leader forgets that leader here
//  5. a leader among the voters: its Follower
//  6. a leader elsewhere: Unattached, with the leader's id but without its endpoints
//  7. else Unattached with the vote, if there is one
//
// The file is always written anew. The only voter goes on to Leader at once. Nobody knows the high watermark yet.
func (m *QuorumStateMachine) onStart() {
	stored := QuorumState{Leader: NoNode, Voted: NoReplica}
	if m.cfg.HasStored {
		stored = m.cfg.Stored.normalised()
	}
	m.history.next = m.turn.log.End
	if latest, ok := m.turn.log.LatestSnapshot(); ok {
		m.history.next = max(m.history.next, latest.Offset)
	}
	lastEpoch := m.lastEpoch()
	self := m.cfg.ID != NoNode
	endpoints := m.history.lastVoters().Listeners(stored.Leader)
	switch {
	case stored.Voted != NoReplica && !self:
		m.fatal(FatalNoNodeID)
	case stored.Epoch < lastEpoch:
		m.startUnattached(QuorumState{Epoch: lastEpoch, Leader: NoNode, Voted: NoReplica})
	case self && stored.Leader == m.cfg.ID:
		m.startResigned(stored.Epoch)
	case self && stored.Voted != NoReplica && matches(stored.Voted, m.selfKey()):
		m.startCandidate(stored.Epoch)
	case stored.Leader != NoNode && endpoints.Len() > 0:
		m.startFollower(stored, endpoints)
	default:
		m.startUnattached(stored)
	}
	if m.stopped {
		return
	}
	switch {
	case m.isOnlyVoter() && (m.kind == UnattachedRole || m.kind == FollowerRole || m.kind == ResignedRole):
		m.becomeProspective()
	case m.kind == CandidateRole:
		m.enteredCandidate()
	case m.kind == UnattachedRole, m.kind == ProspectiveRole, m.kind == LeaderRole, m.kind == FollowerRole, m.kind == ResignedRole:
	}
}

// begin persists the initial state and takes the role; there is none to close.
func (m *QuorumStateMachine) begin(kind RoleKind, s QuorumState) {
	m.persist(s)
	m.kind, m.epoch = kind, s.Epoch
	a := slot(m, &m.turn.out.transitionedTo)
	a.Role, a.Epoch, a.Leader = kind, s.Epoch, s.Leader
}

func (m *QuorumStateMachine) startUnattached(s QuorumState) {
	m.drawElectionTimeout()
	m.unattached = Unattached{Leader: s.Leader, Voted: s.Voted, HighWatermark: -1}
	m.begin(UnattachedRole, s)
}

func (m *QuorumStateMachine) startResigned(epoch Epoch) {
	m.drawElectionTimeout()
	m.openResigned(nil)
	m.begin(ResignedRole, QuorumState{Epoch: epoch, Leader: m.cfg.ID, Voted: NoReplica})
}

func (m *QuorumStateMachine) startCandidate(epoch Epoch) {
	m.drawElectionTimeout()
	if !m.isVoter() {
		m.fatal(FatalNotAVoter)
		return
	}
	m.candidate = Candidate{HighWatermark: -1, Retries: 1}
	if m.openElection(&m.candidate.Tally) {
		m.begin(CandidateRole, QuorumState{Epoch: epoch, Leader: NoNode, Voted: m.selfKey()})
	}
}

func (m *QuorumStateMachine) startFollower(s QuorumState, endpoints Endpoints) {
	m.startFollowerTimers()
	m.follower = Follower{Leader: s.Leader, LeaderEndpoints: endpoints, Voted: s.Voted, HighWatermark: -1}
	m.begin(FollowerRole, s)
}
