package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// BrokerHeartbeat (63): keeps a broker's session with the active controller.
//
// Behaviour:
//   - The broker says how far it has read the metadata log and what it wants; the answer says what it is.
//   - Without heartbeats the controller fences the broker.
//
// Version notes:
//   - v0 is flexible; v1 offline log directories (KIP-858); v2 cordoned log directories (KIP-1066, from 4.3)

func brokerHeartbeatRequestLine(l line, m *kmsg.BrokerHeartbeatRequest) line {
	l = l.add("broker ").node(m.BrokerID).add(", broker epoch ").num(m.BrokerEpoch)
	l = l.add(", metadata offset ").num(m.CurrentMetadataOffset)
	if m.WantFence {
		l = l.add(", wants to stay fenced")
	}
	if m.WantShutdown {
		l = l.add(", wants to shut down")
	}
	if n := len(m.OfflineLogDirs); n > 0 {
		l = l.add(", ").num(int64(n)).add(" log dirs offline")
	}
	if n := len(m.CordonedLogDirs); n > 0 {
		l = l.add(", ").num(int64(n)).add(" log dirs cordoned")
	}
	return l
}

func brokerHeartbeatResponseLine(l line, m *kmsg.BrokerHeartbeatResponse) line {
	l = l.code(m.ErrorCode)
	if m.IsCaughtUp {
		l = l.add(", caught up")
	}
	if m.IsFenced {
		l = l.add(", fenced")
	}
	if m.ShouldShutdown {
		l = l.add(", should shut down")
	}
	return l
}
