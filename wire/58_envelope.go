package wire

import (
	"net/netip"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Envelope (58): a broker forwards a client's request to the active controller, with the client's principal and address.
//
// Behaviour:
//   - The request inside is complete, header and body, without a size. Only its header is read and printed: its
//     body may hold passwords.
//   - NOT_CONTROLLER and CLUSTER_AUTHORIZATION_FAILED are the envelope's own errors; those of the request stand
//     in the answer inside. The answer inside cannot be decoded without its request.
//
// Version notes:
//   - v0 only, flexible

func envelopeRequestLine(l line, m *kmsg.EnvelopeRequest) line {
	h, body, err := ParseRequestHeader(m.RequestData)
	if err != nil {
		l = l.num(int64(len(m.RequestData))).add(" bytes without a readable header")
	} else {
		l = l.add(Name(h.Key)).add(" v").num(int64(h.Version)).add(" ").num(int64(len(body))).add(" bytes from ")
		l = appendText(l, h.ClientID)
	}
	if kind, name, ok := principal(m.RequestPrincipal); ok {
		l = appendText(appendText(l.add(", for "), kind).add(":"), name)
	}
	if addr, ok := netip.AddrFromSlice(m.ClientHostAddress); ok {
		l = l.add(" at ").add(addr.String())
	}
	return l
}

// principal reads the serialized principal (Kafka: DefaultPrincipalData v0).
func principal(b []byte) (kind, name []byte, ok bool) {
	r := reader{b: b, flex: true}
	if r.int16() != 0 {
		return nil, nil, false
	}
	kind, name = r.str(), r.str()
	return kind, name, !r.bad
}

func envelopeResponseLine(l line, m *kmsg.EnvelopeResponse) line {
	l = l.code(m.ErrorCode).add(", ")
	if m.ResponseData == nil {
		return l.add("no answer inside")
	}
	return l.num(int64(len(m.ResponseData))).add(" bytes inside")
}
