package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeCluster (60): the nodes of a cluster: brokers, or (endpoint type 2) its controllers.
//
// Behaviour:
//   - A controller answers for controllers only; otherwise MISMATCHED_ENDPOINT_TYPE.
//   - The controller id is the leader if it has registered, else -1.
//
// Version notes:
//   - v0 is flexible; v1 endpoint type (KIP-919); v2 fenced brokers

func describeClusterRequestLine(l line, m *kmsg.DescribeClusterRequest) line {
	switch {
	case m.Version == 0, m.EndpointType == 1:
		l = l.add("brokers")
	case m.EndpointType == 2:
		l = l.add("controllers")
	default:
		l = l.add("endpoint type ").num(int64(m.EndpointType))
	}
	if m.IncludeFencedBrokers {
		l = l.add(", also fenced")
	}
	return l
}

func describeClusterResponseLine(l line, m *kmsg.DescribeClusterResponse) line {
	if m.ErrorCode != 0 {
		return l.failure(m.ErrorCode, m.ErrorMessage)
	}
	l = l.add("cluster ").text(m.ClusterID).add(", controller ").node(m.ControllerID).add(", nodes ")
	return list(l, m.Brokers, func(l line, b *kmsg.DescribeClusterResponseBroker) line {
		return l.node(b.NodeID).add("@").host(b.Host, int64(b.Port))
	})
}
