package kraft

// accountForCheckQuorum notes a sign of life of a voter. As soon as a majority, the leader included if it is a voter, has given one
// since the last time, the timer starts anew (KAFKA-15489, KAFKA-16531; Kafka: updateCheckQuorumForFollowingVoter). Signs of others
// count for nothing but still make the comparison. When the timer runs out the leader resigns.
func (m *QuorumStateMachine) accountForCheckQuorum(key ReplicaKey) {
	if key.ID == m.cfg.ID {
		m.fatal(FatalFetchFromLeader)
		return
	}
	m.countForCheckQuorum(key.ID, m.leader.matchingVoter(key) != nil)
}

func (m *QuorumStateMachine) countForCheckQuorum(id NodeID, isVoter bool) {
	l := &m.leader
	if isVoter && !contains(l.FetchedVoters, id) {
		l.FetchedVoters = append(l.FetchedVoters, id)
	}
	needed := len(l.Voters)/2 + 1
	if l.voter(m.cfg.ID) != nil {
		needed--
	}
	if len(l.FetchedVoters) >= needed {
		l.FetchedVoters = l.FetchedVoters[:0]
		m.resetCheckQuorum()
	}
}

func (m *QuorumStateMachine) resetCheckQuorum() {
	m.resetKind(CheckQuorumTimer, int32(int64(m.cfg.Timeouts.FetchMs)*3/2))
}
