package kraft

// actCandidate asks the voters for their votes (Kafka: pollCandidate). When its time has run out it becomes Prospective again,
// in the same epoch and with its own vote.
func (m *QuorumStateMachine) actCandidate() {
	switch {
	case m.shutdown:
		m.requestVotes(m.candidate.Tally, false)
		m.waitForKind(ShutdownTimer)
	case m.candidate.BackingOff:
		if !m.dueKind(ElectionBackoffTimer) {
			m.waitForKind(ElectionBackoffTimer)
			return
		}
		m.becomeProspective()
		m.waitAtMost(0)
	case m.dueKind(ElectionTimer):
		m.becomeProspective()
		m.waitAtMost(0)
	default:
		m.requestVotes(m.candidate.Tally, false)
		m.waitForKind(ElectionTimer)
	}
}

// loseElection: a majority has refused. Since 4.1 the candidate just waits for its election timer; before, it backed off for a
// random time (KAFKA-18345; Kafka: maybeHandleElectionLoss).
func (m *QuorumStateMachine) loseElection() {
	c := &m.candidate
	if m.cfg.Rules.ElectionBackoff == WaitForTimer || c.BackingOff {
		return
	}
	c.BackingOff = true
	a := slot(m, &m.turn.out.resetTimer)
	a.Timer, a.Deadline = Timer{Kind: ElectionBackoffTimer}, m.turn.now
	a.Retries = c.Retries
	a.Window = m.cfg.Rules.ElectionBackoff.window(m.cfg.Timeouts.ElectionBackoffMaxMs)
	m.notDue(&a.Timer)
}

// window is the width of the range that a backoff is drawn from.
func (r ElectionBackoffRule) window(maxMs int32) int32 {
	if r == BackoffFrom50 {
		return maxMs + backoffBaseMs
	}
	return maxMs + 1
}

const (
	backoffBaseMs      = 50
	backoffFirstBaseMs = 100
)

// Bounds are the limits of the draws behind an election backoff: first from [low, high), and with BackoffFrom50 a second one from
// [0, 50). It is for drivers that draw as Kafka does.
func (r ElectionBackoffRule) Bounds(retries int32) (low, high int32) {
	if r == BackoffFrom50 {
		return 1, 2 << min(10, retries-1)
	}
	return 0, 2 << min(20, retries-1)
}

// Milliseconds is the backoff that follows from the draws.
func (r ElectionBackoffRule) Milliseconds(first, second, maxMs int32) int32 {
	if r == BackoffFrom50 {
		return min(backoffBaseMs*first, maxMs+second)
	}
	return min(backoffFirstBaseMs*first, maxMs)
}
