package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Vote (52): a candidate asks a voter for its vote, or a prospective asks whether it would get it (pre-vote).
//
// Behaviour:
//   - The candidate states the epoch it stands for and the end of its log; a voter grants if that log is at least as
//     up to date as its own and it has not voted for another in the epoch.
//   - A pre-vote carries the current epoch, changes no state and persists nothing (KIP-996).
//   - The answer gives the voter's epoch and the leader it knows; a partition error takes the place of the decision.
//
// Version notes:
//   - v0 is flexible; v1 voter id, both directory ids, node endpoints (KIP-853); v2 pre-vote

func voteRequestLine(l line, m *kmsg.VoteRequest) line {
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions)
			partitions++
			l = l.add("epoch ").num(int64(p.CandidateEpoch)).add(", candidate ").key(p.CandidateID, p.CandidateDirectoryID)
			l = l.add(", log ").logEnd(p.LastOffset, p.LastOffsetEpoch)
			if p.PreVote {
				l = l.add(", pre-vote")
			}
		}
	}
	return l.partitions(partitions)
}

func voteResponseLine(l line, m *kmsg.VoteResponse) line {
	if m.ErrorCode != 0 {
		return l.code(m.ErrorCode)
	}
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions)
			partitions++
			switch {
			case p.ErrorCode != 0:
				l = l.code(p.ErrorCode)
			case p.VoteGranted:
				l = l.add("granted")
			default:
				l = l.add("rejected")
			}
			l = l.leader(p.LeaderID, p.LeaderEpoch)
		}
	}
	for i := range m.NodeEndpoints {
		l = l.at(i, m.NodeEndpoints[i].Host, int64(m.NodeEndpoints[i].Port))
	}
	return l.partitions(partitions)
}

// leader prints what an answer says about the leader.
func (l line) leader(id, epoch int32) line {
	return l.add(", leader ").node(id).add(", epoch ").num(int64(epoch))
}

// at prints the i-th node endpoint of an answer.
func (l line) at(i int, host string, port int64) line {
	switch {
	case i == 0:
		return l.add(" at ").host(host, port)
	case i < maxItems:
		return l.add(" and ").host(host, port)
	default:
		return l
	}
}

// next separates the partitions of a message that has several.
func (l line) next(i int) line {
	if i > 0 {
		return l.add("; ")
	}
	return l
}

// partitions says so where a message has no partition at all.
func (l line) partitions(n int) line {
	if n == 0 {
		return l.add("no partition")
	}
	return l
}
