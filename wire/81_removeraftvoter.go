package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// RemoveRaftVoter (81): takes a voter out of a dynamic quorum (KIP-853).
//
// Behaviour:
//   - Id and directory id must both match: VOTER_NOT_FOUND otherwise, and for the last voter.
//   - A leader that removes itself resigns once the change is committed.
//
// Version notes:
//   - v0 only, flexible

func removeRaftVoterRequestLine(l line, m *kmsg.RemoveRaftVoterRequest) line {
	return l.add("voter ").key(m.VoterID, m.VoterDirectoryID)
}

func removeRaftVoterResponseLine(l line, m *kmsg.RemoveRaftVoterResponse) line {
	return l.failure(m.ErrorCode, m.ErrorMessage)
}
