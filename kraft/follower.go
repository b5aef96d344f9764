package kraft

// actFollower: a voter whose fetch timer has run out turns to an election; else it has its voter description updated when that
// is due, or fetches. An observer may ask to be made a voter, or fetches (Kafka: pollFollower).
func (m *QuorumStateMachine) actFollower() {
	if m.isVoter() {
		m.actFollowerVoter()
	} else {
		m.actFollowerObserver()
	}
}

func (m *QuorumStateMachine) actFollowerVoter() {
	defer m.waitForKind(FetchTimer)
	if m.cfg.Rules.UpdateVoterWakes {
		defer m.waitForKind(UpdateVoterTimer)
	}
	switch {
	case m.shutdown:
		m.waitAtMost(0)
	case m.dueKind(FetchTimer):
		m.becomeProspective()
		m.waitAtMost(0)
	case m.dueKind(UpdateVoterTimer):
		m.actUpdateVoter()
	default:
		m.fetchFromBestNode()
	}
}

func (m *QuorumStateMachine) actFollowerObserver() {
	if !m.cfg.Rules.ObserverKeepsLeader {
		if m.dueKind(FetchTimer) {
			m.fetchFromBootstrap()
			return
		}
		m.fetchFromBestNode()
		return
	}
	switch {
	case m.shutdown:
		m.waitAtMost(0)
	case m.cfg.Rules.AutoJoin && m.cfg.AutoJoin && m.cfg.CanBecomeVoter && m.history.isReconfigSupported() &&
		m.dueKind(UpdateVoterTimer):
		m.actAutoJoin()
	default:
		m.fetchFromBestNode()
	}
}

// leaderAddress is where the leader listens on the channel listener.
func (m *QuorumStateMachine) leaderAddress() (Address, bool) {
	address, ok := m.follower.LeaderEndpoints.Address(m.cfg.Listener)
	if !ok {
		m.fatal(FatalNoEndpoint)
	}
	return address, ok
}

// fetchFromBestNode asks the leader, or while its connection has timed out or backs off any bootstrap server: the leader may have
// changed (KAFKA-17030; Kafka: maybeSendFetchToBestNode). At most one Fetch is in flight, wherever it went.
func (m *QuorumStateMachine) fetchFromBestNode() {
	defer m.waitForKind(FetchTimer)
	address, ok := m.leaderAddress()
	if !ok {
		return
	}
	leader := m.follower.Leader
	switch {
	case m.hasRequestTimedOut(leader):
		m.requests.remove(leader)
		m.fetchFromBootstrap()
	case m.isBackingOff(leader):
		m.fetchFromBootstrap()
	case m.hasAnyInflight():
		m.waitForBootstrapServer()
	default:
		m.fetchFromLeader(leader, address)
	}
}

// fetchFromLeader asks for records, or for the rest of the snapshot that is being fetched.
func (m *QuorumStateMachine) fetchFromLeader(leader NodeID, address Address) {
	to, ok := m.trySend(leader, address)
	if !ok {
		return
	}
	if m.follower.Fetching {
		m.sendFetchSnapshot(to)
		return
	}
	m.sendFetch(to)
}
