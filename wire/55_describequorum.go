package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeQuorum (55): the leader's view of the quorum, for tools.
//
// Behaviour:
//   - Only the leader answers; others say NOT_LEADER_OR_FOLLOWER at the partition.
//   - Log end -1 stands for a voter that has not been heard from.
//
// Version notes:
//   - v0 is flexible; v1 fetch timestamps; v2 directory ids, error messages and the voters' listeners (KIP-853)

func describeQuorumRequestLine(l line, m *kmsg.DescribeQuorumRequest) line {
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			l = l.next(partitions).text(m.Topics[i].Topic).add("-").num(int64(m.Topics[i].Partitions[j].Partition))
			partitions++
		}
	}
	return l.partitions(partitions)
}

func describeQuorumResponseLine(l line, m *kmsg.DescribeQuorumResponse) line {
	if m.ErrorCode != 0 {
		return l.failure(m.ErrorCode, m.ErrorMessage)
	}
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions).failure(p.ErrorCode, p.ErrorMessage).leader(p.LeaderID, p.LeaderEpoch)
			l = l.add(", hw ").num(p.HighWatermark)
			l = list(l.add(", voters "), p.CurrentVoters, replicaStateLine)
			l = list(l.add(", observers "), p.Observers, replicaStateLine)
			partitions++
		}
	}
	return l.partitions(partitions)
}

func replicaStateLine(l line, r *kmsg.DescribeQuorumResponseTopicPartitionReplicaState) line {
	return l.key(r.ReplicaID, r.ReplicaDirectoryID).add(":").num(r.LogEndOffset)
}
