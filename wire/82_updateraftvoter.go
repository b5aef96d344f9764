package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// UpdateRaftVoter (82): a voter tells the leader that its endpoints or its kraft.version range have changed (KIP-853).
//
// Behaviour:
//   - At kraft.version 0 it is sent once to each leader, from 4.1 on, so that the quorum can be upgraded later.
//   - The answer must carry the leader; a sender that finds none there takes it for stale and repeats it.
//
// Version notes:
//   - v0 only, flexible

func updateRaftVoterRequestLine(l line, m *kmsg.UpdateRaftVoterRequest) line {
	l = l.add("epoch ").num(int64(m.CurrentLeaderEpoch)).add(", voter ").key(m.VoterID, m.VoterDirectoryID)
	l = list(l.add(", listeners "), m.Listeners, func(l line, e *kmsg.UpdateRaftVoterRequestListener) line {
		return l.endpoint(e.Name, e.Host, e.Port)
	})
	l = l.add(", kraft.version ").num(int64(m.KRaftVersionFeature.MinSupportedVersion)).add("..")
	return l.num(int64(m.KRaftVersionFeature.MaxSupportedVersion))
}

func updateRaftVoterResponseLine(l line, m *kmsg.UpdateRaftVoterResponse) line {
	l = l.code(m.ErrorCode).leader(m.CurrentLeader.LeaderID, m.CurrentLeader.LeaderEpoch)
	if m.CurrentLeader.Host != "" {
		l = l.add(" at ").host(m.CurrentLeader.Host, int64(m.CurrentLeader.Port))
	}
	return l
}
