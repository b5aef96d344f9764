package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// EndQuorumEpoch (54): a leader that resigns tells the voters, so that they need not wait for their fetch timeout.
//
// Behaviour:
//   - It lists its preferred successors, the most up to date first; each takes its turn by its place in the list.
//   - The receiver becomes unattached in the same epoch; the epoch is not over, only its leader is gone.
//
// Version notes:
//   - v0 is not flexible and names successors by id
//   - v1 is flexible, names candidates by replica key, and has leader endpoints (KIP-853)

func endQuorumEpochRequestLine(l line, m *kmsg.EndQuorumEpochRequest) line {
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions).add("leader ").node(p.LeaderID).add(", epoch ").num(int64(p.LeaderEpoch)).add(", successors ")
			partitions++
			if m.Version >= 1 {
				l = list(l, p.PreferredCandidates, func(l line, c *kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate) line {
					return l.key(c.CandidateID, c.CandidateDirectoryID)
				})
			} else {
				l = list(l, p.PreferredSuccessors, func(l line, id *int32) line { return l.node(*id) })
			}
		}
	}
	for i := range m.LeaderEndpoints {
		e := &m.LeaderEndpoints[i]
		l = l.at(i, e.Host, int64(e.Port))
	}
	return l.partitions(partitions)
}

func endQuorumEpochResponseLine(l line, m *kmsg.EndQuorumEpochResponse) line {
	if m.ErrorCode != 0 {
		return l.code(m.ErrorCode)
	}
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions).code(p.ErrorCode).leader(p.LeaderID, p.LeaderEpoch)
			partitions++
		}
	}
	for i := range m.NodeEndpoints {
		l = l.at(i, m.NodeEndpoints[i].Host, int64(m.NodeEndpoints[i].Port))
	}
	return l.partitions(partitions)
}
