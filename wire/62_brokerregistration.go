package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// BrokerRegistration (62): a broker that starts makes itself known to the active controller.
//
// Behaviour:
//   - The answer gives the broker epoch, the offset of the registration record, for its heartbeats.
//   - DUPLICATE_BROKER_REGISTRATION while another incarnation still has its session.
//
// Version notes:
//   - v0 is flexible; v1 migration flag; v2 log directories (KIP-858); v3 previous broker epoch (KIP-966)
//   - v4 features with minimum 0

func brokerRegistrationRequestLine(l line, m *kmsg.BrokerRegistrationRequest) line {
	l = l.add("broker ").node(m.BrokerID).add(", incarnation ").uuid(m.IncarnationID).add(", cluster ").text(m.ClusterID)
	l = list(l.add(", listeners "), m.Listeners, func(l line, e *kmsg.BrokerRegistrationRequestListener) line {
		return l.endpoint(e.Name, e.Host, e.Port)
	})
	return l.add(", ").num(int64(len(m.Features))).add(" features, ").num(int64(len(m.LogDirs))).add(" log dirs")
}

func brokerRegistrationResponseLine(l line, m *kmsg.BrokerRegistrationResponse) line {
	return l.code(m.ErrorCode).add(", broker epoch ").num(m.BrokerEpoch)
}
