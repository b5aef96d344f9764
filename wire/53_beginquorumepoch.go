package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// BeginQuorumEpoch (53): a new leader tells the voters of its epoch, and repeats it to those that do not fetch.
//
// Behaviour:
//   - The receiver becomes follower of that leader, at the endpoints that the request gives.
//   - The answer repeats leader and epoch as the receiver sees them then.
//
// Version notes:
//   - v0 is not flexible; v1 is, and has voter id, directory id and leader endpoints (KIP-853)

func beginQuorumEpochRequestLine(l line, m *kmsg.BeginQuorumEpochRequest) line {
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions)
			partitions++
			l = l.add("leader ").node(p.LeaderID).add(", epoch ").num(int64(p.LeaderEpoch))
			if m.Version >= 1 {
				l = l.add(", to ").key(m.VoterID, p.VoterDirectoryID)
			}
		}
	}
	for i := range m.LeaderEndpoints {
		e := &m.LeaderEndpoints[i]
		l = l.at(i, e.Host, int64(e.Port))
	}
	return l.partitions(partitions)
}

func beginQuorumEpochResponseLine(l line, m *kmsg.BeginQuorumEpochResponse) line {
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
