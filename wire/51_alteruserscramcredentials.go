package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// AlterUserScramCredentials (51): adds, changes and deletes the SCRAM credentials of users.
//
// Behaviour:
//   - Salt and salted password are credentials; only users and mechanisms are printed.
//
// Version notes:
//   - v0 only, flexible

func alterUserScramCredentialsRequestLine(l line, m *kmsg.AlterUserSCRAMCredentialsRequest) line {
	l = list(l.add("upsert "), m.Upsertions, func(l line, u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) line {
		return l.text(u.Name).add(" ").mechanism(u.Mechanism)
	})
	return list(l.add(", delete "), m.Deletions, func(l line, u *kmsg.AlterUserSCRAMCredentialsRequestDeletion) line {
		return l.text(u.Name).add(" ").mechanism(u.Mechanism)
	})
}

// mechanism prints a SCRAM mechanism (Kafka: ScramMechanism).
func (l line) mechanism(m int8) line {
	switch m {
	case 1:
		return l.add("SCRAM-SHA-256")
	case 2:
		return l.add("SCRAM-SHA-512")
	default:
		return l.add("mechanism ").num(int64(m))
	}
}

func alterUserScramCredentialsResponseLine(l line, m *kmsg.AlterUserSCRAMCredentialsResponse) line {
	return list(l, m.Results, func(l line, r *kmsg.AlterUserSCRAMCredentialsResponseResult) line {
		return l.text(r.User).add(": ").failure(r.ErrorCode, r.ErrorMessage)
	})
}
