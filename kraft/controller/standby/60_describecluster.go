package standby

import (
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/wire"
)

// DescribeCluster (60), which tools given --bootstrap-controller begin with: it leads them to the active controller.
//
// Behaviour (Kafka: ControllerApis.handleDescribeCluster, AuthHelper.computeDescribeClusterResponse):
//   - Only for EndpointType 2, controllers; another one is MISMATCHED_ENDPOINT_TYPE.
//   - UNSUPPORTED_VERSION while the cluster's metadata.version is not known or below 3.7-IV0: no controller is registered then.
//   - The controllers are the registered ones that have an endpoint for the listener of the request; the controller id is the leader's if it is
//     among them, else -1.
//   - A leader that is this node is listed where it listens, whatever is registered: it cannot register while it leads itself, and may have moved
//     since it did. Kafka has no such leader. So tools find it for raft's requests.

// endpointTypeController asks for controllers.
const endpointTypeController int8 = 2

func (s *Standby) describeCluster(r *controller.Request) ([]byte, error) {
	var d wire.Decoder
	decoded, err := d.Request(r.Key, r.Version, r.Body)
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType, resp.ControllerID, resp.ClusterAuthorizedOperations = endpointTypeController, -1, math.MinInt32
	m := s.shown.Load()
	switch {
	case m.features[metadataVersion] < controllerRegistrationLevel:
		refuseCluster(resp, kraft.UnsupportedVersion, "The cluster's metadata.version does not let controllers register.")
	case r.Version == 0:
		refuseCluster(resp, kraft.MismatchedEndpointType, "This is a controller, which version 0 of the request cannot ask for.")
	case req.EndpointType != 1 && req.EndpointType != endpointTypeController:
		refuseCluster(resp, kraft.UnsupportedEndpointType, "There is no such endpoint type.")
	case req.EndpointType != endpointTypeController:
		refuseCluster(resp, kraft.MismatchedEndpointType, "The request was sent to an endpoint of type CONTROLLER, but wants one of type BROKER.")
	default:
		s.fill(resp, m, r.Listener)
	}
	return resp.AppendTo(nil), nil
}

func refuseCluster(resp *kmsg.DescribeClusterResponse, code kraft.ErrorCode, message string) {
	resp.ErrorCode, resp.ErrorMessage = int16(code), &message
}

func (s *Standby) fill(resp *kmsg.DescribeClusterResponse, m *image, listener string) {
	resp.ClusterID = s.cfg.ClusterID
	leader := kraft.NoNode
	if node := s.node.Load(); node != nil {
		leader = (*node).Status().Leader
	}
	add := func(id kraft.NodeID, host string, port uint16) {
		one := kmsg.NewDescribeClusterResponseBroker()
		one.NodeID, one.Host, one.Port = int32(id), host, int32(port)
		resp.Brokers = append(resp.Brokers, one)
		if id == leader {
			resp.ControllerID = int32(id)
		}
	}
	leads := leader == s.cfg.ID
	for _, id := range slices.Sorted(maps.Keys(m.controllers)) {
		for _, e := range m.controllers[id].endpoints {
			if e.Name == listener && (!leads || id != leader) {
				add(id, e.Host, e.Port)
			}
		}
	}
	if leads {
		for _, e := range s.cfg.Endpoints {
			if e.Name == listener {
				add(s.cfg.ID, e.Host, e.Port)
			}
		}
	}
}
