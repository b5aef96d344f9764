package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// UnregisterBroker (64): removes the registration of a broker that is gone for good.
//
// Version notes:
//   - v0 only, flexible

func unregisterBrokerRequestLine(l line, m *kmsg.UnregisterBrokerRequest) line {
	return l.add("broker ").node(m.BrokerID)
}

func unregisterBrokerResponseLine(l line, m *kmsg.UnregisterBrokerResponse) line {
	return l.failure(m.ErrorCode, m.ErrorMessage)
}
