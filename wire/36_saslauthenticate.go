package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// SaslAuthenticate (36): one step of the SASL exchange that SaslHandshake v1 began.
//
// Behaviour:
//   - The bytes are the mechanism's: passwords, SCRAM proofs, tokens. They are never printed, nor is the error
//     message, which may repeat a name.
//   - The correlation ids come from a range of their own, 2147483640 and above.
//
// Version notes:
//   - v1 session lifetime in the answer; v2 flexible

func saslAuthenticateRequestLine(l line, m *kmsg.SASLAuthenticateRequest) line {
	return l.num(int64(len(m.SASLAuthBytes))).add(" bytes withheld")
}

func saslAuthenticateResponseLine(l line, m *kmsg.SASLAuthenticateResponse) line {
	l = l.code(m.ErrorCode).add(", ").num(int64(len(m.SASLAuthBytes))).add(" bytes withheld")
	if m.SessionLifetimeMillis > 0 {
		l = l.add(", session ").num(m.SessionLifetimeMillis).add(" ms")
	}
	return l
}
