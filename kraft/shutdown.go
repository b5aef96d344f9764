package kraft

// onShutdown begins a graceful shutdown: a leader resigns in its next turn, and the node stays until the quorum has another leader
// (Kafka: KafkaRaftClient.shutdown).
func (m *QuorumStateMachine) onShutdown(e *Shutdown) {
	if e.TimeoutMs < 0 {
		slot(m, &m.turn.out.refused).Reason = NegativeTimeout
		return
	}
	m.shutdown = true
	m.resetKind(ShutdownTimer, e.TimeoutMs)
	m.wakeUp()
}

// completeShutdown is the first thing in a turn: time is over, or nobody depends on this node. It answers nothing any more then
// (Kafka: maybeCompleteShutdown).
func (m *QuorumStateMachine) completeShutdown() bool {
	if !m.shutdown {
		return false
	}
	expired := m.dueKind(ShutdownTimer)
	remoteLeader := m.hasLeader() && m.leaderID() != m.cfg.ID
	if !expired && m.isVoter() && !m.isOnlyVoter() && !remoteLeader {
		return false
	}
	slot(m, &m.turn.out.shutdownDone).OK = !expired
	m.stopped = true
	return true
}
