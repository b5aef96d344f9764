package kraft

import "slices"

// Checks and answers that the handlers of requests share.

// clusterIDMatches: an absent cluster id passes (Kafka: hasValidClusterId).
func (m *QuorumStateMachine) clusterIDMatches(id ClusterID) bool {
	return !id.Present || id.Value == m.cfg.ClusterID
}

// checkMessage is what Vote, BeginQuorumEpoch, EndQuorumEpoch and Fetch look at first. An error is the top-level one.
func (m *QuorumStateMachine) checkMessage(r *Request) ErrorCode {
	switch {
	case !m.clusterIDMatches(r.ClusterID):
		return InconsistentClusterID
	case r.WrongPartition:
		return InvalidRequest
	}
	return None
}

// checkVoterOnly is for requests among voters. The sender need not be one, and an epoch may be new (Kafka:
// validateVoterOnlyRequest).
func (m *QuorumStateMachine) checkVoterOnly(sender NodeID, epoch Epoch) ErrorCode {
	switch {
	case epoch < m.epoch:
		return FencedLeaderEpoch
	case sender < 0:
		return InvalidRequest
	}
	return None
}

// checkLeaderOnly is for requests to the leader of the epoch. A larger epoch is refused and not taken over (Kafka:
// validateLeaderOnlyRequest).
func (m *QuorumStateMachine) checkLeaderOnly(epoch Epoch) ErrorCode {
	switch {
	case epoch < m.epoch:
		return FencedLeaderEpoch
	case epoch > m.epoch:
		return UnknownLeaderEpoch
	case m.kind != LeaderRole:
		return NotLeaderOrFollower
	case m.shutdown:
		return BrokerNotAvailable
	}
	return None
}

// isAddressedToSelf compares the voter key of a request with the own key: no key, or no directory id, is meant for anyone
// (KIP-853; Kafka: isValidVoterKey).
func (m *QuorumStateMachine) isAddressedToSelf(id NodeID, directory DirectoryID) bool {
	switch {
	case id < 0:
		return true
	case id != m.cfg.ID:
		return false
	}
	return directory.IsZero() || directory == m.cfg.DirectoryID
}

// endpointsOr are the leader's endpoints that a request brings, or else those of the voter set.
func (m *QuorumStateMachine) endpointsOr(given Endpoints, leader NodeID) Endpoints {
	if given.Len() > 0 {
		return given
	}
	return m.history.lastVoters().Listeners(leader)
}

// listenerID stands for the name of a listener, so that a parked request keeps no string.
type listenerID int

func (m *QuorumStateMachine) internListener(name string) listenerID {
	for i := range m.listeners {
		if m.listeners[i] == name {
			return listenerID(i)
		}
	}
	m.listeners = append(slices.Clip(m.listeners), name)
	return listenerID(len(m.listeners) - 1)
}

// describe fills in the leader as known now. Its endpoint is named to versions that have a place for it, if the leader has one
// for the listener that the request came in on.
func (m *QuorumStateMachine) describe(p *PartitionReply, version, endpointsSince int16, listener string, err ErrorCode) {
	p.PartitionError, p.LeaderID, p.LeaderEpoch = err, m.leaderID(), m.epoch
	if version >= endpointsSince && p.LeaderID >= 0 {
		p.LeaderEndpoint, p.HasEndpoint = m.leaderEndpoints().Address(listener)
	}
}

// maybeTransition follows what a request or response says about the leader of an epoch that is not below the own one (Kafka:
// KafkaRaftClient.maybeTransition):
//  1. A different leader for the same epoch, or the own id when not leading (in whatever epoch), ends the process.
//  2. A higher epoch is taken over, with its leader if there is one.
//  3. In the same epoch, a leader that was unknown, or more endpoints of a known one, is followed.
//
// Anything else changes nothing; in particular a repeated announcement does not touch the fetch timer.
func (m *QuorumStateMachine) maybeTransition(leader NodeID, epoch Epoch, endpoints Endpoints) {
	switch {
	case !m.isConsistentLeader(leader, epoch):
		m.fatal(FatalInconsistentLeader)
	case epoch > m.epoch && leader < 0:
		m.becomeUnattached(epoch, NoNode)
	case epoch > m.epoch,
		leader >= 0 && (!m.hasLeader() || endpoints.Len() > m.leaderEndpoints().Len()):
		m.becomeFollower(epoch, leader, endpoints)
	}
}

func (m *QuorumStateMachine) isConsistentLeader(leader NodeID, epoch Epoch) bool {
	if leader >= 0 && leader == m.cfg.ID {
		return m.kind == LeaderRole
	}
	return epoch != m.epoch || leader < 0 || !m.hasLeader() || leader == m.leaderID()
}
