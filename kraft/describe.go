package kraft

import "slices"

// onDescribeQuorum tells the leader's view of the replicas (KIP-595, KIP-836, KIP-853; Kafka: handleDescribeQuorumRequest). This is
// where observers that have been silent for too long are forgotten, and nowhere else.
func (m *QuorumStateMachine) onDescribeQuorum(e *ReceiveDescribeQuorum) {
	a := slot(m, &m.turn.out.replyDescribeQuorum)
	a.Request = e.ID
	switch {
	case e.WrongPartition:
		a.UnknownPartition, a.PartitionError = true, UnknownTopicOrPartition
		return
	case m.kind != LeaderRole:
		a.PartitionError = NotLeaderOrFollower
		return
	}
	l := &m.leader
	l.Observers = slices.DeleteFunc(l.Observers, func(r Replica) bool {
		return r.Key != m.selfKey() && m.due(Timer{Kind: SessionTimer, Peer: r.Key})
	})
	a.LeaderID, a.LeaderEpoch, a.HighWatermark = m.cfg.ID, m.epoch, l.HighWatermark
	a.Voters, a.Observers = m.statuses(l.Voters, e.Version), m.statuses(l.Observers, e.Version)
	if e.Version >= 2 {
		for i := range l.Voters {
			a.Nodes = append(a.Nodes, Voter{Key: l.Voters[i].Key, Endpoints: l.Voters[i].Endpoints})
		}
	}
}

func (m *QuorumStateMachine) statuses(replicas []Replica, version int16) []ReplicaStatus {
	list := make([]ReplicaStatus, len(replicas))
	for i := range replicas {
		r := &replicas[i]
		list[i] = ReplicaStatus{Key: r.Key, LogEnd: r.End, LastFetch: r.LastFetch, LastCaughtUp: r.LastCaughtUp}
		if r.Key.ID == m.cfg.ID {
			list[i].LastFetch, list[i].LastCaughtUp = m.turn.now, m.turn.now
		}
		if version < 2 {
			list[i].Key.DirectoryID = DirectoryID{}
		}
	}
	return list
}
