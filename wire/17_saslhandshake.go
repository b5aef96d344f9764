package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// SaslHandshake (17): a client names the SASL mechanism that it wants to authenticate with.
//
// Behaviour:
//   - It stands between ApiVersions and the authentication, on connections of a SASL listener only.
//   - UNSUPPORTED_SASL_MECHANISM comes with the mechanisms that the server enables, then the server closes.
//
// Version notes:
//   - v1: the exchange goes on in SaslAuthenticate frames. After v0 raw tokens follow, each behind a size, without
//     any Kafka header, so such a connection cannot be decoded from then on.
//   - No version is flexible.

func saslHandshakeRequestLine(l line, m *kmsg.SASLHandshakeRequest) line {
	return l.add("mechanism ").text(m.Mechanism)
}

func saslHandshakeResponseLine(l line, m *kmsg.SASLHandshakeResponse) line {
	return list(l.code(m.ErrorCode).add(", mechanisms "), m.SupportedMechanisms, func(l line, s *string) line { return l.text(*s) })
}
