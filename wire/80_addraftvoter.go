package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// AddRaftVoter (80): makes an observer a voter of a dynamic quorum (KIP-853).
//
// Behaviour:
//   - Sent by the admin tool, or by the new controller itself (auto join). The leader first asks the newcomer for
//     its versions, and demands that it has caught up.
//   - One change at a time: REQUEST_TIMED_OUT means try again; DUPLICATE_VOTER if the id is a voter already.
//
// Version notes:
//   - v0 is flexible; v1 lets the caller have the answer before the commit (KIP-1186, from 4.2)

func addRaftVoterRequestLine(l line, m *kmsg.AddRaftVoterRequest) line {
	l = l.add("voter ").key(m.VoterID, m.VoterDirectoryID)
	l = list(l.add(", listeners "), m.Listeners, func(l line, e *kmsg.AddRaftVoterRequestListener) line {
		return l.endpoint(e.Name, e.Host, e.Port)
	})
	l = l.add(", timeout ").num(int64(m.TimeoutMillis)).add(" ms")
	if m.Version >= 1 && !m.AckWhenCommitted {
		l = l.add(", answer when appended")
	}
	return l
}

func addRaftVoterResponseLine(l line, m *kmsg.AddRaftVoterResponse) line {
	return l.failure(m.ErrorCode, m.ErrorMessage)
}
