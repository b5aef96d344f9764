package kraft

// actUnattached: a voter waits for its election timer; everyone asks the bootstrap servers who leads (Kafka: pollUnattached,
// KAFKA-17030). The next server is asked as soon as the one before has answered. Observers never leave the role by time.
func (m *QuorumStateMachine) actUnattached() {
	if m.isVoter() {
		switch {
		case m.shutdown:
			m.waitForKind(ShutdownTimer)
			return
		case m.dueKind(ElectionTimer):
			m.becomeProspective()
			m.waitAtMost(0)
			return
		}
	}
	m.fetchFromBootstrap()
	m.waitForKind(ElectionTimer)
}

// fetchFromBootstrap sends a Fetch to a bootstrap server that is ready, if nothing is in flight anywhere (Kafka:
// maybeSendFetchToAnyBootstrap).
func (m *QuorumStateMachine) fetchFromBootstrap() {
	at, ok := m.findReadyBootstrapServer()
	if !ok {
		m.waitForBootstrapServer()
		return
	}
	id, address := m.bootstrapServer(at)
	if to, ok := m.trySend(id, address); ok {
		m.sendFetch(to)
	}
}
