package kraft

import "slices"

// actResigned tells the voters that the epoch has ended, then looks at its own time (Kafka: pollResigned). When that has run out
// it goes to the next epoch, Unattached: nobody may lead this one again. The election timer is inherited, so a voter becomes
// Prospective in the turn after.
func (m *QuorumStateMachine) actResigned() {
	for _, id := range m.resigned.Unacked {
		if !m.sendEndTo(id) {
			return
		}
	}
	switch {
	case m.shutdown:
		m.waitForKind(ShutdownTimer)
	case m.dueKind(ElectionTimer):
		m.becomeUnattached(m.epoch+1, NoNode)
		m.waitAtMost(0)
	default:
		m.waitForKind(ElectionTimer)
	}
}

func (m *QuorumStateMachine) sendEndTo(id NodeID) bool {
	address, ok := m.voterAddress(id)
	if !ok {
		return false
	}
	if to, ok := m.trySend(id, address); ok {
		a := slot(m, &m.turn.out.sendEnd)
		a.Destination, a.Epoch, a.Leader, a.Successors = to, m.epoch, m.cfg.ID, m.resigned.Successors
	}
	return true
}

func (r *Resigned) acknowledge(id NodeID) {
	r.Unacked = slices.DeleteFunc(slices.Clone(r.Unacked), func(unacked NodeID) bool { return unacked == id })
}
